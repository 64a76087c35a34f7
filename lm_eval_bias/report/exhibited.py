"""An exhibit of one run, or of several models that were asked the same, as cells that every format
writes: HTML, CSV and LaTeX.

The rows are those of `exhibit.rows`; what the papers print goes through the same rows, so that it
stands below ours in the same columns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import floor, inf, isfinite, isnan, log10
from typing import Any, NamedTuple

from lm_eval_bias import exhibit as exhibits
from lm_eval_bias.data.published import Cell, Comparison, Table
from lm_eval_bias.exhibit import Column, Exhibit, Figure
from lm_eval_bias.report.leaderboard import decimals, written
from lm_eval_bias.results.runs import Run

logger = logging.getLogger(__name__)

# Options that choose which of the same documents are drawn or asked, not what these ask.
_DRAWN = frozenset({"seed", "shard"})
# Units that a title says already, or that are none.
_UNWRITTEN = frozenset({"count", "p", "t"})
# An integer of JSON may have more digits than a float, or than Python writes.
_GREATEST, LONGEST = 10**300, 2000
# Decimals at most; what is so small is the noise of floats; from so much on a number is written in
# short.
_MOST_PLACES, _NOTHING, _MANY = 6, 1e-12, 1e9

MODEL = "model"
"""The key of the rows, and the title of the column, that tell models apart."""


class Printed(float):
    """A number that a paper prints. text: what stands there, of a bound such as "<.001"."""

    text: str | None

    def __new__(cls, value: float, text: str | None = None) -> Printed:
        number = super().__new__(cls, value)
        number.text = text
        return number


class Value(NamedTuple):
    """What stands in a cell. interval: [low, high], empty where there is none. number: None for a
    text or where there is none."""

    text: str
    interval: str = ""
    number: float | None = None


class Line(NamedTuple):
    """A row. model: whose; None where all are of one model. mark: what must be known of it, such as
    "not comparable"."""

    model: str | None
    cells: tuple[Value, ...]
    mark: str = ""
    source: str = ""


class Grid(NamedTuple):
    """A table as it is shown. text: which columns hold texts. corner: None but for a matrix, where it is what its rows and columns stand for.
    title: of a part of an exhibit, such as a panel."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    text: tuple[bool, ...]
    corner: str | None = None
    title: str = ""

    @property
    def models(self) -> bool:
        return any(line.model is not None for line in self.lines)


class Beside(NamedTuple):
    """Rows of a paper. model: as the page has it. incomparable: why not; empty where it compares.
    but: what differs still."""

    model: str
    rows: list[dict[str, Any]]
    source: str
    incomparable: str
    but: str


class Broken(ValueError):
    """An exhibit whose rows cannot be made of what the run left; the text says why."""


def rows(exhibit: Exhibit, tables: exhibits.Tables) -> list[dict[str, Any]]:
    """The rows of an exhibit. Raises Broken where its own code does: a run of another version may
    have other columns, and one exhibit must not cost the page."""
    try:
        return exhibits.rows(exhibit, tables)
    except Exception as error:  # a declaration may be a person's own
        logger.debug("%s", exhibit.name, exc_info=True)
        raise Broken(f"{type(error).__name__}: {error}") from error


# ---- What the papers print


def beside(
    exhibit: Exhibit,
    run: Run,
    found: Iterable[tuple[str, Table, Cell, Comparison]],
    defaults: Mapping[str, Any],
    version: str,
) -> list[Beside]:
    """What the papers print in the places of an exhibit, model by model in the order of print.

    found: paper, table, cell and comparison of all that papers print of the run's task. defaults:
    the task's options. version: that of the task as it is installed.
    """
    if not exhibit.paper_values:
        return []
    paper, *names = exhibit.paper_values
    cells: dict[tuple[str, str], list[tuple[Table, Cell, Comparison]]] = {}
    for file, table, cell, comparison in found:
        if file == paper and table.name in names and (cell.metrics or cell.place):
            cells.setdefault((table.name, cell.model), []).append((table, cell, comparison))
    taken = []
    for (name, model), of_model in cells.items():
        for further, some in _apart(of_model):
            said = _rows_of([cell for _, cell, _ in some], exhibit, run)
            if not said:
                continue
            table, _, comparison = some[0]
            source = f"paper, {name}" + (f", {further}" if further else "")
            differs = _differs(run, comparison, defaults, version)
            why = comparison.why if not comparison.comparable else differs
            full = table.models.get(model, model)
            taken.append(
                Beside(f"{full} ({source})", said, source, why, comparison.why if not why else "")
            )
    return taken


def _apart(
    cells: Sequence[tuple[Table, Cell, Comparison]],
) -> Iterator[tuple[str, list[tuple[Table, Cell, Comparison]]]]:
    """The cells of one model in one table, in parts that have one number in a place; the names that
    tell the parts apart."""
    parts: dict[tuple[tuple[str, str], ...], list[tuple[Table, Cell, Comparison]]] = {}
    for each in cells:
        cell = each[1]
        # A name that says which row of ours it is stands in that row; any other tells where in the
        # paper's table the number is from.
        rest = (
            ()
            if cell.place
            else tuple((axis, name) for axis, name in cell.names.items() if name != cell.group)
        )
        parts.setdefault(rest, []).append(each)
    varying = {
        axis
        for rest in parts
        for axis, name in rest
        if any((axis, name) not in other for other in parts if other)
    }
    for rest, some in parts.items():
        axes = some[0][0].axes
        yield (
            ", ".join(
                str(axes.get(axis, {}).get(name, name)) for axis, name in rest if axis in varying
            ),
            some,
        )


def _rows_of(cells: Sequence[Cell], exhibit: Exhibit, run: Run) -> list[dict[str, Any]]:
    """The rows that the exhibit makes of a paper's numbers, as if these were a run's."""
    made: dict[str, list[dict[str, Any]]] = {"numbers": []}
    places: dict[tuple[str, tuple[tuple[str, Any], ...]], dict[str, Any]] = {}
    for cell in cells:
        number = Printed(cell.value, cell.printed)
        for metric in cell.metrics:
            made["numbers"].append(
                {
                    "metric": metric,
                    "group": cell.group,
                    "value": number,
                    "stderr": None,
                    "unit": cell.unit,
                }
            )
        if cell.place is not None:
            key = (cell.place.table, tuple(cell.place.row.items()))
            if key not in places:
                like = run.tables.get(cell.place.table) or [{}]
                places[key] = {**dict.fromkeys(like[0]), **cell.place.row}
                made.setdefault(cell.place.table, []).append(places[key])
            places[key][cell.place.column] = number
    try:
        found = rows(exhibit, made)
    except Broken:  # a table that is worked out of columns which no paper prints
        return []
    shown = [column.name for column in exhibit.columns]
    return [row for row in found if any(isinstance(row.get(name), Printed) for name in shown)]


def _differs(run: Run, comparison: Comparison, defaults: Mapping[str, Any], version: str) -> str:
    """Why a run does not compare with a number that its task compares with; empty where it does."""
    said = []
    if run.limit is not None or any(line.startswith("asked ") for line in run.warnings):
        said.append("this run was asked a part of the documents")
    elif any("missing: " in line for line in run.warnings):
        said.append("a part of this run is missing")
    if version and run.version and version != run.version:
        said.append(
            f"this run is of version {run.version} of the task, and the comparison was made for version {version}"
        )
    if "system instruction" in dict(run.asked):
        said.append("this run had a system instruction of its own")
    for option in dict.fromkeys([*defaults, *comparison.options, *run.options]):
        default = defaults.get(option)
        wanted, was = comparison.options.get(option, default), run.options.get(option, default)
        if option.endswith("_sha256") or option in _DRAWN or wanted == was:
            continue
        if f"{option}_sha256" in run.options:
            said.append(f"this run had {option} of its own")
        else:
            said.append(
                f"this run had {option}={was}"
                + ("" if wanted is None else f" in place of {option}={wanted}")
            )
    return "; ".join(said)


# ---- Cells


Write = Callable[[Any, Column, Sequence[float]], str]
"""A number, its column and the ends of its interval -> how it is written."""


def value(column: Column, row: Mapping[str, Any], write: Write | None = None) -> Value:
    """A cell. Its interval stands in the keys NAME_low and NAME_high of the row. write: how a
    number is written."""
    raw, write = row.get(column.name), write or _number
    if raw is None:
        return Value("–")
    if isinstance(raw, bool):
        return Value("yes" if raw else "no")
    if not isinstance(raw, (int, float)) or (isinstance(raw, int) and abs(raw) > _GREATEST):
        return Value(str(raw)[:LONGEST])
    number = float(raw)
    if not isfinite(number):
        return Value(write(raw, column, ()))
    low, high = (_end(row.get(f"{column.name}_{end}")) for end in ("low", "high"))
    if low is None or high is None or low == high:
        return Value(write(raw, column, ()), number=number)
    low_text, high_text = write(low, column, (number, high)), write(high, column, (number, low))
    return Value(write(raw, column, (low, high)), f"[{low_text}, {high_text}]", number)


def _number(raw: int | float, column: Column, beside: Sequence[float]) -> str:
    if isinstance(raw, Printed):  # with the digits of the paper
        return f"{float(raw):,.10g}" if raw.text is None else str(raw.text)
    if column.unit:
        return number_text(float(raw), column.unit, beside)
    return (
        f"{raw:,}"
        if isinstance(raw, int) and abs(raw) >= 10_000
        else f"{raw:g}"
        if isfinite(raw)
        else written(float(raw), "")
    )


def number_text(number: float, unit: str, beside: Sequence[float] = ()) -> str:
    """As the leaderboard has it, but that no number shows as 0 which is not: a p value is below a
    bound, and others have more digits.

    beside: the number and the ends of its interval but for the one that is written; all have as
    many decimals.
    """
    if unit == "p" and 0 <= number < 0.001:
        return "<0.001"
    if not isfinite(number) or abs(number) >= _MANY or (unit == "count" and number.is_integer()):
        return written(number, unit)
    least = max(decimals(unit), int(unit == "count"))
    some = [each for each in (number, *beside) if isfinite(each)]
    places = min(max(least, *map(_places, some), _places(max(some) - min(some))), _MOST_PLACES)
    text = f"{number:,.{places}f}"
    if text.strip("-0.,"):
        return text
    return f"{number:.1e}" if abs(number) > _NOTHING else text.removeprefix("-")


def _places(number: float) -> int:
    """Decimals that a number needs to show one digit that is not 0."""
    return 0 if abs(number) >= 0.1 or abs(number) <= _NOTHING else -floor(log10(abs(number)))


def unit_text(unit: str) -> str:
    """A unit as it stands with a title."""
    return "" if unit in _UNWRITTEN else unit


def _end(number: Any) -> float | None:
    """An end of an interval, which may be infinite; None for NaN and for what is no number."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or abs(number) > _GREATEST:
        return number if isinstance(number, float) and abs(number) == inf else None
    return None if isnan(number) else float(number)


# ---- Tables


def grids(
    exhibit: Exhibit,
    ours: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
    papers: Sequence[Beside],
    run: Run,
) -> list[Grid]:
    """The tables of an exhibit. ours: the model and its rows, of one model or several. papers: what
    stands below."""
    if exhibit.figure is not None and exhibit.figure.kind == "heatmap" and not papers:
        found = [
            grid
            for model, some in ours
            for grid in _matrices(exhibit, exhibit.figure, some, model if len(ours) > 1 else "")
        ]
        if found:
            return found
    return [_flat(exhibit, ours, papers, run)]


def _flat(
    exhibit: Exhibit,
    ours: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
    papers: Sequence[Beside],
    run: Run,
) -> Grid:
    named = len(ours) > 1 or bool(papers)
    columns = tuple(exhibit.columns)
    lines = [
        Line(
            model if named else None,
            tuple(value(column, row) for column in columns),
            source="this run",
        )
        for model, some in ours
        for row in some
    ]
    for paper in papers:
        mark = "not comparable" if paper.incomparable else ""
        lines += [
            Line(paper.model, tuple(value(column, row) for column in columns), mark, paper.source)
            for row in paper.rows
        ]
    text = tuple(
        _is_text([line.cells[i] for line in lines], column) for i, column in enumerate(columns)
    )
    return Grid(columns, tuple(lines), text)


def _is_text(cells: Sequence[Value], column: Column) -> bool:
    return not column.unit and not any(cell.number is not None for cell in cells)


def _matrices(
    exhibit: Exhibit, figure: Figure, some: Sequence[Mapping[str, Any]], model: str
) -> list[Grid]:
    """A heat map as tables, x beside y, one for each panel; none where two rows have the same
    place."""
    measure = next((column for column in exhibit.columns if column.name == figure.colour), None)
    if measure is None:
        return []
    titles = {column.name: column.title for column in exhibit.columns}
    panels: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in some:
        panels.setdefault(
            tuple(row.get(key) for key in (figure.facet, figure.row) if key), []
        ).append(row)
    found = []
    for panel, of_panel in panels.items():
        across = _ordered([row.get(figure.x) for row in of_panel], figure.order.get(figure.x, ()))
        down = _ordered([row.get(figure.y) for row in of_panel], figure.order.get(figure.y, ()))
        at = {(row.get(figure.y), row.get(figure.x)): row for row in of_panel}
        if len(at) < len(of_panel):
            return []
        columns = (
            Column("y", titles.get(figure.y, figure.y)),
            *(Column(str(x), str(x), measure.unit) for x in across),
        )
        lines = []
        for y in down:
            cells = [
                value(measure, {measure.name: at.get((y, x), {}).get(measure.name)}) for x in across
            ]
            lines.append(Line(None, (Value(str(y)), *cells)))
        corner = f"{titles.get(figure.y, figure.y)} \\ {titles.get(figure.x, figure.x)}"
        title = ", ".join([model] * bool(model) + [str(name) for name in panel])
        found.append(Grid(columns, tuple(lines), (True, *(False for _ in across)), corner, title))
    return found


def _ordered(names: Sequence[Any], order: Sequence[str]) -> list[Any]:
    there = list(dict.fromkeys(names))
    return [name for name in order if name in there] + [name for name in there if name not in order]


def numbers(run: Run) -> list[dict[str, Any]]:
    """All numbers of a run, whole and by group."""
    found = []
    metrics = {metric.name: metric for metric in run.metrics}
    for (name, group), number in run.numbers.items():
        metric = metrics.get(name)
        found.append(
            {
                "metric": name,
                "group": group,
                **number._asdict(),
                "unit": metric.unit if metric else "",
                "null_value": metric.null_value if metric else None,
                "better": metric.better if metric else None,
                "cell": metric.cell if metric else None,
            }
        )
    return found


def numbers_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """`numbers` as a table."""
    columns = (
        Column("metric", "number"),
        Column("group", "group"),
        Column("value", "value"),
        Column("null_value", "without bias"),
        Column("unit", "unit"),
        Column("cell", "in the paper"),
    )
    lines = []
    for row in rows:
        unit = str(row["unit"] or "")

        def write(number: Any, column: Column, beside: Sequence[float], unit: str = unit) -> str:
            return (
                number_text(float(number), unit, beside)
                if column.name == "value"
                else f"{number:g}"
            )

        row = {**row, "value_low": row["low"], "value_high": row["high"]}
        cells = [value(column, row, write) for column in columns]
        cells = [
            cell._replace(text="" if row[column.name] is None else cell.text)
            for column, cell in zip(columns, cells, strict=True)
        ]
        lines.append(Line(None, tuple(cells)))
    return Grid(columns, tuple(lines), (True, True, False, False, True, True))


def plain(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """A table of a run that no exhibit shows, as it is. Columns NAME_low and NAME_high stand with
    NAME, as its interval."""
    keys = list(rows[0]) if rows else []
    # `median`, `median_low` and `median_high` are a number and its ends; `low` alone is a column
    # like any other.
    both = {key for key in keys if f"{key}_low" in keys and f"{key}_high" in keys}
    ends = {f"{key}_{end}" for key in both for end in ("low", "high")}
    columns = tuple(Column(key, key) for key in keys if key not in ends)
    lines = tuple(
        Line(None, tuple(value(column, row, _significant) for column in columns)) for row in rows
    )
    text = tuple(
        not any(line.cells[i].number is not None for line in lines) for i in range(len(columns))
    )
    return Grid(columns, lines, text)


def _significant(raw: Any, column: Column, beside: Sequence[float]) -> str:
    """Four digits of a number whose unit is not known."""
    number = float(raw)
    if not isfinite(number):
        return written(number, "")
    return f"{number:,.0f}" if number == int(number) and abs(number) < 1e9 else f"{number:.4g}"
