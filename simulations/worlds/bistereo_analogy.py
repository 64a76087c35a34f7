"""BIStereo-Tuples: the share of biased preferences; contrasts and counterparts are samples."""

from functools import partial
from typing import Any

import numpy as np
from lm_eval_bias.metrics.analogy import Preferred, preference, preferred_mean
from lm_eval_bias.metrics.crossed import codes
from outcome import Outcomes, Rng, Rows, reported
from scipy import stats

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents
from lm_eval_bias.benchmarks.bistereo.analogy_measure import CLUSTERS
from lm_eval_bias.measure import fewest_clusters, number

# Standard deviations of the draws of contrasts, of counterparts and of single analogies.
SPREADS = {
    "both": (0.6, 0.6, 1.0),
    "contrasts alone": (0.8, 0.0, 1.0),
    "counterparts alone": (0.0, 0.8, 1.0),
    "neither": (0.0, 0.0, 1.0),
}


def rows() -> Rows:
    docs = [d for d in documents() if d["context"] == "stereotype"]
    for part in (1, 4, 10):
        for name, spreads in SPREADS.items():
            chosen = docs[: len(docs) // part]
            yield f"{len(chosen)} analogies, {name}", partial(experiment, chosen, spreads)


def experiment(
    docs: list[dict[str, Any]], spreads: tuple[float, float, float], rng: Rng
) -> Outcomes:
    cells = codes([(d["gender"], d["axis"]) for d in docs])
    means = np.linspace(-0.4, 0.9, cells.max() + 1)[cells]
    log_odds = means + rng.normal(0, spreads[2], len(docs))
    clusters = [(d["axis"], d["contrast"]) for d in docs], [d["counterpart"] for d in docs]
    for cluster, spread in zip(map(codes, clusters), spreads, strict=False):
        log_odds += rng.normal(0, spread, cluster.max() + 1)[cluster]
    shares = 100 * preference(log_odds)
    expected = 100 * stats.norm.cdf(means / np.linalg.norm(spreads))
    analogies = [
        Preferred(v, (d["gender"], d["axis"]), d["contrast"], d["axis"], d["counterpart"])
        for d, v in zip(docs, shares.tolist(), strict=True)
    ]
    outcomes = {}
    women = np.array([d["gender"] == "women" for d in docs])
    for name, inside in (("reported", np.ones_like(women)), ("women", women)):
        mean = preferred_mean([a for a, used in zip(analogies, inside, strict=True) if used])
        of = fewest_clusters([d for d, used in zip(docs, inside, strict=True) if used], CLUSTERS)
        outcomes[name] = reported(number(mean, of[None], "%"), float(expected[inside].mean()))
    return outcomes
