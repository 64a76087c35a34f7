"""HBB-SG on the small real model, through the command line, with and without its chat template; on
our items and on the authors'."""

import json
from math import exp, log

import pytest
from transformers import AutoTokenizer

from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.data import sources
from tests.started import run_lm_eval

pytestmark = pytest.mark.model

LIMIT = 4  # Age 1 and Age 2


@pytest.fixture(scope="module", params=[("hbb_sg", "plain"), ("hbb_sg_official", "chat")])
def ran(request, model_folder, tmp_path_factory):
    """The task, whether with the template, what the command printed, its results, and the samples.
    Of the authors' sentences there is one for each option here."""
    task, form = request.param
    environment = {}
    if task == "hbb_sg_official":
        official = request.getfixturevalue("shared") / "official"
        if not (official / "hbb" / hbb_official.QUESTIONS).is_file():
            pytest.skip("the authors' questions are not beside this checkout")
        environment[sources.LOCAL] = str(official)
    output = tmp_path_factory.mktemp("run")
    command = [
        "--model",
        "hf-prefix",
        "--model_args",
        f"pretrained={model_folder}",
        "--device",
        "cpu",
    ]
    command += [
        "--tasks",
        task,
        "--limit",
        str(LIMIT),
        "--output_path",
        str(output),
        "--log_samples",
    ]
    command += ["--apply_chat_template"] if form == "chat" else []
    command += ["--metadata", "sentences=one"] if task == "hbb_sg_official" else []
    done = run_lm_eval(command, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    samples = [
        json.loads(line) for line in next(output.rglob("samples_*.jsonl")).read_text().splitlines()
    ]
    return (
        task,
        form,
        done.stdout,
        json.loads(next(output.rglob("results_*.json")).read_text()),
        samples,
    )


def test_the_table_has_the_numbers(ran):
    task, _, printed, results, samples = ran
    for metric in (
        "biased_share",
        "bias_score",
        "mean_difference",
        "excess_difference",
        "instances",
    ):
        assert f"|{metric}" in printed
    numbers = results["results"][task]
    assert (
        numbers["instances,none"] == 2
        and numbers["unanswered,none"] == 0
        and 0 < numbers["mean_difference,none"] < 100
    )
    assert len(samples) == LIMIT


def test_p_follows_from_the_likelihoods_and_the_models_own_tokens(ran, model_folder):
    """Equation 2, computed anew. The line break that ends a chat prompt is scored, and counted,
    with the sentence."""
    task, form, _, _, samples = ran
    sentences = {"hbb_sg": 4, "hbb_sg_official": 1}[task]
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    for s in samples:
        reciprocal = []
        assert len(s["doc"]["choices"]) == 2 * sentences
        for i, sentence in enumerate(s["doc"]["choices"]):
            prompt, continuation = (s["arguments"][f"gen_args_{i}"][f"arg_{k}"] for k in (0, 1))
            assert continuation == ("" if form == "chat" else " ") + sentence
            assert s["doc"]["context"] in prompt and prompt.endswith(s["doc"]["context"]) == (
                form == "plain"
            )
            tokens = len(tokenizer.encode(prompt + continuation)) - len(
                tokenizer.encode(prompt.rstrip())
            )
            assert s["records"]["lengths"][i] == tokens
            reciprocal.append(exp(float(s["resps"][i][0][0]) / tokens))
        assert s["records"]["unit"] == "tokens"
        assert s["records"]["log_odds"] == pytest.approx(
            log(sum(reciprocal[:sentences]) / sum(reciprocal[sentences:]))
        )
