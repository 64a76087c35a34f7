"""`lm-eval-bias report`: finished runs as pages, with the tables and figures of the papers."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lm_eval_bias import catalogue
from lm_eval_bias.commands import filled, finished, plan
from lm_eval_bias.data import paper_values
from lm_eval_bias.results import runs, verdict
from lm_eval_bias.show import report as page
from lm_eval_bias.show.exhibited import TaskInfo
from lm_eval_bias.show.folder import Folder
from lm_eval_bias.usage import UsageError

GROUP = "implicit_bias"
"""The group of the default tasks: the overview says which of them no run has."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = filled(
        "Read the results that `lm_eval --output_path --log_samples` wrote, and write an overview, "
        "index.html, and a page for each model: what was found, the tables and figures of the "
        "papers with what these print beside, warnings, and some of the questions with their "
        "answers. The pages need no network and no script. Figures stand beside them as SVG, "
        "PNG and PDF, tables as CSV and LaTeX. Of two runs of the same model and task the newest "
        "counts; those in another wording, chat template or system message give its numbers a "
        "range. No model is asked."
    )
    finished.add_named_runs(parser, "folders or files that lm_eval or `lm-eval-bias merge` wrote")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("report"),
        help="where to; an earlier report there is replaced",
    )
    parser.add_argument(
        "--name",
        metavar="RUN=NAME",
        type=runs.Place.named,
        action="append",
        default=[],
        help="the name of the model of one folder or file below RUNS",
    )
    finished.add_tasks(parser)
    parser.add_argument(
        "--no_figures",
        action="store_true",
        help="tables alone, which need nothing of the extra `report`",
    )
    parser.add_argument(
        "--serif",
        action="store_true",
        help="figures in Times, or in what the machine has like it, for papers set in it",
    )
    parser.add_argument(
        "--latex_papers",
        action="store_true",
        help="the papers' numbers in the LaTeX tables, too, as on the page",
    )
    parser.add_argument(
        "--brief",
        action="store_true",
        help="also brief.html, for a model card or a review board: what was asked, the answers, "
        "how sure, how to repeat it; and brief.pdf where a Chromium is on PATH",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    Folder(arguments.output)  # what cannot be replaced is refused before anything is read
    known = finished.known_tasks(arguments.include_path)
    finished_runs = runs.find(
        arguments.runs, known, arguments.tasks, arguments.across, arguments.name
    )
    tasks = {run.task for run in finished_runs.runs}
    declared = {
        name: _known(task, known[plan.whole_task(task, known)])._replace(
            folder=next((str(p) for p in arguments.include_path if p in task.path.parents), "")
        )
        for name, task in known.items()
        if name in tasks or name in expected()
    }
    drawing = None
    if not arguments.no_figures:
        if find_spec("vl_convert") is None:
            raise UsageError(
                "figures are drawn by the extra `report`: pip install 'lm-eval-bias[report]', or "
                "leave them out with --no_figures"
            )
        from lm_eval_bias.figures import draw

        drawing = partial(draw.files, serif=arguments.serif)
    tests = page.write(
        finished_runs,
        declared,
        paper_values.of_task,
        expected(),
        arguments.output,
        drawing,
        printed if arguments.brief else None,
        arguments.latex_papers,
    )
    for note in finished_runs.notes:
        print(note, file=sys.stderr)
    lines = [*verdict.answers(tests), " ".join(verdict.sentences(tests))]
    print(*(textwrap.fill(line, finished.width()) for line in lines), sep="\n\n")
    print(f"wrote {arguments.output / 'index.html'}")
    return 0


def chromium() -> str | None:
    """The Chromium on PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def printed(html: Path) -> bytes | None:
    """A page as PDF, by the Chromium on PATH; None, and a line that says so, where that fails."""
    program = chromium()
    if program is None:
        print("no Chromium on PATH, so no brief.pdf: print brief.html", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        pdf = Path(folder, "brief.pdf")
        command = [program, "--headless", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium's sandbox refuses root
            command.append("--no-sandbox")
        command += ["--no-pdf-header-footer", f"--print-to-pdf={pdf}", html.absolute().as_uri()]
        done = subprocess.run(command, capture_output=True)
        if pdf.is_file():
            return pdf.read_bytes()
        print(f"{program} made no brief.pdf (status {done.returncode})", file=sys.stderr)
        return None


def expected() -> list[str]:
    group = catalogue.read(Path(catalogue.tasks_folder()) / f"{GROUP}.yaml")
    return [str(task) for task in group["task"]]


def _known(task: catalogue.Task, whole: catalogue.Task | None = None) -> Any:
    """whole: the task that it is a fixed size of, or itself."""
    declared = task.options.declared() if task.options else {}
    defaults = {name: task.metadata.get(name, option.default) for name, option in declared.items()}
    version = task.metadata.get("version", "")
    plain = int(version) if isinstance(version, float) and version.is_integer() else version
    measure = task.measure
    return TaskInfo(
        task.about if whole in (None, task) else f"{whole.about} ({task.about})",
        task.paper,
        str(plain),
        measure.exhibits if measure else (),
        defaults,
        task.config.get("generation_kwargs") or {},
    )
