"""Results in the `model-index` of a model card, the YAML at the top of a README.md, by
huggingface_hub's own classes, which write that YAML anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, metadata_load, metadata_save
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results
from huggingface_hub.utils import yaml_dump

from lm_eval_bias.export.numbers import (
    Result,
    Source,
    about,
    directed,
    left_out,
    model_type,
    settings,
)
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.usage import UsageError

INDEX = "model-index"
# `--model` -> the kind of task that the hub knows such models by.
_KINDS = {"hf-mlm": "fill-mask", "hf-nli": "text-classification"}
_KIND = "text-generation"
Key = tuple[Any, Any, Any]
"""Data set, its configuration, metric."""


def eval_results(results: Sequence[Result], source: Source) -> tuple[list[EvalResult], list[str]]:
    """A result for each number with a direction, and what was left out. A model page shows name and
    value, so direction, interval and documents stand in the name too."""
    made: dict[Key, EvalResult] = {}
    with_direction, left = directed(results)
    for result, way in with_direction:
        run, number = result.run, result.number
        warnings = [shortened(warning, 300) for warning in run.warnings]
        task, metric = visible(run.task), visible(result.metric.name)
        arguments: dict[str, Any] = {
            "better": way,
            "unit": result.metric.unit or None,
            "interval": [number.low, number.high] if result.has_interval else None,
            "interval_method": result.how,
            "stderr": number.stderr if 0 < number.stderr < inf else None,
            "documents": run.n,
            "version": shortened(run.version),
            "date": run.date.date().isoformat() if run.date else None,
            "asked": settings(run),
            "warnings": warnings or None,
        }
        facts = "; ".join([about(result, f"{way} is better"), *warnings])
        one = EvalResult(
            task_type=_KINDS.get(model_type(run), _KIND),
            dataset_type=source.dataset or task,
            dataset_name=f"{shortened(task)} (lm-eval-bias)",
            dataset_config=task if source.dataset else None,
            dataset_revision=source.revision if source.dataset else None,
            metric_type=metric,
            metric_name=f"{shortened(metric)} ({facts})",
            metric_value=number.value,
            metric_args={name: value for name, value in arguments.items() if value is not None},
            source_url=source.url,
            source_name=source.name,
        )
        if _key(one) in made:
            left.append(left_out(result, f"another number is called {shortened(metric)} there"))
        else:
            made[_key(one)] = one
    return list(made.values()), left


def _key(result: EvalResult) -> Key:
    return result.dataset_type, result.dataset_config, result.metric_type


def text(model: str, made: Sequence[EvalResult]) -> str:
    return yaml_dump({INDEX: eval_results_to_model_index(model, list(made))}, sort_keys=False)


def change(path: Path, model: str, made: Sequence[EvalResult]) -> list[str]:
    """Replace or add results in a card; a line for each that is left out for a verified one, which
    only the hub may change. model: its name, if it has none there. Raises UsageError for what is
    no card."""
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"--card {path}: expected a README.md that is there, and no link")
    try:
        metadata = metadata_load(path) or {}
        elements = metadata.get(INDEX) or []
        if elements:
            model_index_to_eval_results(elements)
        kept = {
            (group["dataset"].get("type"), group["dataset"].get("config"), metric.get("type"))
            for element in elements
            for group in element["results"]
            for metric in group["metrics"]
            if metric.get("verified") or metric.get("verifyToken")
        }
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        cause = shortened(f"{type(error).__name__}: {error}")
        raise UsageError(
            f"{path}: huggingface_hub cannot read its metadata ({cause}); mend it, or leave --card "
            "out and put what is printed there by hand"
        ) from error
    new = [result for result in made if _key(result) not in kept]
    if new:
        metadata[INDEX] = _merged_index(elements, model, new)
        try:
            metadata_save(path, metadata)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    return [
        f"{shortened(result.metric_type)} of {shortened(result.dataset_name)} is left out: a "
        "verified result stands there"
        for result in made
        if result not in new
    ]


def _merged_index(
    old: Sequence[Any], model: str, made: Sequence[EvalResult]
) -> list[dict[str, Any]]:
    """What is replaced goes; the new results belong to the first model."""
    keys = {_key(result) for result in made}
    (new,) = eval_results_to_model_index(model, list(made))
    elements = []
    for element in old or [{**new, "results": []}]:
        groups = []
        for group in element["results"]:
            pair = (group["dataset"].get("type"), group["dataset"].get("config"))
            metrics = [m for m in group["metrics"] if (*pair, m.get("type")) not in keys]
            if metrics or not group["metrics"]:
                groups.append({**group, "metrics": metrics})
        elements.append({**element, "results": groups})
    elements[0]["results"] += new["results"]
    return elements
