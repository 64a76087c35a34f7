"""The Word Association Bias Test of MIST: to which group do positive and negative words go?

Lists are a data frame, a row for each of their words. Columns: domain (the pairs with the same
S_a), pair, dimension, a and b (the identifiers of S_a and S_b), word, positive (whether it is of
X_a), weight (one over the list's words), score and moved (of `scores`).
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .errors import ROUNDING, Estimates, Floats, Total, Value, floats, ratio
from .student import student

CLUSTERS = (("domain", "a"), ("pair", "b"), ("dimension", "positive", "word"))
"""Identifiers, within their group, and words, within their dimension and polarity, are samples."""


def scores(lists: ArrayLike, positive: ArrayLike, share: ArrayLike) -> tuple[Floats, Floats]:
    """The score of each word's list, and how much the word moves it; shapes (rows,).

    lists: whole numbers from 0. share: how much of the word went to S_a, from 0 to 1. A score is aa
    / (aa + ab) + bb / (ba + bb) - 1, from -1 to 1; aa counts the positive words of S_a, ab its
    negative ones, ba and bb those of S_b. NaN without a share or if a group got no word. A word
    moves it by the derivative by its share, times the distance from the mean of the others of its
    polarity; by 0 without others. Source: MIST, equation 1.
    """
    lists, positive = np.asarray(lists, dtype=int), np.asarray(positive, dtype=int)
    share, cell = floats(share), 2 * lists + positive
    size = 2 * lists.max(initial=-1) + 2
    n, of_a, of_b = (np.bincount(cell, x, size) for x in (np.ones(len(cell)), share, 1 - share))
    a, b = of_a.reshape(-1, 2).sum(axis=1), of_b.reshape(-1, 2).sum(axis=1)
    good_a, bad_b = ratio(of_a[1::2], a), ratio(of_b[::2], b)
    slope = ratio(positive - good_a[lists], a[lists]) - ratio(1 - positive - bad_b[lists], b[lists])
    others = n[cell] - 1
    influence = np.where(others > 0, slope * (n[cell] * share - of_a[cell]), 0)
    influence /= np.maximum(others, 1)
    return (good_a + bad_b - 1)[lists], np.where(abs(influence) < ROUNDING, 0, influence)


def association(x: pd.DataFrame, total: Total) -> dict[str, Value]:
    """Scores of lists (Table 4, Figure 3), with the paper's t and p, which take lists as
    independent. std has ddof 0, else five of the 24 t of Table 4 would not follow."""
    scored = x["weight"] * x["score"].notna()
    n = total(scored)
    mean = ratio(total((scored * x["moved"]).fillna(0)), n)
    away = x["score"] - mean[0, total.by]
    std = np.sqrt(ratio(total((scored * away**2).fillna(0)), n))
    count = n.round()
    t, p = student(mean, std / np.sqrt(np.maximum(count - 1, 1)), count - 1)
    return {
        "bias_score": (mean, n),
        "bias_score_n": (count, n),
        "bias_score_std": (np.where(count > 1, std, np.nan), n),
        "bias_score_t": (t, n),
        "bias_score_paper_p": (p, n),
        "bias_score_p": (np.full_like(n, np.nan), n),
    }


def clustered_p(estimated: Estimates) -> Estimates:
    error = np.sqrt(estimated.variance)
    p = np.where(error > 0, student(estimated.value, error, estimated.df)[1], np.nan)
    return estimated._replace(value=p)
