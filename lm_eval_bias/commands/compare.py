"""`lm-eval-bias compare`: two models, or one before and after, on the questions that both were
asked."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_bias.commands import declare, finished
from lm_eval_bias.commands.tasks import aligned
from lm_eval_bias.usage import UsageError, nearest

ENDINGS = (".html", ".csv", ".jsonl", ".md")
NOTHING = 2
"""The exit status where no task can be compared."""


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "compare",
        "two models, or one before and after, on the same questions",
        "Compare two finished runs, task by task: each primary number of both, and the second less the first with a 95 % interval\n"
        "and a p after Holm, largest first in standard errors. Runs with samples (--log_samples) are compared on the documents that\n"
        "both were asked; others as if each had been asked other questions, and so marked. What was asked otherwise (documents,\n"
        "items, prompts, options, version, chat template) is refused and named, and the rest goes on; exit status 2 if nothing\n"
        "is left.",
    )
    parser.add_argument(
        "runs",
        metavar="RUNS",
        nargs="+",
        type=Path,
        help="two folders or files of runs, A and B, or one with --models",
    )
    parser.add_argument(
        "--models",
        metavar="NAME",
        nargs=2,
        help="which model of A and which of B; with one folder, which two of its models",
    )
    finished.add_tasks(parser)
    parser.add_argument(
        "--metrics",
        metavar="METRIC",
        nargs="+",
        help="these numbers, METRIC or TASK/METRIC, in place of the primary ones",
    )
    parser.add_argument(
        "--groups",
        action="store_true",
        help="each group's numbers too, such as those of a category",
    )
    parser.add_argument(
        "--common",
        action="store_true",
        help="compare the documents that both were asked, where one was asked more",
    )
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help=f"write it there, as {', '.join(ENDINGS)}"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.report import compare, compare_files
    from lm_eval_bias.results.escape import visible

    output = arguments.output
    if output:
        finished.check_output(output, ENDINGS)
    if len(arguments.runs) > 2:
        raise UsageError(f"expected two folders or files, found {len(arguments.runs)}")
    if len(arguments.runs) == 1 and not arguments.models:
        raise UsageError(
            f"two models are compared: give a second folder or file beside {arguments.runs[0]}, or --models NAME NAME"
        )
    known = finished.known_tasks(arguments.include_path)
    found = [finished.read([path], known, arguments.tasks) for path in arguments.runs]
    sides = [found[0], found[-1]]
    chosen = [
        _chosen(
            side.runs,
            arguments.models[i] if arguments.models else None,
            arguments.runs[-1 if i else 0],
        )
        for i, side in enumerate(sides)
    ]
    names = tuple(of[0].model for of in chosen)
    if names[0] == names[1]:
        if chosen[0] == chosen[1]:
            raise UsageError(
                f"{names[0]} would be compared with itself; give two models, or two folders"
            )
        names = tuple(f"{name} ({path})" for name, path in zip(names, arguments.runs, strict=True))
    notes = [note for side in found for note in side.notes]
    result = compare.comparison(
        *chosen,
        names,
        finished.reader(known),
        arguments.metrics,
        arguments.groups,
        arguments.common,
        notes,
    )
    if output:
        finished.write(output, compare_files.WRITERS[output.suffix](result))
        print(f"wrote {output}: {compare_files.primary(result)}")
        for each in result.refusals:
            print(f"{visible(each.task)} is not compared: {visible(each.why)}", file=sys.stderr)
    else:
        print(text(result, finished.width()))
    return 0 if result.documents else NOTHING


def _chosen(found: Sequence[Any], name: str | None, path: Path) -> list[Any]:
    """The runs of one model."""
    from lm_eval_bias.results.escape import shortened

    models = list(dict.fromkeys(run.model for run in found))
    if not models:
        raise UsageError(f"{path}: no run has numbers to compare")
    if name is None and len(models) > 1:
        raise UsageError(
            f"{path} has {len(models)} models; say which with --models: {', '.join(map(shortened, models))}"
        )
    wanted = models[0] if name is None else name
    if wanted not in models:
        raise UsageError(
            f"--models {wanted}: {path} has no such model; {nearest(wanted, list(map(shortened, models)))}"
        )
    return [run for run in found if run.model == wanted]


def text(found: Any, width: int) -> str:
    """For a terminal: a line for each number, then what is to be known."""
    from lm_eval_bias.report.compare import LEGEND
    from lm_eval_bias.report.compare_files import (
        about,
        bounds,
        change,
        p_value,
        primary,
        remarks,
        value,
        verdict,
    )
    from lm_eval_bias.results.escape import shortened

    first, second = shortened(found.first, width - 10), shortened(found.second, width - 10)
    blocks = [[f"first:  {first}", f"second: {second}"], [primary(found)]]
    rows = []
    untested: dict[tuple[str, str], list[str]] = {}
    for line in found.lines:
        if line.why:
            values = f"{value(line, line.found.first)} → {value(line, line.found.second)}"
            untested.setdefault((line.task, line.why), []).append(
                f"{shortened(line.name, 40)} {values}"
            )
            continue
        name = f"{shortened(line.task, 30)}/{shortened(line.name, 40)}" + (
            f" ({about(line)})" if about(line) else ""
        )
        both = [value(line, each) for each in (line.found.first, line.found.second)]
        rows.append((name, *both, change(line), bounds(line), p_value(line), verdict(line)))
    if rows:
        head = ("NUMBER", "FIRST", "SECOND", "CHANGE", "95 % INTERVAL", "P", "")
        if (
            max(len(line) for line in aligned([head, *rows], right={1, 2, 3, 5}).splitlines())
            > width
        ):
            # Two lines each: a name that is broken is found by nobody.
            head = ("  FIRST", "SECOND", "CHANGE", "95 % INTERVAL", "P", "")
            table = aligned(
                [head, *((f"  {a}", *rest) for _, a, *rest in rows)], right={0, 1, 2, 4}
            ).splitlines()
            lines = ["NUMBER", table[0]]
            for (name, *_), line in zip(rows, table[1:], strict=True):
                lines += [shortened(name, width), shortened(line, width)]
            blocks.append(lines)
        else:
            blocks.append([aligned([head, *rows], right={1, 2, 3, 5})])
    rest = [
        f"{shortened(task)}: {', '.join(each)} ({why})" for (task, why), each in untested.items()
    ]
    for title, said in (*([("Not tested", rest)] if rest else []), *remarks(found)):
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
