"""Compute the nodes of a token trie pack by pack."""

import numpy as np
import torch

from .at_a_time import blocks, sizes_on
from .token_trie import TokenTrie, on_path
from .tree_attention import Layers, TreeModel, select


class Sweep:
    """One pass over a trie.

    cursor: the first node not computed. path: its ancestors. nodes: those in the cache `layers`,
    ascending. computed: tokens so far. Nothing changes in place: a shallow copy saves the state.
    """

    def __init__(self, model: TreeModel, trie: TokenTrie):
        self.model, self.trie = model, trie
        self.sizes = sizes_on(model.device)
        self.cursor = 0
        self.path = self.nodes = np.zeros(0, np.int64)
        self.layers: Layers = []
        self.computed = 0

    @property
    def missing(self) -> np.ndarray:
        return np.setdiff1d(self.path, self.nodes, assume_unique=True)

    def advance(self, stop: int, read: np.ndarray) -> torch.Tensor:
        """Compute and cache the nodes up to `stop`.

        read: those whose next-token logits are needed, ascending. Returns shape (len(read),
        vocabulary).
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
            blocks(trie, keys, len(self.nodes), self.sizes.queries),
        )
        order = np.argsort(keys, kind="stable")  # which leaves a cache in order where it is
        self.nodes, self.layers = keys[order], select(layers, order)
        self.computed += len(queries)
        seen = np.concatenate([self.path, new])
        self.path = seen[trie.end[seen] > stop]
        self.cursor = stop
        return logits

    def hold(self, count: int) -> None:
        """Keep only the cursor's first `count` ancestors in the cache."""
        kept = np.intersect1d(self.path[:count], self.nodes, assume_unique=True)
        self.layers = select(self.layers, np.searchsorted(self.nodes, kept)) if len(kept) else []
        self.nodes = kept
