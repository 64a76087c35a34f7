"""Which of several estimates are lower than which, and the ranks that this leaves open. Each has an
interval; they are independent."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .holm import holm

QUANTILE = float(stats.norm.ppf(0.975))
"""How many standard errors the half of a 95 % interval is taken for: 1.96."""


class Ranks(NamedTuple):
    """Of k estimates.

    ranks: least and greatest rank of each, 1 is the lowest estimate; shape (k, 2), NaN for one that
    was not ranked. p: adjusted, of each pair, shape (k, k), NaN where none was made. lower: whether
    the one of the row is below that of the column, with p at most alpha. ties: the largest sets of
    estimates of which no two are told apart, each sorted, lowest ranks first. pairs: how many were
    tested.
    """

    ranks: NDArray[np.float64]
    p: NDArray[np.float64]
    lower: NDArray[np.bool_]
    ties: list[tuple[int, ...]]
    pairs: int


def ranks(
    values: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    distances: bool = False,
    alpha: float = 0.05,
) -> Ranks:
    """Ranks of estimates whose 95 % intervals are known, from tests of all pairs, adjusted after
    Holm.

    values, lows, highs: shape (k,). An estimate takes part if it is finite, has both bounds
    (infinite ones too), lies between or on them, and they differ: an interval without width tells
    no uncertainty. distances: rank by |value|, each value being signed.

    A pair: what an interval reaches from its estimate towards the other one stands for 1.96
    standard errors there, and the two are added as squares, since the estimates are independent
    (Zou and Donner 2008). With symmetric intervals this is the z test of a difference. Distances:
    |a| = |b| if a = b or a = -b; it is rejected where both are (an intersection-union test, so
    without adjustment). Ranks: one more than the number of estimates that are told to be lower, to
    k less the number that are told to be higher. All of them hold together in 1 - alpha of the
    cases. Sources: G. Y. Zou, A. Donner, Construction of confidence limits about effect measures.
    Statistics in Medicine, 2008. R. L. Berger, Multiparameter hypothesis testing and acceptance
    sampling. Technometrics, 1982.
    """
    value, low, high = (np.asarray(x, dtype=float) for x in (values, lows, highs))
    k = len(value)
    # mirrored at 0, an estimate keeps what its interval reaches towards 0 and away from it
    if distances:
        turned = value < 0
        value, low, high = (
            np.where(turned, -value, value),
            np.where(turned, -high, low),
            np.where(turned, -low, high),
        )
    takes_part = np.isfinite(value) & (low <= value) & (value <= high) & (low < high)
    ranked = np.flatnonzero(takes_part).tolist()
    down, up = (np.where(takes_part, side, np.nan) for side in (value - low, high - value))
    raw = np.full((k, k), np.nan)
    for i, j in combinations(ranked, 2):
        above, below = (i, j) if value[i] >= value[j] else (j, i)
        z = _errors(value[above] - value[below], down[above], up[below])
        if distances:
            z = min(z, _errors(value[i] + value[j], down[i], down[j]))
        raw[i, j] = 2 * stats.norm.sf(QUANTILE * z)
    return _of_tests(value, raw, ranked, alpha)


def ranks_of_tests(values: ArrayLike, p: ArrayLike) -> Ranks:
    """Ranks of estimates, the lowest first, of which every pair was tested elsewhere; adjusted
    after Holm at 5 %.

    values: shape (k,); of distances, their sizes. One that is not finite has no rank. p: shape (k,
    k), of which what is above the diagonal counts. NaN there says that a pair could not be tested:
    it is not told apart, and does not count.
    """
    value, raw = np.asarray(values, dtype=float), np.triu(np.asarray(p, dtype=float), 1)
    raw = np.where(np.tri(len(value), dtype=bool), np.nan, raw)
    return _of_tests(value, raw, np.flatnonzero(np.isfinite(value)).tolist())


def _of_tests(
    value: NDArray[np.float64], raw: NDArray[np.float64], ranked: list[int], alpha: float = 0.05
) -> Ranks:
    """raw: p of the pairs above the diagonal."""
    k = len(value)
    adjusted = holm(raw)
    p = np.where(np.isnan(adjusted), adjusted.T, adjusted)
    different = np.nan_to_num(p, nan=1.0) <= alpha
    lower = different & (value[:, None] < value[None, :])
    found = np.full((k, 2), np.nan)
    found[ranked, 0] = 1 + lower.sum(axis=0)[ranked]
    found[ranked, 1] = len(ranked) - lower.sum(axis=1)[ranked]
    return Ranks(found, p, lower, _ties(ranked, different, value), int((~np.isnan(raw)).sum()))


def _errors(difference: float, side: float, other: float) -> float:
    """A difference in halves of its interval. 0, which tells nothing, where neither side has any
    width: both stand at an end of their scale, and how far chance moves them is not known."""
    reach = np.hypot(side, other)
    return difference / reach if reach > 0 else 0.0


def _ties(
    members: list[int], different: NDArray[np.bool_], value: NDArray[np.float64]
) -> list[tuple[int, ...]]:
    """The largest sets of which no two differ: begun with all, a set that holds two that differ
    becomes two (Piepho 2004)."""
    sets = [frozenset(members)] if members else []
    for i, j in combinations(members, 2):
        if different[i, j]:
            split = [
                part
                for each in sets
                for part in ((each - {i}, each - {j}) if {i, j} <= each else (each,))
            ]
            sets = [
                part for part in dict.fromkeys(split) if not any(part < other for other in split)
            ]
    ordered = [sorted(each, key=lambda i: (value[i], i)) for each in sets]
    ordered.sort(key=lambda each: [(value[i], i) for i in each])
    return [tuple(sorted(each)) for each in ordered]
