"""Runs a causal language model of transformers over the nodes of a token tree, laid out in one row.

A token may see its ancestors and itself, wherever they lie in the row or in the cache. The model's
own mask function (causal, sliding window, chunked) is asked with the tokens' positions in their
sequences, not in the row; what it answers is cut down to ancestors. So every layer's kind of
attention stays what the model says it is. For the time of one forward pass, the functions that
transformers looks up by the name of the attention implementation are replaced through its own
interfaces (`AttentionInterface`, `AttentionMaskInterface`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from transformers import DynamicCache

from .token_trie import Block, TokenTrie

try:
    from transformers.cache_utils import DynamicLayer
except ImportError:  # an older transformers: `_interfaces` says so when a model is there
    DynamicLayer = object


class Layer(NamedTuple):
    """Keys and values of one layer for `length` tokens: the first of a storage of shape (1, heads,
    capacity, head size) each."""

    keys: torch.Tensor
    values: torch.Tensor
    length: int


Layers = list[Layer]

# Arguments of attention functions that change the weights in a way that the fused kernel has no
# word for.
_UNSUPPORTED = ("softcap", "s_aux", "position_bias")


class Unsupported(Exception):
    """Why a model cannot run over a tree; the message completes "it ..."."""


def _interfaces() -> list[Any]:
    """The tables in which transformers looks up mask and attention functions by the name of an
    implementation.

    Imported when a model is there, whose own module has brought them in: they import torch._dynamo,
    which takes seconds. Raises Unsupported where transformers has no such tables yet.
    """
    places = {
        "masking_utils": "ALL_MASK_ATTENTION_FUNCTIONS",
        "modeling_utils": "ALL_ATTENTION_FUNCTIONS",
        "cache_utils": "DynamicLayer",
    }
    found = []
    for module, name in places.items():
        try:
            found.append(getattr(import_module(f"transformers.{module}"), name))
        except (ImportError, AttributeError):
            raise Unsupported(
                f"needs {name} of transformers.{module}, which {transformers.__version__} does not have"
            ) from None
    return found[:2]


@dataclass
class _Pack:
    """What the attention of the forward pass under way needs to know."""

    positions: torch.Tensor  # (q,)
    key_positions: torch.Tensor  # (k,)
    visible: torch.Tensor  # (q, k)
    blocks: list[tuple[int, int, torch.Tensor | slice]]
    masks: dict[tuple[int, int], tuple[torch.Tensor, list[torch.Tensor]]] = field(
        default_factory=dict
    )


class TreeModel:
    """A model that takes one row of tree nodes at a time.

    model: a causal language model of transformers, with or without PEFT adapters. Raises
    Unsupported if its calling convention leaves no way to say where a token stands and what it
    sees. `check` finds out the rest.
    """

    def __init__(self, model: torch.nn.Module):
        self.model = model
        self._functions = _interfaces()
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        config = getattr(base, "config", None)
        text = (
            config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
        )
        if getattr(config, "is_encoder_decoder", False):
            raise Unsupported("is an encoder-decoder")
        if any(
            getattr(c, "is_prompt_learning", False)
            for c in getattr(model, "peft_config", {}).values()
        ):
            raise Unsupported("has a PEFT adapter of virtual tokens")
        kinds = set(getattr(text, "layer_types", None) or [])
        if getattr(base, "_is_stateful", False) or any(
            "attention" not in kind or "linear" in kind for kind in kinds
        ):
            raise Unsupported("has layers with a recurrent state instead of an attention cache")
        parameters = inspect.signature(base.forward).parameters
        if "past_key_values" not in parameters:
            raise Unsupported("has no attention cache")
        self._alibi = [
            m for m in base.modules() if "alibi" in inspect.signature(m.forward).parameters
        ]
        self._positions = "position_ids" in parameters
        if not self._positions and not self._alibi:
            raise Unsupported("takes no position_ids")
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
        visible: np.ndarray | torch.Tensor,
        past: Layers,
        past_positions: np.ndarray,
        read: np.ndarray,
        blocks: list[Block] | None = None,
    ) -> tuple[torch.Tensor, Layers]:
        """Compute the nodes `tokens`.

        tokens, positions: shape (q,). visible: shape (q, p + q), the p nodes of the cache first.
        past: the cache; past_positions: shape (p,). read: indices of tokens whose next-token logits
        are wanted. blocks: how to split the attention; one block if None. Returns logits of shape
        (len(read), vocabulary) and the cache of all p + q nodes.
        """
        device = self.device
        ids = torch.as_tensor(tokens.astype(np.int64), device=device)[None]
        at = torch.as_tensor(positions, dtype=torch.long, device=device)
        pack = _Pack(
            positions=at,
            key_positions=torch.cat(
                [torch.as_tensor(past_positions, dtype=torch.long, device=device), at]
            ),
            visible=torch.as_tensor(visible, device=device),
            blocks=[
                (
                    b.start,
                    b.stop,
                    b.keys if isinstance(b.keys, slice) else torch.as_tensor(b.keys, device=device),
                )
                for b in blocks or [Block(0, len(tokens), slice(0, visible.shape[1]))]
            ],
        )
        kept = torch.as_tensor(
            read if len(read) else np.zeros(1, np.int64), dtype=torch.long, device=device
        )
        arguments = {"input_ids": ids, "past_key_values": _cache(past), "use_cache": True}
        if self._positions:
            arguments["position_ids"] = at[None]
        if self._keep:
            arguments["logits_to_keep"] = kept
        with torch.no_grad(), self._attend(pack):
            out = self.model(**arguments)
        logits = out.logits[0] if self._keep else out.logits[0, kept.to(out.logits.device)]
        return logits[: len(read)], [layer.stored() for layer in out.past_key_values.layers]

    def check(self) -> float:
        """Compare a small tree with plain forward passes.

        Three branches under a common prefix, computed in two packs, against each chain by itself:
        the next-token log-probabilities must agree. What counts as agreeing in a dtype of little
        precision is measured against another prefix. Returns the bytes that one node takes in the
        cache; raises Unsupported if the two ways disagree.
        """
        vocabulary = self.model.get_input_embeddings().weight.shape[0]
        tokens = np.random.default_rng(0).integers(0, min(vocabulary, 1000), 40)
        prefix, other = tokens[:8], tokens[8:16]
        branches = [tokens[16:22], np.concatenate([tokens[16:19], tokens[22:27]]), tokens[27:32]]
        trie = TokenTrie([np.concatenate([prefix, b]) for b in branches])
        leaves = np.concatenate(trie.tails)
        positions, nodes = trie.depth, np.arange(trie.size)
        _, layers = self.forward(
            trie.tokens[:8],
            positions[:8],
            trie.visible(nodes[:8], nodes[:8]),
            [],
            nodes[:0],
            nodes[:0],
        )
        rest = nodes[8:]
        logits, layers = self.forward(
            trie.tokens[rest],
            positions[rest],
            trie.visible(rest, nodes),
            layers,
            positions[:8],
            np.sort(leaves) - 8,
        )
        self.vocabulary = logits.shape[-1]
        shared = logits[np.argsort(np.argsort(leaves))].float().log_softmax(-1)

        def plain(start: np.ndarray) -> torch.Tensor:
            rows = [
                torch.as_tensor(np.concatenate([start, b]), device=self.device)[None]
                for b in branches
            ]
            with torch.no_grad():
                return torch.stack(
                    [self.model(row).logits[0, -1].float().log_softmax(-1) for row in rows]
                )

        expected = plain(prefix)
        error = (shared - expected).abs().max().item()
        effect = (plain(other) - expected).abs().max().item()
        if not error <= max(1e-4, 0.05 * effect):
            raise Unsupported(
                f"gives other likelihoods when prefixes are shared (by {error:.2g} in a trial)"
            )
        return bytes_per_token(layers)

    @contextmanager
    def _attend(self, pack: _Pack) -> Iterator[None]:
        def attention(*args, **kwargs):
            return _attention(pack, *args, **kwargs)

        alibi_hook = _alibi_hook(pack)
        hooks = [m.register_forward_pre_hook(alibi_hook, with_kwargs=True) for m in self._alibi]
        masks, attentions = self._functions
        # Private: what was set in these tables beside the defaults. Where it is gone, the trial
        # fails and the model runs as hf.
        before = [(f, dict(f._local_mapping)) for f in self._functions]
        try:
            for name in self._implementations:
                additive = name == "eager"
                masks[name] = lambda additive=additive, **kwargs: _mask(pack, additive, **kwargs)
                if name != "eager":
                    attentions[name] = attention
            yield
        finally:
            for functions, mapping in before:
                functions._local_mapping = mapping
            for hook in hooks:
                hook.remove()


def select(layers: Layers, nodes: np.ndarray, apart: bool = False) -> Layers:
    """The cache of some of its nodes, in the order of their indices, shape (n,).

    apart: always a copy. Else the first nodes stay in their storage, where what is added to them
    takes the place of the others.
    """
    if not apart and np.array_equal(nodes, np.arange(len(nodes))):
        return [layer._replace(length=len(nodes)) for layer in layers]
    index: dict[torch.device, torch.Tensor] = {}
    result = []
    for layer in layers:
        device = layer.keys.device
        at = index.setdefault(device, torch.as_tensor(nodes, dtype=torch.long, device=device))
        result.append(
            Layer(layer.keys.index_select(2, at), layer.values.index_select(2, at), len(nodes))
        )
    return result


def bytes_per_token(layers: Layers) -> float:
    """What one node takes in the cache."""
    return sum(t.numel() * t.element_size() / t.shape[2] for layer in layers for t in layer[:2])


class _AppendingLayer(DynamicLayer):
    """A cache layer that writes new tokens behind the old ones, where `DynamicLayer` copies
    everything.

    It keeps every token, also of a layer with a sliding window: the mask does the rest. What is
    written lies behind `length`, so that a shorter `Layer` of the same storage stays what it was.
    """

    storage: tuple[torch.Tensor, torch.Tensor] | None = None
    length = 0

    @classmethod
    def of(cls, layer: Layer) -> _AppendingLayer:
        made = cls()
        made.storage, made.length = (layer.keys, layer.values), layer.length
        made._show()
        return made

    def stored(self) -> Layer:
        return Layer(*(self.storage or (self.keys, self.values)), self.length)

    def update(self, key_states, value_states, *args, **kwargs):
        length = self.length + key_states.shape[2]
        if self.storage is None or length > self.storage[0].shape[2]:
            self.storage = tuple(
                torch.cat(
                    [
                        *old,
                        new,
                        new.new_empty((*new.shape[:2], max(length // 8, 64), new.shape[3])),
                    ],
                    dim=2,
                )
                for old, new in zip(
                    ([t[:, :, : self.length]] for t in self.storage) if self.storage else ([], []),
                    (key_states, value_states),
                    strict=True,
                )
            )
        else:
            for old, new in zip(self.storage, (key_states, value_states), strict=True):
                old[:, :, self.length : length] = new
        self.length = length
        self._show()
        return self.keys, self.values

    def _show(self) -> None:
        self.keys, self.values = (t[:, :, : self.length] for t in self.storage)
        self.dtype, self.device, self.is_initialized = self.keys.dtype, self.keys.device, True


def _cache(past: Layers) -> DynamicCache:
    cache = DynamicCache()
    cache.layer_class_to_replicate = _AppendingLayer
    cache.layers = [_AppendingLayer.of(layer) for layer in past]
    return cache


def _mask(
    pack: _Pack, additive: bool, *, mask_function, dtype: torch.dtype = torch.float32, **_
) -> torch.Tensor:
    """The mask of one kind of layer, shape (1, 1, q, k); called once per forward pass and kind."""
    zero = torch.zeros((1, 1), dtype=torch.long, device=pack.positions.device)
    allowed = mask_function(zero, zero, pack.positions[:, None], pack.key_positions[None, :])
    mask = (pack.visible & allowed)[None, None]
    if additive:
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(
            ~mask, torch.finfo(dtype).min
        )
    return mask


def _alibi_hook(pack: _Pack):
    """ALiBi's bias is a number per key position; transformers counts keys in the order of the
    cache."""
    # a layer hands its bias on to its attention, where it is not to be sorted again
    made: dict[int, torch.Tensor] = {}

    def hook(module, args, kwargs):
        alibi = kwargs.get("alibi")
        if alibi is not None and id(alibi) not in made:
            kwargs["alibi"] = alibi[..., pack.key_positions.to(alibi.device)]
            made[id(kwargs["alibi"])] = kwargs["alibi"]
        return args, kwargs

    return hook


def _attention(pack, module, query, key, value, attention_mask, scaling=None, **kwargs):
    """Scaled dot-product attention block by block; the heads that share keys are laid behind each
    other as further queries."""
    wrong = [name for name in _UNSUPPORTED if kwargs.get(name) is not None]
    if wrong:
        raise Unsupported(
            f"uses {wrong[0]} in a fused attention; with attn_implementation=eager it can run"
        )
    heads, groups = query.shape[1], query.shape[1] // key.shape[1]
    out = query.new_empty((1, query.shape[2], heads, value.shape[-1]))
    for (start, stop, keys), mask in zip(
        pack.blocks, _block_masks(pack, attention_mask, query.dtype, groups), strict=True
    ):
        n = stop - start
        if isinstance(keys, slice):
            k, v = key[:, :, keys], value[:, :, keys]
        else:
            keys = keys.to(key.device)
            k, v = key.index_select(2, keys), value.index_select(2, keys)
        q = query[:, :, start:stop].reshape(1, heads // groups, groups * n, -1)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling)
        out[:, start:stop] = o.reshape(1, heads, n, -1).transpose(1, 2)
    return out, None


def _block_masks(
    pack: _Pack, mask: torch.Tensor, dtype: torch.dtype, groups: int
) -> list[torch.Tensor]:
    """The mask cut into the pack's blocks, additive, repeated for each of the heads that share
    keys; made once per kind of layer."""
    made = pack.masks.get((id(mask), groups))
    if made is None:
        parts = []
        for start, stop, keys in pack.blocks:
            part = mask[:, :, start:stop]
            part = (
                part[..., keys]
                if isinstance(keys, slice)
                else part.index_select(3, keys.to(mask.device))
            )
            if part.dtype == torch.bool:
                part = torch.zeros(part.shape, dtype=dtype, device=part.device).masked_fill_(
                    ~part, float("-inf")
                )
            parts.append(part.to(dtype).repeat(1, 1, groups, 1))
        # A model spread over several devices brings a copy of its mask for each layer: only the
        # latest are remembered.
        while len(pack.masks) >= 4:
            del pack.masks[next(iter(pack.masks))]
        # the mask is kept so that its id stays its own
        made = pack.masks[id(mask), groups] = (mask, parts)
    return made[1]
