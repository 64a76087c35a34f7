"""What an experiment says of a number."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from math import nan
from typing import Any, NamedTuple

import numpy as np
from lm_eval_bias.metrics.errors import Estimates, Floats

from lm_eval_bias.measure import Metric, Number, with_intervals


class Outcome(NamedTuple):
    """A 95 % interval and the true number."""

    low: float
    high: float
    truth: float
    value: float = nan
    stderr: float = nan


Rng = np.random.Generator
Outcomes = Mapping[str, Outcome | float]
"""Each number's outcome, or a share from 0 to 1, such as whether a null hypothesis was rejected;
NaN where there is none."""
Experiment = Callable[[Rng], Outcomes]
"""Draws a world and asks it."""
Rows = Iterator[tuple[str, Experiment]]
"""The rows of a world's table: label and experiment."""


def reported(number: Any, truth: float) -> Outcome:
    return Outcome(number.low, number.high, truth, number.value, number.stderr)


def estimated(estimates: Estimates, unit: str) -> Number:
    """The only number of estimates, with its interval."""
    return with_intervals(Metric("mean", unit, ""), estimates)[0]


def drawn(rng: Rng, spread: float) -> defaultdict[Any, float]:
    return defaultdict(lambda: rng.normal(0, spread))


def effects(rng: Rng, cluster: np.ndarray, spread: float) -> Floats:
    """A draw for each cluster, at its documents."""
    return rng.normal(0, spread, cluster.max() + 1)[cluster]
