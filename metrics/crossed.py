"""Means of crossed designs, whose rows share a template and share a word."""

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import FEWEST_CLUSTERS, ROUNDING, Floats, Ints, effective_clusters, satterthwaite
from .student import interval

Labels = Sequence[Hashable] | NDArray[np.int_]


class CrossedMean(NamedTuple):
    """n: rows that count."""

    value: float
    stderr: float
    df: float
    low: float
    high: float
    n: int = 0


UNDEFINED = CrossedMean(np.nan, np.nan, np.nan, np.nan, np.nan)


class Variance(NamedTuple):
    value: float
    df: float


class Clustering(NamedTuple):
    """A sample that the rows belong to; shapes (n,). strata: within what each cluster was drawn."""

    clusters: Labels
    strata: Labels


def crossed_mean(
    outcome: ArrayLike, strata: Labels, *clusterings: Clustering, errors: bool = True
) -> CrossedMean:
    """The mean of all rows, with a standard error clustered in several ways at once, within strata.

    outcome: shape (n,). strata: shape (n,), cells of fixed proportions. If a stratum of a
    clustering holds one cluster, all strata are ignored. NaN without rows; all but the value with
    fewer than two clusters, or without errors; the interval with fewer than `FEWEST_CLUSTERS`
    effective ones.
    """
    y = np.asarray(outcome, dtype=float)
    value = float(y.mean()) if len(y) else np.nan
    if not len(y) or not errors:
        return UNDEFINED._replace(value=value, n=len(y))
    cells, coded = codes(strata), _coded(clusterings)
    if any(_has_single_cluster(c) for c in coded):
        cells = np.zeros(len(y), dtype=int)
        coded = [(clusters, cells) for clusters, _ in coded]
    residuals = y - (np.bincount(cells, y) / np.bincount(cells))[cells]
    # equal values leave rounding, not spread, and values that cancel no mean
    rounding = ROUNDING * max(1.0, float(abs(y).max()))
    residuals[abs(residuals) < rounding] = 0
    value = 0.0 if abs(value) < rounding else value
    variance, df = _variance(residuals / len(y), coded)
    stderr = float(np.sqrt(variance))
    few = any(effective_clusters(np.bincount(of)).round() < FEWEST_CLUSTERS for of, _ in coded)
    low, high = (np.nan, np.nan) if few else map(float, interval(value, stderr, df))
    return CrossedMean(value, stderr, df, low, high, len(y))


def crossed_variance(influence: ArrayLike, *clusterings: Clustering) -> Variance:
    """The variance of a number from how much each row moves it.

    influence: shape (n,), with sum 0 in every stratum. Of one clustering the variance is the sum
    over strata of G / (G - 1) * sum((s - mean(s))^2), with s the sums of the influences in the
    clusters, G effective ones. NaN with a stratum of one cluster, and without rows.
    """
    return _variance(np.asarray(influence, dtype=float), _coded(clusterings))


def combined(single: Sequence[Variance], joint: Sequence[tuple[int, Variance]]) -> Variance:
    """The sum of the single variances, less those of two clusterings, and so on; at least the
    largest.

    joint: (how many clusterings, variance). NaN where one is. Source: Cameron, Gelbach and Miller,
    Robust Inference With Multiway Clustering (2011), section 2.
    """
    total = sum(v.value for v in single) + sum((-1) ** (size + 1) * v.value for size, v in joint)
    if not np.isfinite(total):
        return Variance(np.nan, np.nan)
    total = max(total, *(v.value for v in single))
    squares = sum(v.value**2 / v.df for v in single)
    return Variance(total, float(satterthwaite(total, squares)))


def of_strata(deviations: Floats, strata: Ints, sizes: Floats | Ints) -> Variance:
    """The sum over strata of G / (G - 1) sum(d^2) over its deviations d, of G effective clusters;
    shapes (clusters,)."""
    n = effective_clusters(np.eye(strata.max(initial=-1) + 1)[strata] * sizes[:, None])
    spare = np.maximum(n - 1, ROUNDING)
    parts = n / spare * np.bincount(strata, deviations**2)
    total = float(parts.sum())
    return Variance(total, float(satterthwaite(total, (parts**2 / spare).sum())))


def codes(labels: Labels) -> Ints:
    """Labels as whole numbers from 0; equal labels have equal numbers."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return np.unique(labels, return_inverse=True)[1]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=int)


def intersection(clusterings: Sequence[Ints]) -> Ints:
    """The codes of rows by all of their clusters at once."""
    joint = np.zeros_like(clusterings[0])
    for clusters in clusterings:
        joint = joint * (clusters.max(initial=0) + 1) + clusters
    return codes(joint)


Coded = tuple[Ints, Ints]
"""The codes of a clustering's clusters and strata."""


def _coded(clusterings: Sequence[Clustering]) -> list[Coded]:
    return [(codes(c.clusters), codes(c.strata)) for c in clusterings]


def _strata_of(clustering: Coded) -> Ints:
    clusters, strata = clustering
    return strata[np.unique(clusters, return_index=True)[1]]


def _has_single_cluster(clustering: Coded) -> bool:
    return bool((np.bincount(_strata_of(clustering)) == 1).any())


def _variance(influence: Floats, clusterings: Sequence[Coded]) -> Variance:
    if not len(influence) or any(_has_single_cluster(c) for c in clusterings):
        return Variance(np.nan, np.nan)
    none = np.zeros(len(influence), dtype=int)  # the strata of intersections would be too many
    joint = [
        (size, _of_clusters(influence, (intersection([labels for labels, _ in chosen]), none)))
        for size in range(2, len(clusterings) + 1)
        for chosen in combinations(clusterings, size)
    ]
    return combined([_of_clusters(influence, c) for c in clusterings], joint)


def _of_clusters(influence: Floats, clustering: Coded) -> Variance:
    sums, stratum = np.bincount(clustering[0], influence), _strata_of(clustering)
    means = np.bincount(stratum, sums) / np.bincount(stratum)
    return of_strata(sums - means[stratum], stratum, np.bincount(clustering[0]))
