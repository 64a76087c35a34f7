"""The distinct prefixes of many token sequences, in the order in which a model computes them.

Plain arrays, no model: what is shared, what a pack of tokens may see, and how its attention splits into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class TokenTrie:
    """Token sequences as a trie, its nodes numbered in depth-first order.

    sequences: n token lists, none empty. tails: how many of its last nodes to remember for each; 1 if None.

    tails: for each sequence, its last nodes in order.
    tokens, depth: shape (size,); a node's token and its number of ancestors, which is the token's position in its sequence.
    end: shape (size,); one past the last node of the subtree. Node `a` is `b` or one of its ancestors exactly if `a <= b < end[a]`.
    A depth-first order has two consequences that everything here rests on: a node's parent is the node before it if the depth grows by one,
    and whatever is computed after node `b` needs, of all that was computed before `b`, only the ancestors of `b`: one path.
    """

    def __init__(self, sequences: Sequence[Sequence[int]], tails: Sequence[int] | None = None):
        arrays = [np.asarray(s, dtype=">u4") for s in sequences]
        keys = [a.tobytes() for a in arrays]
        order = sorted(range(len(arrays)), key=keys.__getitem__)
        longest = max((len(a) for a in arrays), default=0)
        path = np.zeros(longest, dtype=np.int64)
        depths = np.arange(longest)
        tokens, depth = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        closed: list[tuple[np.ndarray, int]] = []
        self.tails: list[np.ndarray] = [path[:0]] * len(arrays)
        previous, previous_key = np.zeros(0, dtype=">u4"), b""
        size = 0
        for i in order:
            a = arrays[i]
            if keys[i] != previous_key:
                shared = _common_prefix(previous, a)
                if shared < len(previous):
                    closed.append((path[shared : len(previous)].copy(), size))
                path[shared : len(a)] = np.arange(size, size + len(a) - shared)
                tokens.append(a[shared:].astype(np.int64))
                depth.append(depths[shared : len(a)])
                size += len(a) - shared
                previous, previous_key = a, keys[i]
            self.tails[i] = path[len(a) - (tails[i] if tails is not None else 1) : len(a)].copy()
        self.size = size
        self.tokens = np.concatenate(tokens)
        self.depth = np.concatenate(depth)
        self.end = np.full(size, size, dtype=np.int64)
        for nodes, stop in closed:
            self.end[nodes] = stop

    def visible(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Which of the nodes `keys` are a node of `queries` or one of its ancestors, shape (len(queries), len(keys))."""
        return on_path(queries, keys, self.end[keys])


def on_path(queries, keys, end):
    """`TokenTrie.visible`, for arrays of numpy or of torch; `end` is that of `keys`."""
    return (keys <= queries[:, None]) & (queries[:, None] < end)


def _common_prefix(a: np.ndarray, b: np.ndarray) -> int:
    n = min(len(a), len(b))
    differ = np.flatnonzero(a[:n] != b[:n])
    return int(differ[0]) if len(differ) else n


class Block(NamedTuple):
    """Queries `start:stop` of a pack, and the keys that they need."""

    start: int
    stop: int
    keys: np.ndarray | slice


def blocks(trie: TokenTrie, nodes: np.ndarray, past: int, call_cost: float, longest: int = 128) -> list[Block]:
    """Split a pack's attention so that tokens of unrelated branches are not compared with each other.

    nodes: shape (past + q,), those in the cache and then those of the pack, each in depth-first order.
    call_cost: what a further attention call costs, as a number of query-key pairs. Cuts are considered where a branch ends and after
    `longest` tokens; neighbours are joined as long as that costs less than a call of its own.
    Returns blocks that cover the queries in order.
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
        ancestors = np.flatnonzero(trie.visible(nodes[past + start : past + start + 1], nodes[: past + start])[0])
        if len(ancestors) == past + start:
            keys: np.ndarray | slice = slice(0, past + stop)
        else:
            keys = np.concatenate([ancestors, np.arange(past + start, past + stop)])
        result.append(Block(start, stop, keys))
    return result
