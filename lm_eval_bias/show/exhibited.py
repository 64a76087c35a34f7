"""The rows of an exhibit as tables, with what the papers print beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from math import isnan
from types import MappingProxyType
from typing import Any, NamedTuple

from lm_eval_bias import exhibit as exhibits
from lm_eval_bias.data.paper_values import Comparison, PaperCell, PaperTable
from lm_eval_bias.exhibit import Column, Exhibit, Row
from lm_eval_bias.results.runs import Run, as_float, number_of
from lm_eval_bias.results.table import (
    Cell,
    Table,
    ends_text,
    number_cell,
    number_text,
    texts,
    unit_text,
)
from lm_eval_bias.usage import Options

Rows = Sequence[Row]
Place = tuple[str, PaperTable, PaperCell, Comparison]
"""The file of a paper, a table and a cell of it, and how the cell compares with a task."""

# Options that choose which of the same documents are drawn or asked, not what these ask.
_DRAWN = frozenset({"seed", "shard"})
_WITHOUT_EFFECT = {
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "repetition_penalty": 1,
    "temperature": 0,
    "top_p": 1,
}
LONGEST = 2000
"""Characters of a text in a cell."""
MODEL = "model"
"""The key of the rows, and the title of the column, that tell models apart."""


class TaskInfo(NamedTuple):
    """A task that is known here. defaults, generation: its settings. folder: of a person's own."""

    about: str = ""
    paper: str = ""
    version: str = ""
    exhibits: Sequence[Exhibit] = ()
    defaults: Options = MappingProxyType({})
    generation: Options = MappingProxyType({})
    folder: str = ""


class PaperNumber(float):
    """A published value. printed: its text if it is not a number, such as "<.001"."""

    printed: str | None

    def __new__(cls, value: float, printed: str | None = None) -> PaperNumber:
        number = super().__new__(cls, value)
        number.printed = printed
        return number


class PaperRows(NamedTuple):
    """model: as the page names it. incomparable: why they do not compare with the run. differs:
    what differs even so."""

    model: str
    rows: list[dict[str, Any]]
    source: str
    incomparable: str
    differs: str


# ---- What the papers print


def paper_rows(
    exhibit: Exhibit, run: Run, places: Iterable[Place], known: TaskInfo
) -> list[PaperRows]:
    """What the papers print in the places of an exhibit, model by model. places:
    `paper_values.of_task`."""
    if not exhibit.paper_values:
        return []
    paper, *names = exhibit.paper_values
    by_model: dict[tuple[str, str], list[Place]] = {}
    for place in places:
        file, table, cell, _ = place
        if file == paper and table.name in names and (cell.metrics or cell.place):
            by_model.setdefault((table.name, cell.model), []).append(place)
    result = []
    for (name, model), of_model in by_model.items():
        for setting, part in _settings(of_model):
            made = _rows_of([cell for _, _, cell, _ in part], exhibit, run)
            if not made:
                continue
            _, table, _, comparison = part[0]
            source = f"paper, {name}" + (f", {setting}" if setting else "")
            differences = _differences(run, comparison, known)
            why = differences if comparison.comparable else comparison.why
            full = f"{table.models.get(model, model)} ({source})"
            result.append(PaperRows(full, made, source, why, "" if why else comparison.why))
    return result


def _settings(places: Sequence[Place]) -> Iterator[tuple[str, list[Place]]]:
    """The cells of one model in one table, in parts of one number in a place, with its names."""
    parts: dict[tuple[tuple[str, str], ...], list[Place]] = {}
    for place in places:
        cell = place[2]
        # Names of a cell with a place stand in its row, and so does the group.
        names = {} if cell.place else cell.names
        rest = tuple((axis, name) for axis, name in names.items() if name != cell.group)
        parts.setdefault(rest, []).append(place)
    varying = {
        axis
        for rest in parts
        for axis, name in rest
        if any((axis, name) not in other for other in parts if other)
    }
    for rest, part in parts.items():
        axes = part[0][1].axes
        shown = (axes.get(axis, {}).get(name, name) for axis, name in rest if axis in varying)
        yield ", ".join(map(str, shown)), part


def _rows_of(cells: Sequence[PaperCell], exhibit: Exhibit, run: Run) -> list[dict[str, Any]]:
    tables: dict[str, list[dict[str, Any]]] = {"numbers": []}
    places: dict[Any, dict[str, Any]] = {}
    for cell in cells:
        number = PaperNumber(cell.value, cell.printed)
        tables["numbers"] += [
            {"metric": metric, "group": cell.group, "value": number} for metric in cell.metrics
        ]
        if cell.place is not None:
            key = (cell.place.table, tuple(cell.place.row.items()))
            if key not in places:
                like = run.tables.get(cell.place.table) or [{}]
                places[key] = {**dict.fromkeys(like[0]), **cell.place.row}
                tables.setdefault(cell.place.table, []).append(places[key])
            places[key][cell.place.column] = number
    try:
        made = exhibits.rows(exhibit, tables)
    except Exception:  # a table that is worked out of columns which no paper prints
        return []
    shown = [column.name for column in exhibit.columns]
    return [row for row in made if any(isinstance(row.get(name), PaperNumber) for name in shown)]


def _differences(run: Run, comparison: Comparison, known: TaskInfo) -> str:
    reasons = []
    if any(line.startswith("asked ") for line in run.warnings):
        reasons.append("this run was asked a part of the documents")
    if known.version and run.version and known.version != run.version:
        reasons.append(
            f"this run is of version {run.version} of the task, and the comparison was made for "
            f"version {known.version}"
        )
    system = dict(run.settings).get("system instruction")
    if system != (comparison.system and sha256(comparison.system.encode()).hexdigest()):
        whose = "a system instruction of its own" if system else "no system instruction"
        instead = f" in place of {comparison.system}" if comparison.system else ""
        reasons.append(f"this run had {whose}{instead}")
    if comparison.template and not run.template:
        unknown = "perhaps " if run.template == "" else ""
        reasons.append(f"this run had {unknown}no chat template")
    had = {**known.defaults, **run.options, **(run.generation or known.generation)}
    papers = (
        {**known.defaults, **known.generation, **comparison.options, **settings}
        for settings in comparison.generation or ({},)
    )
    return "; ".join(reasons + min((_changed(had, paper) for paper in papers), key=len))


def _changed(had: Options, paper: Options) -> list[str]:
    """In what they differ. What was not sent is taken for without effect."""
    reasons = []
    for name in dict.fromkeys([*paper, *had]):
        expected, was = (options.get(name, _WITHOUT_EFFECT.get(name)) for options in (paper, had))
        allowed = expected if isinstance(expected, tuple) else (expected,)
        if name.endswith("_sha256") or name in _DRAWN or was in allowed:
            continue
        if f"{name}_sha256" in had:
            reasons.append(f"this run had {name} of its own")
        else:
            instead = "" if expected is None else f" in place of {name}={expected}"
            reasons.append(
                f"this run {f'had {name}={was}' if name in had else f'sent no {name}'}{instead}"
            )
    return reasons


# ---- Tables


def cell(row: Row, name: str, unit: str = "") -> Cell:
    """What a row has under a name; its interval stands in NAME_low and NAME_high."""
    raw = row.get(name)
    if raw is None:
        return Cell("–")
    if isinstance(raw, bool):
        return Cell("yes" if raw else "no")
    if isinstance(raw, PaperNumber):
        return Cell(raw.printed or f"{float(raw):,.10g}", value=float(raw))  # the paper's digits
    value = as_float(raw)
    if isnan(value) and not isinstance(raw, float):  # a text, or more digits than a float has
        return Cell(str(raw)[:LONGEST])
    return number_cell(number_of(row, name), unit)


def table(
    exhibit: Exhibit, models: Sequence[tuple[str, Rows]], papers: Sequence[PaperRows]
) -> Table:
    """models: each with its rows. papers: their numbers stand beside the row of the same texts,
    other rows below."""
    columns, ours = exhibit.columns, [row for _, of_model in models for row in of_model]
    head = [_title(column) for column in columns]
    names = [Cell(model) for model, of_model in models for _ in of_model]
    body = [[cell(row, column.name, column.unit) for column in columns] for row in ours]
    below = []
    for paper in papers:
        mark = "not comparable" if paper.incomparable else ""
        like = list(zip(paper.rows, _like(columns, paper.rows, ours), strict=True))
        below += [(Cell(paper.model, note=mark), row) for row, matches in like if not matches]
        counterpart = {id(one): row for row, matches in like for one in matches}
        for column in columns:
            if any(isinstance(row[column.name], PaperNumber) for row in counterpart.values()):
                title = _title(column)
                parts = filter(None, (title.text, title.note, mark))
                head.append(Cell(paper.model, note=", ".join(parts)))
                for cells, row in zip(body, ours, strict=True):
                    cells.append(cell(counterpart.get(id(row), {}), column.name))
    for name, row in below:
        names.append(name)
        shown = [cell(row, column.name, column.unit) for column in columns]
        body.append([*shown, *[Cell("–")] * (len(head) - len(columns))])
    if len(models) > 1 or below:
        head = [Cell(MODEL.capitalize()), *head]
        body = [[first, *cells] for first, cells in zip(names, body, strict=True)]
    return Table(head, body, texts(body))


def _like(columns: Sequence[Column], rows: Rows, ours: Rows) -> list[Rows]:
    """For each row of a paper, those of ours that have its texts; none for a row without texts."""
    names = [column.name for column in columns if not column.unit]
    found: list[Rows] = []
    for row in rows:
        texts = {name: row[name] for name in names if isinstance(row[name], str)}
        found.append([own for own in ours if texts and texts.items() <= own.items()])
    return found


def _title(column: Column) -> Cell:
    unit = unit_text(column.unit)
    return Cell(column.title, note="" if unit in column.title.split() else unit)


def numbers(rows: Rows) -> Table:
    titles = ("number", "group", "value", "without bias", "unit", "in the paper")
    body = []
    for row in rows:
        unit, null = str(row.get("unit") or ""), as_float(row.get("null_value"))
        words = [Cell(str(row.get(key) or "")) for key in ("metric", "group", "cell")]
        number = number_cell(number_of(row), unit)
        without = Cell("" if isnan(null) else number_text(null), value=null)
        body.append([*words[:2], number, without, Cell(unit), words[2]])
    return Table([Cell(title) for title in titles], body, frozenset({0, 1, 4, 5}))


def plain(rows: Rows) -> Table:
    """A table that no exhibit shows. NAME_low, NAME_high and NAME_n stand with NAME."""
    keys = list(rows[0]) if rows else []
    ends = {
        f"{key}_{end}"
        for key in keys
        for end in ("low", "high", "n")
        if {f"{key}_low", f"{key}_high"} <= set(keys)
    }
    names = [key for key in keys if key not in ends]
    body = [[cell(row, name) for name in names] for row in rows]
    return Table([Cell(name) for name in names], body, texts(body))


def sizes(exhibit: Exhibit, rows: Rows) -> str:
    """The least and the greatest n of a figure's numbers; empty where none is known."""
    figure = exhibit.figure
    names = (figure.x, figure.y, figure.colour, *(figure.five or ())) if figure else ()
    all_of = [as_float(row.get(f"{name}_n")) for row in rows for name in names]
    return ends_text(n for n in all_of if n >= 0)


def csv_keys(columns: Sequence[Column], rows: Rows) -> list[str]:
    """The keys of the columns, each followed by those of its error and interval."""
    keys = []
    for column in columns:
        further = (f"{column.name}_{part}" for part in exhibits.PARTS)
        keys += [column.name]
        keys += [key for key in further if any(row.get(key) is not None for row in rows)]
    return list(dict.fromkeys(keys))


def csv_value(row: Row, key: str) -> Any:
    """What a CSV has of a row: a bound that a paper prints as its text."""
    raw = row.get(key)
    return raw.printed or float(raw) if isinstance(raw, PaperNumber) else raw
