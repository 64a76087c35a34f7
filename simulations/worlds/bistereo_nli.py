"""BIStereo-NLI: the halo gap, where wordings and attributes are both samples.

All documents are answered, or the first part.
"""

from functools import partial
from typing import Any

import numpy as np
from outcome import Outcomes, Rng, Rows, reported

from lm_eval_bias.benchmarks.bistereo.nli_documents import documents
from lm_eval_bias.benchmarks.bistereo.nli_measure import CLUSTERS, NLI, record_generated

TRUE = {"looks": 20.0, "behaviour": -10.0}
SPREADS = {"both": (8.0, 8.0), "wordings alone": (8.0, 0.0), "attributes alone": (0.0, 8.0)}


def rows() -> Rows:
    docs = [d for d in documents() if d["paper"]]
    for part in (1, 4, 10):
        world = Twins(docs[: len(docs) // part])
        for name, spreads in SPREADS.items():
            yield f"{len(docs) // part:,} documents, {name}", partial(world.experiment, *spreads)


class Twins:
    """Documents about good attributes, of which each descriptor is asked."""

    def __init__(self, docs: list[dict[str, Any]]) -> None:
        self.docs = [d for d in docs if d["effect"] == "halo"]
        self.labels = [
            [tuple(d[column] for column in columns) for d in self.docs] for columns in CLUSTERS
        ]
        self.gaps = np.array([TRUE[d["domain"]] for d in self.docs])

    def experiment(self, *args: Any) -> Outcomes:
        *spreads, rng = args
        gap = self.gaps + sum(
            self.moved(rng, *part) for part in zip(self.labels, spreads, strict=True)
        )
        favoured = np.where([d["favoured"] for d in self.docs], 1, -1)
        entailed = rng.random(len(gap)) < 0.5 + favoured * gap / 200
        records = [
            record_generated(d, ["entailment" if e else "contradiction"])
            for d, e in zip(self.docs, entailed, strict=True)
        ]
        number = NLI.summary(records).values["halo_gap"]
        return {"reported": reported(number, float(self.gaps.mean()))}

    @staticmethod
    def moved(rng: Rng, labels: list[Any], spread: float) -> np.ndarray:
        effects = {label: rng.normal(0, spread) for label in dict.fromkeys(labels)}
        return np.array([effects[label] for label in labels])
