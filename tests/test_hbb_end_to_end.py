"""HBB on the small real model, through the command line, with and without its chat template."""

import re
from math import exp, sqrt

import pytest
from scipy.stats import chi2

from tests.started import Run

pytestmark = [pytest.mark.model, pytest.mark.slow]

OURS = ["hbb", "hbb_generate", "hbb_sg"]
OFFICIAL = [f"{task}_official_ses" for task in OURS]
REPEATS = {"plain": 2, "chat": 200}


@pytest.fixture(scope="module", params=["plain", "chat"])
def run(request, model_folder, tmp_path_factory, root):
    """The form of the prompt, its tasks, and a run of four documents of each: Age 1 and Age 2.

    plain: the authors' tasks, where their data are beside this checkout. chat: answers of one
    token, many to each question."""
    data, plain = root.parent / "shared" / "official", request.param == "plain"
    tasks = ["hbb_sg", *OFFICIAL] if plain and (data / "hbb").is_dir() else OURS
    command = ["--model", "hf-prefix", "--tasks", ",".join(tasks), "--limit", 4]
    command += ["--metadata", f"repeats={REPEATS[request.param]}", "order=paper", "sentences=one"]
    command += ["--gen_kwargs", f"max_gen_toks={8 if plain else 1}"]
    command += [] if plain else ["--apply_chat_template"]
    settings = {"LM_EVAL_BIAS_DATA": str(data)}
    folder = tmp_path_factory.mktemp("run")
    return request.param, tasks, Run(model_folder, folder, command, settings)


def test_the_tasks_give_their_numbers(run):
    form, tasks, run = run
    for name in tasks:
        samples, shown = run.samples(name), run.shown(name)
        assert re.search(rf"^\|{name} *\|", run.done.stdout, re.M) and len(samples) == 4
        assert "error" not in run.results["configs"][name]
        if "generate" not in name:
            assert shown["unanswered,none"] == 0 and shown["biased_share,none"] is not None
            continue
        assert shown["biased_share,option"] is not None
        for record in (sample["records"] for sample in samples):
            answers = record["option_1"] + record["option_2"] + sum(record["invalid"].values())
            assert answers == REPEATS[form]
    shown = run.shown("hbb_sg")
    assert shown["instances,none"] == 2 and 0 < shown["mean_difference,none"] < 100


def test_hbb_is_the_expectation_of_hbb_generate(run):
    """The letters alone: of answers that are one token, those that are a or b, drawn at 0.8,
    against their likelihoods at 0.8. Other answers (A, the sentence without a letter) have no
    likelihood in `hbb`."""
    form, _, run = run
    if form == "plain":
        pytest.skip("the model answers with a letter only under its chat template")
    z = []
    for likely, drawn in zip(run.samples("hbb"), run.samples("hbb_generate"), strict=True):
        (answers,) = drawn["resps"]
        assert likely["doc"]["context"] == drawn["doc"]["context"]
        a, b = (answers.count(letter) for letter in "ab")
        p = 1 / (1 + exp(-likely["records"]["log_odds"] / 0.8))
        z.append((a - (a + b) * p) / sqrt((a + b) * p * (1 - p)))
        assert a + b > 20
    assert sum(x * x for x in z) < chi2.ppf(0.999, len(z)) and abs(sum(z)) / sqrt(len(z)) < 3.3
