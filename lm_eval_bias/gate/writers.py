"""Verdicts for people: in a terminal, in the summary of a GitHub job, and as its annotations."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from math import floor, isfinite, isnan, log10, nan
from typing import NamedTuple

from lm_eval_bias.gate.rules import UNUSABLE, WITHIN, WORSE, Rules
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
    with_unit,
)
from lm_eval_bias.measure import Number
from lm_eval_bias.results.escape import markdown_cell, markdown_text, shortened, visible
from lm_eval_bias.results.table import interval_text, number_text

WORDS = {PASS: "pass", FAIL: "FAIL", INCONCLUSIVE: "inconclusive", ERROR: "ERROR"}
_CELLS = 25
"""Characters of a bar."""
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
    of = f"{alpha} of 100 {'runs' if nights == 1 else f'series of {nights:,} runs'}"
    n = max((one.family for one in judged), default=0)
    return [
        "A rule fails only if the whole interval breaks it, and passes only if the whole interval "
        f"keeps it. Intervals are of {percent(1 - rules.alpha)} % before Holm's adjustment, "
        f"which counts the {n} rule{'s' * (n != 1)} on numbers of each model by itself; beside "
        "each stands the confidence at which Holm decided. Of a model that keeps its rules, at "
        f"most {of} have a false FAIL anywhere; of a model that breaks them, at most {of} have a "
        "false pass, as far as the intervals cover what they should "
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
    unit = verdict.metric.unit if verdict.metric else ""
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
    unit = verdict.metric.unit if verdict.metric else ""
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
        n, of = verdict.n_documents, verdict.of_documents
        parts.append(f"{n:,}{f' of {of:,}' if of not in (None, n) else ''} documents")
    return ", ".join(parts)


def _rule(verdict: Verdict) -> str:
    return f"{subject(verdict)}, {condition(verdict.rule, verdict.metric)}"


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


def remarks(context: Context) -> dict[str, list[str]]:
    lists = {
        "Settings of the runs": [
            f"{shortened(model)}, {shortened(task)}: {shortened(settings, 300)}"
            for (model, task), settings in context.settings.items()
        ],
        "Read these with care": [shortened(line, 300) for line in context.warnings],
        "Notes": [shortened(line, 1000) for line in context.notes],
    }
    return {title: lines for title, lines in lists.items() if lines}


# ---- Terminal


def text(judged: Sequence[Judged], rules: Rules, context: Context, width: int) -> str:
    """Everything; the summary is the last line."""
    lines = [f"rules: {shortened(rules.file, 300)}", ""]
    deep = " " * 16
    for one in judged:
        lines += [f"{shortened(one.model)}: {WORDS[one.verdict]} ({counted(one.verdicts)})", ""]
        for verdict in ordered(one):
            number = numbers(verdict)
            head = f"{WORDS[verdict.verdict]:12}  {shortened(verdict.task)} {_rule(verdict)}"
            lines += _wrapped(f"{head}{': ' * bool(number)}{number}", width, "  ", deep)
            about = [part for part in (details(verdict), f"line {verdict.rule.line}") if part]
            lines += _wrapped(f"{verdict.reason} ({'; '.join(about)})", width, deep, deep)
            if verdict.todo:
                lines += _wrapped(f"-> {verdict.todo}", width, deep, deep + "   ")
        lines.append("")
    for title, remark in remarks(context).items():
        lines.append(title)
        for line in remark:
            lines += _wrapped(line, width, "  ", "    ")
        lines.append("")
    for line in method(rules, judged):
        lines += _wrapped(line, width)
    return "\n".join(harmless(line) for line in [*lines, "", summary_line(judged, context.status)])


def _wrapped(line: str, width: int, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        visible(line).strip(),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def harmless(line: str) -> str:
    """A line of a log that starts no command of GitHub (`::`, `##[`) or Azure (`##vso[`)."""
    line = line.replace("##[", "## [").replace("##vso[", "## vso[")
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


# ---- GitHub


def markdown(judged: Sequence[Judged], rules: Rules, context: Context) -> str:
    """For $GITHUB_STEP_SUMMARY."""
    worst = overall([one.verdict for one in judged])
    lines = [f"## Bias gate: {WORDS[worst]}", "", summary_line(judged, context.status), ""]
    for one in judged:
        lines += [
            f"### {markdown_cell(one.model)}: {WORDS[one.verdict]}",
            "",
            "| verdict | rule | number | | what it means, and what to do |",
            "| --- | --- | --- | --- | --- |",
        ]
        for verdict in ordered(one):
            word = WORDS[verdict.verdict]
            cells = [
                word if verdict.verdict == PASS else f"**{word}**",
                _cell(verdict.task, f"{_rule(verdict)}, line {verdict.rule.line}"),
                _cell(numbers(verdict), details(verdict)),
                bar(verdict),
                _cell(verdict.reason, verdict.todo),
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    sections = {**remarks(context), "How it was judged": method(rules, judged)}
    for title, remark in sections.items():
        lines += [f"<details><summary>{title}</summary>", ""]
        lines += [*(f"- {_cell(line)}" for line in remark), "", "</details>", ""]
    return "\n".join(lines[:-1]) + "\n"


def bar(verdict: Verdict) -> str:
    """A number ● with its interval ━ and the bounds │ of its rule, in a line of text."""
    rule, null = verdict.rule, (verdict.metric.null_value or 0.0) if verdict.metric else 0.0
    bounds = [rule.bound]
    if rule.condition == WITHIN:
        bounds = [null - rule.bound, null + rule.bound]
    points = [verdict.low, verdict.value, verdict.high, *bounds]
    if rule.condition == UNUSABLE or not all(map(isfinite, points)):
        return ""
    least, most = min(points), max(points)
    if not least < most:
        return ""

    def at(value: float) -> int:
        return round((_CELLS - 1) * (value - least) / (most - least))

    cells = ["·"] * _CELLS
    cells[at(verdict.low) : at(verdict.high) + 1] = "━" * (at(verdict.high) - at(verdict.low) + 1)
    for bound in bounds:
        cells[at(bound)] = "│"
    cells[at(verdict.value)] = "●"
    return "".join(cells)


def _cell(*parts: str) -> str:
    return "<br>".join(markdown_text(part) for part in parts if part)


def annotation_lines(judged: Sequence[Judged]) -> list[str]:
    """GitHub's commands for the rules that did not pass: errors, and warnings of inconclusive
    ones."""
    lines = []
    for one in judged:
        for verdict in ordered(one):
            if verdict.verdict != PASS:
                kind = "warning" if verdict.verdict == INCONCLUSIVE else "error"
                model, task = shortened(one.model, 60), shortened(verdict.task, 60)
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
