"""The lower bounds of setup.cfg: every type of request through the command line, in an environment
of the oldest versions.

`make test-lowest` makes that environment and runs this file in it; elsewhere the runs are skipped,
since test_end_to_end.py has them.
"""

import configparser
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

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
    "empathy_religion_likelihood": "conversation, scored",
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
        (bound,) = (each for each in requirement.specifier if each.operator == ">=")
        if requirement.name in NOT_THE_OLDEST:
            assert Version(oldest[requirement.name]) > Version(bound.version)
        else:
            assert Version(oldest[requirement.name]) == Version(bound.version), requirement


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    """All tasks with the harness's `hf` and with `hf-prefix`, side by side."""
    # not in the threads: the first to ask for a folder makes the one above it
    folder = tmp_path_factory.mktemp("runs")

    def run(model):
        output = folder / model
        command = [
            sys.executable,
            "-m",
            "lm_eval",
            "--model",
            model,
            "--model_args",
            f"pretrained={model_folder}",
            "--device",
            "cpu",
        ]
        command += [
            "--tasks",
            ",".join(TASKS),
            "--limit",
            str(LIMIT),
            "--gen_kwargs",
            "max_gen_toks=12",
        ]
        command += ["--output_path", str(output), "--log_samples"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        results = json.loads(next(output.rglob("results_*.json")).read_text())
        samples = {
            t: [
                json.loads(x)
                for x in next(output.rglob(f"samples_{t}_2*.jsonl")).read_text().splitlines()
            ]
            for t in TASKS
        }
        return done, results, samples

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(("hf", "hf-prefix"), pool.map(run, ("hf", "hf-prefix")), strict=True))


@lowest
def test_this_environment_has_the_oldest_versions(oldest):
    installed = {
        name: version(name).split("+")[0]
        for name in oldest
        if name != "setuptools" and _is_installed(name)
    }
    assert installed == {name: oldest[name] for name in installed} and {
        "numpy",
        "scipy",
        "lm-eval",
        "transformers",
    } <= set(installed)


@lowest
@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task} ({TASKS[task]})")
@pytest.mark.parametrize("model", ["hf", "hf-prefix"])
def test_a_request_of_each_type_ends_in_numbers(runs, model, task):
    done, results, samples = runs[model]
    assert "Traceback" not in done.stderr
    assert results["n-samples"][task]["effective"] == LIMIT == len(samples[task])
    assert results["configs"][task]["cells"]["numbers"] and "error" not in results["configs"][task]
    assert all(s["records"] and s["resps"][0][0] for s in samples[task])


@lowest
def test_prefixes_are_shared_and_change_nothing(runs):
    assert "runs as hf" not in runs["hf-prefix"][0].stderr
    (_, _, plain), (_, _, shared) = runs["hf"], runs["hf-prefix"]
    for task in ("bistereo_nli", "bistereo_pairs", "hbb"):
        for a, b in zip(plain[task], shared[task], strict=True):
            assert [float(r[0][0]) for r in a["resps"]] == pytest.approx(
                [float(r[0][0]) for r in b["resps"]], abs=1e-3
            )
    for task in ("mist_wabt", "mist_aat"):
        assert [s["resps"] for s in plain[task]] == [s["resps"] for s in shared[task]]
    for a, b in zip(plain["hbb_generate"], shared["hbb_generate"], strict=True):
        # Sampled: the same prompts, asked ten times each, and other answers, since the random
        # numbers are others.
        assert a["arguments"] == b["arguments"] and len(a["resps"][0]) == len(b["resps"][0]) == 10
        assert len(set(a["resps"][0])) > 1 < len(set(b["resps"][0]))
    for a, b in zip(
        plain["empathy_religion_likelihood"], shared["empathy_religion_likelihood"], strict=True
    ):
        assert a["records"]["intensity"] == pytest.approx(b["records"]["intensity"], abs=1e-2)


def _is_installed(name):
    try:
        return bool(version(name))
    except ModuleNotFoundError:
        return False
