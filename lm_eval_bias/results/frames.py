"""Finished runs as data frames, with the runs in other conditions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from lm_eval_bias.measure import Metric
from lm_eval_bias.results import samples
from lm_eval_bias.results.comparison import Comparison
from lm_eval_bias.results.runs import Run, Runs, is_test, listed
from lm_eval_bias.results.verdict import calibrated, verdict
from lm_eval_bias.usage import UsageError

NUMBERS = (
    "model=string task=string condition=string metric=string group=string value=float64 "
    "low=float64 high=float64 calibrated=boolean n=Int64 clusters=Int64 unit=string "
    "null_value=float64 question=string verdict=string answer=string"
)
DIFFERENCES = (
    "task=string metric=string first=float64 second=float64 difference=float64 low=float64 "
    "high=float64 p=float64 clusters=Int64 unit=string null_value=float64 verdict=string why=string"
)
RECORDS = "model=string task=string condition=string document=Int64"
"""Columns and their types."""


def _types(columns: str) -> dict[str, str]:
    return dict(column.split("=") for column in columns.split())


def _frame(rows: Sequence[Mapping[str, Any]], columns: str) -> pd.DataFrame:
    types = _types(columns)
    return pd.DataFrame(rows, columns=[*types]).astype(types)


def numbers(runs: Runs) -> pd.DataFrame:
    rows = []
    for run in _variants(runs.runs):
        for (name, group), number in run.numbers.items():
            metric = run.metric(name) or Metric(name, "", "")
            judged = verdict(run, metric, number, group) if is_test(metric) else None
            rows.append(
                {
                    **_of_run(run),
                    **metric._asdict(),
                    **number._asdict(),
                    "metric": name,
                    "group": group,
                    "calibrated": calibrated(run, metric),
                    "verdict": judged and judged.kind,
                    "answer": judged and judged.sentence,
                }
            )
    return _frame(rows, NUMBERS)


def records(runs: Runs, task: str) -> pd.DataFrame:
    rows = []
    for run in _variants(runs.of_task(task)):
        known = runs.known.get(task)
        if known is None or not run.samples:
            lacks = "file of samples; lm_eval --log_samples writes it" if known else "measure here"
            raise UsageError(f"{run.results}: {task} has no {lacks}")
        for document in samples.in_order(known, run.samples):
            first = {**_of_run(run), "document": document.place}
            rows += [{**first, **record, **first} for record in document.records]
    return pd.DataFrame(rows).astype(_types(RECORDS))


def differences(compared: Comparison) -> pd.DataFrame:
    rows = [
        {
            **row.metric._asdict(),
            **row.difference._asdict(),
            "task": row.task,
            "metric": row.metric.name,
            "p": row.p,
            "verdict": None if row.difference.why else row.verdict.sentence,
            "why": row.difference.why or None,
        }
        for row in compared.rows
    ]
    refused = [{"task": task, "why": why} for task, why in compared.refusals.items()]
    return _frame([*rows, *refused], DIFFERENCES)


def _variants(runs: Iterable[Run]) -> Iterator[Run]:
    return chain.from_iterable(run.variants for run in runs)


def _of_run(run: Run) -> dict[str, str]:
    return {"model": run.model, "task": run.task, "condition": listed(run.condition)}
