"""Numbers as records of Every Eval Ever, schema 0.3.0: a JSON file for each.

A signed number is written as its distance from the null value.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from math import inf, isfinite
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lm_eval_bias.data.bounds import Json
from lm_eval_bias.export.numbers import Result, better, distance, settings, undirected
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.samples import at
from lm_eval_bias.show.folder import DEVICE

Content = dict[str, Any]
SCHEMA, COLLECTION = "0.3.0", "lm-eval-bias"
NAMELESS = (
    "{}: its developer is unknown, so its records cannot be found by it; add --model_id OWNER/NAME"
)
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
UNKNOWN = "unknown"
_UNITS = {"%": "percent", "share": "proportion", "SD": "standard deviations"}
# `--model` of the harness that runs weights on the machine that asks, and those that are somebody's
# service.
_OWN, _SERVICE = re.compile(r"hf|vllm|sglang|mamba|gguf"), re.compile(r"(openai|anthropic)-")
# What not every file system takes, and folders that the data store has.
_SIGNS = re.compile(r'[<>:"\\|?*/\s]|[^\x20-\x7e]')
_TAKEN = re.compile(r"(data|unknown)(\..*)?", re.I)
_LONGEST = 100
_ON_HUB = re.compile(r"[\w-][\w.:-]*(/[\w-][\w.:-]*)?", re.ASCII)


class Evaluator(NamedTuple):
    """Who asked. relationship: to the model's developer, one of `RELATIONSHIPS`."""

    organization: str = UNKNOWN
    relationship: str = "other"


def records(
    results: Sequence[Result],
    evaluator: Evaluator,
    now: int,
    exporter: str,
    model_id: str | None = None,
    dataset: str | None = None,
) -> tuple[dict[PurePosixPath, Content], list[str]]:
    """Path -> the record of each number that has a direction or a null value; and what was left
    out. now: seconds since 1970. model_id, dataset: on the hub."""
    made, left = dict[PurePosixPath, Content](), []
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
        made[path] = _record(result, name, evaluator, now, exporter, dataset)
    return made, left


def text(content: Json) -> str:
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


# ---- Who and where


def _model_id(result: Result) -> str:
    run = result.run
    name = run.identity.partition("@")[0]
    if run.model == run.identity and _ON_HUB.fullmatch(name):
        return name
    return run.model.replace("/", "_")


def _folders(model: str) -> tuple[str, str]:
    """DEVELOPER, MODEL. A changed name ends in its checksum."""
    developer, slash, name = model.partition("/")
    if not slash:
        return UNKNOWN, _safe(model)
    return _safe(developer), _safe(name.replace("/", "_"))


def _safe(name: str) -> str:
    safe = _SIGNS.sub("_", name)
    taken = DEVICE.fullmatch(safe) or _TAKEN.fullmatch(safe)
    if len(safe) > _LONGEST or safe.startswith(".") or safe.endswith(".") or not safe or taken:
        safe = f"_{safe[:_LONGEST].strip('. ')}"
    return safe if safe == name else f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _identity(result: Result) -> bytes:
    run = result.run
    date = run.date.isoformat() if run.date else None
    parts = [run.identity, run.task, result.metric.name, date, run.template, run.settings]
    return hashlib.sha256(json.dumps(parts).encode()).digest()


# ---- What


def _record(
    result: Result,
    model_id: str,
    evaluator: Evaluator,
    now: int,
    exporter: str,
    dataset: str | None,
) -> Content:
    run = result.run
    metric_id = f"{run.task}.{result.metric.name}"
    when = run.date.isoformat() if run.date else "undated"
    return _without(
        {
            "schema_version": SCHEMA,
            "evaluation_id": f"{metric_id}/{model_id}/{when}-{_identity(result).hex()[:8]}",
            "evaluation_timestamp": when if run.date else None,
            "retrieved_timestamp": str(now),
            "source_metadata": {
                "source_name": COLLECTION,
                "source_type": "evaluation_run",
                "source_organization_name": evaluator.organization,
                "evaluator_relationship": evaluator.relationship,
                "additional_details": {"exported_by": exporter},
            },
            "eval_library": {
                "name": "lm_eval",
                "version": visible(run.recorded.get("lm_eval_version") or UNKNOWN),
            },
            "model_info": _model_info(result, model_id),
            "evaluation_results": [_evaluation(result, metric_id, dataset)],
        }
    )


def _model_info(result: Result, model_id: str) -> Content:
    run = result.run
    kind = visible(at(run.recorded, "config", "model") or "")
    engine = None
    if kind.startswith("hf"):
        transformers = run.recorded.get("transformers_version")
        engine = _without(
            {"name": "transformers", "version": transformers and visible(transformers)}
        )
    deployed = "externally_managed" if _SERVICE.match(kind) else UNKNOWN
    details = {
        "deployment_type": "self_deployed" if _OWN.match(kind) else deployed,
        "model_availability": UNKNOWN,
        "model_type": kind or None,
        "revision": run.identity.partition("@")[2] or None,
    }
    return _without(
        {
            "name": run.model,
            "id": model_id,
            "developer": model_id.partition("/")[0] if "/" in model_id else None,
            "inference_engine": engine,
            "additional_details": _without(details),
        }
    )


def _evaluation(result: Result, metric_id: str, dataset: str | None) -> Content:
    run, metric = result.run, result.metric
    name, way, null = metric.name, better(metric), metric.null_value
    signed = way is None and null is not None
    least, greatest = metric.unit_range
    description = visible(metric.description) or name
    if way is None and null is not None:
        least, greatest = 0, max(null - least, greatest - null)
        description = (
            f"Distance from {null:g}, the value of a model without bias, of: {description}"
        )
        name = f"distance of {name} from {null:g}"
    options = {f"option {key}": value for key, value in settings(run).items()}
    about = {"task_version": run.version, **options}
    data: Content = {"dataset_name": run.task, "source_type": "other", "additional_details": about}
    if dataset:
        data |= {"source_type": "hf_dataset", "hf_repo": dataset}
    config = {
        "evaluation_description": description,
        "metric_id": f"{metric_id}.distance" if signed else metric_id,
        "metric_name": name,
        "metric_unit": _UNITS.get(metric.unit, metric.unit) or None,
        "metric_parameters": None if null is None else {"null_value": float(null)},
        "lower_is_better": signed or way == "lower",
        "score_type": "continuous",
        "min_score": _end(least),
        "max_score": _end(greatest),
    }
    return {
        "evaluation_result_id": metric_id,
        "evaluation_name": run.task,
        "source_data": data,
        "metric_config": _without(config),
        "score_details": _score(result, null if signed else None),
    }


def _score(result: Result, null_value: float | None) -> Content:
    """null_value: of a signed number, which is scored by its distance."""
    run, number = result.run, result.number
    score, low, high, turned, remark = number.value, number.low, number.high, "", ""
    details = {}
    if null_value is not None:
        score, low, high = distance(number, null_value)
        turned = ", of the signed number, turned into distances"
        remark = ", of the signed number; that of its distance is not greater"
        details = {
            "signed_score": repr(number.value),
            "null_value": repr(float(null_value)),
            "score": "the distance of an estimate; on average it exceeds that of the true number, "
            "the more so the wider the interval",
        }
        if result.has_interval:
            details |= {"signed_lower": repr(number.low), "signed_upper": repr(number.high)}
    uncertainty: Content = {}
    if 0 < number.stderr < inf:
        uncertainty["standard_error"] = {
            "value": number.stderr,
            "method": f"the task's own{remark}",
        }
    elif number.stderr == 0:
        details["standard_error"] = f"0: {result.how}"
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
        details["num_samples"] = (
            f"units that the number is made of, of {run.n:,} documents; clusters are fewer"
        )
    details |= {f"warning {i}": warning for i, warning in enumerate(run.warnings, 1)}
    return _without({"score": score, "uncertainty": uncertainty or None, "details": details})


def _end(value: float) -> float | str:
    return value if isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _without(content: Json) -> Content:
    return {key: value for key, value in content.items() if value is not None}
