"""Decoding of many prompts of a token trie: a row of the next tokens of all of them, each seeing
its own prompt and answer.

A row is a text, not an answer. Answers to one prompt stand on the same row as long as they are
alike: ten samples of a prompt begin on one row, and part where their draws part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from transformers import (
    GenerationConfig,
    InfNanRemoveLogitsProcessor,
    LogitNormalization,
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
    StoppingCriteriaList,
)
from transformers.generation import GenerationMode
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria

from .encoding import unpacked
from .sweep import Sweep
from .token_trie import Block
from .tree_attention import select

# What transformers does to logits row by row, without a look at the tokens before. Some are newer
# than the oldest transformers allowed.
_BY_ROW = (
    InfNanRemoveLogitsProcessor,
    LogitNormalization,
    *(
        getattr(transformers, f"{name}LogitsWarper")
        for name in ("Temperature", "TopH", "TopK", "TopP", "MinP", "Typical", "Epsilon", "Eta")
        if hasattr(transformers, f"{name}LogitsWarper")
    ),
)


class Way:
    """How the next token is taken from its logits.

    processors: of transformers, in the order in which `generate` applies them. sampled: whether the
    token is drawn; else it is the likeliest. eos: the tokens that end an answer.
    """

    def __init__(self, processors: Sequence[Any], sampled: bool, eos: frozenset[int]):
        self.processors, self.sampled, self.eos = processors, sampled, eos

    @classmethod
    def of(
        cls,
        processors: LogitsProcessorList,
        criteria: StoppingCriteriaList,
        config: GenerationConfig,
        most: int,
    ) -> Way | None:
        """The way of `generate`, from what it has made of its arguments; None where it does
        something that is not reproduced here.

        most: the `max_length` that it was given.
        """
        mode, eos = config.get_generation_mode(), config.eos_token_id
        known = all(isinstance(p, (RepetitionPenaltyLogitsProcessor, *_BY_ROW)) for p in processors)
        ends = all(isinstance(c, MaxLengthCriteria | EosTokenCriteria) for c in criteria)
        # A length of the model's own goes before that of the request.
        longer = config.max_length != most or config.max_new_tokens is not None
        if longer or not (known and ends) or getattr(config, "token_healing", False):
            return None
        if mode not in (GenerationMode.SAMPLE, GenerationMode.GREEDY_SEARCH):
            return None
        # That of `generate` may know how much padding is before each text of its batch.
        own = [
            RepetitionPenaltyLogitsProcessor(p.penalty)
            if isinstance(p, RepetitionPenaltyLogitsProcessor)
            else p
            for p in processors
        ]
        return cls(
            own,
            mode == GenerationMode.SAMPLE,
            frozenset(() if eos is None else torch.as_tensor(eos).flatten().tolist()),
        )

    @property
    def looks_back(self) -> bool:
        """Whether the tokens before matter."""
        return any(isinstance(p, RepetitionPenaltyLogitsProcessor) for p in self.processors)

    def scores(self, logits: torch.Tensor, texts: Sequence[list[int]]) -> torch.Tensor:
        """What the token is taken from, in 32 bits.

        logits: shape (n, vocabulary). texts: the n texts so far as tokens, their prompts included,
        if the way looks back.
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


class Answer(NamedTuple):
    """What is asked for.

    prompt: packed tokens (encoding.py). most: how many tokens at most. until: the texts that end
    it. seed: of the random numbers of a sampled answer, 64 bits.
    """

    prompt: bytes
    most: int
    until: tuple[str, ...]
    way: Way
    seed: int | None = None


class Stop:
    """When an answer ends, as the harness's `hf` decides it for a batch of one."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self._lookback: dict[str, int] = {}

    def ended(self, asked: Sequence[Answer], written: Sequence[list[int]]) -> list[bool]:
        """For each answer, whether it ends with what is written of it so far."""
        ended = [
            w[-1] in a.way.eos or len(w) >= a.most for a, w in zip(asked, written, strict=True)
        ]
        for term in {term for a in asked for term in a.until}:
            # two tokens more than the text has by itself: it may be written in others
            if term not in self._lookback:
                self._lookback[term] = (
                    len(self.tokenizer.encode(term, add_special_tokens=False)) + 2
                )
            rows = [i for i, a in enumerate(asked) if not ended[i] and term in a.until]
            texts = (
                self.tokenizer.batch_decode([written[i][-self._lookback[term] :] for i in rows])
                if rows
                else []
            )
            for i, text in zip(rows, texts, strict=True):
                ended[i] = term in text
        return ended


def decode(
    sweep: Sweep,
    leaves: np.ndarray,
    logits: torch.Tensor,
    asked: Sequence[Answer],
    stop: Stop,
    counted: Callable[[int], Any] = int,
) -> list[list[int]]:
    """Write the answers.

    leaves: the last node of each answer's prompt, shape (n,); the cache of `sweep` holds it and all
    its ancestors. logits: of the first tokens, a row for each distinct leaf, ascending, shape
    (leaves, vocabulary). counted: is told after each step how many tokens have been dealt with:
    those written, and those that an answer may have and ended without. Returns the tokens of each
    answer. The sweep stays as it is.
    """
    written: list[list[int]] = [[] for _ in asked]
    live = np.arange(len(asked))
    nodes, row = np.unique(leaves, return_inverse=True)
    layers, positions = sweep.layers, sweep.trie.depth[sweep.nodes]
    sees, length = sweep.trie.visible(nodes, sweep.nodes), sweep.trie.depth[nodes] + 1
    while True:
        tokens = _next(logits, row, [asked[i] for i in live], [written[i] for i in live])
        for i, token in zip(live, tokens.tolist(), strict=True):
            written[i].append(token)
        ended = np.array(stop.ended([asked[i] for i in live], [written[i] for i in live]))
        counted(len(live) + sum(asked[i].most - len(written[i]) for i in live[ended]))
        live = live[~ended]
        if not len(live):
            return written
        (parent, token), row = _distinct(row[~ended], tokens[~ended])
        sees = sees[parent]
        used = np.flatnonzero(sees.any(axis=0))
        if len(used) < sees.shape[1] // 2:
            # the sweep's stays whole
            layers, positions, sees = (
                select(layers, used, apart=True),
                positions[used],
                sees[:, used],
            )
        new, length = length[parent], length[parent] + 1
        sees = np.hstack([sees, np.eye(len(token), dtype=bool)])
        blocks = row_blocks(sees, sweep.call_cost)
        logits, layers = sweep.model.forward(
            token, new, sees, layers, positions, np.arange(len(token)), blocks
        )
        positions = np.concatenate([positions, new])


def row_blocks(sees: np.ndarray, call_cost: float) -> list[Block]:
    """Split the attention of a step so that answers are not compared with what other prompts and
    answers hold.

    sees: which nodes each row sees, shape (rows, nodes). call_cost: see `token_trie.blocks`.
    Neighbours are joined, two by two, as long as that costs less.
    """
    bounds = np.arange(0, len(sees), 4)
    keys = np.logical_or.reduceat(sees, bounds, axis=0)

    def cost() -> int:
        # A key is copied for each block that needs it; that takes about as long as comparing it
        # with four rows.
        counts, rows = keys.sum(axis=1), np.diff(bounds, append=len(sees))
        return (
            int((counts * (rows + 4)).sum() + call_cost * len(bounds))
            if len(bounds) > 1
            else int(len(sees) * sees.shape[1] + call_cost)
        )

    least, chosen = cost(), (bounds, keys)
    while len(bounds) > 1:
        keys = np.logical_or.reduceat(keys, np.arange(0, len(bounds), 2), axis=0)
        bounds = bounds[::2]
        if (now := cost()) <= least:
            least, chosen = now, (bounds, keys)
    bounds, keys = chosen
    if len(bounds) == 1:
        return [Block(0, len(sees), slice(0, sees.shape[1]))]
    stops = [*bounds[1:].tolist(), len(sees)]
    return [
        Block(int(a), b, np.flatnonzero(k)) for a, b, k in zip(bounds, stops, keys, strict=True)
    ]


def _distinct(
    row: np.ndarray, token: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The distinct pairs of row and token, and which of them each is."""
    size = int(token.max()) + 1
    pairs, which = np.unique(row.astype(np.int64) * size + token, return_inverse=True)
    return (pairs // size, pairs % size), which


def _next(
    logits: torch.Tensor, row: np.ndarray, asked: Sequence[Answer], written: Sequence[list[int]]
) -> np.ndarray:
    """The next token of each answer, shape (n,); row: where in `logits` it stands, shape (n,)."""
    tokens = np.zeros(len(row), np.int64)
    # A CPU works on a few rows while they are in its cache; a device on as many as take little
    # memory.
    at_once = 8 if logits.device.type == "cpu" else max(16, 2**28 // (16 * logits.shape[1]))
    ways: dict[Way, list[int]] = {}
    for i, answer in enumerate(asked):
        ways.setdefault(answer.way, []).append(i)
    for way, members in ways.items():
        some = np.array(members)[np.argsort(row[members], kind="stable")]
        rows, first, which = np.unique(row[some], return_index=True, return_inverse=True)
        for start in range(0, len(rows), at_once):
            chunk = rows[start : start + at_once]
            here = slice(*np.searchsorted(which, (start, start + len(chunk))))
            mine = some[here]
            leaders = some[first[start : start + at_once]]
            texts = (
                [[*unpacked(asked[i].prompt).tolist(), *written[i]] for i in leaders]
                if way.looks_back
                else []
            )
            scores = way.scores(logits[torch.as_tensor(chunk, device=logits.device)], texts)
            if way.sampled:
                seeds = np.array([asked[i].seed for i in mine], dtype=np.uint64)
                steps = np.array([len(written[i]) for i in mine], dtype=np.uint64)
                tokens[mine] = drawn(scores, which[here] - start, _mixed(seeds, steps))
            else:
                tokens[mine] = scores.argmax(dim=-1).cpu().numpy()[which[here] - start]
    return tokens


HEAD = 256
"""How many of the likeliest tokens have a random number each when a token is drawn."""


def drawn(scores: torch.Tensor, row: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Tokens drawn from softmax(scores).

    scores: shape (n, vocabulary). row: which of them each token is drawn from, shape (m,). keys: of
    the random numbers, shape (m,). Returns tokens, shape (m,).

    A token with probability p gets a time that is exponential with rate p, and the first one wins.
    Its random number goes with the key and with the token itself, so that a small change of all
    probabilities, such as another order of a sum brings, changes hardly any draw; along a
    cumulative sum all that is behind would move. The tokens beyond the likeliest take part as one,
    with the sum of their probabilities, and share it out by that sum if they win.
    """
    probabilities = scores.softmax(dim=-1, dtype=torch.float32)
    size = probabilities.shape[1]
    likeliest, ids = probabilities.topk(min(HEAD, size), sorted=False)
    rest = probabilities.scatter(1, ids, 0.0)
    # A sum of 32 bits would round what thousands of unlikely tokens have. MPS has no numbers of 64.
    beyond = (
        (rest.cpu() if rest.device.type == "mps" else rest)
        .sum(dim=-1, dtype=torch.float64)
        .cpu()
        .numpy()
    )
    rates = np.hstack([likeliest.cpu().double().numpy(), beyond[:, None]])
    if not np.isfinite(rates).all():
        raise ValueError(
            "no token can be drawn: the model's logits are not numbers; in half precision, dtype=float32 may help"
        )
    names = np.hstack([ids.cpu().numpy(), np.full((len(rates), 1), size)])
    with np.errstate(divide="ignore"):
        first = np.argmin(-np.log(_uniform(keys[:, None], names[row])) / rates[row], axis=1)
    tokens = names[row, first]
    for i in np.flatnonzero(tokens == size):
        sums = rest[int(row[i])].cpu().double().cumsum(0).numpy()
        at = min(_uniform(keys[i], np.int64(size + 1)) * sums[-1], np.nextafter(sums[-1], 0))
        tokens[i] = np.searchsorted(sums, at, side="right")
    return tokens


def _mixed(keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The number at place `counts` of the sequence of each key: SplitMix64, which finds any place
    of its sequences at once."""
    with np.errstate(over="ignore"):
        z = keys + (counts.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _uniform(keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Numbers between 0 and 1, both excluded."""
    return ((_mixed(keys, counts) >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
