"""Bootstrap over clusters: documents that share a template or a concept are drawn together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 2000
SEED = 20250601


class Estimate(NamedTuple):
    """A number and its standard error; NaN where undefined."""

    value: float
    stderr: float


def cluster_sums(clusters: Sequence[object], columns: ArrayLike) -> tuple[list[object], NDArray[np.float64]]:
    """Add up the rows that belong to one cluster.

    clusters: length n, the label of the cluster of each row; any labels that sort among themselves.
    columns: shape (n, k), what is added up.
    Returns the distinct labels, sorted, and an array of shape (number of labels, k). Sorting makes every
    number that is computed from it independent of the order of the rows.
    """
    columns = np.asarray(columns, dtype=float)
    if columns.ndim != 2 or len(columns) != len(clusters):
        raise ValueError(f"columns must have shape (n, k) with n = {len(clusters)} clusters, found {columns.shape}")
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
) -> NDArray[np.float64]:
    """Standard errors of statistics of cluster totals, by the cluster (block) bootstrap.

    sums: shape (c, k), the sums of each of c clusters, as `cluster_sums` returns them.
    statistic: maps totals of shape (..., k) to values of shape (..., m); it works on all resamples at once.
    resamples: how many times c clusters are drawn with replacement. seed: of the draws.
    Returns shape (m,), the standard deviation (ddof 1) of each value over the resamples in which it is defined.
    NaN with fewer than two clusters, and for a value that is defined in fewer than two resamples.
    Source: Davison and Hinkley, Bootstrap Methods and their Application, section 3.8.
    """
    sums = np.asarray(sums, dtype=float)
    n_clusters = len(sums)
    n_values = np.shape(statistic(sums.sum(axis=0)))[-1]
    if n_clusters < 2:
        return np.full(n_values, np.nan)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=resamples)
    values = statistic(weights @ sums)
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
