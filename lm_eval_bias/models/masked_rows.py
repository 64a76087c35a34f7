"""Turn texts into rows for a masked language model, each with one token to predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
from lm_eval.models.utils import chunks

from lm_eval_bias.harness.sentence_pairs import Span, modified, words

from .encoding import AT_A_TIME

# In place of a token's group: special tokens and the context.
NEVER = -1


class Target(NamedTuple):
    """What to score of a text: tokens from the character `start` on, but not in the spans `given`;
    or the tokens numbered `places`."""

    text: str
    start: int = 0
    given: tuple[Span, ...] = ()
    places: tuple[int, ...] | None = None

    @classmethod
    def behind(cls, context: str, continuation: str) -> Target:
        """Score a continuation. Spaces at the end of the context belong to it, as in the
        harness."""
        return cls(context + continuation, len(context.rstrip()))


class Batch(NamedTuple):
    """Rows of one length. ids: shape (n, length). position, token: of the masked token, shape
    (n,)."""

    ids: np.ndarray
    position: np.ndarray
    token: np.ndarray


class MaskedRows(NamedTuple):
    """ids: the tokens of each text. groups: of each token, which is masked with the later ones of
    its group; NEVER is not predicted. text, position: of the predicted token, shape (n,)."""

    ids: list[np.ndarray]
    groups: list[np.ndarray]
    text: np.ndarray
    position: np.ndarray

    def batch(self, here: np.ndarray, mask_token: int) -> Batch:
        ids, groups = (np.stack([of[i] for i in self.text[here]]) for of in self[:2])
        at, position = np.arange(len(here)), self.position[here]
        after = np.arange(ids.shape[1]) >= position[:, None]
        hidden = after & (groups == groups[at, position][:, None])
        return Batch(np.where(hidden, mask_token, ids), position, ids[at, position])


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
    ids = []
    groups = []
    encodings = _encodings(tokenizer, [target.text for target in targets])
    for target, encoding in zip(targets, encodings, strict=True):
        group = _words(target.text, encoding) if within_words else range(len(encoding.ids))
        ids.append(np.array(encoding.ids))
        groups.append(np.where(_predicted(target, encoding, special), group, NEVER))
        counted(1)
    positions = [np.flatnonzero(group != NEVER) for group in groups]
    text = np.repeat(np.arange(len(ids)), [*map(len, positions)])
    return MaskedRows(ids, groups, text, np.concatenate(positions))


Pair = tuple[str, str]


def shared_tokens(tokenizer: Any, pairs: Sequence[Pair]) -> dict[Pair, Target]:
    """For each pair and its reverse, the shared tokens of the first sentence, as in metric.py of
    Nangia et al. 2020, where the order of a pair may matter."""
    targets = {}
    encodings = _encodings(tokenizer, [text for pair in pairs for text in pair])
    for pair, encoded in zip(pairs, zip(encodings, encodings, strict=True), strict=True):
        blocks = SequenceMatcher(None, *(e.ids for e in encoded)).get_matching_blocks()
        for which, encoding in enumerate(encoded):
            places = [j for b in blocks for j in range(b[which], b[which] + b.size)]
            places = [j for j in places if not encoding.special_tokens_mask[j]]
            targets[pair[which], pair[1 - which]] = Target(pair[which], places=tuple(places))
    return targets


def shared_words(tokenizer: Any, pairs: Sequence[Pair]) -> dict[Pair, Target]:
    """For each pair and its reverse, the tokens of the first sentence whose words both share,
    without words that a token joins to a part of a changed word."""
    targets = {}
    distinct = list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs))
    encodings = _encodings(tokenizer, [text.rstrip() for pair in distinct for text in pair])
    for pair, encoded in zip(distinct, zip(encodings, encodings, strict=True), strict=True):
        texts = [text.rstrip() for text in pair]
        excluded = _excluded_words(texts, [encoding.offsets for encoding in encoded])
        for which, spans in enumerate(excluded):
            given = tuple(sorted(spans))
            targets[pair[which], pair[1 - which]] = Target(texts[which], given=given)
    return targets


def _excluded_words(
    texts: Sequence[str], tokens: Sequence[Sequence[Span]]
) -> tuple[list[Span], list[Span]]:
    excluded = modified(*texts), modified(*reversed(texts))
    kept = [
        [word for word in words(text) if word not in spans]
        for text, spans in zip(texts, excluded, strict=True)
    ]
    pairs = list(zip(*kept, strict=True))

    def shares_token(pair: tuple[Span, Span]) -> bool:
        return any(
            _overlap(token, word) and any(_overlap(token, span) for span in spans)
            for word, spans, offsets in zip(pair, excluded, tokens, strict=True)
            for token in offsets
        )

    while removed := list(filter(shares_token, pairs)):
        pairs = [pair for pair in pairs if pair not in removed]
        for spans, more in zip(excluded, zip(*removed, strict=True), strict=True):
            spans.extend(more)
    return excluded


def _overlap(one: Span, two: Span) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _encodings(tokenizer: Any, texts: Sequence[str]) -> Iterator[Any]:
    for part in chunks(texts, AT_A_TIME):
        yield from tokenizer(part, verbose=False).encodings


def _words(text: str, encoding: Any) -> list[int]:
    """The number of each token's word. Words also end at blanks: Gemma's tokenizer makes one word
    of a text."""
    numbers = []
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
