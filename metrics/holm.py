"""P values of many tests, adjusted after Holm."""

import numpy as np
from numpy.typing import ArrayLike

from .errors import Floats


def holm(p: ArrayLike) -> Floats:
    """Adjusted p values: rejecting those up to alpha keeps the family-wise error at alpha.

    p: any shape; NaN does not count. The k-th smallest of m becomes the largest of (m - j + 1) p_j
    over j <= k, at most 1. Source: Holm (1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.array(p, dtype=float)
    order = np.argsort(adjusted, axis=None, kind="stable")[: np.isfinite(adjusted).sum()]
    steps = adjusted.flat[order] * np.arange(len(order), 0, -1)
    adjusted.flat[order] = np.minimum(1, np.maximum.accumulate(steps))
    return adjusted
