"""The tables and figures of a report on a finished run, declared beside a measure's numbers."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, NamedTuple

Row = Mapping[str, Any]
Table = list[dict[str, Any]]
Tables = Mapping[str, Sequence[Row]]
"""Name of a table in a results file -> its rows: `numbers`, and those of the summary."""
Ends = tuple[float, float]
"""Of a scale, an axis or an interval."""

PARTS = ("printed", "stderr", "low", "high", "n")
"""What stands beside a number NAME, as NAME_PART."""


class Column(NamedTuple):
    """A column that is shown. name: the row's key; NAME_low and NAME_high hold its 95 % interval.
    title: its heading. unit: one of `measure.UNITS`; "" for text.
    """

    name: str
    title: str
    unit: str = ""


class Numbers(NamedTuple):
    """The table `numbers` with a row for each group and columns METRIC and METRIC_PART of `PARTS`.

    metrics: by default those of the exhibit's columns. by: the key of the group; None for one row,
    the whole. whole: the name of the whole's row, which comes first; None to leave it out.
    """

    metrics: Sequence[str] = ()
    by: str | None = None
    whole: str | None = None


class Rows(NamedTuple):
    """Rows of another table. where: column -> the value or values of the rows that are taken."""

    table: str
    where: Mapping[str, Any] = {}


class Figure(NamedTuple):
    """How rows are drawn.

    kind: `bars` and `stacked` by colour; `points` with intervals, y is the category; `histogram` of
    counts from x to `to`; `boxes` of the keys in `five`; `heatmap`, colour is the number; `scatter`
    with labels. facet: a panel for each value. low, high: interval. label: a point's text. mask:
    true leaves a cell of a heat map blank. five: least, quartiles, median between, greatest. order:
    key -> order of its values. domain: ends of the scale. reference: the null value; null: what it
    is. test: the metric whose whole and parts are shown, and whose verdict is the heading.
    model: what separates models that share a figure; None for a figure of its own for each.
    """

    kind: Literal["bars", "stacked", "points", "histogram", "boxes", "heatmap", "scatter"]
    x: str
    y: str
    colour: str | None = None
    facet: str | None = None
    to: str | None = None
    low: str | None = None
    high: str | None = None
    label: str | None = None
    mask: str | None = None
    five: tuple[str, str, str, str, str] | None = None
    order: Mapping[str, Sequence[str]] = {}
    domain: Ends | None = None
    reference: float | None = None
    null: str = "no bias"
    test: str = ""
    model: Literal["colour", "facet"] | None = "facet"


def intervals(x: str, y: str, facet: str | None = None, reference: float | None = None) -> Figure:
    """A number of each category y with its interval, models in colours."""
    low, high = f"{x}_low", f"{x}_high"
    return Figure(
        "points", x, y, facet=facet, low=low, high=high, reference=reference, model="colour"
    )


class Exhibit(NamedTuple):
    """A table, and its figure if there is one.

    name: as in the paper ("Table 4"), or what it is about. source: of the rows; a function of the
    run's tables where `Numbers` and `Rows` do not do. then: changes the rows. how_to_read, caveat
    (what it does not show): one sentence each. needs: what a run without rows lacks ("the option
    style=all"). paper_values: a paper of `data/paper_values.py`, and its tables that are shown
    beside ours.
    """

    name: str
    caption: str
    source: Numbers | Rows | Callable[[Tables], Sequence[Row]]
    columns: Sequence[Column]
    how_to_read: str
    caveat: str
    figure: Figure | None = None
    then: Callable[[Table], Table] | None = None
    needs: str = ""
    paper_values: tuple[str, ...] = ()

    @property
    def numbered(self) -> bool:
        """Whether its name is that of a part of the paper, and says nothing of what it shows."""
        return re.match(r"(Table|Figure|Section)s? ", self.name) is not None

    @property
    def topic(self) -> str:
        """What it shows, for a list or a heading."""
        return self.caption if self.numbered and self.caption else self.name

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics that are shown; none of an exhibit that takes no `Numbers`."""
        if not isinstance(self.source, Numbers):
            return ()
        names = [column.name for column in self.columns if column.name != self.source.by]
        return self.source.metrics or names


def rows(exhibit: Exhibit, tables: Tables) -> Table:
    """The rows of an exhibit; none where the run lacks what it takes. A missing column is None."""
    keys = [column.name for column in exhibit.columns]
    return [{**dict.fromkeys(keys), **row} for row in raw_rows(exhibit, tables)]


def raw_rows(exhibit: Exhibit, tables: Tables) -> Table:
    """The rows of an exhibit with the columns that the tables have."""
    source = exhibit.source
    if isinstance(source, Numbers):
        names = exhibit.metrics
        numbers = [row for row in tables.get("numbers", ()) if row["metric"] in names]
        shown = _pivoted(source, numbers)
    elif isinstance(source, Rows):
        shown = [dict(row) for row in tables.get(source.table, ()) if _is(row, source.where)]
    else:
        shown = [dict(row) for row in source(tables)]
    return exhibit.then(shown) if exhibit.then and shown else shown


def known(value: Any) -> float | None:
    """A finite number of a row; None for anything else, such as a text in an edited file."""
    return (
        value
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        else None
    )


def is_number(value: Any) -> bool:
    return known(value) is not None


def with_numbers(
    *keys: str, enough: Callable[[Iterable[bool]], bool] = all
) -> Callable[[Table], Table]:
    """For `Exhibit.then`: the rows with a number in all of these keys, or in any."""
    return lambda rows: [row for row in rows if enough(is_number(row.get(key)) for key in keys)]


def _is(row: Row, where: Row) -> bool:
    return all(
        row.get(key) in (wanted if isinstance(wanted, tuple) else (wanted,))
        for key, wanted in where.items()
    )


def _pivoted(source: Numbers, numbers: Sequence[Row]) -> Table:
    """A row for each group, the whole first; a column for each metric and its error and ends."""
    groups: dict[str | None, dict[str, Any]] = {}
    whole = source.whole
    if whole is not None and any(row.get("group") == whole for row in numbers):
        whole = f"{whole} together"  # a person's own group has that name
    for row in numbers:
        group, name = row.get("group"), row["metric"]
        if (group is not None) if source.by is None else (group is None and whole is None):
            continue
        label = {} if source.by is None else {source.by: whole if group is None else group}
        cells = groups.setdefault(group, label)
        cells[name] = row.get("value")
        cells |= {f"{name}_{part}": row[part] for part in PARTS if part in row}
    return [row for _, row in sorted(groups.items(), key=lambda item: item[0] is not None)]
