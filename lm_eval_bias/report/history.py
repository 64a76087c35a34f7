"""Numbers of one model over time: what changed, and which left their control limits."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from math import isnan, nan
from typing import Any, NamedTuple

from lm_eval_bias import exhibit
from lm_eval_bias.measure import Metric, Number, estimate
from lm_eval_bias.metrics.control import ALPHA, limits
from lm_eval_bias.report import drawn
from lm_eval_bias.report.html import page
from lm_eval_bias.results import table
from lm_eval_bias.results.escape import markdown_cell, shortened
from lm_eval_bias.results.runs import Run, different
from lm_eval_bias.results.table import Cell, Table, csv_text, finite, number_cell, number_text

OUTSIDE = "outside its limits"
LEGEND = [
    "Limits are those of a self-starting control chart: from all points before it since items, "
    "version or template last changed, at least two. Of a series that does not change, and whose "
    f"points differ as normal draws do, {100 * ALPHA:g} % of the points lie outside: at least one "
    f"of 30 in {100 * (1 - (1 - ALPHA) ** 30):.0f} % of such series, one of 365 in "
    f"{100 * (1 - (1 - ALPHA) ** 365):.0f} %.",
    "Intervals are those of each run by itself; whether two runs differ is asked by "
    "`lm-eval-bias compare`.",
]


class Point(NamedTuple):
    """A number of a run. low, high: its control limits, NaN where there are none."""

    run: Run
    number: Number
    changed: Sequence[str]
    low: float
    high: float

    @property
    def outside(self) -> bool:
        return self.number.value < self.low or self.number.value > self.high

    @property
    def name(self) -> str:
        date = f"{self.run.date:%Y-%m-%d %H:%M}" if self.run.date else "without date"
        return f"{date} {self.run.model}"

    @property
    def marks(self) -> list[str]:
        return [*([OUTSIDE] if self.outside else []), *(f"other {key}" for key in self.changed)]


class Line(NamedTuple):
    """A number over time. ahead: the limits of the point to come."""

    task: str
    metric: Metric
    points: Sequence[Point]
    ahead: tuple[float, float]

    @property
    def name(self) -> str:
        return f"{self.task} {self.metric.name}"


def history(runs: Sequence[Run]) -> list[Line]:
    """A line for each primary number that has an interval, its points in the order of their
    dates."""
    of: dict[tuple[str, str], list[tuple[Run, Metric, Number]]] = {}
    for run in sorted(runs, key=lambda run: (run.date is None, run.date or datetime.min)):
        for metric, number in run.primaries:
            if metric.stderr or metric.own_interval:
                of.setdefault((run.task, metric.name), []).append((run, metric, number))
    return [_line(points) for points in of.values()]


def _line(given: Sequence[tuple[Run, Metric, Number]]) -> Line:
    begun = [0]  # of each stretch in which the numbers compare
    changes: list[list[str]] = [[]]
    for i in range(1, len(given)):
        (before, _, last), (run, _, number) = given[i - 1], given[i]
        changes.append(_changed(before, run))
        if set(changes[i]) - {"model"} or isnan(last.value) or isnan(number.value):
            begun.append(i)
    points: list[Point] = []
    ahead = (nan, nan)
    for start, end in pairwise([*begun, len(given)]):
        stretch = given[start:end]
        *ends, ahead = zip(*limits([number.value for *_, number in stretch]), strict=True)
        points += [
            Point(run, number, changed, *of)
            for (run, _, number), changed, of in zip(stretch, changes[start:end], ends, strict=True)
        ]
    run, metric, _ = given[-1]
    return Line(run.task, metric, points, ahead)


def _changed(before: Run, now: Run) -> list[str]:
    def asked(run: Run) -> dict[str, str]:
        return {"model": run.identity, "version": run.version, **run.asked}

    return [key for key, *_ in different(asked(before), asked(now))]


# ---- Writers


def tables(lines: Sequence[Line]) -> list[Table]:
    return [_table(line) for line in lines]


def _table(line: Line) -> Table:
    unit = line.metric.unit
    rows = [
        [
            Cell(shortened(point.name, 60)),
            number_cell(point.number, unit),
            Cell(_limits(point.low, point.high, unit)),
            Cell("; ".join(map(shortened, point.marks))),
        ]
        for point in line.points
    ]
    rows.append([Cell("the next"), Cell(""), Cell(_limits(*line.ahead, unit)), Cell("")])
    head = [
        Cell("when, and which model"),
        Cell("value", note=unit),
        Cell("limits"),
        Cell("what changed"),
    ]
    return Table(head, rows, frozenset({0, 3}), line.name)


def _limits(low: float, high: float, unit: str) -> str:
    if isnan(low):
        return ""
    ends = (low, high)
    return f"{number_text(low, unit, ends)} to {number_text(high, unit, ends)}"


def summary(lines: Sequence[Line]) -> str:
    out = [f"{line.name} ({p.name})" for line in lines for p in line.points if p.outside]
    points = sum(len(line.points) for line in lines)
    names = f": {'; '.join(map(shortened, out))}" if out else ""
    return f"{len(out)} of {points} points outside their limits{names}"


def csv_table(lines: Sequence[Line]) -> str:
    head = ("task", "metric", "unit", "date", "model", "value", "low", "high", "limit_low")
    rows: list[list[Any]] = [
        [
            *(line.task, line.metric.name, line.metric.unit),
            *(point.run.date.isoformat() if point.run.date else "", point.run.model),
            *map(finite, (*point.number[:1], *point.number[2:4], point.low, point.high)),
            "; ".join(point.marks),
        ]
        for line in lines
        for point in line.points
    ]
    return csv_text([*head, "limit_high", "marks"], rows)


def markdown(lines: Sequence[Line]) -> str:
    texts = ["# History", "", f"{summary(lines)}."]
    for of in tables(lines):
        texts += ["", f"## {markdown_cell(of.title)}", "", *table.markdown(of)]
    return "\n".join([*texts, *table.markdown_end({}, LEGEND)])


def html(lines: Sequence[Line]) -> str:
    return page(
        "history.html",
        lines=list(zip(lines, tables(lines), strict=True)),
        summary=summary(lines),
        legend=LEGEND,
        figures=[_figure(line, i) for i, line in enumerate(lines)] if drawn.installed() else None,
        missing=drawn.MISSING,
    )


def _figure(line: Line, number: int) -> str:
    """Values with intervals, the oldest first, over the limits of the point to come."""
    out = sum(point.outside for point in line.points)
    seen = f"{line.metric.name}: {out} of {len(line.points)} points outside their limits"
    return drawn.figure(
        exhibit.intervals("value", "when", reference=line.metric.null_value)._replace(
            label="mark", band=None if isnan(line.ahead[0]) else line.ahead
        ),
        [
            {
                "when": f"{i}. {shortened(point.name, 40)}",
                **estimate("value", point.number),
                "mark": "; ".join(point.marks),
            }
            for i, point in enumerate(line.points, 1)
        ],
        (exhibit.Column("value", line.metric.name, line.metric.unit),),
        name=f"h{number}",
        title=shortened(line.metric.description, 300),
        seen=seen,
        source=f"{line.task}. Band: the limits of the next point",
        n=None,
    )


WRITERS = {".html": html, ".md": markdown, ".csv": csv_table}
"""By the ending of the file."""
