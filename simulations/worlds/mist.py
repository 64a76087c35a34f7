"""MIST: the bias score and the gap of AAT, of which identifiers and words are samples.

All documents are answered, or the first part.
"""

from collections.abc import Sequence
from typing import Any

from outcome import Outcomes, Rng, Rows, drawn, of_parts, reported

from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.benchmarks.mist.measure import AAT, WABT, record_aat, record_wabt

DOMAINS = {"race": 0.25, "gender": 0.0}  # the others: -.25
GAP = 0.1
SPREADS = {"both": (1.0, 1.0), "words alone": (1.0, 0.0), "identifiers alone": (0.0, 1.0)}
"""Of words and of identifiers: standard deviations, in parts of `OF_WABT` or `OF_AAT`."""
OF_WABT, OF_AAT = 0.1, 0.08


def rows() -> Rows:
    competence = [d for d in mist.word_lists() if d["dimension"] == "competence"]
    for name, docs, world in (("WABT", competence, wabt), ("AAT", mist.attributions(), aat)):
        for label, experiment in of_parts(docs, "documents", SPREADS, world):
            yield f"{name}, {label}", experiment


def wabt(docs: Sequence[dict[str, Any]], spreads: tuple[float, float], rng: Rng) -> Outcomes:
    """Words move a probability of 1/2, as do identifiers that good words lean to: the true score is
    0."""
    words, identifiers = (drawn(rng, OF_WABT * spread) for spread in spreads)
    records = []
    for d in docs:
        a, b = (identifiers[name] for name in d["groups"])
        p = [
            0.5 + words[w, good] + (a - b if good else b - a) / 2
            for w, good in zip(d["words"], d["positive"], strict=True)
        ]
        records.append(record_wabt(d, [(rng.random(len(p)) > p).astype(int).tolist()]))
    return {"reported": reported(WABT.summary(records).values["bias_score"], 0)}


def aat(docs: Sequence[dict[str, Any]], spreads: tuple[float, float], rng: Rng) -> Outcomes:
    words, identifiers = (drawn(rng, OF_AAT * spread) for spread in spreads)
    records = []
    for d in docs:
        p = 0.5 + DOMAINS.get(d["domain"], -0.25) + GAP * (d["side"] == "a")
        p += identifiers[d["group"], d["identifier"]] + words[d["word"]]
        records.append(record_aat(d, ["comedy" if rng.random() < p else "tragedy"]))
    return {"reported": reported(AAT.summary(records).values["comedy_gap"], 100 * GAP)}
