"""The lower bounds of setup.cfg. `make test-lowest` makes an environment of the oldest versions and
runs test_end_to_end.py in it, with every type of request."""

import configparser
import os
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

NOT_THE_OLDEST = {"torch"}  # constraints-lowest.txt says why


@pytest.fixture(scope="module")
def oldest(root):
    """Name -> version, as constraints-lowest.txt has them."""
    lines = (root / "constraints-lowest.txt").read_text().splitlines()
    return dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))


def test_the_oldest_versions_are_the_bounds_of_setup_cfg(root, oldest):
    """A bound that is raised or lowered is a bound that is not tested, until constraints-lowest.txt
    is made anew."""
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg")
    bounds = config["options"]["install_requires"] + config["options.extras_require"]["hf"]
    for requirement in map(Requirement, bounds.split()):
        (bound,) = (part for part in requirement.specifier if part.operator == ">=")
        if requirement.name in NOT_THE_OLDEST:
            assert Version(oldest[requirement.name]) > Version(bound.version)
        else:
            assert Version(oldest[requirement.name]) == Version(bound.version), requirement


@pytest.mark.skipif("LM_EVAL_BIAS_LOWEST" not in os.environ, reason="make test-lowest runs this")
def test_this_environment_has_the_oldest_versions(oldest):
    installed = {  # of those of one name Python takes the first, which the last of a dict is not
        canonicalize_name(package.name): package.version.split("+")[0]
        for package in reversed(list(distributions()))
    }
    versions = {name: installed[name] for name in oldest.keys() & installed.keys()}
    del versions["setuptools"]
    assert versions == {name: oldest[name] for name in versions}
    assert {"numpy", "scipy", "lm-eval", "transformers"} <= set(versions)
