"""What of finished runs is handed on to the formats of others, and what cannot be: they know a
number and whether more or less is better.

A number whose direction is not one of the two, since it may err to both sides of the value of a
model without bias, is known by its distance from that value, or not at all. `export_hub`,
`export_card` and `export_records` write the formats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lm_eval_bias.measure import RANGE, Metric, Number
from lm_eval_bias.report.leaderboard import board, decimals
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.runs import Found, Run

_ROUNDING = 1e-9
_GREATEST = 1e300
"""Beyond it a difference of two numbers may not be finite."""
COMMON = ("version", "documents")
"""Of what a run was asked, what is said apart from its options."""


class Result(NamedTuple):
    """A number of a run that exists, with its 95 % interval.

    stderr, low, high: NaN where they do not exist; an interval has two ends that differ, or none.
    how: how it was made; where there is none, why.
    """

    run: Run
    metric: Metric
    value: float
    stderr: float
    low: float
    high: float
    how: str

    @property
    def name(self) -> str:
        return f"{self.run.task}/{self.metric.name}"

    @property
    def has_interval(self) -> bool:
        return self.low < self.high


class Chosen(NamedTuple):
    """left: what is not among the results, a line each, which says why."""

    results: list[Result]
    left: list[str]


def chosen(found: Found, metrics: Sequence[str] | None = None) -> Chosen:
    """The primary numbers of runs, or those that are named. Raises UsageError for a name that no
    run has."""
    runs = {(run.task, run.model): run for run in found.runs}
    results, left = [], []
    for section in board(found, metrics).sections:
        for column in section.columns:
            for model, entry in column.entries.items():
                run, metric = runs[section.task, model], column.metric
                entry = entry.number
                low, high, how = _interval(metric, entry)
                one = Result(
                    run, metric, _within(metric, entry.value), entry.stderr, low, high, how
                )
                least, greatest = RANGE.get(metric.unit, (-inf, inf))
                if not (_exists(entry.value) and _exists(metric.null_value or 0.0)):
                    left.append(left_out(one, "it does not exist in this run"))
                elif not least <= one.value <= greatest:
                    left.append(left_out(one, f"{entry.value:g} is no number in {metric.unit}"))
                else:
                    results.append(one)
    if metrics is None:
        for run in found.runs:
            for metric in run.metrics:
                if metric.primary and (metric.name, None) not in run.numbers:
                    left.append(
                        f"{_named(run, metric)} is left out: its results file has no such number"
                    )
    results.sort(key=lambda one: (one.run.model, one.run.task))
    return Chosen(results, left)


def _interval(metric: Metric, entry: Number) -> tuple[float, float, str]:
    """Its ends, and how it was made; where there is none NaN, and why."""
    low, high = _within(metric, entry.low), _within(metric, entry.high)
    if _exists(low) and _exists(high) and low < high:
        how = "the task's own"
        least, greatest = RANGE.get(metric.unit, (-inf, inf))
        within = max(low, least), min(high, greatest)
        if within == (low, high):
            return low, high, how
        # no number lies in what is cut off, so that the rest covers as often
        if within[0] < within[1]:
            return *within, f"{how}; cut off where {metric.unit} ends"
    if not (metric.stderr or metric.own_interval):
        why = "the task computes none for it"
    elif low == high or entry.stderr == 0:
        why = "all clusters of the sample agree, which does not make the number certain"
    elif low > high:
        why = "the ends in the results file are the wrong way round"
    else:
        why = "it has no end or does not exist in this run"
    return nan, nan, why


def _exists(value: float) -> bool:
    return isfinite(value) and abs(value) < _GREATEST


def _within(metric: Metric, value: float) -> float:
    """A number that rounding has put a hair beyond the range of its unit."""
    for end in RANGE.get(metric.unit, ()):
        if isfinite(end) and abs(value - end) <= _ROUNDING:
            return float(end)
    return value


def _named(run: Run, metric: Metric) -> str:
    return f"{shortened(run.task)}/{shortened(metric.name)} of {shortened(run.model)}"


def left_out(result: Result, why: str) -> str:
    return f"{_named(result.run, result.metric)} is left out: {why}"


def better(metric: Metric) -> Literal["lower", "higher"] | None:
    """Which is better, of a number that can err to one side alone; None for a signed number and a
    mere description.

    The value of a model without bias may be an end of the number's range, as 0 % is: then the
    number is its own distance from it.
    """
    if metric.better is None or metric.null_value is None:
        return metric.better
    least, greatest = RANGE.get(metric.unit, (-inf, inf))
    return (
        metric.better
        if metric.null_value == (least if metric.better == "lower" else greatest)
        else None
    )


def undirected(metric: Metric) -> str:
    """Why a number has no direction, as the end of a sentence."""
    if metric.null_value is None:
        return "a description, of which neither more nor less is better"
    return f"best near {metric.null_value:g}, which is neither lower nor higher"


def distance(result: Result, null_value: float) -> tuple[float, float, float]:
    """|value - unbiased|, and the ends of its interval.

    They are the least and the greatest distance of what the number's interval holds, 0 if that
    holds the null value: an interval that covers the number covers with it the distance.
    """
    ends = [abs(result.low - null_value), abs(result.high - null_value)]
    least = 0.0 if result.low <= null_value <= result.high else min(ends)
    return abs(result.value - null_value), least, max(ends)


def bounds(metric: Metric, null_value: float | None = None) -> tuple[float, float]:
    """The least and greatest value that a number may have; with `unbiased` its distance from that."""
    least, greatest = RANGE.get(metric.unit, (-inf, inf))
    return (
        (least, greatest)
        if null_value is None
        else (0, max(null_value - least, greatest - null_value))
    )


# ---- In words


def about(result: Result, direction: str) -> str:
    """Unit, direction, interval and documents, in one line: "%, lower is better; 95 % interval 42.6
    to 55.1; n = 1,535"."""
    unit = f"{result.metric.unit}, " if result.metric.unit else ""
    return f"{unit}{direction}; {interval(result)}; n = {result.run.n:,}"


def interval(result: Result) -> str:
    if not result.has_interval:
        return f"no interval ({result.how})"
    # Two digits of its width, so that its ends are never the same.
    digits = max(decimals(result.metric.unit), 1 - math.floor(math.log10(result.high - result.low)))
    low, high = (
        f"{end:,.{digits}f}" if digits < 10 and abs(end) < 1e9 else f"{end!r}"
        for end in (result.low, result.high)
    )
    return f"95 % interval {low} to {high} ({result.how})"


def warnings(results: Sequence[Result]) -> list[str]:
    """What must be known of the runs whose numbers are handed on, a line each."""
    said = [
        f"{shortened(one.run.model)}, {shortened(one.run.task)}: {warning}"
        for one in results
        for warning in one.run.warnings
    ]
    return list(dict.fromkeys(said))


def asked(run: Run) -> dict[str, str]:
    """The options of a run, and whether the model's chat template was applied; as texts that are
    shown as they are."""
    options = {
        shortened(key): shortened(value, 300) for key, value in run.asked if key not in COMMON
    }
    return {**options, "chat template": shortened(run.template[:12]) if run.template else "none"}


def circumstances(run: Run) -> str:
    """Version, options and warnings in one line."""
    said = [
        f"version {shortened(run.version)}",
        *(f"{key} {value}" for key, value in asked(run).items()),
    ]
    return "; ".join([", ".join(said), *(shortened(warning, 300) for warning in run.warnings)])


# ---- What stands in the results file beside the numbers


_FACTS = ("config", "date", "lm_eval_version", "transformers_version")


@cache
def _content(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = {}
    return (
        {key: content[key] for key in _FACTS if key in content} if isinstance(content, dict) else {}
    )


def fact(run: Run, name: str) -> str:
    """A text at the top of the results file, such as `lm_eval_version`; "" where there is none."""
    value = _content(run.results).get(name)
    return visible(value) if isinstance(value, str) else ""


def model_type(run: Run) -> str:
    """What `--model` was; "" where it is not known."""
    config = _content(run.results).get("config")
    kind = config.get("model") if isinstance(config, dict) else None
    return kind if isinstance(kind, str) else ""


def seconds(run: Run) -> int | None:
    """When the run began, in seconds since 1970; None where the file does not say."""
    date = _content(run.results).get("date")
    if isinstance(date, bool) or not isinstance(date, (int, float)) or not 0 < date < 1e11:
        return None
    return int(date)
