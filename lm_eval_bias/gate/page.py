"""Verdicts for people: as a page, and as annotations of a GitHub job."""

from collections.abc import Mapping, Sequence
from math import isnan

from lm_eval_bias.gate.rules import EVERY, PAIRED, UNUSABLE, Rules
from lm_eval_bias.gate.verdicts import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    KEPT,
    PASS,
    VERDICTS,
    Judged,
    Verdict,
    condition,
    overall,
    subject,
)
from lm_eval_bias.results.escape import harmless, visible
from lm_eval_bias.results.table import Cell, Table, interval_text, joined, number_text, with_unit
from lm_eval_bias.show.page import Page, Section

_COUNTED = {
    FAIL: "failed",
    ERROR: "not judged (error)",
    INCONCLUSIVE: "inconclusive",
    KEPT: KEPT,
    PASS: "passed",
}


def method(rules: Rules) -> list[str]:
    alpha, nights = f"{100 * (1 - rules.confidence):.2g}", rules.nights
    share = f"{alpha} of 100 {'runs' if nights == 1 else f'series of {nights:,} runs'}"
    n = len(rules.on_numbers)
    return [
        "A rule fails only if the whole interval breaks it, and passes only if the whole interval "
        f"keeps it. Intervals are of {_percent(rules.alpha)} before Holm's adjustment, "
        f"which counts the {n} rule{'s' * (n != 1)} on numbers of each model by itself; beside "
        "each stands the confidence at which Holm decided. Of a model that keeps its rules, at "
        f"most {share} have a false FAIL anywhere; of a model that breaks them, at most {share} "
        "have a false pass, as far as the intervals cover what they should. A fifth of it is for "
        "parts, such as one axis, of numbers that must not be significantly worse: those that "
        "fail are listed (docs/explanation/statistics.md).",
        "An interval of another confidence than 95 % is made as the number's own; where the "
        "measure has a way of its own, each side times the ratio of Student's t, with at most one "
        "degree of freedom less than the number has clusters. A cap counts this run's answers: it "
        "is no estimate and has no interval.",
        "Nothing passes with fewer than ten clusters, no variance, NaN, a limit, or a rate of "
        "refusals or unusable answers over its cap.",
    ]


def _percent(alpha: float) -> str:
    return f"{number_text(100 * (1 - alpha), '%', (100 * alpha,))} %"


def numbers(verdict: Verdict) -> str:
    number, unit = verdict.number, verdict.unit
    if isnan(number.value):
        return ""
    if verdict.rule.condition == UNUSABLE:
        return with_unit(number.value, "%")
    way = sign = ""
    if verdict.rule.condition in PAIRED:
        unit, way = verdict.unit_of_difference, " worse"
        if number.value < 0:
            way = " better"
            number = number._replace(value=-number.value, low=-number.high, high=-number.low)
        sign = f" (positive is{way})"
    interval = interval_text(number, unit)
    more = f", {interval} at {_percent(1 - verdict.confidence)}{sign}" if interval else ""
    return f"{with_unit(number.value, unit)}{way}{more}"


def details(verdict: Verdict) -> str:
    """Before and now, clusters, documents. Empty for a cap, whose reason has them."""
    change, run, number = verdict.change, verdict.run, verdict.number
    if verdict.rule.condition == UNUSABLE:
        return ""
    parts = []
    if change and not isnan(change.first + change.second):
        before, now = (number_text(value, verdict.unit) for value in change[:2])
        parts.append(f"{before} before, {now} now")
    if number.clusters is not None:
        parts.append(f"{number.clusters:,} clusters")
    if number.n is not None:
        parts.append(f"n = {number.n:,}")
    if run and run.n:
        total = f" of {run.of:,}" if run.of not in (None, run.n) else ""
        parts.append(f"{run.n:,}{total} documents")
    return ", ".join(parts)


def counted(verdicts: Sequence[Verdict]) -> str:
    kinds = [verdict.verdict for verdict in verdicts]
    return ", ".join(f"{kinds.count(k)} {_COUNTED[k]}" for k in VERDICTS if k in kinds)


def page(judged: Judged, rules: Rules, remarks: Mapping[str, Sequence[str]], status: int) -> Page:
    """The verdicts of each model, worst first."""
    verdicts = [verdict for of_model in judged.values() for verdict in of_model]
    worst = overall(verdicts)
    models = f" for {len(judged)} models" if len(judged) > 1 else ""
    summary = f"gate: {worst}{models}: {counted(verdicts)}; exit status {status}"
    return Page(
        f"Bias gate: {worst}",
        [summary, f"Rules: {rules.file}"],
        [
            Section(f"{model}: {overall(verdicts)} ({counted(verdicts)})", [_table(verdicts)])
            for model, verdicts in judged.items()
        ],
        remarks,
        method(rules),
        [],
    )


def _ordered(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda verdict: VERDICTS.index(verdict.verdict))


def _name(verdict: Verdict) -> str:
    return f"{verdict.task} {subject(verdict)}".removeprefix(f"{EVERY} ")


def _in_line(lines: str) -> str:
    return lines.replace("\n", "; ")


def brief(shown: Page, judged: Judged) -> Page:
    """A line for each verdict, without values, settings and method."""
    lines = []
    for section, verdicts in zip(shown.sections, judged.values(), strict=True):
        lines.append(section.title)
        for v in _ordered(verdicts):
            todo, *moved = v.todo.split("\n")
            lines.append("  " + joined(": ", v.verdict, _name(v), v.reason, todo))
            lines += [f"    {line}" for line in moved]
    return shown._replace(lead=[*shown.lead, *lines], sections=[], remarks={}, legend=[])


def _table(verdicts: Sequence[Verdict]) -> Table:
    rows = [
        [
            Cell(_name(verdict)),
            Cell(verdict.verdict),
            Cell(condition(verdict)),
            Cell(numbers(verdict)),
            Cell(verdict.reason, details(verdict), verdict.todo and f"-> {_in_line(verdict.todo)}"),
        ]
        for verdict in _ordered(verdicts)
    ]
    head = ("number", "verdict", "rule", "value", "what it means, and what to do")
    return Table([Cell(title) for title in head], rows, {0, 1, 2, 4})


# ---- GitHub


def annotation_lines(judged: Judged) -> list[str]:
    """GitHub's commands: errors for failed rules, warnings for inconclusive ones."""
    lines = []
    for model, verdicts in judged.items():
        for verdict in _ordered(verdicts):
            if verdict.verdict != PASS:
                kind = "error" if verdict.verdict in (FAIL, ERROR) else "warning"
                name = f"{model}, {_name(verdict)}"
                title = _escaped(f"bias gate {verdict.verdict}: {name}")
                title = title.replace(":", "%3A").replace(",", "%2C")
                rule = joined(": ", condition(verdict), numbers(verdict))
                message = _escaped(". ".join([rule, verdict.reason, _in_line(verdict.todo)]))
                lines.append(f"::{kind} title={title}::{message}")
    return lines


def _escaped(text: str) -> str:
    """As GitHub's toolkit escapes a command's message, which has one line."""
    return harmless(visible(text)).replace("%", "%25")
