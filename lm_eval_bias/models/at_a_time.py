"""What is computed at a time.

Nothing is timed, so that two runs have the same passes. Packs and ROWS are within 3 % of the
fastest power of two on every workload of docs/explanation/hf_prefix.md, on a CPU and on an H200.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from .token_trie import Block, TokenTrie

ROWS = 512
"""Answers that are written side by side."""


class Sizes(NamedTuple):
    """pack: tokens of a pass. queries, rows: in a call of attention, of a pack and of answers that
    are written side by side."""

    pack: int
    queries: int
    rows: int


def sizes_on(device: torch.device) -> Sizes:
    # A GPU takes long to begin a call and to copy its keys.
    return Sizes(1024, 128, 8) if device.type == "cpu" else Sizes(16384, 1024, ROWS)


def blocks(trie: TokenTrie, nodes: np.ndarray, past: int, most: int) -> list[Block]:
    """The calls of a pack's attention. nodes: cached, then the pack's, shape (past + q,). most:
    tokens of a call."""
    result = []
    for start, stop in pairwise([*range(0, len(nodes) - past, most), len(nodes) - past]):
        first = past + start
        ancestors = np.flatnonzero(trie.visible(nodes[first : first + 1], nodes[:first])[0])
        if len(ancestors) == first:
            result.append(Block(start, stop, slice(0, past + stop)))
        else:
            keys = np.concatenate([ancestors, np.arange(first, past + stop)])
            result.append(Block(start, stop, keys))
    return result


def row_blocks(sees: np.ndarray, most: int) -> list[Block]:
    """The calls of a step's attention. sees: shape (rows, nodes). most: rows of a call."""
    if len(sees) <= most:
        return [Block(0, len(sees), slice(0, sees.shape[1]))]
    bounds = pairwise([*range(0, len(sees), most), len(sees)])
    return [Block(a, b, np.flatnonzero(sees[a:b].any(axis=0))) for a, b in bounds]
