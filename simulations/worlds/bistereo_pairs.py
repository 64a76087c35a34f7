"""BIStereo-Pairs: the contrasts of contexts, and how often models without any preference get a star
in positive context.

Templates and attributes are samples.
"""

from collections.abc import Mapping
from functools import partial
from math import atanh
from typing import Any

import numpy as np
from lm_eval_bias.metrics.crossed import codes
from lm_eval_bias.metrics.resampling import Bools, Floats
from lm_eval_bias.metrics.sentence_preference import (
    ALPHA,
    CONTEXTS,
    CONTRASTS,
    NEUTRAL,
    Design,
    Pair,
    preference,
    sign_test,
)
from outcome import Outcome, Outcomes, Rng, Rows
from scipy.stats import norm

from lm_eval_bias.benchmarks.bistereo.pairs_documents import THRESHOLD, documents

PREFERS = {"positive": 0.5, "negative": -0.3, "neutral": 0.2}
"""The mean of x in each context, in nats."""
NOISE = 1.0
SPREADS = {
    "both": (0.7, 0.5),
    "templates alone": (0.7, 0.0),
    "attributes alone": (0.0, 0.5),
    "neither": (0.0, 0.0),
}


def rows() -> Rows:
    docs = [d for d in documents() if d["paper"]]
    for part in (1, 4, 10):
        world = Scores(docs[: len(docs) // part])
        for name, spreads in SPREADS.items():
            yield f"{len(docs) // part:,} pairs, {name}", partial(world.experiment, *spreads)


def truth(spreads: tuple[float, float]) -> list[float]:
    """The true contrasts: x is normal; tanh(x / 2) > threshold where x > 2 atanh(threshold)."""
    bound, sd = 2 * atanh(THRESHOLD), np.sqrt(np.square([*spreads, NOISE]).sum())
    positive, negative = PREFERS["positive"], PREFERS["negative"]
    return [
        100 * (norm.sf(bound, positive, sd) - norm.sf(bound, negative, sd)),
        100 * (norm.cdf(-bound, negative, sd) - norm.cdf(-bound, positive, sd)),
        positive - negative,
    ]


class Scores:
    def __init__(self, docs: list[dict[str, Any]]) -> None:
        self.design = Design(
            [
                Pair(
                    d["wording"],
                    d["axis"],
                    d["gender"],
                    d["sentiment"],
                    d["attribute"],
                    (d["desirable"], d["undesirable"]),
                    d["variant"],
                    0.0,
                    0.0,
                )
                for d in docs
            ]
        )
        self.infused = self.design.context != NEUTRAL
        self.skin = self.design.part("skin", "all")
        self.drawn_with = codes([(d["wording"], d["sentiment"]) for d in docs])

    def draw(self, spreads: tuple[float, float], prefers: Mapping[str, float], rng: Rng) -> Floats:
        x = np.array([prefers[c] for c in CONTEXTS])[self.design.context]
        of_attributes = rng.normal(0, spreads[1], self.design.attribute.max() + 1)
        x = x + rng.normal(0, spreads[0], self.drawn_with.max() + 1)[self.drawn_with]
        x += np.where(self.infused, of_attributes[self.design.attribute], 0)
        return x + rng.normal(0, NOISE, len(x))

    def contrasts(self, x: Floats, which: Bools) -> list[tuple[float, float, float, float]]:
        """Value, error and interval of the three, as `sentence_preference` has them."""
        prefers = preference(x[which], THRESHOLD)
        outcomes = (100.0 * (prefers == 1), -100.0 * (prefers == -1), x[which])
        contrasts = [self.design.contrast(outcome, which) for outcome in outcomes]
        return [(*estimate, low, high) for _, estimate, low, high in contrasts]

    def experiment(self, of_templates: float, of_attributes: float, rng: Rng) -> Outcomes:
        spreads = of_templates, of_attributes
        x = self.draw(spreads, PREFERS, rng)
        outcomes: dict[str, Outcome | float] = {}
        for suffix, which in (("", self.infused), (", skin", self.infused & self.skin)):
            for name, true, (value, stderr, low, high) in zip(
                CONTRASTS, truth(spreads), self.contrasts(x, which), strict=True
            ):
                outcomes[name + suffix] = Outcome(low, high, true, value, stderr)
        x = self.draw(spreads, dict.fromkeys(CONTEXTS, 0.0), rng)
        which = self.skin & (self.design.context == CONTEXTS.index("positive"))
        prefers = preference(x[which], THRESHOLD)
        by_templates = sign_test(prefers, self.design.template[which]) <= ALPHA
        by_attributes = sign_test(prefers, self.design.attribute[which]) <= ALPHA
        outcomes["star"] = by_templates and by_attributes
        outcomes["star of templates alone"] = by_templates
        return outcomes
