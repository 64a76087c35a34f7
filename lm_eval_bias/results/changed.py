"""The questions that two models answer most differently."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from lm_eval_bias.data.bounds import loads
from lm_eval_bias.likelihoods import probabilities
from lm_eval_bias.results.samples import of_file
from lm_eval_bias.results.transcripts import SampledQuestion, Turn, question

MOST = 10
Spread = Mapping[str, float]
"""An answer -> its probability, or its share of the draws."""


class Changed(NamedTuple):
    """A question, and for each turn how both models answer. distance: half the sum of the
    differences of the shares of their answers, as a mean over turns."""

    distance: float
    asked: SampledQuestion
    answers: Sequence[tuple[Spread, Spread]]


def changed(first: Sequence[Path], second: Sequence[Path]) -> list[Changed]:
    """Up to MOST questions of two runs' samples, the largest distance first. Raises Unreadable."""
    asked = dict(_questions(first))
    pairs = (_changed(asked[name], two) for name, two in _questions(second) if name in asked)
    found = heapq.nlargest(MOST, pairs, key=attrgetter("distance"))
    return [pair for pair in found if pair.distance > 0]


def _questions(files: Sequence[Path]) -> Iterator[tuple[str, SampledQuestion]]:
    """The hash of each document, and what was asked and answered."""
    for _, line in chain.from_iterable(map(of_file, files)):
        sample = loads(line) if isinstance(line, bytes) else line
        if (name := sample.get("doc_hash")) and (shown := question(sample)):
            yield name, shown


def _changed(one: SampledQuestion, two: SampledQuestion) -> Changed:
    turns = zip_longest(one.turns, two.turns, fillvalue=Turn(""))
    answers = [(_spread(a), _spread(b)) for a, b in turns]
    compared = answers
    if one.read is not None or two.read is not None:
        first, second = (
            _shares(asked.read or [t for turn in asked.turns for t in turn.answers])
            for asked in (one, two)
        )
        compared = [(first, second)]
    distances = [
        sum(abs(a.get(key, 0) - b.get(key, 0)) for key in a.keys() | b.keys()) / 2
        for a, b in compared
    ]
    return Changed(sum(distances) / len(distances), one, answers)


def _spread(turn: Turn) -> Spread:
    if not turn.choices:
        return _shares(turn.answers)
    scores = {
        f"{choice.before or ''}{choice.text}": choice.score
        for choice in turn.choices
        if choice.score is not None
    }
    return dict(zip(scores, probabilities([*scores.values()]) or (), strict=False))


def _shares(texts: Sequence[str]) -> Spread:
    return {text: count / len(texts) for text, count in Counter(texts).items()}
