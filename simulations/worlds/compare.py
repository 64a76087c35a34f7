"""Compare: do intervals of a paired difference of two HBB runs hold what they promise?

Two models are drawn alike, so every p below 0.05 is a false alarm.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from outcome import Outcome, Outcomes, Rng, Rows, drawn
from worlds.hbb import asked

from lm_eval_bias.benchmarks.hbb.measure import HBB
from lm_eval_bias.results.paired import difference, paired


class World(NamedTuple):
    """Standard deviations of what questions do to both models and to each, and of chance."""

    shared: float
    own: float
    chance: float


WORLDS = {"noise": World(0, 0, 1), "shared": World(1, 0, 0.5), "own": World(0.5, 1, 0.5)}


def records(
    rng: Rng, world: World, shared: Mapping[Any, float], clusters: int
) -> Iterator[dict[str, Any]]:
    """Two concept pairs per theme; two types of two identities, and eight placebo types: what is
    expected of an edit has three terms, and its scatter needs more types than terms."""
    types = {f"placebo {i}": "EF" for i in range(8)} | {"Race": "AB", "Age": "CD"}
    own, chance = drawn(rng, world.own), partial(rng.normal, 0, world.chance)
    for record in asked(np.arange(2 * clusters) // 2, types, (1, 2)):
        if record["first"] == 1:
            place = tuple(record[key] for key in ("theme", "type", "identity"))
            log_odds = (0.2 if record["placebo"] else 1.0) * (shared[place] + own[place]) + chance()
        sign = 1 if record["first"] == 1 else -1
        yield {**record, "log_odds": sign * log_odds + 0.3 + 0.3 * chance(), "letter_mass": 0.9}


NUMBERS = (
    "biased_share",
    "bias_score",
    "mean_difference",
    "excess_log_odds",
    "log_odds_difference",
    "position_preference",
)


def rows() -> Rows:
    for clusters, label in product((12, 24), WORLDS):
        yield f"{clusters} clusters, {label}", partial(experiment, WORLDS[label], clusters)


def experiment(world: World, clusters: int, rng: Rng) -> Outcomes:
    shared = drawn(rng, world.shared)
    options = {"order": "both", "threshold": 20.0, "temperature": 0.8}
    runs = [list(records(rng, world, shared, clusters)) for _ in range(2)]
    both = paired(HBB, runs, options)
    outcomes: dict[str, Outcome | float] = {}
    for name in NUMBERS:
        d = difference(*both, (name, None))
        outcomes[name] = Outcome(d.low, d.high, 0.0, d.difference, d.stderr)
        outcomes[f"{name}, false alarms"] = nan if isnan(d.p) else d.p < 0.05
    return outcomes
