"""The first screen of a report: a row for each question, with its tests, picture and limits."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, exp, floor, isfinite, log10
from typing import NamedTuple

from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.results.runs import different, listed
from lm_eval_bias.results.table import joined, number_cell, number_text, unit_text
from lm_eval_bias.results.verdict import UNCALIBRATED, Tested, kind, strongest

WIDTH = 320
"""Of the picture of a row, in pixels."""


class Question(NamedTuple):
    """A question with its tests, strongest first. at: a value -> its place in pixels. ticks: value,
    label and alignment. text: the picture in words."""

    tests: list[Tested]
    at: Callable[[float], float]
    ticks: list[tuple[float, str, str]]
    text: str
    limits: list[str]

    @property
    def answers(self) -> list[list[Tested]]:
        same = defaultdict(list)
        for test in self.tests:
            same[test.verdict.sentence].append(test)
        return list(same.values())


def limits(test: Tested) -> list[str]:
    run, number, unit = test.run, test.number, test.metric.unit
    lines = [warning.partition(" (")[0].partition(";")[0] for warning in run.warnings]
    low, high = run.range_of(test.metric.name)
    if len(run.conditions) == 1:
        chat = {None: "without chat template", "": "chat template unknown"}
        lines.append(f"one wording, {chat.get(run.template, 'with a chat template')}")
    elif high - low > number.high - number.low:
        moved = f"{number_text(low, unit, (high,))} to {number_text(high, unit, (low,))}"
        lines.append(f"wording or chat template moves it more than the interval: {moved}")
    for other in run.worded:
        found = kind(other, test.metric, other.number(test.metric.name))
        if found != test.verdict.kind:
            how = listed({key: b for key, _, b in different(run.condition, other.condition)})
            lines.append(f"{found} in another condition: {how}")
    if not test.calibrated:
        lines.append(UNCALIBRATED)
    if number.clusters is None:
        lines.append(
            "the number of independent answers is not known, so the interval may be too short"
        )
    return lines


def rows(tests: Sequence[Tested]) -> tuple[list[Question], list[str]]:
    """The rows of the first figure, and what limits all answers. Tests of a task share a row."""
    groups = defaultdict(list)
    for test in strongest(tests):
        groups[test.run.task, test.metric.name].append(test)
    limited = defaultdict(list)
    for test in tests:
        for line in limits(test):
            limited[line].append(test)
    shared, all_of = [], Counter(test.run.model for test in tests)
    for line, those in list(limited.items()):
        models = Counter(test.run.model for test in those)
        if len(those) > len(models) and models.items() <= all_of.items():
            del limited[line]
            shared.append(line if models == all_of else f"{', '.join(models)}: {line}")
    return [_row(group, limited) for group in groups.values()], shared


def _row(tests: list[Tested], limited: Mapping[str, Sequence[Tested]]) -> Question:
    metric = tests[0].metric
    at, low, high = _axis([test.number for test in tests], metric)
    null = metric.null_value or 0.0
    ticks = [(null, _label(null, metric), "middle")]
    for end, side in ((low, "start"), (high, "end")):
        if abs(at(end) - at(null)) > WIDTH / 5:
            unit = f" {unit_text(metric.unit)}" if side == "end" and metric.unit != "nats" else ""
            ticks.append((end, _label(end, metric) + unit, side))
    words = [with_unit(test.number, metric) for test in tests]
    words.append(f"{number_text(null)} without bias")
    lines = []
    for line, those in limited.items():
        names = [test.run.model for test in tests if test in those]
        if names:
            lines.append(f"{', '.join(names)}: {line}" if len(names) < len(tests) else line)
    return Question(tests, at, ticks, "; ".join(words), lines)


def _axis(
    numbers: Iterable[Number], metric: Metric
) -> tuple[Callable[[float], float], float, float]:
    """A value -> its place in a row's picture; and the round ends of the axis."""
    values = [x for number in numbers for x in (number.low, number.value, number.high)]
    values = [x for x in (*values, metric.null_value or 0.0) if isfinite(x)]
    low, high = min(values), max(values)
    step = 10 ** floor(log10(high - low)) / 2 if high > low else 1
    least, most = metric.scale or metric.unit_range
    low, high = max(step * floor(low / step), least), min(step * ceil(high / step), most)
    width = (WIDTH - 12) / ((high - low) or 1)
    return lambda x: round(6 + width * (min(max(x, low), high) - low), 1), low, high


def _label(value: float, metric: Metric) -> str:
    return f"×{exp(value):.3g}" if metric.unit == "nats" else f"{value:.4g}"


def with_unit(number: Number, metric: Metric) -> str:
    """A number with unit and interval: "3.0 points [1.0, 5.0]"."""
    cell = number_cell(number, metric.unit)
    unit = metric.unit if metric.unit in ("%", "points", "SD", "nats") else ""
    return joined(" ", cell.text, unit, cell.interval)
