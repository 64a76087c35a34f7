"""Verdicts for people: as a page, and as annotations of a GitHub job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isnan, log10, nan
from typing import NamedTuple

from lm_eval_bias.gate.rules import UNUSABLE, WORSE, Rules
from lm_eval_bias.gate.verdicts import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    PASS,
    VERDICTS,
    Judged,
    Verdict,
    condition,
    overall,
    subject,
    unit_of_difference,
)
from lm_eval_bias.measure import Number
from lm_eval_bias.results.escape import harmless, visible
from lm_eval_bias.results.table import Cell, Table, interval_text, number_text, with_unit
from lm_eval_bias.show.page import Page, Section

WORDS = {PASS: "pass", FAIL: "FAIL", INCONCLUSIVE: "inconclusive", ERROR: "ERROR"}
_COUNTED = {
    FAIL: "failed",
    ERROR: "not judged (error)",
    INCONCLUSIVE: "inconclusive",
    PASS: "passed",
}


class Context(NamedTuple):
    """What is shown beside the verdicts. settings: (model, task) -> how it was run."""

    settings: Mapping[tuple[str, str], str]
    warnings: Sequence[str]
    notes: Sequence[str]
    status: int


def method(rules: Rules, judged: Sequence[Judged]) -> list[str]:
    alpha, nights = f"{100 * (1 - rules.confidence):.2g}", rules.nights
    share = f"{alpha} of 100 {'runs' if nights == 1 else f'series of {nights:,} runs'}"
    n = max((one.family for one in judged), default=0)
    return [
        "A rule fails only if the whole interval breaks it, and passes only if the whole interval "
        f"keeps it. Intervals are of {percent(1 - rules.alpha)} % before Holm's adjustment, "
        f"which counts the {n} rule{'s' * (n != 1)} on numbers of each model by itself; beside "
        "each stands the confidence at which Holm decided. Of a model that keeps its rules, at "
        f"most {share} have a false FAIL anywhere; of a model that breaks them, at most {share} "
        "have a false pass, as far as the intervals cover what they should "
        "(docs/explanation/statistics.md).",
        "An interval of another confidence than 95 % is made as the number's own; where the "
        "measure has a way of its own, each side times the ratio of Student's t, with at most one "
        "degree of freedom less than the number has clusters. A cap counts this run's answers: it "
        "is no estimate and has no interval.",
        "Nothing passes with fewer than ten clusters, no variance, NaN, a limit, or a rate of "
        "refusals or unusable answers over its cap.",
    ]


def percent(confidence: float) -> str:
    """Three digits of what is left to 100, and at least two places."""
    places = max(2, 2 - floor(log10(100 * (1 - confidence))))
    return f"{round(100 * confidence, places):.12g}"


def numbers(verdict: Verdict) -> str:
    if isnan(verdict.value):
        return ""
    unit = verdict.unit
    if verdict.rule.condition == UNUSABLE:
        return with_unit(verdict.value, "%")
    value, low, high, way = verdict.value, verdict.low, verdict.high, ""
    if verdict.rule.condition == WORSE:
        unit, way = unit_of_difference(unit), "worse"
        if value < 0:
            value, low, high, way = -value, -high, -low, "better"
    number = f"{with_unit(value, unit)} {way}".strip()
    if isnan(low) or isnan(high):
        return number
    interval = interval_text(Number(value, nan, low, high), unit)
    sign = f" (positive is {way})" if way else ""
    return f"{number}, {interval} at {percent(verdict.confidence)} %{sign}"


def details(verdict: Verdict) -> str:
    """Before and now, clusters, documents. Nothing for a cap, whose reason has them."""
    if verdict.rule.condition == UNUSABLE:
        return ""
    unit = verdict.unit
    parts = []
    if not isnan(verdict.before) and not isnan(verdict.now):
        parts.append(
            f"{number_text(verdict.before, unit)} before, {number_text(verdict.now, unit)} now"
        )
    if verdict.clusters is not None:
        parts.append(f"{verdict.clusters:,} clusters")
    if verdict.n is not None:
        parts.append(f"n = {verdict.n:,}")
    if verdict.n_documents:
        n, total = verdict.n_documents, verdict.of_documents
        parts.append(f"{n:,}{f' of {total:,}' if total not in (None, n) else ''} documents")
    return ", ".join(parts)


def counted(verdicts: Sequence[Verdict]) -> str:
    counts = {name: [v.verdict for v in verdicts].count(name) for name in VERDICTS}
    return ", ".join(f"{n} {_COUNTED[name]}" for name, n in counts.items() if n)


def summary_line(judged: Sequence[Judged], status: int) -> str:
    verdicts = [verdict for one in judged for verdict in one.verdicts]
    models = f" for {len(judged)} models" if len(judged) > 1 else ""
    word = WORDS[overall([one.verdict for one in judged])]
    return f"gate: {word}{models}: {counted(verdicts)}; exit status {status}"


def ordered(one: Judged) -> list[Verdict]:
    return sorted(one.verdicts, key=lambda verdict: VERDICTS.index(verdict.verdict))


def page(judged: Sequence[Judged], rules: Rules, context: Context) -> Page:
    """The verdicts of each model, the worst first."""
    remarks = {
        "Settings of the runs": [
            f"{model}, {task}: {settings}" for (model, task), settings in context.settings.items()
        ],
        "Read these with care": context.warnings,
        "Notes": context.notes,
    }
    worst = overall([one.verdict for one in judged])
    return Page(
        f"Bias gate: {WORDS[worst]}",
        [summary_line(judged, context.status), f"Rules: {rules.file}"],
        [
            Section(f"{one.model}: {WORDS[one.verdict]} ({counted(one.verdicts)})", [_table(one)])
            for one in judged
        ],
        remarks,
        method(rules, judged),
        [],
    )


def _table(one: Judged) -> Table:
    rows = [
        [
            Cell(f"{verdict.task} {subject(verdict)}"),
            Cell(WORDS[verdict.verdict]),
            Cell(condition(verdict.rule, verdict.metric)),
            Cell(numbers(verdict)),
            Cell(verdict.reason, details(verdict), verdict.todo and f"-> {verdict.todo}"),
        ]
        for verdict in ordered(one)
    ]
    head = ("number", "verdict", "rule", "value", "what it means, and what to do")
    return Table([Cell(title) for title in head], rows, frozenset({0, 1, 2, 4}))


# ---- GitHub


def annotation_lines(judged: Sequence[Judged]) -> list[str]:
    """GitHub's commands for the rules that did not pass: errors, and warnings of inconclusive
    ones."""
    lines = []
    for one in judged:
        for verdict in ordered(one):
            if verdict.verdict != PASS:
                kind = "warning" if verdict.verdict == INCONCLUSIVE else "error"
                model, task = one.model, verdict.task
                title = f"bias gate {WORDS[verdict.verdict]}: {model}, {task} {subject(verdict)}"
                number = numbers(verdict)
                rule = f"{condition(verdict.rule, verdict.metric)}{': ' * bool(number)}{number}"
                message = ". ".join([rule, verdict.reason, verdict.todo])
                escaped = _escaped(title).replace(":", "%3A").replace(",", "%2C")
                lines.append(f"::{kind} title={escaped}::{_escaped(message)}")
    return lines


def _escaped(text: str) -> str:
    """As GitHub's toolkit escapes the message of a command."""
    return harmless(visible(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
