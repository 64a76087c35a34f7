"""hf-prefix against the harness's hf, on tiny random models of every kind of attention."""

import numpy as np
import peft
import pytest
import tiny
import torch
import transformers
from tiny import LIKELIHOODS, answers, assert_same, hf, prefix, texts, values, writing

from lm_eval_bias.models.tree_attention import TreeModel, Unsupported
from lm_eval_bias.models.trial import check
from tests.mistakes import refused


@pytest.fixture(scope="module")
def llama():
    return tiny.model("Llama")


@pytest.fixture(scope="module")
def exact(llama):
    """The likelihoods of hf."""
    return values(hf(llama))


def distinct_prefixes(model, requests):
    """What has to be computed at least, counted in another way: a set of all prefixes of what hf
    feeds its model."""
    found = set()
    for request in requests:
        context, continuation = request.args
        if context:
            before, behind = model._encode_pair(context, continuation)
        else:
            before, behind = [model.prefix_token_id], model.tok_encode(continuation)
        tokens = (before + behind)[-(128 + 1) :][:-1]
        found |= {tuple(tokens[: n + 1]) for n in range(len(tokens))}
    return len(found)


@pytest.mark.parametrize("name", tiny.slow_but(["Gemma3"], tiny.CONFIGS))
def test_every_kind_of_attention_agrees_with_hf(name):
    model = tiny.model(name)
    plain = hf(model)
    expected, written = answers(plain), texts(plain)
    for options in ({}, {"pack_tokens": 37, "held": 50}, {"pack_tokens": 90, "held": 0}):
        shared = prefix(model, **options)
        assert (shared.runs_as_hf is None) == (name in tiny.SHARES), shared.runs_as_hf
        assert_same(answers(shared), expected)
        assert texts(shared) == written, options
    assert answers(shared, []) == [] == texts(shared, [])


def test_every_distinct_prefix_is_computed_once(llama):
    least = distinct_prefixes(hf(llama), LIKELIHOODS)
    for pack_tokens in (512, 37):
        shared = prefix(llama, pack_tokens=pack_tokens)
        answers(shared)
        assert shared.tokens_computed == least
    without = prefix(llama, pack_tokens=37, held=0)
    answers(without)
    assert without.tokens_computed > least


@pytest.mark.parametrize("options", [{}, {"softmax_dtype": "float32"}])
def test_half_precision_stays_within_its_own_noise(options, exact):
    """The distance to hf in bfloat16 is no larger than twice the distance of hf in bfloat16 to hf
    in float32."""
    half = tiny.model("Llama").to(torch.bfloat16)
    rough = values(hf(half, **options))
    shared = prefix(half, **options)
    assert shared.runs_as_hf is None
    assert max(abs(values(shared) - exact)) <= 2 * max(abs(rough - exact))


def test_mixed_precision_is_used(llama, exact):
    shared = prefix(llama, mixed_precision_dtype="bfloat16")
    rough = values(shared)
    assert shared.runs_as_hf is None
    assert 1e-3 < max(abs(rough - exact)) < 5


def test_a_lora_adapter_counts(exact):
    adapted = peft.get_peft_model(
        tiny.model("Llama"),
        peft.LoraConfig(r=4, init_lora_weights=False, target_modules=["q_proj", "v_proj"]),
    )
    shared = prefix(adapted.eval(), pack_tokens=60)
    assert shared.runs_as_hf is None
    assert_same(answers(shared), answers(hf(adapted)))
    assert max(abs(values(shared) - exact)) > 0.1


def test_an_adapter_of_virtual_tokens_runs_as_hf():
    adapted = peft.get_peft_model(
        tiny.model("Llama"), peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    ).eval()
    shared = prefix(adapted)
    assert shared.runs_as_hf is not None
    assert answers(shared) == answers(hf(adapted))


def test_an_encoder_decoder_runs_as_hf(caplog):
    model = tiny.t5()
    shared = prefix(model)
    assert [r.message for r in caplog.records if "hf-prefix" in r.message] == [
        "hf-prefix: T5ForConditionalGeneration is an encoder-decoder, so it runs as --model hf: "
        "the same numbers, but slower."
    ]
    some = LIKELIHOODS[:5]
    assert answers(shared, some) == answers(hf(model), some)


def test_a_model_that_answers_otherwise_in_a_trial_runs_as_hf(monkeypatch):
    """A model that ignores the mask it is given would be wrong in silence."""
    model = tiny.model("Llama")
    monkeypatch.setattr(
        "lm_eval_bias.models.tree_attention._mask",
        lambda pack, additive, **_: torch.ones(1, 1, *pack.visible.shape, dtype=torch.bool),
    )
    shared = prefix(model)
    assert shared.runs_as_hf.startswith("gives other likelihoods when prefixes are shared")


@pytest.mark.slow
@pytest.mark.model
def test_rounding_is_told_from_other_positions(model_folder, monkeypatch):
    """In bfloat16 the small model's log-probabilities differ by 0.06 of what another prefix
    changes, on a GPU by 0.36 at most; with the positions of a row by half of it."""
    forward = TreeModel.forward

    def in_a_row(self, tokens, positions, visible, past, *others):
        return forward(self, tokens, np.arange(len(tokens)), visible, past, *others)

    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.bfloat16)
    check(TreeModel(model))
    monkeypatch.setattr(TreeModel, "forward", in_a_row)
    with pytest.raises(Unsupported, match="gives other likelihoods"):
        check(TreeModel(model))


def test_an_answer_leaves_the_cache_of_later_prompts_alone(llama):
    """The first two prompts are a group. The first writes on when the second has ended, whose
    beginning the third needs."""
    head = "the beginning of two prompts."
    requests = (
        writing("ab", tokens=12) + writing(head + "x", tokens=1) + writing(head + "y", tokens=12)
    )
    expected = texts(hf(llama), requests)
    options = {"pack_tokens": 8, "held": 31}
    assert texts(prefix(llama, **options), requests) == expected


def test_the_model_s_own_generation_settings_hold():
    model = tiny.model("Llama")
    without = texts(hf(model))
    model.generation_config.update(repetition_penalty=1.3)
    expected = texts(hf(model))
    assert texts(prefix(model)) == expected != without


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"on_diference": "hf"},
            r"unknown option 'on_diference' in --model_args\. Did you mean 'on_difference'\?",
        ),
        ({"on_difference": "go"}, "on_difference=go in --model_args: expected stop or hf"),
        ({"tp_plan": "auto"}, "hf-prefix has no tp_plan; use parallelize=True, or --model hf"),
    ],
)
def test_bad_options_are_told(options, message, llama):
    with refused(message):
        prefix(llama, **options)
