"""Greedy decoding of many prompts of a token trie: a row of the next tokens of all of them, each seeing its own prompt and answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import GenerationConfig, RepetitionPenaltyLogitsProcessor

from .encoding import unpacked
from .sweep import Sweep
from .tree_attention import select

# Settings of a model's generation_config that change greedy decoding in a way that is not reproduced here.
CHANGES_GREEDY = (
    "num_beams",
    "encoder_repetition_penalty",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "bad_words_ids",
    "min_length",
    "min_new_tokens",
    "max_new_tokens",
    "max_time",
    "stop_strings",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "exponential_decay_length_penalty",
    "suppress_tokens",
    "begin_suppress_tokens",
    "sequence_bias",
    "guidance_scale",
    "watermarking_config",
    "penalty_alpha",
    "dola_layers",
    "prompt_lookup_num_tokens",
    "token_healing",
    "remove_invalid_values",
)


def is_plain(config: GenerationConfig) -> bool:
    """Whether the likeliest token is what `generate` takes under this configuration, repetition penalty aside."""
    default = GenerationConfig()
    return all(getattr(config, name, None) in (None, getattr(default, name, None)) for name in CHANGES_GREEDY)


class Answer(NamedTuple):
    """What is asked for: a prompt's packed tokens (encoding.py), the number of tokens at most, and the texts that end it."""

    prompt: bytes
    most: int
    until: tuple[str, ...]


class Stop:
    """When an answer ends, as the harness's `hf` decides it for a batch of one."""

    def __init__(self, tokenizer, config: GenerationConfig):
        self.tokenizer = tokenizer
        eos = config.eos_token_id
        self.eos = set() if eos is None else {eos} if isinstance(eos, int) else set(eos)
        self._lookback: dict[str, int] = {}

    def ended(self, asked: Sequence[Answer], written: Sequence[list[int]]) -> list[bool]:
        """For each answer, whether it ends with what is written of it so far."""
        ended = [w[-1] in self.eos or len(w) >= a.most for a, w in zip(asked, written, strict=True)]
        for term in {term for a in asked for term in a.until}:
            if term not in self._lookback:  # two tokens more than the text has by itself: it may be written in others
                self._lookback[term] = len(self.tokenizer.encode(term, add_special_tokens=False)) + 2
            rows = [i for i, a in enumerate(asked) if not ended[i] and term in a.until]
            texts = self.tokenizer.batch_decode([written[i][-self._lookback[term] :] for i in rows]) if rows else []
            for i, text in zip(rows, texts, strict=True):
                ended[i] = term in text
        return ended


def decode(
    sweep: Sweep,
    leaves: np.ndarray,
    logits: torch.Tensor,
    asked: Sequence[Answer],
    stop: Stop,
    repetition_penalty: float | None = None,
    counted: Callable[[int], Any] = int,
) -> list[list[int]]:
    """Write the answers.

    leaves: the last node of each prompt, shape (n,); the cache of `sweep` holds it and all its ancestors. logits: of the first tokens,
    shape (n, vocabulary). counted: is told after each step how many tokens have been dealt with: those written, and those that an answer
    may have and ended without. Returns the tokens of each answer. The sweep stays as it is.
    """
    penalty = RepetitionPenaltyLogitsProcessor(repetition_penalty) if repetition_penalty not in (None, 1.0) else None
    written: list[list[int]] = [[] for _ in asked]
    live = np.arange(len(asked))
    layers, positions = sweep.layers, sweep.trie.depth[sweep.nodes]
    sees = sweep.trie.visible(leaves, sweep.nodes)
    while True:
        if penalty is not None:
            ids = [torch.tensor([[*unpacked(asked[i].prompt).tolist(), *written[i]]], device=logits.device) for i in live]
            logits = torch.cat([penalty(a, row[None].float()) for a, row in zip(ids, logits, strict=True)])
        for i, token in zip(live, logits.float().argmax(dim=-1).tolist(), strict=True):
            written[i].append(token)
        ended = np.array(stop.ended([asked[i] for i in live], [written[i] for i in live]))
        counted(len(live) + sum(asked[i].most - len(written[i]) for i in live[ended]))
        live = live[~ended]
        if not len(live):
            return written
        used = np.flatnonzero(sees[live].any(axis=0))
        if len(used) < sees.shape[1] // 2:
            layers, positions, sees = select(layers, used), positions[used], sees[:, used]
        new = np.array([len(asked[i].prompt) // 4 + len(written[i]) - 1 for i in live])
        own = np.zeros((len(asked), len(live)), dtype=bool)
        own[live, np.arange(len(live))] = True
        sees = np.hstack([sees, own])
        logits, layers = sweep.model.forward(
            np.array([written[i][-1] for i in live]), new, sees[live], layers, positions, np.arange(len(live))
        )
        positions = np.concatenate([positions, new])
