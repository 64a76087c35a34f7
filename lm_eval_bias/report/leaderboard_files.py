"""A leaderboard as text, and as a file: HTML, Markdown, CSV or JSON lines."""

import json
from itertools import zip_longest
from typing import Any

from lm_eval_bias import exhibit
from lm_eval_bias.measure import estimate
from lm_eval_bias.report import drawn
from lm_eval_bias.report.html import page
from lm_eval_bias.report.leaderboard import (
    LEGEND,
    Board,
    Column,
    Entry,
    Section,
    direction,
    goal,
    order,
)
from lm_eval_bias.results import table
from lm_eval_bias.results.escape import markdown_cell, markdown_text, shortened
from lm_eval_bias.results.runs import listed
from lm_eval_bias.results.table import Cell, Table, csv_text, ends_text, finite, number_cell
from lm_eval_bias.results.verdict import band_text


def tables(board: Board, most: int = 100, brief: bool = False) -> list[Table]:
    """A table for each section. most: characters of a name. brief: short ranks."""
    return [_section(board, section, most, brief) for section in board.sections]


def _section(board: Board, section: Section, most: int, brief: bool) -> Table:
    head = [
        Cell("model"),
        *(Cell(shortened(c.metric.name), note=about(c)) for c in section.columns),
    ]
    rows = [
        [
            Cell(shortened(model.name, most)),
            *(_cell(column, column.entries.get(model.name), brief) for column in section.columns),
        ]
        for model in board.models
        if model.name in section.models
    ]
    return Table(
        head, rows, title=f"{shortened(section.task)}: {shortened(listed(section.settings), 300)}"
    )


def about(column: Column) -> str:
    """Unit and goal, below a column's title."""
    if not column.ranked:
        return column.metric.unit
    parts = (column.metric.unit, goal(column.metric), "paired" if column.paired else "")
    without = f"without meaning {band_text(column.band, column.metric)}" if column.band else ""
    return ", ".join(part for part in (*parts, without) if part)


def _figures(section: Section, number: int) -> list[str]:
    """For each number with ranks its values with intervals, the best first, and beside each the
    ranks that the data leave open."""
    return [
        drawn.figure(
            exhibit.intervals("value", "model", reference=column.metric.null_value)._replace(
                label="rank", band=column.band
            ),
            [
                {
                    "model": model,
                    **estimate("value", entry.number),
                    "rank": f"{place(entry)} {entry.ties}" if entry.rank else "",
                }
                for model, entry in sorted(
                    column.entries.items(), key=lambda item: order(column, item[1])
                )
            ],
            (exhibit.Column("value", column.metric.name, column.metric.unit),),
            name=f"f{number}-{i}",
            title=shortened(column.metric.description, 300),
            seen=_first(column),
            source=f"Source: {section.task}, {listed(section.settings)}; {section.date}. Right: "
            "ranks; models that share a letter do not differ significantly",
            n=ends_text(entry.number.n for entry in column.entries.values()),
            width=drawn.COLUMN,
        )
        for i, column in enumerate(section.columns)
        if column.ranked
    ]


def _first(column: Column) -> str:
    """Which models the data leave the first rank."""
    first = [model for model, entry in column.entries.items() if entry.rank and entry.rank[0] == 1]
    if len(first) == 1:
        return f"{column.metric.name}: {shortened(first[0], 40)} is first of {column.ranked} models"
    return f"{column.metric.name}: {len(first)} of {column.ranked} models may be first"


def _cell(column: Column, entry: Entry | None, brief: bool) -> Cell:
    if entry is None:
        return Cell("")
    rank = ""
    if entry.rank and brief:
        rank = f"{place(entry)} {entry.ties}"
    elif entry.rank:
        rank = f"rank {place(entry)} of {column.ranked}, {entry.ties}"
    note = "; ".join(filter(None, (rank, entry.verdict, entry.range)))
    return number_cell(entry.number, column.metric.unit, note)


def place(entry: Entry) -> str:
    """Its ranks: 2, or 1–3; empty where it has none."""
    if entry.rank is None:
        return ""
    low, high = entry.rank
    return str(low) if low == high else f"{low}–{high}"


def remarks(board: Board) -> dict[str, list[str]]:
    """What stands below the tables: title -> lines."""
    missing = {
        model.name: [shortened(task) for task in board.tasks if task not in model.tasks]
        for model in board.models
    }
    lines = {
        "Read these with care": [
            f"{shortened(model.name)}, {shortened(title)}: {shortened(warning, 300)}"
            for model in board.models
            for title, warning in model.warnings
        ],
        "Not asked": [
            f"{shortened(model)} was not asked {', '.join(tasks)}"
            for model, tasks in missing.items()
            if tasks
        ],
        "Notes": [shortened(note, 1000) for note in board.notes],
    }
    return {title: of for title, of in lines.items() if of}


def text(board: Board, width: int) -> list[list[str]]:
    """Blocks of lines for a terminal."""
    sections = tables(board, max(16, width // 3), brief=True)
    return [[shortened(of.title, width), table.text(of, width)] for of in sections]


def markdown(board: Board) -> str:
    lines = ["# Leaderboard"]
    for section, of in zip(board.sections, tables(board), strict=True):
        lines += ["", f"## {markdown_cell(section.title)}", "", markdown_text(of.title), ""]
        lines += table.markdown(of)
    return "\n".join([*lines, *table.markdown_end(remarks(board), LEGEND)])


def jsonl(board: Board) -> str:
    """A line for each model. What does not exist is null, and so is an infinite end."""
    lines = []
    for model in board.models:
        row = {
            "model": model.name,
            "tasks": list(model.tasks),
            "of": list(board.tasks),
            "numbers": [entry for _, entry in _entries(board, model.name)],
            "warnings": [{"task": title, "warning": line} for title, line in model.warnings],
        }
        lines.append(json.dumps(row, allow_nan=False))
    return "".join(f"{line}\n" for line in lines)


def _entries(board: Board, model: str) -> list[tuple[str, dict[str, Any]]]:
    """The title of a section and what it has of a number of the model."""
    return [
        (section.title, _entry(section, column, column.entries[model]))
        for section in board.sections
        for column in section.columns
        if model in column.entries
    ]


def _entry(section: Section, column: Column, entry: Entry) -> dict[str, Any]:
    metric, number = column.metric, entry.number
    return {
        "task": column.task,
        "metric": metric.name,
        "unit": metric.unit,
        "better": direction(metric),
        "null_value": metric.null_value,
        "null_band": list(column.band or ()),
        "asked": dict(section.settings),
        **{part: finite(getattr(number, part)) for part in ("value", "low", "high", "stderr")},
        "clusters": number.clusters,
        "n": number.n,
        "verdict": entry.verdict or None,
        "rank": list(entry.rank) if entry.rank else None,
        "of": column.ranked or None,
        "paired": column.paired if column.ranked else None,
        "ties": entry.ties or None,
        "range": entry.range or None,
    }


def csv_table(board: Board) -> str:
    """A row for each number of each model, as in the JSON lines."""
    rows = [
        {
            "model": model.name,
            **entry,
            "asked": listed(entry["asked"]),
            **dict(zip_longest(("null_band", "null_band_high"), entry["null_band"])),
            "rank": "–".join(map(str, entry["rank"] or ())),
            "warnings": "; ".join(line for of, line in model.warnings if of == title),
        }
        for model in board.models
        for title, entry in _entries(board, model.name)
    ]
    return csv_text(list(rows[0]) if rows else [], (list(row.values()) for row in rows))


def html(board: Board) -> str:
    """One page, without a script."""
    return page(
        "leaderboard.html",
        board=board,
        sections=list(zip(board.sections, tables(board), strict=True)),
        legend=LEGEND,
        remarks=remarks(board),
        figures=_figures if drawn.installed() else None,
        missing=drawn.MISSING,
        sorted_by=lambda section: next(
            (i for i, c in enumerate(section.columns, 1) if c.name == board.sorted_by), None
        ),
    )


WRITERS = {".html": html, ".md": markdown, ".csv": csv_table, ".jsonl": jsonl}
"""By the ending of the file."""
