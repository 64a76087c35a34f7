"""A figure in a page, where the extra `report` is installed, and where it comes from."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from lm_eval_bias import __version__
from lm_eval_bias.exhibit import Exhibit, rows as exhibit_rows
from lm_eval_bias.figures import draw
from lm_eval_bias.figures.process import drawing
from lm_eval_bias.results import verdict
from lm_eval_bias.results.runs import CHAT_TEMPLATE, Run, Runs, by_question, last_date, listed
from lm_eval_bias.show import exhibited
from lm_eval_bias.usage import PAPER, UsageError, nearest

MISSING = "Figures are drawn by the extra `report`: pip install 'lm-eval-bias[report]'."


def source(runs: Sequence[Run], counterpart: str = "") -> str:
    """Where a figure or table comes from: models, tasks and how they were asked, date, program; its
    counterpart in a paper."""
    models = list(dict.fromkeys(run.model for run in runs))
    tasks = (f"{run.task} version {run.version or '?'} ({listed(_asked(run))})" for run in runs)
    parts = [
        ", ".join(models[:3]) + (f" and {len(models) - 3} more" if len(models) > 3 else ""),
        ", ".join(dict.fromkeys(tasks)),
        last_date(runs),
        f"lm-eval-bias {__version__}",
        f"counterpart of {counterpart}" if counterpart else "",
    ]
    return f"Source: {'; '.join(part for part in parts if part)}"


def _asked(run: Run) -> dict[str, str]:
    """The number of its documents, and its condition where that is not the usual one."""
    usual = ("none", "no", "unknown", "main", PAPER)
    condition = {k: v for k, v in run.condition.items() if v not in usual or k == CHAT_TEMPLATE}
    return {"documents": f"{run.n:,}", **condition}


def missing() -> list[str]:
    """A line that says how to get figures, where they cannot be drawn."""
    lost = (
        f"Figures are missing: {drawing.why}. Raise limits of memory, such as that of "
        "`ulimit -v`, and run the command again."
    )
    return [lost] * bool(drawing.why) if find_spec("vl_convert") else [MISSING]


MODEL = "model of the run"
"""The key of the models in the rows of a figure that they share."""


def drawn(
    exhibit: Exhibit,
    models: Sequence[tuple[Run, Sequence[Mapping[str, Any]]]],
    drawing: Callable[..., dict[str, str | bytes]],
    name: str,
    topic: str,
    where: str,
) -> tuple[str, dict[str, str | bytes]]:
    """The heading of an exhibit's figure, and its files. drawing: `figures.draw.files`. topic: the
    heading of what is no test. where: its `source`. Raises ValueError."""
    rows = [{**row, MODEL: run.model} for run, own in models for row in own]
    heading = verdict.heading(exhibit, [run for run, _ in models]) or topic
    return heading, drawing(
        exhibit,
        rows,
        name=name,
        description=f"{exhibit.caption}. {exhibit.how_to_read}".rstrip(". "),
        heading=heading,
        source=where,
        n=exhibited.sizes(exhibit, rows),
        model=MODEL if len(models) > 1 else None,
    )


def of_exhibit(runs: Runs, task: str, name: str) -> dict[str, str | bytes]:
    """The files of the figure of an exhibit. Raises UsageError."""
    asked, known = runs.of_task(task), runs.known.get(task)
    exhibits = known.measure.exhibits if known and known.measure else ()
    figures = {exhibit.name: exhibit for exhibit in exhibits if exhibit.figure}
    if known is None or name not in figures:
        raise UsageError(f"{task} has no figure {name!r}; {nearest(str(name), figures)}")
    exhibit = figures[name]
    shared = exhibit.figure and exhibit.figure.model
    if len(by_question(asked)) > 1 or (len(asked) > 1 and not shared):
        names = ", ".join(run.model for run in asked)
        raise UsageError(f"{name} is of one model, or of one way to ask; read one of {names}")
    models = [(run, rows) for run in asked if (rows := exhibit_rows(exhibit, run.tables))]
    counterpart = f"{known.paper}, {name}" * exhibit.numbered
    try:
        where = source([run for run, _ in models], counterpart)
        return drawn(exhibit, models, draw.files, "figure", exhibit.topic, where)[1]
    except ValueError as error:
        raise UsageError(" ".join(missing()) or f"{name} cannot be drawn: {error}") from error
