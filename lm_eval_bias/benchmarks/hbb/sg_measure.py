"""HBB-SG: S from the likelihoods of whole sentences, counted as in Tables 8 and 9 of the paper."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from lm_eval_bias.benchmarks.hbb import exhibits
from lm_eval_bias.benchmarks.hbb.measure import (
    CLUSTERS,
    KEYS,
    METRICS,
    bias_of,
    by_category,
    summary_of,
    unanswered,
)
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
        "Questions of which an option has fewer sentences than it should; its mean is over those "
        "that it has.",
        better="lower",
        stderr=False,
    ),
)


def record(doc: Mapping[str, Any], results: Sequence[tuple[float, bool, int | None]]) -> Record:
    """Likelihoods and numbers of tokens of the sentences, those of option 1 first -> the log-odds
    of option 1 (equation 2).

    doc: `split` of its `choices` are of option 1. log_odds: None where a likelihood is not usable:
    the question is unanswered. lengths: of the sentences. unit: "tokens", or "bytes" (UTF-8) for
    all lengths where the number of tokens of one is unknown.
    """
    tokens = [count for _, _, count in results if count]
    all_known = len(tokens) == len(results)
    lengths = tokens if all_known else [len(sentence.encode()) for sentence in doc["choices"]]
    sentences = [
        (likelihood, length) for (likelihood, _, _), length in zip(results, lengths, strict=True)
    ]
    log_odds = variation_log_odds(sentences[: doc["split"]], sentences[doc["split"] :])
    return {
        **{key: doc[key] for key in KEYS},
        "log_odds": None if isnan(log_odds) else log_odds,
        "lengths": lengths,
        "lacking": doc["lacking"],
        "unit": "tokens" if all_known else "bytes",
    }


def summary(
    records: Sequence[Record], threshold: float, *, errors: bool = True, **_: Any
) -> Summary:
    """The numbers and tables of `hbb`, with one order and no temperature; types are the rows of
    Table 9, distribution is Figure 9."""
    by_bytes = sum(r["unit"] == "bytes" for r in records)
    if by_bytes:
        logger.warning(
            "The model gives no numbers of tokens for %d of %d questions; perplexity is per UTF-8 "
            "byte there.",
            by_bytes,
            len(records),
        )
    result = bias_of(records, orders=1, threshold=threshold, temperature=1.0, errors=errors)
    common = summary_of(records, result, errors=errors)
    lacking = percentage(sum(r["lacking"] > 0 for r in records), len(records))
    return common._replace(
        values={**common.values, "lacking_sentences": unmeasured(lacking)},
        tables={**common.tables, "answers": by_category(records, unanswered)},
    )


HBB_SG = Measure(record, summary, SG_METRICS, exhibits=exhibits.HBB_SG, clusters=CLUSTERS)
