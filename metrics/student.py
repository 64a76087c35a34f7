"""Student's t of a mean against zero: the one place where t becomes p, and where rounding is told
from spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

# Identical values differ from their own mean by about 1e-16 of their size. Thousands of them, added
# up, stay well below this.
ROUNDING = 1e-12


def student(
    mean: ArrayLike, stderr: ArrayLike, df: ArrayLike, scale: float = 1.0, *, errors: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """t = mean / stderr and its two-sided p.

    mean, stderr, df: means, their standard errors and degrees of freedom; shapes that broadcast.
    scale: the largest of the values that were averaged, or of those that they are differences of.
    Values that do not differ have a standard error of zero: t is infinite and p 0, or both NaN
    where the mean is zero too, as in scipy. Unlike there, a standard error or a mean of at most
    `ROUNDING` times the scale (at least 1) is zero: three times 0.1 are three identical values, and
    0.3 - 0.2 - 0.1 is nothing. NaN where df is below 1.
    """
    mean, stderr, df = (np.asarray(x, dtype=float) for x in (mean, stderr, df))
    nothing = ROUNDING * max(1.0, scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(abs(mean) <= nothing, 0.0, mean) / np.where(stderr <= nothing, 0.0, stderr)
        t = np.where(df >= 1, t, np.nan)
        return t, np.full(t.shape, np.nan) if not errors else 2 * stats.t.sf(abs(t), df)
