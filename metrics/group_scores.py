"""Scores of groups from ratings on several items in several rounds, and how far the groups differ.

Ratings have the shape (groups, rounds, items), NaN for a missing one. `facets` has a label for each
item. Items, within their facet, and rounds are samples; one alone is none.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from .crossed import UNDEFINED, CrossedMean, codes
from .errors import ROUNDING, SEED, Bools, Floats, Ints, satterthwaite
from .student import interval

DRAWS = 1000
FEW = 24
"""Groups whose own fourth moment counts as much as that of a normal distribution does."""
Facets = Sequence[Hashable]


class GroupScores(NamedTuple):
    """Scores, standard errors with degrees of freedom, 95 % intervals; shape (groups,)."""

    value: Floats
    stderr: Floats
    df: Floats
    low: Floats
    high: Floats


class Spread(NamedTuple):
    value: float
    low: float
    high: float


class Variation(NamedTuple):
    """n: groups that count."""

    average: float
    largest: float
    n: int = 0


def score(ratings: ArrayLike, facets: Facets) -> Floats:
    """The mean over facets of the mean over a facet's items of each item's mean over rounds.

    ratings: shape (..., rounds, items). NaN if a facet has no rating. Source: StereoMap, Table 4.
    """
    ratings, facet = _checked(ratings, facets)
    of_items, times = _mean(ratings, axis=-2)
    return _of_items(of_items, times > 0, facet)[0]


def group_scores(ratings: ArrayLike, facets: Facets) -> GroupScores:
    """The score of each group, with Student's interval over rounds and items.

    The variance is that of items plus that of rounds less what both count, at least either. If a
    facet has one item among others, items are a sample of the whole scale. NaN but for the value
    with one rating of each group.
    """
    d = _Design(ratings, facets)
    items = d.shared + d.alone
    variance = np.maximum(np.maximum(items, d.of_rounds), items + d.of_rounds - d.both)
    parts = (d.shared, d.shared_df), (d.alone, d.alone_df), (d.of_rounds, d.rounds_df)
    return GroupScores(*_student(d.value, variance, parts, not d.one_rating))


def resampled_scores(dimensions: Sequence[tuple[ArrayLike, Facets]], draws: int = DRAWS) -> Floats:
    """The groups' scores with other items and rounds, shape (draws, groups, dimensions).

    dimensions: ratings of the same groups and rounds, and facets. NaN for a group that lacks a
    facet. A multiplier bootstrap with normal weights. Source: van der Vaart and Wellner, Weak
    Convergence and Empirical Processes, section 2.9.
    """
    designs = [_Design(ratings, facets) for ratings, facets in dimensions]
    rng = np.random.default_rng(SEED)
    of_rounds = rng.standard_normal((draws, designs[0].by_round.shape[1]))
    points = []
    for d in designs:
        by_item, by_round = d.own_influences()
        of_items = rng.standard_normal((draws, by_item.shape[1]))
        points.append(d.value + of_items @ by_item.T + of_rounds @ by_round.T)
    return np.stack(points, axis=-1)


def spread(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> Spread:
    """The standard deviation (ddof 1) of the groups' true scores.

    The variance of the scores less that which items and rounds add by chance, at least 0. NaN with
    fewer than three scored groups and with one item in one round; the ends without errors. Source:
    Zou and Donner (2008); Ting et al., Confidence Intervals on Linear Combinations of Variance
    Components (1990).
    """
    d = _Design(ratings, facets)
    values, n = d.value[d.scored], int(d.scored.sum())
    if n < 3 or d.one_rating:
        return Spread(np.nan, np.nan, np.nan)
    away = _tidy(values - values.mean(), ROUNDING * max(1.0, abs(values).max()))
    total = float((away**2).sum()) / (n - 1)
    # The deviations are from means over the groups, one for each item.
    alone = float(d.alone[d.scored].mean()) * n / (n - 1)
    strays = float((d.of_rounds - d.both)[d.scored].mean())
    chance = max(alone + strays, 0.0)
    value = float(np.sqrt(max(total - chance, 0.0)))
    if not total:
        return Spread(0.0, 0.0, float(np.sqrt(chance)))
    if not errors:
        return Spread(value, np.nan, np.nan)
    # Variances of the two variances.
    normal = 2 * total**2 / (n - 1)
    own = max((float((away**4).mean()) - total**2 * (n - 3) / (n - 1)) / n, 0.1 * normal)
    # The fourth moment of few groups is small too often: of 24 it counts half.
    of_groups = (n * own + FEW * normal) / (n + FEW)
    by_item = 2 * away[:, None] * (d.weights * d.interactions)[d.scored] / (n - 1)
    items = d.member.sum(axis=0) @ d.member.T
    squares = by_item.sum(axis=0) ** 2 - (by_item**2).sum(axis=0)
    of_items = max(float((items / np.maximum(items - 1, 1) * squares).sum()), 0.0)
    variance = of_groups + of_items
    df = float(_satterthwaite(variance, ((of_groups, n - 1), (of_items, d.shared_df))))
    stretch = (stats.t.ppf(0.975, df) / stats.t.ppf(0.975, n - 1)) ** 2
    low, high = _of_chi_square(total, 2 * total**2 / (variance * stretch))
    chance_low = chance_high = 0.0
    if chance > 0:
        df = float(_satterthwaite(chance, ((alone, d.alone_df), (strays, d.rounds_df))))
        chance_low, chance_high = _of_chi_square(chance, df)
    lowest = total - chance - np.hypot(total - low, chance_high - chance)
    highest = total - chance + np.hypot(high - total, chance - chance_low)
    return Spread(value, *(float(np.sqrt(max(x, 0.0))) for x in (lowest, highest)))


def mean_score(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> CrossedMean:
    """The mean of the groups' scores, with an interval over groups and items.

    NaN but for the value with one group, and without errors.
    """
    d = _Design(ratings, facets)
    values = d.value[d.scored]
    n = len(values)
    if not n:
        return UNDEFINED
    of_groups = values.var(ddof=1) / n if n > 1 else np.nan
    of_groups = 0.0 if of_groups <= (ROUNDING * max(1.0, abs(values).max())) ** 2 else of_groups
    shared, alone = (x[d.scored].mean() for x in (d.shared, d.alone))
    variance = max(shared, of_groups, shared + of_groups - alone / n)
    parts = (shared, d.shared_df), (of_groups, n - 1)
    value, *ends = map(float, _student(values.mean(), variance, parts, errors and n > 1))
    return CrossedMean._make([value, *ends, n])


def variation(scores: ArrayLike) -> Variation:
    """Of the groups' standard deviation (ddof 0) over mean, over rounds.

    scores: shape (groups, rounds); NaN is left out, as are groups with fewer than two scores or a
    mean of 0. Source: StereoMap, appendix L, Tables 13 and 14.
    """
    scores = np.asarray(scores, dtype=float)
    mean, n = _mean(scores, axis=1)
    away = _tidy(scores - mean[:, None], ROUNDING * np.nanmax(abs(scores), initial=0.0))
    varied = (n > 1) & (mean != 0)
    of_groups = np.sqrt(_mean(away**2, axis=1)[0])[varied] / mean[varied]
    if not len(of_groups):
        return Variation(np.nan, np.nan)
    return Variation(float(of_groups.mean()), float(of_groups.max()), len(of_groups))


class _Design:
    """The parts of the variance of the groups' scores, shape (groups,): by what an item does to all
    groups (shared) and to one (alone), by rounds, and what items and rounds count both."""

    def __init__(self, given: ArrayLike, facets: Facets) -> None:
        ratings, facet = _checked(given, facets)
        self.one_item = len(facet) == 1
        rated = ~np.isnan(ratings).all(axis=(0, 1))
        if set(facet[rated]) == set(facet):  # an item that nobody rated is none
            ratings, facet = ratings[:, :, rated], facet[rated]
        nothing = ROUNDING * max(1.0, np.nanmax(abs(ratings), initial=0.0))
        x, self.times = _mean(ratings, axis=1)
        self.rated = self.times > 0
        self.value, weights = _of_items(x, self.rated, facet)
        self.scored = ~np.isnan(self.value)
        stratum = np.zeros_like(facet) if np.bincount(facet).min(initial=2) < 2 else facet
        self.member = np.eye(stratum.max(initial=-1) + 1)[stratum]  # (items, strata)
        # Of the groups that lack a score nothing is learned.
        self.rated &= self.scored[:, None]
        self.counts = (self.rated @ self.member).astype(int)  # items of each group in each stratum
        self.weights = np.where(self.rated, weights, 0)
        x = np.where(self.rated, x, 0)
        self.deviations = _tidy(self._centred(x), nothing)
        self._items(stratum)
        there = ~np.isnan(ratings) & self.rated[:, None, :]
        self._rounds(there, _tidy(np.where(there, ratings - x[:, None, :], 0), nothing))
        self.one_rating = self.one_item and not self.rounds_df

    def _centred(self, x: Floats) -> Floats:
        """Less the weighted mean of a group's items in the stratum."""
        total = self.weights @ self.member
        mean = (self.weights * x) @ self.member / np.where(total > 0, total, 1)
        return np.where(self.rated, x - mean @ self.member.T, 0)

    def _items(self, stratum: Ints) -> None:
        items = self.member.sum(axis=0)
        complete = (self.counts == items) & self.scored[:, None]
        # What an item does to all groups is seen where all items of its stratum are rated; if they
        # never are, wherever it is rated.
        use = np.where(complete.any(axis=0), complete, self.counts > 0) @ self.member.T * self.rated
        effect = (use * self.deviations).sum(axis=0) / np.maximum(use.sum(axis=0), 1)
        effect -= (self.member / np.maximum(items, 1)) @ (effect @ self.member)
        self.interactions = self._centred(self.deviations - effect)
        per_item = (effect**2) @ self.member / np.maximum(items - 1, 1)
        spare = np.maximum(self.counts - 1, 0).sum(axis=0)
        squares = (self.interactions**2).sum(axis=0) @ self.member
        per_group_item = np.where(spare > 0, squares / np.maximum(spare, 1), np.nan)
        if self.one_item:  # which is no sample
            per_item, per_group_item = np.zeros(1), np.zeros(1)
        weights = self.weights**2 @ self.member
        self.shared, self.alone = weights @ per_item, weights @ per_group_item
        self.shared_df = float((items - 1).sum())
        # Groups that stray alike are not so many groups.
        groups = self._unlike_groups(stratum)
        self.alone_df = min(float(spare.sum()) - self.shared_df, self.shared_df * groups)

    def _unlike_groups(self, stratum: Ints) -> float:
        """How many independent groups tell as much as these do, from how alike contrasts of items
        are."""
        contrasts = linalg.block_diag(*map(linalg.helmert, np.bincount(stratum)))
        vectors = self.interactions[:, np.argsort(stratum, kind="stable")] @ contrasts.T
        products = vectors.T @ vectors
        lengths = np.diag(products)
        alike = (products**2).sum() - (lengths**2).sum()
        return float((lengths.sum() ** 2 - (lengths**2).sum()) / alike) if alike > 0 else np.inf

    def _rounds(self, there: Bools, strays: Floats) -> None:
        """strays: shape (groups, rounds, items), ratings less the mean of their item."""
        self.rounds = there.any(axis=2).sum(axis=1)
        spare = np.maximum(self.rounds - 1, 0)
        self.rounds_df = float(spare.sum())
        of_rating = self.weights / np.maximum(self.times, 1)
        self.by_round = np.einsum("gri,gi->gr", strays, of_rating)
        squares = self.rounds**2 * (self.by_round**2).sum(axis=1)
        per_round = squares[spare > 0].sum() / max(self.rounds_df, 1)
        self.of_rounds = np.where(self.scored, per_round / np.maximum(self.rounds, 1), 0)
        # What is left of a rating without its item's and its round's mean in the stratum.
        among = np.maximum(there @ self.member, 1)
        left = strays - (strays @ self.member / among) @ self.member.T
        squares = (np.where(there, left, 0) ** 2).sum(axis=(1, 2))
        df = (spare[:, None] * np.maximum(self.counts - 1, 0)).sum(axis=1)
        self.own_both = squares / np.maximum(df, 1) * (self.weights * of_rating).sum(axis=1)
        # The variance of items, which all groups share, has as much of it as there are rounds to an
        # item on the whole.
        usual = (self.rated / np.maximum(self.times, 1)).sum() / max(self.rated.sum(), 1)
        per_rating = squares.sum() / max(df.sum(), 1)
        self.both = per_rating * usual * (self.weights**2).sum(axis=1)

    def own_influences(self) -> tuple[Floats, Floats]:
        """What items, shape (groups, items), and rounds, (groups, rounds), add to a draw."""
        m, r = self.counts @ self.member.T, self.rounds
        by_item = self.weights * self.deviations * np.sqrt(m / np.maximum(m - 1, 1))
        by_round = self.by_round * np.sqrt(r / np.maximum(r - 1, 1))[:, None]
        items, rounds = (by_item**2).sum(axis=1), (by_round**2).sum(axis=1)
        total = items + rounds
        variance = np.maximum(np.maximum(items, rounds), total - self.own_both)
        factor = np.sqrt(variance / np.where(total > 0, total, 1))[:, None]
        return by_item * factor, by_round * factor


def _of_chi_square(variance: float, df: float) -> tuple[float, float]:
    df = max(df, 1.0)  # with less the upper end is beyond every scale
    return variance * df / stats.chi2.ppf(0.975, df), variance * df / stats.chi2.ppf(0.025, df)


Parts = Sequence[tuple[ArrayLike, float]]
"""Variances with their degrees of freedom."""


def _satterthwaite(variance: ArrayLike, parts: Parts) -> Floats:
    squares = [np.square(part) / max(df, 1.0) for part, df in parts]
    return satterthwaite(variance, np.sum(squares, axis=0))


def _student(
    value: ArrayLike, variance: ArrayLike, parts: Parts, errors: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    value = np.asarray(value, dtype=float)
    stderr = np.where(np.isnan(value) | (not errors), np.nan, np.sqrt(variance))
    df = np.where(np.isnan(stderr), np.nan, _satterthwaite(variance, parts))
    return value, stderr, df, *interval(value, stderr, df)


def _of_items(x: Floats, rated: Bools, facet: Ints) -> tuple[Floats, Floats]:
    """Item means (..., items) -> scores (...) and the weight of each item in them, (..., items)."""
    member = np.eye(facet.max(initial=-1) + 1)[facet]
    counts = rated @ member
    weights = np.where(rated, 1 / np.maximum(counts, 1) @ member.T / max(member.shape[1], 1), 0)
    complete = (counts > 0).all(axis=-1) & bool(member.size)
    return np.where(complete, (weights * np.where(rated, x, 0)).sum(axis=-1), np.nan), weights


def _mean(values: Floats, axis: int) -> tuple[Floats, Ints]:
    """The mean of what is not NaN, and how much there is."""
    there = ~np.isnan(values)
    n = there.sum(axis=axis)
    total = np.where(there, values, 0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan), n


def _tidy(deviations: Floats, nothing: float) -> Floats:
    """Equal values leave rounding, not spread."""
    return np.where(abs(deviations) <= nothing, 0, deviations)


def _checked(given: ArrayLike, facets: Facets) -> tuple[Floats, Ints]:
    ratings = np.asarray(given, dtype=float)
    if ratings.shape[-1] != len(facets):
        raise ValueError(
            "ratings must have shape (groups, rounds, items) with a facet for each item, "
            f"found {ratings.shape} and {len(facets)} facets"
        )
    return ratings, codes(facets)
