"""Bootstrap over clusters: documents that share a template or a concept are drawn together."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESAMPLES = 2000
SEED = 20250601
FEWEST_CLUSTERS = 10
"""Clusters that a bootstrap needs: with fewer, two standard errors around a mean cover 61 to 89
percent instead of 95."""


class Estimate(NamedTuple):
    """A number and its standard error; NaN where undefined."""

    value: float
    stderr: float


class Interval(NamedTuple):
    """With the 95 % interval."""

    value: float
    stderr: float = np.nan
    low: float = np.nan
    high: float = np.nan


def cluster_sums(clusters: ArrayLike, columns: ArrayLike) -> Floats:
    """The sums of the rows of each cluster, shape (clusters, k), in the order of sorted labels.

    clusters: shape (n,). columns: shape (n, k).
    """
    labels, row = np.unique(np.asarray(clusters), return_inverse=True)
    columns = np.asarray(columns, dtype=float)
    sums = np.zeros((len(labels), *columns.shape[1:]))
    np.add.at(sums, row, columns)
    return sums


def cluster_bootstrap_stderr(
    sums: ArrayLike,
    statistic: Callable[[Floats], Floats],
    resamples: int = RESAMPLES,
    *,
    errors: bool = True,
) -> Floats:
    """Standard errors of statistics of cluster totals, by the cluster (block) bootstrap.

    sums: shape (c, ...), of c clusters. statistic: of totals with any axes in front. Returns the
    standard deviation (ddof 1) of the finite values; NaN with fewer than `FEWEST_CLUSTERS` and
    without errors. Source: Davison and Hinkley, Bootstrap Methods and their Application, section
    3.8.
    """
    sums = np.asarray(sums, dtype=float)
    if len(sums) < FEWEST_CLUSTERS or not errors:
        return np.full(np.shape(statistic(sums.sum(axis=0))), np.nan)
    return _spread(statistic(np.tensordot(_weights(len(sums), resamples), sums, 1)))


def t_interval(
    value: ArrayLike, stderr: ArrayLike, n_clusters: int, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """The ends of the interval of confidence 1 - alpha around values with bootstrap standard errors
    over clusters.

    The bootstrap's variance of a mean has ddof 0, so it is multiplied by n_clusters / (n_clusters -
    1). NaN where the error is, and with fewer than two clusters. Source: Cameron, Gelbach and
    Miller, Bootstrap-Based Improvements for Inference with Clustered Errors (2008), section II.
    """
    df = n_clusters - 1
    stretch = -stdtrit(df, alpha / 2) * np.sqrt(n_clusters / df) if df > 0 else np.nan
    value, half = np.asarray(value, dtype=float), stretch * np.asarray(stderr, dtype=float)
    return value - half, value + half


@lru_cache(maxsize=2)
def _weights(n_clusters: int, resamples: int) -> Ints:
    """How often each resample draws each cluster, shape (resamples, n_clusters); cached for a
    table."""
    equal = np.full(n_clusters, 1 / n_clusters)
    weights = np.random.default_rng(SEED).multinomial(n_clusters, equal, size=resamples)
    weights.setflags(write=False)
    return weights


def _spread(values: Floats) -> Floats:
    defined = np.isfinite(values)
    n = defined.sum(axis=0)
    total = np.where(defined, values, 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.where(defined, (values - total / n) ** 2, 0).sum(axis=0)
        return np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """`numerator / denominator`, NaN where the denominator is zero. Shapes broadcast."""
    numerator = np.asarray(numerator, dtype=float)
    denominator = np.asarray(denominator, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)
