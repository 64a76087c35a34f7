"""How far a number is from what other clusters would have given, whatever it is: computed again
without some of them, each in turn.

Made for numbers of which nothing is known but how to compute them from rows: means, ratios,
medians, spreads. Two such numbers of the same clusters, left out together, have a difference whose
error knows what the two share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .student import ROUNDING

MOST = 40
"""Groups of clusters of one clustering: so many degrees of freedom, less one for each stratum, are
as good as infinitely many."""


class Groups(NamedTuple):
    """Clusters put into groups that are left out together.

    of: cluster -> its group, from 0. strata: shape (groups,), the stratum of each group, from 0.
    """

    of: Mapping[Hashable, int]
    strata: NDArray[np.int_]


class Variance(NamedTuple):
    """A variance, and the degrees of freedom with which it is known."""

    value: float
    df: float


def groups_of(clusters: Mapping[Hashable, Hashable], most: int = MOST) -> Groups:
    """Clusters in groups of nearly the same number, each of clusters of one stratum.

    clusters: cluster -> its stratum. Each cluster is a group of its own where they are no more than
    `most`; else a stratum has as many groups as its share of them, and two at least. Where a
    stratum has one cluster alone, chance cannot be told from it, and strata are given up. Which
    clusters share a group depends on their names alone, by a checksum: not on their order, and not
    on Python's seed.
    """
    members: dict[Hashable, list[Hashable]] = {}
    for cluster in sorted(clusters, key=_checksum):
        members.setdefault(clusters[cluster], []).append(cluster)
    if any(len(each) < 2 for each in members.values()):
        members = {None: [cluster for cluster in sorted(clusters, key=_checksum)]}
    of: dict[Hashable, int] = {}
    strata: list[int] = []
    for i, stratum in enumerate(sorted(members, key=_checksum)):
        mine = members[stratum]
        n = (
            len(mine)
            if len(clusters) <= most
            else min(len(mine), max(2, round(most * len(mine) / len(clusters))))
        )
        of |= {cluster: len(strata) + k % n for k, cluster in enumerate(mine)}
        strata += [i] * n
    return Groups(of, np.array(strata, dtype=int))


def spread_groups(cells: Mapping[Hashable, Hashable], most: int = MOST) -> Groups:
    """Cells of crossed clusterings in groups of nearly the same number, each with its share of
    every stratum; of no strata themselves.

    cells: cell -> its stratum.
    """
    ordered = sorted(cells, key=lambda cell: (_checksum(cells[cell]), _checksum(cell)))
    n = min(most, len(ordered))
    return Groups({cell: k % n for k, cell in enumerate(ordered)}, np.zeros(n, dtype=int))


def jackknife_variance(
    changes: ArrayLike, shares: ArrayLike, strata: Sequence[int] | NDArray[np.int_]
) -> Variance:
    """The variance of a number over its clusters, from how it changes without some of them.

    changes: shape (groups,), the number without each group of clusters, less the number itself.
    shares: shape (groups,), the part of the rows that was left out then, below 1. strata: shape
    (groups,), within which the clusters were drawn. A group moves the number by c = -(1 - share)
    change, less its part, by share, of what all groups of its stratum move it together: what a
    stratum differs from others is no chance. The variance is the sum over strata of G / (G - 1)
    sum(c^2) over its G groups; that of a mean is then what `crossed.crossed_variance` has of these
    groups. Degrees of freedom: Satterthwaite's. Groups without rows (share 0) do not count; where a
    stratum has one group with rows, strata are given up. NaN with a change that is not finite, and
    with fewer than two groups. Source: Shao and Tu, The Jackknife and Bootstrap (1995), sections
    2.3 (groups) and 6.2 (strata).
    """
    change, share = np.asarray(changes, dtype=float), np.asarray(shares, dtype=float)
    kept = share > 0
    change, share, stratum = change[kept], share[kept], np.asarray(strata, dtype=int)[kept]
    if len(change) < 2 or not np.isfinite(change).all() or (share >= 1).any():
        return Variance(np.nan, np.nan)
    n = np.bincount(stratum)
    if (n == 1).any():
        stratum, n = np.zeros(len(change), dtype=int), np.array([len(change)])
    moved = (1 - share) * change
    moved = (
        moved
        - (share / np.bincount(stratum, share)[stratum]) * np.bincount(stratum, moved)[stratum]
    )
    of_strata = n / np.maximum(n - 1, 1) * np.bincount(stratum, moved**2)
    total, spread = float(of_strata.sum()), float((of_strata**2 / np.maximum(n - 1, 1)).sum())
    return Variance(total, max(1.0, total**2 / spread) if spread > 0 else np.inf)


def crossed_jackknife_variance(
    single: Sequence[Variance], joint: Sequence[tuple[int, Variance]]
) -> Variance:
    """The variance of a number whose rows are clustered in several ways at once.

    single: of each clustering. joint: (how many clusterings, the variance of their common cells) of
    every two or more. It is the sum of the single ones, less those of two, and so on, and no less
    than the largest single one. Degrees of freedom: Satterthwaite's, of the single ones. Source:
    Cameron, Gelbach and Miller, Robust Inference With Multiway Clustering (2011), section 2, as
    `crossed.crossed_variance`.
    """
    total = sum(each.value for each in single) + sum(
        (-1) ** (size + 1) * each.value for size, each in joint
    )
    if not np.isfinite(total):
        return Variance(np.nan, np.nan)
    total = max(total, *(each.value for each in single))
    spread = sum(each.value**2 / each.df for each in single if each.value > 0)
    return Variance(total, max(1.0, total**2 / spread) if spread > 0 else np.inf)


class Test(NamedTuple):
    """A number against zero: its standard error, the bounds of its interval of 95 %, and its
    two-sided p."""

    stderr: float
    low: float
    high: float
    p: float


def against_zero(value: float, variance: Variance, scale: float = 1.0) -> Test:
    """Student's t with the degrees of freedom of the variance.

    scale: of what the number is a difference of. A variance of nothing, give or take rounding, says
    that all clusters agree, not that the number is certain: the standard error is 0 then, and
    interval and p are NaN. So they are where value or variance is.
    """
    stderr = float(np.sqrt(variance.value))
    if not np.isfinite(value) or np.isnan(stderr):
        return Test(np.nan, np.nan, np.nan, np.nan)
    if stderr <= ROUNDING * max(1.0, scale):
        return Test(0.0, np.nan, np.nan, np.nan)
    half = float(stats.t.ppf(0.975, variance.df)) * stderr
    return Test(
        stderr, value - half, value + half, float(2 * stats.t.sf(abs(value) / stderr, variance.df))
    )


def _checksum(label: Hashable) -> str:
    """In which labels have an order that looks random, the same in every process."""
    return hashlib.sha256(repr(label).encode("utf-8", "surrogatepass")).hexdigest()
