"""A self-starting control chart of single values."""

import numpy as np
from numpy.typing import ArrayLike

from .resampling import Floats

ALPHA = 0.0027
"""Of three standard errors, as control charts have it."""


def limits(values: ArrayLike, alpha: float = ALPHA) -> tuple[Floats, Floats]:
    """Where each value, and the one to come, should lie if nothing changed.

    values: shape (n,), in the order of time. Returns lower and upper limits, shape (n + 1,): the
    interval of prediction, Student's, from all values before; NaN with fewer than two of them, or
    where these are equal. Source: D. M. Hawkins, Self-starting Cusum charts for location and scale,
    1987.
    """
    from scipy.special import stdtrit

    values = np.asarray(values, dtype=float)
    low, high = (np.full(len(values) + 1, np.nan) for _ in range(2))
    for n in range(2, len(values) + 1):
        before = values[:n]
        spread = before.std(ddof=1)
        if spread > 0:
            half = stdtrit(n - 1, 1 - alpha / 2) * spread * np.sqrt(1 + 1 / n)
            low[n], high[n] = before.mean() - half, before.mean() + half
    return low, high
