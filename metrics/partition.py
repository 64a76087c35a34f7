"""Partitions of a set: how far two agree, names of clusters, and how firmly items lie in them."""

import warnings
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy.special import comb

from .errors import ROUNDING, SEED, Floats, floats

PERMUTATIONS = 10_000
LEVEL = 0.001
"""Of the tests of StereoMap's Tables 2 and 5."""


class RandTest(NamedTuple):
    """The adjusted Rand index of n items, its one-sided p, and the 95th percentile by chance."""

    n: int
    value: float
    p: float
    null_high: float


def rand_test(
    a: Sequence[Hashable], b: Sequence[Hashable], permutations: int = PERMUTATIONS
) -> RandTest:
    """The adjusted Rand index of two partitions, against chance: the labels of b are shuffled.

    a, b: length n. One cluster against anything else gives 0, as in scikit-learn. All but n is NaN
    with fewer than two items. Source: Hubert and Arabie, Comparing Partitions (1985), equation 5.
    """
    rows, columns = (pd.factorize(np.asarray(list(labels)))[0] for labels in (a, b))
    n = len(rows)
    if n < 2:
        return RandTest(n, np.nan, np.nan, np.nan)
    chance = np.random.default_rng(SEED).permuted(np.tile(columns, (permutations, 1)), axis=1)
    draws = np.concatenate([columns[None], chance])  # the partition itself is the first of them
    cells = (np.arange(len(draws))[:, None] * n + rows) * n + draws
    counts = np.unique(cells, return_counts=True)
    in_both = np.bincount(counts[0] // n**2, comb(counts[1], 2))
    pairs, in_rows, in_columns = (
        comb(sizes, 2).sum() for sizes in ([n], np.bincount(rows), np.bincount(columns))
    )
    expected, most = in_rows * in_columns / pairs, (in_rows + in_columns) / 2
    # Nothing but agreement is possible where both have one cluster, or both one for each item.
    index = in_both * 0 + 1 if most == expected else (in_both - expected) / (most - expected)
    p = np.mean(in_both >= in_both[0])
    return RandTest(n, float(index[0]), float(p), float(np.percentile(index[1:], 95)))


def order(centroids: ArrayLike, points: ArrayLike) -> list[int]:
    """The clusters' numbers, sorted by the sum of the standardised coordinates.

    centroids: shape (k, d). points: shape (n, d), which standardise.
    """
    z = _standardised(centroids, points)
    # Ten decimals: clusters that mirror each other have equal sums but for rounding.
    return np.argsort(z.sum(axis=1).round(10), kind="stable").tolist()


def place_names(centroids: ArrayLike, points: ArrayLike) -> list[str]:
    """Names of clusters by place: "low-high" is low on the first coordinate, high on the second.

    centroids: shape (k, 2). points: shape (n, 2), what was clustered. High is more than half a
    standard deviation (ddof 0) above the mean. Equal names are numbered in `order`.
    """
    names = pd.Series(
        "-".join("low" if z < -0.5 else "high" if z > 0.5 else "middle" for z in row)
        for row in _standardised(centroids, points)
    )
    earlier = names[order(centroids, points)].groupby(names).cumcount()
    numbered = zip(names, earlier.sort_index(), strict=True)
    return [f"{name} {n + 1}" if n else name for name, n in numbered]


def changed_share(labels: ArrayLike, resampled: ArrayLike) -> Floats:
    """The share of resamples in which each item lies outside its cluster, shape (n,).

    labels: shape (n,). resampled: shape (draws, n), matched to `labels` so that as many items as
    possible stay.
    """
    own, draws = np.asarray(labels, dtype=np.int64), np.asarray(resampled, dtype=np.int64)
    outside, k, width = np.zeros(len(own)), own.max() + 1, draws.max() + 1
    for draw in draws:
        table = np.bincount(own * width + draw, minlength=k * width).reshape(k, width)
        match = np.full(k, -1)
        rows, columns = scipy.optimize.linear_sum_assignment(table, maximize=True)
        match[rows] = columns
        outside += draw != match[own]
    return outside / len(draws)


class PairedTest(NamedTuple):
    """t and p of Student's paired t test; sign: ">", "<" or, not significant, "="."""

    t: float
    p: float
    sign: str


def paired_test(first: ArrayLike, second: ArrayLike) -> PairedTest:
    """Whether the first of each pair is larger on average than the second (">"), or smaller ("<").

    first, second: shape (n,); pairs with NaN are left out. Equal differences have t infinite and p
    0; NaN for differences of 0 and fewer than two pairs. Source: StereoMap, Tables 2 and 5.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of few pairs and equal differences
        t, p = map(float, scipy.stats.ttest_rel(first, second, nan_policy="omit"))
    return PairedTest(t, p, (">" if t > 0 else "<") if p < LEVEL else "=")


def _standardised(values: ArrayLike, points: ArrayLike) -> Floats:
    x, known = floats(values), floats(points)
    spread = known.std(axis=0)
    varies = spread > ROUNDING * np.maximum(1.0, abs(known).max(axis=0))
    return np.where(varies, (x - known.mean(axis=0)) / np.where(varies, spread, 1), 0)
