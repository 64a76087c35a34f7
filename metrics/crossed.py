"""Means of crossed designs: rows share a template and share a word, and what the design fixes is no
chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .student import ROUNDING

Labels = Sequence[Hashable] | NDArray[np.int_]


class CrossedMean(NamedTuple):
    """A mean, its standard error, the degrees of freedom of that, and the bounds of its confidence
    interval of 95 %."""

    value: float
    stderr: float
    df: float
    low: float
    high: float


class Clustering(NamedTuple):
    """A sample that the rows belong to.

    clusters: shape (n,), what each row has of it: its template, its word. strata: shape (n,), the
    parts of the design within which it was drawn: a word is drawn within its category. Rows of one
    cluster are of one stratum.
    """

    clusters: Labels
    strata: Labels


def crossed_mean(
    outcome: ArrayLike, strata: Labels, *clusterings: Clustering, errors: bool = True
) -> CrossedMean:
    """The mean of all rows, with a standard error clustered in several ways at once, within strata.

    outcome: shape (n,). strata: shape (n,), the cells whose proportions the design fixes: rows
    differ by chance from the mean of their cell alone. clusterings: the samples; rows that share a
    cluster in any of them may depend on each other. The variance is that of `crossed_variance`.
    Where a stratum holds one cluster, chance cannot be told from it: then all strata are given up,
    for every clustering, and what the design fixes is taken for chance too, which makes the error
    larger. The interval has as many degrees of freedom as `crossed_variance` returns. NaN without
    rows; all but the value with fewer than two clusters.
    """
    y = np.asarray(outcome, dtype=float)
    if not len(y):
        return CrossedMean(*[np.nan] * 5)
    value = float(y.mean())
    if not errors:
        return CrossedMean(value, *[np.nan] * 4)
    coded = [Clustering(codes(c.clusters), codes(c.strata)) for c in clusterings]
    if any(_clusters_per_stratum(c).min() < 2 for c in coded):
        nothing = np.zeros(len(y), dtype=int)
        cells, coded = nothing, [Clustering(c.clusters, nothing) for c in coded]
    else:
        cells = codes(strata)
    residuals = y - (np.bincount(cells, y) / np.bincount(cells))[cells]
    # equal values leave rounding, not spread
    residuals[abs(residuals) < ROUNDING * max(1.0, float(abs(y).max()))] = 0
    variance, df = crossed_variance(residuals / len(y), *coded)
    return interval(value, variance, df)


def interval(value: float, variance: float, df: float) -> CrossedMean:
    """A value with what follows from its variance and degrees of freedom; NaN where the variance
    is."""
    stderr = float(np.sqrt(variance))
    half = float(stats.t.ppf(0.975, df)) * stderr if stderr > 0 else stderr
    return CrossedMean(value, stderr, df, value - half, value + half)


def crossed_variance(influence: ArrayLike, *clusterings: Clustering) -> tuple[float, float]:
    """The variance of a number from how much each row moves it, clustered in several ways at once;
    and its degrees of freedom.

    influence: shape (n,), with sum 0 in every stratum: for a mean, the deviation from the mean of
    the row's cell, divided by n. For one clustering, the sum over strata of G / (G - 1) * sum((s -
    mean(s))^2), with s the sums of the influences in the G clusters of a stratum. For several, the
    sum over clusterings, minus that over their pairwise intersections, and so on, and no less than
    the largest of a single clustering. Degrees of freedom: Satterthwaite's, of the strata of the
    single clusterings. NaN with a stratum of one cluster. Source: Cameron, Gelbach and Miller,
    Robust Inference With Multiway Clustering (2011), section 2; Satterthwaite, An Approximate
    Distribution of Estimates of Variance Components (1946).
    """
    e = np.asarray(influence, dtype=float)
    coded = [Clustering(codes(c.clusters), codes(c.strata)) for c in clusterings]
    if not len(e) or any(_clusters_per_stratum(c).min() < 2 for c in coded):
        return np.nan, np.nan
    parts = [_by_stratum(e, c) for c in coded]
    total = sum(float(v.sum()) for v, _ in parts)
    for size in range(2, len(coded) + 1):
        for chosen in combinations(coded, size):
            total += (-1) ** (size + 1) * float(_by_stratum(e, _intersection(chosen))[0].sum())
    total = max(total, *(float(v.sum()) for v, _ in parts))
    spread = sum(float((v**2 / (n - 1)).sum()) for v, n in parts)
    return total, max(1.0, total**2 / spread) if spread > 0 else np.inf


def codes(labels: Labels) -> NDArray[np.int_]:
    """Labels as whole numbers from 0; equal labels have equal numbers."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return np.unique(labels, return_inverse=True)[1]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=int)


def _intersection(chosen: Sequence[Clustering]) -> Clustering:
    """Rows that share the clusters of all; in no strata, of which it has too many to lose one for
    each."""
    joint = np.zeros(len(chosen[0].clusters), dtype=np.int64)
    for clusters, _ in chosen:
        joint = joint * (int(np.max(clusters, initial=0)) + 1) + clusters
    return Clustering(codes(joint), np.zeros(len(joint), dtype=int))


def _clusters_per_stratum(clustering: Clustering) -> NDArray[np.int_]:
    _, first = np.unique(clustering.clusters, return_index=True)
    return np.bincount(np.asarray(clustering.strata)[first])


def _by_stratum(
    e: NDArray[np.float64], clustering: Clustering
) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """The variance that each stratum adds, and its number of clusters."""
    clusters, strata = (np.asarray(x) for x in clustering)
    sums = np.bincount(clusters, e)
    _, first = np.unique(clusters, return_index=True)
    stratum = strata[first]
    n = np.bincount(stratum)
    squares = np.bincount(stratum, (sums - (np.bincount(stratum, sums) / n)[stratum]) ** 2)
    return n / np.maximum(n - 1, 1) * squares, n
