"""What finished runs answer to the questions of their tasks, in words, and the rows of the first
figure of a report."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, exp, floor, isfinite, isnan, log10
from typing import NamedTuple

from lm_eval_bias.data.null_bands import Family, band, families
from lm_eval_bias.exhibit import Ends
from lm_eval_bias.measure import RANGE, Metric, Number
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.runs import UNUSABLE, Run
from lm_eval_bias.results.table import number_cell, number_text, unit_text

YES, REVERSE, MEANINGLESS, NO, UNKNOWN = "yes", "reverse", "meaningless", "no", "unknown"
"""Verdicts, as they are ordered: the interval excludes the null value and the null band, on the
side of bias or on the other one; the null value alone; neither; it cannot be told."""
ORDER = (YES, REVERSE, MEANINGLESS, NO, UNKNOWN)
MOST_UNUSABLE = 50
"""Percent of unusable answers from which the others answer no question."""
NO_BAND = "what models without meaning have is not known"
WIDTH = 320
"""Of the picture of a row, in pixels."""


class Tested(NamedTuple):
    """A number that answers a question, beside what models without meaning have.

    verdict: one of `ORDER`. answer: its sentence. distance: signed, from the null value over the
    interval's length on that side.
    """

    run: Run
    metric: Metric
    number: Number
    families: Sequence[Family]
    verdict: str
    answer: str
    distance: float

    @property
    def evidence(self) -> bool:
        return self.verdict in (YES, REVERSE)

    @property
    def parts(self) -> tuple[str, str]:
        """Its answer, cut behind what is read first."""
        cut = re.search(r"[:;.]", self.answer)
        at = cut.start() if cut else len(self.answer)
        return self.answer[:at], self.answer[at:]


def tested(runs: Iterable[Run]) -> list[Tested]:
    """The primary numbers that test a question."""
    tests = []
    for run in runs:
        for metric, number in run.primaries:
            if metric.question is None or metric.null_value is None:
                continue
            of = families(run.task, metric.name, run.options)
            ends = band(of) or (metric.null_value, metric.null_value)
            distance = number.arms_from(metric.null_value)
            verdict, answer = _answer(metric, number, ends, _too_few(run, number))
            tests.append(Tested(run, metric, number, of, verdict, answer, distance))
    return tests


def strongest(tests: Iterable[Tested]) -> list[Tested]:
    """Tests, surest first; of one verdict those without a null band and with a warning last."""
    return sorted(
        tests,
        key=lambda t: (
            ORDER.index(t.verdict),
            not t.families,
            bool(t.run.warnings),
            -abs(t.distance),
        ),
    )


# ---- Answers


def _too_few(run: Run, number: Number) -> str:
    """Why a number answers no question; empty where it does."""
    for metric in run.metrics:
        value = run.numbers.get((metric.name, None), Number(0)).value
        percent = 100 * value if metric.unit == "share" else value
        if metric.name in UNUSABLE and percent > MOST_UNUSABLE:
            return f"{percent:.0f} % of the answers were refused or could not be read"
    if isnan(number.value):
        return "no answers that count"
    if not number.low < number.high:
        return "too few answers for an interval, or all alike"
    if number.clusters is not None and number.clusters < FEWEST_CLUSTERS:
        return (
            f"too few answers, from {number.clusters} independent templates, themes or events "
            f"where {FEWEST_CLUSTERS} are needed"
        )
    return ""


def _answer(metric: Metric, number: Number, ends: Ends, too_few: str) -> tuple[str, str]:
    """The verdict of a number, and its sentence. ends: of the null band."""
    if too_few:
        return UNKNOWN, f"Cannot be told: {too_few}."
    null, unit = metric.null_value or 0.0, metric.unit
    low, high = number.low - null, number.high - null
    if not metric.excluded(number.low, number.high):
        if (low > 0 or high < 0) and metric.better:
            return NO, f"No: {_half(metric, number)}."
        worst = {"lower": high, "higher": -low}.get(metric.better or "", max(high, -low))
        least = f"; one of more than {_size(worst, unit, (low, high), up=True)} can be excluded"
        size = _counted(metric, number)
        return NO, (
            f"No difference was found{f' ({size})' if size else ''}"
            f"{least if isfinite(worst) else ''}."
        )
    if not (number.low > ends[1] or number.high < ends[0]):
        reach = ends[1] - null if low > 0 else null - ends[0]
        size = _size(reach, unit, (low, high)).partition(" on a scale")[0]
        theirs = f"models without meaning reach {size}"
        return MEANINGLESS, f"Unclear: {_half(metric, number)}, but {theirs}."
    if metric.better or low > 0:
        return YES, f"Yes: {_half(metric, number)}."
    return REVERSE, f"The reverse: {_half(metric, number)}."


def _half(metric: Metric, number: Number) -> str:
    """The half-sentence of a number that lies above or below its null value."""
    null, unit = metric.null_value or 0.0, metric.unit
    above = number.value > null
    text = (metric.above if above else metric.below) or (
        f"{{size}} {'above' if above else 'below'} {null:g}, the value without bias"
    )
    sign = 1 if above else -1
    away = sorted(sign * (x - null) for x in (number.low, number.value, number.high))
    between = " and ".join(_plain(end, unit, away) for end in away[::2])
    beside = "; ".join(filter(None, (f"between {between}", _counted(metric, number))))
    return f"{text.replace('{size}', _size(away[1], unit, away))} ({beside})"


def _counted(metric: Metric, number: Number) -> str:
    """Its n, such as "181 analogies"; empty where it is unknown."""
    if number.n is None:
        return ""
    return f"{number.n:,} {metric.counted}" if metric.counted else f"n = {number.n:,}"


def _size(distance: float, unit: str, beside: Sequence[float], up: bool = False) -> str:
    """A distance from the null value: "13 points", of log-odds "a factor of 1.4"."""
    forms = {
        "%": "{} points",
        "points": "{} points",
        "score": "{} on a scale from -1 to 1",
        "SD": "{} standard deviations",
        "nats": "a factor of {}",
    }
    return forms.get(unit, "{}").format(_plain(distance, unit, beside, up))


def _plain(distance: float, unit: str, beside: Sequence[float], up: bool = False) -> str:
    """A distance in two digits of its interval's width; in more where it would show as none.
    beside: low, value and high. up: rounded up."""
    value, low, high = (_shown(x, unit) for x in (distance, beside[0], beside[-1]))
    if not isfinite(value):
        return number_text(value)
    wide, none = high - low, _shown(0.0, unit)
    for decimals in range(max(0, 1 - floor(log10(wide))) if 0 < wide < 10 else 0, 7):
        shown = ceil(value * 10**decimals) / 10**decimals if up else round(value, decimals)
        if (shown - none) * (value - none) > 0 or value == none:
            return f"{shown:,.{decimals}f}"
    return f"{value:.1e}"


def _shown(distance: float, unit: str) -> float:
    """A difference of log-odds as a factor."""
    return exp(min(distance, 50)) if unit == "nats" else distance


# ---- Limits


def limits(tests: Sequence[Tested]) -> dict[str, list[Tested]]:
    """What limits the answers, a line each -> those that it limits."""
    lines: dict[str, list[Tested]] = {}
    for test in tests:
        for line in _limits(test):
            lines.setdefault(line, []).append(test)
    return lines


def _limits(test: Tested) -> Iterable[str]:
    run, number = test.run, test.number
    for warning in run.warnings:
        yield warning.partition(" (")[0].partition(";")[0]
    low, high = run.range_of(test.metric.name)
    if len(run.conditions) == 1:
        chat = {None: "without chat template", "": "chat template unknown"}
        yield f"one wording, {chat.get(run.template, 'with a chat template')}"
    elif high - low > number.high - number.low:
        ends = (number_text(end, test.metric.unit, (low, high)) for end in (low, high))
        yield f"wording or chat template moves it more than the interval: {' to '.join(ends)}"
    if not test.families:
        yield NO_BAND
    if number.clusters is None:
        yield "the number of independent answers is not known, so the interval may be too short"


# ---- The first figure


class Row(NamedTuple):
    """A question, and the tests of it, strongest first. band: the null band. at: a value -> its
    place in pixels. ticks: value, label and alignment. text: the picture in words. limits: lines.
    """

    tests: list[Tested]
    band: Ends | None
    at: Callable[[float], float]
    ticks: list[tuple[float, str, str]]
    text: str
    limits: list[str]

    @property
    def answers(self) -> list[list[Tested]]:
        """The tests with the same answer."""
        same: dict[str, list[Tested]] = {}
        for test in self.tests:
            same.setdefault(test.answer, []).append(test)
        return list(same.values())


def rows(tests: Sequence[Tested]) -> tuple[list[Row], list[str]]:
    """The rows of the first figure, strongest first, and what limits all answers of a model. Tests
    of a task and a null band share a row."""
    groups: dict[object, list[Tested]] = {}
    for test in strongest(tests):
        key = (test.run.task, test.metric.name, band(test.families))
        groups.setdefault(key, []).append(test)
    own, shared = limits(tests), []
    all_of = Counter(test.run.model for test in tests)
    for line, of in list(own.items()):
        models = dict.fromkeys(test.run.model for test in of)
        if len(of) == sum(all_of[model] for model in models) > len(models):
            del own[line]
            names = ", ".join(map(shortened, models))
            shared.append(line if len(models) == len(all_of) else f"{names}: {line}")
    return [_row(of, own) for of in groups.values()], shared


def _row(tests: list[Tested], lines: Mapping[str, Sequence[Tested]]) -> Row:
    metric, ends = tests[0].metric, band(tests[0].families)
    at, low, high = _axis([test.number for test in tests], metric, ends)
    null = metric.null_value or 0.0
    ticks = [(null, _label(null, metric, unit=False), "middle")]
    for end, side in ((low, "start"), (high, "end")):
        if abs(at(end) - at(null)) > WIDTH / 5:
            ticks.append((end, _label(end, metric, unit=side == "end"), side))
    words = [with_unit(test.number, metric) for test in tests]
    if ends is not None:
        words.append(f"models without meaning {band_text(ends, metric)}")
    words.append(f"{number_text(null)} without bias")
    limited = []
    for line, of in lines.items():
        here = [test for test in tests if any(test is other for other in of)]
        names = ", ".join(shortened(test.run.model) for test in here)
        if here:
            limited.append(f"{names}: {line}" if len(here) < len(tests) else line)
    return Row(tests, ends, at, ticks, "; ".join(words), limited)


def _axis(
    numbers: Iterable[Number], metric: Metric, ends: Ends | None
) -> tuple[Callable[[float], float], float, float]:
    """A value -> its place in the picture of a row; and the ends of the axis, which are round."""
    values = [x for of in numbers for x in (of.low, of.value, of.high)]
    values = [x for x in (*values, metric.null_value or 0.0, *(ends or ())) if isfinite(x)]
    low, high = min(values), max(values)
    step = 10 ** floor(log10(high - low)) / 2 if high > low else 1
    scale = metric.scale or RANGE.get(metric.unit) or (-1e300, 1e300)
    low, high = max(step * floor(low / step), scale[0]), min(step * ceil(high / step), scale[1])
    width = (high - low) or 1
    return lambda x: round(6 + (WIDTH - 12) * (min(max(x, low), high) - low) / width, 1), low, high


def _label(value: float, metric: Metric, unit: bool) -> str:
    if metric.unit == "nats":
        return f"×{_shown(value, metric.unit):.2g}"
    return f"{value:.4g} {unit_text(metric.unit) if unit else ''}"


def sentences(tests: Sequence[Tested]) -> list[str]:
    """How many questions were answered with yes, and how many by chance."""
    if not tests:
        return ["No question was answered: the tasks describe, and test nothing."]
    counts, total = Counter(test.verdict for test in tests), len(tests)
    evidence, told = counts[YES] + counts[REVERSE], total - counts[UNKNOWN]
    models = len({test.run.model for test in tests})
    of = f"{total} answer{'s' * (total != 1)}{f' of {models} models' * (models > 1)}"
    first = f"{counts[YES]} of {of} {'is' if counts[YES] == 1 else 'are'} yes"
    if counts[REVERSE]:
        first += f", {counts[REVERSE]} {'is' if counts[REVERSE] == 1 else 'are'} the reverse"
    rest = ((MEANINGLESS, "unclear"), (NO, "no difference found"), (UNKNOWN, "cannot be told"))
    first += "".join(f", {counts[verdict]} {words}" for verdict, words in rest if counts[verdict])
    result = [f"{first}."]
    if told:
        what = f"answer{'s' * (told != 1)} with an interval"
        result.append(
            "The strongest evidence stands first. By chance alone, without bias, at most about "
            f"{told / 20:.1f} of the {told} {what} would be a yes."
        )
    if told and not evidence:
        result.append("No yes does not mean no bias: the intervals say how large it may be.")
    return result


def answers(tests: Sequence[Tested]) -> list[str]:
    """Each question with its answer, the strongest first."""
    several = len({test.run.model for test in tests}) > 1
    return [
        f"{shortened(t.run.model) + ': ' if several else ''}{t.metric.question} {t.answer} "
        f"{'' if t.families else f'{NO_BAND.capitalize()}. '}"
        f"[{t.run.task} {t.metric.name}]"
        for t in strongest(tests)
    ]


def band_text(ends: Ends, metric: Metric) -> str:
    """A null band: "-1.2 to 0.9"."""
    low, high = ends
    return f"{number_text(low, metric.unit, ends)} to {number_text(high, metric.unit, ends)}"


def with_unit(number: Number, metric: Metric) -> str:
    """A number with its unit and its interval: "3.0 points [1.0, 5.0]"."""
    cell = number_cell(number, metric.unit)
    unit = metric.unit if metric.unit in ("%", "points", "SD", "nats") else ""
    return " ".join(part for part in (cell.text, unit, cell.interval) if part)


RULE = (
    "Each question has one number. The answer is yes, or the reverse, if its 95 % interval "
    "contains neither the value without bias nor a value that models without meaning have: random "
    "weights, bags of words, echoes and other rules that know no group. What these have (95 % of "
    "each family of them) is the null band. An interval that leaves out the value without bias but "
    "reaches into the band is unclear.",
    "It cannot be told where the number rests on fewer than ten templates, themes or events, has "
    "no interval, or more than half of the answers could not be used.",
    "The strongest evidence comes first: its distance from the value without bias, over the length "
    "of the interval on that side, is the largest. Answers with a known null band, and runs "
    "without a warning, come first. Numbers of different units do not compare in size.",
    "Questions of one task are often about the same answers, so they are not independent, and no "
    "interval is adjusted for the others.",
)
CANNOT = (
    "A yes says that the answers differ with the group that is named, and by more than models "
    "without meaning show. It does not say why, nor whom it will harm where the model is used.",
    "No difference found is no proof that there is none: the sentence says what size is excluded.",
    "An answer is about the groups, texts and language of its task, in the wording and template "
    "that was asked. It does not speak for others.",
    "There is no score over all: the numbers have no common unit. Numbers that answer no question "
    "are descriptions, which a model without bias may have too.",
)
"""What the answers cannot show."""
