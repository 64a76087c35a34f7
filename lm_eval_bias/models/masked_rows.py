"""Texts -> rows for a masked language model: in each row one token is to be predicted, and it is
masked.

Salazar et al. 2020 mask that token alone; Kauf and Ivanova 2023 also what follows it in its word,
which would give it away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.harness.sentence_pairs import Span, modified, words

from .ragged import Ragged

# Texts that are given to the tokenizer at a time.
AT_A_TIME = 2_000


class Ask(NamedTuple):
    """What is asked of a text: the log-likelihood of its tokens from the character `start` on, but
    for those of the spans `given`."""

    text: str
    start: int = 0
    given: tuple[Span, ...] = ()


class Batch(NamedTuple):
    """Some rows, padded on the right.

    ids, mask (whether a token is part of the text, and no padding): shape (n, longest). position,
    of what is predicted, and token, what stands there: shape (n,).
    """

    ids: np.ndarray
    mask: np.ndarray
    position: np.ndarray
    token: np.ndarray


@dataclass
class Rows:
    """The rows of some texts, longest first, those of a text together.

    ids: the tokens of each text, with the special ones around. groups: of the same shape, a number
    for each token: when a token is predicted, those of its number that follow are masked with it;
    -1 for what is never masked. text, position: shape (n,), of which text and in which place a row
    predicts a token.
    """

    ids: Ragged
    groups: Ragged
    text: np.ndarray
    position: np.ndarray

    def __len__(self) -> int:
        return len(self.text)

    @property
    def counts(self) -> np.ndarray:
        """How many tokens of each text are predicted, shape (texts,)."""
        return np.bincount(self.text, minlength=len(self.ids))

    def longest(self, start: int) -> int:
        """The tokens of the longest row from a place on."""
        return int(self.ids.lengths[self.text[start]])

    def end_of_length(self, start: int, stop: int) -> int:
        """Behind the last of the rows from `start` to `stop` that are as long as the first."""
        lengths = self.ids.lengths[self.text[start:stop]]
        return start + int((lengths == lengths[0]).sum())

    def batch(self, start: int, stop: int, mask_token: int, padding: int) -> Batch:
        """The rows from `start` to `stop`."""
        text, position = self.text[start:stop], self.position[start:stop]
        lengths = self.ids.lengths[text]
        place = np.arange(lengths.max())
        mask = place < lengths[:, None]
        values = np.minimum(self.ids.offsets[text][:, None] + place, len(self.ids.values) - 1)
        ids, groups = self.ids.values[values], self.groups.values[values]
        at = np.arange(len(text))
        token = ids[at, position]
        hidden = mask & (groups == groups[at, position][:, None]) & (place >= position[:, None])
        return Batch(
            np.where(mask, np.where(hidden, mask_token, ids), padding), mask, position, token
        )


def rows(
    tokenizer: Any, asked: Sequence[Ask], within_words: bool, counted: Callable[[int], Any]
) -> Rows:
    """The rows of texts, by a fast tokenizer.

    within_words: whether a token is masked together with those that follow it in its word. counted:
    called with numbers of texts. A token is part of a span if it overlaps it. One that holds
    nothing but blanks belongs to the next. Special tokens are not predicted.
    """
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    ids: list[list[int]] = []
    groups: list[np.ndarray] = []
    for part in _parts(asked):
        encoded = tokenizer([ask.text for ask in part], add_special_tokens=True, verbose=False)
        for ask, encoding in zip(part, encoded.encodings, strict=True):
            predicted = np.array(_predicted(ask, encoding, special), bool)
            group = np.arange(len(predicted))
            if within_words:
                group = np.array(_words(ask.text, encoding), dtype=int)
            ids.append(encoding.ids)
            groups.append(np.where(predicted, group, -1))
        counted(len(part))
    lengths = np.array([len(each) for each in ids], dtype=np.int64)
    all_ids, all_groups = Ragged.empty(lengths, np.int64), Ragged.empty(lengths, np.int64)
    all_ids.values[:] = [token for each in ids for token in each]
    if groups:
        all_groups.values[:] = np.concatenate(groups)
    where = np.flatnonzero(all_groups.values >= 0)
    text = np.repeat(np.arange(len(lengths)), lengths)[where]
    order = np.argsort(-lengths[text], kind="stable")
    return Rows(all_ids, all_groups, text[order], (where - all_ids.offsets[text])[order])


def shared(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[Ask]:
    """What is asked of the first sentence of each pair: its tokens of the words that both share.

    A token may hold a shared word together with one that differs ("l,", or two characters of
    Chinese). Such a word is not predicted, so it is not predicted in the other sentence either:
    both sums are over the same words. Blanks at the end of a sentence belong to none.
    """
    asked: dict[tuple[str, str], Ask] = {}
    for part in _parts(list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs))):
        texts = [text.rstrip() for pair in part for text in pair]
        encoded = tokenizer(texts, add_special_tokens=True, verbose=False)
        tokens = [
            [span for span in encoding.offsets if span[0] < span[1]]
            for encoding in encoded.encodings
        ]
        for i, (one, two) in enumerate(part):
            both = texts[2 * i], texts[2 * i + 1]
            given = _given(both, tokens[2 * i : 2 * i + 2])
            asked[one, two], asked[two, one] = (
                Ask(text, 0, spans) for text, spans in zip(both, given, strict=True)
            )
    return [asked[pair] for pair in pairs]


def _given(
    texts: tuple[str, str], tokens: Sequence[Sequence[Span]]
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """For each of two sentences the words that are not predicted. tokens: where those of each stand
    in it."""
    gone = modified(*texts), modified(texts[1], texts[0])
    kept = list(
        zip(
            *(
                [word for word in words(text) if word not in out]
                for text, out in zip(texts, gone, strict=True)
            ),
            strict=True,
        )
    )
    while True:
        # What the tokens hold that overlap a word which is not predicted.
        held = [
            [token for token in each if any(_overlap(token, word) for word in out)]
            for each, out in zip(tokens, gone, strict=True)
        ]
        lost = [
            pair
            for pair in kept
            if any(
                _overlap(word, token)
                for word, each in zip(pair, held, strict=True)
                for token in each
            )
        ]
        if not lost:
            return tuple(sorted(gone[0])), tuple(sorted(gone[1]))
        kept = [pair for pair in kept if pair not in lost]
        for out, more in zip(gone, zip(*lost, strict=True), strict=True):
            out.extend(more)


def _overlap(one: Span, two: Span) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _parts(asked: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(asked), AT_A_TIME):
        yield asked[start : start + AT_A_TIME]


def _words(text: str, encoding: Any) -> list[int]:
    """The number of the word of each token. A token without a word is a word by itself.

    Words are those of the tokenizer, and end before a blank. Gemma's tokenizer, which mmBERT has,
    makes one word of a whole text.
    """
    numbers: list[int] = []
    number, last, before = -1, None, (0, 0)
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        behind_blank = text[slice(*before)].strip() and any(
            map(str.isspace, text[before[1] : start + 1])
        )
        if word is None or word != last or behind_blank:
            number += 1
        numbers.append(number)
        last, before = word, (start, end)
    return numbers


def _predicted(ask: Ask, encoding: Any, special: set[int]) -> list[bool]:
    """Whether each token of a text is to be predicted."""
    predicted = [False] * len(encoding.ids)
    following = None
    tokens = zip(encoding.ids, encoding.offsets, encoding.special_tokens_mask, strict=True)
    for i, (token, (start, end), added) in reversed(list(enumerate(tokens))):
        if added or token in special:
            continue
        if following is not None and not ask.text[start:end].strip():
            predicted[i] = following
            continue
        predicted[i] = end > ask.start and not any(
            start < last and first < end for first, last in ask.given
        )
        following = predicted[i]
    return predicted
