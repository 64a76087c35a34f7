"""What a forward pass costs, measured at the start, and what is least by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .pack_size import is_shortage
from .token_trie import Block, TokenTrie

PACKS = tuple(2**k for k in range(8, 15))
ROWS = tuple(2**k for k in range(6, 13))


class Cost(NamedTuple):
    """Seconds.

    call, key, pair: of attention in one of `layers`: a call, a key copied, a query and key
    compared. once, token: of the rest of a pass, and for each token. cell: for each row and node of
    a step of answers.
    """

    call: float
    key: float = 0.0
    pair: float = 0.0
    layers: int = 1
    once: float = 0.0
    token: float = 0.0
    cell: float = 0.0

    def pack_size(self, depth: np.ndarray) -> int:
        """Tokens at a time. depth: of the nodes to compute."""
        depth = depth[: PACKS[-1]]

        def rest(size: int) -> float:
            return self.token * len(depth) + self.once * -(-len(depth) // size)

        def seconds(size: int) -> float:
            packs = (depth[start : start + size] for start in range(0, len(depth), size))
            attention = sum(partition(self, pack, int(pack[0]))[0] for pack in packs)
            return rest(size) + self.layers * attention

        return _smallest(PACKS, seconds, rest)

    def rows(self, length: int, written: int) -> int:
        """Answers side by side. length: of a prompt. written: tokens of an answer."""

        def seconds(rows: int) -> float:
            def attention(block: int) -> float:
                keys, copied = length + block * written / 2, self.key * (block < rows)
                return (self.call + (self.pair * block + copied) * keys) / block

            blocks = (2**k for k in range(rows.bit_length()))
            nodes = length + rows * written / 2
            return self.once / rows + self.layers * min(map(attention, blocks)) + self.cell * nodes

        return _smallest(ROWS, lambda rows: self.token + seconds(rows))


def _smallest(
    sizes: Sequence[int],
    seconds: Callable[[int], float],
    least: Callable[[int], float] = lambda size: 0.0,
) -> int:
    """The smallest size within 3 % of the fastest. least: a lower bound of seconds that is quick to
    find."""
    each, best = {}, inf
    for size in sorted(sizes, key=least):
        if least(size) <= 1.03 * best:
            each[size] = seconds(size)
            best = min(best, each[size])
    return min(size for size in each if each[size] <= 1.03 * best)


def partition(
    cost: Cost, depth: np.ndarray, past: int, longest: int = 128, most: int = 128
) -> tuple[float, list[tuple[int, int]]]:
    """The seconds of a pack's attention in one layer, and its fastest partition into calls.

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
    return float(least[-1]), calls[::-1]


def blocks(trie: TokenTrie, nodes: np.ndarray, past: int, cost: Cost, **limits: int) -> list[Block]:
    """The calls of a pack's attention. nodes: the cache, then the pack, shape (past + q,)."""
    result = []
    for start, stop in partition(cost, trie.depth[nodes[past:]], past, **limits)[1]:
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

    def seconds(split: tuple[np.ndarray, np.ndarray]) -> float:
        starts, keys = split
        if len(starts) == 1:
            return cost.call + cost.pair * sees.size
        rows = np.diff(starts, append=len(sees))
        return float(keys.sum(axis=1) @ (cost.pair * rows + cost.key) + cost.call * len(starts))

    starts, keys = min(reversed(splits), key=seconds)
    if len(starts) == 1:
        return [Block(0, len(sees), slice(0, sees.shape[1]))]
    bounds = pairwise([*starts.tolist(), len(sees)])
    return [Block(a, b, np.flatnonzero(k)) for (a, b), k in zip(bounds, keys, strict=True)]


def measured(
    attend: Callable[[int, int, bool, int], Callable[[], Any]],
    advance: Callable[[np.ndarray, Cost], Callable[[], Any]],
    layers: int,
    clock: Callable[[], float],
) -> Cost:
    """The costs of a model, from the fastest of several trials.

    attend: prepares calls of so many queries and keys, copied or not. advance: prepares a pass of
    nodes of such depths. What they prepare waits for the device.
    """

    def seconds(run: Callable[[], Any], trials: int = 9) -> float:
        times = []
        for _ in range(trials):
            start = clock()
            run()
            times.append(clock() - start)
        return min(times)

    def large(seconds_of: Callable[[int], float], small: float, times: int) -> tuple[int, float]:
        size, slow = ROWS[0], seconds_of(ROWS[0])
        while slow < times * small and size < PACKS[-1]:
            try:
                size, slow = 2 * size, seconds_of(2 * size)
            except Exception as error:
                if not is_shortage(error):
                    raise
                break
        return size, slow

    def call(queries: int, keys: int, copied: bool = False, calls: int = 1) -> float:
        return seconds(attend(queries, keys, copied, calls)) / calls

    small = call(1, 1, calls=8)  # a device computes some while the next are asked for
    size, slow = large(lambda n: call(n, n), small, 10)  # a tile is computed whole
    pair = max(slow - small, 0.0) / (size**2 - 1)
    key = max(call(64, 512, True) - call(64, 512), 0.0) / 512
    cells = np.ones((64, 4096), dtype=bool)
    cost = Cost(small - pair, key, pair, layers)
    cost = cost._replace(cell=seconds(lambda: row_blocks(cells, cost)) / cells.size)

    def rest(size: int) -> float:
        # A device works on attention while the next calls are asked for.
        depth = np.arange(size) % 32
        attention, calls = partition(cost, depth, 0)
        hidden = cost.call * len(calls) * (size > 1)
        return max(seconds(advance(depth, cost), 2) - layers * (attention - hidden), 0.0)

    one = rest(1)
    size, slow = large(rest, one, 3)
    token = max(slow - one, 0.0) / (size - 1)
    return cost._replace(once=max(one - token, 0.0), token=token)
