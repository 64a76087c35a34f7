"""The rows of an exhibit as tables, with what the papers print beside."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import takewhile
from math import isnan
from types import MappingProxyType
from typing import NamedTuple

from lm_eval_bias import exhibit as exhibits
from lm_eval_bias.data.paper_values import Comparison, PaperCell, of_task
from lm_eval_bias.exhibit import Column, Exhibit, Row, is_number
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
    """defaults, generation: a task's settings."""

    about: str = ""
    paper: str = ""
    version: str = ""
    exhibits: Sequence[Exhibit] = ()
    defaults: Options = MappingProxyType({})
    generation: Options = MappingProxyType({})


class PaperRows(NamedTuple):
    """rows: floats are what the paper prints; NAME_printed is the text of one that is no number,
    such as "<.001". model: as the page names it. incomparable: why they do not compare with the
    run. differs: what differs even so."""

    model: str
    rows: exhibits.Table
    source: str
    incomparable: str
    differs: str


# ---- What the papers print


def paper_rows(exhibit: Exhibit, run: Run, known: TaskInfo) -> list[PaperRows]:
    """What the papers print in the places of an exhibit, by model and, where a table has several,
    by setting."""
    if not exhibit.paper_values:
        return []
    paper, *names = exhibit.paper_values
    groups = defaultdict(list)
    for place in of_task(run.task):
        file, table, cell, _ = place
        if file == paper and table.name in names and (cell.metric or cell.place):
            # Names of a cell with a place stand in its row, and so does the group.
            pairs = () if cell.place else cell.names.items()
            setting = tuple(pair for pair in pairs if pair[1] != cell.group)
            groups[table.name, cell.model, setting].append(place)
    result = []
    for (table_name, model, setting), part in groups.items():
        _, table, _, comparison = part[0]
        settings = [s for other, m, s in groups if (other, m) == (table_name, model)]
        varying = [
            str(table.axes[axis].get(name, name))
            for axis, name in setting
            if any((axis, name) not in other for other in settings if other)
        ]
        source = ", ".join((f"paper, {table_name}", *varying))
        name = f"{table.models.get(model, model)} ({source})"
        why = _differences(run, comparison, known) if comparison.comparable else comparison.why
        if rows := _rows_of([cell for _, _, cell, _ in part], exhibit, run):
            result.append(PaperRows(name, rows, source, why, "" if why else comparison.why))
    return result


def _rows_of(cells: Sequence[PaperCell], exhibit: Exhibit, run: Run) -> exhibits.Table:
    tables = defaultdict(list)
    places = {}
    for cell in cells:
        number = float(cell.value)
        if cell.metric:
            row = {"metric": cell.metric, "group": cell.group, "value": number}
            tables["numbers"].append({**row, "printed": cell.printed})
        if cell.place is not None:
            key = (cell.place.table, tuple(cell.place.row.items()))
            if key not in places:
                like = run.tables.get(cell.place.table) or [{}]
                places[key] = {**dict.fromkeys(like[0]), **cell.place.row}
                tables[cell.place.table].append(places[key])
            column = cell.place.column
            places[key] |= {column: number, f"{column}_printed": cell.printed}
    return [
        row
        for row in exhibits.rows(exhibit, tables)
        if any(isinstance(row[column.name], float) for column in exhibit.columns)
    ]


def _differences(run: Run, comparison: Comparison, known: TaskInfo) -> str:
    """Why a run does not compare with a paper's, though its task does."""
    reasons = []
    if any(line.startswith("asked ") for line in run.warnings):
        reasons.append("was asked a part of the documents")
    if known.version and run.version and known.version != run.version:
        reasons.append(
            f"is of version {run.version} of the task, and the comparison was made for version "
            f"{known.version}"
        )
    system, paper = run.settings.get("system instruction"), comparison.system
    if system != (paper and sha256(paper.encode()).hexdigest()):
        whose = "a system instruction of its own" if system else "no system instruction"
        reasons.append(f"had {whose}" + (f" in place of {paper}" if paper else ""))
    if comparison.template and not run.template:
        reasons.append(f"had {'perhaps ' if run.template == '' else ''}no chat template")
    had = {**known.defaults, **run.options, **(run.generation or known.generation)}
    usual = {**known.defaults, **known.generation, **comparison.options}
    changed = [_changed(had, {**usual, **own}) for own in comparison.generation or ({},)]
    reasons += sorted(changed, key=len)[0]
    return "; ".join(f"this run {reason}" for reason in reasons)


def _changed(had: Options, paper: Options) -> list[str]:
    """What was not sent is taken for without effect."""
    reasons = []
    for name in dict.fromkeys([*paper, *had]):
        expected, was = (options.get(name, _WITHOUT_EFFECT.get(name)) for options in (paper, had))
        allowed = expected if isinstance(expected, tuple) else (expected,)
        if name.endswith("_sha256") or name in _DRAWN or was in allowed:
            continue
        if f"{name}_sha256" in had:
            reasons.append(f"had {name} of its own")
        else:
            reason = f"had {name}={was}" if name in had else f"sent no {name}"
            instead = "" if expected is None else f" in place of {name}={expected}"
            reasons.append(reason + instead)
    return reasons


# ---- Tables


def cell(row: Row, name: str, unit: str = "", paper: bool = False) -> Cell:
    """What a row has under a name; its interval: NAME_low and NAME_high."""
    raw = row.get(name)
    if raw is None:
        return Cell("–")
    if isinstance(raw, bool):
        return Cell("yes" if raw else "no")
    if paper and isinstance(raw, float):
        return Cell(row.get(f"{name}_printed") or f"{raw:,.10g}", value=raw)  # the paper's digits
    value = as_float(raw)
    if isnan(value) and not isinstance(raw, float):  # a text, or more digits than a float has
        return Cell(str(raw)[:LONGEST])
    return number_cell(number_of(row, name), unit, verdict=str(row.get(f"{name}_verdict") or ""))


def table(
    exhibit: Exhibit, models: Sequence[tuple[Run, Rows]], papers: Sequence[PaperRows]
) -> Table:
    """models: each with its rows. Rows of the same texts stand together, those of papers last."""
    columns = exhibit.columns
    words = [column.name for column in takewhile(lambda column: not column.unit, columns)]
    named = [(Cell(run.model), row, False) for run, rows in models for row in rows]
    for printed in papers:
        name = Cell(printed.model, note="not comparable" * bool(printed.incomparable))
        named += [(name, row, True) for row in printed.rows]
    groups: list[tuple[Row, list[list[Cell]]]] = []
    for name, row, paper in named:
        own = {word: row[word] for word in words if isinstance(row.get(word), str)}
        cells = [name, *(cell(row, column.name, column.unit, paper) for column in columns)]
        for shared, alike in groups:
            if own and shared.items() >= own.items():
                alike.append(cells)
                break
        else:
            groups.append((own, [cells]))
    body = [cells for _, alike in groups for cells in alike]
    head = [Cell(MODEL.capitalize()), *map(_title, columns)]
    if len({cells[0] for cells in body}) == 1:
        head, body = head[1:], [cells[1:] for cells in body]
    return Table(head, body, texts(body))


def _title(column: Column) -> Cell:
    unit = unit_text(column.unit)
    return Cell(column.title, note="" if unit in column.title.split() else unit)


def numbers(rows: Rows) -> Table:
    body = []
    for row in rows:
        unit, null = str(row.get("unit") or ""), as_float(row.get("null_value"))
        words = [Cell(str(row.get(key) or "")) for key in ("metric", "group", "cell")]
        without = Cell("" if isnan(null) else number_text(null), value=null)
        body.append([*words[:2], number_cell(number_of(row), unit), without, Cell(unit), words[2]])
    titles = ("number", "group", "value", "without bias", "unit", "in the paper")
    return Table([*map(Cell, titles)], body, {0, 1, 4, 5})


def others(runs: Iterable[Run]) -> Table:
    """The numbers of tasks without a measure, as the harness computed them."""
    rows = [
        [*(Cell(str(text)) for text in (run.task, run.model, *key)), number_cell(number)]
        for run in sorted(runs, key=lambda run: (run.task, run.model))
        for key, number in run.numbers.items()
    ]
    head = [*map(Cell, ("task", "model", "metric", "filter", "value"))]
    title = "As the harness computed them, ± 1.96 standard errors; without a verdict"
    return Table(head, rows, {0, 1, 2, 3}, title)


def plain(rows: Rows) -> Table:
    """A table that no exhibit shows. NAME_low, NAME_high and NAME_n stand with NAME."""
    keys = list(rows[0])
    ends = {
        f"{key}_{end}"
        for key in keys
        for end in ("low", "high", "n")
        if {f"{key}_low", f"{key}_high"} <= set(keys)
    }
    names = [key for key in keys if key not in ends]
    body = [[cell(row, name) for name in names] for row in rows]
    return Table([*map(Cell, names)], body, texts(body))


def says_little(exhibit: Exhibit, rows: Rows) -> str:
    """Why an exhibit is folded; empty where it is not."""
    names = [column.name for column in exhibit.columns if column.unit not in ("", "count")]
    shown = [number_of(row, name) for row in rows for name in names if is_number(row.get(name))]
    figure = exhibit.figure
    if shown and not any(number.value for number in shown):
        return "all its numbers are 0"
    drawn = [number_of(row, figure.x) for row in rows] if figure and figure.low else []
    if drawn and not any(number.low < number.high for number in (*drawn, *shown)):
        return "none of its numbers has an interval"
    return ""


def sizes(exhibit: Exhibit, rows: Rows) -> str:
    """The least and greatest n of a figure's numbers, or ""."""
    figure = exhibit.figure
    names = (figure.x, figure.y, figure.colour, *(figure.five or ())) if figure else ()
    return ends_text(number_of(row, name).n for row in rows for name in names if name)
