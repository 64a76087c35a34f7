"""Student's t: the one place where t becomes p, where an error becomes an interval, and where
rounding is separated from spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from .resampling import Floats

# Identical values differ from their own mean by about 1e-16 of their size. Thousands of them, added
# up, stay well below this.
ROUNDING = 1e-12


def student(
    mean: ArrayLike, stderr: ArrayLike, df: ArrayLike, scale: float = 1.0, *, errors: bool = True
) -> tuple[Floats, Floats]:
    """t = mean / stderr and its two-sided p (NaN without errors).

    mean, stderr, df: shapes that broadcast. scale: the largest of the values that were averaged. A
    mean or an error of at most `ROUNDING` times the scale (at least 1) is zero. With an error of
    zero t is infinite and p 0, or both NaN where the mean is zero too. NaN where df is below 1.
    """
    mean, stderr, df = (np.asarray(x, dtype=float) for x in (mean, stderr, df))
    nothing = ROUNDING * max(1.0, scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(abs(mean) <= nothing, 0.0, mean) / np.where(stderr <= nothing, 0.0, stderr)
    t = np.where(df >= 1, t, np.nan)
    return t, two_sided(t, df) if errors else np.full(t.shape, np.nan)


def two_sided(t: ArrayLike, df: ArrayLike) -> Floats:
    """The two-sided p of Student's t; df may be infinite. Shapes broadcast."""
    return np.asarray(2 * stdtr(df, -np.abs(t)))


def interval(value: ArrayLike, stderr: ArrayLike, df: ArrayLike) -> tuple[Floats, Floats]:
    """The ends of Student's interval of 95 %; df may be infinite. Shapes broadcast.

    NaN where the error is; the value itself where it is 0.
    """
    value, stderr = np.asarray(value, dtype=float), np.asarray(stderr, dtype=float)
    half = np.where(stderr > 0, stdtrit(df, 0.975), 0) * stderr
    return value - half, value + half
