"""Scores of groups from ratings on several items in several rounds: intervals, resamples, and how
far the groups differ.

Throughout, ratings have the shape (groups, rounds, items), NaN for a missing rating; a likelihood's
have one round. `facets` has one label for each item: a score is the mean over facets of the mean
over a facet's items, as in StereoMap's Table 4. Items are a sample within their facet, rounds a
sample of answers; facets are fixed. With one item intervals are over rounds alone, with one round
over items alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from .crossed import CrossedMean, codes
from .resampling import SEED, Bools, Floats, Ints
from .student import ROUNDING, interval

DRAWS = 1000
FEW = 24
"""Groups whose own fourth moment counts as much as that of a normal distribution does."""
Facets = Sequence[Hashable]


class GroupScores(NamedTuple):
    """The score of each group, its standard error with degrees of freedom, and its 95 % interval;
    shape (groups,)."""

    value: Floats
    stderr: Floats
    df: Floats
    low: Floats
    high: Floats


class Spread(NamedTuple):
    """A standard deviation and its 95 % interval."""

    value: float
    low: float
    high: float


class Variation(NamedTuple):
    """The mean and the largest of the groups' coefficients of variation."""

    average: float
    largest: float


def score(ratings: ArrayLike, facets: Facets) -> Floats:
    """The mean over facets of the mean over a facet's items of each item's mean over rounds.

    ratings: shape (..., rounds, items). Returns shape (...). Missing ratings are left out; NaN if a
    facet has no rating at all. Source: StereoMap, Table 4.
    """
    ratings, facet = _checked(ratings, facets)
    of_items, times = _mean(ratings, axis=-2)
    return _of_items(of_items, times > 0, facet)[0]


def group_scores(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> GroupScores:
    """The score of each group, with an interval over rounds and items.

    The variance is that of items plus that of rounds minus what both count, and no less than
    either. How much items and rounds stray is estimated from all groups together, in each facet:
    what an item does to all groups has as many degrees of freedom as items less facets, what it
    does to one group as many for each group. The interval is Student's with Satterthwaite's degrees
    of freedom. If a facet has one item among others, items are a sample of the whole scale. The
    error is 0 if all ratings of all groups on a facet are equal. The value is NaN where `score` is;
    the rest also with one rating of each group, and without errors. Source: Cameron, Gelbach and
    Miller, Robust Inference With Multiway Clustering (2011), section 2; Satterthwaite, An
    Approximate Distribution of Estimates of Variance Components (1946).
    """
    design = _Design(ratings, facets)
    return GroupScores(*_student(design.value, design.variance(), design.df(), errors))


def resampled_scores(
    dimensions: Sequence[tuple[ArrayLike, Facets]], draws: int = DRAWS, seed: int = SEED
) -> Floats:
    """The groups' scores with other items and rounds, for the stability of clusters.

    dimensions: for each the ratings, shape (groups, rounds, items), and the facets; groups and
    rounds are the same in all. Returns shape (draws, groups, dimensions); NaN for a group that
    lacks a facet.

    A multiplier bootstrap: in each draw every item and every round has a normal weight, the same
    for all groups, and that of a round the same for all dimensions. An item's deviation from its
    facet is multiplied by sqrt(m / (m - 1)), a round's likewise, and the sum by what makes its
    variance the group's own. (Counts would have half the variance of a mean of two items.) Source:
    van der Vaart and Wellner, Weak Convergence and Empirical Processes, section 2.9.
    """
    designs = [_Design(ratings, facets) for ratings, facets in dimensions]
    shapes = {d.shape for d in designs}
    if len(shapes) != 1:
        raise ValueError(
            f"all dimensions must have the same groups and rounds, found {sorted(shapes)}"
        )
    rng = np.random.default_rng(seed)
    of_rounds = rng.standard_normal((draws, shapes.pop()[1]))
    points = []
    for d in designs:
        by_item, by_round = d.own_influences()
        of_items = rng.standard_normal((draws, by_item.shape[1]))
        points.append(d.value + of_items @ by_item.T + of_rounds @ by_round.T)
    return np.stack(points, axis=-1)


def spread(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> Spread:
    """The standard deviation (ddof 1) of the groups' true scores: that of their scores less what
    items and rounds add to it by chance.

    By moments: the variance of the scores less the mean variance by which a group's score strays
    from the others', at least 0. The interval takes groups and items as samples: the variance of
    the scores is of chi-square, with degrees of freedom from its own variance over groups (by their
    kurtosis) and items; that of the difference follows from it and the chance variance. A lower end
    of 0 says that all groups may be alike. NaN with fewer than three scored groups and with one
    item in one round; the ends without errors. Source: Zou and Donner, Construction of Confidence
    Limits About Effect Measures (2008); Ting et al., Confidence Intervals on Linear Combinations of
    Variance Components (1990).
    """
    design = _Design(ratings, facets)
    values, n = design.value[design.scored], int(design.scored.sum())
    if n < 3 or design.one_rating:
        return Spread(np.nan, np.nan, np.nan)
    away = _tidy(values - values.mean(), ROUNDING * max(1.0, abs(values).max()))
    total = float((away**2).sum()) / (n - 1)
    # The deviations are from means over the groups, one for each item.
    alone = float(design.alone[design.scored].mean()) * n / (n - 1)
    strays = float((design.of_rounds - design.both)[design.scored].mean())
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
    by_item = 2 * away[:, None] * (design.weights * design.interactions)[design.scored] / (n - 1)
    items = design.member.sum(axis=0) @ design.member.T
    squares = by_item.sum(axis=0) ** 2 - (by_item**2).sum(axis=0)
    of_items = max(float((items / np.maximum(items - 1, 1) * squares).sum()), 0.0)
    variance = of_groups + of_items
    df = _satterthwaite(variance, (of_groups, n - 1), (of_items, design.shared_df))
    stretch = (stats.t.ppf(0.975, float(df)) / stats.t.ppf(0.975, n - 1)) ** 2
    low, high = _of_chi_square(total, 2 * total**2 / (variance * stretch))
    chance_low = chance_high = 0.0
    if chance > 0:
        df = _satterthwaite(chance, (alone, design.alone_df), (strays, design.rounds_df))
        chance_low, chance_high = _of_chi_square(chance, float(df))
    lowest = total - chance - np.hypot(total - low, chance_high - chance)
    highest = total - chance + np.hypot(high - total, chance - chance_low)
    return Spread(value, *(float(np.sqrt(max(x, 0.0))) for x in (lowest, highest)))


def mean_score(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> CrossedMean:
    """The mean of the groups' scores, with an interval over groups and items, which all groups
    share.

    Groups without a score are left out. The variance is that over groups plus that over items
    within facets, minus what both count, and no less than either; Student's interval with
    Satterthwaite's degrees of freedom. NaN but for the value with one group, and without errors.
    """
    design = _Design(ratings, facets)
    values = design.value[design.scored]
    n = len(values)
    if not n:
        return CrossedMean(*[np.nan] * 5)
    value, of_groups = values.mean(), values.var(ddof=1) / n if n > 1 else np.nan
    of_groups = 0.0 if of_groups <= (ROUNDING * max(1.0, abs(values).max())) ** 2 else of_groups
    shared, alone = (x[design.scored].mean() for x in (design.shared, design.alone))
    variance = max(shared, of_groups, shared + of_groups - alone / n) if n > 1 else np.nan
    df = _satterthwaite(variance, (shared, design.shared_df), (of_groups, n - 1))
    return CrossedMean(*map(float, _student(value, variance, df, errors)))


def coefficient_of_variation(scores: ArrayLike, axis: int = -1) -> Floats:
    """The standard deviation (ddof 0) over the mean, along an axis.

    scores: any shape; NaN is left out. NaN with fewer than two scores, or a mean of 0. Source:
    StereoMap, appendix L.
    """
    scores = np.asarray(scores, dtype=float)
    mean, n = _mean(scores, axis)
    nothing = ROUNDING * np.nanmax(abs(scores), initial=0.0)
    deviations = _tidy(scores - np.expand_dims(mean, axis), nothing)
    deviation = np.sqrt(_mean(deviations**2, axis)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((n > 1) & (mean != 0), deviation / mean, np.nan)


def variation(scores: ArrayLike) -> Variation:
    """The mean and the largest over groups of the coefficient of variation of a group's scores over
    rounds.

    scores: shape (groups, rounds). Groups with fewer than two scores are left out; NaN if all are.
    Source: StereoMap, Tables 13 and 14 ("CV Avg (Max)").
    """
    of_groups = coefficient_of_variation(scores)
    of_groups = of_groups[~np.isnan(of_groups)]
    if not len(of_groups):
        return Variation(np.nan, np.nan)
    return Variation(float(of_groups.mean()), float(of_groups.max()))


class _Design:
    """The parts of the variance of the groups' scores.

    value: shape (groups,). shared, alone, of_rounds, both: shape (groups,), the variance by what an
    item does to all groups, by what items do to one group alone, by rounds, and what items and
    rounds count both; with the degrees of freedom `shared_df`, ...
    """

    def __init__(self, given: ArrayLike, facets: Facets) -> None:
        ratings, facet = _checked(given, facets, of_groups=True)
        self.shape = ratings.shape[:2]
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
        self._items()
        there = ~np.isnan(ratings) & self.rated[:, None, :]
        self._rounds(there, _tidy(np.where(there, ratings - x[:, None, :], 0), nothing))
        self.one_rating = self.one_item and not self.rounds_df

    def _centred(self, x: Floats) -> Floats:
        """Less the weighted mean of a group's items in the stratum; 0 for what is not rated."""
        total = self.weights @ self.member
        mean = (self.weights * x) @ self.member / np.where(total > 0, total, 1)
        return np.where(self.rated, x - mean @ self.member.T, 0)

    def _items(self) -> None:
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
        self.alone_df = min(
            float(spare.sum()) - self.shared_df, self.shared_df * self._unlike_groups()
        )

    def _unlike_groups(self) -> float:
        """How many groups that stray independently tell as much as these do, from how alike
        different contrasts of items are.

        A contrast is a vector over groups. With covariance S between groups, its squared length
        estimates trace(S) with trace(S)^2 / trace(S^2) degrees of freedom, and the squared product
        of two contrasts trace(S^2). Infinite with a single contrast.
        """
        contrasts = [np.zeros((len(self.value), 0))]
        for of in self.member.T > 0:
            if of.sum() > 1:
                contrasts.append(self.interactions[:, of] @ linalg.helmert(int(of.sum())).T)
        vectors = np.concatenate(contrasts, axis=1)
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

    def variance(self) -> Floats:
        """Of the score of each group."""
        if self.one_rating:
            return np.full(len(self.value), np.nan)
        items = self.shared + self.alone
        return np.maximum(np.maximum(items, self.of_rounds), items + self.of_rounds - self.both)

    def df(self) -> Floats:
        """Satterthwaite's, of the variance of each group."""
        return _satterthwaite(
            self.variance(),
            (self.shared, self.shared_df),
            (self.alone, self.alone_df),
            (self.of_rounds, self.rounds_df),
        )

    def own_influences(self) -> tuple[Floats, Floats]:
        """What each item, shape (groups, items), and each round, (groups, rounds), adds to a draw
        of the group's score."""
        m, r = self.counts @ self.member.T, self.rounds
        by_item = self.weights * self.deviations * np.sqrt(m / np.maximum(m - 1, 1))
        by_round = self.by_round * np.sqrt(r / np.maximum(r - 1, 1))[:, None]
        items, rounds = (by_item**2).sum(axis=1), (by_round**2).sum(axis=1)
        total = items + rounds
        variance = np.maximum(np.maximum(items, rounds), total - self.own_both)
        factor = np.sqrt(np.where(total > 0, variance / np.where(total > 0, total, 1), 0))[:, None]
        return by_item * factor, by_round * factor


def _of_chi_square(variance: float, df: float) -> tuple[float, float]:
    """The 95 % interval of a variance with so many degrees of freedom."""
    df = max(df, 1.0)  # with less the upper end is beyond every scale
    return variance * df / stats.chi2.ppf(0.975, df), variance * df / stats.chi2.ppf(0.025, df)


def _satterthwaite(variance: ArrayLike, *parts: tuple[ArrayLike, float]) -> Floats:
    """Degrees of freedom of a variance from its parts with theirs, at least 1; infinite of a
    variance of 0."""
    total, squares = np.asarray(variance, dtype=float), np.asarray(0.0)
    for part, df in parts:
        squares = squares + np.where(np.asarray(part) == 0, 0, np.square(part)) / max(df, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df_of_all = np.maximum(total**2 / squares, 1)
    return np.where(squares > 0, df_of_all, np.where(np.isnan(total), np.nan, np.inf))


def _student(
    value: ArrayLike, variance: ArrayLike, df: Floats, errors: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    value = np.asarray(value, dtype=float)
    stderr = np.where(np.isnan(value) | (not errors), np.nan, np.sqrt(variance))
    return value, stderr, np.where(np.isnan(stderr), np.nan, df), *interval(value, stderr, df)


def _of_items(x: Floats, rated: Bools, facet: Ints) -> tuple[Floats, Floats]:
    """Item means (..., items) -> scores (...) and the weight of each item in them, (..., items)."""
    member = np.eye(facet.max(initial=-1) + 1)[facet]
    counts = rated @ member
    weights = np.where(rated, 1 / np.maximum(counts, 1) @ member.T / max(member.shape[1], 1), 0)
    complete = (counts > 0).all(axis=-1) & bool(member.size)
    return np.where(complete, (weights * np.where(rated, x, 0)).sum(axis=-1), np.nan), weights


def _mean(values: Floats, axis: int) -> tuple[Floats, Ints]:
    """The mean of what is not NaN, NaN of nothing, and how much there is."""
    there = ~np.isnan(values)
    n = there.sum(axis=axis)
    total = np.where(there, values, 0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan), n


def _tidy(deviations: Floats, nothing: float) -> Floats:
    """Equal values leave rounding, not spread."""
    return np.where(abs(deviations) <= nothing, 0, deviations)


def _checked(given: ArrayLike, facets: Facets, of_groups: bool = False) -> tuple[Floats, Ints]:
    ratings = np.asarray(given, dtype=float)
    if ratings.ndim < 2 or ratings.shape[-1] != len(facets) or (of_groups and ratings.ndim != 3):
        shape = "(groups, rounds, items)" if of_groups else "(..., rounds, items)"
        raise ValueError(
            f"ratings must have shape {shape} with a facet for each item, "
            f"found {ratings.shape} and {len(facets)} facets"
        )
    return ratings, codes(facets)
