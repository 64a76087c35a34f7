"""Bootstrap over clusters: documents that share a template or a concept are drawn together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

RESAMPLES = 2000
SEED = 20250601
FEWEST_CLUSTERS = 10
"""Clusters that a bootstrap needs: with fewer, two standard errors around a mean cover 61 to 89
percent instead of 95."""


class Estimate(NamedTuple):
    """A number and its standard error; NaN where undefined."""

    value: float
    stderr: float


def cluster_sums(
    clusters: Sequence[object], columns: ArrayLike
) -> tuple[list[object], NDArray[np.float64]]:
    """Add up the rows that belong to one cluster.

    clusters: length n, the label of the cluster of each row; any labels that sort among themselves.
    columns: shape (n, k), what is added up. Returns the distinct labels, sorted, and an array of
    shape (number of labels, k). Sorting makes every number that is computed from it independent of
    the order of the rows.
    """
    columns = np.asarray(columns, dtype=float)
    if columns.ndim != 2 or len(columns) != len(clusters):
        raise ValueError(
            f"columns must have shape (n, k) with n = {len(clusters)} clusters, found {columns.shape}"
        )
    labels = sorted(set(clusters))
    row_of = {label: i for i, label in enumerate(labels)}
    sums = np.zeros((len(labels), columns.shape[1]))
    np.add.at(sums, [row_of[c] for c in clusters], columns)
    return labels, sums


def cluster_bootstrap_stderr(
    sums: ArrayLike,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    resamples: int = RESAMPLES,
    seed: int = SEED,
    *,
    errors: bool = True,
) -> NDArray[np.float64]:
    """Standard errors of statistics of cluster totals, by the cluster (block) bootstrap.

    sums: shape (c, k), the sums of each of c clusters, as `cluster_sums` returns them. statistic:
    maps totals of shape (..., k) to values of shape (..., m); it works on all resamples at once.
    resamples: how many times c clusters are drawn with replacement. seed: of the draws. Returns
    shape (m,), the standard deviation (ddof 1) of each value over the resamples in which it is
    defined. NaN with fewer than `FEWEST_CLUSTERS` clusters, where it would be far too small, and
    for a value that is defined in fewer than two resamples. Source: Davison and Hinkley, Bootstrap
    Methods and their Application, section 3.8.
    """
    sums = np.asarray(sums, dtype=float)
    n_clusters = len(sums)
    n_values = np.shape(statistic(sums.sum(axis=0)))[-1]
    if n_clusters < FEWEST_CLUSTERS or not errors:
        return np.full(n_values, np.nan)
    weights = _weights(n_clusters, resamples, seed)
    values = statistic(weights @ sums)
    return _spread(values)


def cluster_median(
    values: ArrayLike,
    clusters: Sequence[object],
    resamples: int = RESAMPLES,
    seed: int = SEED,
    *,
    errors: bool = True,
) -> Estimate:
    """The median of `values` and its standard error, by the cluster bootstrap.

    values: shape (n,), without NaN; may be infinite. clusters: length n, the label of the cluster
    of each; any labels that sort. The standard error is NaN with fewer than `FEWEST_CLUSTERS`
    clusters; resamples with an infinite median are left out of it.
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        return Estimate(np.nan, np.nan)
    middle = float(np.median(values))
    if not errors:
        return Estimate(middle, np.nan)
    labels, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    if len(labels) < FEWEST_CLUSTERS:
        return Estimate(middle, np.nan)
    order = np.argsort(values, kind="stable")
    ranked, cluster = values[order], cluster.ravel()[order]
    weights = _weights(len(labels), resamples, seed)
    medians = np.empty(resamples)
    chunk = max(1, 2_000_000 // len(values))  # so many draws at a time as take a few megabytes
    for start in range(0, resamples, chunk):
        reached = weights[start : start + chunk, cluster].cumsum(axis=1)
        for i, upto in enumerate(reached):  # how many values stand at or before each rank
            total = upto[-1]
            at = (
                np.searchsorted(upto, [(total - 1) // 2, total // 2], side="right")
                if total
                else None
            )
            medians[start + i] = np.nan if at is None else ranked[at].mean()
    return Estimate(middle, float(_spread(medians[:, None])[0]))


def t_interval(
    value: ArrayLike, stderr: ArrayLike, n_clusters: int, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval around a value with a bootstrap standard error over few clusters: lower and
    upper end, with the shape of `value`.

    Student's t with n_clusters - 1 degrees of freedom; the bootstrap's variance of a mean is that
    of the sample (ddof 0), so it is multiplied by n_clusters / (n_clusters - 1). NaN where the
    standard error is. Source: Cameron, Gelbach and Miller, Bootstrap-Based Improvements for
    Inference with Clustered Errors, section II.
    """
    value, stderr = np.asarray(value, dtype=float), np.asarray(stderr, dtype=float)
    if n_clusters < 2:
        return np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    half = (
        stdtrit(n_clusters - 1, (1 + level) / 2) * np.sqrt(n_clusters / (n_clusters - 1)) * stderr
    )
    return value - half, value + half


@lru_cache(maxsize=2)
def _weights(n_clusters: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """How often each cluster is drawn in each resample, shape (resamples, n_clusters); read-only.

    Kept, as a table asks for the same draws a hundred times, and with a thousand clusters they take
    longer than all that is done with them.
    """
    weights = np.random.default_rng(seed).multinomial(
        n_clusters, np.full(n_clusters, 1 / n_clusters), size=resamples
    )
    weights.setflags(write=False)
    return weights


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviation (ddof 1) down the columns of values of shape (resamples, m), of those
    that are finite."""
    defined = np.isfinite(values)
    n = defined.sum(axis=0)
    total = np.where(defined, values, 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        squares = np.where(defined, (values - mean) ** 2, 0).sum(axis=0)
        return np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.float64]:
    """`numerator / denominator`, NaN where the denominator is zero. Shapes broadcast."""
    numerator = np.asarray(numerator, dtype=float)
    denominator = np.asarray(denominator, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)
