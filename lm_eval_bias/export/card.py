"""Results in the `model-index` of a model card, the YAML at the top of a README.md, by
huggingface_hub's own classes."""

import re
from collections.abc import Sequence
from math import inf
from typing import Any

from huggingface_hub import EvalResult, ModelCard
from huggingface_hub.repocard import REGEX_YAML_BLOCK
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results
from huggingface_hub.utils import yaml_dump

from lm_eval_bias.export.hub import first_line, loaded
from lm_eval_bias.export.numbers import (
    CannotMerge,
    Result,
    Source,
    about,
    directed,
    model_type,
    settings,
)
from lm_eval_bias.results.escape import shortened, visible

INDEX = "model-index"
# Its lines, up to those of the next key.
_LINES = re.compile(rf"^{INDEX}:.*\n?(?:[ \t-].*\n?)*", re.M)
# `--model` -> the kind of task that the hub knows such models by.
_KINDS = {"hf-mlm": "fill-mask", "hf-nli": "text-classification"}
_KIND = "text-generation"
Key = tuple[Any, Any, Any]
"""Data set, its configuration, metric."""


def eval_results(results: Sequence[Result], source: Source) -> tuple[list[EvalResult], list[str]]:
    """A result for each number with a direction, and what was left out."""
    made = []
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
            "n": number.n,
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
        made.append(one)
    return made, left


def _key(result: EvalResult) -> Key:
    return result.dataset_type, result.dataset_config, result.metric_type


def text(model: str, made: Sequence[EvalResult]) -> str:
    return yaml_dump({INDEX: eval_results_to_model_index(model, list(made))}, sort_keys=False)


def standing(content: str) -> Any:
    return _metadata(content)[0].get(INDEX)


def kept(content: str, made: Sequence[EvalResult]) -> list[EvalResult]:
    """The results in whose place a verified one stands, which only the hub may change."""
    index = standing(content)
    verified = {
        (dataset.get("type"), dataset.get("config"), metric.get("type"))
        for group in _groups(index)
        for dataset in [group["dataset"]]
        for metric in group["metrics"]
        if metric.get("verified") or metric.get("verifyToken")
    }
    return [result for result in made if _key(result) in verified]


def merged(content: str, model: str, made: Sequence[EvalResult]) -> str:
    """A card with results replaced or added. model: its name, if it has none there. Raises
    CannotMerge where that cannot be done without touching the rest."""
    metadata, block = _metadata(content)
    index = _merged_index(metadata.get(INDEX), model, made)
    line_break = "\r\n" if "\r\n" in content else "\n"
    dumped = yaml_dump({INDEX: index}, sort_keys=False).replace("\n", line_break)
    if block is None:
        mark = "\ufeff" if content.startswith("\ufeff") else ""
        new = f"{mark}---{line_break}{dumped}---{line_break}{content.removeprefix(mark)}"
    else:
        start, end = block
        place = _LINES.search(content, start, end)
        first, last = place.span() if place else (start, start)
        after = content[last:end]
        shown = dumped if after else dumped.removesuffix(line_break)
        new = content[:first] + shown + after + content[end:]
    if why := _wrong(content, new, {**metadata, INDEX: index}):
        raise CannotMerge(why)
    return new


def _metadata(content: str) -> tuple[dict[str, Any], tuple[int, int] | None]:
    mark = 1 if content.startswith("\ufeff") else 0
    match = REGEX_YAML_BLOCK.search(content[mark:])
    if not match:
        return {}, None
    above = "\n" * content.count("\n", 0, mark + match.start(2))  # so that lines are the file's
    metadata = loaded(above + match.group(2), "its metadata")
    if not isinstance(metadata, (dict, type(None))):
        raise CannotMerge("its metadata is no mapping")
    return metadata or {}, (mark + match.start(2), mark + match.end(2))


def _groups(index: Any) -> list[dict[str, Any]]:
    if not index:
        return []
    try:
        model_index_to_eval_results(index)
    except Exception as error:  # whatever the index holds is indexed there without a look
        why = f"{type(error).__name__}: {first_line(error)}"
        raise CannotMerge(f"huggingface_hub cannot read its {INDEX} ({why})") from None
    return [group for element in index for group in element["results"]]


def _merged_index(old: Any, model: str, made: Sequence[EvalResult]) -> list[dict[str, Any]]:
    """What is replaced goes; the new results belong to the first model."""
    _groups(old)
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


def _wrong(old: str, new: str, expected: dict[str, Any]) -> str:
    try:
        metadata, block = _metadata(new)
        ModelCard(new.removeprefix("\ufeff"))
    except ValueError as error:
        return f"huggingface_hub cannot read the card then ({first_line(error)})"
    _, before = _metadata(old)
    text = old[before[1] :] if before else old.removeprefix("\ufeff")
    same_text = block is not None and (new[block[1] :] == text if before else new.endswith(text))
    # a NaN is none of itself
    same = sorted(map(repr, metadata.items())) == sorted(map(repr, expected.items()))
    return (
        ""
        if same and same_text
        else f"its {INDEX} cannot be changed without the rest of its metadata"
    )
