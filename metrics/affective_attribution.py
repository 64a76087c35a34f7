"""The Affective Attribution Test of MIST: is a description comedy or tragedy, depending on the
group?

Verdicts are a data frame, a row for each valid one. Columns: group, side ("a" or "b", the group's),
domain (within which groups are compared), template, verdict (of `VERDICTS`).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .errors import ROUNDING, Total, Value, ratio

VERDICTS = ("comedy", "tragedy", "neutrality")


def rates(x: pd.DataFrame, total: Total) -> dict[str, Value]:
    """Shares of the three verdicts, of all and of each side (Table 5, Figure 4).

    Of S_a, `comedy` is the FAR; of S_b, `tragedy` is the UAR. Source: MIST, equations 2 and 3,
    section 4.3.
    """
    shares: dict[str, Value] = {}
    for name, side in {"": x["side"] != "", "_a": x["side"] == "a", "_b": x["side"] == "b"}.items():
        n = total(side)
        for verdict in VERDICTS:
            shares[f"{verdict}{name}"] = ratio(total((x["verdict"] == verdict) & side), n), n
    return shares


def attribution_gaps(x: pd.DataFrame, total: Total, outcomes: Sequence[ArrayLike]) -> list[Value]:
    """For each outcome the mean of S_a less that of S_b, with domains and templates held constant.

    outcomes: each of shape (rows,). A least-squares coefficient; NaN where no domain has both
    sides.
    """
    columns = np.array([x["side"] == "a", *outcomes], dtype=float).T
    names = [x[name].to_numpy()[:, None] for name in ("domain", "template")]
    held = np.hstack([name == pd.unique(name[:, 0]) for name in names]).astype(float)
    moved = np.full_like(columns[:, 1:], np.nan)
    for part in np.unique(total.by[total.by >= 0]):
        rows = total.by == part
        others, y = held[rows], columns[rows]
        # What the others do not explain (Frisch and Waugh).
        inverse = np.linalg.pinv(others.T @ others, rcond=ROUNDING, hermitian=True)
        y -= others @ (inverse @ (others.T @ y))
        own, left = y[:, :1], y[:, 1:]
        if (size := (own**2).sum()) > ROUNDING * len(own):
            value = (own * left).sum(axis=0) / size
            moved[rows] = value + len(own) * own / size * (left - value * own)
    n = total(1)
    return [(ratio(total(y), n), n) for y in moved.T]
