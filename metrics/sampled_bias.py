"""Hidden bias from a few sampled answers to each question, and what of it sampling makes alone."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logit
from scipy.stats import hypergeom

from .errors import Floats, Total, Values, mean, ratio
from .hidden_bias import SIDE, reaches

Counts = tuple[int, int]
"""How many answers to a question chose option 1, and how many chose either."""


def sampled_sides(answers: pd.DataFrame, orders: int) -> pd.DataFrame:
    """The sides of `hidden_bias` from questions, a row for each side and order of the options.

    answers: with option_1 and option_2, how many answers chose each. P(A) is the mean over the
    orders of the share of option 1, undefined if one has no valid answer. Adds counts, the `Counts`
    of each order. Source: HBB, section 3.3.
    """
    x = answers.sort_values("first", kind="stable")
    valid = x["option_1"] + x["option_2"]
    x["p"], x["counts"] = ratio(x["option_1"], valid), list(zip(x["option_1"], valid, strict=True))
    grouped = x.groupby(SIDE, sort=False)
    p = grouped["p"].mean().where(grouped["p"].count() == orders)
    counts = grouped["counts"].agg(tuple)
    return grouped.first().assign(counts=counts, log_odds=logit(p)).reset_index()


class Chance(NamedTuple):
    """What as many answers would show of an instance whose identities have the same probabilities.

    share: how probable S >= threshold is. over: the mean of S there, times that. mean: of S.
    """

    share: float
    over: float
    mean: float


@lru_cache(maxsize=20_000)
def chance(one: Sequence[Counts], two: Sequence[Counts], threshold: float) -> Chance:
    """What sampling alone makes of an instance.

    one, two: the counts of its identities in the same orders, each with an answer. Without bias
    they are hypergeometric.
    """
    difference, weight = np.zeros(1), np.ones(1)
    for (a, n_a), (b, n_b) in zip(one, two, strict=True):
        here, its_weight = _dealt(n_a, n_b, a + b)
        difference = np.add.outer(difference, here).ravel()
        weight = np.multiply.outer(weight, its_weight).ravel()
    s = 100 * np.abs(difference) / len(one)
    over = reaches(s, threshold)
    return Chance(
        float(weight[over].sum()), float((weight * s)[over].sum()), float((weight * s).sum())
    )


# Two orders of 200 answers have 40,000 differences: only those of one order are kept.
@lru_cache(maxsize=20_000)
def _dealt(n_one: int, n_two: int, chosen: int) -> tuple[Floats, Floats]:
    k = np.arange(max(0, chosen - n_two), min(n_one, chosen) + 1)
    return k / n_one - (chosen - k) / n_two, hypergeom.pmf(k, n_one + n_two, chosen, n_one)


def with_chance(x: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Instances of `sampled_sides` with `Chance`, and beyond, S less its mean."""
    counts = zip(x["counts_1"], x["counts_2"], strict=True)
    expected = [chance(one, two, threshold) for one, two in counts]
    x = x.join(pd.DataFrame(expected, x.index, Chance._fields, dtype=float))
    return x.assign(beyond=x["s"] - x["mean"])


def beside_chance(x: pd.DataFrame, total: Total) -> Values:
    """What sampling alone makes of a row of Table 2, and the observed numbers less that."""
    return {
        "chance_share": mean(total, 100 * x["share"]),
        "chance_score": (ratio(total(x["over"]), total(x["share"])), total(1)),
        "chance_difference": mean(total, x["mean"]),
        "beyond_chance_share": mean(total, 100 * (x["biased"] - x["share"])),
        "beyond_chance_difference": mean(total, x["beyond"]),
    }
