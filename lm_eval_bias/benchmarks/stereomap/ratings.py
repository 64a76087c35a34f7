"""StereoMap: the ratings of groups, and five clusters of groups by warmth and competence."""

from collections.abc import Sequence
from math import nan

import numpy as np
import pandas as pd

from lm_eval_bias.metrics.errors import Floats, Ints
from lm_eval_bias.metrics.group_scores import Scale, resampled_scores
from lm_eval_bias.metrics.partition import changed_share, order, place_names

COMPETENCE, WARMTH = "Competence", "Warmth"
CLUSTERS, SEED = 5, 0
"""Section 3.1; the seed of k-means is that of the authors' program."""
STARTS, DRAWS, RESTARTS = 100, 300, 5
"""Of k-means on the scores; of the resamples of rounds and items, and of k-means on each."""
TRIALS = 3
"""Of scikit-learn's k-means: points that may be the next centre."""


def asked(answers: pd.DataFrame) -> pd.DataFrame:
    """A row for each rating asked for in words; NaN where there is none."""
    columns = ["group", "round", "style", "part"]
    cells = [
        (*names, item, *scale, ratings.get(item, nan))
        for *names, scales, ratings in zip(
            *(answers[name] for name in (*columns, "scales", "ratings")), strict=True
        )
        for item, scale in scales.items()
    ]
    columns += ["item", "dimension", "facet", "rating"]
    return pd.DataFrame(cells, columns=columns, dtype=object).astype({"rating": float})


def rated(ratings: pd.DataFrame, groups: Sequence[str]) -> pd.DataFrame:
    """The groups, with `scales`: dimension -> all ratings on its items, the same in each row.
    Several ratings of an item in a round are averaged.

    ratings: columns group, round, item, dimension, facet, rating.
    """
    items = ratings.drop_duplicates("item")
    axes = [groups, sorted(ratings["round"].unique()), items["item"]]
    means = ratings.groupby(["group", "round", "item"])["rating"].mean()
    cells = means.reindex(pd.MultiIndex.from_product(axes)).to_numpy(dtype=float)
    cells = cells.reshape([len(axis) for axis in axes])
    scales = {
        dimension: Scale(cells[:, :, items["dimension"] == dimension], list(rows["facet"]))
        for dimension, rows in items.groupby("dimension", sort=False)
    }
    return pd.DataFrame({"group": groups, "scales": [scales] * len(groups)})


def scale(x: pd.DataFrame, dimension: str) -> Scale:
    """NaN alone where a limit cut off all items of the dimension."""
    scales = x["scales"].iloc[0]
    return (
        scales[dimension]
        if dimension in scales
        else Scale(np.full((len(x), 1, 1), nan), [dimension])
    )


def scores(x: pd.DataFrame, dimension: str) -> Floats:
    """Shape (groups,); rounded, so that equal scores are tied."""
    return scale(x, dimension).value.round(9)


def clustered(x: pd.DataFrame) -> pd.DataFrame:
    """Groups with their scores, and five clusters of those that have both; none with fewer
    different places.

    cluster: the lowest first, -1 for none. place: its name. changed: the share of resamples in
    which the group is in another one; NaN with one rating per group.
    """
    points = np.column_stack([scores(x, COMPETENCE), scores(x, WARMTH)])
    known = ~np.isnan(points).any(axis=1)
    x = x.assign(Competence=points[:, 0], Warmth=points[:, 1], cluster=-1, changed=nan, place=None)
    points = points[known]
    if len(np.unique(points, axis=0)) < CLUSTERS:
        return x
    (labels,) = k_means(points[None], STARTS)
    centres = np.array([points[labels == k].mean(axis=0) for k in range(CLUSTERS)])
    ranked = order(centres, points)
    own = np.argsort(ranked)[labels]
    x.loc[known, "cluster"] = own
    x.loc[known, "place"] = np.array(place_names(centres[ranked], points), dtype=object)[own]
    scales = [scale(x, dimension) for dimension in (COMPETENCE, WARMTH)]
    if all(np.isfinite(one.estimates.variance).any() for one in scales):
        resampled = k_means(resampled_scores(scales, DRAWS)[:, known], RESTARTS)
        x.loc[known, "changed"] = changed_share(own, resampled)
    return x


def k_means(sets: Floats, starts: int) -> Ints:
    """The cluster of each point: k-means (Lloyd) from centres that k-means++ drew, the best of
    `starts`. As `sklearn.cluster.KMeans`, but of all sets at once.

    sets: shape (sets, n, d), each of at least `CLUSTERS` different points. Shape (sets, n). Source:
    Arthur and Vassilvitskii, k-means++ (2007).
    """
    points = np.repeat(sets, starts, axis=0)
    n, run = points.shape[1], np.arange(len(points))[:, None]
    chance = np.random.RandomState(SEED).random_sample((starts, 1 + TRIALS * (CLUSTERS - 1)))
    first, *trials = np.split(np.tile(chance, (len(sets), 1)), range(1, chance.shape[1], TRIALS), 1)
    centres = points[run, (first * n).astype(int)]
    for drawn in trials:
        nearest = _squares(points, centres).min(axis=1)[:, None]
        pot = nearest.cumsum(axis=2)
        reached = (pot < (drawn * pot[:, 0, -1:])[..., None]).sum(axis=2)
        tried = points[run, reached.clip(max=n - 1)]
        left = np.minimum(nearest, _squares(points, tried)).sum(axis=2)
        best = left.argmin(axis=1)[:, None]
        centres = np.concatenate([centres, tried[run, best]], axis=1)
    away, before = _squares(points, centres), np.array([])
    while not np.array_equal(labels := away.argmin(axis=1), before):
        member = labels[:, None] == np.arange(CLUSTERS)[:, None]
        counts = member.sum(axis=2, keepdims=True)
        # A cluster that lost all its points stays where it was.
        centres = np.where(counts, member @ points / np.maximum(counts, 1), centres)
        away, before = _squares(points, centres), labels
    best = away.min(axis=1).sum(axis=1).reshape(-1, starts).argmin(axis=1)
    return labels.reshape(-1, starts, n)[np.arange(len(sets)), best]


def _squares(points: Floats, centres: Floats) -> Floats:
    """(runs, n, d) and (runs, k, d) -> (runs, k, n)."""
    both = zip(np.moveaxis(points, 2, 0), np.moveaxis(centres, 2, 0), strict=True)
    return np.asarray(sum(np.square(x[:, None] - y[..., None]) for x, y in both))
