"""Pairs have the tokens that the harness gives them, with tokenizers of every kind."""

import string
from functools import cache

import pytest
import tiny
import tiny_masked
import transformers
from hypothesis import given, settings, strategies as st
from lm_eval.models.huggingface import HFLM
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from lm_eval_bias.models.encoding import Encoder, packed, unpacked
from lm_eval_bias.models.pair_tokens import encode_pairs

SENTENCE = (
    "the sun shone on a green stone and rain fell in the river where Ann's seven friends weren't "
    "under 12 trees of 345 leaves"
)
WORDS = SENTENCE.split()
CORPUS = [
    " ".join(WORDS[i:] + WORDS[:i]) + end
    for i in range(len(WORDS))
    for end in (".", "!\n", "\n\nQ: is it?\nA:", " - no, never.", "é 中文")
]
# What Llama 3 splits by, and GPT-4o up to its scripts.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def fast(made, bos=False):
    """bos: whether it puts a token in front of a text."""
    if bos:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


def byte_level(split=None, bos=False, **options):
    made = Tokenizer(models.BPE(**options))
    first = [] if split is None else [pre_tokenizers.Split(Regex(split), "isolated")]
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [*first, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(CORPUS, trainer)
    return fast(made, bos)


def sentence_piece_bpe():
    """As Llama 2's: a blank before every text, and words that are only kept apart by what was
    merged."""
    letters = sorted({*"".join(CORPUS).replace(" ", "▁"), "▁", *string.ascii_letters})
    merges = [
        tuple(pair.split()) for pair in ("▁ t", "h e", "▁t he", "e n", "r e", "▁ ▁", "▁ a", "s t")
    ]
    tokens = dict.fromkeys(["<s>", "</s>", "<unk>", *letters, *(a + b for a, b in merges)])
    vocabulary = {token: i for i, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    return fast(made, bos=True)


TOKENIZERS = {
    "bytes": tiny.tokenizer,
    "GPT-2": byte_level,
    "GPT-2 with a first token": lambda: byte_level(bos=True),
    "Llama 3": lambda: byte_level(LLAMA3, bos=True, ignore_merges=True),
    "WordPiece": lambda: tiny_masked.tokenizer("wordpiece"),
    "Unigram": lambda: tiny_masked.tokenizer("unigram"),
    "Llama 2": sentence_piece_bpe,
    "a merge over a blank": lambda: tiny.tokenizer(merges=tiny.OVER_A_BLANK),
}


@cache
def tokenizer(name):
    return TOKENIZERS[name]()


class Harness:
    """The part of `HFLM` that encodes, around a tokenizer."""

    backend, _encode_pair, tok_encode = "causal", HFLM._encode_pair, HFLM.tok_encode

    def __init__(self, tokenizer, add_bos_token=None):
        self.tokenizer, self.add_bos_token = tokenizer, add_bos_token
        first = tokenizer.bos_token_id
        self.prefix_token_id = tokenizer.cls_token_id if first is None else first


def assert_as_the_harness_encodes(made, pairs, add_bos_token=None):
    harness, encoder = Harness(made, add_bos_token), Encoder(made, add_bos_token)
    expected = {pair: harness._encode_pair(*pair) for pair in pairs}
    # the harness itself refuses the others
    kept = [pair for pair, (context, continuation) in expected.items() if context and continuation]
    if not kept:
        return
    prefix = harness.prefix_token_id
    found = encode_pairs(encoder, kept, prefix, made.decode(prefix), 10_000)
    for pair, tokens, continuation in zip(kept, *found, strict=True):
        context, behind = expected[pair]
        assert unpacked(continuation).tolist() == behind, pair
        assert unpacked(tokens).tolist() == (context + behind)[:-1], pair


SCALES = [
    f"{name} rated it{end}"
    for name in ("Ann", "Bo", "<s>Dee", "Christian of Lyon")
    for end in (". On a scale from 0 to 10, was it good? Answer:", "?\n<answer>\n", " ", ":")
]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_scales_are_encoded_as_by_the_harness(name):
    """Contexts that begin or end alike, with the same continuations."""
    pairs = [(c, d + n) for c in SCALES for d in ("", " ", "a") for n in ("0", "8", "100", " one")]
    # the context has other tokens alone than with what follows
    pairs.append(("▁", "the"))
    assert_as_the_harness_encodes(tokenizer(name), pairs)


marks = [" ", "  ", "\n", "\n\n", ".", "'s", "<s>", "</s>", "▁", "Ġ", "\t", "a b", " x y "]
part = st.one_of(st.sampled_from([*WORDS, *CORPUS[:5], *marks]), st.text(max_size=4))
text = st.lists(part, max_size=6).map(" ".join) | st.lists(part, max_size=4).map("".join)


# The fast ones: a blank before every text, and a merge over a blank.
FUZZED = ["Llama 2", "a merge over a blank"]


@pytest.mark.parametrize(
    "name", tiny.slow_but(FUZZED, [*FUZZED, "Llama 3", "WordPiece", "Unigram"])
)
@settings(max_examples=10)
@given(
    head=text,
    contexts=st.lists(text, min_size=1, max_size=5),
    continuations=st.lists(text, min_size=1, max_size=4),
    add_bos_token=st.sampled_from([None, True, False]),
)
def test_pairs_are_encoded_as_by_the_harness(name, add_bos_token, head, contexts, continuations):
    pairs = [(head + c, continuation) for c in contexts for continuation in continuations]
    pairs = [pair for pair in pairs if pair[0]]
    assert_as_the_harness_encodes(tokenizer(name), pairs, add_bos_token)


def test_a_tokenizer_of_its_own_kind_encodes_in_its_own_way():
    class Shouting(transformers.PreTrainedTokenizerFast):
        def __call__(self, texts, **options):
            return super().__call__([text.upper() for text in texts], **options)

    made = Shouting(
        tokenizer_object=tokenizer("GPT-2").backend_tokenizer, bos_token="<s>", eos_token="</s>"
    )
    assert Encoder(made, None).each(["the sun"])["the sun"] == packed(
        tokenizer("GPT-2").encode("THE SUN")
    )
