"""The questions that two models answer most differently."""

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from lm_eval_bias.data.bounds import LINE, lines, loads, opened
from lm_eval_bias.likelihoods import probabilities
from lm_eval_bias.results.transcripts import SampledQuestion, Turn, question

MOST = 10
_HASH = re.compile(rb'"doc_hash":\s*"([^"]+)"')
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
    places = {}
    for path in first:
        offset = 0
        for _, line in lines(path):
            if name := _HASH.search(line):
                places[name[1]] = path, offset
            offset += len(line)
    with ExitStack() as stack:
        files = {path: stack.enter_context(opened(path)) for path in first}

        def pairs() -> Iterator[Changed]:
            for _, line in (line for path in second for line in lines(path)):
                name = _HASH.search(line)
                if name and name[1] in places:
                    path, offset = places[name[1]]
                    files[path].seek(offset)
                    one, two = (
                        question(loads(text)) for text in (files[path].readline(LINE), line)
                    )
                    if one and two:
                        yield _changed(one, two)

        found = heapq.nlargest(MOST, pairs(), key=attrgetter("distance"))
    return [pair for pair in found if pair.distance > 0]


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
