"""A measure: how answers become records, records a summary, and which numbers a summary holds. Each
number is declared here once.

From the declaration follow the rows of the harness's table with their arrows, the tables in the
task READMEs, the table `numbers` in the results file, and `lm-eval-bias tasks METRIC`. Plain named
tuples: a measure works on records whoever made them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, nan
from typing import Any, Literal, NamedTuple

from lm_eval_bias.exhibit import Exhibit
from lm_eval_bias.usage import UsageError

Record = dict[str, Any]
Value = tuple[float, float]
"""A number and its standard error; NaN where it does not exist."""

UNITS = {
    "%": "percent, from 0 to 100",
    "points": "percentage points, or points of the scale on which a model answers",
    "count": "a number of things",
    "share": "from 0 to 1, where the paper has it so",
    "score": "from -1 to 1, as in the paper",
    "SD": "standard deviations",
    "t": "Student's t",
    "p": "a p value, from 0 to 1",
    "nats": "differences of log-likelihoods",
}
RANGE: Mapping[str, tuple[float, float]] = {
    "%": (0, 100),
    "share": (0, 1),
    "score": (-1, 1),
    "p": (0, 1),
    "count": (0, inf),
}
"""The least and greatest value that a number in a unit may have; of the other units none are known.
"""
ROWS = 12
"""What a person reads at a glance: so many rows does a task have in the harness's table at most."""


class Metric(NamedTuple):
    """One number of a measure.

    unit: one of `UNITS`. says: one sentence, what it is. better: which way is better, None for a
    signed gap or a mere description. unbiased: its value for a model without bias, None where none
    says so. headline: whether it stands in the harness's table; the others stand in the table
    `numbers` of the results file. cell: the table or figure of the paper that it is a cell of; None
    if it is ours. stderr: whether it has a standard error. by: the column of the records whose
    values split it ("category"); a row for each value is shown as long as there is room. bounds:
    the metric whose 95 % interval it is an end of; None for any other. paired: whether the
    measure's clusters are all that its error comes from, so that the difference of two models on
    them has one. tests: whether its interval, if it excludes `unbiased`, says that a model is
    biased; not where another number tests the same.
    """

    name: str
    unit: str
    description: str
    better: Literal["lower", "higher"] | None = None
    null_value: float | None = None
    primary: bool = False
    cell: str | None = None
    stderr: bool = True
    by: str | None = None
    bounds: str | None = None
    paired: bool = True
    tests: bool = True

    @property
    def higher_is_better(self) -> bool | None:
        """As the harness has it."""
        return None if self.better is None else self.better == "higher"


def with_interval(metric: Metric) -> tuple[Metric, Metric, Metric]:
    """A metric and the two bounds of its 95 % interval, which stand in the table `numbers` alone
    and are split as it is."""
    low, high = (
        Metric(
            f"{metric.name}_{end}",
            metric.unit,
            f"{which} bound of the 95 % interval of {metric.name}.",
            stderr=False,
            by=metric.by,
            bounds=metric.name,
        )
        for end, which in (("low", "Lower"), ("high", "Upper"))
    )
    return metric, low, high


class Summary(NamedTuple):
    """What records amount to.

    values: metric -> (value, standard error). groups: metric -> value of its `by` column -> the
    same. tables: name -> the finer numbers, a list of flat rows with equal columns, values are
    numbers, texts, truth values or None.
    """

    values: Mapping[str, Value]
    groups: Mapping[str, Mapping[str, Value]] = {}
    tables: Mapping[str, list[dict[str, Any]]] = {}


class Measure(NamedTuple):
    """record: (document, results of its requests) -> plain data, with all that the summary needs.
    summary: (records, **options) -> Summary. metrics: its numbers. repeats: whether several answers
    to one document are several records. gathers: whether they are one, made by `record(document,
    all answers)`. With neither, a task with `repeats` is refused. exhibits: what a report shows of
    it. clusters: how records depend on each other, as the summary's standard errors take it: each
    is the columns whose values together name the cluster of a record, the last of them within what
    those before it name, from which it was drawn; several where they cross. A column may hold a
    list, with a value for each part of the record, such as its words: the parts are clustered then.
    A record whose last column is None is of no cluster. With them two models are compared on the
    same questions; without, as if each had been asked others."""

    record: Callable[[Mapping[str, Any], Sequence[Any]], Record]
    summary: Callable[..., Summary]
    metrics: Sequence[Metric]
    repeats: bool = False
    gathers: bool = False
    exhibits: Sequence[Exhibit] = ()
    clusters: Sequence[tuple[str, ...]] = ()

    def metric(self, name: str) -> Metric:
        """The metric of that name; KeyError if there is none."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(name)


def summed_up(measure: Measure, records: Sequence[Record], options: Mapping[str, Any]) -> Summary:
    """The summary of records that were read from files, where anything may stand. UsageError for
    what the measure cannot count."""
    try:
        return measure.summary(records, **options)
    except UsageError:
        raise
    except Exception as error:  # a measure trusts its own records, and says in its own way where it trips over others
        wrong = f"its samples are of another version or task, or were changed ({type(error).__name__}: {error})"
        raise UsageError(f"{wrong}; run it again") from error


class Row(NamedTuple):
    """A row of the harness's table: a metric, of one group if that is not None."""

    name: str
    metric: Metric
    group: str | None = None


def rows(metrics: Iterable[Metric], groups: Callable[[str], Iterable[str]]) -> list[Row]:
    """The rows of the harness's table.

    groups: the values of a column, in order. The groups of a metric are shown if all fit into
    `ROWS`.
    """
    primary = [metric for metric in metrics if metric.primary]
    shown = [Row(metric.name, metric) for metric in primary]
    for metric in primary:
        split = (
            [Row(f"{metric.name}_{slug(g)}", metric, g) for g in groups(metric.by)]
            if metric.by
            else []
        )
        if len(shown) + len(split) <= ROWS:
            shown += split
    return shown


def slug(label: str) -> str:
    """A label as part of a metric's name: "Good behaviour" -> "good_behaviour"."""
    return re.sub(r"\W+", "_", label).strip("_").lower()


def value(summary: Summary, row: Row) -> Value:
    """The number of a row; NaN if the summary lacks that group. KeyError for a metric that the
    summary never has."""
    if row.group is None:
        return summary.values[row.metric.name]
    return summary.groups.get(row.metric.name, {}).get(row.group, (nan, nan))


def numbers(
    measure: Measure, summary: Summary, records: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """All numbers of a summary as rows of one table, headline or not, whole and by group.

    records: those that were summed up; from them is `clusters`, how many clusters a number rests on
    at least, None where that is not known.
    """
    found_among: dict[str | None, dict[str | None, int | None]] = {}
    table = []
    for metric in measure.metrics:
        found: list[tuple[str | None, Value]] = [(None, summary.values[metric.name])]
        found += summary.groups.get(metric.name, {}).items()
        if metric.by not in found_among:
            found_among[metric.by] = fewest_clusters(records, measure.clusters, metric.by)
        clusters = found_among[metric.by]
        table += [
            {
                "metric": metric.name,
                "group": group,
                "value": number,
                "stderr": error if metric.stderr else None,
                "unit": metric.unit,
                "better": metric.better,
                "null_value": metric.null_value,
                "cell": metric.cell,
                "clusters": clusters.get(group),
            }
            for group, (number, error) in found
        ]
    return table


def clusters_of(record: Mapping[str, Any], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The clusters of a record in one of the clusterings of its measure: one, or that of each of
    its parts where a column holds a list; none if the last column is None. KeyError for a record
    without such a column, UsageError for one that has no names there."""
    values = [record[column] for column in columns]
    parts = next((len(value) for value in values if isinstance(value, (list, tuple))), None)
    if parts is None:
        try:
            hash(tuple(values))
        except TypeError:
            raise _no_names(columns) from None
        return [] if values[-1] is None else [tuple(values)]
    each = [value if isinstance(value, (list, tuple)) else [value] * parts for value in values]
    try:
        found = [name for name in zip(*each, strict=True) if name[-1] is not None]
        hash(tuple(found))
    except (TypeError, ValueError):
        raise _no_names(columns) from None
    return found


def _no_names(columns: Sequence[str]) -> UsageError:
    return UsageError(
        f"its samples name no clusters in {', '.join(columns)}, so they were changed; run it again"
    )


def fewest_clusters(
    records: Iterable[Mapping[str, Any]], clusters: Sequence[tuple[str, ...]], by: str | None = None
) -> dict[str | None, int | None]:
    """How many clusters the records are of, in that clustering that has fewest: under None of all
    records, under a value of the column `by` of those that have it. Empty where the measure
    declares no clusters, or records of an older version lack a column."""
    names: dict[Any, list[set[tuple[Any, ...]]]] = {None: [set() for _ in clusters]}
    try:
        for record in records:
            of = [names[None]]
            if by in record and record[by] is not None:
                of.append(names.setdefault(record[by], [set() for _ in clusters]))
            for i, columns in enumerate(clusters):
                found = clusters_of(record, columns)
                for each in of:
                    each[i].update(found)
    except KeyError:
        return {}
    return (
        {group: min(map(len, each)) for group, each in names.items()}
        if clusters and any(names[None])
        else {}
    )


def tables(
    measure: Measure, summary: Summary, records: Sequence[Mapping[str, Any]] = ()
) -> dict[str, list[dict[str, Any]]]:
    """`numbers` and the summary's own tables. records: those that were summed up.

    ValueError for a table that is none: rows of other columns, or values that are not flat."""
    result = {"numbers": numbers(measure, summary, records), **summary.tables}
    for name, table in result.items():
        for row in table:
            if list(row) != list(table[0]):
                raise ValueError(
                    f"table {name}: a row has the columns {list(row)}, the first one {list(table[0])}"
                )
            for column, cell in row.items():
                if not (cell is None or isinstance(cell, (str, bool, int, float))):
                    raise ValueError(
                        f"table {name}, column {column}: expected a number, a text or a truth value, found {cell!r}"
                    )
    return result


def first_seen(records: Iterable[Mapping[str, Any]], *columns: str) -> list[Any]:
    """The distinct values of a column, or tuples of several, in the order in which the records
    bring them."""
    if len(columns) == 1:
        return list(dict.fromkeys(record[columns[0]] for record in records))
    return list(dict.fromkeys(tuple(record[column] for column in columns) for record in records))


def estimate(name: str, pair: Sequence[float]) -> dict[str, float]:
    """A number and its standard error as two columns of a table."""
    return {name: float(pair[0]), f"{name}_stderr": float(pair[1])}


def unmeasured(number: float) -> Value:
    """A number that has no standard error."""
    return float(number), nan


def mean(values: Iterable[float | None]) -> float:
    """The mean of what is there; NaN if nothing is."""
    given = [v for v in values if v is not None]
    return sum(given) / len(given) if given else nan


def percentage(count: float, total: float) -> float:
    """100 count / total; NaN if there is nothing to take a share of."""
    return 100 * count / total if total else nan
