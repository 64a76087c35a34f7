"""Bootstrap over clusters: documents that share a template or a concept are drawn together."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESAMPLES = 2000
SEED = 20250601
FEWEST_CLUSTERS = 10
"""Effective clusters, and events of a share, that an error needs."""


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


def effective_clusters(sizes: ArrayLike) -> Floats:
    """How many clusters of equal size would tell as much, (sum n)^2 / sum n^2; 0 without rows.

    sizes: shape (clusters, ...). Source: Kish, Survey Sampling (1965), section 11.7.
    """
    n = np.asarray(sizes, dtype=float)
    squares = (n**2).sum(axis=0)
    return n.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1)


def rounded_clusters(sizes: ArrayLike) -> Ints:
    """`effective_clusters` as whole numbers, of which an error needs `FEWEST_CLUSTERS`."""
    return effective_clusters(sizes).round().astype(int)


def t_interval(
    value: ArrayLike, stderr: ArrayLike, n_clusters: float, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """The ends of the interval of confidence 1 - alpha around values with bootstrap standard errors
    over clusters.

    n_clusters: effective ones. The bootstrap's variance has ddof 0, so it is times n_clusters /
    (n_clusters - 1). NaN where the error is, and with fewer than `FEWEST_CLUSTERS`. Source:
    Cameron, Gelbach and Miller, Bootstrap-Based Improvements for Inference with Clustered Errors
    (2008), section II.
    """
    value, half = np.asarray(value, dtype=float), _stretch(n_clusters, alpha) * np.asarray(stderr)
    return value - half, value + half


def share_interval(
    value: float, stderr: float, n_clusters: float, alpha: float = 0.05
) -> tuple[float, float]:
    """The ends of the interval of a share from 0 to 1: Clopper and Pearson's of so many answers as
    have, independent, an error as large as Student's. alpha: as in `t_interval`.

    With fewer than `FEWEST_CLUSTERS` such answers on one of the two sides the error tells nothing,
    and each cluster is one answer. NaN with fewer clusters, and for an error of 0 of a share that
    is neither 0 nor 1. Source: Korn and Graubard, Survey Methodology 24 (1998), without the number
    of answers.
    """
    if not stderr >= 0 or n_clusters < FEWEST_CLUSTERS or (not stderr and 0 < value < 1):
        return np.nan, np.nan
    alpha = min(alpha, 0.999)  # at 1 both quantiles are 0
    n, error = (
        float(n_clusters),
        stderr * _stretch(n_clusters, alpha) / -scipy.special.ndtri(alpha / 2),
    )
    if stderr:
        answers = value * (1 - value) / error**2
        few = min(value, 1 - value) * answers < FEWEST_CLUSTERS
        n = min(n, answers) if few else answers
    hits, others = value * n, (1 - value) * n
    low = scipy.special.betaincinv(hits, others + 1, alpha / 2) if hits > 0 else 0.0
    high = scipy.special.betaincinv(hits + 1, others, 1 - alpha / 2) if others > 0 else 1.0
    return float(low), float(high)


def _stretch(n_clusters: float, alpha: float) -> float:
    if n_clusters < FEWEST_CLUSTERS:
        return np.nan
    return float(
        -scipy.special.stdtrit(n_clusters - 1, alpha / 2) * np.sqrt(n_clusters / (n_clusters - 1))
    )


@lru_cache(maxsize=2)
def _weights(n_clusters: int, resamples: int) -> Ints:
    """How often each resample draws each cluster, shape (resamples, n_clusters); cached for a
    table."""
    equal = np.full(n_clusters, 1 / n_clusters)
    weights = np.random.default_rng(SEED).multinomial(n_clusters, equal, size=resamples)
    weights.setflags(write=False)
    return weights


def _spread(values: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of fewer than two finite values
        return np.asarray(np.nanstd(np.where(np.isfinite(values), values, np.nan), 0, ddof=1))


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """`numerator / denominator`, NaN where the denominator is zero. Shapes broadcast."""
    numerator = np.asarray(numerator, dtype=float)
    denominator = np.asarray(denominator, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)
