"""What models without meaning have of each number: null_models.json.

`simulations/null_models.py` writes that file: task -> documents, checksum, and metric -> family of
models -> the numbers of `Family`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parents[1] / "benchmarks" / "null_models.json"


class Family(NamedTuple):
    """A number of one family of models without meaning. low, high: 2.5th and 97.5th percentile over
    models. excluded: percentage whose interval excludes the null value, None without one."""

    name: str
    models: int
    mean: float
    low: float
    high: float
    excluded: float | None

    @property
    def width(self) -> float:
        return self.high - self.low


@cache
def null_models() -> Mapping[str, Any]:
    tasks: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["tasks"]
    return tasks


def families(task: str, metric: str, options: Mapping[str, Any]) -> list[Family]:
    """The families of a number, of the task or of its CI size, whose bands are the widest; none for
    other items than ours.

    options: those of the run.
    """
    if any(options.get(name) is not None for name in ("items", "groups", "data")):
        return []
    known = null_models()
    of_task = known.get(task) or known.get(f"{task.removesuffix('_nightly')}_ci")
    return [
        Family(name, *numbers)
        for name, numbers in (of_task or {"numbers": {}})["numbers"].get(metric, {}).items()
    ]


def band(families: Sequence[Family]) -> tuple[float, float] | None:
    """From the lowest to the highest percentile of all families; None without one."""
    return (min(f.low for f in families), max(f.high for f in families)) if families else None
