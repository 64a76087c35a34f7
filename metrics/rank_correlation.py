"""Spearman's rank correlation with its test, its interval, and the stars that tables print."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

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
    does not vary. The interval is Fisher's with standard error sqrt((1 + rho^2 / 2) / (n - 3)).
    Source: StereoMap, Table 8; Bonett and Wright (2000).
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"x and y must have the same shape (n,), found {x.shape} and {y.shape}")
    pairs = np.stack([x, y])[:, ~(np.isnan(x) | np.isnan(y))]
    n = pairs.shape[1]
    if n < FEWEST or (np.ptp(pairs, axis=1) == 0).any():
        return RankCorrelation(n, np.nan, np.nan, np.nan, np.nan, "")
    # Sums of ranks are exact, so that equal orders give 1 and not a little less.
    a, b = (2 * stats.rankdata(values) - (n + 1) for values in pairs)
    rho = float((a @ b) / np.sqrt((a @ a) * (b @ b)))
    low = high = np.nan
    if abs(rho) < 1:
        half = stats.norm.ppf(0.975) * np.sqrt((1 + rho**2 / 2) / (n - 3))
        low, high = np.tanh([np.arctanh(rho) - half, np.arctanh(rho) + half])
    p, stars = significance(rho, n)
    return RankCorrelation(n, rho, p, float(low), float(high), stars)


def significance(rho: float, n: int) -> tuple[float, str]:
    """The two-sided p of a rank correlation of n >= 3 pairs, and its stars: * below .05, ** below
    .01, *** below .001."""
    t = np.inf if abs(rho) >= 1 else rho * np.sqrt((n - 2) / (1 - rho**2))
    p = float(two_sided(t, n - 2))
    return p, "*" * sum(p < level for level in (0.05, 0.01, 0.001))
