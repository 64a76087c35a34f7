"""BIStereo-NLI: the halo gap, where wordings and attributes are both samples.

All documents are answered, or the first part.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from outcome import Outcomes, Rng, Rows, codes, effects, of_parts, reported

from lm_eval_bias.benchmarks.bistereo.nli_documents import documents
from lm_eval_bias.benchmarks.bistereo.nli_measure import CLUSTERS, NLI, record_generated

TRUE = {"looks": 20.0, "behaviour": -10.0}
SPREADS = {"both": (8.0, 8.0), "wordings alone": (8.0, 0.0), "attributes alone": (0.0, 8.0)}


def rows() -> Rows:
    return of_parts([d for d in documents() if d["paper"]], "documents", SPREADS, experiment)


def experiment(docs: Sequence[dict[str, Any]], spreads: tuple[float, float], rng: Rng) -> Outcomes:
    """Documents about good attributes."""
    docs = [d for d in docs if d["effect"] == "halo"]
    clusters = [codes(docs, columns) for columns in CLUSTERS]
    gaps = np.array([TRUE[d["domain"]] for d in docs])
    favoured = np.where([d["favoured"] for d in docs], 1, -1)
    moved = [effects(rng, *part) for part in zip(clusters, spreads, strict=True)]
    entailed = rng.random(len(docs)) < 0.5 + favoured * (gaps + sum(moved)) / 200
    answers = [["entailment" if e else "contradiction"] for e in entailed]
    number = NLI.summary(list(map(record_generated, docs, answers))).values["halo_gap"]
    return {"reported": reported(number, float(gaps.mean()))}
