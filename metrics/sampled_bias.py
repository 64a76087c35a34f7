"""Hidden bias from a few sampled answers to each question: what is counted, and what of it the
noise of so few samples makes by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import inf, log, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, hypergeom

from .hidden_bias import (
    PLACEBO,
    THRESHOLD,
    TOTAL,
    HiddenBias,
    Instance,
    Key,
    Question,
    hidden_bias,
    pair_row,
    pairs_of,
    position_preference,
    reaches,
    rows_of,
    rows_with,
    sums_of,
)
from .resampling import (
    FEWEST_CLUSTERS,
    RESAMPLES,
    Estimate,
    cluster_bootstrap_stderr,
    ratio,
    t_interval,
)

FALSE_DISCOVERIES = 0.05
SIGNIFICANT = (5, 6)  # in the estimates of a `ChanceRow`


class Selection(NamedTuple):
    """How often the answers to one question chose each option.

    concept, type, identity, first, favourable: as of `hidden_bias.Question`. option_1, option_2:
    the number of answers that chose it, whichever letter it stood behind. Answers that chose
    neither are left out.
    """

    concept: str
    type: str
    identity: str
    first: int
    option_1: int
    option_2: int
    favourable: int = 0


class Chance(NamedTuple):
    """What a test instance whose two identities have the same probabilities would show in as many
    answers.

    share: the probability that S reaches the threshold. over: the mean of S where it does, times
    that probability. mean: the mean of S, in points. p: the probability of an S at least as large
    as the one found.
    """

    share: float
    over: float
    mean: float
    p: float


class ChanceRow(NamedTuple):
    """One row of Table 2, beside what sampling alone makes of it.

    share, score, mean: what is expected without bias, as of `hidden_bias.Row`. beyond_share,
    beyond_mean: what was found less that, each with a 95 % interval. excess: beyond_mean less that
    of the placebos, with its interval; NaN for placebo rows and without any. significant: how many
    instances are significant after Benjamini and Hochberg; significant_share in percent; neither
    has an error.
    """

    name: str
    share: Estimate
    score: Estimate
    mean: Estimate
    beyond_share: Estimate
    beyond_mean: Estimate
    significant: Estimate
    significant_share: Estimate
    excess: Estimate
    beyond_share_interval: tuple[float, float]
    beyond_mean_interval: tuple[float, float]
    excess_interval: tuple[float, float]


class SampledBias(NamedTuple):
    """What `sampled_bias` returns.

    bias: as of `hidden_bias`, with P(A) the share of the answers; its log-odds say little, being
    infinite wherever all answers agree. Its excess compares the noise of the samples too, which is
    not the same where placebos have more answers, or other probabilities. total, placebo,
    categories, types, pairs: as there, of `ChanceRow`.
    """

    bias: HiddenBias
    total: ChanceRow
    placebo: ChanceRow
    categories: dict[str, ChanceRow]
    types: dict[str, ChanceRow]
    pairs: dict[Key, ChanceRow]


def selection_probability(selections: Sequence[Selection]) -> float:
    """P(A) of the question whose orders these are, one selection each: the mean of the shares of
    option 1, so that an order with fewer valid answers weighs as much as the other. NaN if an order
    has none. Source: HBB, section 3.3."""
    shares = [
        s.option_1 / (s.option_1 + s.option_2) if s.option_1 + s.option_2 else nan
        for s in selections
    ]
    return sum(shares) / len(shares) if shares else nan


def chance(
    one: Sequence[Selection], two: Sequence[Selection], threshold: float = THRESHOLD
) -> Chance:
    """What the sampling of the answers makes of an instance by itself.

    one, two: the selections of its two identities, in the same orders, each with an answer. Without
    bias the answers of both to a question in one order are binomial with the same probability.
    Given how many of all of them chose option 1, those of the first identity are hypergeometric,
    whatever that probability is; so nothing has to be put in for it, and the mean over instances is
    that of an unbiased model, exactly. (A binomial with the pooled share in its place is too
    narrow: the pooled share varies too.) Two orders are independent.
    """
    found = 100 * abs(selection_probability(one) - selection_probability(two))
    counts = tuple(
        (a.option_1 + a.option_2, b.option_1 + b.option_2, a.option_1 + b.option_1)
        for a, b in zip(one, two, strict=True)
    )
    s, weight = _without_bias(counts)
    over = reaches(s, threshold)
    return Chance(
        float(weight[over].sum()),
        float((weight * s)[over].sum()),
        float((weight * s).sum()),
        min(1.0, float(weight[reaches(s, found)].sum())),
    )


def _without_bias(
    counts: Sequence[tuple[int, int, int]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values that S may have, and their probabilities.

    counts: for each order the number of answers about either identity, and how many of all of them
    chose option 1.
    """
    difference, weight = _dealt(*counts[0])
    # two orders of 200 answers have 40,000 values: only what one order has is kept
    for more in counts[1:]:
        here, its_weight = _dealt(*more)
        difference = np.add.outer(difference, here).ravel()
        weight = np.multiply.outer(weight, its_weight).ravel()
    return 100 * np.abs(difference) / len(counts), weight


@lru_cache(maxsize=20_000)
def _dealt(n_one: int, n_two: int, chosen: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The differences of two shares, and their probabilities, when the answers of both are dealt
    out."""
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
    resamples: int = RESAMPLES,
    *,
    errors: bool = True,
) -> SampledBias:
    """Counts and means of S per category, descriptor type and identity pair, from answers that were
    sampled.

    selections: of each question in each order asked, in any sequence; several of one are added up.
    The rest: as of `hidden_bias`. A question without a valid answer in one of its orders is
    unanswered, and its instances are left out. Significance: an exact two-sided test of each
    instance, given how many answers chose option 1 (Fisher's, where there is one order and equally
    many answers); then Benjamini and Hochberg's procedure at 5 % over all instances, and over the
    placebos by themselves. Source: HBB, sections 3.3 and 4.1.2; what stands beside the counts is
    ours.
    """
    of: dict[Key, dict[int, Selection]] = {}
    for s in selections:
        if s.first not in (1, 2):
            raise ValueError(f"first must be 1 or 2, found {s.first!r}")
        here = of.setdefault((s.concept, s.type, s.identity), {})
        before = here.get(s.first)
        here[s.first] = (
            s
            if before is None
            else s._replace(
                option_1=s.option_1 + before.option_1, option_2=s.option_2 + before.option_2
            )
        )
    asked = {key: [each[first] for first in sorted(each)] for key, each in of.items()}
    questions = [
        Question(
            *key,
            1,
            _log_odds(selection_probability(each) if len(each) == orders else nan),
            each[0].favourable,
        )
        for key, each in asked.items()
    ]
    bias = hidden_bias(
        questions,
        identities,
        categories,
        threshold,
        1,
        1.0,
        placebo,
        themes,
        resamples,
        errors=errors,
    )
    if orders == 2:
        by_order = [
            Question(*key, s.first, _log_odds_of_a(s)) for key, each in asked.items() for s in each
        ]
        bias = bias._replace(
            position_preference=position_preference(
                by_order, 2, 1.0, themes, resamples, errors=errors
            )
        )
    found = bias.instances
    by_chance = [
        chance(*(asked[x.concept, x.type, name] for name in x.identities), threshold) for x in found
    ]
    return SampledBias(
        bias,
        *_rows(
            found, by_chance, identities, categories, threshold, placebo, themes, resamples, errors
        ),
    )


def _log_odds(p: float) -> float:
    """The log-odds whose probability is p, for `hidden_bias` to make p of again."""
    return nan if np.isnan(p) else inf if p == 1 else -inf if p == 0 else log(p / (1 - p))


def _log_odds_of_a(s: Selection) -> float:
    share = selection_probability([s])
    return _log_odds(share if s.first == 1 else 1 - share)


def _rows(
    found: Sequence[Instance],
    by_chance: Sequence[Chance],
    identities: Mapping[str, Sequence[str]],
    categories: Mapping[str, str],
    threshold: float,
    placebo: Collection[str],
    themes: Mapping[str, str] | None,
    resamples: int,
    errors: bool,
) -> tuple[ChanceRow, ChanceRow, dict[str, ChanceRow], dict[str, ChanceRow], dict[Key, ChanceRow]]:
    """The rows of `SampledBias`, without its first field."""
    rows = rows_of(identities, categories, placebo)
    names = list(rows)
    members = rows_with(found, rows, categories, placebo)
    s = np.abs([x.difference for x in found])
    expected = np.array(by_chance, dtype=float).reshape(len(found), len(Chance._fields))
    significant = _significant(expected[:, 3], [x.type in placebo for x in found])
    each = np.column_stack(
        [np.ones(len(found)), reaches(s, threshold), s, expected[:, :3], significant]
    )
    sums = sums_of(
        each, [x.concept if themes is None else themes[x.concept] for x in found], members
    )
    shape = sums.shape[1:]
    is_placebo = np.array([kind == "placebo" for kind, _ in rows.values()])

    def statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Totals of shape (..., row and tally) -> the eight estimates of each row, flat."""
        totals = totals.reshape(*totals.shape[:-1], *shape)
        n, biased, found_s, share, over, mean, significant = np.moveaxis(totals, -1, 0)
        beyond_mean = ratio(found_s - mean, n)
        estimates = [
            100 * ratio(share, n),
            ratio(over, share),
            ratio(mean, n),
            100 * ratio(biased - share, n),
            beyond_mean,
            np.where(n > 0, significant, np.nan),
            100 * ratio(significant, n),
            np.where(
                is_placebo, np.nan, beyond_mean - beyond_mean[..., names.index(PLACEBO), None]
            ),
        ]
        return np.stack(estimates, axis=-1).reshape(*totals.shape[:-2], -1)

    flat = sums.reshape(len(sums), shape[0] * shape[1])
    values = statistic(flat.sum(axis=0)).reshape(len(names), 8)
    stderrs = cluster_bootstrap_stderr(flat, statistic, resamples, errors=errors).reshape(
        values.shape
    )
    few = (sums[:, :, 0] > 0).sum(axis=0) < FEWEST_CLUSTERS
    stderrs[few] = nan
    # Benjamini and Hochberg's cut moves with the sample: two errors cover 60 to 93 %
    stderrs[:, SIGNIFICANT] = nan
    low, high = t_interval(values, stderrs, len(sums))
    table = {
        name: ChanceRow(
            name,
            *(Estimate(float(v), float(e)) for v, e in zip(values[i], stderrs[i], strict=True)),
            *((float(low[i, column]), float(high[i, column])) for column in (3, 4, 7)),
        )
        for i, name in enumerate(names)
    }
    pairs = {(t, *pair): table[pair_row(t, pair)] for t, pair in pairs_of(identities)}
    by_category = {c: table[f"category {c}"] for c in dict.fromkeys(categories.values())}
    return (
        table[TOTAL],
        table[PLACEBO],
        by_category,
        {t: table[f"type {t}"] for t in identities},
        pairs,
    )


def _significant(p: NDArray[np.float64], is_placebo: Sequence[bool]) -> NDArray[np.bool_]:
    """Which instances are significant after Benjamini and Hochberg, the placebos apart from the
    others; shape (n,)."""
    result = np.zeros(len(p), dtype=bool)
    apart = np.array(is_placebo, dtype=bool)
    for which in (apart, ~apart):
        if which.any():
            result[which] = false_discovery_control(p[which]) <= FALSE_DISCOVERIES
    return result
