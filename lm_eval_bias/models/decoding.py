"""Decode many prompts of a token trie together. Equal texts share a row of each step."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    GenerationConfig,
    InfNanRemoveLogitsProcessor,
    LogitNormalization,
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    StoppingCriteriaList,
    TemperatureLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)
from transformers.generation import GenerationMode
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria

from .at_a_time import row_blocks
from .encoding import unpacked
from .sweep import Sweep
from .tree_attention import select

# Processors that need only the logits, not the tokens before.
_BY_ROW = (
    InfNanRemoveLogitsProcessor,
    LogitNormalization,
    TemperatureLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    MinPLogitsWarper,
    TypicalLogitsWarper,
    EpsilonLogitsWarper,
    EtaLogitsWarper,
)


class Strategy(NamedTuple):
    """processors: of transformers. sampled: else the likeliest token. eos: end tokens."""

    processors: tuple[Any, ...]
    sampled: bool
    eos: frozenset[int]

    @property
    def looks_back(self) -> bool:
        return any(isinstance(p, RepetitionPenaltyLogitsProcessor) for p in self.processors)

    def scores(self, logits: torch.Tensor, texts: Sequence[list[int]]) -> torch.Tensor:
        """The processed logits in float32, shape (n, vocabulary).

        texts: the tokens of each prompt and answer; needed if `looks_back`.
        """
        scores = logits.float()
        for processor in self.processors:
            if isinstance(processor, RepetitionPenaltyLogitsProcessor):
                rows = [
                    processor(torch.tensor([text], device=scores.device), row[None])
                    for text, row in zip(texts, scores, strict=True)
                ]
                scores = torch.cat(rows)
            else:
                scores = processor(None, scores)
        return scores


def strategy_of(
    processors: LogitsProcessorList, criteria: StoppingCriteriaList, config: GenerationConfig
) -> Strategy | None:
    """The strategy that `generate` would use to write up to two tokens; None if `Strategy` cannot
    express it."""
    mode, eos = config.get_generation_mode(), config.eos_token_id
    if (
        not all(isinstance(p, (RepetitionPenaltyLogitsProcessor, *_BY_ROW)) for p in processors)
        or not all(isinstance(c, MaxLengthCriteria | EosTokenCriteria) for c in criteria)
        # The model's own length limit takes precedence over the request's.
        or config.max_length != 2
        or config.max_new_tokens is not None
        or getattr(config, "token_healing", False)
        or mode not in (GenerationMode.SAMPLE, GenerationMode.GREEDY_SEARCH)
    ):
        return None
    # The penalty of `generate` may expect padding in front of the texts.
    own = tuple(
        RepetitionPenaltyLogitsProcessor(p.penalty)
        if isinstance(p, RepetitionPenaltyLogitsProcessor)
        else p
        for p in processors
    )
    ends = frozenset(() if eos is None else torch.as_tensor(eos).flatten().tolist())
    return Strategy(own, mode == GenerationMode.SAMPLE, ends)


class Prompt(NamedTuple):
    """A text to continue.

    tokens: packed (encoding.py). max_tokens, until: where the answer ends. seed: 64 bits, for a
    sampled answer.
    """

    tokens: bytes
    max_tokens: int
    until: tuple[str, ...]
    strategy: Strategy
    seed: int | None = None


def decode(
    sweep: Sweep,
    leaves: np.ndarray,
    logits: torch.Tensor,
    prompts: Sequence[Prompt],
    tokenizer: Any,
    watched: Mapping[int, list[float]],
) -> list[list[int]]:
    """The tokens of the answer to each prompt. The sweep does not change.

    leaves: the last node of each prompt, shape (n,), in the sweep's cache. logits: of the distinct
    leaves, ascending, shape (leaves, vocabulary). watched: number of a prompt -> gets
    log-probabilities of its tokens.
    """
    written: list[list[int]] = [[] for _ in prompts]
    live = list(range(len(prompts)))
    nodes, row = np.unique(leaves, return_inverse=True)
    layers, positions = sweep.layers, sweep.trie.depth[sweep.nodes]
    sees, length = sweep.trie.visible(nodes, sweep.nodes), sweep.trie.depth[nodes] + 1

    @cache
    def lookback(term: str) -> int:
        # two spare tokens: the answer may split the text differently
        return len(tokenizer.encode(term, add_special_tokens=False)) + 2

    while True:
        here, texts = [prompts[i] for i in live], [written[i] for i in live]
        tokens = _next(logits, row, here, texts)
        for text, token in zip(texts, tokens.tolist(), strict=True):
            text.append(token)
        for i, r, token in zip(live, row.tolist(), tokens.tolist(), strict=True):
            if i in watched:
                watched[i].append(float(logits[r].float().log_softmax(-1)[token]))
        ended = _ended(here, texts, tokenizer.batch_decode, lookback)
        live = [i for i, over in zip(live, ended, strict=True) if not over]
        if not live:
            return written
        pairs = np.stack([row[~ended], tokens[~ended]])
        (row, token), which = np.unique(pairs, axis=1, return_inverse=True)
        sees = sees[row]
        used = np.flatnonzero(sees.any(axis=0))
        if len(used) < sees.shape[1] // 2:
            # a copy, since the cache of the sweep stays whole
            layers, positions, sees = (
                select(layers, used, apart=True),
                positions[used],
                sees[:, used],
            )
        new = length[row]
        sees = np.hstack([sees, np.eye(len(token), dtype=bool)])
        logits, layers = sweep.model.forward(
            *(token, new, sees, layers, positions, np.arange(len(token))),
            row_blocks(sees, sweep.sizes.rows),
        )
        positions = np.concatenate([positions, new])
        row, length = which.ravel(), new + 1


def _ended(
    prompts: Sequence[Prompt],
    written: Sequence[list[int]],
    decoded: Callable[[list[list[int]]], list[str]],
    lookback: Callable[[str], int],
) -> np.ndarray:
    ended = np.array(
        [
            tokens[-1] in prompt.strategy.eos or len(tokens) >= prompt.max_tokens
            for prompt, tokens in zip(prompts, written, strict=True)
        ]
    )
    for term in {term for prompt in prompts for term in prompt.until}:
        rows = [i for i in np.flatnonzero(~ended).tolist() if term in prompts[i].until]
        if rows:
            texts = decoded([written[i][-lookback(term) :] for i in rows])
            ended[rows] = [term in text for text in texts]
    return ended


def _next(
    logits: torch.Tensor, row: np.ndarray, prompts: Sequence[Prompt], written: Sequence[list[int]]
) -> np.ndarray:
    """The next tokens, shape (n,). row: of `logits`."""
    tokens = np.zeros(len(row), np.int64)
    # A few rows fit into the cache of a CPU.
    at_once = 8 if logits.device.type == "cpu" else max(16, 2**28 // (16 * logits.shape[1]))
    for strategy in {prompt.strategy for prompt in prompts}:
        members = np.array([i for i, prompt in enumerate(prompts) if prompt.strategy == strategy])
        distinct = np.unique(row[members])
        for start in range(0, len(distinct), at_once):
            here = members[np.isin(row[members], distinct[start : start + at_once])]
            rows, first, which = np.unique(row[here], return_index=True, return_inverse=True)
            texts = []
            if strategy.looks_back:
                texts = [[*unpacked(prompts[i].tokens).tolist(), *written[i]] for i in here[first]]
            scores = strategy.scores(logits[torch.as_tensor(rows, device=logits.device)], texts)
            if strategy.sampled:
                seeds = np.array([prompts[i].seed for i in here], dtype=np.uint64)
                steps = np.array([len(written[i]) for i in here], dtype=np.uint64)
                tokens[here] = drawn(scores, which, _mixed(seeds, steps))
            else:
                tokens[here] = scores.argmax(dim=-1).cpu().numpy()[which]
    return tokens


HEAD = 256
"""How many of the likeliest tokens get a random number each in `drawn`."""


def drawn(scores: torch.Tensor, row: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Draw tokens from softmax(scores), shape (m,).

    scores: shape (n, vocabulary). row, keys: row and random key of each token, shape (m,). Raises
    ValueError if logits are not finite.

    The earliest of exponential times wins, so rounding rarely changes a draw. Tokens beyond the
    HEAD likeliest compete as one.
    """
    probabilities = scores.softmax(dim=-1, dtype=torch.float32)
    size = probabilities.shape[1]
    likeliest, ids = probabilities.topk(min(HEAD, size), sorted=False)
    rest = probabilities.scatter(1, ids, 0.0)
    # A float32 sum would lose thousands of unlikely tokens. MPS has no float64.
    addable = rest.cpu() if rest.device.type == "mps" else rest
    beyond = addable.sum(dim=-1, dtype=torch.float64).cpu().numpy()
    rates = np.hstack([likeliest.cpu().double().numpy(), beyond[:, None]])
    if not np.isfinite(rates).all():
        raise ValueError(
            "no token can be drawn: the model's logits are not numbers. In half precision, add "
            "dtype=float32 to --model_args"
        )
    names = np.hstack([ids.cpu().numpy(), np.full((len(rates), 1), size)])
    with np.errstate(divide="ignore"):
        first = np.argmin(-np.log(_uniform(keys[:, None], names[row])) / rates[row], axis=1)
    tokens = names[row, first]
    for i in np.flatnonzero(tokens == size):
        sums = rest[int(row[i])].cpu().double().cumsum(0).numpy()
        at = _uniform(keys[i : i + 1], np.array([size + 1]))[0] * sums[-1]
        tokens[i] = np.searchsorted(sums, min(at, np.nextafter(sums[-1], 0)), side="right")
    return tokens


def _mixed(keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
    # SplitMix64
    with np.errstate(over="ignore"):
        z = keys + (counts.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _uniform(keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return ((_mixed(keys, counts) >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
