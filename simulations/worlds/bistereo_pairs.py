"""BIStereo-Pairs: the contrasts of contexts, and how often models without any preference get a star
in positive context.

Templates and attributes are samples.
"""

from collections.abc import Mapping, Sequence
from math import atanh
from typing import Any

import numpy as np
from lm_eval_bias.metrics.sentence_preference import ALPHA, CONTEXTS, CONTRASTS
from outcome import Outcome, Outcomes, Rng, Rows, codes, effects, of_parts, reported
from scipy.stats import norm

from lm_eval_bias.benchmarks.bistereo.pairs_documents import documents
from lm_eval_bias.benchmarks.bistereo.pairs_measure import PAIRS, THRESHOLDS, record
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
    return of_parts([d for d in documents() if d["paper"]], "pairs", SPREADS, experiment)


def truth(spreads: tuple[float, float]) -> list[float]:
    """The true contrasts: x is normal; tanh(x / 2) > threshold where x > 2 atanh(threshold)."""
    bound, sd = 2 * atanh(THRESHOLDS[0]), np.sqrt(np.square([*spreads, NOISE]).sum())
    positive, negative = PREFERS["positive"], PREFERS["negative"]
    return [
        100 * (norm.sf(bound, positive, sd) - norm.sf(bound, negative, sd)),
        100 * (norm.cdf(-bound, negative, sd) - norm.cdf(-bound, positive, sd)),
        positive - negative,
    ]


def experiment(docs: Sequence[dict[str, Any]], spreads: tuple[float, float], rng: Rng) -> Outcomes:
    wording, attribute = (codes(docs, ("sentiment", name)) for name in ("wording", "attribute"))
    context = np.array([CONTEXTS.index(d["sentiment"]) for d in docs])
    infused = context != CONTEXTS.index("neutral")

    def summary(prefers: Mapping[str, float]) -> Summary:
        x = np.array([prefers[c] for c in CONTEXTS])[context] + effects(rng, wording, spreads[0])
        x += np.where(infused, effects(rng, attribute, spreads[1]), 0)
        x += rng.normal(0, NOISE, len(docs))
        answers = [[(value, 9, "shared tokens"), (0.0, 9, "shared tokens")] for value in x.tolist()]
        return PAIRS.summary(list(map(record, docs, answers)))

    outcomes: dict[str, Outcome | float] = {}
    prefers = summary(PREFERS)
    for name, true in zip(CONTRASTS, truth(spreads), strict=True):
        outcomes[name] = reported(prefers.values[name], true)
        outcomes[f"{name}, skin"] = reported(prefers.groups[name]["skin"], true)
    row = next(
        row
        for row in summary(dict.fromkeys(CONTEXTS, 0.0)).tables["trisentbias"]
        if (row["axis"], row["gender"], row["context"]) == ("skin", "all", "positive")
    )
    outcomes["star"] = bool(row["star"])
    outcomes["star of templates alone"] = row["p_templates"] <= ALPHA
    return outcomes
