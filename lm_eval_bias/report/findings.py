"""Which primary numbers of finished runs are evidence of bias, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite, isnan
from typing import NamedTuple

from lm_eval_bias.data.null_bands import Family, band, families
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.table import number_cell, number_text


class Tested(NamedTuple):
    """A number that answers a question, beside its null value and what models without meaning have.

    excluded: whether its interval does not contain the null value. evidence: whether it lies
    outside of the null band, too. distance: signed, over the interval's length on the side of the
    null value.
    """

    run: Run
    metric: Metric
    number: Number
    families: Sequence[Family]
    excluded: bool
    evidence: bool
    distance: float

    @property
    def few(self) -> bool:
        """Whether it rests on too few clusters, as far as the run says."""
        return self.number.clusters is not None and self.number.clusters < FEWEST_CLUSTERS


def tested(runs: Iterable[Run]) -> list[Tested]:
    """The primary numbers that test a question and have an interval."""
    tests = []
    for run in runs:
        for metric, number in run.primaries:
            null = metric.null_value
            if metric.question is None or null is None:
                continue
            if not number.low < number.high or isnan(number.value):
                continue
            away = number.value - null
            arm = number.value - number.low if away >= 0 else number.high - number.value
            distance = away / arm if arm > 0 and isfinite(arm) else 0.0
            excluded = metric.excluded(number.low, number.high)
            of = families(run.task, metric.name, run.options)
            low, high = band(of) or (null, null)
            outside = number.low > high or number.high < low
            tests.append(Tested(run, metric, number, of, excluded, excluded and outside, distance))
    return tests


def surest(tests: Iterable[Tested]) -> list[Tested]:
    """The tests that are evidence, surest first; runs with a warning and few clusters last."""
    return sorted(
        (test for test in tests if test.evidence),
        key=lambda test: (test.few, bool(test.run.warnings), -abs(test.distance)),
    )


def sentences(tests: Sequence[Tested], named: bool = False, strongest: bool = True) -> list[str]:
    """The finding of a model, or of several (named). strongest: with the surest test."""
    if not tests:
        return ["No test: no number with an interval answers a question of its task."]
    evidence, total = surest(tests), len(tests)
    result = [
        f"In {len(evidence)} of {total} test{'s' * (total != 1)} the 95 % interval lies outside of "
        "the value without bias and of what models without meaning have."
    ]
    inside = sum(test.excluded for test in tests) - len(evidence)
    if inside:
        result.append(
            f"{inside} more exclude{'s' * (inside == 1)} the value without bias, but models "
            "without meaning have such numbers too."
        )
    if total > 1:
        result.append(
            f"By chance alone at most about {total / 20:.1f} of {total} would, if no number were "
            "biased."
        )
    if evidence and strongest:
        result.append(f"Strongest evidence: {described(evidence[0], named)}.")
    if not evidence:
        result.append("That is no proof of no bias: the intervals say how large it may still be.")
    few = sum(test.few for test in tests)
    if few:
        result.append(
            f"{few} of {total} rest{'s' * (few == 1)} on fewer than {FEWEST_CLUSTERS} clusters "
            "(templates, themes, events), where intervals are too short."
        )
    for unknown, what, then in (
        (
            sum(test.number.clusters is None for test in tests),
            "The number of clusters is unknown",
            "so some intervals may be too short",
        ),
        (
            sum(not test.families for test in tests),
            "What models without meaning have is unknown",
            "so the value without bias alone counts",
        ),
    ):
        if unknown:
            result.append(f"{what} for {unknown} of {total}, {then}.")
    warned = sum(bool(test.run.warnings) for test in tests)
    if warned and total == 1:
        result.append("It comes from a run with a warning.")
    elif warned:
        which = "All" if warned == total else f"{warned} of the"
        come = "comes from a run" if warned == 1 else "come from runs"
        result.append(f"{which} {total} {come} with a warning.")
    return result


def scale(
    numbers: Iterable[Number], metric: Metric, families: Sequence[Family]
) -> Callable[[float], float]:
    """A value -> its place in a picture of a test, from 0 to 100."""
    ends = [end for number in numbers for end in (number.low, number.high)]
    ends += [metric.null_value or 0.0, *(band(families) or ())]
    low, high = (least(filter(isfinite, ends)) for least in (min, max))
    return lambda x: round(3 + 94 * (min(max(x, low), high) - low) / ((high - low) or 1), 1)


def brief(tests: Sequence[Tested]) -> str:
    """The finding of one of several models, in a line."""
    if not tests:
        return "no test"
    evidence = surest(tests)
    parts = [f"{len(evidence)} of {len(tests)} test{'s' * (len(tests) != 1)}"]
    if evidence:
        parts.append(f"surest {described(evidence[0])}")
    return "; ".join(parts)


def described(test: Tested, named: bool = False) -> str:
    """A test in a line: its name, number, interval, null value and null band."""
    run, metric = test.run, test.metric
    who = f"{shortened(run.model)}, " if named else ""
    text = (
        f"{who}{shortened(run.task)}/{shortened(metric.name)} {with_unit(test.number, metric)}, "
        f"{'above' if test.distance > 0 else 'below'} {metric.null_value:g}"
    )
    ends = band(test.families)
    return text if ends is None else f"{text}; models without meaning: {band_text(ends, metric)}"


def band_text(ends: tuple[float, float], metric: Metric) -> str:
    """A null band: "-1.2 to 0.9"."""
    low, high = ends
    return f"{number_text(low, metric.unit, ends)} to {number_text(high, metric.unit, ends)}"


def with_unit(number: Number, metric: Metric) -> str:
    """A number with its unit and its interval: "3.0 points [1.0, 5.0]"."""
    cell = number_cell(number, metric.unit)
    unit = metric.unit if metric.unit in ("%", "points", "SD", "nats") else ""
    return " ".join(part for part in (cell.text, unit, cell.interval) if part)


RULE = (
    "A test is the number that answers a question of its task. It counts as evidence of bias if "
    "its 95 % interval contains neither the value without bias nor a value that models without "
    "meaning have: random weights, bags of words, echoes and other rules that know no group. What "
    "these have (95 % of each family of them) is the null band.",
    "Each question that a task asks has one test. All other numbers are descriptions: what the "
    "paper prints, what a model without bias may have too, and habits of answering.",
    "Strongest means surest, not largest: the distance from the value without bias, over the "
    "length of the interval on that side. Runs without a warning come first, and numbers on fewer "
    "than ten clusters last. Numbers of different units do not compare in size.",
    "Tests of one task often ask about the same answers, so they are not independent, and none is "
    "adjusted for the others.",
)
