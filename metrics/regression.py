"""Least squares whose standard errors respect that rows share words, templates or people."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .crossed import Clustering, crossed_variance
from .student import ROUNDING, interval, student


class Coefficient(NamedTuple):
    value: float
    stderr: float
    t: float
    p: float
    low: float
    high: float


def clustered_coefficient(
    design: ArrayLike, outcome: ArrayLike, *clusterings: Sequence[Hashable], errors: bool = True
) -> Coefficient:
    """The first coefficient of a least-squares fit, with errors clustered in several ways at once.

    design: shape (n, k). outcome: shape (n,). clusterings: each of length n. The variance and its
    degrees of freedom are those of `crossed_variance`.

    All is NaN where the design does not determine the coefficient; all but the value with fewer
    than two clusters, with n <= k, if deviations cancel in every cluster, and without errors. A
    perfect fit has p 0 and no error. Source: Cameron, Gelbach and Miller (2011).
    """
    x, y = np.asarray(design, dtype=float), np.asarray(outcome, dtype=float)
    # What the other columns do not explain of the first one (Frisch and Waugh).
    others = x[:, 1:]
    own = x[:, 0] - others @ np.linalg.lstsq(others, x[:, 0])[0]
    size = own @ own
    if size <= ROUNDING * (x[:, 0] @ x[:, 0]):
        return Coefficient(*[np.nan] * 6)
    value = float(own @ y / size)
    nothing = Coefficient(value, *[np.nan] * 5)
    beta, _, k, _ = np.linalg.lstsq(x, y)
    n = len(y)
    if not errors or n <= k:
        return nothing
    residuals = y - x @ beta
    scale = float(abs(y).max())
    # a perfect fit leaves rounding, not spread
    rounding = ROUNDING * max(1.0, scale)
    residuals[abs(residuals) < rounding] = 0
    one = np.zeros(n, dtype=int)
    samples = (Clustering(labels, one) for labels in clusterings)
    variance, df = crossed_variance(own / size * residuals, *samples)
    if np.isnan(variance) or (variance <= rounding**2 and residuals.any()):
        return nothing
    stderr = float(np.sqrt(variance))
    t, p = student(value, stderr, df, scale)
    if not residuals.any():
        stderr = np.nan
    low, high = interval(value, stderr, df)
    return Coefficient(value, stderr, float(t), float(p), float(low), float(high))
