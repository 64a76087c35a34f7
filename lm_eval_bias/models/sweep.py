"""Compute the nodes of a token trie pack by pack."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from .cost import Cost, blocks, measured
from .token_trie import TokenTrie, on_path
from .tree_attention import Layers, TreeModel, Unsupported, select


class Sweep:
    """One pass over a trie.

    cursor: the first node not computed. path: its ancestors. nodes: those in the cache `layers`,
    ascending. computed: tokens that went through the model. Nothing changes in place, so a shallow
    copy saves the state.
    """

    def __init__(self, model: TreeModel, trie: TokenTrie, cost: Cost):
        self.model, self.trie, self.cost = model, trie, cost
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
        vocabulary). If the model raises, the sweep does not change.
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
            blocks(trie, keys, len(self.nodes), self.cost),
        )
        order = np.argsort(keys)
        self.nodes, self.layers = keys[order], select(layers, order)
        self.computed += len(queries)
        seen = np.concatenate([self.path, new])
        self.path = seen[trie.end[seen] > stop]
        self.cursor = stop
        return logits

    def hold(self, count: int) -> None:
        """Keep only the first `count` ancestors of the cursor in the cache."""
        kept = np.intersect1d(self.path[:count], self.nodes, assume_unique=True)
        self.layers = select(self.layers, np.searchsorted(self.nodes, kept)) if len(kept) else []
        self.nodes = kept


def check(model: TreeModel) -> tuple[float, int, Cost]:
    """Compare a small tree, computed in two packs, with plain forward passes.

    They may differ by 5 % of what another prefix changes, or by what the embeddings' last digit
    does, which in bfloat16 may be more. Returns the bytes per cached node, the vocabulary size and
    what passes cost. Raises Unsupported if log-probabilities differ.
    """
    vocabulary = model.model.get_input_embeddings().weight.shape[0]
    tokens = np.random.default_rng(0).integers(0, min(vocabulary, 1000), 40)
    prefix, other = tokens[:8], tokens[8:16]
    branches = [tokens[16:22], np.concatenate([tokens[16:19], tokens[22:27]]), tokens[27:32]]
    trie = TokenTrie([[*prefix, *branch] for branch in branches])
    leaves, places = np.unique(np.concatenate(trie.tails), return_inverse=True)
    sweep = Sweep(model, trie, Cost(call=1.0))
    sweep.advance(8, leaves[:0])
    logits = sweep.advance(trie.size, leaves)
    shared = logits[places].float().log_softmax(-1)

    def plain(start: np.ndarray) -> torch.Tensor:
        rows = [torch.as_tensor([[*start, *branch]], device=model.device) for branch in branches]
        with torch.no_grad():
            last = [model.model(row).logits[0, -1] for row in rows]
        return torch.stack(last).float().log_softmax(-1)

    def rounded(_: Any, __: Any, embeddings: torch.Tensor) -> torch.Tensor:
        sign = torch.as_tensor(np.random.default_rng(1).choice([-1, 1], embeddings.shape))
        return embeddings * (1 + torch.finfo(logits.dtype).eps * sign.to(embeddings))

    expected = plain(prefix)
    error, effect = shared - expected, plain(other) - expected
    most = error.abs().max().item()
    if not most <= max(1e-4, 0.05 * effect.abs().max().item()):
        with model.model.get_input_embeddings().register_forward_hook(rounded):
            noise = plain(prefix) - expected
        if not error.norm() <= noise.norm():
            raise Unsupported(
                f"gives other likelihoods when prefixes are shared (by {most:.2g} in a trial)"
            )
    stored = [t for layer in sweep.layers for t in (layer.keys, layer.values)]
    size = sum(t.numel() * t.element_size() / t.shape[2] for t in stored)

    def advance(depth: np.ndarray, cost: Cost) -> Callable[[], Any]:
        chains = np.split(np.resize(tokens, len(depth)), np.flatnonzero(depth == 0)[1:])
        trie = TokenTrie([[i % min(vocabulary, 997), *chain[1:]] for i, chain in enumerate(chains)])
        last = np.array([trie.size - 1])
        return lambda: Sweep(model, trie, cost).advance(trie.size, last).sum().item()

    attend = partial(model.calls, sweep.layers[0])
    # Time that other programs take does not count, but this clock stops while a GPU works.
    clock = time.thread_time if model.device.type == "cpu" else time.perf_counter
    return size, logits.shape[-1], measured(attend, advance, len(sweep.layers), clock)
