"""A figure in a page, where the extra `report` is installed, and where it comes from."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from lm_eval_bias import __version__
from lm_eval_bias.exhibit import Column, Exhibit, Figure, Rows
from lm_eval_bias.figures import draw
from lm_eval_bias.figures.process import drawing
from lm_eval_bias.results.runs import Run, last_date

MISSING = "Figures are drawn by the extra `report`: pip install 'lm-eval-bias[report]'."


def source(runs: Sequence[Run], counterpart: str = "") -> str:
    """Where a figure comes from: models, tasks, date, program; its counterpart in a paper."""
    models = list(dict.fromkeys(run.model for run in runs))
    tasks = (f"{run.task} version {run.version or '?'}" for run in runs)
    parts = [
        ", ".join(models[:3]) + (f" and {len(models) - 3} more" if len(models) > 3 else ""),
        ", ".join(dict.fromkeys(tasks)),
        last_date(runs),
        f"lm-eval-bias {__version__}",
        f"counterpart of {counterpart}" if counterpart else "",
    ]
    return f"Source: {'; '.join(part for part in parts if part)}"


def missing() -> list[str]:
    """A line that says how to get figures, where they cannot be drawn."""
    lost = (
        f"Figures are missing: {drawing.why}. Raise limits of memory, such as that of "
        "`ulimit -v`, and run the command again."
    )
    return [lost] * bool(drawing.why) if find_spec("vl_convert") else [MISSING]


def figure(
    how: Figure,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    seen: str,
    title: str,
    **words: Any,
) -> str:
    """The SVG of rows; empty where it cannot be drawn, such as of models that share a name."""
    if missing():
        return ""
    try:
        return draw.svg(Exhibit(seen, title, Rows(""), columns, "", "", how), rows, **words)
    except ValueError:
        return ""
