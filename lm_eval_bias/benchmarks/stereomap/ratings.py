"""StereoMap: the ratings of groups, and five clusters of groups by warmth and competence."""

from collections.abc import Iterable, Sequence
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
    (labels,) = k_means([points], STARTS)
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


def k_means(sets: Iterable[Floats], starts: int) -> list[Ints]:
    """The cluster of each point of each set, the best of `starts`.

    sets: each of shape (n, d), with at least `CLUSTERS` different points.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    found = KMeans(CLUSTERS, n_init=starts, random_state=SEED)
    with threadpool_limits(1):  # of so few points several threads take ten times as long
        return [found.fit_predict(points) for points in sets]
