"""Which of several independent estimates differ, and the ranks that this leaves open."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from .holm import holm
from .resampling import Bools, Floats
from .student import two_sided


class Ranks(NamedTuple):
    """Ranks of k estimates.

    ranks: least and greatest rank of each, 1 is the lowest estimate; shape (k, 2), NaN for one that
    is not ranked. p: adjusted, of each pair, shape (k, k), NaN without a test. lower: whether the
    estimate of the row is significantly below that of the column. ties: the largest sets of which
    no two differ significantly, lowest ranks first. pairs: how many were tested.
    """

    ranks: Floats
    p: Floats
    lower: Bools
    ties: list[tuple[int, ...]]
    pairs: int


def ranks(
    values: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    distances: bool = False,
    alpha: float = 0.05,
    df: ArrayLike = np.inf,
) -> Ranks:
    """Ranks of estimates with 95 % intervals, from tests of all pairs, adjusted after Holm.

    values, lows, highs: shape (k,). An estimate takes part if it is finite and lies within an
    interval that has a width; its ends may be infinite. distances: rank by |value|. df: the degrees
    of freedom of each interval, clusters - 1; shape (k,) or one for all; infinite where unknown.

    The part of an interval that faces the other estimate is Student's quantile times the standard
    error there. The squares of the two errors are added, as the estimates are independent (Zou and
    Donner 2008), and their difference has Satterthwaite's degrees of freedom (Welch's test).
    Distances: |a| = |b| if a = b or a = -b; the larger p of both counts (an intersection-union
    test). Least rank: one more than the number of estimates that are significantly lower; greatest:
    k less the number that are significantly higher. All hold together with probability 1 - alpha.
    Sources: Zou and Donner, Construction of confidence limits about effect measures, Statistics in
    Medicine, 2008. Berger, Multiparameter hypothesis testing and acceptance sampling,
    Technometrics, 1982.
    """
    value, low, high = (np.asarray(x, dtype=float) for x in (values, lows, highs))
    k = len(value)
    freedom = np.broadcast_to(np.asarray(df, dtype=float), k)
    if distances:  # mirrored at 0, an estimate keeps what its interval reaches towards 0
        mirrored = value < 0
        low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        value = abs(value)
    ranked = np.isfinite(value) & (low <= value) & (value <= high) & (low < high)
    quantile = stdtrit(freedom, 0.975)
    down, up = (np.where(ranked, side, np.nan) / quantile for side in (value - low, high - value))
    raw = np.full((k, k), np.nan)
    for i, j in combinations(np.flatnonzero(ranked), 2):
        above, below = (i, j) if value[i] >= value[j] else (j, i)
        errors = np.array([down[above], up[below]])
        raw[i, j] = _welch(value[above] - value[below], errors, freedom[[above, below]])
        if distances:
            errors = np.array([down[i], down[j]])
            opposite = _welch(value[i] + value[j], errors, freedom[[i, j]])
            raw[i, j] = max(raw[i, j], opposite)
    return _of_tests(value, raw, ranked, alpha)


def ranks_of_tests(values: ArrayLike, p: ArrayLike) -> Ranks:
    """Ranks of estimates of which every pair was tested elsewhere; adjusted after Holm at 5 %.

    values: shape (k,); of distances, their sizes. One that is not finite has no rank. p: shape (k,
    k), used above the diagonal; NaN for a pair that could not be tested, which does not count.
    """
    value = np.asarray(values, dtype=float)
    raw = np.where(np.tri(len(value), dtype=bool), np.nan, np.asarray(p, dtype=float))
    return _of_tests(value, raw, np.isfinite(value), 0.05)


def _welch(difference: float, errors: Floats, df: Floats) -> float:
    """The p of a difference. 1 where neither error is above 0: both estimates stand at an end of
    their scale, and how far chance moves them is unknown."""
    variances = errors**2
    total = variances.sum()
    if not 0 < total < np.inf:
        return 1.0
    with np.errstate(divide="ignore"):
        return float(two_sided(difference / np.sqrt(total), total**2 / (variances**2 / df).sum()))


def _of_tests(value: Floats, raw: Floats, ranked: Bools, alpha: float) -> Ranks:
    """raw: p of the pairs above the diagonal."""
    adjusted = holm(raw)
    p = np.where(np.isnan(adjusted), adjusted.T, adjusted)
    different = np.nan_to_num(p, nan=1.0) <= alpha
    lower = different & (value[:, None] < value[None, :])
    ends = np.stack([1 + lower.sum(axis=0), ranked.sum() - lower.sum(axis=1)], axis=1)
    ends = np.where(ranked[:, None], ends, np.nan)
    return Ranks(ends, p, lower, _ties(ranked, different, value), int((~np.isnan(raw)).sum()))


def _ties(ranked: Bools, different: Bools, value: Floats) -> list[tuple[int, ...]]:
    """The largest sets of which no two differ: a set that holds two that differ becomes two
    (Piepho 2004)."""
    members = np.flatnonzero(ranked).tolist()
    sets = [frozenset(members)] if members else []
    for i, j in combinations(members, 2):
        if different[i, j]:
            parts = [part for tie in sets for part in (tie - {i}, tie - {j}) if {i, j} <= tie]
            sets = list(dict.fromkeys([tie for tie in sets if not {i, j} <= tie] + parts))
            sets = [tie for tie in sets if not any(tie < other for other in sets)]
    ordered = [sorted(tie, key=lambda i: (value[i], i)) for tie in sets]
    ordered.sort(key=lambda tie: [(value[i], i) for i in tie])
    return [tuple(sorted(tie)) for tie in ordered]
