"""What `hf` refuses, our model types refuse: with the same kind of error, or a sentence."""

import pytest

from lm_eval_bias.usage import UsageError
from tests.mistakes import refused
from tests.models import tiny
from tests.models.classifiers import entailment
from tests.models.tiny_masked import masked

THINKS = {"enable_thinking": True, "think_end_token": "</think>"}


def hf(**options):
    return tiny.hf(tiny.model("Llama"), **{"max_length": 64, **options})


def prefix(**options):
    return tiny.prefix(tiny.model("Llama"), **{"max_length": 64, **options})


OURS = [prefix, masked, entailment]
PREMISE = {"premise": "It rains.", "hypothesis": "It is wet."}


def likelihood(lm, *pairs):
    return lm.loglikelihood(tiny.asked("loglikelihood", *pairs, doc=PREMISE))


def refusal(act):
    with pytest.raises(Exception) as caught:
        act()
    return caught.value


def passes(lm):
    """Counts the passes of a model."""
    lm.passes = 0

    def counted(*_):
        lm.passes += 1

    lm.model.register_forward_pre_hook(counted)
    return lm


def assert_refused_alike(of_hf, of_ours):
    expected, found = refusal(of_hf), refusal(of_ours)
    assert isinstance(found, (type(expected), UsageError)), (expected, found)


@pytest.mark.parametrize("make", OURS)
@pytest.mark.parametrize(
    "options",
    [
        {"enable_thinking": True},  # without think_end_token
        {"backend": "decoder"},
        {"parallelize": True},
        {"tp_plan": "auto"},
        {"tokenizer": object()},
        {"batch_size": "many"},
        {"softmax_dtype": "float33"},
    ],
)
def test_options_that_hf_refuses(make, options):
    assert_refused_alike(lambda: hf(**options), lambda: make(**options))


@pytest.mark.parametrize("make", OURS)
def test_likelihoods_of_a_model_that_is_to_think(make):
    """Before the first pass."""
    ours = passes(make(**THINKS))
    pairs = [("so:", f" {label}") for label in ("entailment", "neutral", "contradiction")]
    assert_refused_alike(lambda: likelihood(hf(**THINKS), *pairs), lambda: likelihood(ours, *pairs))
    assert ours.passes == 0
    likelihood(make(**{**THINKS, "enable_thinking": False}), *pairs)


@pytest.mark.parametrize("make", OURS)
def test_an_empty_answer(make):
    pairs = ("so:", " True"), ("so:", "")
    assert_refused_alike(lambda: likelihood(hf(), *pairs), lambda: likelihood(make(), *pairs))


@pytest.mark.parametrize("make", [prefix, masked])
def test_an_answer_longer_than_the_model_reads(make):
    pair = ("so:", " yes" * 600)
    assert_refused_alike(lambda: likelihood(hf(), pair), lambda: likelihood(make(), pair))


@pytest.mark.parametrize(
    "settings",
    [
        "max_gen_toks=3",
        {"until": [], "max_gen_toks": 64},
        {"until": [], "max_gen_toks": 3, "of_nobody": 1},
        {"until": [], "max_gen_toks": 3, "do_sample": True, "temperature": -1.0},
        {"until": [], "max_gen_toks": 3, "num_beams": 0},
    ],
)
def test_settings_of_answers_that_hf_refuses(settings):
    def ask(lm):
        return lm.generate_until(tiny.asked("generate_until", ("so:", settings)))

    assert_refused_alike(lambda: ask(hf()), lambda: ask(prefix()))


@pytest.mark.parametrize(
    "method, arguments, says",
    [
        ("generate_until", ("so:", {"until": [], "max_gen_toks": 64}), "max_gen_toks=64 leaves no"),
        ("loglikelihood", (" ", "yes"), "the context has 0 tokens"),
    ],
)
def test_a_request_without_room_or_context_is_refused_by_a_sentence(method, arguments, says):
    with refused(says):
        getattr(prefix(), method)(tiny.asked(method, arguments))
