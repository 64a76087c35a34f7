"""Spearman's rank correlation with its test, its interval, and the stars that tables print."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .errors import NORMAL, Floats, floats, ratio
from .student import two_sided

FEWEST = 4
"""Pairs that a rank correlation needs: with three, the interval's error divides by zero."""


class RankCorrelation(NamedTuple):
    n: int
    rho: float
    p: float
    low: float
    high: float
    stars: str


def rank_correlation(x: ArrayLike, y: ArrayLike) -> RankCorrelation:
    """Whether two quantities rise together over the same items.

    x, y: shape (n,); pairs with NaN are left out. NaN with fewer than `FEWEST` pairs or if either
    does not vary. Source: StereoMap, Table 8.
    """
    (rho,), (n,) = correlations(x, y, np.ones((1, len(np.asarray(x)))))
    low, high = map(float, interval(rho, n))
    p, stars = significance(rho, n)
    return RankCorrelation(int(n), float(rho), p, low, high, stars)


def correlations(x: ArrayLike, y: ArrayLike, kept: ArrayLike) -> tuple[Floats, Floats]:
    """The rank correlations of several parts of the pairs, and their sizes; shapes (parts,).

    x, y: shape (n,). kept: shape (parts, n), 1 for the pairs of the part, else 0.
    """
    pairs = np.stack([floats(x), floats(y)])
    there = ~np.isnan(pairs).any(axis=0)
    kept = floats(kept)[:, there]
    # Twice a rank less its mean: how many are less, less how many are greater.
    a, b = (kept @ np.sign(z - z[:, None]) for z in pairs[:, there])
    n = kept.sum(axis=1)
    lengths = [(kept * signs**2).sum(axis=1) for signs in (a, b)]
    rho = ratio((kept * a * b).sum(axis=1), np.sqrt(lengths[0] * lengths[1]))
    return np.where(n < FEWEST, np.nan, rho), n


def interval(rho: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """The ends of Fisher's 95 % interval with standard error sqrt((1 + rho^2 / 2) / (n - 3)); NaN
    where rho is -1 or 1. Source: Bonett and Wright (2000)."""
    rho, n = np.where(abs(np.asarray(rho)) < 1, rho, np.nan), floats(n)
    half = NORMAL * np.sqrt((1 + rho**2 / 2) / np.maximum(n - 3, 1))
    return np.tanh(np.arctanh(rho) - half), np.tanh(np.arctanh(rho) + half)


def significance(rho: float, n: float) -> tuple[float, str]:
    """The two-sided p of a rank correlation of n >= 3 pairs, and its stars: * below .05, ** below
    .01, *** below .001."""
    t = np.inf if abs(rho) >= 1 else rho * np.sqrt(max(n - 2, 0) / (1 - rho**2))
    p = float(two_sided(t, n - 2))
    return p, "*" * sum(p < level for level in (0.05, 0.01, 0.001))
