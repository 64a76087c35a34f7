"""BIStereo-Tuples: the share of biased preferences; contrasts and counterparts are samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from outcome import Outcomes, Rng, Rows, codes, effects, of_parts, reported
from scipy import stats

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents
from lm_eval_bias.benchmarks.bistereo.analogy_measure import ANALOGY, CLUSTERS, record

SPREADS = {
    "both": (0.6, 0.6),
    "contrasts alone": (0.8, 0.0),
    "counterparts alone": (0.0, 0.8),
    "neither": (0.0, 0.0),
}
"""Standard deviations of the draws of contrasts and of counterparts; of an analogy's: 1."""


def rows() -> Rows:
    docs = [d for d in documents() if d["context"] == "stereotype"]
    return of_parts(docs, "analogies", SPREADS, experiment)


def experiment(docs: Sequence[dict[str, Any]], spreads: tuple[float, ...], rng: Rng) -> Outcomes:
    cells, *clusters = (codes(docs, columns) for columns in (("gender", "axis"), *CLUSTERS))
    means = np.linspace(-0.4, 0.9, cells.max() + 1)[cells]
    women = np.array([d["gender"] == "women" for d in docs])
    name = "biased_preferences"
    log_odds = means + rng.normal(0, 1, len(docs))
    for cluster, spread in zip(clusters, spreads, strict=True):
        log_odds += effects(rng, cluster, spread)
    expected = 100 * stats.norm.cdf(means / np.linalg.norm([1, *spreads]))
    answers = [[(0.0, False, None), (x, False, None)] for x in log_odds.tolist()]
    summary = ANALOGY.summary(list(map(record, docs, answers)))
    return {
        "reported": reported(summary.values[name], float(expected.mean())),
        "women": reported(summary.groups[name]["women"], float(expected[women].mean())),
    }
