"""BIStereo-NLI: the halo gap, where wordings and attributes are both samples.

All documents are answered, or the first part.
"""

from functools import partial
from typing import Any

import numpy as np
from lm_eval_bias.metrics.crossed import Clustering, codes, crossed_mean
from outcome import Outcomes, Rng, Rows, reported

from lm_eval_bias.benchmarks.bistereo.nli_documents import documents

TRUE = {"looks": 20.0, "behaviour": -10.0}
SPREADS = {"both": (8.0, 8.0), "wordings alone": (8.0, 0.0), "attributes alone": (0.0, 8.0)}


def rows() -> Rows:
    docs = [d for d in documents() if d["paper"]]
    for part in (1, 4, 10):
        world = Twins(docs[: len(docs) // part])
        for name, spreads in SPREADS.items():
            yield f"{len(docs) // part:,} documents, {name}", partial(world.experiment, *spreads)


class Twins:
    def __init__(self, docs: list[dict[str, Any]]) -> None:
        good = [d for d in docs if d["effect"] == "halo"][::2]
        self.cells = codes([(d["gender"], d["category"]) for d in good])
        self.wordings = Clustering(
            codes([(d["domain"], d["wording"]) for d in good]), codes([d["domain"] for d in good])
        )
        self.attributes = Clustering(
            codes([(d["category"], d["attribute"]) for d in good]),
            codes([d["category"] for d in good]),
        )
        self.gaps = np.array([TRUE[d["domain"]] for d in good])

    def experiment(self, of_wordings: float, of_attributes: float, rng: Rng) -> Outcomes:
        gap = self.gaps
        for (clusters, _), spread in (
            (self.wordings, of_wordings),
            (self.attributes, of_attributes),
        ):
            gap = gap + rng.normal(0, spread, np.max(clusters) + 1)[clusters]
        entailed = rng.random((2, len(gap))) < 0.5 + np.array([[1], [-1]]) * gap / 200
        differences = 100.0 * (entailed[0].astype(int) - entailed[1])
        mean = crossed_mean(differences, self.cells, self.wordings, self.attributes)
        return {"reported": reported(mean, float(self.gaps.mean()))}
