"""The numbers of finished runs that are converted to third-party formats."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from lm_eval_bias.data.schema import GREATEST
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.results.runs import Run, check_metrics
from lm_eval_bias.results.samples import template_name
from lm_eval_bias.results.verdict import with_response

_ROUNDING = 1e-9


class Result(NamedTuple):
    """A number with value and interval in its unit's range."""

    run: Run
    metric: Metric
    number: Number

    @property
    def has_interval(self) -> bool:
        return -GREATEST < self.number.low < self.number.high < GREATEST

    @property
    def how(self) -> str:
        """How the interval was made, or why there is none."""
        number = self.number
        if self.has_interval:
            over = f" over {number.clusters:,} clusters" if number.clusters else ""
            return f"made by the task{over}"
        if number.stderr == 0 or number.low == number.high:
            return "all clusters of the sample agree, which does not make the number certain"
        if not self.metric.stderr:
            return "the task computes none for it"
        return "it has no end or does not exist in this run"

    def left_out(self, why: str) -> str:
        return f"{self.run.task}/{self.metric.name} of {self.run.model} is left out: {why}"


def chosen(
    runs: Sequence[Run], metrics: Sequence[str] | None = None
) -> tuple[list[Result], list[str]]:
    """The primary numbers of runs, or those named, METRIC or TASK/METRIC; and a line for each left
    out."""
    check_metrics(metrics or (), runs)
    results, left = [], []
    for run in sorted(runs, key=lambda run: (run.model, run.task)):
        for metric, number in run.shown(metrics):
            least, greatest = metric.unit_range
            value, low, high = (
                min(max(end, least), greatest) for end in (number.value, number.low, number.high)
            )
            result = Result(run, metric, number._replace(value=value, low=low, high=high))
            if not max(abs(number.value), abs(metric.null_value or 0.0)) < GREATEST:
                left.append(result.left_out("it does not exist in this run"))
            elif abs(number.value - value) > _ROUNDING:
                left.append(result.left_out(f"{number.value:g} is no number in {metric.unit}"))
            else:
                results.append(result)
    return results, left


def better(metric: Metric) -> Literal["lower", "higher"] | None:
    """None for a signed number and a mere description. A number whose null value is an end of its
    range is its own distance from it."""
    if metric.better is None or metric.null_value is None:
        return metric.better
    least, greatest = metric.unit_range
    at_end = metric.null_value == (least if metric.better == "lower" else greatest)
    return metric.better if at_end else None


def undirected(metric: Metric) -> str:
    if metric.null_value is None:
        return "a description, of which neither more nor less is better"
    return f"best near {metric.null_value:g}, which is neither lower nor higher"


def distance(number: Number, null_value: float) -> tuple[float, float, float]:
    """|value - null_value|, and the least and the greatest distance in the number's interval."""
    value, low, high = (x - null_value for x in (number.value, number.low, number.high))
    return abs(value), max(0.0, low, -high), max(abs(low), abs(high))


def settings(run: Run) -> dict[str, str]:
    """A run's options, and whether the chat template was applied."""
    template = run.template[:12] if run.template else template_name(run.template)
    return {**run.settings_but("version", "documents"), "chat template": template}


def warnings(results: Sequence[Result]) -> list[str]:
    lines = (
        f"{result.run.model}, {result.run.task}: {warning}"
        for result in results
        for warning in with_response(result.run)
    )
    return list(dict.fromkeys(lines))
