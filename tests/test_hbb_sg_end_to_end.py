"""HBB-SG on the small real model, through the command line, with and without its chat template."""

import json
import os
import subprocess
import sys
from math import exp, log

import pytest
from transformers import AutoTokenizer

pytestmark = pytest.mark.model

LIMIT = 4  # Age 1 and Age 2


@pytest.fixture(scope="module", params=["plain", "chat"])
def ran(request, model_folder, tmp_path_factory):
    """Whether with the template, what the command printed, its results, and the samples."""
    output = tmp_path_factory.mktemp("run")
    command = [sys.executable, "-m", "lm_eval", "--model", "hf-prefix", "--model_args", f"pretrained={model_folder}", "--device", "cpu"]
    command += ["--tasks", "hbb_sg", "--limit", str(LIMIT), "--output_path", str(output), "--log_samples"]
    command += ["--apply_chat_template"] if request.param == "chat" else []
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    samples = [json.loads(line) for line in next(output.rglob("samples_*.jsonl")).read_text().splitlines()]
    return request.param, done.stdout, json.loads(next(output.rglob("results_*.json")).read_text()), samples


def test_the_table_has_the_numbers(ran):
    _, printed, results, samples = ran
    for metric in ("biased_share", "bias_score", "mean_difference", "excess_difference", "instances"):
        assert f"|{metric}" in printed
    numbers = results["results"]["hbb_sg"]
    assert numbers["instances,none"] == 2 and numbers["unanswered,none"] == 0 and 0 < numbers["mean_difference,none"] < 100
    assert len(samples) == LIMIT


def test_p_follows_from_the_likelihoods_and_the_models_own_tokens(ran, model_folder):
    """Equation 2, computed anew. The line break that ends a chat prompt is scored, and counted, with the sentence."""
    form, _, _, samples = ran
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    for s in samples:
        reciprocal = []
        for i, sentence in enumerate(s["doc"]["choices"]):
            prompt, continuation = (s["arguments"][f"gen_args_{i}"][f"arg_{k}"] for k in (0, 1))
            assert continuation == ("" if form == "chat" else " ") + sentence
            assert s["doc"]["context"] in prompt and prompt.endswith(s["doc"]["context"]) == (form == "plain")
            tokens = len(tokenizer.encode(prompt + continuation)) - len(tokenizer.encode(prompt.rstrip()))
            assert s["records"]["lengths"][i] == tokens
            reciprocal.append(exp(float(s["resps"][i][0][0]) / tokens))
        assert s["records"]["unit"] == "tokens"
        assert s["records"]["log_odds"] == pytest.approx(log(sum(reciprocal[:4]) / sum(reciprocal[4:])))
