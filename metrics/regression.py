"""Least squares whose standard errors respect that rows share things: words, templates, people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .resampling import Floats
from .student import ROUNDING, interval, student


class Coefficient(NamedTuple):
    """A coefficient with standard error, t, two-sided p and 95 % interval."""

    value: float
    stderr: float
    t: float
    p: float
    low: float
    high: float


def clustered_coefficient(
    design: ArrayLike, outcome: ArrayLike, *clusterings: Sequence[object], errors: bool = True
) -> Coefficient:
    """The first coefficient of a least-squares fit, with a standard error clustered in several ways
    at once.

    design: shape (n, k), the first column is the one of interest. outcome: shape (n,). clusterings:
    each of length n, the cluster of each row; rows that share a cluster in any of them may depend
    on each other. The variance is the sum over clusterings, minus that over their pairwise
    intersections, and so on, each with the factor G / (G - 1) * (n - 1) / (n - k); if that is not
    positive, the largest variance of a single clustering. t has the fewest clusters less one
    degrees of freedom. All is NaN where the design does not determine the coefficient; all but the
    value with fewer than two clusters, with n <= k, if deviations cancel in every cluster, and
    without errors. A perfect fit has no error and no interval (NaN); t is infinite and p 0, or both
    NaN for a value of zero. Source: Cameron, Gelbach and Miller, Robust Inference With Multiway
    Clustering (2011), section 2.
    """
    x, y = np.asarray(design, dtype=float), np.asarray(outcome, dtype=float)
    nan = np.nan
    # The coefficient is determined if its column is not a combination of the others.
    if not len(x) or _rank(x) == _rank(x[:, 1:]):
        return Coefficient(nan, nan, nan, nan, nan, nan)
    x = x[:, _independent_columns(x)]
    n, k = x.shape
    cross = x.T @ x
    beta = np.linalg.solve(cross, x.T @ y)
    value = float(beta[0])
    nothing = Coefficient(value, nan, nan, nan, nan, nan)
    if not errors or min(len(set(labels)) for labels in clusterings) < 2 or n <= k:
        return nothing
    residuals = y - x @ beta
    scale = float(abs(y).max())
    # a perfect fit leaves rounding, not spread
    residuals[abs(residuals) < ROUNDING * max(1.0, scale)] = 0
    scores = (x @ np.linalg.inv(cross)[:, 0]) * residuals

    def variance(*labels: Sequence[object]) -> float:
        _, index = np.unique(
            [repr(label) for label in zip(*labels, strict=True)], return_inverse=True
        )
        sums = np.bincount(index, weights=scores)
        factor = len(sums) / (len(sums) - 1)
        return factor * (n - 1) / (n - k) * float(sums @ sums)

    total = 0.0
    for size in range(1, len(clusterings) + 1):
        for chosen in combinations(clusterings, size):
            total += (-1) ** (size + 1) * variance(*chosen)
    if total <= 0:
        total = max(map(variance, clusterings))
    if total <= 0 and residuals.any():
        return nothing
    stderr = float(np.sqrt(total))
    df = min(len(set(labels)) for labels in clusterings) - 1
    t, p = student(value, stderr, df, scale)
    if not residuals.any():
        stderr = nan
    low, high = interval(value, stderr, df)
    return Coefficient(value, stderr, float(t), float(p), float(low), float(high))


def _independent_columns(design: Floats) -> list[int]:
    """Columns that are no combination of those before them."""
    kept: list[int] = []
    for j in range(design.shape[1]):
        if _rank(design[:, [*kept, j]]) == len(kept) + 1:
            kept.append(j)
    return kept


def _rank(matrix: Floats) -> int:
    """0 of a matrix without rows or columns, where numpy before 2.4 raises."""
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0
