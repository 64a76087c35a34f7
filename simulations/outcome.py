"""What an experiment of a simulation says of a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """An interval of 95 % and the true number (NaN: the mean of the values of all experiments)."""

    low: float
    high: float
    truth: float
    value: float = nan
    stderr: float = nan


Experiment = Callable[[np.random.Generator], Mapping[str, Outcome | float]]
"""Draws a world and asks it: each number's outcome, or a share from 0 to 1, such as whether a null
hypothesis was rejected; NaN where there is none."""


def plus_minus(value: float, stderr: float, truth: float, errors: float = 1.96) -> Outcome:
    """The interval of so many errors around a value."""
    return Outcome(value - errors * stderr, value + errors * stderr, truth)
