"""Two runs on the same questions: how far their numbers differ, with the error of that difference.

The measure's own summary is computed again without some clusters of records, the same of all runs
(`metrics.jackknife`).
"""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, cached_property
from itertools import combinations
from math import isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lm_eval_bias.measure import (
    Counted,
    Measure,
    Metric,
    Number,
    Record,
    Replicate,
    Summary,
    clusters_of,
    fewest_clusters,
    quietly,
    summed_up,
    without_unseen,
)
from lm_eval_bias.metrics.crossed import Variance, combined
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS, ROUNDING
from lm_eval_bias.metrics.jackknife import (
    Test,
    against_zero,
    groups_of,
    jackknife_variance,
    sign_flip_p,
    spread_groups,
)
from lm_eval_bias.results.runs import Key, Run, different
from lm_eval_bias.results.samples import Answers
from lm_eval_bias.usage import WORDING, Options, UsageError

_NO_SAMPLE = frozenset({"count", "p", "t"})
Rows = Sequence[Record]
Reader = Callable[[Run], Answers | None]
"""A run -> what its samples hold; None for a task that is not known."""
JACKKNIFE, SIGN_FLIP = "jackknife", "sign-flip"
FEWEST_FLIPPED = 6
"""Effective clusters of which signs can be flipped: all of five agree by chance in 2 of 32."""


class Difference(NamedTuple):
    """A number of two runs, and the second less the first with its standard error, 95 % interval
    and two-sided p; of equal answers 0 and p 1. clusters: on how many it rests at least. why: why
    there is no test; empty where there is one. test: `JACKKNIFE`, or `SIGN_FLIP` of six to nine
    clusters, without error and interval."""

    first: float
    second: float
    difference: float
    stderr: float
    low: float
    high: float
    p: float
    clusters: int
    why: str = ""
    test: str = ""

    @property
    def number(self) -> Number:
        """The difference alone."""
        return Number(*self[2:6], self.clusters)


def measured(metric: Metric) -> bool:
    """Whether a difference of this number has an error."""
    return (
        metric.paired and metric.unit not in _NO_SAMPLE and (metric.stderr or metric.own_interval)
    )


def differences(
    measure: Measure,
    first: Sequence[Record],
    second: Sequence[Record],
    options: Options,
    keys: Sequence[Key] | None = None,
) -> dict[Key, Difference]:
    """Each number of the second run less that of the first. first, second: the records of the same
    documents, in any order. keys: the numbers; None for all of the whole."""
    plan = JackknifePlan(measure, [first, second])
    runs = [Replicates(plan, records, options) for records in (first, second)]
    keys = [(metric.name, None) for metric in measure.metrics] if keys is None else keys
    return {key: difference(runs[0], runs[1], key) for key in keys}


class JackknifePlan:
    """Which clusters are left out together, the same of every run. chosen: each clustering, and
    every two or more of them. parts: the groups of clusters, or of common cells, of each. step: is
    told of each summary of a run, as a share of all of its."""

    step: Callable[[float], object] = float

    def __init__(self, measure: Measure, runs: Sequence[Rows]) -> None:
        """runs: the records of each, which must be of the same clusters."""
        if not measure.clusters:
            raise UsageError(
                "the measure declares no clusters, so a paired comparison is impossible"
            )
        self.measure, self.runs = measure, runs
        count = range(len(measure.clusters))
        self.chosen = [of for n in count for of in combinations(count, n + 1)]
        self._counted: list[Any] = []
        named, *others = (self._named(records) for records in runs)
        if any(
            mine.keys() != theirs.keys()
            for other in others
            for mine, theirs in zip(named, other, strict=True)
        ):
            raise UsageError("the runs have different clusters, so they cannot be paired")
        self.parts = [
            (groups_of if len(chosen) == 1 else spread_groups)(of)
            for chosen, of in zip(self.chosen, named, strict=True)
        ]

    def counted(self, records: Rows, options: Options) -> Mapping[Key, Replicate] | None:
        """The replicates of a run of a measure of units and values."""
        if not isinstance(self.measure.summary, Counted):
            return None
        if not self._counted:
            with quietly():
                self._counted = self.measure.summary.replicated(self.runs, options)
        self.step(1.0)
        return next(of for run, of in zip(self.runs, self._counted, strict=True) if run is records)

    def _named(self, records: Rows) -> list[dict[Hashable, Hashable]]:
        named: list[dict[Hashable, Hashable]] = [{} for _ in self.chosen]
        for record in records:
            for of, label in zip(named, self.labels(record), strict=True):
                for name in label if isinstance(label, list) else [label]:
                    if name is not None:
                        of[name] = _stratum(name)
        return named

    def labels(self, record: Record) -> list[Any]:
        """For each part the cluster of a record, or a list of those of its parts."""
        single = [_label(record, columns) for columns in self.measure.clusters]
        return [
            single[chosen[0]] if len(chosen) == 1 else _common([single[i] for i in chosen])
            for chosen in self.chosen
        ]


def _label(record: Record, columns: Sequence[str]) -> Any:
    clusters = clusters_of(record, columns)
    if any(isinstance(record[column], (list, tuple)) for column in columns):
        return clusters
    return clusters[0] if clusters else None


def _common(labels: Sequence[Any]) -> Any:
    if any(label is None for label in labels):
        return None
    parts = next((len(label) for label in labels if isinstance(label, list)), None)
    if parts is None:
        return _Cell(labels)
    lists = (label if isinstance(label, list) else [label] * parts for label in labels)
    return [_Cell(cell) for cell in zip(*lists, strict=True)]


class _Cell(tuple):
    """Clusters of several clusterings at once."""


def _stratum(name: Any) -> Hashable:
    return tuple(of[:-1] for of in name) if isinstance(name, _Cell) else name[:-1]


class Replicates:
    """The numbers of a run: `whole`, with errors, and `without` each group of clusters."""

    def __init__(self, plan: JackknifePlan, records: Rows, options: Options) -> None:
        self.plan, self.records = plan, records
        self.options = {key: value for key, value in options.items() if key != WORDING}
        self.measure = plan.measure
        self._fewest = cache(lambda by: fewest_clusters(records, self.measure.clusters, by))
        self.shares = cache(self._shares)
        with quietly():
            self.whole = summed_up(self.measure, list(records), options)

    @cached_property
    def counted(self) -> Mapping[Key, Replicate] | None:
        return self.plan.counted(self.records, self.options)

    def _changes(self, key: Key) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        sample, value, n = (self.counted or {})[key]
        with np.errstate(invalid="ignore"):
            return [(change[:, 0], share[:, 0]) for change, share in sample.changes(value, n)]

    @cached_property
    def _members(self) -> list[list[Any]]:
        labels = [self.plan.labels(record) for record in self.records]
        return [
            [
                [groups.of.get(name) for name in label[i]]
                if isinstance(label[i], list)
                else groups.of.get(label[i])
                for label in labels
            ]
            for i, groups in enumerate(self.plan.parts)
        ]

    @cached_property
    def _other(self) -> Summary:
        others = without_unseen(self.measure, self.records, self.options, errors=False)
        return others or self.whole

    @cached_property
    def without(self) -> list[list[Summary | None]]:
        """For each part, the summaries without each of its groups; None where there is none."""
        with quietly():
            return [
                [self._summary(members, group) for group in range(len(of.strata))]
                for of, members in zip(self.plan.parts, self._members, strict=True)
            ]

    def _summary(self, members: Sequence[Any], group: int) -> Summary | None:
        self.plan.step(1 / sum(len(of.strata) for of in self.plan.parts))
        left = []
        for record, of in zip(self.records, members, strict=True):
            if not isinstance(of, list) or group not in of:
                if of != group:
                    left.append(record)
            elif kept := [i for i, other in enumerate(of) if other != group]:
                left.append({key: _parts(value, kept, len(of)) for key, value in record.items()})
        try:
            return self.measure.summary(left, errors=False, **self.options) if left else None
        except (ValueError, ZeroDivisionError, IndexError, KeyError, StopIteration):
            return None

    @cached_property
    def answers(self) -> str:
        """The same for equal records, in whichever order."""
        digest = hashlib.sha256()
        for record in sorted(repr(sorted(record.items())) for record in self.records):
            digest.update(record.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def number(self, key: Key) -> Number:
        return self.whole.number(key)

    def ends(self, key: Key) -> set[float]:
        """The number, and what it would be if unseen answers had no probability."""
        return {self.number(key).value, self._other.number(key).value}

    def changes(self, key: Key) -> list[NDArray[np.float64]]:
        """For each part, how the number changes without each of its groups."""
        if self.counted:
            return [change for change, _ in self._changes(key)]
        value = self.number(key).value
        return [
            np.array([nan if of is None else of.number(key).value - value for of in part])
            for part in self.without
        ]

    def _shares(self, key: Key) -> list[NDArray[np.float64]]:
        if self.counted:
            return [share for _, share in self._changes(key)]
        by = self._by(key)
        chosen = [
            i for i, record in enumerate(self.records) if not by or str(record.get(by)) == key[1]
        ]
        shares = []
        for of, members in zip(self.plan.parts, self._members, strict=True):
            groups: list[Any] = []
            for i in chosen:
                groups += members[i] if isinstance(members[i], list) else [members[i]]
            known = [group for group in groups if group is not None]
            counts = np.bincount(np.array(known, dtype=int), minlength=len(of.strata))
            shares.append(counts / max(len(groups), 1))
        return shares

    def clusters(self, key: Key) -> int:
        if isinstance(self.measure.summary, Counted):
            return self.number(key).clusters or 0
        return self._fewest(self._by(key)).get(key[1]) or 0

    def _by(self, key: Key) -> str | None:
        """The column whose values are the groups of a number; None of the whole."""
        return None if key[1] is None else self.measure.metric(key[0]).by


def replicated(answers: Sequence[Answers], documents: Sequence[str]) -> list[Replicates]:
    """The numbers of runs on the same documents. The records of all stand in one order. UsageError
    for other options."""
    first, *others = answers
    for other in others:
        if changed := {key for key, *_ in different(first.options, other.options)} - {WORDING}:
            raise UsageError(f"other options: {', '.join(sorted(changed))}")
    records = [
        [record for name in documents for record in of.documents[name].records] for of in answers
    ]
    plan = JackknifePlan(first.measure, records)
    plan.step = first.step
    return [Replicates(plan, of, first.options) for of in records]


def _parts(value: Any, kept: Sequence[int], n: int) -> Any:
    is_list = isinstance(value, (list, tuple)) and len(value) == n
    return [value[i] for i in kept] if is_list else value


def variance(changes: Sequence[NDArray[np.float64]], run: Replicates, key: Key) -> Variance:
    """Of a number, or of a combination of those of several runs, from its changes."""
    if run.counted:
        sample = run.counted[key].sample
        pairs = zip(changes, run.shares(key), strict=True)
        of = sample.variance([(change[:, None], share[:, None]) for change, share in pairs])
        return Variance(float(of.value[0]), float(of.df[0]))
    single, joint = [], []
    for change, share, chosen, of in zip(
        changes, run.shares(key), run.plan.chosen, run.plan.parts, strict=True
    ):
        part = jackknife_variance(change, share, of.strata)
        if len(chosen) == 1:
            single.append(part)
        else:
            joint.append((len(chosen), part))
    return combined(single, joint)


def difference(first: Replicates, second: Replicates, key: Key) -> Difference:
    """A number of the second run less that of the first. Both have the same plan."""
    metric, runs = first.measure.metric(key[0]), {"the first": first, "the second": second}
    one, two = (run.number(key).value for run in runs.values())
    clusters = min(run.clusters(key) for run in runs.values())
    result = Difference(one, two, nan, nan, nan, nan, nan, clusters)
    if not (isfinite(one) and isfinite(two)):
        undefined = [which for which, run in runs.items() if not isfinite(run.number(key).value)]
        return result._replace(why=f"not defined in {' and '.join(undefined)}")
    if first.answers == second.answers:
        return Difference(one, two, 0.0, 0.0, 0.0, 0.0, 1.0, clusters, "the answers are the same")
    result = result._replace(difference=two - one)
    ends = [b - a for a in first.ends(key) for b in second.ends(key)]
    if not all(map(isfinite, ends)):
        return result._replace(why="not defined without the answers that a server did not show")
    if not measured(metric):
        return result._replace(why="no standard error from clusters exists for this number")
    scale = (metric.own_interval and metric.scale) or ()  # a number that may be cut off
    flips = len(first.plan.chosen) == 1 and not scale
    if clusters < (needed := FEWEST_FLIPPED if flips else FEWEST_CLUSTERS):
        return result._replace(why=f"{clusters} clusters, of which {needed} are needed")
    if clusters < FEWEST_CLUSTERS:
        a, b, share = (of[0] for of in (first.changes(key), second.changes(key), first.shares(key)))
        if not np.minimum(abs(a), abs(b))[share > 0].min() > ROUNDING:
            return result._replace(why="a number is the same, or undefined, without some cluster")
        return result._replace(p=sign_flip_p(_nearest(ends), b - a, share), test=SIGN_FLIP)
    if cut := [end for run in runs.values() for end in run.number(key)[2:4] if end in scale]:
        end = f"one interval is cut off at {cut[0]:g}"
        return result._replace(why=f"{end}, the end of the scale")
    if lacking := [which for which, run in runs.items() if _lacks_error(run, metric, key)]:
        few = f"too few answers are left in {' and '.join(lacking)} for an error, or all agree"
        return result._replace(why=few)
    changes = [b - a for a, b in zip(first.changes(key), second.changes(key), strict=True)]
    test = _against_zero(ends, variance(changes, first, key), max(abs(one), abs(two)))
    why = ""
    if isnan(test.p):
        why = "not defined without some of its clusters"
        if test.stderr == 0:
            why = "all clusters agree, so the standard error is 0 and no test is possible"
    return result._replace(**test._asdict(), why=why, test="" if why else JACKKNIFE)


def _nearest(ends: Sequence[float]) -> float:
    return 0.0 if min(ends) <= 0 <= max(ends) else min(ends, key=abs)


def _against_zero(ends: Sequence[float], variance: Variance, scale: float) -> Test:
    """`against_zero` of a number between these."""
    least, most = min(ends), max(ends)
    low, near, high = (against_zero(v, variance, scale) for v in (least, _nearest(ends), most))
    return Test(near.stderr, low.low, high.high, near.p)


def _lacks_error(run: Replicates, metric: Metric, key: Key) -> bool:
    """Whether a number has no interval of its own, or no standard error."""
    number = run.number(key)
    agree = number.stderr == 0
    return agree or not (number.low < number.high if metric.own_interval else number.stderr > 0)


def pair_p(
    first: Replicates, second: Replicates, key: Key, null_value: float | None = None
) -> float:
    """The two-sided p of a number of two runs being the same; NaN without a test. null_value: of
    their distances from it: the larger p of the numbers being the same and of one being the other
    mirrored (an intersection-union test)."""
    result = difference(first, second, key)
    if isnan(result.p) or null_value is None or first.answers == second.answers:
        return result.p
    mirrored = [a + b - 2 * null_value for a in first.ends(key) for b in second.ends(key)]
    changes = [a + b for a, b in zip(first.changes(key), second.changes(key), strict=True)]
    size = max(abs(result.first), abs(result.second))
    p = _against_zero(mirrored, variance(changes, first, key), size).p
    return nan if isnan(p) else max(result.p, p)
