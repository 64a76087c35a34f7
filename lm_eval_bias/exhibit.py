"""What a measure has to show: tables and figures, as a paper has them, of the tables that a
finished run left. Declared beside the numbers.

An exhibit says which rows it takes and what its columns are called; how that is drawn, written or
put on a page is the report's. Plain named tuples, nothing imported: a benchmark of one's own
declares its exhibits in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, NamedTuple

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""Name of a table -> its rows, as a results file has them: `numbers`, and those of the summary."""
# A plain dictionary: the harness copies a task's settings deeply, and with them its measure, which
# a mappingproxy does not allow.
NONE: Mapping[str, Any] = {}


class Column(NamedTuple):
    """A column that is shown. name: of the row's key; of `Numbers`, the metric. title: as it is
    headed. unit: one of `measure.UNITS`; "" for text. Its 95 % interval stands in the keys
    NAME_low and NAME_high of the row. stderr, interval: transitional, ignored."""

    name: str
    title: str
    unit: str = ""
    stderr: str | None = None
    interval: tuple[str, str] | None = None


class Numbers(NamedTuple):
    """The table `numbers`, turned: a row for each group, in a column for each metric.

    metrics: their names. by: the key under which a row has its group; None for one row, the whole.
    whole: what that row is called where it stands before the groups; None to leave it out. Beside
    METRIC a row has METRIC_stderr, METRIC_low and METRIC_high.
    """

    metrics: Sequence[str]
    by: str | None = None
    whole: str | None = None


class Rows(NamedTuple):
    """Rows of another table. where: column -> the value, or a tuple of the values, that a row must
    have."""

    table: str
    where: Mapping[str, Any] = NONE


class Figure(NamedTuple):
    """How rows are drawn. Every field but `kind` names a key of the rows, and None leaves it out.

    kind: `bars`, beside each other by colour; `stacked`, on each other by colour; `points`, with
    their intervals, y is the category; `lines`; `histogram`, of counted rows from x to `to`;
    `boxes`, of the keys in `five`; `heatmap`, x by y, colour is the number; `radar`, x is the axis
    and y the number; `scatter`, labelled. facet: a panel for each value; row: and a row of panels.
    low, high: ends of intervals. label: the text at a point. mask: true where a cell of a heat map
    is left blank. five: least, lower quartile, median, upper quartile, greatest. order: key -> the
    order of its values; otherwise as they come. domain: the ends of the number's scale; None for
    what there is. reference: the number of a model without bias, a line or the middle of the
    colours. model: where several models share a figure, what tells them apart; None where each has
    its own.
    """

    kind: Literal[
        "bars", "stacked", "points", "lines", "histogram", "boxes", "heatmap", "radar", "scatter"
    ]
    x: str
    y: str
    colour: str | None = None
    facet: str | None = None
    row: str | None = None
    to: str | None = None
    low: str | None = None
    high: str | None = None
    label: str | None = None
    mask: str | None = None
    five: tuple[str, str, str, str, str] | None = None
    order: Mapping[str, Sequence[str]] = NONE
    domain: tuple[float, float] | None = None
    reference: float | None = None
    model: Literal["x", "colour", "facet"] | None = "facet"


class Exhibit(NamedTuple):
    """A table, and the figure that is drawn of it if there is one.

    name: as the paper has it ("Table 4", "Figure 3"); of our own what it is about. caption: one
    line. source: where the rows are from; a function of the run's tables where neither `Numbers`
    nor `Rows` says it. then: what is still to be done to the rows. columns: what the table shows,
    in order. reads: one sentence, how to read it. silent: one sentence, what it does not show.
    needs: what a run lacks whose rows are none, as part of a sentence ("the option style=all").
    published: the paper, as `published.papers` has it, and the names of its tables whose cells
    stand beside ours.
    """

    name: str
    caption: str
    source: Numbers | Rows | Callable[[Tables], Sequence[Mapping[str, Any]]]
    columns: Sequence[Column]
    how_to_read: str
    caveat: str
    figure: Figure | None = None
    then: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None
    needs: str = ""
    paper_values: tuple[str, ...] = ()


def rows(exhibit: Exhibit, tables: Tables) -> list[dict[str, Any]]:
    """The rows of an exhibit; none where the run has not what it takes. A key that the run's
    version did not have is None."""
    source = exhibit.source
    if isinstance(source, Numbers):
        found = _turned(source, tables.get("numbers", ()))
    elif isinstance(source, Rows):
        found = [dict(row) for row in tables.get(source.table, ()) if _is(row, source.where)]
    else:
        found = [dict(row) for row in source(tables)]
    if exhibit.then is not None and found:
        found = exhibit.then(found)
    keys = [column.name for column in exhibit.columns]
    return [{**dict.fromkeys(keys), **row} for row in found]


def known(value: Any) -> float | None:
    """A finite number of a row, for `then`; None for what is undefined, and for a text that a file
    may have in its place."""
    return (
        value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
        else None
    )


def is_number(value: Any) -> bool:
    """Whether a cell holds a finite number."""
    return known(value) is not None


def _is(row: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    return all(
        row.get(key) in (wanted if isinstance(wanted, tuple) else (wanted,))
        for key, wanted in where.items()
    )


def _turned(source: Numbers, numbers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each group, the whole first; a column for each metric and its error and ends."""
    groups: dict[str | None, dict[str, Any]] = {}
    whole = source.whole
    if any(
        row["metric"] in source.metrics and row.get("group") == whole is not None for row in numbers
    ):
        whole = f"{whole} together"  # a person's own group has that name
    for row in numbers:
        group, name = row.get("group"), row["metric"]
        if name not in source.metrics:
            continue
        if (group is not None) if source.by is None else (group is None and whole is None):
            continue
        label = {} if source.by is None else {source.by: whole if group is None else group}
        cells = groups.setdefault(group, label)
        cells[name] = row.get("value")
        cells |= {f"{name}_{part}": row.get(part) for part in ("stderr", "low", "high")}
    return [row for _, row in sorted(groups.items(), key=lambda item: item[0] is not None)]
