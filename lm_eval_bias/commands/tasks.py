"""`lm-eval-bias tasks`: what there is to run, and what its numbers say."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import Any

from lm_eval_bias import catalogue
from lm_eval_bias.commands import declare
from lm_eval_bias.measure import UNITS, Metric
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
    parser.add_argument(
        "--include_path",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="tasks of your own too, as for lm_eval",
    )
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
    known = list(catalogue.tasks(arguments.include_path))
    if arguments.name is None:
        rows = [(t.name, t.paper, t.request, number_of_documents(t), t.about) for t in known]
        print(
            aligned([("TASK", "PAPER", "REQUEST", "DOCUMENTS", "WHAT IT ASKS"), *rows], right={3})
        )
        return 0
    for task in known:
        if task.name == arguments.name:
            if task.measure is None:
                raise UsageError(
                    f"{task.name} declares no measure; its numbers are those of its own YAML, {task.path}"
                )
            print(f"{task.name}: {task.about}" if task.about else task.name)
            print(
                aligned(
                    [
                        ("METRIC", "UNIT", "BETTER", "NO BIAS", "PAPER", "WHAT IT SAYS"),
                        *(row(m) for m in task.measure.metrics),
                    ]
                )
            )
            return 0
    found: dict[Metric, list[str]] = {}
    for task in known:
        for metric in task.measure.metrics if task.measure else ():
            if metric.name == arguments.name:
                found.setdefault(metric, []).append(task.name)
    if not found:
        names = {t.name for t in known} | {
            m.name for t in known if t.measure for m in t.measure.metrics
        }
        guesses = difflib.get_close_matches(arguments.name, names, n=1)
        raise UsageError(
            f"no task or metric {arguments.name!r}"
            + (f"; did you mean {guesses[0]}?" if guesses else "")
        )
    for metric, tasks in found.items():
        print(f"{metric.name}: {metric.description}")
        print(f"  unit: {metric.unit}, {UNITS[metric.unit]}")
        print(
            f"  better: {metric.better or 'neither'}; without bias: {null_value(metric) or 'no value says so'}"
        )
        print(f"  in the paper: {metric.cell or 'no; ours'}")
        print(
            f"  shown in the table: {'yes' if metric.primary else 'no, in the cells of the results file'}"
            + (f", by {metric.by}" if metric.by else "")
        )
        print(f"  tasks: {', '.join(tasks)}")
    return 0


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


def aligned(rows: list[tuple[str, ...]], right: frozenset[int] | set[int] = frozenset()) -> str:
    """Rows as text in columns; the last one is as wide as it is. right: columns that are set to the
    right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [
            f"{text:>{w}}" if i in right else f"{text:{w}}"
            for i, (text, w) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)


def markdown(metrics: Any) -> str:
    """The table of a task's README: its metrics, primary ones first as they are declared."""
    lines = [
        "| metric | unit | better | without bias | what it is | in the paper |",
        "|---|---|---|---|---|---|",
    ]
    for metric in metrics:
        name = f"**`{metric.name}`**" if metric.primary else f"`{metric.name}`"
        name += f", by {metric.by}" if metric.by else ""
        lines.append(
            "| "
            + " | ".join(
                (
                    name,
                    metric.unit,
                    metric.better or "",
                    null_value(metric),
                    metric.description,
                    metric.cell or "",
                )
            )
            + " |"
        )
    return "\n".join(lines)
