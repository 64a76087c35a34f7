"""TriSentBias: which of two sentences a model prefers, in positive, negative and neutral context
(BIStereo, section 4.1.1, appendix G).

The sentences of a pair differ in a descriptor, desirable or undesirable. With x = PLL(S_d) -
PLL(S_u) in nats, the difference of their NPLL is tanh(x / 2). Pairs are a data frame, of which a
place (the same template, variant, gender and descriptors) has several in either context.
"""

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from .errors import ROUNDING, Floats, Ints, floats

CONTEXTS = ("positive", "negative", "neutral")
ALPHA = 0.05


def log_odds(
    likelihoods: ArrayLike, places: ArrayLike, neutral: ArrayLike, *, calibrate: bool
) -> tuple[Floats, Floats]:
    """x of each pair, and x less that of the neutral pair of its place, if it has one and
    `calibrate`. Shape (n,).

    likelihoods: shape (n, 2). places: codes. neutral: whether a pair is neutral; then the second is
    NaN. NaN where a likelihood is not finite. Rounding is zero.
    """
    both = floats(likelihoods).reshape(-1, 2)
    both = np.where(np.isfinite(both), both, np.nan)
    size = np.abs(both).max(axis=1)
    x = _less(both[:, 0], both[:, 1], size)
    if not calibrate:
        return x, x
    places, neutral = np.asarray(places, dtype=int), np.asarray(neutral, dtype=bool)
    base = np.full(places.max(initial=-1) + 1, -1)
    base[places[neutral]] = np.flatnonzero(neutral)
    own = base[places]
    less = _less(x, x[own], np.maximum(size, size[own])) if len(x) else x
    return x, np.where(neutral, np.nan, np.where(own < 0, x, less))


def _less(a: Floats, b: Floats, size: Floats) -> Floats:
    """a - b; rounding of numbers of that size is zero."""
    return np.where(np.abs(a - b) <= ROUNDING * np.maximum(1.0, size), 0.0, a - b)


def preference(log_odds: ArrayLike, threshold: float) -> Ints:
    """1 where the desirable sentence is preferred beyond the threshold, -1 the undesirable one, 0
    within."""
    npll_difference = np.tanh(floats(log_odds) / 2)
    return np.where(abs(npll_difference) > threshold, np.sign(npll_difference), 0).astype(int)


def sign_test(signs: ArrayLike, clusters: ArrayLike) -> float:
    """p of more clusters being positive than negative, exactly and one-sided; 1 where all are 0.

    signs: shape (n,), 1, 0 or -1, added up in clusters, shape (n,).
    """
    sums = pd.Series(signs).groupby(np.asarray(clusters), dropna=False).sum()
    positive, n = int((sums > 0).sum()), int((sums != 0).sum())
    return float(scipy.stats.binomtest(positive, n, 0.5, "greater").pvalue) if n else 1.0
