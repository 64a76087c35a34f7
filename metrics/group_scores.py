"""Scores of groups from ratings on several items in several rounds, and how far the groups differ.

Items, within their facet, and rounds are samples; one alone is none.
"""

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from .errors import (
    ROUNDING,
    SEED,
    Bools,
    Estimates,
    Floats,
    Ints,
    Total,
    Value,
    floats,
    ratio,
    satterthwaite,
)

FEW = 24
"""Groups whose own fourth moment counts as much as that of a normal distribution does."""


class Scale:
    """The scores of groups on a scale, and the parts of their variance.

    ratings: shape (groups, rounds, items), NaN for a missing one. facets: of each item. value:
    shape (groups,), the mean over facets of the mean over a facet's items of each item's mean over
    rounds; NaN if a facet has no rating. by_round: shape (groups, rounds), of each round alone.
    shared, alone, of_rounds, both: shape (groups,), the variance by what an item does to all groups
    and to one, by rounds, and what items and rounds count both. Source: StereoMap, Table 4.
    """

    def __init__(self, ratings: ArrayLike, facets: Sequence[Hashable]) -> None:
        ratings = floats(ratings)
        facet = np.unique(np.asarray(list(facets)), return_inverse=True)[1].astype(int)
        self.one_item = len(facet) == 1
        rated = ~np.isnan(ratings).all(axis=(0, 1))
        if set(facet[rated]) == set(facet):  # an item that nobody rated is none
            ratings, facet = ratings[:, :, rated], facet[rated]
        self.ratings, self._there = ratings, ~np.isnan(ratings)
        self.by_round = _of_items(ratings, self._there, facet)[0]
        nothing = ROUNDING * max(1.0, np.nanmax(abs(ratings), initial=0.0))
        self._times = self._there.sum(axis=1)
        x = ratio(np.where(self._there, ratings, 0).sum(axis=1), self._times)
        self.value, weights = _of_items(x, self._times > 0, facet)
        self.scored = ~np.isnan(self.value)
        stratum = np.zeros_like(facet) if np.bincount(facet).min(initial=2) < 2 else facet
        self._member = np.eye(stratum.max(initial=-1) + 1)[stratum]  # (items, strata)
        # Of the groups that lack a score nothing is learned.
        self._rated = (self._times > 0) & self.scored[:, None]
        self._counts = (self._rated @ self._member).astype(int)  # items of a group in a stratum
        self._weights = np.where(self._rated, weights, 0)
        x = np.where(self._rated, x, 0)
        self._deviations = _tidy(self._centred(x), nothing)
        self._of_items(stratum)
        there = self._there & self._rated[:, None, :]
        self._of_rounds(there, _tidy(np.where(there, ratings - x[:, None, :], 0), nothing))

    def _centred(self, x: Floats) -> Floats:
        """Less the weighted mean of a group's items in the stratum."""
        total = self._weights @ self._member
        mean = (self._weights * x) @ self._member / np.where(total > 0, total, 1)
        return np.where(self._rated, x - mean @ self._member.T, 0)

    def _of_items(self, stratum: Ints) -> None:
        member, counts, items = self._member, self._counts, self._member.sum(axis=0)
        complete = (counts == items) & self.scored[:, None]
        # What an item does to all groups is seen where all items of its stratum are rated; if they
        # never are, wherever it is rated.
        use = np.where(complete.any(axis=0), complete, counts > 0) @ member.T * self._rated
        effect = (use * self._deviations).sum(axis=0) / np.maximum(use.sum(axis=0), 1)
        effect -= (member / np.maximum(items, 1)) @ (effect @ member)
        self._interactions = self._centred(self._deviations - effect)
        per_item = (effect**2) @ member / np.maximum(items - 1, 1)
        spare = np.maximum(counts - 1, 0).sum(axis=0)
        per_group_item = ratio((self._interactions**2).sum(axis=0) @ member, spare)
        if self.one_item:  # which is no sample
            per_item, per_group_item = np.zeros(1), np.zeros(1)
        weights = self._weights**2 @ member
        self.shared, self.alone = weights @ per_item, weights @ per_group_item
        self.shared_df = max(float((items - 1).sum()), 1)
        # Groups that stray alike are not so many groups.
        groups = self._unlike_groups(stratum)
        self.alone_df = max(min(spare.sum() - self.shared_df, self.shared_df * groups), 1)

    def _unlike_groups(self, stratum: Ints) -> float:
        """How many independent groups tell as much, from how alike contrasts of items are."""
        contrasts = scipy.linalg.block_diag(*map(scipy.linalg.helmert, np.bincount(stratum)))
        vectors = self._interactions[:, np.argsort(stratum, kind="stable")] @ contrasts.T
        products = vectors.T @ vectors
        lengths = np.diag(products)
        alike = (products**2).sum() - (lengths**2).sum()
        return float((lengths.sum() ** 2 - (lengths**2).sum()) / alike) if alike > 0 else np.inf

    def _of_rounds(self, there: Bools, strays: Floats) -> None:
        """strays: shape (groups, rounds, items), ratings less the mean of their item."""
        self._rounds = there.any(axis=2).sum(axis=1)
        spare = np.maximum(self._rounds - 1, 0)
        self.rounds_df = max(float(spare.sum()), 1)
        self.one_rating = self.one_item and not spare.any()
        of_rating = self._weights / np.maximum(self._times, 1)
        self._by_round = np.einsum("gri,gi->gr", strays, of_rating)
        squares = self._rounds**2 * (self._by_round**2).sum(axis=1)
        per_round = squares[spare > 0].sum() / self.rounds_df
        self.of_rounds = np.where(self.scored, per_round / np.maximum(self._rounds, 1), 0)
        # What is left of a rating without its item's and its round's mean in the stratum.
        among = np.maximum(there @ self._member, 1)
        left = strays - (strays @ self._member / among) @ self._member.T
        squares = (np.where(there, left, 0) ** 2).sum(axis=(1, 2))
        df = (spare[:, None] * np.maximum(self._counts - 1, 0)).sum(axis=1)
        self._own_both = squares / np.maximum(df, 1) * (self._weights * of_rating).sum(axis=1)
        # The variance of items, which all groups share, has as much of it as there are rounds to an
        # item on the whole.
        usual = (self._rated / np.maximum(self._times, 1)).sum() / max(self._rated.sum(), 1)
        per_rating = squares.sum() / max(df.sum(), 1)
        self.both = per_rating * usual * (self._weights**2).sum(axis=1)

    @property
    def estimates(self) -> Estimates:
        """The score of each group; items and rounds are the sample.

        The variance is that of items plus that of rounds less what both count, at least either. If
        a facet has one item among others, items are a sample of the whole scale. NaN with one
        rating per group.
        """
        items = self.shared + self.alone
        together = items + self.of_rounds - self.both
        variance = np.maximum.reduce([items, self.of_rounds, together])
        squares = self.shared**2 / self.shared_df + self.alone**2 / self.alone_df
        squares += self.of_rounds**2 / self.rounds_df
        known = np.where(self.scored & (not self.one_rating), variance, np.nan)
        df = satterthwaite(variance, squares)
        return Estimates(self.value, known, df, self._rounds, self.scored.astype(int))

    @cached_property
    def _chance(self) -> Floats:
        """The variance that items and rounds add to the groups' scores. What an item does to all
        groups costs one of them."""
        n = self.scored.sum()
        return self.alone * n / np.maximum(n - 1, 1) + self.of_rounds - self.both

    def values(self, total: Total) -> tuple[Value, Value]:
        """The mean of the groups' scores, and the standard deviation (ddof 1) of their true scores:
        the variance of the scores less `_chance`, at least 0.

        The spread is NaN with fewer than three scored groups, or one item in one round.
        """
        n = total(self.scored)
        middle = self.value[self.scored].mean() if self.scored.any() else np.nan
        most = abs(self.value[self.scored]).max(initial=1.0)
        away = _tidy(np.where(self.scored, self.value - middle, 0), ROUNDING * most)
        mean = ratio(total(away), n)
        of_groups = ratio(total(away**2) - n * mean**2, n - 1)
        chance = ratio(total(np.where(self.scored, self._chance, 0)), n)
        spread = np.sqrt(np.maximum(of_groups - np.maximum(chance, 0), 0))
        known = (n > 2) & (not self.one_rating)
        return (middle + mean, n), (np.where(known, spread, np.nan), n)

    def mean(self, estimated: Estimates) -> Estimates:
        """The mean's error over groups, with items as a sample, too."""
        shared, alone = (
            ratio(x[self.scored].sum(), estimated.n) for x in (self.shared, self.alone)
        )
        together = estimated.variance + shared - alone / estimated.n
        variance = np.maximum.reduce([estimated.variance, shared, together])
        squares = estimated.variance**2 / estimated.df + shared**2 / self.shared_df
        return estimated._replace(variance=variance, df=satterthwaite(variance, squares))

    @property
    def spread_ends(self) -> tuple[float, float]:
        """The 95 % interval of the spread over groups and items. Source: Zou and Donner (2008);
        Ting et al., Confidence Intervals on Linear Combinations of Variance Components (1990)."""
        values, n = self.value[self.scored], int(self.scored.sum())
        if n < 3 or self.one_rating:
            return np.nan, np.nan
        away = _tidy(values - values.mean(), ROUNDING * max(1.0, abs(values).max()))
        total = float((away**2).sum()) / (n - 1)
        alone = float(self.alone[self.scored].mean()) * n / (n - 1)
        strays = float((self.of_rounds - self.both)[self.scored].mean())
        chance = max(alone + strays, 0.0)
        if not total:
            return 0.0, float(np.sqrt(chance))
        # Variances of the two variances.
        normal = 2 * total**2 / (n - 1)
        own = max((float((away**4).mean()) - total**2 * (n - 3) / (n - 1)) / n, 0.1 * normal)
        # The fourth moment of few groups is small too often: of 24 it counts half.
        of_groups = (n * own + FEW * normal) / (n + FEW)
        by_item = 2 * away[:, None] * (self._weights * self._interactions)[self.scored] / (n - 1)
        items = self._member.sum(axis=0) @ self._member.T
        squares = by_item.sum(axis=0) ** 2 - (by_item**2).sum(axis=0)
        of_items = max(float((items / np.maximum(items - 1, 1) * squares).sum()), 0.0)
        variance = of_groups + of_items
        df = satterthwaite(variance, of_groups**2 / (n - 1) + of_items**2 / self.shared_df)
        stretch = (scipy.stats.t.ppf(0.975, df) / scipy.stats.t.ppf(0.975, n - 1)) ** 2
        low, high = _of_chi_square(total, 2 * total**2 / (variance * stretch))
        chance_low = chance_high = 0.0
        if chance > 0:
            squares = alone**2 / self.alone_df + strays**2 / self.rounds_df
            chance_low, chance_high = _of_chi_square(chance, satterthwaite(chance, squares))
        lowest = total - chance - np.hypot(total - low, chance_high - chance)
        highest = total - chance + np.hypot(high - total, chance - chance_low)
        return float(np.sqrt(max(lowest, 0.0))), float(np.sqrt(max(highest, 0.0)))

    def own_influences(self) -> tuple[Floats, Floats]:
        """What items, shape (groups, items), and rounds, (groups, rounds), add to a draw."""
        m, r = self._counts @ self._member.T, self._rounds
        by_item = self._weights * self._deviations * np.sqrt(m / np.maximum(m - 1, 1))
        by_round = self._by_round * np.sqrt(r / np.maximum(r - 1, 1))[:, None]
        items, rounds = (by_item**2).sum(axis=1), (by_round**2).sum(axis=1)
        total = items + rounds
        variance = np.maximum.reduce([items, rounds, total - self._own_both])
        factor = np.sqrt(variance / np.where(total > 0, total, 1))[:, None]
        return by_item * factor, by_round * factor


def resampled_scores(scales: Sequence[Scale], draws: int) -> Floats:
    """The groups' scores with other items and rounds, shape (draws, groups, scales).

    scales: of the same groups and rounds. NaN for a group that lacks a facet. A multiplier
    bootstrap with normal weights. Source: van der Vaart and Wellner, Weak Convergence and Empirical
    Processes, section 2.9.
    """
    rng = np.random.default_rng(SEED)
    of_rounds = rng.standard_normal((draws, scales[0].ratings.shape[1]))
    points = []
    for scale in scales:
        by_item, by_round = scale.own_influences()
        of_items = rng.standard_normal((draws, by_item.shape[1]))
        points.append(scale.value + of_items @ by_item.T + of_rounds @ by_round.T)
    return np.stack(points, axis=-1)


def variation(scores: ArrayLike) -> Floats:
    """Each group's standard deviation (ddof 0) over mean, over rounds; shape (groups,).

    scores: shape (groups, rounds); NaN is left out. NaN with fewer than two scores or a mean of 0.
    Source: StereoMap, appendix L, Tables 13 and 14.
    """
    x = pd.DataFrame(scores)
    mean = x.mean(axis=1)
    return (x.std(axis=1, ddof=0) / mean).where((x.count(axis=1) > 1) & (mean != 0)).to_numpy()


def _of_chi_square(variance: float, df: ArrayLike) -> tuple[float, float]:
    df = np.maximum(df, 1.0)  # with less the upper end is beyond every scale
    low, high = variance * df / scipy.stats.chi2.ppf([0.975, 0.025], df)
    return float(low), float(high)


def _of_items(x: Floats, rated: Bools, facet: Ints) -> tuple[Floats, Floats]:
    """Item means (..., items) -> scores (...) and the weight of each item in them, (..., items)."""
    member = np.eye(facet.max(initial=-1) + 1)[facet]
    counts = rated @ member
    weights = np.where(rated, 1 / np.maximum(counts, 1) @ member.T / max(member.shape[1], 1), 0)
    complete = (counts > 0).all(axis=-1) & bool(member.size)
    return np.where(complete, (weights * np.where(rated, x, 0)).sum(axis=-1), np.nan), weights


def _tidy(deviations: Floats, nothing: float) -> Floats:
    """Equal values leave rounding, not spread."""
    return np.where(abs(deviations) <= nothing, 0, deviations)
