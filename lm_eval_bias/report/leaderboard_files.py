"""A leaderboard as a file: HTML, Markdown, CSV or JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from lm_eval_bias.report.html import environment, page
from lm_eval_bias.report.leaderboard import (
    LEGEND,
    Board,
    Column,
    Entry,
    direction,
    goal,
    interval,
    place,
    written,
)
from lm_eval_bias.results.escape import csv_cell, markdown_cell, shortened


def number(value: float) -> float | None:
    """A number that JSON and CSV know; None for NaN and infinity."""
    return value if isfinite(value) else None


# ---- JSON lines and CSV: for programs


def jsonl(board: Board) -> str:
    """A line for each model, its numbers in a list; what does not exist is null, and an interval
    without end has null for that bound."""
    lines = []
    for model in board.models:
        numbers = []
        for section in board.sections:
            for column in section.columns:
                entry = column.entries.get(model.name)
                if entry is not None:
                    numbers.append(
                        {**_about(column), "asked": dict(section.asked), **_entry(column, entry)}
                    )
        warnings = [{"task": task, "warning": said} for task, said in model.warnings]
        row = {
            "model": model.name,
            "tasks": list(model.tasks),
            "of": list(board.tasks),
            "numbers": numbers,
            "warnings": warnings,
        }
        lines.append(json.dumps(row, allow_nan=False))
    return "".join(f"{line}\n" for line in lines)


def _about(column: Column) -> dict[str, Any]:
    metric = column.metric
    return {
        "task": column.task,
        "metric": metric.name,
        "unit": metric.unit,
        "better": direction(metric),
        "null_value": metric.null_value,
    }


def _entry(column: Column, entry: Entry) -> dict[str, Any]:
    return {
        "value": number(entry.number.value),
        "low": number(entry.number.low),
        "high": number(entry.number.high),
        "stderr": number(entry.number.stderr),
        "clusters": entry.number.clusters,
        "n": entry.n,
        "rank": list(entry.rank) if entry.rank else None,
        "of": column.ranked or None,
        "paired": column.paired if column.ranked else None,
        "ties": entry.ties or None,
    }


def csv_table(board: Board) -> str:
    """A row for each model; for each number its value, the bounds, n, the ranks and the letters of
    ties. Texts are quoted and start no formula; numbers are plain."""
    columns = [(section, column) for section in board.sections for column in section.columns]
    ends = ("", " low", " high", " n", " rank from", " rank to", " ties")
    head = ["model", "tasks", "of", "warnings"]
    for section, column in columns:
        head += [f"{section.title}/{column.metric.name}{end}" for end in ends]
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in head])
    for model in board.models:
        said = "; ".join(f"{task}: {warning}" for task, warning in model.warnings)
        row: list[Any] = [model.name, len(model.tasks), len(board.tasks), said]
        for _, column in columns:
            entry = column.entries.get(model.name)
            if entry is None:
                row += [None] * len(ends)
            else:
                row += [number(end) for end in (entry.number.value, *entry.number[2:4])]
                row += [entry.n, *(entry.rank or (None, None)), entry.ties or None]
        writer.writerow([csv_cell(value) for value in row])
    return file.getvalue()


# ---- Markdown


def markdown(board: Board) -> str:
    """A table for each task, a row for each model."""
    lines = ["# Leaderboard", ""]
    lines += _markdown_table(
        ["model", f"tasks of {len(board.tasks)}"],
        [[markdown_cell(m.name), str(len(m.tasks))] for m in board.models],
    )
    for section in board.sections:
        lines += [
            "",
            f"## {markdown_cell(section.title)}",
            "",
            markdown_cell(asked(section.asked)),
            "",
        ]
        head = [
            "model",
            *(f"{markdown_cell(c.metric.name)}<br>{about(c)}" for c in section.columns),
        ]
        rows = []
        for model in board.models:
            found = [(column, column.entries.get(model.name)) for column in section.columns]
            if any(entry for _, entry in found):
                rows.append(
                    [
                        markdown_cell(model.name),
                        *(_markdown_entry(column, entry) for column, entry in found),
                    ]
                )
        lines += _markdown_table(head, rows)
    for title, said in remarks(board):
        lines += [
            "",
            f"## {title}",
            "",
            *(f"- {markdown_cell_of_any_length(line)}" for line in said),
        ]
    lines += ["", "## How to read it", "", *(f"- {line}" for line in LEGEND)]
    return "\n".join(lines) + "\n"


def _markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(cells)} |" for cells in (head, ["---"] + ["---:"] * (len(head) - 1), *rows)
    ]


def _markdown_entry(column: Column, entry: Entry | None) -> str:
    return "" if entry is None else "<br>".join(part for part in (*parts(column, entry),) if part)


def markdown_cell_of_any_length(text: str) -> str:
    """A note names files, whose paths may be long."""
    return " ".join(markdown_cell(word) for word in text.split(" "))


# ---- What Markdown, HTML and the terminal share


def about(column: Column) -> str:
    """Unit and goal, below a column's title."""
    return ", ".join(
        part
        for part in (column.metric.unit, goal(column.metric), "paired" if column.paired else "")
        if part
    )


def parts(column: Column, entry: Entry) -> tuple[str, str, str]:
    """Value, interval, and rank with the letters of ties; empty where there is none."""
    unit, rank = column.metric.unit, place(entry)
    return (
        written(entry.number.value, unit),
        interval(entry.number, unit),
        f"rank {rank} of {column.ranked}, {entry.ties}" if rank else "",
    )


def asked(what: Any) -> str:
    """What the runs of a table have in common, in one line."""
    return ", ".join(f"{key} {value}" for key, value in what.items())


def remarks(board: Board) -> Iterator[tuple[str, list[str]]]:
    """What stands below the tables: title, lines."""
    warnings = [
        f"{shortened(m.name)}, {shortened(task)}: {shortened(said, 300)}"
        for m in board.models
        for task, said in m.warnings
    ]
    missing = [
        f"{shortened(m.name)} was not asked {', '.join(shortened(t) for t in board.tasks if t not in m.tasks)}"
        for m in board.models
        if len(m.tasks) < len(board.tasks)
    ]
    others = sorted(
        {f"{shortened(other.task)} of {shortened(other.model)}" for other in board.others}
    )
    found = {
        "Read these with care": warnings,
        "Not asked": missing,
        "Other tasks of the harness, left alone": others,
        "Notes": [shortened(note, 1000) for note in board.notes],
    }
    yield from ((title, said) for title, said in found.items() if said)


# ---- HTML


def html(board: Board) -> str:
    """One page, without a script."""
    functions = {"about": about, "parts": parts, "asked": asked}
    return page(
        environment(),
        "leaderboard.html",
        board=board,
        legend=LEGEND,
        remarks=list(remarks(board)),
        **functions,
    )


WRITERS = {".html": html, ".md": markdown, ".csv": csv_table, ".jsonl": jsonl}
"""By the ending of the file."""
