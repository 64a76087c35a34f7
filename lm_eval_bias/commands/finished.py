"""What the commands on finished runs share: which runs, of which tasks, and how they are found."""

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lm_eval_bias import catalogue, writing
from lm_eval_bias.figures.process import drawing
from lm_eval_bias.results.paired import Reader
from lm_eval_bias.results.runs import ACROSS, NAME, Place, Run, Runs, find
from lm_eval_bias.results.samples import Answers
from lm_eval_bias.show.page import WRITERS, Page, text
from lm_eval_bias.show.page_figures import missing
from lm_eval_bias.usage import UsageError

NARROWEST = 60
"""Columns of a terminal, at least; a pipe has 120."""
UNDRAWN = 71
"""The exit status where all is written but figures, since the process that draws them ended."""


def add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", metavar="RUNS", nargs="+", type=Path, help="folders or files of results"
    )


def add_named_runs(parser: argparse.ArgumentParser, help: str) -> None:
    """The runs as `Place`s, and in which conditions they may differ."""
    parser.add_argument(
        "runs",
        metavar="RUNS",
        nargs="+",
        type=Place.of,
        help=f"{help}; NAME=RUNS or a file {NAME} names their model",
    )
    parser.add_argument(
        "--across",
        metavar="CONDITION",
        nargs="+",
        action="extend",
        choices=ACROSS.values(),
        default=[],
        help=f"treat runs that differ in these as separate models: {', '.join(ACROSS.values())}",
    )


def add_metrics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metrics",
        metavar="METRIC",
        nargs="+",
        help="METRIC or TASK/METRIC; default: the primary numbers",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help=f"write to this file: {', '.join(WRITERS)}"
    )


def add_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="TASK", nargs="+", help="only these tasks")
    add_include_path(parser)


def add_include_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--include_path",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="a folder of your own tasks",
    )


def width() -> int:
    """Columns that a text for the terminal may have."""
    return max(NARROWEST, shutil.get_terminal_size((120, 24)).columns)


def show(page: Page, output: Path | None, summary: str) -> None:
    """Print a page, or write it, and print what was left out of it."""
    if output is None:
        print(text(page, width()))
        return
    writing.whole(output, WRITERS[output.suffix](page))
    print(f"wrote {output}: {summary}")
    for title in ("Not compared", "Notes"):
        for line in page.remarks.get(title, ()):
            print(line, file=sys.stderr)


def drawn() -> int:
    """The exit status once all is drawn, and a line where figures are missing."""
    if not drawing.why:
        return 0
    print(*missing(), file=sys.stderr)
    drawing.end()
    return UNDRAWN


def check_output(path: Path | None) -> None:
    """UsageError for a file of another ending, or in a folder that is not there."""
    if path and path.suffix not in WRITERS:
        raise UsageError(f"--output {path}: expected a file {', '.join(WRITERS)}")
    writing.check("--output", path)


def found(arguments: argparse.Namespace) -> Runs:
    """The runs that the arguments of a command name."""
    return find(
        arguments.runs,
        catalogue.measured(arguments.include_path),
        arguments.tasks,
        getattr(arguments, "across", ()),
    )


@contextmanager
def reader(answers: Reader, runs: int) -> Iterator[Reader]:
    """The same reader. A terminal shows a bar."""
    from tqdm import tqdm

    form = "{percentage:3.0f}%|{bar:20}| {elapsed}{postfix}"
    with tqdm(total=runs, bar_format=form, disable=None, leave=False) as bar:

        def read(run: Run) -> Answers | None:
            bar.set_postfix_str(f"{run.task} of {run.model}")
            read = answers(run)
            bar.update()
            return read

        yield read
