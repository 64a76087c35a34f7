"""What the commands on finished runs share: which runs, of which tasks, and how they are found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_bias import catalogue
from lm_eval_bias.commands import merge
from lm_eval_bias.usage import UsageError

if TYPE_CHECKING:
    from lm_eval_bias.report.runs import Found


def add_tasks(parser: argparse.ArgumentParser) -> None:
    """--tasks and --include_path."""
    parser.add_argument("--tasks", metavar="TASK", nargs="+", help="these tasks only")
    parser.add_argument(
        "--include_path", metavar="DIR", type=Path, action="append", default=[], help="tasks of your own too, as for lm_eval"
    )


def known_tasks(include_path: Sequence[Path]) -> dict[str, catalogue.Task]:
    """Every task by its name; of several of one name the last, as the folder of a person's own comes last."""
    return {task.name: task for task in catalogue.tasks(include_path)}


def find(paths: Sequence[Path], known: Mapping[str, catalogue.Task], tasks: Sequence[str] | None) -> Found:
    """All runs below some folders. Raises UsageError where none has a number, with what was found in place of one."""
    from lm_eval_bias.report import runs
    from lm_eval_bias.report.untrusted import visible

    def declared(name: str) -> runs.Declared | None:
        task = known.get(name)
        return None if task is None or task.measure is None else runs.Declared(task.measure.metrics, task.option_names)

    def together(name: str, files: Sequence[Path]) -> runs.Together:
        if name not in known:
            raise UsageError(f"{name}: its parts cannot be put together, since it is not known here; name its folder with --include_path")
        print(f"putting {len(files)} parts of {visible(name)} together", file=sys.stderr)
        merged = merge.put_together(known[name], files)
        return runs.Together(merged.documents, merged.cells)

    found = runs.find(paths, declared, together, tasks)
    if not found.runs:
        told = [f"{other.results}: {other.task} is a task of the harness, without a measure of bias" for other in found.others]
        raise UsageError("\n".join(["no run has numbers to compare", *map(visible, [*found.notes, *told])]))
    return found
