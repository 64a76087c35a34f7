"""BIStereo-Tuples: the share of biased preferences; contrasts and counterparts are samples."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from outcome import Outcomes, Rng, Rows, reported
from scipy import stats

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents
from lm_eval_bias.benchmarks.bistereo.analogy_measure import ANALOGY, CLUSTERS, record

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
    def codes(*columns: str) -> np.ndarray:
        names = ["/".join(str(d[column]) for column in columns) for d in docs]
        return pd.factorize(np.array(names))[0]

    cells = codes("gender", "axis")
    means = np.linspace(-0.4, 0.9, cells.max() + 1)[cells]
    log_odds = means + rng.normal(0, spreads[2], len(docs))
    for columns, spread in zip(CLUSTERS, spreads, strict=False):
        cluster = codes(*columns)
        log_odds += rng.normal(0, spread, cluster.max() + 1)[cluster]
    expected = 100 * stats.norm.cdf(means / np.linalg.norm(spreads))
    answers = ([(0.0, False, None), (x, False, None)] for x in log_odds.tolist())
    summary = ANALOGY.summary([record(d, a) for d, a in zip(docs, answers, strict=True)])
    women = np.array([d["gender"] == "women" for d in docs])
    name = "biased_preferences"
    return {
        "reported": reported(summary.values[name], float(expected.mean())),
        "women": reported(summary.groups[name]["women"], float(expected[women].mean())),
    }
