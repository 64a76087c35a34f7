"""Which of several estimates differ, and the ranks that this leaves open."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .errors import Bools, Floats, floats
from .holm import holm

ALPHA = 0.05


class Ranks(NamedTuple):
    """Ranks of k estimates.

    ranks: least and greatest of each, 1 is the lowest; shape (k, 2), NaN for one that is not
    ranked. ties: the largest sets of which no two differ.
    """

    ranks: Floats
    ties: list[tuple[int, ...]]


def ranks(values: ArrayLike, p: ArrayLike) -> Ranks:
    """Ranks of estimates of which every pair was tested; Holm's adjustment is over all pairs.

    values: shape (k,), ranked where finite. p: shape (k, k), used above the diagonal; NaN does not
    count.
    """
    value = floats(values)
    ranked = np.isfinite(value)
    adjusted = holm(np.where(np.tri(len(value), dtype=bool), np.nan, floats(p)))
    different = np.where(np.isnan(adjusted), adjusted.T, adjusted) <= ALPHA
    lower = different & (value[:, None] < value[None, :])
    ends = np.stack([1 + lower.sum(axis=0), ranked.sum() - lower.sum(axis=1)], axis=1)
    return Ranks(np.where(ranked[:, None], ends, np.nan), _ties(ranked, different, value))


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
