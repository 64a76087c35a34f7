"""Scores of groups from ratings on several items in several rounds: intervals, resamples, and how far the groups differ.

Throughout, ratings have the shape (groups, rounds, items) or, of one group, (rounds, items), NaN for a rating that is missing or refused.
`facets` has one label for each item: the score is the mean over facets of the mean over a facet's items, as StereoMap's
Table 4 composes Warmth of Sociability and Morality.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .resampling import SEED

DRAWS = 1000
Facets = Sequence[Hashable]


class GroupScore(NamedTuple):
    """A score, its standard error, degrees of freedom and the bounds of its interval of 95 %; of several groups arrays."""

    value: NDArray[np.float64]
    stderr: NDArray[np.float64]
    df: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Interval(NamedTuple):
    """A number and the bounds of its interval of 95 %."""

    value: float
    low: float
    high: float


class Variation(NamedTuple):
    """The mean and the largest of the groups' coefficients of variation."""

    average: float
    largest: float


def score(ratings: ArrayLike, facets: Facets) -> NDArray[np.float64]:
    """ratings (..., rounds, items) -> scores, shape (...); NaN if a facet has no rating at all."""
    raise NotImplementedError


def group_score(ratings: ArrayLike, facets: Facets) -> GroupScore:
    """One group alone, ratings (rounds, items); floats."""
    raise NotImplementedError


def group_scores(ratings: ArrayLike, facets: Facets) -> GroupScore:
    """All groups, ratings (groups, rounds, items), arrays; how much items differ is learned from all groups."""
    raise NotImplementedError


def resampled_scores(dimensions: Sequence[tuple[ArrayLike, Facets]], draws: int = DRAWS, seed: int = SEED) -> NDArray[np.float64]:
    """dimensions: for each its ratings (groups, rounds, items) and facets -> (draws, groups, dimensions); the points of each draw."""
    raise NotImplementedError


def spread(ratings: ArrayLike, facets: Facets) -> Interval:
    """The standard deviation of the groups' true scores."""
    raise NotImplementedError


def mean_score(ratings: ArrayLike, facets: Facets) -> GroupScore:
    """The mean of all groups' scores; floats."""
    raise NotImplementedError


def coefficient_of_variation(scores: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Standard deviation (ddof 0) over mean along an axis, NaN left out."""
    raise NotImplementedError


def variation(scores: ArrayLike) -> Variation:
    """scores (groups, rounds): average and largest coefficient of variation over groups, each over rounds."""
    raise NotImplementedError
