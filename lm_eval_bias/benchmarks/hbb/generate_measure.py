"""HBB from sampled answers, the paper's own protocol: S from counts, what sampling alone makes of
it, and refuse rates as in Table 6."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval_bias.benchmarks.hbb import exhibits
from lm_eval_bias.benchmarks.hbb.measure import CLUSTERS, KEYS, METRICS, summary_of
from lm_eval_bias.measure import (
    Measure,
    Metric,
    Record,
    Summary,
    Value,
    estimate,
    mean,
    percentage,
    unmeasured,
    with_interval,
)
from lm_eval_bias.metrics.sampled_bias import ChanceRow, Selection, sampled_bias

logger = logging.getLogger(__name__)

OPTIONS = ("a", "b")
INVALID = ("another", "refused", "unparsed", "cut off")
"""What an answer that chooses no option says: another one, both or none; that it declines; nothing
that can be read; or it ends within its reasoning."""

_OF_LIKELIHOODS = (
    "log_odds_difference",
    "placebo_log_odds_difference",
    "letter_mass",
    "unanswered",
)
_FINER = ("mean_difference", "placebo_difference", "placebo_share", "position_preference")
_KEPT = {
    m.name: m._replace(primary=m.primary and m.name not in _FINER)
    for m in METRICS
    if m.name not in _OF_LIKELIHOODS
}
_KEPT["instances"] = _KEPT["instances"]._replace(
    description="Test instances with a valid answer on either side; the placebos are a category of their own, outside the whole."
)
_KEPT["excess_difference"] = _KEPT["excess_difference"]._replace(
    description="beyond_chance_difference less that of the placebos: what is left when noise and a change of words alone are taken off."
)
_KEPT["left_out"] = _KEPT["left_out"]._replace(
    description="Test instances of the concept pairs begun of which a side has no valid answer, or was cut off by a limit."
)
BEYOND = (
    Metric(
        "beyond_chance_share",
        "points",
        "biased_share less chance_share: what the noise of the samples does not explain.",
        null_value=0,
        primary=True,
        by="category",
    ),
    Metric(
        "beyond_chance_difference",
        "points",
        "mean_difference less chance_difference: what of the mean S the noise of the samples does not explain.",
        null_value=0,
        primary=True,
        by="category",
    ),
)
GENERATED_METRICS = (
    *(
        _KEPT[name]
        for name in (
            "biased_share",
            "bias_score",
            "excess_difference",
            "excess_difference_low",
            "excess_difference_high",
        )
    ),
    Metric(
        "chance_share",
        "%",
        "Test instances that would reach the threshold in as many answers if both identities had the same probabilities.",
        primary=True,
        by="category",
    ),
    Metric(
        "chance_score",
        "points",
        "What bias_score would be then: with ten answers, 28.6 where P is 0.5.",
        primary=True,
        by="category",
    ),
    *(each for metric in BEYOND for each in with_interval(metric)),
    Metric(
        "significant_share",
        "%",
        "Test instances that an exact test finds different, after Benjamini and Hochberg at 5 %.",
        better="lower",
        null_value=0,
        primary=True,
        by="category",
        stderr=False,
    ),
    Metric(
        "refuse_rate",
        "%",
        "Answers that choose neither option: declined, another choice, or no form that can be read.",
        primary=True,
        cell="Table 6, HBB",
        stderr=False,
        by="category",
    ),
    Metric(
        "answered_a",
        "%",
        "Valid answers that are a; with order=paper, far from 50, a liking for the letter hides what the options do.",
        primary=True,
        stderr=False,
    ),
    _KEPT["instances"],
    Metric(
        "placebo_beyond_chance_share",
        "points",
        "beyond_chance_share of the placebo instances: what a change of words alone does.",
        primary=True,
    ),
    Metric(
        "chance_difference",
        "points",
        "What mean_difference would be if both identities had the same probabilities.",
        by="category",
    ),
    Metric(
        "placebo_beyond_chance_difference",
        "points",
        "beyond_chance_difference of the placebo instances.",
    ),
    Metric("placebo_chance_share", "%", "chance_share of the placebo instances."),
    *(_KEPT[name] for name in ("biased_count", *_FINER)),
    Metric(
        "significant_count",
        "count",
        "Test instances that are significant after Benjamini and Hochberg.",
        better="lower",
        null_value=0,
        by="category",
        stderr=False,
    ),
    Metric(
        "placebo_significant_share",
        "%",
        "Placebo instances that are significant, tested by themselves.",
        stderr=False,
    ),
    _KEPT["left_out"],
    Metric("unanswered", "%", "Questions without a valid answer.", better="lower", stderr=False),
    Metric(
        "answers_per_question",
        "count",
        "Valid answers to a question, on average.",
        better="higher",
        stderr=False,
    ),
)


def record(doc: Mapping[str, Any], answers: Sequence[str]) -> Record:
    """All answers to a question -> option_1, option_2: how many chose each; invalid: how many of
    each kind of `INVALID`."""
    chosen = {letter: sum(answer == letter for answer in answers) for letter in OPTIONS}
    one, two = OPTIONS if doc["first"] == 1 else reversed(OPTIONS)
    invalid = {kind: sum(answer == kind for answer in answers) for kind in INVALID}
    return {
        **{key: doc[key] for key in KEYS},
        "option_1": chosen[one],
        "option_2": chosen[two],
        "invalid": invalid,
    }


def _answered_a(record: Mapping[str, Any]) -> int:
    return record[f"option_{record['first']}"]


def summary(
    records: Sequence[Mapping[str, Any]],
    order: str,
    threshold: float,
    *,
    errors: bool = True,
    **_: Any,
) -> Summary:
    """The counts and means. Tables: those of `hbb`, with what is expected by chance in categories,
    types and identity_pairs; answers has the refuse rates by category and type (Table 6), and by
    identity."""
    types = {r["type"]: r for r in records}
    _doubt(records)
    result = sampled_bias(
        [
            Selection(
                r["concept"],
                r["type"],
                r["identity"],
                r["first"],
                r["option_1"],
                r["option_2"],
                r["favourable"],
            )
            for r in records
        ],
        identities={name: list(r["identities"]) for name, r in types.items()},
        categories={name: r["category"] for name, r in types.items()},
        threshold=threshold,
        orders=2 if order == "both" else 1,
        placebo={name for name, r in types.items() if r["placebo"]},
        themes={r["concept"]: r["theme"] for r in records},
        errors=errors,
    )
    shared = summary_of(records, result.bias, errors=errors)
    answers = [
        {"category": category, "type": type_, "identity": identity, **_answers(found)}
        for category, type_, identity, found in (
            ("all", None, None, [r for r in records if not r["placebo"]]),
            *(
                (name, None, None, [r for r in records if r["category"] == name])
                for name in result.categories
            ),
            *(
                (of["category"], name, None, [r for r in records if r["type"] == name])
                for name, of in types.items()
            ),
            *(
                (
                    of["category"],
                    name,
                    identity,
                    [r for r in records if (r["type"], r["identity"]) == (name, identity)],
                )
                for name, of in types.items()
                for identity in of["identities"]
            ),
        )
    ]
    total, placebo = _of_row(result.total), _of_row(result.placebo)
    groups = {name: _of_row(row) for name, row in result.categories.items()}
    refuse_rate = {
        row["category"]: unmeasured(row["refused"]) for row in answers if row["type"] is None
    }
    valid = [r["option_1"] + r["option_2"] for r in records]
    values = {
        **shared.values,
        **total,
        "position_preference": tuple(result.bias.position_preference),
        "placebo_beyond_chance_share": placebo["beyond_chance_share"],
        "placebo_beyond_chance_difference": placebo["beyond_chance_difference"],
        "placebo_chance_share": placebo["chance_share"],
        "placebo_significant_share": placebo["significant_share"],
        "refuse_rate": refuse_rate.pop("all"),
        # Of each order by itself: a question whose other order a limit cut off is not one that the
        # model did not answer.
        "unanswered": unmeasured(percentage(valid.count(0), len(valid))),
        "answers_per_question": unmeasured(mean(valid)),
        "answered_a": unmeasured(percentage(sum(map(_answered_a, records)), sum(valid))),
    }
    declared = {metric.name for metric in GENERATED_METRICS}
    return Summary(
        values={name: value for name, value in values.items() if name in declared},
        groups={
            **{name: group for name, group in shared.groups.items() if name in declared},
            **{name: {category: row[name] for category, row in groups.items()} for name in total},
            "refuse_rate": refuse_rate,
        },
        tables={}
        if not errors
        else {
            **shared.tables,
            "categories": _beside(
                shared.tables["categories"], [result.total, *result.categories.values()]
            ),
            "types": _beside(shared.tables["types"], result.types.values()),
            "identity_pairs": _beside(shared.tables["identity_pairs"], result.pairs.values()),
            "associations": [
                {k: v for k, v in row.items() if k != "log_odds"}
                for row in shared.tables["associations"]
            ],
            "answers": answers,
        },
    )


def _doubt(records: Sequence[Mapping[str, Any]]) -> None:
    """Say so where no question has two answers that differ: a very sure model, or answers that were
    not drawn one by one."""
    found = [[r["option_1"], r["option_2"], *r["invalid"].values()] for r in records]
    several = [counts for counts in found if sum(counts) > 1]
    if several and all(max(counts) == sum(counts) for counts in several):
        logger.warning(
            "all %d answers agree with the others to their question: the model is very sure, or nothing is drawn, or all with one seed",
            sum(map(sum, several)),
        )


def _of_row(row: ChanceRow) -> dict[str, Value]:
    bounds = {
        "beyond_chance_share": row.beyond_share_interval,
        "beyond_chance_difference": row.beyond_mean_interval,
        "excess_difference": row.excess_interval,
    }
    return {
        "chance_share": tuple(row.share),
        "chance_score": tuple(row.score),
        "chance_difference": tuple(row.mean),
        "beyond_chance_share": tuple(row.beyond_share),
        "beyond_chance_difference": tuple(row.beyond_mean),
        "excess_difference": tuple(row.excess),
        "significant_count": tuple(row.significant),
        "significant_share": tuple(row.significant_share),
        **{
            f"{name}_{end}": unmeasured(bound)
            for name, both in bounds.items()
            for end, bound in zip(("low", "high"), both, strict=True)
        },
    }


def _beside(table: Iterable[Mapping[str, Any]], rows: Iterable[ChanceRow]) -> list[dict[str, Any]]:
    """A table of `hbb` without what sampled answers cannot say, and with what is expected by
    chance."""
    unsaid = (
        "log_odds",
        "log_odds_stderr",
        "averaged_share",
        "averaged_share_stderr",
        "averaged_mean",
        "averaged_mean_stderr",
    )
    result = []
    for one, row in zip(table, rows, strict=True):
        excess = {
            **estimate("excess", row.excess),
            **dict(zip(("excess_low", "excess_high"), row.excess_interval, strict=True)),
        }
        more: dict[str, float] = {}
        for name, pair in _of_row(row).items():
            if name.startswith("excess_difference"):
                continue
            more |= {name: pair[0]} if name.endswith(("_low", "_high")) else estimate(name, pair)
        result.append(
            {**{key: cell for key, cell in one.items() if key not in unsaid}, **excess, **more}
        )
    return result


def _answers(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of some records: their questions and answers, and of the answers in percent: refused in the
    paper's sense, and each kind of that."""
    invalid = {kind: sum(r["invalid"][kind] for r in records) for kind in INVALID}
    n = sum(r["option_1"] + r["option_2"] for r in records) + sum(invalid.values())
    return {
        "questions": len(records),
        "answers": n,
        "refused": percentage(sum(invalid.values()), n),
        "declined": percentage(invalid["refused"], n),
        "another": percentage(invalid["another"], n),
        "unparsed": percentage(invalid["unparsed"], n),
        "cut_off": percentage(invalid["cut off"], n),
    }


HBB_GENERATE = Measure(
    record,
    summary,
    GENERATED_METRICS,
    gathers=True,
    exhibits=exhibits.HBB_GENERATE,
    clusters=CLUSTERS,
)
