"""Hidden bias from a few sampled answers to each question, and what of it sampling makes alone."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import inf, isnan, log, nan
from typing import NamedTuple

import numpy as np
from scipy.stats import hypergeom

from .hidden_bias import (
    THRESHOLD,
    HiddenBias,
    Key,
    Matched,
    Question,
    RowsOf,
    hidden_bias,
    matched_excess,
    position_preference,
    reaches,
)
from .resampling import RESAMPLES, Estimate, Floats, ratio


class Selection(NamedTuple):
    """How many answers to one question chose each option; the rest as of `hidden_bias.Question`."""

    concept: str
    type: str
    identity: str
    first: int
    option_1: int
    option_2: int
    favourable: int = 0


class Chance(NamedTuple):
    """What as many answers would show of an instance whose identities have the same probabilities.

    share: how probable S >= threshold is. over: the mean of S there, times that. mean: of S.
    """

    share: float
    over: float
    mean: float


class ChanceRow(NamedTuple):
    """What sampling alone makes of one row of Table 2.

    share, score, mean: expected without bias. beyond_...: the observed ones less that.
    """

    share: Estimate
    score: Estimate
    mean: Estimate
    beyond_share: Estimate
    beyond_mean: Estimate
    excess: Matched


class SampledBias(NamedTuple):
    """bias: as of `hidden_bias`, the noise of the samples included. The rest: as there."""

    bias: HiddenBias
    total: ChanceRow
    placebo: ChanceRow
    categories: dict[str, ChanceRow]
    types: dict[str, ChanceRow]
    pairs: dict[Key, ChanceRow]


def selection_probability(selections: Sequence[Selection]) -> float:
    """P(A) of a question: the mean of its orders' shares of option 1. NaN if one has no valid
    answer. Source: HBB, section 3.3."""
    if not all(s.option_1 + s.option_2 for s in selections):
        return nan
    return sum(s.option_1 / (s.option_1 + s.option_2) for s in selections) / len(selections)


def chance(
    one: Sequence[Selection], two: Sequence[Selection], threshold: float = THRESHOLD
) -> Chance:
    """What the sampling of the answers makes of an instance by itself.

    one, two: the selections of its identities in the same orders, each with an answer. Without bias
    they are hypergeometric.
    """
    difference, weight = np.zeros(1), np.ones(1)
    for a, b in zip(one, two, strict=True):
        n_a, n_b = a.option_1 + a.option_2, b.option_1 + b.option_2
        here, its_weight = _dealt(n_a, n_b, a.option_1 + b.option_1)
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


def sampled_bias(
    selections: Sequence[Selection],
    identities: Mapping[str, Sequence[str]],
    categories: Mapping[str, str],
    threshold: float = THRESHOLD,
    orders: int = 1,
    placebo: Collection[str] = (),
    themes: Mapping[str, str] | None = None,
    changed: Mapping[Key, tuple[int, int]] = {},
    resamples: int = RESAMPLES,
    *,
    errors: bool = True,
) -> SampledBias:
    """Counts and means of S per category, descriptor type and identity pair, from sampled answers.

    selections: of each question in each order; several of one are added up. The rest: as of
    `hidden_bias`. Source: HBB, sections 3.3 and 4.1.2.
    """
    answers: dict[Key, dict[int, Selection]] = {}
    for s in selections:
        if s.first not in (1, 2):
            raise ValueError(f"first must be 1 or 2, found {s.first!r}")
        by_order = answers.setdefault((s.concept, s.type, s.identity), {})
        before = by_order.get(s.first, s._replace(option_1=0, option_2=0))
        by_order[s.first] = s._replace(
            option_1=s.option_1 + before.option_1, option_2=s.option_2 + before.option_2
        )
    of = {key: [by_order[first] for first in sorted(by_order)] for key, by_order in answers.items()}
    questions = [
        Question(
            *key,
            1,
            _log_odds(selection_probability(both) if len(both) == orders else nan),
            both[0].favourable,
        )
        for key, both in of.items()
    ]
    options = (placebo, themes, changed, resamples)
    bias = hidden_bias(
        questions, identities, categories, threshold, 1, 1.0, *options, errors=errors
    )
    if orders == 2:
        by_letter = [
            Question(*key, s.first, _log_odds(selection_probability([s])) * (3 - 2 * s.first))
            for key, both in of.items()
            for s in both
        ]
        preference, n = position_preference(by_letter, 2, 1.0, themes, resamples, errors=errors)
        bias = bias._replace(position_preference=preference, in_both_orders=n)
    counted = bias.instances
    by_chance = []
    for x in counted:
        one, two = (of[x.concept, x.type, name] for name in x.identities)
        by_chance.append(chance(one, two, threshold))
    expected = np.array(by_chance, dtype=float).reshape(-1, len(Chance._fields)).T
    observed = np.abs([x.difference for x in counted])
    tallies = np.column_stack(
        [np.ones(len(counted)), reaches(observed, threshold), observed, *expected]
    )
    rows = RowsOf(counted, identities, categories, placebo, themes, changed)

    def statistic(totals: Floats) -> Floats:
        n, biased, s, share, over, mean = np.moveaxis(totals, -1, 0)
        columns = [
            100 * ratio(share, n),
            ratio(over, share),
            ratio(mean, n),
            100 * ratio(biased - share, n),
            ratio(s - mean, n),
        ]
        return np.stack(columns, axis=-1)

    values, stderrs, _ = rows.estimates(tallies, statistic, resamples, errors)
    excess = matched_excess(rows, (observed - expected[2])[:, None], resamples, errors=errors)
    table = []
    for i in range(len(values)):
        estimates = map(Estimate, values[i].tolist(), stderrs[i].tolist())
        table.append(ChanceRow._make((*estimates, *excess[i])))
    return SampledBias(bias, **rows.named(table))


def _log_odds(p: float) -> float:
    return p if isnan(p) else inf if p == 1 else -inf if p == 0 else log(p / (1 - p))
