"""`lm-eval-bias leaderboard`: the models of finished runs beside each other, with intervals and the
ranks that these leave open."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from lm_eval_bias.commands import declare, finished
from lm_eval_bias.commands.tasks import aligned

ENDINGS = (".html", ".csv", ".jsonl", ".md")


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "leaderboard",
        "models beside each other, from finished runs",
        "Read the results that `lm_eval --output_path` wrote for several models, and print a row for each model and a column for\n"
        "each primary number: its 95 % interval, and the ranks that the data leave open, from tests of all pairs (Holm), on the\n"
        "same documents where all have samples (--log_samples). There is no score over all. Of two runs of the same model and task\n"
        "the newest counts, unless an older one asked more documents; runs in parts (shard=1/4) are put together from their\n"
        "samples. Models that were asked otherwise stand in tables of their own.",
    )
    parser.add_argument(
        "runs",
        metavar="RUNS",
        nargs="+",
        type=Path,
        help="folders or files that lm_eval or `lm-eval-bias merge` wrote",
    )
    parser.add_argument(
        "--sort",
        metavar="METRIC",
        help="a column, METRIC or TASK/METRIC; by default the models' names",
    )
    parser.add_argument(
        "--metrics",
        metavar="METRIC",
        nargs="+",
        help="these numbers, METRIC or TASK/METRIC, in place of the primary ones",
    )
    finished.add_tasks(parser)
    parser.add_argument(
        "--unpaired",
        action="store_true",
        help="ranks from the intervals alone, without reading samples: seconds",
    )
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help=f"write it there, as {', '.join(ENDINGS)}"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.report import leaderboard, leaderboard_files
    from lm_eval_bias.results.escape import visible

    output = arguments.output
    if output:
        finished.check_output(output, ENDINGS)
    known = finished.known_tasks(arguments.include_path)
    found = finished.find(arguments.runs, known, arguments.tasks)

    board = leaderboard.board(
        found,
        arguments.metrics,
        arguments.sort,
        None if arguments.unpaired else finished.reader(known),
    )
    if output:
        finished.write(output, leaderboard_files.WRITERS[output.suffix](board))
        models, tasks = len(board.models), len(board.tasks)
        print(
            f"wrote {output}: {models} model{'s' * (models != 1)}, {tasks} task{'s' * (tasks != 1)}"
        )
        for note in board.notes:
            print(visible(note), file=sys.stderr)
    else:
        print(text(board, finished.width()))
    return 0


def text(board: Any, width: int) -> str:
    """For a terminal: the tables of the tasks, the columns in as many rows of tables as the width
    asks for."""
    from lm_eval_bias.report.leaderboard import LEGEND, interval, place, written
    from lm_eval_bias.report.leaderboard_files import about, asked, remarks
    from lm_eval_bias.results.escape import shortened

    most = max(16, width // 4)
    blocks = [
        [
            aligned(
                [
                    ("MODEL", "TASKS"),
                    *(
                        (shortened(m.name, most), f"{len(m.tasks)} of {len(board.tasks)}")
                        for m in board.models
                    ),
                ]
            )
        ]
    ]
    for section in board.sections:
        lines = [f"{shortened(section.task)}: {shortened(asked(section.asked), width)}"]
        members = [
            model.name
            for model in board.models
            if any(model.name in column.entries for column in section.columns)
        ]
        names = [shortened(name, most) for name in members]
        # of each column its title, then value, interval and rank of each model
        table: list[list[list[str]]] = []
        for column in section.columns:
            unit = column.metric.unit
            told = about(column) if column.ranked else unit
            cells = [[shortened(column.metric.name, 40) + (f" ({told})" if told else ""), "", ""]]
            for name in members:
                entry = column.entries.get(name)
                ranked = f"{place(entry)} {entry.ties}" if entry and entry.rank else ""
                cells.append(
                    [written(entry.number.value, unit), interval(entry.number, unit), ranked]
                    if entry
                    else ["", "", ""]
                )
            table.append(cells)
        for group in _fitting(table, width - max(map(len, ["MODEL", *names]))):
            lines.append(_table(["MODEL", *names], group))
            lines.append("")
        blocks.append(lines[:-1])
    for title, said in remarks(board):
        # names and paths are copied from here
        whole = {"break_long_words": False, "break_on_hyphens": False}
        blocks.append(
            [
                title,
                *(
                    textwrap.fill(
                        line, width, initial_indent="  ", subsequent_indent="    ", **whole
                    )
                    for line in said
                ),
            ]
        )
    blocks.append([textwrap.fill(line, width) for line in LEGEND])
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _widths(cells: list[list[str]]) -> list[int]:
    """Of a column's value, interval and rank; its title stands above the three."""
    widths = [max(len(row[i]) for row in cells[1:]) for i in range(3)]
    widths[2] += max(0, len(cells[0][0]) - sum(widths) - 2)
    return widths


def _fitting(table: list[list[list[str]]], room: int) -> list[list[list[list[str]]]]:
    """The columns in groups, each as wide as fits, and never without one."""
    groups: list[list[list[list[str]]]] = [[]]
    left = room
    for cells in table:
        needed = sum(_widths(cells)) + 2 + 3
        if groups[-1] and needed > left:
            groups.append([])
            left = room
        groups[-1].append(cells)
        left -= needed
    return groups


def _table(names: list[str], group: list[list[list[str]]]) -> str:
    rows = []
    for i, name in enumerate(names):
        row = [name]
        for cells in group:
            widths = _widths(cells)
            if i == 0:
                row.append(f"{cells[0][0]:{sum(widths) + 2}}")
            else:
                value, bounds, rank = cells[i]
                row.append(f"{value:>{widths[0]}} {bounds:{widths[1]}} {rank:{widths[2]}}")
        rows.append((*row, ""))
    return aligned([tuple(row) for row in rows])
