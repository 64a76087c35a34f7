"""What is computed at a time, by what attention costs.

Nothing is timed, so that two runs have the same passes. Packs and ROWS are within 3 % of the
fastest power of two on every workload of docs/explanation/hf_prefix.md, on a CPU and on an H200.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from .token_trie import Block, TokenTrie

ROWS = 512
"""Answers that are written side by side."""


class Cost(NamedTuple):
    """Of attention in one layer, in floating-point operations that take as long: a call, a key
    copied, a query and key compared. pack: tokens at a time."""

    call: float
    key: float = 0.0
    pair: float = 1.0
    pack: int = 1024

    @classmethod
    def on(cls, device: torch.device, heads: int, keys: torch.Tensor, values: torch.Tensor) -> Cost:
        """keys, values: of a layer's cache, shape (1, key heads, tokens, size)."""
        size = keys.shape[3] + values.shape[3]
        if device.type == "cpu":
            call, number, pack = 2e6 * torch.get_num_threads(), 24.0, 1024
        else:
            call, number, pack = 3e9, 6000.0, 16384
        return cls(call, number * keys.shape[1] * size, 2.0 * heads * size, pack)


def partition(
    cost: Cost, depth: np.ndarray, past: int, longest: int = 128, most: int = 128
) -> list[tuple[int, int]]:
    """The cheapest partition of a pack's attention into calls.

    depth: of the pack's nodes, shape (q,). past: nodes in the cache. longest: tokens of a call
    without a branch. most: places that are tried.
    """
    branches = np.flatnonzero(np.diff(depth) != 1) + 1
    cuts = np.union1d(np.arange(0, len(depth), longest), branches)
    cuts = cuts[np.unique(cuts // max(len(depth) // most, 1), return_index=True)[1]]
    above = depth[cuts]
    key = cost.key * (above != past + cuts)
    least, begins = np.zeros(len(cuts) + 1), []
    ends = [*cuts[1:].tolist(), len(depth)]
    for i, end in enumerate(ends, 1):
        queries = end - cuts[:i]
        attention = (cost.pair * queries + key[:i]) * (above[:i] + queries)
        options = least[:i] + cost.call + attention
        begins.append(int(np.argmin(options)))
        least[i] = options[begins[-1]]
    calls, i = [], len(cuts)
    while i:
        begin = begins[i - 1]
        calls.append((int(cuts[begin]), ends[i - 1]))
        i = begin
    return calls[::-1]


def blocks(trie: TokenTrie, nodes: np.ndarray, past: int, cost: Cost) -> list[Block]:
    """The calls of a pack's attention. nodes: cached, then the pack's, shape (past + q,)."""
    result = []
    for start, stop in partition(cost, trie.depth[nodes[past:]], past):
        first = past + start
        ancestors = np.flatnonzero(trie.visible(nodes[first : first + 1], nodes[:first])[0])
        if len(ancestors) == first:
            result.append(Block(start, stop, slice(0, past + stop)))
        else:
            keys = np.concatenate([ancestors, np.arange(first, past + stop)])
            result.append(Block(start, stop, keys))
    return result


def row_blocks(sees: np.ndarray, cost: Cost) -> list[Block]:
    """The calls of a step's attention. sees: shape (rows, nodes)."""
    starts = np.arange(0, len(sees), 4)
    keys = np.logical_or.reduceat(sees, starts, axis=0)
    splits = [(starts, keys)]
    while len(starts) > 1:
        keys = np.logical_or.reduceat(keys, np.arange(0, len(starts), 2), axis=0)
        starts = starts[::2]
        splits.append((starts, keys))

    def operations(split: tuple[np.ndarray, np.ndarray]) -> float:
        starts, keys = split
        if len(starts) == 1:
            return cost.call + cost.pair * sees.size
        rows = np.diff(starts, append=len(sees))
        return float(keys.sum(axis=1) @ (cost.pair * rows + cost.key) + cost.call * len(starts))

    starts, keys = min(reversed(splits), key=operations)
    if len(starts) == 1:
        return [Block(0, len(sees), slice(0, sees.shape[1]))]
    bounds = pairwise([*starts.tolist(), len(sees)])
    return [Block(a, b, np.flatnonzero(k)) for (a, b), k in zip(bounds, keys, strict=True)]
