"""`lm-eval-bias report`: finished runs as pages, with the tables and figures of the papers."""

import argparse
import sys
import textwrap
from pathlib import Path

from lm_eval_bias import catalogue
from lm_eval_bias.commands import finished, plan
from lm_eval_bias.results import verdict
from lm_eval_bias.show import report as page
from lm_eval_bias.show.exhibited import TaskInfo
from lm_eval_bias.show.folder import Folder
from lm_eval_bias.show.page_figures import missing
from lm_eval_bias.usage import UsageError

DESCRIPTION = """Write web pages of finished runs (--log_samples): index.html and one for each
model, with answers, the papers' tables and figures, and warnings. Figures and tables are also
written as files. If a model has several runs of a task, the newest counts; runs with another
wording, chat template or system message give its numbers a range."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    finished.add_named_runs(parser, "folders or files of results")
    add(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("report"),
        help="the folder to write; replaces an earlier report there",
    )
    finished.add_tasks(parser)
    add("--no_figures", action="store_true", help="no figures; needs no extra `report`")
    add(
        "--latex_papers",
        action="store_true",
        help="add the papers' numbers to LaTeX and Markdown tables",
    )
    add("--brief", action="store_true", help="also brief.html, for a model card or a review board")


def run(arguments: argparse.Namespace) -> int:
    Folder(arguments.output)  # what cannot be replaced is refused before anything is read
    finished_runs = finished.found(arguments)
    known = finished_runs.known
    tasks = [
        known[name] for name in sorted({run.task for run in finished_runs.runs} & known.keys())
    ]
    declared = {task.name: task_info(task, known[plan.whole_task(task, known)]) for task in tasks}
    drawing = None
    if not arguments.no_figures:
        if lacking := missing():
            raise UsageError(f"{lacking[0]} Or leave them out with --no_figures.")
        from lm_eval_bias.figures import draw

        drawing = draw.files
    tests = page.write(
        finished_runs, declared, arguments.output, drawing, arguments.brief, arguments.latex_papers
    )
    for note in finished_runs.notes:
        print(note, file=sys.stderr)
    lines = [*verdict.answers(tests), " ".join(verdict.sentences(tests))]
    print(*(textwrap.fill(line, finished.width()) for line in lines), sep="\n\n")
    print(f"wrote {arguments.output / 'index.html'}")
    return finished.drawn()


def task_info(task: catalogue.Task, whole: catalogue.Task | None = None) -> TaskInfo:
    """whole: the task that it is a fixed size of."""
    declared = task.options.declared() if task.options else {}
    return TaskInfo(
        task.about if whole in (None, task) else f"{whole.about} ({task.about})",
        task.paper,
        str(task.metadata.get("version", "")).removesuffix(".0"),
        task.measure.exhibits if task.measure else (),
        {name: task.metadata.get(name, option.default) for name, option in declared.items()},
        task.config.get("generation_kwargs") or {},
    )
