"""HBB on the small real model, through the command line, with its chat template."""

import re
from math import exp, sqrt

import pytest
from scipy.stats import chi2

from tests.started import Run

pytestmark = [pytest.mark.model, pytest.mark.slow]

TASKS = ["hbb", "hbb_generate", "hbb_sg"]
REPEATS = 200


@pytest.fixture(scope="module")
def run(model_folder, tmp_path_factory):
    """Four documents of each task: Age 1 and Age 2. Answers of one token, many to each question."""
    command = ["--model", "hf-prefix", "--tasks", ",".join(TASKS), "--limit", 4]
    command += ["--metadata", f"repeats={REPEATS}", "order=paper", "sentences=one"]
    command += ["--gen_kwargs", "max_gen_toks=1", "--apply_chat_template"]
    return Run(model_folder, tmp_path_factory.mktemp("run"), command)


def test_the_tasks_give_their_numbers(run):
    for name in TASKS:
        assert re.search(rf"^\|{name} *\|", run.done.stdout, re.M) and len(run.samples(name)) == 4
        assert "error" not in run.results["configs"][name]
    for record in (sample["records"] for sample in run.samples("hbb_generate")):
        answers = record["option_1"] + record["option_2"] + sum(record["invalid"].values())
        assert answers == REPEATS
    shown = run.shown("hbb_sg")
    assert shown["instances,none"] == 2 and 0 < shown["mean_difference,none"] < 100


def test_hbb_is_the_expectation_of_hbb_generate(run):
    """The letters alone: of answers that are one token, those that are a or b, drawn at 0.8,
    against their likelihoods at 0.8. Other answers (A, the sentence without a letter) have no
    likelihood in `hbb`."""
    z = []
    for likely, drawn in zip(run.samples("hbb"), run.samples("hbb_generate"), strict=True):
        (answers,) = drawn["resps"]
        assert likely["doc"]["context"] == drawn["doc"]["context"]
        a, b = (answers.count(letter) for letter in "ab")
        p = 1 / (1 + exp(-likely["records"]["log_odds"] / 0.8))
        z.append((a - (a + b) * p) / sqrt((a + b) * p * (1 - p)))
        assert a + b > 20
    assert sum(x * x for x in z) < chi2.ppf(0.999, len(z)) and abs(sum(z)) / sqrt(len(z)) < 3.3
