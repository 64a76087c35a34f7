"""All tasks of HBB on the small real model, through the command line, with and without its chat
template."""

import json
import re
from math import exp, sqrt

import pytest
from scipy.stats import chi2

from lm_eval_bias import catalogue
from tests.started import run_lm_eval

pytestmark = pytest.mark.model

# The whole tasks, and one category of each.
KNOWN = [task.name for task in catalogue.tasks() if task.name.startswith("hbb")]
TASKS = [name for name in KNOWN if name.endswith(("hbb", "generate", "sg", "official", "_ses"))]
OURS = [name for name in TASKS if "official" not in name]


def run(model_folder, output, tasks, *more, data=None):
    """What `lm_eval` printed, its results, and the samples of each task."""
    command = [
        "--model",
        "hf-prefix",
        "--model_args",
        f"pretrained={model_folder},dtype=float32",
        "--device",
        "cpu",
    ]
    command += ["--tasks", ",".join(tasks), "--output_path", output, "--log_samples", *more]
    done = run_lm_eval(command, env={"LM_EVAL_BIAS_DATA": str(data)} if data else {})
    assert done.returncode == 0, done.stderr[-3000:]
    samples = {
        path.name.split("_2")[0].removeprefix("samples_"): [
            json.loads(line) for line in path.read_text().splitlines()
        ]
        for path in output.rglob("samples_*.jsonl")
    }
    return done.stdout, json.loads(next(output.rglob("results_*.json")).read_text()), samples


@pytest.mark.parametrize("form", ["plain", "chat"])
def test_the_tasks_give_their_numbers(model_folder, tmp_path, root, form):
    """Two documents of each, three answers where answers are sampled; the authors' data where they
    are beside this checkout."""
    data = root.parent / "shared" / "official"
    tasks = TASKS if (data / "hbb").is_dir() else OURS
    more = [
        "--limit",
        "2",
        "--metadata",
        "repeats=3",
        "sentences=one",
        "--gen_kwargs",
        "max_gen_toks=16",
    ]
    printed, results, samples = run(
        model_folder,
        tmp_path,
        tasks,
        *more,
        *(["--apply_chat_template"] if form == "chat" else []),
        data=data,
    )
    assert len(KNOWN) == 37 and len(TASKS) == 12 and set(samples) == set(tasks)
    for name in tasks:
        numbers = results["results"][name]
        assert (
            re.search(rf"^\|{name} *\|", printed, re.M)
            and len(samples[name]) == 2
            and "error" not in results["configs"][name]
        )
        assert (
            numbers["biased_share,none" if "generate" not in name else "biased_share,option"]
            is not None
        )
        if "generate" in name:
            assert all(len(s["resps"][0]) == 3 for s in samples[name])
            assert all(
                s["records"]["option_1"]
                + s["records"]["option_2"]
                + sum(s["records"]["invalid"].values())
                == 3
                for s in samples[name]
            )
        else:
            assert numbers["unanswered,none"] == 0


def test_hbb_is_the_expectation_of_hbb_generate(model_folder, tmp_path):
    """The letters alone: of answers that are one token, those that are a or b, drawn at 0.8,
    against their likelihoods at 0.8. Other answers (A, the sentence without a letter) have no
    likelihood in `hbb`."""
    more = [
        "--limit",
        "8",
        "--metadata",
        "repeats=300",
        "order=paper",
        "--gen_kwargs",
        "max_gen_toks=1",
        "--apply_chat_template",
    ]
    _, _, samples = run(model_folder, tmp_path, ["hbb", "hbb_generate"], *more)
    z = []
    for likely, drawn in zip(samples["hbb"], samples["hbb_generate"], strict=True):
        assert likely["doc"]["context"] == drawn["doc"]["context"] and len(drawn["resps"][0]) == 300
        a, b = (drawn["resps"][0].count(letter) for letter in "ab")
        p = 1 / (1 + exp(-likely["records"]["log_odds"] / 0.8))
        z.append((a - (a + b) * p) / sqrt((a + b) * p * (1 - p)))
        assert a + b > 30
    assert sum(x * x for x in z) < chi2.ppf(0.999, len(z)) and abs(sum(z)) / sqrt(len(z)) < 3.3
