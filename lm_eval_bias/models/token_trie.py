"""The distinct prefixes of many token sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .encoding import common_length, packed, unpacked


class TokenTrie:
    """A trie with its nodes numbered depth first.

    sequences: n token lists or packed `bytes`, none empty. tails: how many last nodes to keep for
    each; default 1.

    Attributes: tails, the last nodes of each sequence. tokens, depth, end: shape (size,); depth is
    the token's position, end one past the last node of the subtree.

    Node `a` is `b` or its ancestor exactly if `a <= b < end[a]`. A node one deeper than the node
    before is its child.
    """

    def __init__(
        self,
        sequences: Sequence[Sequence[int] | bytes],
        tails: Sequence[int] | np.ndarray | None = None,
    ):
        keys = [s if isinstance(s, bytes) else packed(s) for s in sequences]
        counts = [1] * len(keys) if tails is None else tails
        path = np.zeros(max(map(len, keys), default=0) // 4, dtype=np.int32)
        self.tails = [path] * len(keys)
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
            self.tails[i] = path[length - counts[i] : length].copy()
        self.size = size
        self.tokens = unpacked(b"".join(tokens))
        self.depth = np.concatenate(depth)
        self.end = np.full(size, size, dtype=np.int32)
        for nodes, stop in closed:
            self.end[nodes] = stop

    def visible(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Which keys are each query or its ancestor, shape (len(queries), len(keys))."""
        return on_path(queries, keys, self.end[keys])


def on_path(queries: Any, keys: Any, end: Any) -> Any:
    """`TokenTrie.visible` for numpy or torch arrays; `end` belongs to `keys`."""
    return (keys <= queries[:, None]) & (queries[:, None] < end)


class Block(NamedTuple):
    """Queries `start:stop`, and the keys that they need."""

    start: int
    stop: int
    keys: Any


def blocks(
    trie: TokenTrie, nodes: np.ndarray, past: int, call_cost: float, longest: int = 128
) -> list[Block]:
    """Split a pack's attention so that unrelated branches are not compared.

    nodes: the cache, then the pack, shape (past + q,). call_cost: of one more attention call, in
    query-key pairs. Branches and parts of `longest` tokens are joined while that is cheaper.
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
