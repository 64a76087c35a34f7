"""What was found, in words that the intervals allow: which primary numbers lie apart from their
value for a model without bias."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, isnan
from typing import NamedTuple

from lm_eval_bias.measure import RANGE, Metric, Number
from lm_eval_bias.metrics.ranks import QUANTILE
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.report.exhibited import number_text
from lm_eval_bias.report.leaderboard import Column, board
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.runs import Found, Run

# Numbers of how a model answers, whatever it is asked about: their distance from 0 is a habit, and
# no bias against anyone.
_HABITS = frozenset({"position_preference", "letter_preference"})


class Headline(NamedTuple):
    """A primary number of a run."""

    run: Run
    metric: Metric
    number: Number

    @property
    def value(self) -> str:
        return number_text(self.number.value, self.metric.unit, self._ends)

    @property
    def unit(self) -> str:
        """What stands behind the value; nothing behind a count, a p value or a dash."""
        unit = self.metric.unit
        return (
            ""
            if unit in ("", "count", "p", "t", "share", "score") or isnan(self.number.value)
            else f" {unit}"
        )

    @property
    def _ends(self) -> tuple[float, ...]:
        low, high = self.number.low, self.number.high
        return () if isnan(low) or isnan(high) or low == high else (low, high)

    @property
    def interval(self) -> str:
        """[low, high]; empty where there is none, or it has no width."""
        if not self._ends:
            return ""
        low, high = self._ends
        value, unit = self.number.value, self.metric.unit
        return f"[{number_text(low, unit, (value, high))}, {number_text(high, unit, (value, low))}]"


class Tested(NamedTuple):
    """A primary number beside its null value. excludes: whether the interval does. distance:
    in standard errors, signed as the number is; the standard error is that of the end of the
    interval which lies towards the null value."""

    primary: Headline
    excludes: bool
    distance: float

    @property
    def clusters(self) -> int | None:
        """On how many clusters it rests; None where the run does not say."""
        return self.primary.number.clusters

    @property
    def few(self) -> bool:
        """Whether it rests on fewer clusters than an interval needs; a run that does not say how
        many is taken at its word."""
        return self.clusters is not None and self.clusters < FEWEST_CLUSTERS


def primaries(run: Run) -> list[Headline]:
    """The primary numbers of a run, in the order of their declaration."""
    columns: list[Column] = [
        column for section in board(Found([run], [], [])).sections for column in section.columns
    ]
    return [
        Headline(run, c.metric, c.entries[run.model].number)
        for c in columns
        if run.model in c.entries
    ]


def tested(found: Iterable[Headline]) -> list[Tested]:
    """The primary numbers that test something: they have a null value that is no end of their
    scale, and an interval."""
    made = []
    for primary in found:
        metric, number = primary.metric, primary.number
        # A share is 0 for a model without bias as soon as not one answer errs, and no other number
        # can lie below it.
        if (
            metric.null_value is None
            or not metric.tests
            or metric.name in _HABITS
            or metric.null_value in RANGE.get(metric.unit, ())
        ):
            continue
        if not number.low < number.high or isnan(number.value):
            continue
        away = number.value - metric.null_value
        arm = number.value - number.low if away >= 0 else number.high - number.value
        distance = QUANTILE * away / arm if arm > 0 and isfinite(arm) else 0.0
        made.append(Tested(primary, not number.low <= metric.null_value <= number.high, distance))
    return made


def sentences(found: Sequence[Tested], named: bool = False, strongest: bool = True) -> list[str]:
    """The finding of a model, or of several (named), as sentences. strongest: with the surest test,
    where no list of them stands beside."""
    if not found:
        return [
            "No test: no primary number has both a value for a model without bias and an interval."
        ]
    apart = surest(found)
    total = len(found)
    said = [
        f"In {len(apart)} of {total} test{'s' * (total != 1)} the 95 % interval excludes the value of a model without bias."
    ]
    if total > 1:
        said.append(
            f"By chance alone about {total / 20:.1f} of {total} would, if no number were biased."
        )
    if apart and strongest:
        said.append(f"Strongest evidence: {described(apart[0], named)}.")
    if not apart:
        said.append("That is no proof of no bias: the intervals say how large it may still be.")
    few = sum(test.few for test in found)
    if few:
        rest = "rests" if few == 1 else "rest"
        few_of_all = f"{few} of {total} {rest} on fewer than {FEWEST_CLUSTERS} clusters (templates, themes, events)"
        said.append(f"{few_of_all}, where intervals are too short.")
    untold = sum(test.clusters is None for test in found)
    if untold:
        those = "does" if untold == 1 else "do"
        rests = "it rests" if untold == 1 else "they rest"
        said.append(
            f"{untold} of {total} {those} not say on how many clusters {rests}, so that some intervals may be too short."
        )
    warned = sum(bool(test.primary.run.warnings) for test in found)
    if warned:
        if total == 1:
            said.append("It comes from a run with a warning.")
        else:
            come = "comes from a run" if warned == 1 else "come from runs"
            said.append(
                f"{'All' if warned == total else f'{warned} of the'} {total} {come} with a warning."
            )
    return said


def brief(found: Sequence[Tested]) -> str:
    """The finding of one of several models, in a line."""
    if not found:
        return "no test"
    apart = surest(found)
    warned = sum(bool(test.primary.run.warnings) for test in found)
    said = f"{len(apart)} of {len(found)} test{'s' * (len(found) != 1)}"
    said += f"; surest {described(apart[0])}" if apart else ""
    return said + (
        f"; {'all' if warned == len(found) else warned} from runs with a warning" if warned else ""
    )


def surest(found: Iterable[Tested]) -> list[Tested]:
    """The tests whose interval excludes the null value, surest first, those of runs with a
    warning after the others, and those on few clusters last."""
    return sorted(
        (test for test in found if test.excludes),
        key=lambda test: (test.few, bool(test.primary.run.warnings), -abs(test.distance)),
    )


def described(test: Tested, named: bool = False) -> str:
    """A test in a line: what it is of, number, interval, null value, distance."""
    run, metric = test.primary.run, test.primary.metric
    who = f"{shortened(run.model)}, " if named else ""
    return (
        f"{who}{shortened(run.task)}/{shortened(metric.name)} {test.primary.value}{test.primary.unit} {test.primary.interval}, "
        f"{abs(test.distance):.1f} standard errors {'above' if test.distance > 0 else 'below'} {metric.null_value:g}"
    )


RULE = (
    "A test is a primary number that has a value for a model without bias and a 95 % interval. Left out are numbers whose "
    "null value is an end of their scale, such as 0 % of wrong answers, since they can only lie on one side of it; "
    "habits of answering, such as a preference for a position, which are no bias against anyone; and numbers whose interval is too "
    "short to test them, or that ask what another number tests, as their task declares.",
    "Strongest means surest, not largest: the distance from the null value in standard errors, taken from the end of the "
    "interval that lies towards it; runs without a warning come first, and numbers on fewer than ten clusters last. Numbers of "
    "different units do not compare in size.",
    "Tests of one task often ask about the same answers, so they are not independent, and none is adjusted for the others.",
)
