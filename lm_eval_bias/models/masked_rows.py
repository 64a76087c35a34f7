"""Turn texts into rows for a masked language model, each with one token to predict.

Salazar et al. 2020 mask only that token. Kauf and Ivanova 2023 also mask what follows in its word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.harness.sentence_pairs import Span, modified, words

from .ragged import Ragged

# Texts per call of the tokenizer.
AT_A_TIME = 2_000


class Target(NamedTuple):
    """What to score: the tokens of a text from the character `start` on, except those in the spans
    `given`.
    """

    text: str
    start: int = 0
    given: tuple[Span, ...] = ()

    @classmethod
    def behind(cls, context: str, continuation: str) -> Target:
        """Score a continuation. As in the harness, spaces at the end of the context belong to
        it.
        """
        return cls(context + continuation, len(context.rstrip()))


class Batch(NamedTuple):
    """Rows padded on the right.

    ids, mask (False for padding): shape (n, longest). position, of the masked token, and token, its
    id: shape (n,).
    """

    ids: np.ndarray
    mask: np.ndarray
    position: np.ndarray
    token: np.ndarray


@dataclass
class MaskedRows:
    """Rows to predict, those of the longest texts first.

    ids: the tokens of each text. groups: same shape; a token is masked with the later ones of its
    group, and -1 is never predicted. text, position: of the predicted token, shape (n,).
    """

    ids: Ragged
    groups: Ragged
    text: np.ndarray
    position: np.ndarray

    def __len__(self) -> int:
        return len(self.text)

    @property
    def counts(self) -> np.ndarray:
        """The predicted tokens per text, shape (texts,)."""
        return np.bincount(self.text, minlength=len(self.ids))

    def batch(self, start: int, stop: int, mask_token: int, padding: int) -> Batch:
        text, position = self.text[start:stop], self.position[start:stop]
        lengths = self.ids.lengths[text]
        place = np.arange(lengths.max())
        mask = place < lengths[:, None]
        values = np.minimum(self.ids.offsets[text][:, None] + place, len(self.ids.values) - 1)
        ids, groups = self.ids.values[values], self.groups.values[values]
        at = np.arange(len(text))
        token = ids[at, position]
        hidden = (groups == groups[at, position][:, None]) & (place >= position[:, None])
        shown = np.where(hidden, mask_token, ids)
        return Batch(np.where(mask, shown, padding), mask, position, token)


def rows(
    tokenizer: Any,
    targets: Sequence[Target],
    within_words: bool = False,
    counted: Callable[[int], Any] = int,
) -> MaskedRows:
    """The rows of texts, by a fast tokenizer.

    within_words: mask a token with the rest of its word. counted: called with the number of texts
    done. A token that overlaps a span belongs to it; a blank one belongs to the next.
    """
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    lengths: list[int] = []
    ids: list[int] = []
    groups: list[int] = []
    for part in _parts(targets):
        encoded = tokenizer([target.text for target in part], verbose=False)
        for target, encoding in zip(part, encoded.encodings, strict=True):
            predicted = _predicted(target, encoding, special)
            group = _words(target.text, encoding) if within_words else range(len(predicted))
            lengths.append(len(predicted))
            ids += encoding.ids
            groups += [g if p else -1 for g, p in zip(group, predicted, strict=True)]
        counted(len(part))
    made = Ragged.empty(np.array(lengths, np.int64), np.int64)
    made.values[:] = ids
    of_token = np.array(groups, np.int64)
    where = np.flatnonzero(of_token >= 0)
    text = np.repeat(np.arange(len(made)), made.lengths)[where]
    order = np.argsort(-made.lengths[text], kind="stable")
    position = (where - made.offsets[text])[order]
    return MaskedRows(made, Ragged(of_token, made.offsets), text[order], position)


def shared(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[Target]:
    """For each pair, the tokens of the first sentence whose words both share.

    A word is left out of both sentences if a token covers it and a part of a changed word.
    """
    targets: dict[tuple[str, str], Target] = {}
    for part in _parts(list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs))):
        texts = [text.rstrip() for pair in part for text in pair]
        encoded = tokenizer(texts, verbose=False)
        tokens = [
            [span for span in encoding.offsets if span[0] < span[1]]
            for encoding in encoded.encodings
        ]
        for i, (one, two) in enumerate(part):
            both = texts[2 * i], texts[2 * i + 1]
            first, second = _given(both, tokens[2 * i : 2 * i + 2])
            targets[one, two] = Target(both[0], given=tuple(sorted(first)))
            targets[two, one] = Target(both[1], given=tuple(sorted(second)))
    return [targets[pair] for pair in pairs]


def _given(
    texts: tuple[str, str], tokens: Sequence[Sequence[Span]]
) -> tuple[list[Span], list[Span]]:
    """For each sentence, the words not predicted. tokens: their spans."""
    given = modified(*texts), modified(*texts[::-1])
    kept = [
        [word for word in words(text) if word not in out]
        for text, out in zip(texts, given, strict=True)
    ]
    pairs = list(zip(*kept, strict=True))

    def held(word: Span, which: int) -> bool:
        """Whether a token covers this word and one not predicted."""
        return any(
            _overlap(token, word) and any(_overlap(token, out) for out in given[which])
            for token in tokens[which]
        )

    while lost := [pair for pair in pairs if held(pair[0], 0) or held(pair[1], 1)]:
        pairs = [pair for pair in pairs if pair not in lost]
        for one, two in lost:
            given[0].append(one)
            given[1].append(two)
    return given


def _overlap(one: Span, two: Span) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), AT_A_TIME):
        yield items[start : start + AT_A_TIME]


def _words(text: str, encoding: Any) -> list[int]:
    """The number of each token's word. Words also end at blanks, because Gemma's tokenizer makes
    one word of a text.
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


def _predicted(target: Target, encoding: Any, special: set[int]) -> list[bool]:
    predicted = [False] * len(encoding.ids)
    following = None
    tokens = zip(encoding.ids, encoding.offsets, encoding.special_tokens_mask, strict=True)
    for i, (token, span, added) in reversed(list(enumerate(tokens))):
        if added or token in special:
            continue
        if following is None or target.text[slice(*span)].strip():
            following = span[1] > target.start and not any(
                _overlap(span, given) for given in target.given
            )
        predicted[i] = following
    return predicted
