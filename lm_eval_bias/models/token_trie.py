"""The distinct prefixes of many token sequences, in the order in which a model computes them.

Plain arrays, no model: what is shared, what a pack of tokens may see, and how its attention splits
into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .encoding import common_length, packed, unpacked
from .ragged import Ragged


class TokenTrie:
    """Token sequences as a trie, its nodes numbered in depth-first order.

    sequences: n token lists, none empty, or what `encoding.packed` makes of them. tails: how many
    of its last nodes to keep for each; 1 if None.

    tails: for each sequence, its last nodes in order. tokens, depth: shape (size,); a node's token
    and its number of ancestors, which is the token's position in its sequence. end: shape (size,);
    one past the last node of the subtree. All of 32 bits.

    Node `a` is `b` or one of its ancestors exactly if `a <= b < end[a]`. If the depth grows by one,
    a node's parent is the node before it. Whatever is computed after node `b` needs, of all that
    was computed before `b`, only the ancestors of `b`.
    """

    def __init__(
        self,
        sequences: Sequence[Sequence[int] | bytes],
        tails: Sequence[int] | np.ndarray | None = None,
    ):
        keys = [s if isinstance(s, bytes) else packed(s) for s in sequences]
        counts = np.ones(len(keys), np.int64) if tails is None else np.asarray(tails, np.int64)
        self.tails = Ragged.empty(counts, np.int32)
        path = np.zeros(max(map(len, keys), default=0) // 4, dtype=np.int32)
        depths = np.arange(len(path), dtype=np.int32)
        tokens, depth = [b""], [depths[:0]]
        closed: list[tuple[np.ndarray, int]] = []
        previous = b""
        length = size = 0
        for i in sorted(range(len(keys)), key=keys.__getitem__):
            key = keys[i]
            if key != previous:
                common = common_length(previous, key, 4)
                if common < length:
                    closed.append((path[common:length].copy(), size))
                length = len(key) // 4
                path[common:length] = np.arange(size, size + length - common)
                tokens.append(key[4 * common :])
                depth.append(depths[common:length])
                size += length - common
                previous = key
            tail = self.tails[i]
            tail[:] = path[length - len(tail) : length]
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


def on_path(queries: Any, keys: Any, end: Any) -> Any:
    """`TokenTrie.visible`, for arrays of numpy or of torch; `end` is that of `keys`."""
    return (keys <= queries[:, None]) & (queries[:, None] < end)


class Block(NamedTuple):
    """Queries `start:stop` of a pack, and the keys that they need: the first ones, or indices."""

    start: int
    stop: int
    keys: Any


def blocks(
    trie: TokenTrie, nodes: np.ndarray, past: int, call_cost: float, longest: int = 128
) -> list[Block]:
    """Split a pack's attention so that tokens of unrelated branches are not compared.

    nodes: shape (past + q,), those in the cache and then those of the pack, each in depth-first
    order. call_cost: of a further attention call, as a number of query-key pairs. Cuts are
    considered where a branch ends and after `longest` tokens. Neighbours are joined as long as that
    costs less than a call of its own. Returns blocks that cover the queries in order.
    """
    depth = trie.depth[nodes[past:]]
    new_branch = np.flatnonzero(np.diff(depth) != 1) + 1

    def cost(start: int, stop: int) -> float:
        return (stop - start) * (int(depth[start]) + stop - start) + call_cost

    joined: list[tuple[int, int]] = []
    for begin, end in pairwise([0, *new_branch.tolist(), len(depth)]):
        for start in range(begin, end, longest):
            stop = min(start + longest, end)
            if joined:
                before = joined[-1]
                if cost(before[0], stop) <= cost(*before) + cost(start, stop):
                    start = joined.pop()[0]
            joined.append((start, stop))
    result = []
    for start, stop in joined:
        first = past + start
        ancestors = np.flatnonzero(trie.visible(nodes[first : first + 1], nodes[:first])[0])
        if len(ancestors) == first:
            result.append(Block(start, stop, slice(0, past + stop)))
        else:
            keys = np.concatenate([ancestors, np.arange(first, past + stop)])
            result.append(Block(start, stop, keys))
    return result
