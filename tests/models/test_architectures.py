"""hf-prefix against hf on each causal architecture of transformers that can be built tiny: texts on
both sides of short thresholds, and rows of 2,700 tokens where a published threshold is shorter."""

import architectures
import pytest
import tiny
from tiny import asked, hf, prefix, texts, values

from lm_eval_bias.models import trial

pytestmark = pytest.mark.slow
RNG, ROW = tiny.random.Random(7), 2_700
LONG_ROWS = asked(
    "loglikelihood", *((tiny.words(54, RNG), " " + tiny.words(1, RNG)) for _ in range(9))
)
SETTINGS = {"until": ["\n"], "max_gen_toks": 5}
WRITTEN = asked("generate_until", *((tiny.words(n, RNG), SETTINGS) for n in (2, 9)))


def compare(model, requests, prompts, **options):
    """Assert that likelihoods and answers are those of hf; of a model that always runs as hf, of
    few requests. Whether the model shares prefixes."""
    plain = hf(model, batch_size=1, max_length=400)
    shared = prefix(model, max_length=400, **options)
    if shared.runs_as_hf:
        requests, prompts = requests[:3], prompts[:1]
    try:
        expected, answers = values(plain, requests), texts(plain, prompts)
    except Exception as error:
        pytest.skip(f"hf itself fails: {type(error).__name__}")
    assert values(shared, requests) == pytest.approx(expected, abs=1e-3, nan_ok=True)
    assert texts(shared, prompts) == answers
    return not shared._never_shared


@pytest.mark.parametrize("kind", architectures.KINDS)
def test_architecture(kind):
    try:
        model = architectures.built(kind, **architectures.SHORT)
    except Exception as error:
        pytest.skip(f"not tiny from its config alone: {type(error).__name__}")
    if compare(model, tiny.likelihoods()[::3], WRITTEN, pack_tokens=90):
        model = architectures.built(kind)
        published = trial.thresholds(model.config.get_text_config(decoder=True))
        if any(n < ROW and n != architectures.POSITIONS for n in published):
            compare(model, LONG_ROWS, [], pack_tokens=4096)
