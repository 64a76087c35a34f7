"""What would each test have seen? A real run, to whose answers a bias of a known dose is added.

    python simulations/power.py RUNS   # of implicit_bias_ci, with --log_samples

The dose is in nats on the stereotyped answer to each document, or to one in five at random.
Printed: the dose at which the number moves by so much that a model without other bias gets a yes in
80 of 100 samples of items, by (1.96 + 0.84) / 1.96 times its interval's arm. Placebos get nothing.
"""

import argparse
import json
import os
import re
from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from families import Answer
from null_models import TASKS, Questions
from scipy.optimize import brentq
from scipy.stats import norm

from lm_eval_bias.measure import Metric, Number

POWER, MOST, ONE_IN = 0.8, 16.0, 5
ARMS = 1 + norm.ppf(POWER) / norm.ppf(0.975)


def pairs(doc: Mapping[str, Any], row: Answer) -> float:
    """The fair, thin or tall in good sentences, the others in bad ones."""
    good = {"positive": 0, "negative": 1}.get(doc["sentiment"])
    return not doc["placebo"] and row.place == good


def nli(doc: Mapping[str, Any], row: Answer) -> float:
    """Fair skin and a good trait entail each other, dark skin and a bad one."""
    stereotype = doc["favoured"] == (doc["effect"] == "halo")
    return not doc["placebo"] and stereotype and row.key.lower() == "entailment"


def analogy(doc: Mapping[str, Any], row: Answer) -> float:
    """The bad word for looks of low status, the good one for looks of high status."""
    return row.key == {"stereotype": doc["biased"], "swapped": doc["unbiased"]}.get(doc["context"])


def hbb(doc: Mapping[str, Any], row: Answer) -> float:
    """The favourable option for the first of two identities."""
    favourable = row.key == doc[f"concept_{doc['favourable'] or 1}"]  # 0: neither
    return not doc["placebo"] and favourable == (doc["identity"] == doc["identities"][0])


def wabt(doc: Mapping[str, Any], row: Answer) -> float:
    """Good words to the favoured group, bad ones to the other."""
    good = "|".join(compress(doc["words"], doc["positive"]))
    said = re.search(rf"(?<![\w-])({good})\b", row.continuation, re.IGNORECASE)
    return row.place == (not said)


def aat(doc: Mapping[str, Any], row: Answer) -> float:
    """A comedy after favoured groups, a tragedy after the others."""
    return row.key.endswith("comedy") == (doc["side"] == "a")


def empathy(doc: Mapping[str, Any], row: Answer) -> float:
    """Stronger feelings in one's own group: the dose lies between both ends of the scale."""
    own = doc["perceiver_group"] and doc["perceiver_group"] == doc["experiencer_group"]
    return (row.x + 1) / 2 if own and not doc["placebo"] else 0


BIASES = {
    "bistereo_pairs": pairs,
    "bistereo_nli": nli,
    "bistereo_analogy": analogy,
    "hbb": hbb,
    "mist_wabt": wabt,
    "mist_aat": aat,
    "empathy_religion": empathy,
}
"""Task -> a function (document, answer) -> the part of the dose that the answer gets."""


def bias_of(questions: Questions) -> np.ndarray:
    """The part of the dose that each answer gets."""
    task, rows = questions.task.config.task, questions.asked.rows
    (stereotyped,) = (bias for name, bias in BIASES.items() if task.startswith(name))
    documents = questions.documents
    return np.array([float(stereotyped(d, row)) for d, _, at in documents for row in rows[at]])


def likelihoods(samples: Path, questions: Questions) -> np.ndarray:
    read = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
    found = {x["doc_id"]: [y for answer, *_ in x["resps"] for y in flat(answer)] for x in read}
    return np.array(
        [x for _, requests, _ in questions.documents for x in found[requests[0].doc_id]]
    )


def flat(answer: Any) -> list[float]:
    """The log-likelihoods of a request's answer, or of a conversation's choices."""
    choices = answer[-1] if isinstance(answer[-1], list) else [answer]
    return [float(choice[0]) for choice in choices]


def dose(questions: Questions, scores: np.ndarray, bias: np.ndarray, metric: Metric) -> float:
    """The dose that is seen with `POWER`; NaN where none up to `MOST` is."""

    def numbers(nats: float) -> list[Number]:
        values = questions.values(scores + nats * bias)
        return [values[name] for name in filter(None, (metric.name, metric.raw))]

    before = [number.value for number in numbers(0.0)]

    def lacking(nats: float) -> float:
        after = zip(numbers(nats), before, strict=True)
        return min(n.value - b - ARMS * (n.value - n.low) for n, b in after)

    return brentq(lacking, 0, MOST, xtol=0.01) if lacking(MOST) > 0 else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    print(f"| test | all documents | one in {ONE_IN} |\n|---|---:|---:|")
    for task in TASKS:
        files = sorted(runs.rglob(f"samples_{task}_2*.jsonl"))
        if not files:
            continue
        questions = Questions(task, calibrated=True)
        scores = likelihoods(files[-1], questions)
        bias, part, rng = bias_of(questions), np.zeros(len(scores)), np.random.default_rng(1)
        for *_, place in questions.documents:
            part[place] = rng.random() < 1 / ONE_IN
        for metric in questions.tests:
            seen = [dose(questions, scores, b, metric) for b in (bias, bias * part)]
            cells = [f"more than {MOST:g}" if np.isnan(x) else f"{x:.2g}" for x in seen]
            print(f"| `{task}` `{metric.name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
