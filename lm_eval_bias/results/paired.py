"""Two runs on the same questions: how far their numbers differ, with the error of that difference.

Each number is computed again without each cluster of the measure's sample, the same of all runs
(`metrics.errors`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.measure import (
    WITHOUT_UNSEEN,
    Measure,
    Metric,
    Number,
    Record,
    Replicate,
    clusters_of,
    explained,
    logging_disabled,
    summarise,
    without,
)
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS, ROUNDING, Floats, Variance, t_interval
from lm_eval_bias.metrics.student import two_sided
from lm_eval_bias.results.runs import Key, Run, different
from lm_eval_bias.results.samples import Answers
from lm_eval_bias.usage import WORDING, Options, UsageError

_NO_SAMPLE = frozenset({"count", "p", "t"})
Rows = Sequence[Record]
Reader = Callable[[Run], Answers | None]
"""A run -> what its samples hold; None for a task that is not known."""


class Difference(NamedTuple):
    """A number of two runs, and the second less the first with its standard error, 95 % interval
    and two-sided p; of equal answers 0 and p 1. clusters: on how many it rests at least. why: why
    there is no test; empty where there is one. total: the sum of both, with its error."""

    first: float
    second: float
    difference: float
    stderr: float
    low: float
    high: float
    p: float
    clusters: int
    why: str = ""
    total: Number = Number(nan)

    @property
    def number(self) -> Number:
        """The difference alone."""
        return Number(*self[2:6], self.clusters)


def measured(metric: Metric) -> bool:
    """Whether a difference of this number has an error."""
    return metric.paired and metric.stderr and metric.unit not in _NO_SAMPLE


class Replicates:
    """The numbers of a run: with errors in `summary`, and without each cluster in `replicates`."""

    def __init__(
        self, measure: Measure, records: Rows, options: Options, replicates: Mapping[Key, Replicate]
    ):
        self.measure, self.records, self.replicates = measure, records, replicates
        self.options = options
        self.summary = summarise(measure, list(records), options)
        others = without(WITHOUT_UNSEEN, measure, records, options, errors=False)
        self.others = others or self.summary

    @cached_property
    def answers(self) -> int:
        """The same for equal records, in whichever order."""
        return hash(tuple(sorted(repr(sorted(record.items())) for record in self.records)))

    def number(self, key: Key) -> Number:
        return self.summary.number(key)

    def ends(self, key: Key) -> set[float]:
        """The number, and what it would be if unseen answers had no probability."""
        return {self.number(key).value, self.others.number(key).value}

    def changes(self, key: Key) -> list[tuple[Floats, Floats]]:
        """As of `Sample.changes`."""
        sample, *numbers = self.replicates[key]
        with np.errstate(invalid="ignore"):
            return list(sample.changes(*numbers))

    def variance(self, other: "Replicates", sign: int, key: Key) -> Variance:
        """Of the number plus that of another run, times a sign."""
        pairs = zip(self.changes(key), other.changes(key), strict=True)
        changes = [(change + sign * theirs, share) for (change, share), (theirs, _) in pairs]
        return self.replicates[key].sample.variance(changes)


def paired(measure: Measure, runs: Sequence[Rows], options: Options) -> list[Replicates]:
    """The numbers of runs, whose records must be of the same clusters."""
    if not measure.clusters:
        raise UsageError("the measure declares no clusters, so a paired comparison is impossible")
    names = [
        {
            (columns, name)
            for columns in measure.clusters
            for record in records
            for name in clusters_of(record, columns)
        }
        for records in runs
    ]
    if any(own != names[0] for own in names):
        raise UsageError("the runs have different clusters, so they cannot be paired")
    own = {key: value for key, value in options.items() if key != WORDING}
    measure = measure._replace(counted=measure.counted._replace(tables=None))  # which take long
    with logging_disabled(), explained():
        return [
            Replicates(measure, records, own, replicate)
            for records, replicate in zip(runs, measure.replicated(runs, own), strict=True)
        ]


def replicated(answers: Sequence[Answers], documents: Sequence[str]) -> list[Replicates]:
    """The numbers of runs on the same documents. The records of all stand in one order. UsageError
    for other options."""
    first, *others = answers
    for other in others:
        if changed := {key for key, *_ in different(first.options, other.options)} - {WORDING}:
            raise UsageError(f"other options: {', '.join(sorted(changed))}")
    records = [
        [record for name in documents for record in answered.documents[name].records]
        for answered in answers
    ]
    return paired(first.measure, records, first.options)


def difference(first: Replicates, second: Replicates, key: Key) -> Difference:
    """A number of the second run less that of the first; both are of `paired`."""
    metric = first.measure.metric(key[0])
    numbers = {"the first": first.number(key), "the second": second.number(key)}
    one, two = (number.value for number in numbers.values())
    clusters = min(number.clusters or 0 for number in numbers.values())
    result = Difference(one, two, nan, nan, nan, nan, nan, clusters)
    if undefined := [which for which, number in numbers.items() if not isfinite(number.value)]:
        return result._replace(why=f"not defined in {' and '.join(undefined)}")
    if first.answers == second.answers:
        why, total = "the answers are the same", one + two
        both = Number(total, 0.0, total, total, clusters)
        return Difference(one, two, 0.0, 0.0, 0.0, 0.0, 1.0, clusters, why, both)
    result = result._replace(difference=two - one)
    ends = [b - a for a in first.ends(key) for b in second.ends(key)]
    if not all(map(isfinite, ends)):
        return result._replace(why="not defined without the answers that a server did not show")
    if not measured(metric):
        return result._replace(why="a difference of this number has no error")
    if clusters < FEWEST_CLUSTERS:
        return result._replace(why=f"{clusters} clusters, of which {FEWEST_CLUSTERS} are needed")
    for which, number in numbers.items():
        if isnan(number.stderr) and {*number[2:4]} & {*(metric.scale or ())}:
            why = f"the interval of {which} is cut off at the end of the scale"
            return result._replace(why=why)
        if number.stderr == 0 or not number.low < number.high:
            why = f"too few answers or placebos are left in {which} for an error, or all agree"
            return result._replace(why=why)
    of_sum = _sum_against_zero(first, second, key)
    if not isnan(of_sum["p"]):
        ends_of_sum = of_sum["low"], of_sum["high"]
        result = result._replace(total=Number(one + two, of_sum["stderr"], *ends_of_sum, clusters))
    test = _against_zero(ends, first.variance(second, -1, key), max(abs(one), abs(two)))
    if not isnan(test["p"]):
        return result._replace(**test)
    why = "not defined without some of its clusters"
    if test["stderr"] == 0:
        why = "all clusters agree, so the standard error is 0 and no test is possible"
    return result._replace(**test, why=why)


def _against_zero(ends: Sequence[float], variance: Variance, scale: float) -> dict[str, Any]:
    """Student's t of a number between `ends`, by the fields of `Difference`; NaN where its variance
    is.

    scale: of what the number is a difference of. Rounding alone is an error of 0, without interval
    and p.
    """
    stderr, df = np.sqrt(variance.value).item(), variance.df.item()
    if stderr <= ROUNDING * max(1.0, scale):
        return {"stderr": 0.0, "p": nan}
    low, high = t_interval([min(ends), max(ends)], stderr, df)
    nearest = 0.0 if min(ends) <= 0 <= max(ends) else min(ends, key=abs)
    p = float(two_sided(nearest / stderr, df))
    return {"stderr": stderr, "low": float(low[0]), "high": float(high[1]), "p": p}


def _sum_against_zero(
    first: Replicates, second: Replicates, key: Key, null_value: float = 0
) -> dict[str, Any]:
    """`_against_zero` of both numbers together, each less the null value."""
    sums = [a + b - 2 * null_value for a in first.ends(key) for b in second.ends(key)]
    size = max(abs(run.number(key).value) for run in (first, second))
    return _against_zero(sums, first.variance(second, 1, key), size)


def pair_p(
    first: Replicates, second: Replicates, key: Key, null_value: float | None = None
) -> float:
    """The two-sided p of a number of two runs being the same; NaN without a test. null_value: of
    their distances from it: the larger p of the numbers being the same and of one being the other
    mirrored (an intersection-union test)."""
    result = difference(first, second, key)
    if isnan(result.p) or null_value is None or first.answers == second.answers:
        return result.p
    p = _sum_against_zero(first, second, key, null_value)["p"]
    return nan if isnan(p) else max(result.p, p)
