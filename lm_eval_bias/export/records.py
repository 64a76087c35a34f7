"""Numbers as records of Every Eval Ever, schema 0.3.0: a JSON file for each, in the folders of its
data store.

The schema asks of each number whether lower is better. A signed one is written as its distance from
the value of a model without bias, and itself stands in the details; a mere description is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lm_eval_bias.export.export import (
    Result,
    asked,
    better,
    bounds,
    distance,
    fact,
    left_out,
    model_type,
    seconds,
    undirected,
)
from lm_eval_bias.export.hub import Source
from lm_eval_bias.report.folder import DEVICE
from lm_eval_bias.results.escape import shortened, visible

SCHEMA, COLLECTION = "0.3.0", "lm-eval-bias"
NAMELESS = "{}: its developer is not known, so its records cannot be found by it; say OWNER/NAME with --model_id"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
UNKNOWN = "unknown"
_UNITS = {"%": "percent", "share": "proportion", "SD": "standard deviations"}
# `--model` of the harness that runs weights on the machine that asks, and those that are somebody's
# service.
_OWN, _SERVICE = re.compile(r"hf|vllm|sglang|mamba|gguf"), re.compile(r"(openai|anthropic)-")
# Signs that not every file system of the data store's readers knows, and folders that stand there
# already.
_SIGNS = re.compile(r'[<>:"\\|?*/\s]|[^\x20-\x7e]')
_TAKEN = re.compile(r"(data|unknown)(\..*)?", re.I)
_LONGEST = 100
_ON_HUB = re.compile(r"[\w-][\w.:-]*(/[\w-][\w.:-]*)?", re.ASCII)


class Evaluator(NamedTuple):
    """Who asked. relationship: to the model's developer, one of `RELATIONSHIPS`."""

    organization: str = UNKNOWN
    relationship: str = "other"


class Record(NamedTuple):
    """path: below the folder that holds `data/`."""

    path: PurePosixPath
    content: dict[str, Any]


def records(
    results: Sequence[Result],
    source: Source,
    evaluator: Evaluator,
    now: int,
    exporter: str,
    model_id: str | None = None,
) -> tuple[list[Record], list[str]]:
    """A record for each number that has a direction or a null value, and what was left out.

    now: seconds since 1970. exporter: this program and its version. model_id: the model's name on
    the hub, for results of one model.
    """
    made, left = [], []
    folders: dict[str, str] = {}
    for result in results:
        if better(result.metric) is None and result.metric.null_value is None:
            left.append(
                left_out(result, f"{undirected(result.metric)}; the format asks for one of the two")
            )
            continue
        name = model_id or _model_id(result)
        if "/" not in name and (note := NAMELESS.format(shortened(name))) not in left:
            left.append(note)
        folder = folder_of(name)
        if folders.setdefault(folder.casefold(), name) != name:
            folder = _apart(folder, name)
            folders[folder.casefold()] = name
        content = _record(result, name, source, evaluator, now, exporter)
        made.append(
            Record(
                PurePosixPath("data", COLLECTION, *folder.split("/"), f"{_uuid(result)}.json"),
                content,
            )
        )
    return made, left


def text(content: Mapping[str, Any]) -> str:
    """JSON without NaN, whose every text is plain ASCII."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, allow_nan=False)


# ---- Who and where


def _model_id(result: Result) -> str:
    """The name on the hub; of a model in a folder, or of an odd name, one in which no part passes
    for a developer."""
    run = result.run
    name = run.identity.partition("@")[0]
    return (
        name
        if run.model == run.identity and _ON_HUB.fullmatch(name)
        else visible(run.model).replace("/", "_")
    )


def folder_of(model: str) -> str:
    """DEVELOPER/MODEL, two names that every file system takes. A name that had to be changed ends
    in its checksum, so that none meet."""
    developer, slash, name = model.partition("/")
    if not slash:
        developer, name = UNKNOWN, model
    return f"{developer if developer == UNKNOWN and not slash else _safe(developer)}/{_safe(name.replace('/', '_'))}"


def _safe(name: str) -> str:
    found = _SIGNS.sub("_", name)
    taken = DEVICE.fullmatch(found) or _TAKEN.fullmatch(found)
    if (
        len(found) > _LONGEST
        or found.startswith(".")
        or found.endswith((".", " "))
        or not found
        or taken
    ):
        found = f"_{found[:_LONGEST].strip('. ')}"
    return found if found == name else _apart(found, name)


def _apart(folder: str, name: str) -> str:
    return f"{folder}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _identity(result: Result) -> bytes:
    """What makes an evaluation this one: exported again, it is the same."""
    run = result.run
    date = run.date.isoformat() if run.date else None
    parts = [
        run.identity,
        run.task,
        result.metric.name,
        date,
        run.template,
        [list(pair) for pair in run.asked],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def _uuid(result: Result) -> uuid.UUID:
    return uuid.UUID(bytes=_identity(result)[:16], version=4)


# ---- What


def _record(
    result: Result, model_id: str, source: Source, evaluator: Evaluator, now: int, exporter: str
) -> dict[str, Any]:
    run = result.run
    metric_id = visible(f"{run.task}.{result.metric.name}")
    when = run.date.isoformat() if run.date else "undated"
    began = seconds(run)
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{metric_id}/{model_id}/{when}-{_identity(result).hex()[:8]}",
        "evaluation_timestamp": str(began) if began else when if run.date else None,
        "retrieved_timestamp": str(now),
        "source_metadata": {
            "source_name": source.name or COLLECTION,
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization,
            "evaluator_relationship": evaluator.relationship,
            "additional_details": _without({"exported_by": exporter, "source_url": source.url}),
        },
        "eval_library": {"name": "lm_eval", "version": fact(run, "lm_eval_version") or UNKNOWN},
        "model_info": _model_info(result, model_id),
        "evaluation_results": [_evaluation(result, metric_id, source)],
    }
    return _without(record)


def _model_info(result: Result, model_id: str) -> dict[str, Any]:
    run, kind = result.run, model_type(result.run)
    revision = run.identity.rpartition("@")[2] if "@" in run.identity else ""
    engine = (
        {"name": "transformers", "version": fact(run, "transformers_version") or None}
        if kind.startswith("hf")
        else None
    )
    deployed = (
        "self_deployed"
        if _OWN.match(kind)
        else "externally_managed"
        if _SERVICE.match(kind)
        else UNKNOWN
    )
    details = {
        "deployment_type": deployed,
        "model_availability": UNKNOWN,
        "model_type": shortened(kind) or None,
        "revision": shortened(revision) or None,
    }
    return _without(
        {
            "name": visible(run.model),
            "id": model_id,
            "developer": model_id.partition("/")[0] if "/" in model_id else None,
            "inference_engine": _without(engine) if engine else None,
            "additional_details": _without(details),
        }
    )


def _evaluation(result: Result, metric_id: str, source: Source) -> dict[str, Any]:
    run, metric = result.run, result.metric
    task, name, way = visible(run.task), visible(metric.name), better(result.metric)
    signed = way is None and metric.null_value is not None
    least, greatest = bounds(metric, metric.null_value if signed else None)
    about = {
        "task_version": shortened(run.version),
        **{f"option {key}": value for key, value in asked(run).items()},
    }
    data = {"dataset_name": task, "source_type": "other", "additional_details": about}
    if source.dataset:
        data |= {"source_type": "hf_dataset", "hf_repo": source.dataset}
        data["additional_details"] = _without({**about, "revision": source.revision})
    says = visible(metric.description) or name
    config = {
        "evaluation_description": f"Distance from {metric.null_value:g}, the value of a model without bias, of: {says}"
        if signed
        else says,
        "metric_id": f"{metric_id}.distance" if signed else metric_id,
        "metric_name": f"distance of {name} from {metric.null_value:g}" if signed else name,
        "metric_unit": _UNITS.get(metric.unit, metric.unit) or None,
        "metric_parameters": {"null_value": float(metric.null_value)}
        if metric.null_value is not None
        else None,
        "lower_is_better": signed or way == "lower",
        "score_type": "continuous",
        "min_score": _end(least),
        "max_score": _end(greatest),
    }
    return {
        "evaluation_result_id": metric_id,
        "evaluation_name": task,
        "source_data": data,
        "metric_config": _without(config),
        "score_details": _score(result, signed),
    }


def _score(result: Result, signed: bool) -> dict[str, Any]:
    run, metric = result.run, result.metric
    score, low, high, of = result.value, result.low, result.high, ""
    details: dict[str, str | None] = {}
    if signed and metric.null_value is not None:
        score, low, high = distance(result, metric.null_value)
        of = ", of the signed number; that of its distance is not greater"
        details = {
            "signed_score": repr(float(result.value)),
            "null_value": repr(float(metric.null_value)),
            "signed_lower": repr(float(result.low)) if result.has_interval else None,
            "signed_upper": repr(float(result.high)) if result.has_interval else None,
            "score": "the distance of an estimate; on average it exceeds that of the true number, the more so the wider the interval",
        }
    uncertainty: dict[str, Any] = {}
    if isfinite(result.stderr) and result.stderr > 0:
        uncertainty["standard_error"] = {"value": result.stderr, "method": f"the task's own{of}"}
    elif result.stderr == 0:
        details["standard_error"] = (
            "0: all clusters of the sample agree, which does not make the number certain"
        )
    if result.has_interval:
        how = f"{result.how}, of the signed number, turned into distances" if signed else result.how
        uncertainty["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": 0.95,
            "method": how,
        }
    else:
        details["confidence_interval"] = f"none: {result.how}"
    if run.n:
        uncertainty["num_samples"] = run.n
        details["num_samples"] = "documents that were asked; they form fewer clusters"
    for i, warning in enumerate(run.warnings, 1):
        details[f"warning {i}"] = shortened(warning, 1000)
    return _without(
        {"score": score, "uncertainty": uncertainty or None, "details": _without(details)}
    )


def _end(value: float) -> float | str:
    return value if isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _without(content: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping without what is None: the schema knows no null."""
    return {key: value for key, value in content.items() if value is not None}
