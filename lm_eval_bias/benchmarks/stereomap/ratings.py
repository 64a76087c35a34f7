"""StereoMap: the ratings of groups, and five clusters of groups by warmth and competence."""

from collections.abc import Sequence
from functools import cache
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lm_eval_bias.metrics.errors import Floats
from lm_eval_bias.metrics.group_scores import Scale, resampled_scores
from lm_eval_bias.metrics.partition import changed_share, order, place_names

COMPETENCE, WARMTH = "Competence", "Warmth"
CLUSTERS, SEED = 5, 0
"""Section 3.1; the seed of k-means is that of the authors' program."""
STARTS, DRAWS, RESTARTS = 100, 300, 5
"""Of k-means on the scores; of the resamples of rounds and items, and of k-means on each."""


def asked(answers: pd.DataFrame) -> pd.DataFrame:
    """A row for each rating that answers in words were asked for; NaN where there is none."""
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
    Several ratings of an item in a round are their mean.

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
    """The ratings of groups on a dimension; NaN alone where a limit cut off all its items."""
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
    which the group is in another one; NaN with one rating of each group.
    """
    points = np.column_stack([scores(x, COMPETENCE), scores(x, WARMTH)])
    known = ~np.isnan(points).any(axis=1)
    x = x.assign(Competence=points[:, 0], Warmth=points[:, 1], cluster=-1, changed=nan, place=None)
    points = points[known]
    labels = k_means(points, STARTS)
    if labels is None:
        return x
    centres = np.array([points[labels == k].mean(axis=0) for k in range(CLUSTERS)])
    ranked = order(centres, points)
    own = np.argsort(ranked)[labels]
    x.loc[known, "cluster"] = own
    x.loc[known, "place"] = np.array(place_names(centres[ranked], points), dtype=object)[own]
    scales = [scale(x, dimension)[known] for dimension in (COMPETENCE, WARMTH)]
    if all(np.isfinite(one.estimates.variance).any() for one in scales):
        draws = resampled_scores(scales, DRAWS)
        resampled = np.full(draws.shape[:2], -1)
        for of_draw, places in zip(resampled, draws, strict=True):
            has = ~np.isnan(places).any(axis=1)
            drawn = k_means(places[has], RESTARTS)
            if drawn is not None:
                of_draw[has] = drawn
        x.loc[known, "changed"] = changed_share(own, resampled)
    return x


@cache
def _threads() -> Any:
    """Of the libraries of sklearn; to find them takes longer than k-means."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def k_means(points: Floats, starts: int) -> NDArray[np.int_] | None:
    """The cluster of each point; None with fewer different points than clusters."""
    if len(np.unique(points.round(9), axis=0)) < CLUSTERS:
        return None
    from sklearn.cluster import KMeans

    with _threads().limit(limits=1):
        labels: NDArray[np.int_] = KMeans(CLUSTERS, n_init=starts, random_state=SEED).fit_predict(
            points
        )
    return labels
