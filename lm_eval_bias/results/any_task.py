"""A task made on the fly for metrics that the samples of any task hold: their means."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import Any, Literal

from lm_eval_bias.catalogue import Task
from lm_eval_bias.data.bounds import Json, Unreadable, json_of, lines, loads
from lm_eval_bias.measure import Counted, Measure, Metric, Record
from lm_eval_bias.metrics.errors import means
from lm_eval_bias.results.escape import clean, shortened
from lm_eval_bias.results.runs import Place, files, samples_of
from lm_eval_bias.results.samples import DATED, at, mapping
from lm_eval_bias.usage import UsageError, nearest

Way = Literal["lower", "higher"] | None
CLUSTER = "cluster"
_LAYOUT = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
_LAYOUT |= {"doc_hash", "prompt_hash", "target_hash", "records"}
"""What a sample has beside its metrics."""
Samples = Sequence[tuple[Path, Json]]
"""Sample files, each with the content of its results file."""


def samples_below(paths: Iterable[Path]) -> dict[str, list[tuple[Path, Json]]]:
    """Task -> its `Samples` below folders or of results files; no task without --log_samples.
    UsageError for a path that is not there."""
    result = defaultdict(list)
    for file, _ in files([Place(path) for path in paths], []):
        name = DATED.match(file.name)
        if file in paths or (name and name["kind"] == "json"):
            with suppress(Unreadable):  # `runs.find` says why; a baseline has its records already
                content = clean(json_of(file))
                for task in mapping(content, "configs"):
                    for path in samples_of(file, task, content):
                        result[task].append((path, content))
    return result


def task_of(task: str, metrics: Iterable[str], cluster: str | None, samples: Samples) -> Task:
    """A task with the means of metrics, in percent where all values lie between 0 and 1.

    metrics: NAME, or NAME,FILTER. cluster: a column of the documents; None: each document is a
    cluster. UsageError says what samples lack.
    """
    keys = {metric: metric.partition(",")[0] for metric in metrics}
    filters = {metric.partition(",")[2] for metric in keys}
    if len(filters) > 1:
        raise UsageError(f"{task}: metrics of one filter at a time, found {' and '.join(keys)}")
    (wanted,) = filters

    def record(doc: Any, sample: Any) -> Record:
        name = at(doc, cluster) if cluster else None
        own = f"document {sample['doc_id']}" if name is None else str(name)
        return {CLUSTER: own, **{m: _number(sample.get(key), key) for m, key in keys.items()}}

    filtered, columns = dict[str, None](), dict[str, None]()
    numbers, wide = set[str](), set[str]()
    for file, _ in samples:
        for line_number, line in lines(file):
            try:
                sample = loads(line)
                filtered[str(own := sample.get("filter", wanted))] = None
                if own != (wanted or own):
                    continue
                made = record(sample["doc"], sample)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                cause = error if isinstance(error, UsageError) else f"not a sample of {task}"
                raise UsageError(f"{file}, line {line_number}: {cause}") from None
            numbers |= {k for k in sample.keys() - _LAYOUT if isinstance(sample[k], int | float)}
            columns |= dict.fromkeys(mapping(sample["doc"]))
            wide |= {metric for metric in keys if made[metric] < 0 or made[metric] > 1}
    if len(filtered) > 1 and not wanted:
        several = ", ".join(f"{key},{name}" for key in keys.values() for name in filtered)
        raise UsageError(f"{task} has several filters; name one: {several}")
    for what, names, there in (
        ("filter", filters if wanted else (), filtered),
        ("metric with a number for each document", keys.values(), sorted(numbers)),
        ("column", [cluster] if cluster else (), columns),
    ):
        for name in names:
            if name not in there:
                near = nearest(name, there, "" if there else "it has none")
                raise UsageError(f"{task} has no {what} {name!r}; {near}")

    def metric(name: str) -> Metric:
        key, unit = keys[name], "" if name in wide else "%"
        ways = (_better(task, key, content) for _, content in samples)
        better: Way = next(filter(None, ways), None)
        about = f"The mean of the harness's {key}{', times 100' if unit else ''}."
        return Metric(name, unit, about, better, primary=True, counted="documents")

    def units(records: Any, **_: Any) -> dict[str, Any]:
        scaled = {m: records[m].astype(float) * (1 if m in wide else 100) for m in keys}
        return {"documents": records.assign(**scaled)}

    about = f"clusters are those of the column {cluster}"
    if not cluster:
        about = (
            "each document is a cluster of its own, as if none depended on another; these columns "
            f"of the documents can be clusters: {shortened(', '.join(columns), 200)}"
        )
    counted = Counted(units, {"documents": means(*keys)})
    measure = Measure(record, counted, [*map(metric, keys)], clusters=((CLUSTER,),))
    config = {"task": task, "tasks": [task], "measure": measure, "filter": wanted}
    return Task({**config, "metadata": {"about": about}}, Path())


def _number(value: Any, name: str) -> float:
    """NaN where a document has none."""
    if value is None:
        return nan
    if not isinstance(value, int | float):
        raise UsageError(f"{name} of a document is no number: {shortened(str(value), 60)}")
    return float(value)


def _better(task: str, metric: str, results: Json) -> Way:
    """What a results file says."""
    listed, higher = at(results, "configs", task, "metric_list"), {}
    for entry in listed if isinstance(listed, list) else ():
        higher[str(at(entry, "metric"))] = at(entry, "higher_is_better")
    higher |= mapping(results, "higher_is_better", task)
    return (
        "higher" if higher.get(metric) is True else "lower" if higher.get(metric) is False else None
    )
