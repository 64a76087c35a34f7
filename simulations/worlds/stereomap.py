"""StereoMap: a group's score, the mean of all groups, and their spread.

Groups, items and rounds are drawn from a large population; a group's truth is its mean over all
items and endless rounds. Sampled ratings are whole numbers from 1 to 5; likelihoods are
expectations of one round without chance. *above 0*: how often the spread's interval leaves out 0.
"""

from functools import cache, partial
from itertools import product

import numpy as np
from lm_eval_bias.metrics.errors import Floats, Sample, t_interval
from lm_eval_bias.metrics.group_scores import Scale
from outcome import Outcome, Outcomes, Rng, Rows
from scipy import stats

ITEMS = {"extended": (2, 2), "original, competence": (8,), "original, warmth": (7,)}
"""Items of each facet."""
KINDS = ("five clusters", "normal", "alike", "alike but for another trait")
"""Where groups stand. Of another trait, in which groups differ, each item has more or less, on
average none."""
POPULATIONS = 4
OF_ROUNDS, OF_RATINGS = 0.15, 0.3


def rows() -> Rows:
    for kind, name, rounds, groups in product(KINDS, ITEMS, (10, 3, 1), (98, 24)):
        how = f"{rounds} rounds" if rounds > 1 else "likelihood"
        label = f"{kind}, {name}, {groups} groups, {how}"
        yield label, partial(experiment, kind, ITEMS[name], rounds, groups)


@cache
def population(kind: str, whole: bool, facets: int, seed: int) -> tuple[Floats, Floats]:
    """Ratings without chance, shape (groups, facets, items), and true scores."""
    rng = np.random.default_rng([seed, facets, whole])
    groups, items = 1000, 200
    if kind == "five clusters":
        places = rng.choice([-1.2, -0.4, 0.1, 0.5, 1.0], groups) + rng.normal(0, 0.15, groups)
    else:
        places = (0.7 if kind == "normal" else 0.0) * rng.standard_normal(groups)
    of_facet = 0.2 * rng.standard_normal((groups, facets, 1)) * (not kind.startswith("alike"))
    alone = 0.35 * rng.standard_normal((groups, facets, items))
    if kind == "alike but for another trait":
        trait = rng.standard_normal((facets, items))
        trait -= trait.mean(axis=1, keepdims=True)
        alone = 0.35 * rng.standard_normal((groups, 1, 1)) * trait
    slopes = 1 + 0.15 * rng.standard_normal((facets, items))
    of_items = 0.2 * rng.standard_normal((facets, items))
    latent = 3.2 + places[:, None, None] * slopes + of_facet + of_items
    latent += alone - alone.mean(axis=2, keepdims=True)
    expected = latent
    if whole:
        above = [(point + 0.5 - latent) / np.hypot(OF_ROUNDS, OF_RATINGS) for point in range(1, 5)]
        expected = 1 + stats.norm.sf(above).sum(axis=0)
    return latent, expected.mean(axis=(1, 2))


def experiment(kind: str, items: tuple[int, ...], rounds: int, groups: int, rng: Rng) -> Outcomes:
    whole = rounds > 1
    latent, truth = population(kind, whole, len(items), int(rng.integers(POPULATIONS)))
    chosen = rng.choice(len(truth), groups, replace=False)
    of_facets = [
        latent[chosen][:, f, rng.choice(latent.shape[2], n, replace=False)]
        for f, n in enumerate(items)
    ]
    ratings = np.repeat(np.concatenate(of_facets, axis=1)[:, None], rounds, axis=1)
    if whole:
        ratings = ratings + OF_ROUNDS * rng.standard_normal((groups, rounds, 1))
        ratings = ratings + OF_RATINGS * rng.standard_normal(ratings.shape)
        ratings = np.clip(np.round(ratings), 1, 5)
    of_groups = Scale(ratings, np.repeat(range(len(items)), items).tolist())
    sample = Sample(groups, (range(groups), None))
    mean, _ = of_groups.values(sample.total())
    (low, high), mean_ends = (
        t_interval(estimated.value, np.sqrt(estimated.variance), estimated.df)
        for estimated in (of_groups.estimates, of_groups.mean(sample.estimates(*mean)))
    )
    inside = (low <= truth[chosen]) & (truth[chosen] <= high)
    low, high = of_groups.spread_ends
    return {
        "a group": float(inside.mean()),
        "mean": Outcome(*(float(end[0]) for end in mean_ends), truth.mean()),
        "spread": Outcome(low, high, truth.std()),
        "above 0": low > 0,
    }
