"""Rare shares, clusters of unequal size, and skewed clusters.

*Student* is Student's interval over all clusters. A *false pass* is an upper end below the true
number, a *false fail* a lower end above it. Themes of shares are beta-distributed: of intraclass
correlation icc, by which two answers of a theme agree.
"""

from functools import partial
from itertools import product
from math import inf

import numpy as np
from lm_eval_bias.metrics.errors import Floats, Sample, mean, t_interval
from outcome import Outcome, Outcomes, Rng, Rows, estimated, reported

from lm_eval_bias.measure import number

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


def students(y: Floats, theme: np.ndarray) -> tuple[float, float, tuple[float, float]]:
    """The mean, its error over clusters (ddof 1), and Student's interval."""
    away, k = np.bincount(theme, y - y.mean()), theme.max() + 1
    stderr = float(np.sqrt(k / (k - 1) * (away**2).sum()) / len(y))
    low, high = t_interval(y.mean(), stderr, k - 1)
    return float(y.mean()), stderr, (float(low), float(high))


def of_share(p: float, themes: int, answers: int, icc: float, rng: Rng) -> Outcomes:
    theme = np.repeat(np.arange(themes), answers)
    own = np.full(themes, p)
    if icc:
        own = rng.beta(p * (1 / icc - 1), (1 - p) * (1 / icc - 1), themes)
    y = (rng.random(len(theme)) < own[theme]).astype(float)
    value, stderr, before = students(y, theme)
    now = number((value, stderr), themes, "share")
    return {
        "false pass, Student": before[1] < p,
        "false pass": now.high < p,
        "false fail, Student": before[0] > p,
        "false fail": now.low > p,
        "held": Outcome(now.low, now.high, p),
    }


def of_mean(clusters: int, shape: float, skew: float, rng: Rng) -> Outcomes:
    sizes = np.full(clusters, 10)
    if shape < inf:
        sizes = np.ceil(5 * (1 + rng.pareto(shape, clusters))).astype(int)
    theme = np.repeat(np.arange(clusters), sizes)
    own = rng.standard_normal(clusters)
    if skew:
        own = np.exp(skew * own) - np.exp(skew**2 / 2)
    y = own[theme] + rng.standard_normal(len(theme))
    sample = Sample(len(y), (theme, None))
    found = estimated(sample.estimates(*mean(sample.total(), y)), "points")
    return {"Student": Outcome(*students(y, theme)[2], 0), "reported": reported(found, 0)}
