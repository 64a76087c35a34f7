"""What an experiment of a simulation says of a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, NamedTuple

import numpy as np
from lm_eval_bias.metrics.resampling import t_interval


class Outcome(NamedTuple):
    """A 95 % interval and the true number (NaN: the mean value of all experiments)."""

    low: float
    high: float
    truth: float
    value: float = nan
    stderr: float = nan


Experiment = Callable[[np.random.Generator], Mapping[str, Outcome | float]]
"""Draws a world and asks it: each number's outcome, or a share from 0 to 1, such as whether a null
hypothesis was rejected; NaN where there is none."""


def reported(number: Any, truth: float) -> Outcome:
    return Outcome(number.low, number.high, truth, number.value, number.stderr)


def student(estimate: tuple[float, float], clusters: int, truth: float) -> Outcome:
    low, high = t_interval(*estimate, clusters)
    return Outcome(float(low), float(high), truth, *estimate)


def plus_minus(value: float, stderr: float, truth: float) -> Outcome:
    """1.96 errors around a value."""
    return Outcome(value - 1.96 * stderr, value + 1.96 * stderr, truth)
