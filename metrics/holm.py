"""Many tests at once: p values adjusted so that a false alarm anywhere among them stays as rare as
it would be in one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p values, of the same shape: those of at most alpha are rejected, with a family-wise
    error of at most alpha.

    p: of any shape, dependent or not; NaN marks a test that was not made, stays NaN and does not
    count. With m tests, the k-th smallest p becomes the largest of (m - j + 1) p_j over j <= k, at
    most 1. Source: S. Holm, A simple sequentially rejective multiple test procedure. Scandinavian
    Journal of Statistics, 1979.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, dtype=float)
    flat = given.ravel()
    made = np.flatnonzero(~np.isnan(flat))
    order = made[np.argsort(flat[made], kind="stable")]
    adjusted = np.full(flat.shape, np.nan)
    adjusted[order] = np.minimum(
        1, np.maximum.accumulate(flat[order] * np.arange(len(order), 0, -1))
    )
    return adjusted.reshape(given.shape)
