"""`lm-eval-bias tasks`: list the tasks, and describe a task or a number."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from lm_eval_bias import catalogue
from lm_eval_bias.commands import declare, finished
from lm_eval_bias.measure import UNITS, Metric
from lm_eval_bias.results.table import Cell, Table
from lm_eval_bias.results.table import text as table_text
from lm_eval_bias.usage import UsageError


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "tasks",
        "list the tasks, or describe a task or a number",
        "List every task with its paper, request type, number of documents and what it asks. With "
        "the name of a task: its numbers. With the name of a number: what it says.",
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="a task or a metric, such as hbb or biased_share"
    )
    finished.add_include_path(parser)
    parser.add_argument(
        "--path",
        action="store_true",
        help="print only the folder of the tasks, for `lm_eval --include_path`",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.path:
        print(catalogue.tasks_folder())
        return 0
    name = arguments.name
    known = list(catalogue.tasks(arguments.include_path))
    if name is None:
        head = ("TASK", "PAPER", "REQUEST", "DOCUMENTS", "WHAT IT ASKS")
        rows = [(t.name, t.paper, t.request, number_of_documents(t), t.about) for t in known]
        print(aligned([head, *rows], right={3}))
        return 0
    for task in known:
        if task.name == name:
            _describe_task(task)
            return 0
    tasks: dict[Metric, list[str]] = {}
    names = {task.name for task in known}
    for task in known:
        for metric in task.measure.metrics if task.measure else ():
            names.add(metric.name)
            if metric.name == name:
                tasks.setdefault(metric, []).append(task.name)
    if not tasks:
        guesses = difflib.get_close_matches(name, names, n=1)
        guess = f"; did you mean {guesses[0]}?" if guesses else ""
        raise UsageError(f"no task or metric {name!r}{guess}")
    for metric, its_tasks in tasks.items():
        _describe_metric(metric, its_tasks)
    return 0


def _describe_task(task: catalogue.Task) -> None:
    if task.measure is None:
        raise UsageError(
            f"{task.name} declares no measure; its numbers are those of its own YAML, {task.path}"
        )
    print(f"{task.name}: {task.about}" if task.about else task.name)
    head = ("METRIC", "UNIT", "BETTER", "NO BIAS", "PAPER", "WHAT IT SAYS")
    print(aligned([head, *map(row, task.measure.metrics)]))


def _describe_metric(metric: Metric, tasks: list[str]) -> None:
    by = f", by {metric.by}" if metric.by else ""
    shown = "yes" if metric.primary else "no, in the cells of the results file"
    print(f"{metric.name}: {metric.description}")
    print(f"  unit: {metric.unit}, {UNITS[metric.unit]}")
    print(
        f"  better: {metric.better or 'neither'}; without bias: {null_value(metric) or 'unknown'}"
    )
    print(f"  in the paper: {metric.cell or 'no; ours'}")
    print(f"  shown in the table: {shown}{by}")
    print(f"  tasks: {', '.join(tasks)}")


def number_of_documents(task: catalogue.Task) -> str:
    """As a listing has it: a dash where only a run can tell, which fetches the documents."""
    return "—" if task.documents is None else f"{task.documents:,}"


def row(metric: Metric) -> tuple[str, ...]:
    """A metric as a row of a listing."""
    return (
        metric.name,
        metric.unit,
        metric.better or "",
        null_value(metric),
        metric.cell or "",
        metric.description,
    )


def null_value(metric: Metric) -> str:
    """Its value without bias; empty if none says so."""
    return "" if metric.null_value is None else f"{metric.null_value:g}"


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows as text in columns. right: columns that are set to the right."""
    head, *rest = [[Cell(text) for text in row] for row in rows]
    return table_text(Table(head, rest, frozenset(range(len(head))).difference(right)))


def markdown(metrics: Iterable[Metric]) -> str:
    """The table of a task's README: its metrics as they are declared, the primary ones in bold."""
    lines = [
        "| metric | unit | better | without bias | what it is | in the paper |",
        "|---|---|---|---|---|---|",
    ]
    for metric in metrics:
        name = f"**`{metric.name}`**" if metric.primary else f"`{metric.name}`"
        name += f", by {metric.by}" if metric.by else ""
        _, *facts, cell, description = row(metric)
        lines.append(f"| {' | '.join([name, *facts, description, cell])} |")
    return "\n".join(lines)
