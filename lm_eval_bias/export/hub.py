"""Entries of `.eval_results/*.yaml` in a model's repository, by huggingface_hub's own classes."""

import re
from collections.abc import Sequence
from typing import Any

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump

from lm_eval_bias.data.bounds import Json
from lm_eval_bias.data.content import plain
from lm_eval_bias.export.numbers import Result, better, settings, undirected
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.table import interval_text
from lm_eval_bias.results.verdict import with_response
from lm_eval_bias.usage import UsageError

FOLDER, FILE = ".eval_results", "lm-eval-bias.yaml"
LONGEST_NOTE = 1000
Entries = dict[tuple[str, str] | None, Any]
"""The data set's id and the task's -> an entry, as YAML has it; a date is a text."""


def entries(results: Sequence[Result], dataset: str) -> tuple[Entries, list[str]]:
    """An entry TASK.METRIC for each number with a direction, and what was left out."""
    made, left = [], []
    for result in results:
        run, metric, way = result.run, result.metric, better(result.metric)
        if way is None:
            left.append(result.left_out(f"{undirected(metric)}; the format has no word for that"))
            continue
        number, unit = result.number, f"{metric.unit}, " if metric.unit else ""
        interval = "no interval"
        if result.has_interval:
            interval = f"95 % interval {interval_text(number, metric.unit)}"
        n = "" if number.n is None else f"n = {number.n:,}; "
        options = (f"{key} {value}" for key, value in settings(run).items())
        parts = [
            f"{metric.name} of {run.task} by lm-eval-bias: {unit}{way} is better",
            f"{interval} ({result.how})",
            f"{n}{run.n:,} documents",
            ", ".join([f"version {run.version}", *options]),
            *with_response(run),
        ]
        made.append(
            EvalResultEntry(
                dataset_id=dataset,
                task_id=f"{run.task}.{metric.name}",
                value=number.value,
                date=run.date.date().isoformat() if run.date else None,
                notes=shortened("; ".join(parts), LONGEST_NOTE),
            )
        )
    return {key_of(entry): entry for entry in eval_result_entries_to_yaml(made)}, left


def key_of(entry: Any) -> tuple[str, str] | None:
    """None if it is no entry."""
    dataset = entry.get("dataset") if isinstance(entry, dict) else None
    if not isinstance(dataset, dict):
        return None
    return str(dataset.get("id")), str(dataset.get("task_id"))


def standing(content: str) -> list[Any]:
    """The entries of a file. UsageError for what is no list of entries."""
    try:
        entries = plain(content)
    except ValueError as error:
        raise UsageError(f"it is no YAML ({error})") from None
    if not isinstance(entries, list | None):
        raise UsageError("it is no list of entries")
    return entries or []


def keeps(old: Json, new: Json) -> str:
    """Why an old entry is not replaced; "" if it is."""
    if old.get("verifyToken"):
        return "the entry that stands there is signed (verifyToken)"
    date = str(old.get("date") or "")[:10]
    if date > new.get("date", date) and re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        return f"the entry that stands there is newer ({date})"
    return ""


def text(entries: Entries, standing: Sequence[Any] = ()) -> str:
    """YAML of the entries that stand in a file, with new ones replaced or added."""
    new = dict(entries)
    changed = [new.pop(key_of(old), old) for old in standing]
    return yaml_dump([*changed, *new.values()], sort_keys=False)
