"""Tiny random models of every kind of attention, a tokenizer of bytes, and requests of every
kind."""

import random

import numpy as np
import pytest
import torch
import transformers
from lm_eval.models.huggingface import HFLM
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from lm_eval_bias.harness import compat, scoring
from lm_eval_bias.models.prefix import PrefixLM

SIZES = {
    "vocab_size": 259,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 192,
}
ROTARY = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
WINDOW = {"sliding_window": 24}  # shorter than the requests
MIXED = {**WINDOW, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
SOFT_CAPS = {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 5.0}
SMALL = {"vocab_size": 259, "hidden_size": 32}


def slow_but(fast, names):
    """Parameters, of which all but the fast ones are slow."""
    return [name if name in fast else pytest.param(name, marks=pytest.mark.slow) for name in names]


def near(expected):
    """Up to float rounding, which depends on the batch, the padding and the machine."""
    return pytest.approx(expected, rel=1e-5, abs=1e-4)


def assert_same(found, expected):
    """Answers, of which the numbers are near."""
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, tuple):
            assert_same(one, other)
        else:
            assert one == (near(other) if isinstance(other, float) else other)


CONFIGS = {
    "Llama": lambda: transformers.LlamaConfig(**ROTARY),
    # its default in newer transformers
    "Gemma2": lambda: transformers.Gemma2Config(
        **ROTARY, **WINDOW, **SOFT_CAPS, attn_implementation="eager"
    ),
    "Gemma3": lambda: transformers.Gemma3TextConfig(**ROTARY, **MIXED),
    "GPT-2": lambda: transformers.GPT2Config(
        vocab_size=259, n_embd=32, n_layer=3, n_head=4, n_positions=192
    ),
    "Falcon, ALiBi": lambda: transformers.FalconConfig(
        **{**SMALL, "num_hidden_layers": 3, "num_attention_heads": 4, "alibi": True},
        new_decoder_architecture=False,
    ),
    "Bloom": lambda: transformers.BloomConfig(**SMALL, n_layer=3, n_head=4),
    "Mixtral": lambda: transformers.MixtralConfig(**ROTARY, **EXPERTS),
    "GPT-OSS": lambda: transformers.GptOssConfig(**ROTARY, **MIXED, **EXPERTS),
    "Mamba": lambda: transformers.MambaConfig(**SMALL, num_hidden_layers=2, state_size=8),
}
SHARES = sorted(set(CONFIGS) - {"Mamba", "Falcon, ALiBi", "Bloom"})


def model(name, **changes):
    """A random model whose attention matters: its weights are ten times larger than usual."""
    config = CONFIGS[name]() if isinstance(name, str) else name
    tokens = {"bos_token_id": 256, "eos_token_id": 258}
    for key, value in {"initializer_range": 0.2, **tokens, **changes}.items():
        setattr(config, key, value)
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(config)
    made.generation_config = transformers.GenerationConfig(pad_token_id=257, **tokens)
    return made.eval()


def t5():
    torch.manual_seed(0)
    sizes = {"vocab_size": 259, "d_model": 16, "d_ff": 16, "d_kv": 8, "num_layers": 1}
    tokens = {"decoder_start_token_id": 257, "pad_token_id": 257}
    config = transformers.T5Config(**sizes, **tokens, num_heads=2)
    return transformers.T5ForConditionalGeneration(config).eval()


OVER_A_BLANK = [("Ġ", "a"), ("s", "Ġa")]
"""Merges that make one token of "s a"."""


def tokenizer(alphabet=None, merges=()):
    """One token per letter of an alphabet, all bytes if none is given, and <s>, <pad>, </s>."""
    alphabet = alphabet or sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*alphabet, "<s>", "<pad>", "</s>", *map("".join, merges)]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, list(merges)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", pad_token="<pad>", eos_token="</s>"
    )


WORDS = ["sun", "rain", "tree", "stone", "river", "cloud", "bread", "glass", "green", "seven"]
WORDS += ["under", "never"]


def words(n, rng):
    return " ".join(rng.choice(WORDS) for _ in range(n))


def asked(kind, *arguments, doc=(), task="task"):
    """A request for each of these arguments."""
    return [compat.request(kind, dict(doc), a, i, task, i) for i, a in enumerate(arguments)]


def scored(lm, *pairs, **how):
    return lm.likelihoods(asked(scoring.REQUEST, *[(*pair, how) for pair in pairs]))


def likelihoods():
    """Few-shot questions with long options, letters, options that begin alike, duplicates, an empty
    context, contexts too long for 128 tokens."""
    rng = random.Random(0)
    shots = "".join(f"Q: {words(3, rng)}?\nA: {words(2, rng)}\n\n" for _ in range(3))
    pairs = []
    for i in range(4):
        question = f"{shots}Q: {words(1 + i, rng)}?\nA:"
        pairs += [(question, " " + words(n, rng)) for n in (1, 3, 5)]
        pairs += [(question + " (", letter) for letter in "ab"]
    pairs += [(shots, c) for c in ("sun", "sunrise", "sunrise over", "s")]
    pairs += [pairs[3], pairs[3], pairs[0]]
    pairs += [("", "stone under the tree"), ("", "stone"), ("Once ", "upon a time"), ("x", "y")]
    pairs += [(words(40, rng), " cloud"), (words(40, rng) + " " + shots, words(4, rng))]
    return asked("loglikelihood", *pairs)


def prompts():
    """Prompts that share their beginning and two that share nothing, one of them cut; several
    lengths and ends of the answer."""
    rng = random.Random(1)
    head = "Write one word after the colon. " + words(5, rng) + "\n"
    texts = [head + words(n, rng) + ":" for n in (1, 2, 3, 5, 8)] + [
        head + "sun:",
        head + "sun: rain",
        words(4, rng),
        words(60, rng),
    ]
    texts += [texts[0]] * 2
    settings = [
        {"until": ["\n", " "], "max_gen_toks": 12},
        {"until": "e", "max_gen_toks": 4},
        {"until": [], "max_gen_toks": 9, "do_sample": False},
    ]
    return asked("generate_until", *zip(texts, map(dict, settings * 4), strict=False))


# ---- Models of the harness


def hf(model, kind=HFLM, **options):
    return kind(model, **{"tokenizer": tokenizer(), "max_length": 128, **options})


def prefix(model, kind=PrefixLM, pack_tokens=None, held=None, **options):
    """pack_tokens, held: tokens at a time and in the cache, so that few are many packs."""
    lm = hf(model, kind, **options)
    if pack_tokens is not None:
        lm._token_limit = lambda *_: pack_tokens
    if held is not None:
        lm._held_tokens = held
    return lm


LIKELIHOODS, PROMPTS = likelihoods(), prompts()


def answers(lm, requests=LIKELIHOODS):
    return lm.loglikelihood(requests, disable_tqdm=True)


def values(lm, requests=LIKELIHOODS):
    return np.array([value for value, _ in answers(lm, requests)])


def texts(lm, requests=PROMPTS):
    return lm.generate_until(requests, disable_tqdm=True)


def writing(*prompts, tokens=6):
    """Requests of answers of so many tokens."""
    settings = {"until": [], "max_gen_toks": tokens}
    return asked("generate_until", *((prompt, settings) for prompt in prompts))


def probability(model, tokenizer, text, token):
    """P(a token) behind a text, from a plain forward pass."""
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        shares = model(ids).logits[0, -1].float().softmax(-1)
    return float(shares[tokenizer.convert_tokens_to_ids(token)])
