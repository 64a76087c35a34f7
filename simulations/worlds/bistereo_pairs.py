"""BIStereo-Pairs: the contrasts of contexts, and how often models without any preference get a star
in positive context.

Templates and attributes are samples.
"""

from collections.abc import Mapping
from functools import partial
from math import atanh
from typing import Any

import numpy as np
import pandas as pd
from lm_eval_bias.metrics.errors import Floats
from lm_eval_bias.metrics.sentence_preference import ALPHA, CONTEXTS, CONTRASTS
from outcome import Outcome, Outcomes, Rng, Rows, reported
from scipy.stats import norm

from lm_eval_bias.benchmarks.bistereo.pairs_documents import THRESHOLD, documents
from lm_eval_bias.benchmarks.bistereo.pairs_measure import PAIRS, record
from lm_eval_bias.measure import Summary

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
        self.docs = docs
        self.context = np.array([CONTEXTS.index(d["sentiment"]) for d in docs])
        self.infused = self.context != CONTEXTS.index("neutral")
        self.drawn_with, self.attribute = (
            pd.factorize(np.array([f"{d['sentiment']} {d[name]}" for d in docs]))[0]
            for name in ("wording", "attribute")
        )

    def draw(self, spreads: tuple[float, float], prefers: Mapping[str, float], rng: Rng) -> Floats:
        x = np.array([prefers[c] for c in CONTEXTS])[self.context]
        x = x + rng.normal(0, spreads[0], self.drawn_with.max() + 1)[self.drawn_with]
        of_attributes = rng.normal(0, spreads[1], self.attribute.max() + 1)[self.attribute]
        return x + np.where(self.infused, of_attributes, 0) + rng.normal(0, NOISE, len(x))

    def summary(self, x: Floats) -> Summary:
        answers = ([(value, 9, "shared tokens"), (0.0, 9, "shared tokens")] for value in x.tolist())
        records = [record(d, answer) for d, answer in zip(self.docs, answers, strict=True)]
        return PAIRS.summary(records, threshold=THRESHOLD)

    def experiment(self, of_templates: float, of_attributes: float, rng: Rng) -> Outcomes:
        spreads = of_templates, of_attributes
        summary = self.summary(self.draw(spreads, PREFERS, rng))
        outcomes: dict[str, Outcome | float] = {}
        for name, true in zip(CONTRASTS, truth(spreads), strict=True):
            outcomes[name] = reported(summary.values[name], true)
            outcomes[f"{name}, skin"] = reported(summary.groups[name]["skin"], true)
        summary = self.summary(self.draw(spreads, dict.fromkeys(CONTEXTS, 0.0), rng))
        row = next(
            row
            for row in summary.tables["trisentbias"]
            if (row["axis"], row["gender"], row["context"]) == ("skin", "all", "positive")
        )
        outcomes["star"] = bool(row["star"])
        outcomes["star of templates alone"] = row["p_templates"] <= ALPHA
        return outcomes
