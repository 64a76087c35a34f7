"""hf-prefix where a model is not the same in large rows, long texts or its own generation; errors
in the middle of a run; requests that are computed again."""

import random
from functools import wraps
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
import transformers
from lm_eval.api.model import hash_args
from tiny import answers, asked, hf, prefix, texts, values, writing

from lm_eval_bias.models import trial
from lm_eval_bias.models.prefix import rechecked
from lm_eval_bias.models.tree_attention import TreeModel
from lm_eval_bias.models.trial import bound, rope_limit, thresholds
from lm_eval_bias.usage import UsageError

SIZES = {**tiny.ROTARY, "num_hidden_layers": 4, "pad_token_id": 257}
LONG = {"rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}


def pairs(count, head="", words=5, seed=3):
    rng = random.Random(seed)
    made = ((head + tiny.words(words, rng), " " + tiny.words(1, rng)) for _ in range(count))
    return asked("loglikelihood", *made)


SHORT, ABOVE = pairs(24), pairs(12, head=tiny.words(10, random.Random(2)) + "\n", seed=4)


def gpt_neo():
    layers = {"hidden_size": 32, "num_layers": 4, "num_heads": 4, "intermediate_size": 48}
    return transformers.GPTNeoConfig(
        **{**layers, "vocab_size": 259, "window_size": 128, "max_position_embeddings": 512},
        attention_types=[[["global", "local"], 2]],
    )


def llama4():
    tuned = {"floor_scale": 256, "attn_temperature_tuning": True, "intermediate_size_mlp": 48}
    return transformers.Llama4TextConfig(
        **{**SIZES, **tuned, "num_local_experts": 4, "num_experts_per_tok": 1}
    )


def longrope():
    factors = {"short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0]}
    return transformers.Phi3Config(
        **{**SIZES, "original_max_position_embeddings": 64},
        rope_parameters={"rope_type": "longrope", **LONG, **factors},
    )


def dynamic():
    # beyond its length, hf itself answers by the longest text that it has read
    return transformers.LlamaConfig(
        **{**SIZES, "num_key_value_heads": 4, "max_position_embeddings": 64},
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0},
    )


FAST = gpt_neo, longrope


@pytest.mark.parametrize("config", tiny.slow_but(FAST, (*FAST, llama4, dynamic)))
@pytest.mark.parametrize("pack_tokens", tiny.slow_but([900], [64, 900]))
def test_what_follows_the_row_or_the_longest_text_does_not_reach_others(config, pack_tokens):
    """hf reads each text alone: windows, temperatures and frequencies by its own length."""
    model, requests = tiny.model(config()), SHORT + ABOVE
    plain = hf(model, batch_size=1)
    shared = prefix(model, batch_size="auto", pack_tokens=pack_tokens)
    assert values(shared, requests) == pytest.approx(values(plain, requests), abs=1e-3)
    prompts = writing(*(r.args[0] for r in requests[::9]))
    assert texts(shared, prompts) == texts(plain, prompts)
    assert shared.runs_as_hf is None


def test_rows_stay_below_the_window_and_texts_below_the_frequencies(caplog):
    """128 and 256 tokens are the config's; a threshold itself counts where a row reaches it."""
    for config, most in ((gpt_neo, 127), (llama4, 255)):
        shared = prefix(tiny.model(config()), batch_size="auto", pack_tokens=900)
        answers(shared, SHORT)
        assert shared._row_limit == most
    assert [r.message.split(",")[0] for r in caplog.records if "hf-prefix" in r.message] == [
        f"hf-prefix: {name}ForCausalLM gives other likelihoods in passes of more than {n} tokens"
        for name, n in (("GPTNeo", 127), ("Llama4", 255))
    ]
    for config in (longrope, dynamic):
        assert rope_limit(config()) == 64


def test_rows_of_the_work_are_the_trial_of_rows(monkeypatch):
    """A model that is right needs no further pass; what is wrong once at random stops nothing."""
    monkeypatch.setattr("lm_eval_bias.models.prefix.row_limit", lambda *_: pytest.fail("searched"))
    shared = prefix(tiny.model("Llama"), batch_size="auto", pack_tokens=300)
    expected = answers(shared, SHORT)
    assert 300 < shared._tried_row <= 5 * (300 + 100) // 4
    monkeypatch.setattr("lm_eval_bias.models.prefix.row_limit", lambda *_: np.inf)
    shared._same_alone = lambda *_: False
    shared._tried_row = 0
    assert answers(shared, SHORT) == expected


def test_thresholds_are_the_lengths_that_a_config_names():
    config = transformers.Gemma3TextConfig(
        sliding_window=512, max_position_embeddings=4096, vocab_size=100, hidden_size=640
    )
    assert {512, 4096} <= set(thresholds(config))
    assert not {100, 640} & set(thresholds(config))


def test_a_model_whose_cache_differs_from_its_passes_writes_as_hf(monkeypatch, caplog):
    """A model that counts positions in its cache from 1."""
    model = tiny.model("Llama")
    prepare = model.prepare_inputs_for_generation

    @wraps(prepare)
    def shifted(*arguments, **options):
        inputs = prepare(*arguments, **options)
        if inputs["input_ids"].shape[1] == 1:
            inputs["position_ids"] = inputs["position_ids"] + 1
        return inputs

    monkeypatch.setattr(model, "prepare_inputs_for_generation", shifted)
    shared, plain = prefix(model), hf(model, batch_size=1)
    assert texts(shared) == texts(plain)
    assert "gives other likelihoods when it writes than when it reads" in caplog.text
    assert values(shared, SHORT) == pytest.approx(values(plain, SHORT), abs=1e-3)


class Failing:
    """A `TreeModel.forward` that fails from the third pass on behind its trials."""

    def __init__(self, monkeypatch, shared):
        self.passes, forward = 0, TreeModel.forward
        shared._try_rows = lambda *_: None

        def failing(*arguments):
            self.passes += 1
            if self.passes > 2:
                raise RuntimeError("The size of tensor a must match the size of tensor b")
            return forward(*arguments)

        monkeypatch.setattr(TreeModel, "forward", failing)


def test_after_an_error_in_the_middle_of_a_run_the_rest_runs_as_hf(monkeypatch, caplog):
    model = tiny.model("Llama")
    expected = values(hf(model), SHORT)
    shared = prefix(model, pack_tokens=64)
    failing = Failing(monkeypatch, shared)
    assert values(shared, SHORT) == pytest.approx(expected, abs=1e-3)
    assert values(shared, SHORT) == pytest.approx(expected, abs=1e-3)
    assert failing.passes == 3
    (message,) = (r.message for r in caplog.records if "hf-prefix" in r.message)
    assert message.startswith(
        "hf-prefix: LlamaForCausalLM failed in the middle of several texts in one pass, so it runs "
        "as --model hf: the same numbers, but slower."
    )


def test_after_an_error_among_answers_the_rest_is_written_as_hf(monkeypatch):
    model = tiny.model("Llama")
    expected = texts(hf(model))
    shared = prefix(model, pack_tokens=16)
    Failing(monkeypatch, shared)
    assert texts(shared) == expected
    assert shared.runs_as_hf


# ---- Requests that are computed again


def test_one_in_a_thousand_is_computed_again_but_8_to_64():
    """One in each of equal parts, so from all packs."""
    for count, parts in ((0, 0), (5, 5), (500, 8), (20_000, 20), (10**6, 64)):
        places = rechecked(count)
        assert len(places) == parts
        for i, place in enumerate(places):
            assert i * count // parts <= place < (i + 1) * count / parts


def test_the_bound_is_64_last_digits():
    """bfloat16 has 7 digits behind the point of its mantissa, float16 has 10."""
    assert bound(torch.bfloat16, 1) == 64 * 2**-7 == 0.5
    assert bound(torch.float16, 4) == 2 * 64 * 2**-10
    assert bound(torch.float32, 1) == 1e-3


def misread_commas(monkeypatch):
    """A model that reads a comma in another way where more than 40 tokens go through it at once,
    which no config names and no trial meets."""
    forward, comma = TreeModel.forward, tiny.tokenizer().encode(",")[0]

    def wrong(self, tokens, *others):
        logits, layers = forward(self, tokens, *others)
        commas = comma in tokens and len(tokens) > 40
        return (logits + 3 * torch.linspace(0, 1, 259) if commas else logits), layers

    monkeypatch.setattr(TreeModel, "forward", wrong)


COMMAS = pairs(16, head="One, two, three: ")


def test_a_difference_ends_the_run_and_names_both_values(monkeypatch):
    model, cache = tiny.model("Llama"), {}
    expected = values(hf(model), COMMAS)
    misread_commas(monkeypatch)
    shared = prefix(model)
    monkeypatch.setattr(trial, "compare", None)  # no more trials
    shared._try_rows = lambda *_: None
    shared.cache_hook = SimpleNamespace(
        dbdict=cache,
        add_partial=lambda method, key, answer: cache.update({hash_args(method, key): answer}),
    )
    with pytest.raises(UsageError) as error:
        answers(shared, COMMAS)
    message = str(error.value)
    assert "Use --model hf, or add on_difference=hf" in message
    assert any(f"{value:.6g} as --model hf computes it" in message for value in expected)
    assert not cache, "answers that may be wrong stay in the cache"


def test_a_difference_can_send_all_requests_to_hf(monkeypatch, caplog):
    model = tiny.model("Llama")
    plain = hf(model)
    prompts = writing(*(r.args[0] for r in COMMAS[::4]))
    expected, answers = values(plain, COMMAS), texts(plain, prompts)
    misread_commas(monkeypatch)
    for requests, method, right in ((COMMAS, values, expected), (prompts, texts, answers)):
        shared = prefix(model, on_difference="hf")
        shared._try_rows = lambda *_: None
        caplog.clear()
        found = method(shared, requests)
        assert found == right if method is texts else found == pytest.approx(right, abs=1e-3)
        assert "gives other likelihoods when texts share a pass" in shared.runs_as_hf
        assert "as --model hf computes it" in caplog.text


def test_rounding_is_no_difference():
    model = tiny.model("Mixtral").to(torch.bfloat16)
    shared = prefix(model)
    assert np.isfinite(values(shared, COMMAS)).all() and shared.runs_as_hf is None


def test_another_first_token_than_the_tokenizer_s_is_no_difference():
    tokenizer = tiny.tokenizer()
    tokenizer.add_bos_token = True
    options = {"tokenizer": tokenizer, "prefix_token_id": 257}
    model, requests = tiny.model("Llama"), asked("loglikelihood", ("", "sun"))
    expected = values(hf(model, **options), requests)
    assert values(prefix(model, **options), requests) == tiny.near(expected)


# ---- Continuations that the tokenizer merges into their context


@pytest.mark.parametrize("as_hf", [False, True])
def test_a_merged_continuation_has_tokens_of_its_own(as_hf, caplog):
    """ "s a" is one token, so nothing is left of the continuation: it is " a" behind "s"."""
    tokenizer = tiny.tokenizer(merges=tiny.OVER_A_BLANK)
    model = tiny.model("Llama", vocab_size=len(tokenizer))
    shared = prefix(model, tokenizer=tokenizer)
    if as_hf:
        shared.runs_as_hf = "of a test"
    ((value, _),) = answers(shared, asked("loglikelihood", ("ones", " a")))
    context, (token,) = tokenizer.encode("ones"), tokenizer.encode(" a")
    with torch.no_grad():
        log_p = model(torch.tensor([context])).logits[0, -1].log_softmax(-1)
    assert value == tiny.near(float(log_p[token]))
    assert as_hf or "merges 1 continuations into the end of their contexts" in caplog.text
