"""Preferences in analogy tests A : B :: C : D, where D is one of two words (BIStereo, sections 3.3
and 4.3, appendix J)."""

from collections.abc import Sequence
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from .errors import Floats

TIE = 1e-9
"""Log-odds nearer to zero than this prefer neither word: sums in another order differ by 1e-15."""


def preference(log_odds: ArrayLike) -> Floats:
    """1 where the biased word is likelier, 0 where the unbiased one is, 0.5 for a tie; NaN stays.

    log_odds: any shape, may be infinite.
    """
    x = np.asarray(log_odds, dtype=float)
    return np.where(np.isnan(x), np.nan, np.where(np.abs(x) <= TIE, 0.5, (x > 0).astype(float)))


def calibrated(log_odds: float, content_free: Sequence[float]) -> float:
    """log_odds less their mean with content-free phrases in the place of C. NaN without such
    phrases, or for infinity less infinity. Source: after Zhao et al., Calibrate Before Use (2021),
    section 4."""
    if not content_free:
        return nan
    # Added up as differences, so that equal log-odds leave exactly nothing.
    return sum(log_odds - x for x in content_free) / len(content_free)


def per_token(log_likelihood: float, tokens: int | None) -> float:
    """The mean over a word's tokens; NaN if their number is unknown or 0."""
    return log_likelihood / tokens if tokens else nan
