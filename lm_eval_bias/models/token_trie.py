"""The distinct prefixes of many token sequences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .encoding import packed, unpacked


class TokenTrie:
    """A trie with its nodes numbered depth first.

    sequences: n token lists or packed `bytes`, none empty. tails: how many last nodes to keep for
    each.

    Attributes: tails, the last nodes of each sequence; tokens, depth, end: shape (size,). `end` is
    one past the last node of the subtree, so `a` is `b` or its ancestor exactly if `a <= b <
    end[a]`.
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
        closed = []
        previous = b""
        length = size = 0
        for i in sorted(range(len(keys)), key=keys.__getitem__):
            key = keys[i]
            if key != previous:
                common = _common_length(previous, key)
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


def _common_length(a: bytes, b: bytes) -> int:
    """Of packed tokens."""
    low, high = 0, min(len(a), len(b)) // 4 + 1
    while high - low > 1:
        middle = (low + high) // 2
        if a[4 * low : 4 * middle] == b[4 * low : 4 * middle]:
            low = middle
        else:
            high = middle
    return low


def on_path(queries: Any, keys: Any, end: Any) -> Any:
    """`TokenTrie.visible` for numpy or torch arrays; `end` belongs to `keys`."""
    return (keys <= queries[:, None]) & (queries[:, None] < end)


class Block(NamedTuple):
    start: int
    stop: int
    keys: Any
