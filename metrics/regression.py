"""Least squares whose standard errors respect that rows share things: words, templates, people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from .student import ROUNDING, student


class Coefficient(NamedTuple):
    """A coefficient, its standard error, t, two-sided p, and the bounds of its confidence interval
    of 95 %."""

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
    each of length n, the label of the cluster that a row belongs to; rows that share a cluster in
    any of them may depend on each other. The variance is the sum over clusterings, minus that over
    their pairwise intersections, and so on, each with the usual factor G / (G - 1) * (n - 1) / (n -
    k); where that sum is not positive, the largest variance of a single clustering. t has as many
    degrees of freedom as the clustering of fewest clusters, less one. All is NaN where the design
    does not determine the coefficient; all but the value with fewer than two clusters, without a
    row more than columns, or if deviations cancel in every cluster. A perfect fit has no spread
    from which to tell an error: standard error and bounds are NaN, t is infinite and p 0, or both
    NaN for a value of zero. Source: Cameron, Gelbach and Miller, Robust Inference With Multiway
    Clustering (2011), section 2.
    """
    design, outcome = np.asarray(design, dtype=float), np.asarray(outcome, dtype=float)
    nan = np.nan
    kept = _independent_columns(design) if len(design) else []
    if 0 not in kept:
        return Coefficient(nan, nan, nan, nan, nan, nan)
    # The coefficient is determined if its column is not a combination of the others.
    if _rank(design) == _rank(design[:, 1:]):
        return Coefficient(nan, nan, nan, nan, nan, nan)
    design = design[:, kept]
    n, k = design.shape
    cross = design.T @ design
    beta = np.linalg.solve(cross, design.T @ outcome)
    value = float(beta[0])
    if not errors:
        return Coefficient(value, nan, nan, nan, nan, nan)
    residuals = outcome - design @ beta
    scale = float(abs(outcome).max())
    # a perfect fit leaves rounding, not spread
    residuals[abs(residuals) < ROUNDING * max(1.0, scale)] = 0
    scores = (design @ np.linalg.inv(cross)[:, 0]) * residuals
    counts = [len(set(labels)) for labels in clusterings]
    if min(counts) < 2 or n <= k:
        return Coefficient(value, nan, nan, nan, nan, nan)

    def variance(labels: Sequence[object]) -> float:
        _, index = np.unique([repr(label) for label in labels], return_inverse=True)
        sums = np.bincount(index, weights=scores)
        factor = len(sums) / (len(sums) - 1) if len(sums) > 1 else 1.0
        return factor * (n - 1) / (n - k) * float(sums @ sums)

    total = 0.0
    for size in range(1, len(clusterings) + 1):
        for chosen in combinations(clusterings, size):
            total += (-1) ** (size + 1) * variance(list(zip(*chosen, strict=True)))
    if total <= 0:
        total = max(variance([(label,) for label in labels]) for labels in clusterings)
    if total <= 0 and residuals.any():
        return Coefficient(value, nan, nan, nan, nan, nan)
    stderr = float(np.sqrt(total))
    df = min(counts) - 1
    t, p = student(value, stderr, df, scale)
    if not residuals.any():
        stderr = nan
    half = float(stats.t.ppf(0.975, df)) * stderr
    return Coefficient(value, stderr, float(t), float(p), value - half, value + half)


def _independent_columns(design: np.ndarray) -> list[int]:
    """Columns that are no combination of those before them."""
    kept: list[int] = []
    for j in range(design.shape[1]):
        if _rank(design[:, [*kept, j]]) == len(kept) + 1:
            kept.append(j)
    return kept


def _rank(matrix: np.ndarray) -> int:
    """The rank; 0 of a matrix without rows or columns, where numpy before 2.4 raises (the maximum
    of no singular values)."""
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0
