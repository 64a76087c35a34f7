"""The lower bounds of setup.cfg: every type of request through the command line, in an environment
of the oldest versions.

`make test-lowest` makes that environment and runs this file in it; elsewhere the runs are skipped,
since test_end_to_end.py has them.
"""

import configparser
import os
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.started import Run

lowest = pytest.mark.skipif(
    "LM_EVAL_BIAS_LOWEST" not in os.environ,
    reason="make test-lowest runs this, on the oldest versions",
)
NOT_THE_OLDEST = {"torch"}  # constraints-lowest.txt says why

LIMIT = 2
TASKS = {
    "bistereo_nli": "multiple_choice",
    "bistereo_pairs": "pair_loglikelihood",
    "hbb": "multiple_choice",
    "mist_wabt": "generate_until",
    "hbb_generate": "generate_until, sampled",
    "mist_aat": "conversation, generated",
    "mist_aat_likelihood": "conversation, scored",
}


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
    for requirement in map(Requirement, config["options"]["install_requires"].split()):
        (bound,) = (part for part in requirement.specifier if part.operator == ">=")
        if requirement.name in NOT_THE_OLDEST:
            assert Version(oldest[requirement.name]) > Version(bound.version)
        else:
            assert Version(oldest[requirement.name]) == Version(bound.version), requirement


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    """All tasks with the harness's `hf` and with `hf-prefix`."""
    command = ["--tasks", ",".join(TASKS), "--limit", LIMIT, "--gen_kwargs", "max_gen_toks=12"]
    return {
        model: Run(
            model_folder, tmp_path_factory.mktemp(model), ["--model", model, *command], launch=[]
        )
        for model in ("hf", "hf-prefix")
    }


@lowest
def test_this_environment_has_the_oldest_versions(oldest):
    installed = {  # of those of one name Python takes the first, which the last of a dict is not
        canonicalize_name(package.name): package.version.split("+")[0]
        for package in reversed(list(distributions()))
    }
    versions = {name: installed[name] for name in oldest.keys() & installed.keys()}
    del versions["setuptools"]
    assert versions == {name: oldest[name] for name in versions}
    assert {"numpy", "scipy", "lm-eval", "transformers"} <= set(versions)


@lowest
@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task} ({TASKS[task]})")
@pytest.mark.parametrize("model", ["hf", "hf-prefix"])
def test_a_request_of_each_type_ends_in_numbers(runs, model, task):
    run = runs[model]
    samples = run.samples(task)
    assert "Traceback" not in run.done.stderr
    assert run.results["n-samples"][task]["effective"] == LIMIT == len(samples)
    assert run.cells(task)["numbers"] and "error" not in run.results["configs"][task]
    assert all(s["records"] and s["resps"][0][0] for s in samples)


@lowest
def test_prefixes_are_shared_and_change_nothing(runs):
    plain, shared = runs["hf"], runs["hf-prefix"]
    assert "runs as hf" not in shared.done.stderr
    for task in ("bistereo_nli", "bistereo_pairs", "hbb"):
        for a, b in zip(plain.samples(task), shared.samples(task), strict=True):
            likelihoods = [float(r[0][0]) for r in b["resps"]]
            assert [float(r[0][0]) for r in a["resps"]] == pytest.approx(likelihoods, abs=1e-3)
    for task in ("mist_wabt", "mist_aat"):
        assert [s["resps"] for s in plain.samples(task)] == [
            s["resps"] for s in shared.samples(task)
        ]
