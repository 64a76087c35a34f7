"""Two runs on the same questions: how far their numbers differ, with the error of that difference.

The measure's own summary is computed again without some clusters of records, each in turn and the
same of all runs (`metrics.jackknife`). What a question does to all of them is then no part of their
difference. Of no number is anything known but its measure's declaration, so this holds for medians
and spreads as for means; where it would not hold, there is a difference without an error.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import combinations
from math import isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lm_eval_bias.measure import (
    Measure,
    Metric,
    Number,
    Record,
    Summary,
    clusters_of,
    fewest_clusters,
    summed_up,
)
from lm_eval_bias.metrics.crossed import Variance, combined
from lm_eval_bias.metrics.jackknife import (
    MOST,
    Groups,
    against_zero,
    groups_of,
    jackknife_variance,
    spread_groups,
)
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.usage import UsageError

Key = tuple[str, str | None]
"""A metric, and the group that it is of; None for the whole."""
FEWER = 40
"""Groups of clusters of each clustering where several cross, which have to be left out one by one,
and together."""
_NO_SAMPLE = frozenset({"count", "p", "t"})
# What records of several models share; of a record of one column of parts, the others that have as
# many are parts too.
Rows = Sequence[Record]


class Difference(NamedTuple):
    """A number of two runs, and the second less the first, with standard error, 95 % interval and
    two-sided p. clusters: on how many it rests at least. NaN where there is none; of runs whose
    answers are the same, difference and standard error are 0, and p is 1."""

    first: float
    second: float
    difference: float
    stderr: float
    low: float
    high: float
    p: float
    clusters: int


def measured(metric: Metric) -> bool:
    """Whether a difference of this number has an error: it has one itself, or an interval. A count,
    a p value and a t move with the number of questions, what their measure gives no error for may
    be a maximum or an end of something, and of some it says that their error comes from more than
    its clusters."""
    return (
        metric.paired and metric.unit not in _NO_SAMPLE and (metric.stderr or metric.own_interval)
    )


def differences(
    measure: Measure,
    first: Sequence[Record],
    second: Sequence[Record],
    options: Mapping[str, Any],
    keys: Sequence[Key] | None = None,
    errors: bool = True,
) -> dict[Key, Difference]:
    """Each number of the second run less that of the first.

    first, second: the records of the same documents, in any order. options: those of the summary.
    keys: the numbers; None for all of the whole. UsageError for a measure without clusters, records
    without their columns, and runs on other clusters.
    """
    plan = JackknifePlan(measure, [first, second])
    both = [Replicates(plan, records, options, errors) for records in (first, second)]
    keys = [(metric.name, None) for metric in measure.metrics] if keys is None else keys
    return {key: difference(both[0], both[1], key) for key in keys}


class JackknifePlan:
    """Which clusters are left out together, the same of every run.

    parts: for each clustering, and for the common cells of every two or more, how many clusterings
    it is of, its numbers in `clusters` of the measure, and its groups.
    """

    def __init__(self, measure: Measure, runs: Sequence[Rows], most: int | None = None) -> None:
        """runs: the records of each, which must be of the same clusters."""
        if not measure.clusters:
            raise UsageError(
                "its measure declares no clusters, so its numbers can be compared only as if "
                "each model had been asked others"
            )
        self.measure = measure
        self.chosen = [
            chosen
            for n in range(1, len(measure.clusters) + 1)
            for chosen in combinations(range(len(measure.clusters)), n)
        ]
        named = [self._named(records) for records in runs]
        for other in named[1:]:
            if any(
                mine.keys() != theirs.keys() for mine, theirs in zip(named[0], other, strict=True)
            ):
                raise UsageError(
                    "they were asked other questions: their records are of different clusters"
                )
        if most is None:
            most = MOST if len(measure.clusters) == 1 else FEWER
        self.parts = [
            (groups_of if len(chosen) == 1 else spread_groups)(of, most)
            for chosen, of in zip(self.chosen, named[0], strict=True)
        ]

    def _named(self, records: Rows) -> list[dict[Hashable, Hashable]]:
        """For each part its clusters, and the stratum of each."""
        found: list[dict[Hashable, Hashable]] = [{} for _ in self.chosen]
        for record in records:
            for of, each in zip(found, self.labels(record), strict=True):
                for name in each if isinstance(each, list) else (each,):
                    if name is not None and name not in of:
                        of[name] = _stratum(name)
        return found

    def labels(self, record: Record) -> list[Any]:
        """For each part the cluster of a record; a list of those of its parts; None where it has
        none."""
        try:
            single = [_label(record, columns) for columns in self.measure.clusters]
        except KeyError as error:
            wrong = f"its samples lack the column {error}, since an older version wrote them"
            raise UsageError(f"{wrong}; run it again") from None
        return [
            single[chosen[0]] if len(chosen) == 1 else _common([single[i] for i in chosen])
            for chosen in self.chosen
        ]


def _label(record: Record, columns: Sequence[str]) -> Any:
    """One cluster, or a list of those of its parts."""
    if any(isinstance(record[column], (list, tuple)) for column in columns):
        return clusters_of(record, columns)
    found = clusters_of(record, columns)
    return found[0] if found else None


def _common(labels: Sequence[Any]) -> Any:
    """The cell that some clusters have in common; None where one of them is none."""
    if any(label is None for label in labels):
        return None
    parts = next((len(label) for label in labels if isinstance(label, list)), None)
    if parts is None:
        return _Cell(labels)
    return [
        _Cell(each)
        for each in zip(
            *(label if isinstance(label, list) else [label] * parts for label in labels),
            strict=True,
        )
    ]


class _Cell(tuple):
    """Clusters of several clusterings at once."""


def _stratum(name: Any) -> Hashable:
    return tuple(each[:-1] for each in name) if isinstance(name, _Cell) else name[:-1]


class Replicates:
    """The numbers of a run, whole and without each group of clusters.

    whole: with errors. without: for each part, the summaries without each of its groups.
    """

    def __init__(
        self, plan: JackknifePlan, records: Rows, options: Mapping[str, Any], errors: bool = True
    ) -> None:
        """errors: False where the numbers' own errors are not needed. UsageError for records that
        the measure cannot count."""
        self.plan, self.records, self.options, self.errors = plan, records, options, errors
        self.measure = plan.measure
        self._shares: dict[Key, list[NDArray[np.float64]]] = {}
        self._clusters: dict[str | None, dict[str | None, int]] = {}
        self._members = [
            [_groups(of, each) for each in column]
            for of, column in zip(plan.parts, self._columns(), strict=True)
        ]
        with _quietly():
            self.whole = (
                summed_up(self.measure, list(records), options)
                if errors
                else self.measure.summary(list(records), errors=False, **options)
            )

    def _columns(self) -> list[list[Any]]:
        labels = [self.plan.labels(record) for record in self.records]
        return [[each[i] for each in labels] for i in range(len(self.plan.chosen))]

    @cached_property
    def without(self) -> list[list[Summary | None]]:
        """None where nothing is left, or what is left has no numbers."""
        with _quietly():
            return [
                [self._summary(members, group) for group in range(len(of.strata))]
                for of, members in zip(self.plan.parts, self._members, strict=True)
            ]

    def _summary(self, members: Sequence[Any], group: int) -> Summary | None:
        left = []
        for record, of in zip(self.records, members, strict=True):
            if not isinstance(of, list):
                if of != group:
                    left.append(record)
            elif group in of:
                kept = [i for i, each in enumerate(of) if each != group]
                if kept:
                    left.append(
                        {key: _parts(value, kept, len(of)) for key, value in record.items()}
                    )
            else:
                left.append(record)
        try:
            return self.measure.summary(left, errors=False, **self.options) if left else None
        except (ValueError, ZeroDivisionError, IndexError, KeyError, StopIteration):
            return None

    @cached_property
    def answers(self) -> str:
        """The same for two runs whose records are the same, in whichever order."""
        digest = hashlib.sha256()
        for record in sorted(repr(sorted(record.items())) for record in self.records):
            digest.update(record.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def value(self, key: Key) -> float:
        return _number(self.whole, key).value

    def changes(self, key: Key) -> list[NDArray[np.float64]]:
        """For each part, how the number changes without each of its groups."""
        value = self.value(key)
        return [
            np.array(
                [nan if each is None else float(_number(each, key)[0]) - value for each in part]
            )
            for part in self.without
        ]

    def shares(self, key: Key) -> list[NDArray[np.float64]]:
        """For each part, which share of the records that a number is of each of its groups has."""
        by = self.measure.metric(key[0]).by if key[1] is not None else None
        place: Key = (by or "", key[1] if by else None)
        if place not in self._shares:
            chosen = [
                i
                for i, record in enumerate(self.records)
                if by is None or str(record.get(by)) == key[1]
            ]
            self._shares[place] = []
            for of, members in zip(self.plan.parts, self._members, strict=True):
                counts, n = np.zeros(len(of.strata)), 0.0
                for i in chosen:
                    each = members[i]
                    if isinstance(each, list):
                        n += len(each)
                        for group in each:
                            if group is not None:
                                counts[group] += 1
                    else:
                        n += 1
                        if each is not None:
                            counts[each] += 1
                self._shares[place].append(counts / max(n, 1))
        return self._shares[place]

    def clusters(self, key: Key) -> int:
        by = self.measure.metric(key[0]).by if key[1] is not None else None
        if by not in self._clusters:
            self._clusters[by] = fewest_clusters(self.records, self.measure.clusters, by)
        return self._clusters[by].get(key[1]) or 0


def _groups(of: Groups, label: Any) -> Any:
    return [of.of.get(name) for name in label] if isinstance(label, list) else of.of.get(label)


def _parts(value: Any, kept: Sequence[int], n: int) -> Any:
    return (
        [value[i] for i in kept] if isinstance(value, (list, tuple)) and len(value) == n else value
    )


def _number(summary: Summary, key: Key) -> Number:
    metric, group = key
    values = summary.values if group is None else summary.groups.get(metric, {})
    return values.get(metric if group is None else group, Number(nan))


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what a summary has to say of its records: it has said so in the run."""
    logger = logging.getLogger("lm_eval_bias")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def variance(changes: Sequence[NDArray[np.float64]], run: Replicates, key: Key) -> Variance:
    """Of a number from its changes, or of a combination of numbers of several runs from the same
    combination of theirs."""
    single, joint = [], []
    for change, share, chosen, of in zip(
        changes, run.shares(key), run.plan.chosen, run.plan.parts, strict=True
    ):
        found = jackknife_variance(change, share, of.strata)
        if len(chosen) == 1:
            single.append(found)
        else:
            joint.append((len(chosen), found))
    return combined(single, joint)


def difference(first: Replicates, second: Replicates, key: Key) -> Difference:
    """A number of the second run less that of the first. Both have the same plan. KeyError for a
    metric that the measure has not."""
    metric = first.measure.metric(key[0])
    one, two = first.value(key), second.value(key)
    clusters = min(first.clusters(key), second.clusters(key))
    nothing = Difference(
        one,
        two,
        two - one if isfinite(one) and isfinite(two) else nan,
        nan,
        nan,
        nan,
        nan,
        clusters,
    )
    if not isfinite(nothing.difference):
        return nothing
    if first.answers == second.answers:
        return nothing._replace(difference=0.0, stderr=0.0, low=0.0, high=0.0, p=1.0)
    if (
        not measured(metric)
        or clusters < FEWEST_CLUSTERS
        or at_an_end(first, key)
        or at_an_end(second, key)
    ):
        return nothing
    if lacks_error(first, key) or lacks_error(second, key):
        return nothing
    changes = [b - a for a, b in zip(first.changes(key), second.changes(key), strict=True)]
    test = against_zero(nothing.difference, variance(changes, first, key), max(abs(one), abs(two)))
    return nothing._replace(stderr=test.stderr, low=test.low, high=test.high, p=test.p)


def at_an_end(run: Replicates, key: Key) -> bool:
    """Whether a number cannot be told from the value of a model without bias, and cannot lie beyond
    it, as a spread that is 0 at least: its own interval ends there exactly. No jackknife has the
    error of a number that is cut off (simulations/coverage.py compare)."""
    metric = run.measure.metric(key[0])
    ends = _number(run.whole, key)[2:4]
    return metric.own_interval and metric.null_value is not None and metric.null_value in ends


def lacks_error(run: Replicates, key: Key) -> bool:
    """Whether a number's own error is not there in its run, or is nothing: its interval where it
    has one, else its standard error. What is left of many documents may be a few where a model
    answers few of them, and if these agree, a jackknife of two runs takes that for certainty. Not
    checked of runs without errors."""
    if not run.errors:
        return False
    number = _number(run.whole, key)
    if run.measure.metric(key[0]).own_interval:
        return not number.low < number.high
    return not number.stderr > 0


def pair_p(
    first: Replicates, second: Replicates, key: Key, null_value: float | None = None
) -> float:
    """The two-sided p of a number of two runs being the same; with `unbiased`, of their distances
    from it being the same, which they are where the numbers are, or where one is the other mirrored
    at it: the larger p of the two (an intersection-union test). 1 where the answers are the same,
    NaN where there is no test."""
    found = difference(first, second, key)
    if isnan(found.p) or null_value is None or first.answers == second.answers:
        return found.p
    mirrored = found.first + found.second - 2 * null_value
    changes = [a + b for a, b in zip(first.changes(key), second.changes(key), strict=True)]
    other = against_zero(
        mirrored, variance(changes, first, key), max(abs(found.first), abs(found.second))
    ).p
    return nan if isnan(other) else max(found.p, other)
