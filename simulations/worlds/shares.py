"""Rare shares, clusters of unequal size, and skewed clusters.

A *false pass* is an upper end below the true number, a *false fail* a lower end above it. Themes of
shares are beta-distributed: of intraclass correlation icc, by which two answers of a theme agree.
"""

from functools import partial
from itertools import product
from math import inf

import numpy as np
from lm_eval_bias.metrics.errors import Floats, Sample, mean
from outcome import Outcomes, Rng, Rows, estimated, reported

from lm_eval_bias.measure import Number

WORLDS = {
    "normal": (inf, 0.0),
    "Pareto 1.5": (1.5, 0.0),
    "Pareto 1.1": (1.1, 0.0),
    "lognormal 1": (inf, 1.0),
}
"""Of clusters: the shape of their sizes, and the skew of what they add."""


def rows() -> Rows:
    for themes, answers, icc, percent in product((10, 12, 24), (9, 50), (0, 0.2), (1, 2, 5, 10)):
        label = f"{percent} %, {themes} themes of {answers}, icc {icc}"
        yield label, partial(of_share, percent / 100, themes, answers, icc)
    for clusters, world in product((12, 24, 50), WORLDS):
        yield f"mean, {clusters} clusters, {world}", partial(of_mean, clusters, *WORLDS[world])


def of_share(p: float, themes: int, answers: int, icc: float, rng: Rng) -> Outcomes:
    theme = np.repeat(np.arange(themes), answers)
    own = np.full(themes, p)
    if icc:
        own = rng.beta(p * (1 / icc - 1), (1 - p) * (1 / icc - 1), themes)
    found = mean_of(rng.random(len(theme)) < own[theme], theme, "share")
    return {"false pass": found.high < p, "false fail": found.low > p, "held": reported(found, p)}


def of_mean(clusters: int, shape: float, skew: float, rng: Rng) -> Outcomes:
    sizes = np.full(clusters, 10)
    if shape < inf:
        sizes = np.ceil(5 * (1 + rng.pareto(shape, clusters))).astype(int)
    theme = np.repeat(np.arange(clusters), sizes)
    own = rng.standard_normal(clusters)
    if skew:
        own = np.exp(skew * own) - np.exp(skew**2 / 2)
    y = own[theme] + rng.standard_normal(len(theme))
    return {"held": reported(mean_of(y, theme, "points"), 0)}


def mean_of(y: Floats, cluster: np.ndarray, unit: str) -> Number:
    sample = Sample(len(y), (cluster, None))
    return estimated(sample.estimates(*mean(sample.total(), y)), unit)
