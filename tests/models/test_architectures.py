"""hf-prefix against hf on each causal architecture of transformers that can be built tiny: texts on
both sides of short thresholds, and rows of 2,700 tokens with the thresholds as published."""

from __future__ import annotations

import architectures
import numpy as np
import pytest
import tiny
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from test_prefix import likelihoods, texts

from lm_eval_bias.models import trial
from lm_eval_bias.models.cost import Cost
from lm_eval_bias.models.prefix import PrefixLM

pytestmark = pytest.mark.slow
RNG = tiny.random.Random(7)
LONG_ROWS = [
    Instance("loglikelihood", {}, (tiny.words(54, RNG), " " + tiny.words(1, RNG)), i)
    for i in range(9)
]
SETTINGS = {"until": ["\n"], "max_gen_toks": 6}
WRITTEN = [Instance("generate_until", {}, (tiny.words(n, RNG), SETTINGS), n) for n in (2, 4, 9)]


def compare(model, requests, monkeypatch, **options):
    """Assert that likelihoods and answers are those of hf."""
    monkeypatch.setattr(trial, "measured", lambda *_: Cost(1e-5, 1e-9, 1e-9, 3, 1e-3, 1e-5))
    tokenizer, size = tiny.tokenizer(), {"max_length": 400}
    plain = HFLM(model, tokenizer=tokenizer, batch_size=1, **size)
    try:
        expected, answers = likelihoods(plain, requests), texts(plain, WRITTEN)
    except Exception as error:
        pytest.skip(f"hf itself fails: {type(error).__name__}")
    shared = PrefixLM(model, tokenizer=tokenizer, **size, **options)
    found = np.array([value for value, _ in likelihoods(shared, requests)])
    right = np.array([value for value, _ in expected])
    assert found == pytest.approx(right, abs=1e-3, nan_ok=True)
    assert texts(shared, WRITTEN) == answers


@pytest.mark.parametrize("kind", architectures.KINDS)
def test_architecture(kind, monkeypatch):
    try:
        model = architectures.built(kind, **architectures.SHORT)
    except Exception as error:
        pytest.skip(f"not tiny from its config alone: {type(error).__name__}")
    some = tiny.likelihoods()[::3]
    compare(model, some, monkeypatch, pack_tokens=90)
    compare(architectures.shallow(kind), LONG_ROWS, monkeypatch, pack_tokens=4096)
