"""Numbers as records of Every Eval Ever, schema 0.3.0: a JSON file for each.

A signed number is written as its distance from the null value.
"""

import hashlib
import json
import re
import time
import uuid
from collections.abc import Sequence
from math import inf, isfinite
from pathlib import PurePosixPath
from typing import Any

from lm_eval_bias import __version__
from lm_eval_bias.data.bounds import Json
from lm_eval_bias.export.numbers import Result, better, distance, settings, undirected
from lm_eval_bias.measure import Metric
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.verdict import with_response

Content = dict[str, Any]
SCHEMA, COLLECTION = "0.3.0", "lm-eval-bias"
NAMELESS = (
    "{}: its developer is unknown, so its records cannot be found by it; add --model_id OWNER/NAME"
)
UNKNOWN, OTHER = "unknown", "other"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", OTHER)
_UNITS = {"%": "percent", "share": "proportion", "SD": "standard deviations"}
_ON_HUB = re.compile(r"[\w-][\w.:-]*(/[\w-][\w.:-]*)?", re.ASCII)


def records(
    results: Sequence[Result],
    organization: str = UNKNOWN,
    relationship: str = OTHER,
    model_id: str | None = None,
    dataset: str | None = None,
) -> tuple[dict[PurePosixPath, Content], list[str]]:
    """Path -> the record of each number that has a direction or a null value; and what was left
    out.

    organization: who asked. relationship: theirs to the model's developer. model_id, dataset: on
    the hub.
    """
    source = {
        "source_name": COLLECTION,
        "source_type": "evaluation_run",
        "source_organization_name": organization,
        "evaluator_relationship": relationship,
        "additional_details": {"exported_by": f"{COLLECTION} {__version__}"},
    }
    made, left = {}, []
    now = int(time.time())
    for result in results:
        metric = result.metric
        if better(metric) is None and metric.null_value is None:
            left.append(
                result.left_out(f"{undirected(metric)}; the format asks for one of the two")
            )
            continue
        name = model_id or _model_id(result)
        if "/" not in name and (note := NAMELESS.format(name)) not in left:
            left.append(note)
        identity = uuid.UUID(bytes=_identity(result)[:16], version=4)
        path = PurePosixPath("data", COLLECTION, *_folders(name), f"{identity}.json")
        made[path] = _record(result, name, source, now, dataset)
    return made, left


# ---- Who and where


def _model_id(result: Result) -> str:
    run = result.run
    name = run.identity.partition("@")[0]
    if run.model == run.identity and _ON_HUB.fullmatch(name):
        return name
    return run.model.replace("/", "_")


def _folders(model: str) -> tuple[str, str]:
    """DEVELOPER, MODEL."""
    developer, slash, name = model.partition("/")
    return (_safe(developer), _safe(name)) if slash else (UNKNOWN, _safe(model))


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:100].strip(".") or "_"


def _identity(result: Result) -> bytes:
    run = result.run
    date = run.date.isoformat() if run.date else None
    settings = [*run.settings.items()]
    parts = [run.identity, run.task, result.metric.name, date, run.template, settings]
    return hashlib.sha256(json.dumps(parts).encode()).digest()


# ---- What


def _record(
    result: Result, model_id: str, source: Content, now: int, dataset: str | None
) -> Content:
    run, metric = result.run, result.metric
    metric_id = f"{run.task}.{metric.name}"
    when = run.date.isoformat() if run.date else None
    options = {f"option {key}": value for key, value in settings(run).items()}
    data = {
        "dataset_name": run.task,
        "source_type": "other",
        "additional_details": {"task_version": run.version, **options},
    }
    if dataset:
        data |= {"source_type": "hf_dataset", "hf_repo": dataset}
    identity = f"{when or 'undated'}-{_identity(result).hex()[:8]}"
    evaluation = {
        "evaluation_result_id": metric_id,
        "evaluation_name": run.task,
        "source_data": data,
        "metric_config": _metric_config(metric, metric_id),
        "score_details": _score(result),
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{metric_id}/{model_id}/{identity}",
        **_defined({"evaluation_timestamp": when}),
        "retrieved_timestamp": str(now),
        "source_metadata": source,
        "eval_library": {
            "name": "lm_eval",
            "version": visible(run.recorded.get("lm_eval_version") or UNKNOWN),
        },
        "model_info": _model_info(run, model_id),
        "evaluation_results": [evaluation],
    }


def _model_info(run: Run, model_id: str) -> Content:
    developer, slash, _ = model_id.partition("/")
    details = {
        "deployment_type": UNKNOWN,
        "model_availability": UNKNOWN,
        "revision": run.identity.partition("@")[2] or None,
    }
    return _defined(
        {
            "name": run.model,
            "id": model_id,
            "developer": developer if slash else None,
            "additional_details": _defined(details),
        }
    )


def _metric_config(metric: Metric, metric_id: str) -> Content:
    name, way, null = metric.name, better(metric), metric.null_value
    least, greatest = metric.unit_range
    description = visible(metric.description) or name
    if way is None and null is not None:
        least, greatest = 0, max(null - least, greatest - null)
        description = (
            f"Distance from {null:g}, the value of a model without bias, of: {description}"
        )
        metric_id, name = f"{metric_id}.distance", f"distance of {name} from {null:g}"
    return _defined(
        {
            "evaluation_description": description,
            "metric_id": metric_id,
            "metric_name": name,
            "metric_unit": _UNITS.get(metric.unit, metric.unit) or None,
            "metric_parameters": None if null is None else {"null_value": float(null)},
            "lower_is_better": way != "higher",
            "score_type": "continuous",
            "min_score": _end(least),
            "max_score": _end(greatest),
        }
    )


def _score(result: Result) -> Content:
    """A signed number is scored by its distance."""
    number, null = result.number, result.metric.null_value
    score, low, high, turned = number.value, number.low, number.high, ""
    details, uncertainty = {}, Content()
    if better(result.metric) is None and null is not None:
        score, low, high = distance(number, null)
        turned = ", of the signed number, turned into distances"
        details = {
            "signed_score": repr(number.value),
            "null_value": repr(float(null)),
            "score": "the distance of an estimate; on average it exceeds that of the true number, "
            "the more so the wider the interval",
        }
        if result.has_interval:
            details |= {"signed_lower": repr(number.low), "signed_upper": repr(number.high)}
    if 0 < number.stderr < inf:
        method = f"the task's own{', of the signed number' * bool(turned)}"
        uncertainty["standard_error"] = {"value": number.stderr, "method": method}
    if result.has_interval:
        uncertainty["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": 0.95,
            "method": f"{result.how}{turned}",
        }
    else:
        details["confidence_interval"] = f"none: {result.how}"
    if number.n:
        uncertainty["num_samples"] = number.n
    details |= {f"warning {i}": warning for i, warning in enumerate(with_response(result.run), 1)}
    return _defined({"score": score, "uncertainty": uncertainty or None, "details": details})


def _end(value: float) -> float | str:
    return value if isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _defined(content: Json) -> Content:
    return {key: value for key, value in content.items() if value is not None}
