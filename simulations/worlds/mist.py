"""MIST: the bias score and the gap of AAT, of which identifiers and words are samples.

All documents are answered, or the first part.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from outcome import Outcomes, Rng, Rows, reported

from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.benchmarks.mist.measure import AAT, WABT, record_aat, record_wabt

DOMAINS = {"race": 0.25, "gender": 0.0}  # the others: -.25
GAP = 0.1
Docs = list[dict[str, Any]]


def rows() -> Rows:
    competence = [d for d in mist.word_lists() if d["dimension"] == "competence"]
    worlds: list[tuple[str, Docs, Callable[..., Any], float]] = [
        ("WABT", competence, scores, 0.1),
        ("AAT", mist.attributions(), gaps, 0.08),
    ]
    for test, docs, experiment, spread in worlds:
        for part in (1, 4, 10):
            chosen = docs[: len(docs) // part]
            for name, of_words, of_others in (
                ("both", spread, spread),
                ("words alone", spread, 0.0),
                ("identifiers alone", 0.0, spread),
            ):
                label = f"{test}, {len(chosen):,} documents, {name}"
                yield label, partial(experiment, chosen, of_words, of_others)


def effects(rng: Rng, spread: float) -> defaultdict[Any, float]:
    """A draw of its own for each thing that has none yet."""
    return defaultdict(lambda: rng.normal(0, spread))


def scores(docs: Docs, of_words: float, of_identifiers: float, rng: Rng) -> Outcomes:
    """Words move a probability of 1/2, as do identifiers that good words lean to: the true score is
    0."""
    words, identifiers = effects(rng, of_words), effects(rng, of_identifiers)
    records = []
    for d in docs:
        a, b = (identifiers[name] for name in d["groups"])
        p = [
            0.5 + words[w, good] + (a - b if good else b - a) / 2
            for w, good in zip(d["words"], d["positive"], strict=True)
        ]
        records.append(record_wabt(d, [(rng.random(len(p)) > p).astype(int).tolist()]))
    return {"reported": reported(WABT.summary(records).values["bias_score"], 0)}


def gaps(docs: Docs, of_words: float, of_identifiers: float, rng: Rng) -> Outcomes:
    words, identifiers = effects(rng, of_words), effects(rng, of_identifiers)
    records = []
    for d in docs:
        p = 0.5 + DOMAINS.get(d["domain"], -0.25) + GAP * (d["side"] == "a")
        p += identifiers[d["group"], d["identifier"]] + words[d["word"]]
        records.append(record_aat(d, ["comedy" if rng.random() < p else "tragedy"]))
    return {"reported": reported(AAT.summary(records).values["comedy_gap"], 100 * GAP)}
