"""HBB-SG: S of every test instance from the likelihoods of whole sentences, counted as in Tables 8
and 9 of the paper, beside placebos."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

from lm_eval_bias.benchmarks.hbb import exhibits
from lm_eval_bias.benchmarks.hbb.measure import CLUSTERS, KEYS, METRICS, bias_of, summary_of
from lm_eval_bias.measure import Measure, Metric, Record, Summary, percentage, unmeasured
from lm_eval_bias.metrics.hidden_bias import variation_log_odds

logger = logging.getLogger(__name__)

OF_LETTERS = ("position_preference", "letter_mass")
CELLS = {"bias_score": "Table 8, bias score", "biased_count": "Table 8, count"}
SG_METRICS = (
    *(m._replace(cell=CELLS.get(m.name)) for m in METRICS if m.name not in OF_LETTERS),
    Metric(
        "lacking_sentences",
        "%",
        "Questions of which an option has fewer sentences than it should; its mean is over those that it has.",
        better="lower",
        stderr=False,
    ),
)


def record(doc: Mapping[str, Any], results: Sequence[tuple[float, bool, int | None]]) -> Record:
    """Likelihoods of the sentences, those of option 1 first, each with its number of tokens ->
    log-odds of option 1 (equation 2).

    doc: `split` of its `choices` are of option 1. log_odds: None where a likelihood is no usable
    number, so that the question counts as unanswered. lengths: of the sentences. unit: of the
    lengths, "tokens", or "bytes" (UTF-8) for all where the tokens of one are not known.
    """
    tokens = [count for _, _, count in results if count]
    known = len(tokens) == len(results)
    lengths = tokens if known else [len(sentence.encode()) for sentence in doc["choices"]]
    sentences = [
        (likelihood, length) for (likelihood, _, _), length in zip(results, lengths, strict=True)
    ]
    log_odds = variation_log_odds(sentences[: doc["split"]], sentences[doc["split"] :])
    return {
        **{key: doc[key] for key in KEYS},
        "log_odds": None if isnan(log_odds) else log_odds,
        "lengths": lengths,
        "lacking": doc["lacking"],
        "unit": "tokens" if known else "bytes",
    }


def summary(
    records: Sequence[Mapping[str, Any]], threshold: float, *, errors: bool = True, **_: Any
) -> Summary:
    """As of `hbb`, with one order and no temperature. Tables: categories; types, the rows of Table
    9; identity_pairs; associations; distribution of S (Figure 9); answers."""
    by_bytes = sum(r["unit"] == "bytes" for r in records)
    if by_bytes:
        logger.warning(
            "The model gives no numbers of tokens for %d of %d questions; perplexity is per UTF-8 byte there.",
            by_bytes,
            len(records),
        )
    result = bias_of(records, orders=1, threshold=threshold, temperature=1.0, errors=errors)
    shared = summary_of(records, result, errors=errors)
    answers = [
        {"category": name, **_answers(r for r in records if name in ("all", r["category"]))}
        for name in ("all", *result.categories)
    ]
    lacking = unmeasured(percentage(sum(r["lacking"] > 0 for r in records), len(records)))
    return shared._replace(
        values={**shared.values, "lacking_sentences": lacking},
        tables={**shared.tables, "answers": answers},
    )


def _answers(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Of some records: how many, and how many of them unusable, in percent."""
    found = list(records)
    return {
        "questions": len(found),
        "unanswered": percentage(sum(r["log_odds"] is None for r in found), len(found)),
    }


HBB_SG = Measure(record, summary, SG_METRICS, exhibits=exhibits.HBB_SG, clusters=CLUSTERS)
