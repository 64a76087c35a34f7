"""The distinct prefixes of many token sequences, in the order in which a model computes them.

Plain arrays, no model: what is shared, what a pack of tokens may see, and how its attention splits
into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .encoding import packed, unpacked
from .ragged import Ragged


class TokenTrie:
    """Token sequences as a trie, its nodes numbered in depth-first order.

    sequences: n token lists, none empty, or what `encoding.packed` makes of them. tails: how many
    of its last nodes to remember for each; 1 if None.

    tails: for each sequence, its last nodes in order. tokens, depth: shape (size,); a node's token
    and its number of ancestors, which is the token's position in its sequence. end: shape (size,);
    one past the last node of the subtree. Node `a` is `b` or one of its ancestors exactly if `a <=
    b < end[a]`. All of 32 bits. A depth-first order has two consequences that everything here rests
    on: a node's parent is the node before it if the depth grows by one, and whatever is computed
    after node `b` needs, of all that was computed before `b`, only the ancestors of `b`: one path.
    """

    def __init__(
        self,
        sequences: Sequence[Sequence[int] | bytes],
        tails: Sequence[int] | np.ndarray | None = None,
    ):
        keys = [s if isinstance(s, bytes) else packed(s) for s in sequences]
        self.tails = Ragged.empty(
            np.ones(len(keys), np.int64) if tails is None else np.asarray(tails, np.int64), np.int32
        )
        last, starts = self.tails.values, self.tails.offsets.tolist()
        path = np.zeros(max(map(len, keys), default=0) // 4, dtype=np.int32)
        depths = np.arange(len(path), dtype=np.int32)
        tokens, depth = [b""], [depths[:0]]
        closed: list[tuple[np.ndarray, int]] = []
        previous = b""
        length = size = 0
        for i in sorted(range(len(keys)), key=keys.__getitem__):
            key = keys[i]
            if key != previous:
                common, was, length = _common_prefix(previous, key), length, len(key) // 4
                if common < was:
                    closed.append((path[common:was].copy(), size))
                path[common:length] = np.arange(size, size + length - common)
                tokens.append(key[4 * common :])
                depth.append(depths[common:length])
                size += length - common
                previous = key
            start, stop = starts[i], starts[i + 1]
            last[start:stop] = path[length - (stop - start) : length]
        self.size = size
        self.tokens = unpacked(b"".join(tokens))
        self.depth = np.concatenate(depth)
        self.end = np.full(size, size, dtype=np.int32)
        for nodes, stop in closed:
            self.end[nodes] = stop

    def visible(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Which of the nodes `keys` are a node of `queries` or one of its ancestors, shape
        (len(queries), len(keys))."""
        return on_path(queries, keys, self.end[keys])


def on_path(queries, keys, end):
    """`TokenTrie.visible`, for arrays of numpy or of torch; `end` is that of `keys`."""
    return (keys <= queries[:, None]) & (queries[:, None] < end)


def _common_prefix(a: bytes, b: bytes) -> int:
    """How many tokens two packed sequences begin with alike; by halves, as comparing bytes costs
    less than an array's every operation."""
    low, high = 0, min(len(a), len(b)) // 4 + 1
    while high - low > 1:
        middle = (low + high) // 2
        if a[4 * low : 4 * middle] == b[4 * low : 4 * middle]:
            low = middle
        else:
            high = middle
    return low


class Block(NamedTuple):
    """Queries `start:stop` of a pack, and the keys that they need."""

    start: int
    stop: int
    keys: np.ndarray | slice


def blocks(
    trie: TokenTrie, nodes: np.ndarray, past: int, call_cost: float, longest: int = 128
) -> list[Block]:
    """Split a pack's attention so that tokens of unrelated branches are not compared with each
    other.

    nodes: shape (past + q,), those in the cache and then those of the pack, each in depth-first
    order. call_cost: what a further attention call costs, as a number of query-key pairs. Cuts are
    considered where a branch ends and after `longest` tokens; neighbours are joined as long as that
    costs less than a call of its own. Returns blocks that cover the queries in order.
    """
    depth = trie.depth[nodes[past:]]
    q = len(depth)
    new_branch = np.flatnonzero(np.diff(depth) != 1) + 1
    bounds = [0, *new_branch.tolist(), q]
    segments: list[tuple[int, int]] = []
    for start, stop in pairwise(bounds):
        segments += [(s, min(s + longest, stop)) for s in range(start, stop, longest)]

    def cost(start: int, stop: int) -> float:
        return (stop - start) * (int(depth[start]) + stop - start) + call_cost

    joined = [segments[0]]
    for start, stop in segments[1:]:
        first = joined[-1][0]
        if cost(first, stop) <= cost(*joined[-1]) + cost(start, stop):
            joined[-1] = (first, stop)
        else:
            joined.append((start, stop))
    result = []
    for start, stop in joined:
        ancestors = np.flatnonzero(
            trie.visible(nodes[past + start : past + start + 1], nodes[: past + start])[0]
        )
        if len(ancestors) == past + start:
            keys: np.ndarray | slice = slice(0, past + stop)
        else:
            keys = np.concatenate([ancestors, np.arange(past + start, past + stop)])
        result.append(Block(start, stop, keys))
    return result
