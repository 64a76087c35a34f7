"""Least squares whose standard errors respect that rows share words, templates or people."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .crossed import codes, intersection
from .resampling import Ints
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

    design: shape (n, k). outcome: shape (n,). clusterings: each of length n. The variance is the
    sum over clusterings, less that over their intersections, each with the factor G / (G - 1) * (n
    - 1) / (n - k); if that is not positive, the largest of one clustering. t has the fewest
    clusters less one degrees of freedom.

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
    coded = [codes(labels) for labels in clusterings]
    df = min(int(labels.max()) for labels in coded)
    if not errors or df < 1 or n <= k:
        return nothing
    residuals = y - x @ beta
    scale = float(abs(y).max())
    # a perfect fit leaves rounding, not spread
    rounding = ROUNDING * max(1.0, scale)
    residuals[abs(residuals) < rounding] = 0

    def variance(labels: Ints) -> float:
        sums = np.bincount(labels, own / size * residuals)
        return len(sums) / (len(sums) - 1) * (n - 1) / (n - k) * float(sums @ sums)

    single = [variance(labels) for labels in coded]
    total = sum(single)
    for many in range(2, len(coded) + 1):
        for chosen in combinations(coded, many):
            total -= (-1) ** many * variance(intersection(chosen))
    if total <= rounding**2:
        total = max(single)
    if total <= rounding**2 and residuals.any():
        return nothing
    stderr = float(np.sqrt(total))
    t, p = student(value, stderr, df, scale)
    if not residuals.any():
        stderr = np.nan
    low, high = interval(value, stderr, df)
    return Coefficient(value, stderr, float(t), float(p), float(low), float(high))
