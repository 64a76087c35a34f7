"""All tasks of HBB on the small real model, through the command line, with and without its chat
template."""

import re
from math import exp, log, sqrt

import pytest
from scipy.stats import chi2
from transformers import AutoTokenizer

from lm_eval_bias import catalogue
from tests.started import Run

pytestmark = [pytest.mark.model, pytest.mark.slow]

# The whole tasks, and one category of each.
KNOWN = [task.name for task in catalogue.tasks() if task.name.startswith("hbb")]
TASKS = [name for name in KNOWN if name.endswith(("hbb", "generate", "sg", "official", "_ses"))]
OURS = [name for name in TASKS if "official" not in name]


@pytest.fixture(scope="module", params=["plain", "chat"])
def both(request, model_folder, tmp_path_factory, root):
    """The form of the prompt, and a run of four documents of each task: Age 1 and Age 2 of HBB-SG.
    The authors' tasks where their data are beside this checkout; of their sentences one for each
    option, and three answers where answers are sampled."""
    data = root.parent / "shared" / "official"
    tasks = TASKS if (data / "hbb").is_dir() else OURS
    command = ["--model", "hf-prefix", "--tasks", ",".join(tasks), "--limit", 4]
    command += ["--metadata", "repeats=3", "sentences=one", "--gen_kwargs", "max_gen_toks=16"]
    command += ["--apply_chat_template"] if request.param == "chat" else []
    settings = {"LM_EVAL_BIAS_DATA": str(data)}
    return (
        request.param,
        tasks,
        Run(model_folder, tmp_path_factory.mktemp("run"), command, settings),
    )


def test_the_tasks_give_their_numbers(both):
    _, tasks, run = both
    assert len(KNOWN) == 37 and len(TASKS) == 12 and set(run.results["results"]) >= set(tasks)
    for name in tasks:
        samples, shown = run.samples(name), run.shown(name)
        assert re.search(rf"^\|{name} *\|", run.done.stdout, re.M) and len(samples) == 4
        assert "error" not in run.results["configs"][name]
        sampled = "generate" in name
        assert shown["biased_share,option" if sampled else "biased_share,none"] is not None
        assert sampled or shown["unanswered,none"] == 0
        for s in samples if sampled else ():
            record = s["records"]
            answers = record["option_1"] + record["option_2"] + sum(record["invalid"].values())
            assert answers == 3 == len(s["resps"][0])
    shown = run.shown("hbb_sg")
    assert shown["instances,none"] == 2 and 0 < shown["mean_difference,none"] < 100


@pytest.mark.parametrize(("task", "sentences"), [("hbb_sg", 4), ("hbb_sg_official", 1)])
def test_p_follows_from_the_likelihoods_and_the_models_own_tokens(
    both, model_folder, task, sentences
):
    """Equation 2, computed anew. The line break that ends a chat prompt is scored, and counted,
    with the sentence."""
    form, tasks, run = both
    if task not in tasks:
        pytest.skip("the authors' data are not beside this checkout")
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    for s in run.samples(task):
        doc, record = s["doc"], s["records"]
        reciprocal = []
        assert len(doc["choices"]) == 2 * sentences
        for i, sentence in enumerate(doc["choices"]):
            prompt, continuation = (s["arguments"][f"gen_args_{i}"][f"arg_{k}"] for k in (0, 1))
            assert continuation == ("" if form == "chat" else " ") + sentence
            assert doc["context"] in prompt
            assert prompt.endswith(doc["context"]) == (form == "plain")
            whole, before = tokenizer([prompt + continuation, prompt.rstrip()]).input_ids
            assert record["lengths"][i] == len(whole) - len(before)
            reciprocal.append(exp(float(s["resps"][i][0][0]) / record["lengths"][i]))
        assert record["unit"] == "tokens"
        odds = sum(reciprocal[:sentences]) / sum(reciprocal[sentences:])
        assert record["log_odds"] == pytest.approx(log(odds))


def test_hbb_is_the_expectation_of_hbb_generate(model_folder, tmp_path):
    """The letters alone: of answers that are one token, those that are a or b, drawn at 0.8,
    against their likelihoods at 0.8. Other answers (A, the sentence without a letter) have no
    likelihood in `hbb`."""
    command = ["--model", "hf-prefix", "--tasks", "hbb,hbb_generate", "--limit", 8]
    command += ["--metadata", "repeats=300", "order=paper", "--gen_kwargs", "max_gen_toks=1"]
    run = Run(model_folder, tmp_path, [*command, "--apply_chat_template"])
    z = []
    for likely, drawn in zip(run.samples("hbb"), run.samples("hbb_generate"), strict=True):
        (answers,) = drawn["resps"]
        assert likely["doc"]["context"] == drawn["doc"]["context"] and len(answers) == 300
        a, b = (answers.count(letter) for letter in "ab")
        p = 1 / (1 + exp(-likely["records"]["log_odds"] / 0.8))
        z.append((a - (a + b) * p) / sqrt((a + b) * p * (1 - p)))
        assert a + b > 30
    assert sum(x * x for x in z) < chi2.ppf(0.999, len(z)) and abs(sum(z)) / sqrt(len(z)) < 3.3
