"""Student's t."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .errors import ROUNDING, Floats, floats, quiet_division


def student(mean: ArrayLike, stderr: ArrayLike, df: ArrayLike) -> tuple[Floats, Floats]:
    """t = mean / stderr and its two-sided p; shapes broadcast.

    Up to `ROUNDING` is zero. An error of zero: t infinite and p 0; NaN if the mean is zero too. NaN
    where df < 1.
    """
    mean, stderr, df = map(floats, (mean, stderr, df))
    with quiet_division():
        t = np.where(abs(mean) <= ROUNDING, 0.0, mean) / np.where(stderr <= ROUNDING, 0.0, stderr)
    t = np.where(df >= 1, t, np.nan)
    return t, two_sided(t, df)


def two_sided(t: ArrayLike, df: ArrayLike) -> Floats:
    return np.asarray(2 * scipy.special.stdtr(df, -np.abs(t)))


def implied_df(value: float, stderr: float, low: float, high: float, most: float) -> float:
    """The degrees of freedom, from 1 to `most`, of Student's 95 % interval of an error; `most`
    where the sides are unequal or without end."""
    half = high - value
    symmetric = abs(half - (value - low)) <= 1e-6 * half
    if not (stderr > 0 and np.isfinite(half) and symmetric):
        return most
    return float(np.clip(scipy.special.stdtridf(0.975, half / stderr), 1, most))
