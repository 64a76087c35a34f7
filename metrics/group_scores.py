"""Scores of groups from ratings on several items in several rounds: intervals, resamples, and how
far the groups differ.

Throughout, ratings have the shape (groups, rounds, items), NaN for a rating that is missing or
refused; a likelihood's have one round. `facets` has one label for each item: a score is the mean
over facets of the mean over a facet's items, as StereoMap's Table 4 composes Warmth of Sociability
and Morality. Items are a sample of those that a facet could have been asked with, rounds one of
what a model could have answered; facets are fixed. Of a scale of one item nothing can be said about
others: its intervals are over rounds alone. With one round, intervals are over items alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, stats

from .crossed import codes
from .resampling import SEED
from .student import ROUNDING

DRAWS = 1000
FEW = 24
"""Groups whose own fourth moment counts as much as that of a normal distribution does."""
Facets = Sequence[Hashable]
Floats = NDArray[np.float64]


class Score(NamedTuple):
    """A score, its standard error, the degrees of freedom of that, and the bounds of its interval
    of 95 %."""

    value: float
    stderr: float
    df: float
    low: float
    high: float


class GroupScores(NamedTuple):
    """Of each group what a `Score` holds, arrays of shape (groups,)."""

    value: Floats
    stderr: Floats
    df: Floats
    low: Floats
    high: Floats


class Spread(NamedTuple):
    """A standard deviation and the bounds of its interval of 95 %."""

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
    facet has no rating at all. Source: StereoMap, Table 4; the authors' program drops what lacks a
    facet.
    """
    ratings, facet = _checked(ratings, facets)
    of_items, times = _mean(ratings, axis=-2)
    return _of_items(of_items, times > 0, facet)[0]


def group_score(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> Score:
    """The score of one group by itself, with an interval over rounds and items: `group_scores` of
    that group.

    ratings: shape (rounds, items). With four items it has about two degrees of freedom, and an
    interval twice as long as one that learns from other groups how much items stray. If every
    rating is equal the standard error is 0, and is no evidence that others would be too: of rounded
    ratings on few items it is 0 too often.
    """
    ratings = np.asarray(ratings, dtype=float)
    if ratings.ndim != 2:
        raise ValueError(
            f"ratings of one group must have shape (rounds, items), found {ratings.shape}; group_scores takes several groups"
        )
    return Score(*(float(x[0]) for x in group_scores(ratings[None], facets, errors=errors)))


def group_scores(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> GroupScores:
    """The score of each group, with an interval over rounds and items.

    ratings: shape (groups, rounds, items). How much items and rounds stray is estimated from all
    groups together, each facet for itself: four items of one group have two degrees of freedom, and
    where ratings are whole numbers they often agree by chance. The variance is that of items plus
    that of rounds minus what both count, and no less than either. An item that is rated lower of
    all groups strays for all, with as many degrees of freedom as items less facets; what it is of
    one group alone has as many for each group. The interval is Student's with Satterthwaite's
    degrees of freedom. A facet of one item among others shows no chance: then items are taken for a
    sample of the whole scale, which makes the error larger. If all ratings of all groups on a facet
    are equal, it has no error. The value is NaN where `score` is; the rest also where all there is
    is one rating of each group. Source: Cameron, Gelbach and Miller, Robust Inference With Multiway
    Clustering (2011), section 2; Satterthwaite, An Approximate Distribution of Estimates of
    Variance Components (1946). simulations/coverage_stereomap.py counts how often the intervals
    hold the truth.
    """
    design = _Design(*_checked(ratings, facets, of_groups=True))
    return GroupScores(*_student(design.value, design.variance(), design.df(), errors))


def resampled_scores(
    dimensions: Sequence[tuple[ArrayLike, Facets]], draws: int = DRAWS, seed: int = SEED
) -> Floats:
    """The groups' scores with other items and rounds, for the stability of what is made of them.

    dimensions: for each the ratings, shape (groups, rounds, items), and the facets; groups and
    rounds are the same in all. Returns shape (draws, groups, dimensions): the points of each draw.
    NaN for a group that lacks a facet.

    In each draw every item and every round has a weight of its own, the same for all groups, and
    that of a round the same for all dimensions: what an item does to all groups moves all. Weights
    are normal deviates and not counts (a multiplier bootstrap). Counts would draw one of two items
    twice in half of the draws, have three values for a facet, and (m - 1) / m of the variance that
    the mean of m items has: half of it with two. Here an item's deviation from its facet is
    multiplied by sqrt(m / (m - 1)), a round's likewise, and the sum by what makes its variance that
    of items and rounds without what both count: it is the group's own variance, as `group_score`
    has it but with strata as they are. Source: van der Vaart and Wellner, Weak Convergence and
    Empirical Processes, section 2.9.
    """
    designs = [
        _Design(*_checked(ratings, facets, of_groups=True)) for ratings, facets in dimensions
    ]
    shapes = {d.ratings.shape[:2] for d in designs}
    if len(shapes) != 1:
        raise ValueError(
            f"all dimensions must have the same groups and rounds, found {sorted(shapes)}"
        )
    rng = np.random.default_rng(seed)
    of_rounds = rng.standard_normal((draws, shapes.pop()[1]))
    points = []
    for d in designs:
        by_item, by_round = d.own_influences()
        points.append(
            d.value
            + rng.standard_normal((draws, by_item.shape[1])) @ by_item.T
            + of_rounds @ by_round.T
        )
    return np.stack(points, axis=-1)


def spread(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> Spread:
    """The standard deviation (ddof 1) of the groups' true scores: that of their scores less what
    items and rounds add to it by chance.

    ratings: shape (groups, rounds, items). The estimate is by moments: the variance of the scores
    less the mean variance by which a group's score strays from the others'; what an item does to
    all groups is no part of either. Where that is below 0 it is reported as 0. The interval takes
    groups and items for samples. That of the variance of the scores is of chi-square, with degrees
    of freedom from its own variance over groups (which follows their kurtosis) and items; from it
    and that of the chance variance comes that of the difference. A lower bound of 0 says that all
    groups may be seen alike. Where groups differ in something else, of which four items have more
    or less by chance, it lies above 0 a little too often. NaN with fewer than three groups with a
    score, and where chance cannot be told (one item in one round). Source: Zou and Donner,
    Construction of Confidence Limits About Effect Measures: A General Approach (2008); Ting et al.,
    Confidence Intervals on Linear Combinations of Variance Components (1990), for two variances.
    """
    design = _Design(*_checked(ratings, facets, of_groups=True))
    return design.spread(errors)


def mean_score(ratings: ArrayLike, facets: Facets, *, errors: bool = True) -> Score:
    """The mean of the groups' scores, with an interval over groups and items, which all groups
    share.

    ratings: shape (groups, rounds, items); groups without a score are left out. The variance is
    that over groups plus that over items within facets, minus what both count, and no less than
    either; Student's with Satterthwaite's degrees of freedom: with four items in two facets as few
    as two. NaN but for the value with one group.
    """
    design = _Design(*_checked(ratings, facets, of_groups=True))
    values = design.value[design.scored]
    n = len(values)
    if not n:
        return Score(*[np.nan] * 5)
    value, of_groups = values.mean(), values.var(ddof=1) / n if n > 1 else np.nan
    of_groups = 0.0 if of_groups <= (ROUNDING * max(1.0, abs(values).max())) ** 2 else of_groups
    shared, alone = (x[design.scored].mean() for x in (design.shared, design.alone))
    variance = max(shared, of_groups, shared + of_groups - alone / n) if n > 1 else np.nan
    df = _satterthwaite(np.asarray(variance), (shared, design.shared_df), (of_groups, n - 1))
    return Score(*(float(x) for x in _student(np.asarray(value), np.asarray(variance), df, errors)))


def coefficient_of_variation(scores: ArrayLike, axis: int = -1) -> Floats:
    """The standard deviation (ddof 0) over the mean, along an axis.

    scores: any shape; NaN is left out. NaN with fewer than two scores, of which none can vary, or a
    mean of 0. Source: StereoMap, appendix L.
    """
    scores = np.asarray(scores, dtype=float)
    mean, n = _mean(scores, axis)
    deviations = scores - np.expand_dims(mean, axis)
    # equal scores leave rounding
    deviations[abs(deviations) <= ROUNDING * np.nanmax(abs(scores), initial=0.0)] = 0
    deviation = np.sqrt(_mean(deviations**2, axis)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((n > 1) & (mean != 0), deviation / mean, np.nan)


def variation(scores: ArrayLike) -> Variation:
    """The mean and the largest over groups of the coefficient of variation of a group's scores over
    rounds.

    scores: shape (groups, rounds). Groups with fewer than two scores are left out; NaN if all are.
    Source: StereoMap, Tables 13 and 14 ("CV Avg (Max)").
    """
    found = coefficient_of_variation(scores, axis=-1)
    found = found[~np.isnan(found)]
    return (
        Variation(float(found.mean()), float(found.max()))
        if len(found)
        else Variation(np.nan, np.nan)
    )


class _Design:
    """The parts of the variance of the groups' scores.

    value: shape (groups,). shared, alone, of_rounds, both: shape (groups,), the variance by what an
    item does to all groups, by what items do to one group alone, by rounds, and what items and
    rounds count both; with the degrees of freedom `shared_df`, ...
    """

    def __init__(self, ratings: Floats, facet: NDArray[np.int_]) -> None:
        self.ratings = ratings
        self.one_item = len(facet) == 1
        rated = ~np.isnan(ratings).all(axis=(0, 1))
        if set(facet[rated]) == set(facet):  # an item that nobody rated is none
            ratings, facet = ratings[:, :, rated], facet[rated]
        nothing = ROUNDING * max(1.0, np.nanmax(abs(ratings), initial=0.0))
        x, self.times = _mean(ratings, axis=1)
        self.rated = self.times > 0
        self.value, self.weights = _of_items(x, self.rated, facet)
        self.scored = ~np.isnan(self.value)
        asked = np.bincount(facet)
        stratum = np.zeros(len(facet), dtype=int) if asked.min(initial=2) < 2 else facet
        self.member = np.eye(stratum.max(initial=-1) + 1)[stratum]  # (items, strata)
        self.rated = self.rated & self.scored[:, None]
        self.counts = (self.rated @ self.member).astype(int)  # items of each group in each stratum
        self.weights = np.where(self.rated, self.weights, 0)

        self.deviations = _tidy(self._centred(np.where(self.rated, x, 0), self.weights), nothing)
        self._items()
        # Of the groups that lack a score nothing is learned.
        given = ~np.isnan(ratings) & self.rated[:, None, :]
        self.strays = _tidy(
            np.where(given, ratings - np.where(self.rated, x, 0)[:, None, :], 0), nothing
        )
        self._rounds(given)

    def _centred(self, x: Floats, weights: Floats) -> Floats:
        """Less the weighted mean of a group's items in the stratum; 0 for what is not rated."""
        total = weights @ self.member
        mean = (weights * x) @ self.member / np.where(total > 0, total, 1)
        return np.where(self.rated, x - mean @ self.member.T, 0)

    def _items(self) -> None:
        asked = self.member.sum(axis=0)
        complete = (self.counts == asked) & self.scored[:, None]
        # What an item does to all groups is seen where all items of its stratum are rated; if they
        # never are, wherever it is rated.
        use = np.where(complete.any(axis=0), complete, self.counts > 0) @ self.member.T * self.rated
        effect = (use * self.deviations).sum(axis=0) / np.maximum(use.sum(axis=0), 1)
        effect = effect - (self.member / np.maximum(asked, 1)) @ (effect @ self.member)
        self.interactions = self._centred(self.deviations - effect, self.weights)
        per_item = (effect**2) @ self.member / np.maximum(asked - 1, 1)
        spare = np.maximum(self.counts - 1, 0).sum(axis=0)
        per_group_item = np.where(
            spare > 0,
            (self.interactions**2).sum(axis=0) @ self.member / np.maximum(spare, 1),
            np.nan,
        )
        if self.one_item:  # which is no sample
            per_item, per_group_item = np.zeros(1), np.zeros(1)
        squares = self.weights**2 @ self.member
        self.shared, self.alone = squares @ per_item, squares @ per_group_item
        self.shared_df = float((asked - 1).sum())
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
        contrasts = [
            self.interactions[:, of > 0] @ linalg.helmert(int(of.sum())).T
            for of in self.member.T
            if of.sum() > 1
        ]
        products = (
            np.concatenate(contrasts, axis=1) if contrasts else np.zeros((len(self.value), 0))
        )
        products = products.T @ products
        lengths = np.diag(products)
        alike = (products**2).sum() - (lengths**2).sum()
        return float((lengths.sum() ** 2 - (lengths**2).sum()) / alike) if alike > 0 else np.inf

    def _rounds(self, given: NDArray[np.bool_]) -> None:
        rounds = given.any(axis=2).sum(axis=1)
        spare = np.maximum(rounds - 1, 0)
        self.rounds, self.rounds_df = rounds, float(spare.sum())
        self.by_round = np.einsum(
            "gri,gi->gr", self.strays, self.weights / np.maximum(self.times, 1)
        )
        squares = rounds**2 * (self.by_round**2).sum(axis=1)
        per_round = squares[spare > 0].sum() / max(self.rounds_df, 1)
        self.of_rounds = np.where(self.scored, per_round / np.maximum(rounds, 1), 0)
        # What is left of a rating without its item's and its round's mean in the stratum.
        among = given @ self.member
        left = self.strays - (self.strays @ self.member / np.maximum(among, 1)) @ self.member.T
        self.left = (np.where(given, left, 0) ** 2).sum(axis=(1, 2))
        self.left_df = (spare[:, None] * np.maximum(self.counts - 1, 0)).sum(axis=1)
        per_rating = self.left.sum() / max(self.left_df.sum(), 1)
        self.per_rating_weight = (self.weights**2 / np.maximum(self.times, 1)).sum(axis=1)
        # The variance of items, which all groups share, has as much of it as there are rounds to an
        # item on the whole.
        usual = (self.rated / np.maximum(self.times, 1)).sum() / max(self.rated.sum(), 1)
        self.both = per_rating * usual * (self.weights**2).sum(axis=1)

    def variance(self) -> Floats:
        """Of the score of each group."""
        if self.one_item and not self.rounds_df:
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
        both = self.left / np.maximum(self.left_df, 1) * self.per_rating_weight
        total = items + rounds
        variance = np.maximum(np.maximum(items, rounds), total - both)
        factor = np.sqrt(np.where(total > 0, variance / np.where(total > 0, total, 1), 0))[:, None]
        return by_item * factor, by_round * factor

    def spread(self, errors: bool) -> Spread:
        values, n = self.value[self.scored], int(self.scored.sum())
        if n < 3 or (self.one_item and not self.rounds_df):
            return Spread(np.nan, np.nan, np.nan)
        away = _tidy(values - values.mean(), ROUNDING * max(1.0, abs(values).max()))
        total = float((away**2).sum()) / (n - 1)
        # The deviations are from means over the groups, one for each item.
        alone = float(self.alone[self.scored].mean()) * n / (n - 1)
        strays = float((self.of_rounds - self.both)[self.scored].mean())
        chance = max(alone + strays, 0.0)
        if not total:
            return Spread(0.0, 0.0, 0.0 if not chance else float(np.sqrt(chance)))
        if not errors:
            return Spread(float(np.sqrt(max(total - chance, 0.0))), np.nan, np.nan)
        # Variances of the two variances.
        normal = 2 * total**2 / (n - 1)
        own = max((float((away**4).mean()) - total**2 * (n - 3) / (n - 1)) / n, 0.1 * normal)
        # The fourth moment of few groups is small too often: of 24 it counts half.
        of_groups = (n * own + FEW * normal) / (n + FEW)
        by_item = 2 * away[:, None] * (self.weights * self.interactions)[self.scored] / (n - 1)
        asked = self.member.sum(axis=0) @ self.member.T
        factor = asked / np.maximum(asked - 1, 1)
        of_items = max(
            float(
                (factor * by_item.sum(axis=0) ** 2).sum()
                - (factor * (by_item**2).sum(axis=0)).sum()
            ),
            0.0,
        )
        variance = of_groups + of_items
        df = float(
            _satterthwaite(np.asarray(variance), (of_groups, n - 1), (of_items, self.shared_df))
        )
        stretch = (stats.t.ppf(0.975, df) / stats.t.ppf(0.975, n - 1)) ** 2
        low, high = _of_chi_square(total, 2 * total**2 / (variance * stretch))
        chance_df = _satterthwaite(
            np.asarray(chance), (alone, self.alone_df), (strays, self.rounds_df)
        )
        chance_low, chance_high = (
            _of_chi_square(chance, float(chance_df)) if chance > 0 else (0.0, 0.0)
        )
        true = total - chance
        bounds = (
            true,
            true - np.hypot(total - low, chance_high - chance),
            true + np.hypot(high - total, chance - chance_low),
        )
        return Spread(*(float(np.sqrt(max(x, 0.0))) for x in bounds))


def _of_chi_square(variance: float, df: float) -> tuple[float, float]:
    """The interval of 95 % of a variance with so many degrees of freedom."""
    df = max(df, 1.0)  # with less the upper end is beyond every scale
    return variance * df / stats.chi2.ppf(0.975, df), variance * df / stats.chi2.ppf(0.025, df)


def _satterthwaite(variance: Floats, *parts: tuple[ArrayLike, float]) -> Floats:
    """Degrees of freedom of a variance from its parts with theirs, at least 1; infinite of a
    variance of 0."""
    squares = sum(
        np.where(np.asarray(part) == 0, 0, np.square(part)) / max(df, 1.0) for part, df in parts
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            squares > 0,
            np.maximum(variance**2 / squares, 1),
            np.where(np.isnan(variance), np.nan, np.inf),
        )


def _student(value: Floats, variance: Floats, df: Floats, errors: bool) -> tuple[Floats, ...]:
    variance = np.where(np.isnan(value), np.nan, variance)
    stderr = np.sqrt(variance)
    half = np.where(stderr > 0, stats.t.ppf(0.975, df), 0) * stderr if errors else np.nan
    return value, stderr, np.where(np.isnan(stderr), np.nan, df), value - half, value + half


def _of_items(
    x: Floats, rated: NDArray[np.bool_], facet: NDArray[np.int_]
) -> tuple[Floats, Floats]:
    """Item means (..., items) -> scores (...) and the weight of each item in them, (..., items)."""
    member = np.eye(facet.max(initial=-1) + 1)[facet]
    counts = rated @ member
    weights = np.where(rated, 1 / np.maximum(counts, 1) @ member.T / max(member.shape[1], 1), 0)
    complete = (counts > 0).all(axis=-1) & bool(member.size)
    return np.where(complete, (weights * np.where(rated, x, 0)).sum(axis=-1), np.nan), weights


def _mean(values: Floats, axis: int) -> tuple[Floats, NDArray[np.int_]]:
    """The mean of what is given, NaN of nothing, and how much is."""
    given = ~np.isnan(values)
    n = given.sum(axis=axis)
    with np.errstate(invalid="ignore"):
        return np.where(
            n > 0, np.where(given, values, 0).sum(axis=axis) / np.maximum(n, 1), np.nan
        ), n


def _tidy(deviations: Floats, nothing: float) -> Floats:
    """Equal values leave rounding, not spread."""
    return np.where(abs(deviations) < nothing, 0, deviations)


def _checked(
    ratings: ArrayLike, facets: Facets, of_groups: bool = False
) -> tuple[Floats, NDArray[np.int_]]:
    ratings = np.asarray(ratings, dtype=float)
    if ratings.ndim < 2 or ratings.shape[-1] != len(facets) or (of_groups and ratings.ndim != 3):
        shape = "(groups, rounds, items)" if of_groups else "(..., rounds, items)"
        raise ValueError(
            f"ratings must have shape {shape} with a facet for each item, found {ratings.shape} and {len(facets)} facets"
        )
    return ratings, codes(facets)
