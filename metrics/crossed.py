"""Means of crossed designs: rows share a template and share a word, and what the design fixes is no
chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .resampling import Floats, Ints
from .student import ROUNDING, interval

Labels = Sequence[Hashable] | NDArray[np.int_]


class CrossedMean(NamedTuple):
    """A mean, its standard error with degrees of freedom, and its interval of 95 %."""

    value: float
    stderr: float
    df: float
    low: float
    high: float


class Variance(NamedTuple):
    """A variance, and the degrees of freedom with which it is known."""

    value: float
    df: float


class Clustering(NamedTuple):
    """A sample that the rows belong to.

    clusters: shape (n,), the template or word of each row. strata: shape (n,), within what it was
    drawn, such as a word's category. Rows of one cluster are of one stratum.
    """

    clusters: Labels
    strata: Labels


def crossed_mean(
    outcome: ArrayLike, strata: Labels, *clusterings: Clustering, errors: bool = True
) -> CrossedMean:
    """The mean of all rows, with a standard error clustered in several ways at once, within strata.

    outcome: shape (n,). strata: shape (n,), the cells whose proportions the design fixes: a row
    differs by chance from the mean of its cell only. clusterings: rows that share a cluster in any
    of them may depend on each other (`crossed_variance`). If any stratum of a clustering holds one
    cluster, all strata are ignored, which makes the error larger. NaN without rows; all but the
    value with fewer than two clusters, or without errors.
    """
    y = np.asarray(outcome, dtype=float)
    if not len(y) or not errors:
        return CrossedMean(float(y.mean()) if len(y) else np.nan, *[np.nan] * 4)
    value = float(y.mean())
    coded = [Clustering(codes(c.clusters), codes(c.strata)) for c in clusterings]
    if any(_has_single_cluster(c) for c in coded):
        nothing = np.zeros(len(y), dtype=int)
        cells, coded = nothing, [Clustering(c.clusters, nothing) for c in coded]
    else:
        cells = codes(strata)
    residuals = y - (np.bincount(cells, y) / np.bincount(cells))[cells]
    # equal values leave rounding, not spread
    residuals[abs(residuals) < ROUNDING * max(1.0, float(abs(y).max()))] = 0
    variance, df = crossed_variance(residuals / len(y), *coded)
    stderr = float(np.sqrt(variance))
    low, high = interval(value, stderr, df)
    return CrossedMean(value, stderr, df, float(low), float(high))


def crossed_variance(influence: ArrayLike, *clusterings: Clustering) -> Variance:
    """The variance of a number from how much each row moves it, clustered in several ways at once.

    influence: shape (n,), with sum 0 in every stratum: for a mean, the deviation from the mean of
    the row's cell, divided by n. Of one clustering it is the sum over strata of G / (G - 1) *
    sum((s - mean(s))^2), with s the sums of the influences in the G clusters of a stratum. Several
    are `combined`. NaN with a stratum of one cluster. Source: Cameron, Gelbach and Miller, Robust
    Inference With Multiway Clustering (2011), section 2.
    """
    e = np.asarray(influence, dtype=float)
    coded = [Clustering(codes(c.clusters), codes(c.strata)) for c in clusterings]
    if not len(e) or any(_has_single_cluster(c) for c in coded):
        return Variance(np.nan, np.nan)
    joint = [
        (size, _of_clusters(e, _intersection(chosen)))
        for size in range(2, len(coded) + 1)
        for chosen in combinations(coded, size)
    ]
    return combined([_of_clusters(e, c) for c in coded], joint)


def combined(single: Sequence[Variance], joint: Sequence[tuple[int, Variance]]) -> Variance:
    """The variance of a number whose rows are clustered in several ways at once.

    single: of each clustering. joint: (how many clusterings, the variance of their common cells) of
    every two or more. It is the sum of the single ones, less those of two, and so on, and no less
    than the largest single one. Degrees of freedom: Satterthwaite's (1946), of the single ones. NaN
    where a variance is. Source: Cameron, Gelbach and Miller (2011), section 2.
    """
    total = sum(v.value for v in single) + sum((-1) ** (size + 1) * v.value for size, v in joint)
    if not np.isfinite(total):
        return Variance(np.nan, np.nan)
    total = max(total, *(v.value for v in single))
    squares = sum(v.value**2 / v.df for v in single if v.value > 0)
    return Variance(total, max(1.0, total**2 / squares) if squares > 0 else np.inf)


def of_strata(deviations: Floats, strata: Ints) -> Variance:
    """The sum over strata of G / (G - 1) sum(d^2) over its G deviations d; Satterthwaite's df.

    deviations, strata: shape (clusters,).
    """
    n = np.bincount(strata)
    parts = n / np.maximum(n - 1, 1) * np.bincount(strata, deviations**2)
    total, squares = float(parts.sum()), float((parts**2 / np.maximum(n - 1, 1)).sum())
    return Variance(total, max(1.0, total**2 / squares) if squares > 0 else np.inf)


def codes(labels: Labels) -> Ints:
    """Labels as whole numbers from 0; equal labels have equal numbers."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return np.unique(labels, return_inverse=True)[1]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=int)


def _intersection(clusterings: Sequence[Clustering]) -> Clustering:
    """Rows that share the clusters of all; without strata, which would be too many."""
    joint = np.zeros(len(clusterings[0].clusters), dtype=np.int64)
    for clusters in (np.asarray(c.clusters, dtype=int) for c in clusterings):
        joint = joint * (int(np.max(clusters, initial=0)) + 1) + clusters
    return Clustering(codes(joint), np.zeros(len(joint), dtype=int))


def _has_single_cluster(clustering: Clustering) -> bool:
    """Whether a stratum has one cluster."""
    clusters, strata = (np.asarray(x) for x in clustering)
    return bool(np.bincount(strata[np.unique(clusters, return_index=True)[1]]).min() < 2)


def _of_clusters(e: Floats, clustering: Clustering) -> Variance:
    clusters, strata = (np.asarray(x) for x in clustering)
    sums = np.bincount(clusters, e)
    stratum = strata[np.unique(clusters, return_index=True)[1]]
    means = np.bincount(stratum, sums) / np.bincount(stratum)
    return of_strata(sums - means[stratum], stratum)
