"""Turn texts into rows for a masked language model, each with one token to predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.harness.sentence_pairs import Span, modified, words

# Texts per call of the tokenizer.
AT_A_TIME = 2_000
# In place of a token's group: special tokens and the context; padding.
NEVER, BEHIND = -1, -2


class Target(NamedTuple):
    """What to score of a text: tokens from the character `start` on, except in the spans `given`;
    or the tokens numbered `places`.
    """

    text: str
    start: int = 0
    given: tuple[Span, ...] = ()
    places: tuple[int, ...] | None = None

    @classmethod
    def behind(cls, context: str, continuation: str) -> Target:
        """Score a continuation. As in the harness, spaces at the end of the context belong to
        it.
        """
        return cls(context + continuation, len(context.rstrip()))


class Batch(NamedTuple):
    """Rows padded on the right. ids, mask (False for padding): shape (n, longest). position, token:
    of the masked token, shape (n,)."""

    ids: np.ndarray
    mask: np.ndarray
    position: np.ndarray
    token: np.ndarray


@dataclass
class MaskedRows:
    """Rows to predict, those of the longest texts first.

    ids: the tokens of each text. groups: of each token, which is masked with the later ones of its
    group; NEVER is not predicted. text, position: of the predicted token, shape (n,).
    """

    ids: list[list[int]]
    groups: list[list[int]]
    text: np.ndarray
    position: np.ndarray

    def __len__(self) -> int:
        return len(self.text)

    def batch(self, start: int, stop: int, mask_token: int, padding: int) -> Batch:
        texts, row = np.unique(self.text[start:stop], return_inverse=True)
        ids = _padded([self.ids[i] for i in texts], padding)[row]
        groups = _padded([self.groups[i] for i in texts], BEHIND)[row]
        at, position = np.arange(len(row)), self.position[start:stop]
        after = np.arange(ids.shape[1]) >= position[:, None]
        hidden = after & (groups == groups[at, position][:, None])
        shown = np.where(hidden, mask_token, ids)
        return Batch(shown, groups != BEHIND, position, ids[at, position])


def _padded(rows: Sequence[Sequence[int]], padding: int) -> np.ndarray:
    return np.array(list(zip_longest(*rows, fillvalue=padding))).T


def rows(
    tokenizer: Any,
    targets: Sequence[Target],
    within_words: bool = False,
    counted: Callable[[int], Any] = int,
) -> MaskedRows:
    """The rows of texts, by a fast tokenizer.

    within_words: mask a token with the rest of its word. counted: called with the number of texts
    done. A token that overlaps a span belongs to it.
    """
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    ids: list[list[int]] = []
    groups: list[list[int]] = []
    encodings = _encodings(tokenizer, [target.text for target in targets])
    for target, encoding in zip(targets, encodings, strict=True):
        predicted = _predicted(target, encoding, special)
        group = _words(target.text, encoding) if within_words else range(len(predicted))
        ids.append(encoding.ids)
        groups.append([g if p else NEVER for g, p in zip(group, predicted, strict=True)])
        counted(1)
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    places = [(i, j) for i in order for j, group in enumerate(groups[i]) if group != NEVER]
    text, position = np.array(places, np.int64).reshape(-1, 2).T
    return MaskedRows(ids, groups, text, position)


def shared_tokens(
    tokenizer: Any, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Target]:
    """For each pair and its reverse, the shared tokens of the first sentence, as in metric.py of
    Nangia et al. 2020, where the order of a pair may matter."""
    targets: dict[tuple[str, str], Target] = {}
    encodings = list(_encodings(tokenizer, [text for pair in pairs for text in pair]))
    for i, pair in enumerate(pairs):
        of_pair = encodings[2 * i : 2 * i + 2]
        blocks = SequenceMatcher(None, *(e.ids for e in of_pair)).get_matching_blocks()
        for which, encoding in enumerate(of_pair):
            places = [j for b in blocks for j in range(b[which], b[which] + b.size)]
            places = [j for j in places if not encoding.special_tokens_mask[j]]
            targets[pair[which], pair[1 - which]] = Target(pair[which], places=tuple(places))
    return targets


def shared_words(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Target]:
    """For each pair, the tokens of the first sentence whose words both share, without words that a
    token joins to a part of a changed word."""
    targets: dict[tuple[str, str], Target] = {}
    distinct = list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs))
    texts = [text.rstrip() for pair in distinct for text in pair]
    tokens = [encoding.offsets for encoding in _encodings(tokenizer, texts)]
    for i, (one, two) in enumerate(distinct):
        here = slice(2 * i, 2 * i + 2)
        first, second = _excluded_words(texts[here], tokens[here])
        targets[one, two] = Target(texts[2 * i], given=tuple(sorted(first)))
        targets[two, one] = Target(texts[2 * i + 1], given=tuple(sorted(second)))
    return targets


def _excluded_words(
    texts: Sequence[str], tokens: Sequence[Sequence[Span]]
) -> tuple[list[Span], list[Span]]:
    excluded = modified(*texts), modified(*reversed(texts))
    kept = [
        [word for word in words(text) if word not in left_out]
        for text, left_out in zip(texts, excluded, strict=True)
    ]
    pairs = list(zip(*kept, strict=True))

    def shares_token(word: Span, which: int) -> bool:
        return any(
            _overlap(token, word) and any(_overlap(token, span) for span in excluded[which])
            for token in tokens[which]
        )

    while removed := [
        pair for pair in pairs if shares_token(pair[0], 0) or shares_token(pair[1], 1)
    ]:
        pairs = [pair for pair in pairs if pair not in removed]
        for one, two in removed:
            excluded[0].append(one)
            excluded[1].append(two)
    return excluded


def _overlap(one: Span, two: Span) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _encodings(tokenizer: Any, texts: Sequence[str]) -> Iterator[Any]:
    for start in range(0, len(texts), AT_A_TIME):
        yield from tokenizer(texts[start : start + AT_A_TIME], verbose=False).encodings


def _words(text: str, encoding: Any) -> list[int]:
    """The number of each token's word. Words also end at blanks: Gemma's tokenizer makes one word
    of a text."""
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
    if target.places is not None:
        return [i in target.places for i in range(len(encoding.ids))]
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
