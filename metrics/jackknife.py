"""Errors of any number that can be computed from rows, from what changes without some clusters."""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .crossed import Variance, of_strata
from .errors import ROUNDING, SEED, Floats
from .student import interval, two_sided

MOST = 40
"""Groups of clusters of one clustering: so many degrees of freedom, less one for each stratum, are
as good as infinitely many."""
FLIPS = 4096
"""Choices of signs: all of twelve groups, so many drawn ones of more."""


class Groups(NamedTuple):
    """Clusters that are left out together: cluster -> group, and the stratum of each group."""

    of: Mapping[Hashable, int]
    strata: NDArray[np.int_]


def groups_of(clusters: Mapping[Hashable, Hashable], most: int = MOST) -> Groups:
    """Clusters (cluster -> stratum) in groups of nearly the same number, each of one stratum.

    Each cluster is a group if they are no more than `most`; else a stratum has its share, at least
    two. If any stratum has a single cluster, all are ignored.
    """
    members: dict[Hashable, list[Hashable]] = {}
    ordered = sorted(clusters, key=_checksum)
    for cluster in ordered:
        members.setdefault(clusters[cluster], []).append(cluster)
    if any(len(names) < 2 for names in members.values()):
        members = {None: ordered}
    of: dict[Hashable, int] = {}
    strata: list[int] = []
    for i, stratum in enumerate(sorted(members, key=_checksum)):
        n = len(members[stratum])
        if len(clusters) > most:
            n = min(n, max(2, round(most * n / len(clusters))))
        of |= {cluster: len(strata) + k % n for k, cluster in enumerate(members[stratum])}
        strata += [i] * n
    return Groups(of, np.array(strata, dtype=int))


def spread_groups(cells: Mapping[Hashable, Hashable], most: int = MOST) -> Groups:
    """Cells (cell -> stratum) in groups, each with its share of every stratum."""
    ordered = sorted(cells, key=lambda cell: (_checksum(cells[cell]), _checksum(cell)))
    n = min(most, len(ordered))
    return Groups({cell: k % n for k, cell in enumerate(ordered)}, np.zeros(n, dtype=int))


def jackknife_variance(
    changes: ArrayLike, shares: ArrayLike, strata: Sequence[int] | NDArray[np.int_]
) -> Variance:
    """The variance of a number over its clusters, from how it changes without some of them.

    changes: shape (groups,), the number without each group, less the number itself. shares: shape
    (groups,), the part of the rows that was left out. strata: shape (groups,). A group moves the
    number by c = -(1 - share) change, less its share of what its stratum moves; the variance is the
    sum over strata of G / (G - 1) sum(c^2), of G effective groups. If any stratum has one group,
    all are ignored. NaN with a change that is not finite and with fewer than two groups. Source:
    Shao and Tu, The Jackknife and Bootstrap (1995), section 2.3.
    """
    change, share = np.asarray(changes, dtype=float), np.asarray(shares, dtype=float)
    kept = share > 0
    change, share, stratum = change[kept], share[kept], np.asarray(strata, dtype=int)[kept]
    if len(change) < 2 or not np.isfinite(change).all():
        return Variance(np.nan, np.nan)
    if (np.bincount(stratum) == 1).any():
        stratum = np.zeros(len(change), dtype=int)
    moved = (1 - share) * change
    parts = share / np.bincount(stratum, share)[stratum]
    return of_strata(moved - parts * np.bincount(stratum, moved)[stratum], stratum, share)


def sign_flip_p(value: float, changes: ArrayLike, shares: ArrayLike) -> float:
    """The two-sided p of a number whose groups are as likely to raise as to lower it.

    changes, shares: as in `jackknife_variance`, without strata. p is the part of all choices of the
    groups' signs, or of `FLIPS` drawn ones, whose sum is as far from 0. Source: Canay, Romano and
    Shaikh, Randomization Tests Under an Approximate Symmetry Assumption (2017).
    """
    kept = np.asarray(shares) > 0
    change, share = (np.asarray(of, dtype=float)[kept] for of in (changes, shares))
    moved = (share - 1) * change
    added = moved + share * (value - moved.sum())
    sums = abs(_signs(len(added)) @ added)
    return float(np.mean(sums >= sums[0] * (1 - ROUNDING)))


@lru_cache(maxsize=2)
def _signs(groups: int) -> Floats:
    n = 2**groups
    flips = np.arange(n) if n <= FLIPS else np.random.default_rng(SEED).integers(n, size=FLIPS)
    flips[0] = 0
    return (1 - 2 * (flips[:, None] >> np.arange(groups) & 1)).astype(float)


class Test(NamedTuple):
    stderr: float
    low: float
    high: float
    p: float


def against_zero(value: float, variance: Variance, scale: float = 1.0) -> Test:
    """Student's t with the degrees of freedom of the variance; NaN where value or variance is.

    scale: of what the number is a difference of. Rounding alone is an error of 0, without interval
    and p.
    """
    stderr = float(np.sqrt(variance.value))
    if not np.isfinite(value) or np.isnan(stderr):
        return Test(np.nan, np.nan, np.nan, np.nan)
    if stderr <= ROUNDING * max(1.0, scale):
        return Test(0.0, np.nan, np.nan, np.nan)
    low, high = interval(value, stderr, variance.df)
    return Test(stderr, float(low), float(high), float(two_sided(value / stderr, variance.df)))


def _checksum(label: Hashable) -> str:
    """An order that looks random and is the same in every process."""
    return hashlib.sha256(repr(label).encode("utf-8", "surrogatepass")).hexdigest()
