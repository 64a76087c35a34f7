"""Which of several estimates differ, and the ranks that this leaves open."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .errors import Bools, Floats, quiet_division
from .holm import holm
from .student import two_sided

ALPHA = 0.05


class Ranks(NamedTuple):
    """Ranks of k estimates.

    ranks: least and greatest of each, 1 is the lowest; shape (k, 2), NaN for one that is not
    ranked. p: adjusted, shape (k, k). lower: whether the row is significantly below the column.
    ties: the largest sets of which no two differ.
    """

    ranks: Floats
    p: Floats
    lower: Bools
    ties: list[tuple[int, ...]]


def ranks(
    values: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    distances: bool = False,
    df: ArrayLike = np.inf,
) -> Ranks:
    """Ranks of independent estimates with 95 % intervals, by tests of all pairs, adjusted after
    Holm.

    values, lows, highs: shape (k,). An estimate takes part if it is finite and its interval has a
    width. distances: rank by |value|. df: clusters - 1; infinite where unknown.

    The half interval that faces the other estimate, over Student's quantile, is the standard error
    (Zou and Donner 2008) of Welch's test. Distances are equal if a = b or a = -b: the larger p
    counts (Berger 1982).
    """
    value, low, high = (np.asarray(x, dtype=float) for x in (values, lows, highs))
    freedom = np.broadcast_to(np.asarray(df, dtype=float), value.shape)
    if distances:  # mirrored at 0, an estimate keeps what its interval reaches towards 0
        mirrored = value < 0
        low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        value = abs(value)
    ranked = np.isfinite(value) & (low <= value) & (value <= high) & (low < high)
    quantile = scipy.special.stdtrit(freedom, 0.975)
    down, up = (np.where(ranked, side / quantile, np.nan) for side in (value - low, high - value))
    gap = value[:, None] - value
    above = gap >= 0
    p = _welch(gap, np.where(above, down[:, None], up[:, None]), np.where(above, up, down), freedom)
    if distances:
        p = np.maximum(p, _welch(value[:, None] + value, down[:, None], down, freedom))
    return ranks_of_tests(np.where(ranked, value, np.nan), p)


def ranks_of_tests(values: ArrayLike, p: ArrayLike) -> Ranks:
    """Ranks of estimates of which every pair was tested elsewhere.

    values: shape (k,), ranked where finite. p: shape (k, k), used above the diagonal; NaN does not
    count.
    """
    value = np.asarray(values, dtype=float)
    ranked = np.isfinite(value)
    adjusted = holm(np.where(np.tri(len(value), dtype=bool), np.nan, np.asarray(p, dtype=float)))
    p = np.where(np.isnan(adjusted), adjusted.T, adjusted)
    different = p <= ALPHA
    lower = different & (value[:, None] < value[None, :])
    ends = np.stack([1 + lower.sum(axis=0), ranked.sum() - lower.sum(axis=1)], axis=1)
    ends = np.where(ranked[:, None], ends, np.nan)
    return Ranks(ends, p, lower, _ties(ranked, different, value))


def _welch(difference: Floats, one: Floats, other: Floats, df: Floats) -> Floats:
    """P of each pair, shape (k, k); 1 where no error is above 0, at the ends of a scale, or one is
    infinite. one, other: standard errors, as rows and columns."""
    total = one**2 + other**2
    with quiet_division():
        freedom = total**2 / (one**4 / df[:, None] + other**4 / df)
        p = two_sided(difference / np.sqrt(total), freedom)
    return np.where((total > 0) & (total < np.inf) | np.isnan(total), p, 1)


def _ties(ranked: Bools, different: Bools, value: Floats) -> list[tuple[int, ...]]:
    """A set that holds two that differ becomes two, without one or the other (Piepho 2004)."""
    members = np.flatnonzero(ranked).tolist()
    sets = {frozenset(members)} - {frozenset()}
    for i, j in combinations(members, 2):
        if different[i, j]:
            sets = {
                part
                for tie in sets
                for part in ((tie - {i}, tie - {j}) if {i, j} <= tie else (tie,))
            }
            sets = {tie for tie in sets if not any(tie < other for other in sets)}
    ordered = sorted(sets, key=lambda tie: sorted((value[i], i) for i in tie))
    return [tuple(sorted(tie)) for tie in ordered]
