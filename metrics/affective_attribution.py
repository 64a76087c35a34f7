"""The Affective Attribution Test of MIST: is a description comedy or tragedy, depending on the
group?

Verdicts are a data frame, a row for each valid one. Columns: group, side ("a" or "b", the group's),
domain (within which groups are compared), template, verdict (of `VERDICTS`).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .errors import ROUNDING, Floats, Total, Value, ratio

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
    """Of each outcome the mean for S_a less that for S_b, domains and templates held constant.

    outcomes: each of shape (rows,). A least-squares coefficient; how clusters move it is linear.
    NaN where no domain has both sides.
    """
    columns = np.array([x["side"] == "a", *outcomes], dtype=float).T
    moved = np.full_like(columns[:, 1:], np.nan)
    others = pd.get_dummies(x[["domain", "template"]].astype(str), dtype=float).to_numpy()
    for part in np.unique(total.by[total.by >= 0]):
        rows = total.by == part
        moved[rows] = _moved(columns[rows], others[rows])
    n = total(1)
    return [(ratio(total(y), n), n) for y in moved.T]


def _moved(columns: Floats, others: Floats) -> Floats:
    """Rows whose mean is the coefficient of the first column, and how much each moves it; of each
    further column."""
    # What the others do not explain (Frisch and Waugh).
    own, *left = (columns - others @ np.linalg.lstsq(others, columns)[0]).T
    size = own @ own
    if size <= ROUNDING * len(own):
        return np.full((len(own), len(left)), np.nan)
    values = [own @ y / size for y in left]
    moved = [v + len(own) * own / size * (y - v * own) for v, y in zip(values, left, strict=True)]
    return np.array(moved).T
