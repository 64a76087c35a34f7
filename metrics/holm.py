"""P values of many tests, adjusted so that a false alarm anywhere stays as rare as in one test."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .resampling import Floats


def holm(p: ArrayLike) -> Floats:
    """Adjusted p values, of the same shape: rejecting those up to alpha keeps the family-wise error
    at alpha.

    p: any shape, dependent or not; NaN marks a test that was not made and does not count. With m
    tests, the k-th smallest p becomes the largest of (m - j + 1) p_j over j <= k, at most 1.
    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics, 1979.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p, dtype=float)
    flat = raw.ravel()
    made = np.flatnonzero(~np.isnan(flat))
    order = made[np.argsort(flat[made], kind="stable")]
    steps = np.maximum.accumulate(flat[order] * np.arange(len(order), 0, -1))
    adjusted = np.full(flat.shape, np.nan)
    adjusted[order] = np.minimum(1, steps)
    return adjusted.reshape(raw.shape)
