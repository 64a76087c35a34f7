"""Computes the nodes of a token trie in order, pack by pack, and holds what later packs need of
earlier ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from .token_trie import TokenTrie, blocks, on_path
from .tree_attention import Layers, TreeModel, select


class Snapshot(NamedTuple):
    """Where a sweep stands; see `Sweep`."""

    cursor: int
    path: np.ndarray
    nodes: np.ndarray
    layers: Layers
    computed: int


class Sweep:
    """One pass over a trie.

    call_cost: see `token_trie.blocks`. cursor: the first node that is not computed yet. path: its
    ancestors. nodes: those held in the cache `layers`, ascending. computed: how many tokens went
    through the model, those computed again included.
    """

    def __init__(self, model: TreeModel, trie: TokenTrie, call_cost: float):
        self.model, self.trie, self.call_cost = model, trie, call_cost
        self.cursor = 0
        self.path = np.zeros(0, np.int64)
        self.nodes = np.zeros(0, np.int64)
        self.layers: Layers = []
        self.computed = 0

    def snapshot(self) -> Snapshot:
        """Where the sweep stands now. Nothing is copied: what the cache holds is replaced or added
        to, never rewritten."""
        return Snapshot(self.cursor, self.path, self.nodes, self.layers, self.computed)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where the sweep stood."""
        self.cursor, self.path, self.nodes, self.layers, self.computed = snapshot

    @property
    def missing(self) -> np.ndarray:
        """Ancestors of the cursor that are not in the cache; the next pack computes them again."""
        return self.path[~np.isin(self.path, self.nodes, assume_unique=True)]

    def advance(self, stop: int, read: np.ndarray) -> torch.Tensor:
        """Compute the nodes up to `stop`, and hold them.

        read: nodes among them, ascending, whose next-token logits are wanted. Returns the logits,
        shape (len(read), vocabulary). If the model runs out of memory, everything is as it was
        before.
        """
        trie, missing = self.trie, self.missing
        new = np.arange(self.cursor, stop)
        queries = np.concatenate([missing, new])
        keys = np.concatenate([self.nodes, queries])
        on_device = (
            torch.as_tensor(a, device=self.model.device) for a in (queries, keys, trie.end[keys])
        )
        logits, layers = self.model.forward(
            trie.tokens[queries],
            trie.depth[queries],
            on_path(*on_device),
            self.layers,
            trie.depth[self.nodes],
            len(missing) + read - self.cursor,
            blocks(trie, keys, len(self.nodes), self.call_cost),
        )
        order = np.argsort(keys)
        self.nodes = keys[order]
        self.layers = (
            layers if np.array_equal(order, np.arange(len(keys))) else select(layers, order)
        )
        self.computed += len(queries)
        seen = np.concatenate([self.path, new])
        self.path = seen[trie.end[seen] > stop]
        self.cursor = stop
        return logits

    def hold(self, count: int) -> None:
        """Keep, of what the cache holds, the first `count` ancestors of the cursor, and no other
        node."""
        kept = self.path[:count]
        kept = kept[np.isin(kept, self.nodes, assume_unique=True)]
        self.layers = select(self.layers, np.searchsorted(self.nodes, kept)) if len(kept) else []
        self.nodes = kept
