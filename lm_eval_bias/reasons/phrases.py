"""Key phrases by sentence embeddings, as in KeyBERT (Grootendorst 2020)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .texts import THEY, Reason

Array = NDArray[np.float64]
Embedder = Callable[[Sequence[str]], Array]
"""Texts -> embeddings, shape (texts, dimensions), each of length 1."""
WORDS = 3
"""Of a phrase at most."""
OF_AN_ANSWER = 5
"""Key phrases of an answer: KeyBERT's default."""


class Phrase(NamedTuple):
    """answers: how many of `of` contain it. key_in: in how many it is a key phrase. similarity:
    cosine with their mean. example: the most similar sentence.
    """

    phrase: str
    answers: int
    of: int
    key_in: int | None
    similarity: float
    example: str
    example_group: str


class Text(NamedTuple):
    group: str
    reasons: Sequence[Reason]


def phrases_in(reasons: Iterable[Reason]) -> set[str]:
    """Sequences of words within a fragment, without the group."""
    phrases = set()
    for fragment in (fragment for reason in reasons for fragment in reason.fragments):
        words = [word for word in fragment if word != THEY]
        for n in range(1, WORDS + 1):
            phrases |= {" ".join(words[i : i + n]) for i in range(len(words) - n + 1)}
    return phrases


def counts(texts: Iterable[Text]) -> Counter[str]:
    return Counter(p for text in texts for p in phrases_in(text.reasons))


def nearest(candidates: Array, text: Array, top: int) -> list[int]:
    """The `top` candidates most similar to a text, in descending order. candidates: shape (n, d),
    unit rows. text: shape (d,). Source: KeyBERT."""
    return [int(i) for i in np.argsort(-(candidates @ text), kind="stable")[:top]]


class Embedded:
    def __init__(self, texts: Sequence[Text], embed: Embedder, min_answers: int = 2) -> None:
        """min_answers: the least number that contain a phrase."""
        self.texts, self.min_answers = texts, min_answers
        self.phrases = sorted(p for p, n in counts(texts).items() if n >= min_answers)
        cleaned = list(dict.fromkeys(reason.cleaned for text in texts for reason in text.reasons))
        vectors = dict(
            zip([*cleaned, *self.phrases], embed([*cleaned, *self.phrases]), strict=True)
        )
        self._sentences = {text: vectors[text] for text in cleaned}
        self._vectors = {phrase: vectors[phrase] for phrase in self.phrases}
        self._centres = np.array(
            [unit(np.mean([vectors[r.cleaned] for r in text.reasons], axis=0)) for text in texts]
        )

    def key_phrases(self, members: Sequence[int], top: int) -> list[Phrase]:
        """Table 10: the phrases nearest to some answers' mean. members: indices into `texts`."""
        contain = counts(self.texts[i] for i in members)
        names = [phrase for phrase in self.phrases if contain[phrase] >= self.min_answers]
        nearest_names = self._nearest(names, self._centre(members), top)
        return [self._phrase(name, members, None) for name in nearest_names]

    def most_common(self, top: int) -> list[Phrase]:
        """Table 3: the phrases that are key phrases of most answers."""
        members, key_in = range(len(self.texts)), Counter[str]()
        for i in members:
            names = sorted(phrases_in(self.texts[i].reasons) & self._vectors.keys())
            key_in.update(self._nearest(names, self._centres[i], OF_AN_ANSWER))
        centre = self._centre(members)
        order = sorted(key_in, key=lambda p: (-key_in[p], -float(self._vectors[p] @ centre), p))
        return [self._phrase(name, members, key_in[name]) for name in order[:top]]

    def _centre(self, members: Sequence[int]) -> Array:
        return unit(self._centres[members].mean(axis=0))

    def _nearest(self, names: list[str], text: Array, top: int) -> list[str]:
        if not names:
            return []
        candidates = np.array([self._vectors[name] for name in names])
        return [names[i] for i in nearest(candidates, text, top)]

    def _phrase(self, phrase: str, members: Sequence[int], key_in: int | None) -> Phrase:
        centre = self._centre(members)
        containing = [
            (float(self._sentences[reason.cleaned] @ centre), i, reason)
            for i in members
            for reason in self.texts[i].reasons
            if phrase in phrases_in([reason])
        ]
        _, place, example = max(containing, key=lambda item: item[0])
        return Phrase(
            phrase,
            len({i for _, i, _ in containing}),
            len(members),
            key_in,
            round(float(self._vectors[phrase] @ centre), 4),
            example.written,
            self.texts[place].group,
        )


def unit(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
