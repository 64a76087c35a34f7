"""Run a causal language model over the nodes of a token tree, laid out in one row.

A token sees its ancestors and itself. The model's own mask function gets positions in the
sequences, so sliding windows still work. transformers' attention tables are changed for one forward
pass.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from .token_trie import Block


class CacheLayer(NamedTuple):
    """Keys and values of one layer; the first `length` tokens of shape (1, heads, capacity, head
    size).
    """

    keys: Tensor
    values: Tensor
    length: int


Layers = list[CacheLayer]

# Arguments of attention functions that the fused kernel does not have.
_UNSUPPORTED = ("softcap", "s_aux", "position_bias")


class Unsupported(Exception):
    """Why a model cannot run over a tree. The message completes "it ..."."""


class _Pack(NamedTuple):
    positions: Tensor
    key_positions: Tensor
    visible: Tensor
    blocks: Sequence[Block]


class TreeModel:
    """Takes one row of tree nodes at a time. Raises Unsupported for a recurrent state."""

    def __init__(self, model: torch.nn.Module):
        # Slow to import (torch._dynamo); a loaded model has imported them already.
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        self.model = model
        self._functions = ALL_MASK_ATTENTION_FUNCTIONS, ALL_ATTENTION_FUNCTIONS
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        kinds = getattr(base.config.get_text_config(decoder=True), "layer_types", None) or []
        if getattr(base, "_is_stateful", False) or any(
            "attention" not in kind or "linear" in kind for kind in kinds
        ):
            raise Unsupported("has layers with a recurrent state instead of an attention cache")
        parameters = inspect.signature(base.forward).parameters
        self._positions = "position_ids" in parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"  # before 5.24
        self._keep = "logits_to_keep" in parameters
        self._implementations = {
            m.config._attn_implementation
            for m in base.modules()
            if isinstance(m, transformers.PreTrainedModel)
        }
        self.device = base.get_input_embeddings().weight.device

    def forward(
        self,
        tokens: np.ndarray,
        positions: np.ndarray,
        visible: np.ndarray | Tensor,
        past: Layers,
        past_positions: np.ndarray,
        read: np.ndarray,
        blocks: Sequence[Block],
    ) -> tuple[Tensor, Layers]:
        """Compute the nodes `tokens`.

        tokens, positions: shape (q,). visible: shape (q, p + q), the p cached nodes first.
        past_positions: shape (p,). read: tokens whose next-token logits are needed. Returns these,
        shape (len(read), vocabulary), and the cache of all p + q nodes.
        """

        def on_device(array: np.ndarray) -> Tensor:
            return torch.as_tensor(array, dtype=torch.long, device=self.device)

        at = on_device(positions)
        pack = _Pack(
            at,
            torch.cat([on_device(past_positions), at]),
            torch.as_tensor(visible, device=self.device),
            [
                b if isinstance(b.keys, slice) else b._replace(keys=on_device(b.keys))
                for b in blocks
            ],
        )
        kept = on_device(read if len(read) else np.zeros(1))
        cache = _cache(past)
        arguments = {
            "input_ids": on_device(tokens.astype(np.int64))[None],
            self._cache_name: cache,
            "use_cache": True,
        }
        if self._positions:
            arguments["position_ids"] = at[None]
        if self._keep:
            arguments["logits_to_keep"] = kept
        with torch.no_grad(), self._attend(pack):
            out = self.model(**arguments)
        logits = out.logits[0] if self._keep else out.logits[0, kept.to(out.logits.device)]
        return logits[: len(read)], [layer.stored() for layer in cache.layers]

    def alone(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """The logits behind each text in its own plain pass, shape (texts, vocabulary)."""
        last = {"logits_to_keep": 1} if self._keep else {}
        with torch.no_grad():
            return torch.stack(
                [
                    self.model(torch.tensor([text], device=self.device), **last).logits[0, -1]
                    for text in texts
                ]
            )

    @contextmanager
    def _attend(self, pack: _Pack) -> Iterator[None]:
        # A model on several devices copies its mask for each layer: keep only the latest.
        cut = lru_cache(maxsize=4)(partial(_block_masks, pack.blocks))
        masks, attentions = self._functions
        # Not under a name of our own: a model's own eager attention has none in the table.
        changed = [(masks, name, masks.get(name)) for name in self._implementations]
        fused = [name for name in self._implementations if name != "eager"]
        changed += [(attentions, name, attentions.get(name)) for name in fused]
        try:
            for name in self._implementations:
                masks[name] = partial(_mask, pack, name == "eager")
            for name in fused:
                attentions[name] = partial(_attention, pack.blocks, cut)
            with _without_plans():
                yield
        finally:
            for table, name, before in changed:
                del table[name]  # the entry beside transformers' own
                if before is not None and table[name] is not before:
                    table[name] = before


@contextmanager
def _without_plans() -> Iterator[None]:
    """cuDNN's attention plans each new shape, and hardly two calls have the same."""
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


def select(layers: Layers, nodes: np.ndarray, apart: bool = False) -> Layers:
    """The cache of some nodes, shape (n,). apart: always copy; else a first part keeps its
    storage."""
    if not apart and np.array_equal(nodes, np.arange(len(nodes))):
        return [layer._replace(length=len(nodes)) for layer in layers]
    result = []
    for layer in layers:
        at = torch.as_tensor(nodes, dtype=torch.long, device=layer.keys.device)
        keys, values = layer.keys.index_select(2, at), layer.values.index_select(2, at)
        result.append(CacheLayer(keys, values, len(nodes)))
    return result


class _AppendingLayer(DynamicLayer):
    """Appends in place, where `DynamicLayer` copies, and keeps every token. A shorter `CacheLayer`
    of the same storage stays valid."""

    storage: tuple[Tensor, ...] = ()
    length = 0

    def stored(self) -> CacheLayer:
        keys, values = self.storage
        return CacheLayer(keys, values, self.length)

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        states, length = (key_states, value_states), self.length + key_states.shape[2]
        if not self.storage or length > self.storage[0].shape[2]:
            room = length + max(length // 8, 64)
            larger = [t.new_empty((*t.shape[:2], room, t.shape[3])) for t in states]
            for new, old in zip(larger, self.storage, strict=False):
                new[:, :, : self.length] = old[:, :, : self.length]
            self.storage = tuple(larger)
        for old, new in zip(self.storage, states, strict=True):
            old[:, :, self.length : length] = new
        self.show(length)
        return self.keys, self.values

    def show(self, length: int) -> None:
        self.length = length
        self.keys, self.values = (t[:, :, :length] for t in self.storage)
        self.dtype, self.device, self.is_initialized = self.keys.dtype, self.keys.device, True


def _cache(past: Layers) -> DynamicCache:
    cache = DynamicCache()
    cache.layer_class_to_replicate = _AppendingLayer
    for layer in past:
        appending = _AppendingLayer()
        appending.storage = (layer.keys, layer.values)
        appending.show(layer.length)
        cache.layers.append(appending)
    return cache


def _mask(
    pack: _Pack,
    additive: bool,
    *,
    mask_function: Callable[..., Tensor],
    dtype: torch.dtype = torch.float32,
    **_: Any,
) -> Tensor:
    """Shape (1, 1, q, k)."""
    zero = torch.zeros((1, 1), dtype=torch.long, device=pack.positions.device)
    allowed = mask_function(zero, zero, pack.positions[:, None], pack.key_positions[None, :])
    mask = (pack.visible & allowed)[None, None]
    return _added(mask, dtype, torch.finfo(dtype).min) if additive else mask


def _added(mask: Tensor, dtype: torch.dtype, hidden: float) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, hidden)


def _attention(
    blocks: Sequence[Block],
    cut: Callable[..., list[Tensor]],
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention block by block. Heads that share keys become more queries."""
    for name in _UNSUPPORTED:
        if kwargs.get(name) is not None:
            raise Unsupported(
                f"uses {name} in a fused attention; with attn_implementation=eager it can run"
            )
    heads, groups = query.shape[1], query.shape[1] // key.shape[1]
    out = query.new_empty((1, query.shape[2], heads, value.shape[-1]))
    masks = cut(attention_mask, query.dtype, groups)
    for (start, stop, keys), mask in zip(blocks, masks, strict=True):
        q = query[:, :, start:stop].reshape(1, heads // groups, groups * (stop - start), -1)
        k, v = _columns(key, 2, keys), _columns(value, 2, keys)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling)
        out[:, start:stop] = o.reshape(1, heads, stop - start, -1).transpose(1, 2)
    return out, None


def _block_masks(
    blocks: Sequence[Block], mask: Tensor, dtype: torch.dtype, groups: int
) -> list[Tensor]:
    parts = []
    for start, stop, keys in blocks:
        part = _columns(mask[:, :, start:stop], 3, keys)
        if part.dtype == torch.bool:
            part = _added(part, dtype, float("-inf"))
        parts.append(part.to(dtype).repeat(1, 1, groups, 1))
    return parts


def _columns(tensor: Tensor, dim: int, keys: Any) -> Tensor:
    if isinstance(keys, slice):
        return tensor.narrow(dim, 0, keys.stop)
    return tensor.index_select(dim, keys.to(tensor.device))
