"""Trials whether a model gives the same on a tree of tokens as on each text alone."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig

from .pack_size import is_shortage
from .sweep import Sweep
from .token_trie import TokenTrie
from .tree_attention import Layers, TreeModel, Unsupported, select

BEGINNING = 8
"""Tokens that the texts of a trial share."""
SHORTEST = 16
"""The longest of the short texts of each trial."""
CHAIN = 16
"""Tokens of each unrelated text in front of them."""
SHORT_TEXTS = 24
"""Tokens of the short texts of each trial."""
SMALLEST_ROW = 64
# Names of settings that may be a number of tokens at which a model changes.
_LENGTHS = re.compile(
    r"window|chunk|position|context|length|_len$|scale|local_attention|block_size|topk|n_ctx"
)


def _sections(settings: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    yield settings
    for value in settings.values():
        if isinstance(value, dict):
            yield from _sections(value)


def thresholds(config: Any) -> list[int]:
    """The lengths in a config at which a model may change, ascending."""
    return sorted(
        {
            int(min(value, 2**31))
            for settings in _sections(config.to_dict())
            for name, value in settings.items()
            if _LENGTHS.search(str(name)) and isinstance(value, int | float) and value > SHORTEST
        }
    )


def rope_limit(config: Any) -> float:
    """The longest text whose rotary frequencies do not depend on its length. Longrope and dynamic
    ones follow the longest text of a pass."""
    name = "original_max_position_embeddings"
    limits = (
        settings.get(name) or getattr(config, name, None) or config.max_position_embeddings
        for settings in _sections(config.to_dict())
        if settings.get("rope_type", settings.get("type")) in ("longrope", "dynamic")
    )
    return min(limits, default=inf)


def bound(dtype: torch.dtype, tokens: int) -> float:
    """How far log-likelihoods of `tokens` tokens may differ by rounding, in nats: 64 last digits of
    the data type or 0.001, times the root of the tokens."""
    return max(1e-3, 64 * torch.finfo(dtype).eps) * sqrt(tokens)


def rounded(model: Any, seed: int) -> AbstractContextManager[Any]:
    """Inside the block, embeddings are changed by their last digit."""
    rng = np.random.default_rng(seed)

    def change(_: Any, __: Any, values: Tensor) -> Tensor:
        sign, kind = torch.as_tensor(rng.choice([-1, 1], values.shape)), values.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else values.dtype
        return values * (1 + torch.finfo(dtype).eps * sign.to(values))

    return model.get_input_embeddings().register_forward_hook(change)


class Comparison(NamedTuple):
    """error: log-probabilities in a tree less those of each text alone, shape (texts, vocabulary).
    agrees: whether it is small, or `rounded` changes them as much. rows: tokens in the largest pass
    and its cache. layers: the cache."""

    error: Tensor
    agrees: bool
    rows: int
    layers: Layers


def compare(
    model: TreeModel, lengths: Sequence[int] = (), in_front: int = 0, cached: int = 0
) -> Comparison:
    """Compare three short texts, and texts of `lengths` tokens, in two passes of a tree with a
    plain pass of each.

    in_front, cached: tokens of other texts in the second pass and in the cache.
    """
    vocabulary = model.model.get_input_embeddings().weight.shape[0]
    rng, high = np.random.default_rng(0), min(vocabulary, 1000)
    begin = rng.integers(0, high, BEGINNING).tolist()

    def chain(first: int, length: int) -> list[int]:
        return [*begin, first, *rng.integers(0, high, length - 1).tolist()]

    # a trie sorts its branches by their first token
    lengths_of_others = [CHAIN] * (2 + in_front // CHAIN) + [in_front % CHAIN or 1]
    others = [chain(i % (high // 2), n) for i, n in enumerate(lengths_of_others)]
    long = chain(high // 2, max([CHAIN, *lengths]))
    texts = [long[:14], [*long[:11], *begin[:5]], chain(high - 1, 5)]
    texts += [long[:length] for length in lengths]
    trie = TokenTrie([*others, *texts])
    last = np.concatenate(trie.tails)
    sweep = Sweep(model, trie)
    sweep.advance(last[1] + 1, last[:0])
    repeated = np.sort(np.resize(np.arange(BEGINNING, sweep.cursor), cached))
    sweep.nodes = np.concatenate([np.arange(BEGINNING), repeated])
    sweep.layers = select(sweep.layers, sweep.nodes, apart=True)
    rows = len(sweep.nodes) + trie.size - sweep.cursor
    leaves, text = np.unique(last[len(others) :], return_inverse=True)
    logits = sweep.advance(trie.size, leaves)[text]
    result = with_plain(model, logits, lambda: model.alone(texts))
    return Comparison(*result, rows, sweep.layers)


def with_plain(
    model: TreeModel, logits: Tensor, alone: Callable[[], Tensor]
) -> tuple[Tensor, bool]:
    """`Comparison.error` and `Comparison.agrees`. alone: computes the logits in plain passes."""

    def plain() -> Tensor:
        return alone().float().log_softmax(-1)

    expected = plain()
    error = logits.float().log_softmax(-1) - expected
    if error.abs().max().item() <= 1e-3:
        return error, True
    with rounded(model.model, 1):
        return error, bool(error.norm() <= 2 * (plain() - expected).norm())


def row_limit(model: TreeModel, in_front: int, cached: int) -> float:
    """The largest row (a pass and its cache) in which a model is right: infinity if it is at
    `in_front` and `cached` tokens, 0 if in none of those tried."""

    def largest(size: int) -> int:
        """0 if the model is wrong in the row tried."""
        front = min(in_front, size)
        try:
            result = compare(model, (), front, size - front)
        except Exception as error:
            if is_shortage(error):
                raise
            return 0
        return result.rows * result.agrees

    if largest(in_front + cached):
        return inf
    powers = [2**k for k in range(SMALLEST_ROW.bit_length() - 1, 31)]
    named = thresholds(model.model.config.get_text_config(decoder=True))
    sizes = [s for s in {*named, *powers} if SMALLEST_ROW <= s < in_front + cached]
    tried = (largest(size - 1 - SHORT_TEXTS) for size in sorted(sizes, reverse=True))
    return next(filter(None, tried), 0)


def writes_alike(model: TreeModel, length: int) -> bool:
    """Whether `generate` gives the logits of a plain pass behind a prompt of `length` tokens."""
    vocabulary = model.model.get_input_embeddings().weight.shape[0]
    start = np.random.default_rng(0).integers(0, min(vocabulary, 1000), (1, length))
    text = torch.as_tensor(start, device=model.device)
    settings = GenerationConfig(
        **{"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, "output_logits": True},
        return_dict_in_generate=True,
    )
    written = model.model.generate(
        input_ids=text, attention_mask=torch.ones_like(text), generation_config=settings
    )

    def plain() -> Tensor:
        with torch.no_grad():
            return model.model(written.sequences[:, :-1]).logits[0, -len(written.logits) :]

    return with_plain(model, torch.cat(written.logits), plain)[1]


def check(model: TreeModel) -> tuple[float, int]:
    """The bytes per cached node and the vocabulary size. Raises Unsupported if log-probabilities in
    a small tree are off by more than 0.001 and more than `rounded` changes."""
    result = compare(model)
    if not result.agrees:
        most = result.error.abs().max().item()
        raise Unsupported(
            f"gives other likelihoods when prefixes are shared (by {most:.2g} in a trial)"
        )
    stored = [t for layer in result.layers for t in (layer.keys, layer.values)]
    size = sum(t.numel() * t.element_size() / t.shape[2] for t in stored)
    return size, result.error.shape[1]
