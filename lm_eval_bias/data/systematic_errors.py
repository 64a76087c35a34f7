"""How far a test moves without bias: systematic_errors.json, made by simulations/null_models.py.

task -> metric -> family of models without meaning -> [mean, spread], as of
`metrics.errors.with_systematic`; "all others" are the families of which chance is all that is seen.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_bias.data.content import frozen
from lm_eval_bias.data.schema import OPTIONS
from lm_eval_bias.usage import Options

FILE = Path(__file__).parents[1] / "benchmarks" / "systematic_errors.json"


@cache
def _known() -> Mapping[str, Any]:
    return frozen(json.loads(FILE.read_text("utf-8")))


def systematic_errors(task: str) -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """Metric -> family -> (mean, spread), of the task or its CI size."""
    known = _known()
    return known.get(task) or known.get(f"{task.removesuffix('_nightly')}_ci") or {}


def of_our_items(options: Options) -> bool:
    """Whether a run is not on a person's own items, whose systematic errors nobody knows."""
    return all(options.get(name) is None for name in OPTIONS)
