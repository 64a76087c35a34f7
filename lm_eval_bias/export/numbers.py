"""The numbers of finished runs that are converted to third-party formats."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lm_eval_bias.data.bounds import Unreadable, json_of
from lm_eval_bias.measure import RANGE, Metric, Number
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.runs import Run, check_metrics
from lm_eval_bias.results.samples import at, origin_of, template_name
from lm_eval_bias.results.table import interval_text

_ROUNDING = 1e-9
_GREATEST = 1e300
"""Beyond it a difference of two numbers may not be finite."""


class Source(NamedTuple):
    """dataset: on the hub, OWNER/NAME. revision: its commit. url, name: of the outputs."""

    dataset: str | None = None
    revision: str | None = None
    url: str | None = None
    name: str | None = None


class CannotMerge(ValueError):
    """Why a file cannot be changed in one place and left as it is in the others."""


class Result(NamedTuple):
    """A number of a run, with value and interval in the range of its unit."""

    run: Run
    metric: Metric
    number: Number

    @property
    def has_interval(self) -> bool:
        return (
            _exists(self.number.low)
            and _exists(self.number.high)
            and (self.number.low < self.number.high)
        )

    @property
    def how(self) -> str:
        """How the interval was made; where there is none, why."""
        number = self.number
        if self.has_interval:
            over = f" over {number.clusters:,} clusters" if number.clusters else ""
            return f"made by the task{over}"
        if number.stderr == 0 or number.low == number.high:
            return "all clusters of the sample agree, which does not make the number certain"
        if not self.metric.stderr:
            return "the task computes none for it"
        return "it has no end or does not exist in this run"


def chosen(
    runs: Sequence[Run], metrics: Sequence[str] | None = None
) -> tuple[list[Result], list[str]]:
    """The primary numbers of runs, or those named, METRIC or TASK/METRIC; and a line for each that
    is left out."""
    check_metrics(metrics or (), runs)
    results, left = [], []
    for run in sorted(runs, key=lambda run: (run.model, run.task)):
        for metric, number in run.shown(metrics):
            least, greatest = RANGE.get(metric.unit, (-inf, inf))
            result = Result(run, metric, _within(number, least, greatest))
            if not (_exists(number.value) and _exists(metric.null_value or 0.0)):
                left.append(left_out(result, "it does not exist in this run"))
            elif not least - _ROUNDING <= number.value <= greatest + _ROUNDING:
                left.append(left_out(result, f"{number.value:g} is no number in {metric.unit}"))
            else:
                results.append(result)
    return results, left


def _exists(value: float) -> bool:
    return isfinite(value) and abs(value) < _GREATEST


def _within(number: Number, least: float, greatest: float) -> Number:
    value, low, high = (
        min(max(end, least), greatest) for end in (number.value, number.low, number.high)
    )
    return number._replace(value=value, low=low, high=high)


def left_out(result: Result, why: str) -> str:
    """A line for a number that a format cannot take."""
    task, metric = result.run.task, result.metric.name
    return f"{task}/{metric} of {result.run.model} is left out: {why}"


def better(metric: Metric) -> Literal["lower", "higher"] | None:
    """Which is better; None for a signed number and a mere description. A number whose null value
    is an end of its range is its own distance from it."""
    if metric.better is None or metric.null_value is None:
        return metric.better
    least, greatest = RANGE.get(metric.unit, (-inf, inf))
    at_end = metric.null_value == (least if metric.better == "lower" else greatest)
    return metric.better if at_end else None


def directed(results: Sequence[Result]) -> tuple[list[tuple[Result, str]], list[str]]:
    """The results with a direction, and that; and a line for each of the others."""
    ways = [(result, better(result.metric)) for result in results]
    left = [
        left_out(result, f"{undirected(result.metric)}; the format has no word for that")
        for result, way in ways
        if way is None
    ]
    return [(result, way) for result, way in ways if way is not None], left


def undirected(metric: Metric) -> str:
    if metric.null_value is None:
        return "a description, of which neither more nor less is better"
    return f"best near {metric.null_value:g}, which is neither lower nor higher"


def distance(number: Number, null_value: float) -> tuple[float, float, float]:
    """|value - null_value|, and the least and the greatest distance in the number's interval."""
    value, low, high = (x - null_value for x in (number.value, number.low, number.high))
    return abs(value), max(0.0, low, -high), max(abs(low), abs(high))


def bounds(metric: Metric, null_value: float | None = None) -> tuple[float, float]:
    least, greatest = RANGE.get(metric.unit, (-inf, inf))
    if null_value is None:
        return least, greatest
    return 0, max(null_value - least, greatest - null_value)


# ---- In words


def about(result: Result, direction: str) -> str:
    unit = f"{result.metric.unit}, " if result.metric.unit else ""
    n = "" if result.number.n is None else f"; n = {result.number.n:,}"
    return f"{unit}{direction}; {interval(result)}{n}"


def interval(result: Result) -> str:
    if not result.has_interval:
        return f"no interval ({result.how})"
    return f"95 % interval {interval_text(result.number, result.metric.unit)} ({result.how})"


def warnings(results: Sequence[Result]) -> list[str]:
    lines = [
        f"{result.run.model}, {result.run.task}: {warning}"
        for result in results
        for warning in result.run.warnings
    ]
    return list(dict.fromkeys(lines))


def settings(run: Run) -> dict[str, str]:
    """The options of a run, and whether the model's chat template was applied."""
    options = {
        shortened(key): shortened(value, 300)
        for key, value in run.settings
        if key not in ("version", "documents")
    }
    template = run.template[:12] if run.template else template_name(run.template)
    return {**options, "chat template": template}


def circumstances(run: Run) -> str:
    options = [f"{key} {value}" for key, value in settings(run).items()]
    parts = [f"version {run.version}", *options]
    return "; ".join([", ".join(parts), *(warning for warning in run.warnings)])


# ---- What stands in the results file beside the numbers


_RECORDED = (
    "config",
    "fewshot_as_multiturn",
    "lm_eval_version",
    "n-shot",
    "system_instruction",
    "transformers_version",
)


@cache
def _facts(path: Path) -> Mapping[str, Any]:
    try:
        content = json_of(path)
    except (ValueError, Unreadable):
        return {}
    return {name: content.get(name) for name in _RECORDED} if isinstance(content, dict) else {}


def facts(run: Run) -> Mapping[str, Any]:
    """What the results file says of how a run was asked; of one put together, that of its first
    part."""
    origin = origin_of(run.samples[0]) if run.parts and run.samples else None
    return _facts(origin.results if origin else run.results)


def fact(run: Run, name: str) -> str:
    """A text at the top of the results file; "" where there is none."""
    value = facts(run).get(name)
    return visible(value) if isinstance(value, str) else ""


def model_type(run: Run) -> str:
    kind = at(facts(run), "config", "model")
    return kind if isinstance(kind, str) else ""
