"""HBB-SG: S from the likelihoods of whole sentences, as in Tables 8 and 9."""

from collections.abc import Sequence
from math import isnan
from typing import Any

from lm_eval_bias.benchmarks.hbb import exhibits
from lm_eval_bias.benchmarks.hbb.measure import CLUSTERS, KEYS, METRICS, bias_of, summary_of
from lm_eval_bias.likelihoods import lengths, warn_of_bytes
from lm_eval_bias.measure import (
    Document,
    Measure,
    Metric,
    Record,
    Records,
    Summary,
    percentage,
    picked,
    unmeasured,
)
from lm_eval_bias.metrics.hidden_bias import variation_log_odds

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


def summary(records: Records, threshold: float, *, errors: bool = True, **_: Any) -> Summary:
    """As of `hbb`; types are the rows of Table 9, distribution is Figure 9."""
    warn_of_bytes(records)
    result = bias_of(records, 1, threshold, 1.0, errors=errors)
    common = summary_of(records, result, errors=errors)
    lacking = percentage(sum(r["lacking"] > 0 for r in records), len(records))
    return common._replace(values={**common.values, "lacking_sentences": unmeasured(lacking)})


HBB_SG = Measure(record, summary, SG_METRICS, exhibits=exhibits.HBB_SG, clusters=CLUSTERS)
