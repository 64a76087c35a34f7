"""HBB-SG: S from the likelihoods of whole sentences, as in Tables 8 and 9."""

from collections.abc import Sequence
from math import isnan
from typing import Any

from lm_eval_bias.benchmarks.hbb import exhibits
from lm_eval_bias.benchmarks.hbb.measure import (
    CLUSTERS,
    KEYS,
    METRICS,
    OF_PAIR,
    SIDE,
    VALUES,
    begun,
    tables,
    widened,
)
from lm_eval_bias.likelihoods import lengths, warn_of_bytes
from lm_eval_bias.measure import Counted, Document, Measure, Metric, Record, picked
from lm_eval_bias.metrics.errors import ratio
from lm_eval_bias.metrics.hidden_bias import Values, instances, variation_log_odds

OF_LETTERS = ("position_preference", "letter_mass")
CELLS = {"bias_score": "Table 8, bias score", "biased_count": "Table 8, count"}
SG_METRICS = (
    *(m._replace(cell=CELLS.get(m.name)) for m in METRICS if m.name not in OF_LETTERS),
    Metric(
        "lacking_sentences",
        "%",
        "Questions of which an option has fewer sentences than it should; its mean is over those "
        "that it has.",
        better="lower",
        stderr=False,
    ),
)


def record(doc: Document, results: Sequence[tuple[float, bool, int | None]]) -> Record:
    """Likelihoods and numbers of tokens of the sentences -> the log-odds of option 1 (equation 2).

    doc: `split` of its `choices` are of option 1. log_odds: None where a likelihood is not usable.
    lengths, unit: as of `likelihoods.lengths`.
    """
    counts, unit = lengths(results, doc["choices"])
    sentences = [
        (likelihood, count) for (likelihood, *_), count in zip(results, counts, strict=True)
    ]
    log_odds = variation_log_odds(sentences[: doc["split"]], sentences[doc["split"] :])
    return {
        **picked(doc, KEYS),
        "log_odds": None if isnan(log_odds) else log_odds,
        "lengths": counts,
        "lacking": doc["lacking"],
        "unit": unit,
    }


def units(answers: Any, threshold: float, **_: Any) -> dict[str, Any]:
    questions = answers.sort_values("place", kind="stable")
    questions["log_odds"] = questions["log_odds"].astype(float)
    warn_of_bytes(answers[["unit"]].to_dict("records"))
    sides = questions.drop_duplicates(SIDE, keep="last")
    return {"questions": questions, **begun(questions, instances(sides, 1.0, threshold))}


def of_questions(x: Any, total: Any, **_: Any) -> Values:
    n = total(1)
    return {
        "unanswered": (100 * ratio(total(x["log_odds"].isna()), n), n),
        "lacking_sentences": (100 * ratio(total(x["lacking"] > 0), n), n),
    }


HBB_SG = Measure(
    record,
    Counted(
        units,
        {"questions": of_questions, **VALUES},
        (*SG_METRICS, *OF_PAIR),
        CLUSTERS,
        tables,
        {"instances": widened},
    ),
    SG_METRICS,
    exhibits=exhibits.HBB_SG,
    clusters=CLUSTERS,
)
