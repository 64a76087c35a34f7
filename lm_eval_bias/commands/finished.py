"""What the commands on finished runs share: which runs, of which tasks, and how they are found."""

from __future__ import annotations

import argparse
import inspect
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_bias import catalogue
from lm_eval_bias.commands import merge
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError, read_options

if TYPE_CHECKING:
    from lm_eval_bias.report.leaderboard import Answers
    from lm_eval_bias.results.runs import Found, Run


NARROWEST = 60
"""Columns of a terminal, at least; a pipe has 120."""


def add_tasks(parser: argparse.ArgumentParser) -> None:
    """--tasks and --include_path."""
    parser.add_argument("--tasks", metavar="TASK", nargs="+", help="these tasks only")
    add_include_path(parser)


def add_include_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--include_path",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="tasks of your own too, as for lm_eval",
    )


def width() -> int:
    """Columns that a text for the terminal may have."""
    return max(NARROWEST, shutil.get_terminal_size((120, 24)).columns)


def check_output(path: Path, endings: Sequence[str]) -> None:
    """UsageError for a file of another ending, or in a folder that is not there: before the work,
    not after it."""
    if path.suffix not in endings or not path.parent.is_dir():
        raise UsageError(
            f"--output {path}: expected a file {', '.join(endings)} in a folder that is there"
        )


def write(path: Path, content: str) -> None:
    """Raises UsageError for a file that cannot be written."""
    try:
        path.write_text(content, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def known_tasks(include_path: Sequence[Path]) -> dict[str, catalogue.Task]:
    """Every task by its name; of several of one name the last, as the folder of a person's own
    comes last."""
    return {task.name: task for task in catalogue.tasks(include_path)}


def read(
    paths: Sequence[Path], known: Mapping[str, catalogue.Task], tasks: Sequence[str] | None = None
) -> Found:
    """All runs below some folders, those in parts put together; there may be none."""
    from lm_eval_bias.results import runs
    from lm_eval_bias.results.escape import visible

    def declared(name: str) -> runs.Declared | None:
        task = known.get(name)
        return (
            None
            if task is None or task.measure is None
            else runs.Declared(task.measure.metrics, task.option_names)
        )

    def together(name: str, files: Sequence[Path]) -> runs.Together:
        if name not in known:
            raise UsageError(
                f"{name}: its parts cannot be put together, since it is not known here; name its folder with --include_path"
            )
        print(f"putting {len(files)} parts of {visible(name)} together", file=sys.stderr)
        merged = merge.put_together(known[name], files)
        return runs.Together(merged.documents, merged.cells)

    return runs.find(paths, declared, together, tasks)


def find(
    paths: Sequence[Path],
    known: Mapping[str, catalogue.Task],
    tasks: Sequence[str] | None,
    to: str = "compare",
) -> Found:
    """The same. Raises UsageError where none has a number, with what was found in place of one. to:
    what was to be done with them."""
    from lm_eval_bias.results.escape import visible

    found = read(paths, known, tasks)
    if not found.runs:
        raise UsageError(
            "\n".join(
                [f"no run has numbers to {to}", *map(visible, [*found.notes, *not_ours(found)])]
            )
        )
    return found


def not_ours(found: Found) -> list[str]:
    """A line for each task of the harness that was left alone."""
    return [
        f"{other.results}: {other.task} is a task of the harness, without a measure of bias"
        for other in found.others
    ]


def reader(known: Mapping[str, catalogue.Task]) -> Callable[[Run], Answers | None]:
    """Run -> what its samples hold; None for a task that is not known here. UsageError for files
    that are no samples of the task, or of another version of it."""
    from lm_eval_bias.report.leaderboard import Answers, Asked
    from lm_eval_bias.results.escape import visible

    def answers(run: Run) -> Answers | None:
        task = known.get(run.task)
        if task is None or task.measure is None:
            return None
        if sys.stderr.isatty():
            print(
                f"reading the samples of {visible(run.task)} of {visible(run.model)}",
                file=sys.stderr,
            )
        names = list(inspect.signature(task.options).parameters) if task.options else []
        written = samples.common_options(task.name, run.samples, names)
        # What a run wrote was checked there, with files that may be elsewhere now.
        options = {
            **read_options(task.name, {}, task.options),
            **{key: value for key, value in written.items() if key in names},
        }
        documents = {
            found.hash: Asked(found.prompt, found.records, found.settings)
            for found in samples.documents(task, run.samples)
        }
        return Answers(task.measure, documents, options)

    return answers
