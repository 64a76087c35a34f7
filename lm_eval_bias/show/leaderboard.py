"""The page of a leaderboard."""

from typing import Any

from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.leaderboard import LEGEND, Board, Column, Entry, Section, about, declared
from lm_eval_bias.results.runs import Run, listed
from lm_eval_bias.results.table import Cell, Table, joined, number_cell, unit_text
from lm_eval_bias.show import page as pages
from lm_eval_bias.show.exhibited import others
from lm_eval_bias.show.page import Page
from lm_eval_bias.show.page_figures import source


def page(board: Board) -> Page:
    runs = [
        (section, run)
        for model in board.models
        for section in board.sections
        for run in section.runs
        if run.model == model
    ]
    asked = {(run.model, run.task) for _, run in runs}
    remarks = {
        "Read these with care": [
            f"{run.model}, {section.title}: {warning}"
            for section, run in runs
            for warning in run.warnings
        ],
        "Not asked": [
            f"{model} was not asked {', '.join(tasks)}"
            for model in board.models
            if (tasks := [task for task in board.tasks if (model, task) not in asked])
        ],
        "Notes": board.notes,
    }
    sections = [section for section in board.sections if section.columns]
    return Page(
        "Leaderboard",
        [
            f"{summary(board)}, sorted by name. No overall score: each number has its own unit "
            "and question."
        ],
        [
            pages.Section(
                shortened(section.title, 200),
                [_table(board, section)],
                {c.metric.name: c.metric.description for c in section.columns},
            )
            for section in sections
        ]
        + [pages.Section("Other tasks", [others(board.others)])] * bool(board.others),
        remarks,
        LEGEND,
        [
            _row(section, run, column)
            for section, run in runs
            for column in section.columns
            if run.model in column.entries
        ],
        source([run for section in sections for run in section.runs]),
    )


def summary(board: Board) -> str:
    models, tasks = len(board.models), len(board.tasks)
    return f"{models} model{'s' * (models != 1)}, {tasks} task{'s' * (tasks != 1)}"


def _table(board: Board, section: Section) -> Table:
    head = [Cell("model"), *(Cell(c.metric.name, note=_about(c)) for c in section.columns)]
    rows = [
        [Cell(model), *(_cell(column, column.entries.get(model)) for column in section.columns)]
        for model in board.models
        if any(model in column.entries for column in section.columns)
    ]
    common = {key: value for key, value in section.settings.items() if key not in section.distinct}
    return Table(head, rows, title=shortened(listed(common), 300))


def _about(column: Column) -> str:
    return about(column.metric) if column.ranked else unit_text(column.metric.unit)


def _cell(column: Column, entry: Entry | None) -> Cell:
    if entry is None:
        return Cell("")
    rank = f"rank {place(entry)} of {column.ranked}, {entry.ties}" if entry.rank else ""
    note = joined("; ", rank, entry.range)
    return number_cell(entry.number, column.metric.unit, note, entry.verdict)


def place(entry: Entry) -> str:
    """Ranks: 2, or 1–3; empty without any."""
    return "–".join(dict.fromkeys(map(str, entry.rank or ())))


def _row(section: Section, run: Run, column: Column) -> dict[str, Any]:
    entry = column.entries[run.model]
    rank = entry.rank or (None, None)
    return {
        "model": run.model,
        "task": run.task,
        **declared(column.metric),
        "asked": listed(section.settings),
        **entry.number._asdict(),
        "verdict": entry.verdict or None,
        "rank_low": rank[0],
        "rank_high": rank[1],
        "of": column.ranked or None,
        "ties": entry.ties or None,
        "range": entry.range or None,
        "warnings": "; ".join(run.warnings),
    }
