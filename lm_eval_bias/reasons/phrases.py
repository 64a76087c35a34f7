"""Reasons -> key phrases, by sentence embeddings, as KeyBERT finds them.

KeyBERT (Grootendorst 2020) takes the word sequences of a text whose embeddings are most similar to
that of the text. Called on the joined answers of a cluster, it sees the first two or three:
all-MiniLM-L6-v2 reads 256 tokens. Here each sentence is embedded, and the mean of an answer's
sentences, and of a cluster's answers, stands for it; no phrase goes beyond a mark of punctuation.
The choice by similarity and by maximal marginal relevance is KeyBERT's, in memory that grows with
the phrases and not with their square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .texts import THEY, Reason

Array = NDArray[np.float64]
Embedder = Callable[[Sequence[str]], Array]
"""Texts -> their embeddings, shape (texts, dimensions), each of length 1."""
OF_AN_ANSWER = 5
"""How many key phrases an answer has: the default of KeyBERT."""


class Phrase(NamedTuple):
    """text. answers: of the cluster, in how many it stands. key_in: in how many it is a key phrase
    of the answer; None where not asked. similarity: cosine with the cluster. example: the sentence
    nearest to the cluster in which it stands, and the group it speaks of."""

    text: str
    answers: int
    key_in: int | None
    similarity: float
    example: str
    group: str


class Text(NamedTuple):
    """An answer, cleaned. group: whom it is about."""

    group: str
    reasons: Sequence[Reason]


def phrases_in(reason: Reason, least: int, most: int) -> set[str]:
    """Sequences of `least` to `most` words of one fragment of a sentence; the group is no word of a
    phrase."""
    found = set()
    for fragment in reason.fragments:
        words = [word for word in fragment if word != THEY]
        for n in range(least, most + 1):
            found |= {" ".join(words[i : i + n]) for i in range(len(words) - n + 1)}
    return found


def standing_in(texts: Iterable[Text], least: int, most: int) -> Counter[str]:
    """Phrase -> in how many answers it stands."""
    return Counter(
        phrase
        for text in texts
        for phrase in set().union(*(phrases_in(r, least, most) for r in text.reasons))
    )


def nearest(candidates: Array, text: Array, top: int, diversity: float = 0.0) -> list[int]:
    """The `top` candidates most similar to a text, the most similar first.

    candidates: shape (n, d), rows of length 1. text: shape (d,). diversity: from 0 to 1; with one
    above 0, each further choice is the candidate with the greatest (1 - diversity) * similarity to
    the text - diversity * greatest similarity to one chosen before (maximal marginal relevance,
    Carbonell and Goldstein 1998). Of equal ones the first. Source: KeyBERT, `extract_keywords` and
    `mmr`.
    """
    similar = candidates @ text
    if not diversity:
        return [int(i) for i in np.argsort(-similar, kind="stable")[:top]]
    chosen: list[int] = []
    to_chosen = np.full(len(candidates), -np.inf)
    score = similar.copy()
    while len(chosen) < min(top, len(candidates)):
        score[chosen] = -np.inf
        best = int(np.argmax(score))
        chosen.append(best)
        to_chosen = np.maximum(to_chosen, candidates @ candidates[best])
        score = (1 - diversity) * similar - diversity * to_chosen
    return sorted(chosen, key=lambda i: -similar[i])


class Embedded:
    """Answers and the phrases in them, embedded once; then the key phrases of any of their
    clusters."""

    def __init__(
        self,
        texts: Sequence[Text],
        embed: Embedder,
        words: tuple[int, int] = (1, 3),
        min_answers: int = 2,
    ) -> None:
        """words: least and most of a phrase. min_answers: in how many answers a phrase stands at
        least."""
        self.texts, self.words, self.min_answers = texts, words, min_answers
        self.phrases = sorted(p for p, n in standing_in(texts, *words).items() if n >= min_answers)
        cleaned = list(dict.fromkeys(reason.cleaned for text in texts for reason in text.reasons))
        embedded = embed([*cleaned, *self.phrases])
        self.sentence = dict(zip(cleaned, embedded[: len(cleaned)], strict=True))
        self.candidates = embedded[len(cleaned) :]
        self.row = {phrase: i for i, phrase in enumerate(self.phrases)}
        self.centres = np.array(
            [
                unit(np.mean([self.sentence[r.cleaned] for r in text.reasons], axis=0))
                for text in texts
            ]
        )

    def key_phrases(self, members: Sequence[int], top: int, diversity: float = 0.0) -> list[Phrase]:
        """Table 10: the phrases of some answers, by their place in `texts`, that are nearest to all
        of them together."""
        counts = self._counts(members)
        names = [phrase for phrase in self.phrases if counts[phrase] >= self.min_answers]
        if not names:
            return []
        centre = unit(self.centres[members].mean(axis=0))
        rows = self.candidates[[self.row[name] for name in names]]
        return [
            self._told(names[i], members, counts, None, centre)
            for i in nearest(rows, centre, top, diversity)
        ]

    def most_common(self, members: Sequence[int], top: int, diversity: float = 0.0) -> list[Phrase]:
        """Table 3: the phrases that are key phrases of most of the answers; of equally many the
        more similar first."""
        counts = self._counts(members)
        key_in: Counter[str] = Counter()
        for i in members:
            names = sorted(self._phrases_of(self.texts[i]))
            if names:
                rows = self.candidates[[self.row[name] for name in names]]
                key_in.update(
                    names[j] for j in nearest(rows, self.centres[i], OF_AN_ANSWER, diversity)
                )
        centre = unit(self.centres[members].mean(axis=0))
        order = sorted(
            key_in,
            key=lambda name: (
                -key_in[name],
                -float(self.candidates[self.row[name]] @ centre),
                name,
            ),
        )
        return [self._told(name, members, counts, key_in[name], centre) for name in order[:top]]

    def _phrases_of(self, text: Text) -> set[str]:
        return {
            phrase
            for reason in text.reasons
            for phrase in phrases_in(reason, *self.words)
            if phrase in self.row
        }

    def _counts(self, members: Sequence[int]) -> Counter[str]:
        return Counter(phrase for i in members for phrase in self._phrases_of(self.texts[i]))

    def _told(
        self,
        phrase: str,
        members: Sequence[int],
        counts: Mapping[str, int],
        key_in: int | None,
        centre: Array,
    ) -> Phrase:
        said = [
            (reason, self.texts[i].group)
            for i in members
            for reason in self.texts[i].reasons
            if phrase in phrases_in(reason, *self.words)
        ]
        example, group = max(said, key=lambda each: float(self.sentence[each[0].cleaned] @ centre))
        return Phrase(
            phrase,
            counts[phrase],
            key_in,
            float(self.candidates[self.row[phrase]] @ centre),
            example.written,
            group,
        )


def unit(vector: Array) -> Array:
    """A vector in the length 1; that of length 0 as it is."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
