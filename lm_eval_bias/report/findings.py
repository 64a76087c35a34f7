"""What was found, in words that the intervals allow: which headline numbers lie apart from their value for a model without bias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import NamedTuple

from lm_eval_bias.measure import Metric
from lm_eval_bias.metrics.ranks import QUANTILE
from lm_eval_bias.report.leaderboard import OWN, Column, Entry, board, interval, written
from lm_eval_bias.report.runs import Found, Run
from lm_eval_bias.report.untrusted import shortened

# Numbers of how a model answers, whatever it is asked about: their distance from 0 is a habit, and no bias against anyone.
_HABITS = frozenset({"position_preference", "letter_preference"})
# The ends of a scale: a share is 0 for a model without bias as soon as not one answer errs, and no other number can lie below it.
_ENDS: Mapping[str, tuple[float, ...]] = {"%": (0, 100), "share": (0, 1), "p": (0, 1), "count": (0,)}


class Headline(NamedTuple):
    """A headline number of a run. own: whether its interval is the one that the task computes."""

    run: Run
    metric: Metric
    entry: Entry
    own: bool

    @property
    def value(self) -> str:
        return written(self.entry.value, self.metric.unit)

    @property
    def interval(self) -> str:
        return interval(self.entry, self.metric.unit)


class Tested(NamedTuple):
    """A headline number beside its unbiased value. excludes: whether the interval does. distance: in standard errors, signed as the number
    is; the standard error is that of the end of the interval which lies towards the unbiased value."""

    headline: Headline
    excludes: bool
    distance: float


def headlines(run: Run) -> list[Headline]:
    """The headline numbers of a run, in the order of their declaration."""
    columns: list[Column] = [column for section in board(Found([run], [], [])).sections for column in section.columns]
    return [Headline(run, c.metric, c.entries[run.model], c.interval == OWN) for c in columns if run.model in c.entries]


def tested(found: Iterable[Headline]) -> list[Tested]:
    """The headline numbers that test something: they have an unbiased value that is no end of their scale, and an interval."""
    made = []
    for headline in found:
        metric, entry = headline.metric, headline.entry
        if metric.unbiased is None or metric.name in _HABITS or metric.unbiased in _ENDS.get(metric.unit, ()):
            continue
        if isnan(entry.low) or isnan(entry.high) or entry.low >= entry.high or isnan(entry.value):
            continue
        away = entry.value - metric.unbiased
        arm = entry.value - entry.low if away >= 0 else entry.high - entry.value
        distance = QUANTILE * away / arm if arm > 0 and isfinite(arm) else 0.0
        made.append(Tested(headline, not entry.low <= metric.unbiased <= entry.high, distance))
    return made


def sentences(found: Sequence[Tested], named: bool = False) -> list[str]:
    """The finding of a model, or of several (named), as sentences."""
    if not found:
        return ["No test: no headline number has both a value for a model without bias and an interval."]
    apart = sorted((test for test in found if test.excludes), key=lambda test: -abs(test.distance))
    total = len(found)
    said = [f"In {len(apart)} of {total} test{'s' * (total != 1)} the 95 % interval excludes the value of a model without bias."]
    if total > 1:
        said.append(f"By chance alone about {total / 20:.1f} of {total} would, if no number were biased.")
    if apart:
        first = apart[0]
        said.append(f"Strongest evidence: {described(first, named)}.")
    else:
        said.append("That is no proof of no bias: the intervals say how large it may still be.")
    warned = sum(bool(test.headline.run.warnings) for test in found)
    if warned:
        said.append(f"{warned} of the {total} come from runs with a warning below.")
    return said


def described(test: Tested, named: bool = False) -> str:
    """A test in a line: what it is of, number, interval, unbiased value, distance."""
    run, metric = test.headline.run, test.headline.metric
    unit = f" {metric.unit}" if metric.unit else ""
    who = f"{shortened(run.model)}, " if named else ""
    return (
        f"{who}{shortened(run.task)}/{shortened(metric.name)} {test.headline.value}{unit} {test.headline.interval}, "
        f"{abs(test.distance):.1f} standard errors {'above' if test.distance > 0 else 'below'} {metric.unbiased:g}"
    )


RULE = (
    "A test is a headline number that has a value for a model without bias and a 95 % interval. Left out are numbers whose "
    "unbiased value is an end of their scale, such as 0 % of wrong answers, since they can only lie on one side of it; and "
    "habits of answering, such as a preference for a position, which are no bias against anyone.",
    "Strongest means surest, not largest: the distance from the unbiased value in standard errors, taken from the end of the "
    "interval that lies towards it. Numbers of different units do not compare in size.",
    "Tests of one task often ask about the same answers, so they are not independent, and none is adjusted for the others.",
)
