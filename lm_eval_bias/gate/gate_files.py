"""Verdicts as a person reads them: in a terminal, in the summary of a GitHub job, and as its
annotations."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import NamedTuple

from lm_eval_bias.gate.gate import (
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
from lm_eval_bias.gate.rules import UNUSABLE, WORSE, Rules
from lm_eval_bias.results.escape import markdown_cell, shortened, visible
from lm_eval_bias.results.table import number_text as written

WORDS = {PASS: "pass", FAIL: "FAIL", INCONCLUSIVE: "inconclusive", ERROR: "ERROR"}
WORST_FIRST = (FAIL, ERROR, INCONCLUSIVE, PASS)
SUMMARY_LIMIT = 1 << 20
"""Bytes that GitHub takes as a step's summary; more of them and none is shown."""
_CUT = "\n\nThe rest is left out: a summary has 1 MiB at most. The whole stands in the job's log.\n"


class Context(NamedTuple):
    """What stands beside the verdicts. asked: model and task -> how it was asked, in a line.
    warnings, notes: lines. status: the command's exit status."""

    asked: Mapping[tuple[str, str], str]
    warnings: Sequence[str]
    notes: Sequence[str]
    status: int


def method(rules: Rules, families: Sequence[int]) -> list[str]:
    """How the verdicts came about."""
    percent = f"{100 * rules.confidence:g} %"
    alpha = f"{100 * (1 - rules.confidence):.2g}"
    sizes = sorted(set(families))
    count = f"{sizes[-1]} rule{'s' * (sizes[-1] != 1)}" if sizes else "rules"
    return [
        "A rule fails only if the whole interval breaks it, and passes only if the whole interval keeps it. Intervals are of "
        f"{percent} before Holm's adjustment, which counts the {count} on numbers of each model by itself; beside each stands the "
        f"confidence at which Holm decided. Of a model that keeps its rules, {alpha} of 100 runs at most have a false FAIL anywhere, and "
        f"of one that breaks them {alpha} of 100 a false pass, as far as the intervals hold what they say (docs/statistics.md).",
        "Intervals of another confidence than 95 % are made from the task's own: each side times the ratio of Student's t, with one "
        "degree of freedom less than the number has clusters, or fewer. A cap counts this run's answers: it is no estimate and has no "
        "interval.",
        "Never a pass with fewer than ten clusters, no variance, NaN, a limit, or a rate of refusals or unusable answers over its cap.",
    ]


def numbers(verdict: Verdict) -> str:
    """The number with its interval and the confidence of that."""
    if verdict.rule.condition == UNUSABLE:
        return "" if isnan(verdict.value) else f"{written(verdict.value, '%')} %"
    unit = verdict.metric.unit if verdict.metric else ""
    if isnan(verdict.value):
        return ""
    if verdict.rule.condition == WORSE:
        unit = unit_of_difference(unit)
    found = f"{written(verdict.value, unit)} {unit}".rstrip()
    if verdict.rule.condition == WORSE:
        found = (
            f"{found} worse"
            if verdict.value >= 0
            else f"{written(-verdict.value, unit)} {unit}".rstrip() + " better"
        )
    if isnan(verdict.low) or isnan(verdict.high):
        return found
    interval = f"[{written(verdict.low, unit)}, {written(verdict.high, unit)}]"
    level = "" if isnan(verdict.confidence) else f" at {100 * verdict.confidence:.4g} %"
    worse = " (positive is worse)" if verdict.rule.condition == WORSE else ""
    return f"{found}, {interval}{level}{worse}"


def details(verdict: Verdict) -> str:
    """Before and now, clusters, documents. Nothing of a cap, whose reason says it."""
    if verdict.rule.condition == UNUSABLE:
        return ""
    unit = verdict.metric.unit if verdict.metric else ""
    said = []
    if not isnan(verdict.before) and not isnan(verdict.now):
        said.append(f"{written(verdict.before, unit)} before, {written(verdict.now, unit)} now")
    if verdict.clusters is not None:
        said.append(f"{verdict.clusters:,} clusters")
    if verdict.n:
        of = f" of {verdict.has:,}" if verdict.has is not None and verdict.has != verdict.n else ""
        said.append(f"{verdict.n:,}{of} documents")
    return ", ".join(said)


def counted(verdicts: Sequence[Verdict]) -> str:
    """ "2 failed, 1 inconclusive, 4 passed"."""
    names = {
        FAIL: "failed",
        ERROR: "not judged (error)",
        INCONCLUSIVE: "inconclusive",
        PASS: "passed",
    }
    counts = {name: sum(each.verdict == name for each in verdicts) for name in WORST_FIRST}
    return ", ".join(f"{n} {names[name]}" for name, n in counts.items() if n)


def summary_line(judged: Sequence[Judged], status: int) -> str:
    verdicts = [each for one in judged for each in one.verdicts]
    models = f" for {len(judged)} models" if len(judged) > 1 else ""
    word = WORDS[overall([one.verdict for one in judged])]
    return f"gate: {word}{models}: {counted(verdicts)}; exit status {status}"


def ordered(one: Judged) -> list[Verdict]:
    """The worst first, else as the rules have it."""
    return sorted(one.verdicts, key=lambda each: WORST_FIRST.index(each.verdict))


# ---- Terminal


def text(judged: Sequence[Judged], rules: Rules, context: Context, width: int) -> str:
    """All of it; the line that matters stands last, where a log is looked at first."""
    lines = [f"rules: {shortened(rules.file, 300)}", ""]
    for one in judged:
        lines += [f"{shortened(one.model)}: {WORDS[one.verdict]} ({counted(one.verdicts)})", ""]
        for each in ordered(one):
            head = f"  {WORDS[each.verdict]:12}  {shortened(each.task)} {subject(each)}, {condition(each.rule, each.metric)}"
            if found := numbers(each):
                head += f": {found}"
            lines += _wrapped(head, width, "  ", " " * 16)
            about = "; ".join(part for part in (details(each), f"line {each.rule.line}") if part)
            line = f"{each.reason} ({about})"
            lines += _wrapped(line, width, " " * 16, " " * 16)
            if each.todo:
                lines += _wrapped(f"-> {each.todo}", width, " " * 16, " " * 19)
        lines.append("")
    for title, said in remarks(context):
        lines += [
            title,
            *(line for each in said for line in _wrapped(each, width, "  ", "    ")),
            "",
        ]
    for said in method(rules, [one.family for one in judged]):
        lines += _wrapped(said, width, "", "")
    return "\n".join(harmless(line) for line in [*lines, "", summary_line(judged, context.status)])


def _wrapped(line: str, width: int, first: str, rest: str) -> list[str]:
    whole = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(
        visible(line).strip(), width, initial_indent=first, subsequent_indent=rest, **whole
    ) or [""]


def remarks(context: Context) -> Iterator[tuple[str, list[str]]]:
    """What stands below the verdicts: title, lines."""
    asked = [
        f"{shortened(model)}, {shortened(task)}: {shortened(said, 300)}"
        for (model, task), said in context.asked.items()
    ]
    found = {
        "How they were asked": asked,
        "Read these with care": [shortened(line, 300) for line in context.warnings],
        "Notes": [shortened(line, 1000) for line in context.notes],
    }
    yield from ((title, said) for title, said in found.items() if said)


def harmless(line: str) -> str:
    """A line of a log that starts no command of a CI: `::` at its beginning and `##[` anywhere are
    GitHub's, `##vso[` is Azure's."""
    line = line.replace("##[", "## [").replace("##vso[", "## vso[")
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


# ---- GitHub


def markdown(judged: Sequence[Judged], rules: Rules, context: Context) -> str:
    """For $GITHUB_STEP_SUMMARY."""
    lines = [
        f"## Bias gate: {WORDS[overall([one.verdict for one in judged])]}",
        "",
        summary_line(judged, context.status),
        "",
    ]
    for one in judged:
        lines += [f"### {markdown_cell(one.model)}: {WORDS[one.verdict]}", ""]
        lines += [
            "| verdict | rule | found | what it means, and what to do |",
            "| --- | --- | --- | --- |",
        ]
        for each in ordered(one):
            rule = f"{_cell(each.task)}<br>{_cell(subject(each))}, {_cell(condition(each.rule, each.metric))}"
            found = "<br>".join(_cell(part) for part in (numbers(each), details(each)) if part)
            means = "<br>".join(_cell(part) for part in (each.reason, each.todo) if part)
            word = f"**{WORDS[each.verdict]}**" if each.verdict != PASS else WORDS[PASS]
            lines.append(f"| {word} | {rule}, line {each.rule.line} | {found} | {means} |")
        lines.append("")
    for title, said in remarks(context):
        lines += [f"#### {title}", "", *(f"- {_cell(line)}" for line in said), ""]
    lines += [
        "#### How it was judged",
        "",
        *(f"- {_cell(line)}" for line in method(rules, [one.family for one in judged])),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Of any length: a note names files, whose paths may be long."""
    return " ".join(markdown_cell(word) for word in text.split(" "))


def append_summary(path: str, content: str) -> str:
    """Add to the summary of the step; returns a note where it could not be, or not whole."""
    try:
        there = os.path.getsize(path) if os.path.exists(path) else 0
        room = SUMMARY_LIMIT - there
        data = content.encode("utf-8")
        if len(data) > room:
            kept = data[: max(0, room - len(_CUT.encode()))].decode("utf-8", "ignore")
            data = (kept.rpartition("\n")[0] + _CUT).encode("utf-8") if kept else b""
        if data:
            with open(path, "ab") as file:
                file.write(data)
        return (
            ""
            if len(data) == len(content.encode("utf-8"))
            else f"the summary of the step is full: it was cut ({SUMMARY_LIMIT:,} bytes)"
        )
    except OSError as error:
        return f"cannot write GITHUB_STEP_SUMMARY {visible(path)}: {error.strerror or error}"


def annotations(judged: Sequence[Judged]) -> list[str]:
    """A line for each rule that is violated or could not be judged, in GitHub's form."""
    lines = []
    for one in judged:
        for each in ordered(one):
            if each.verdict in (FAIL, ERROR):
                title = f"bias gate {WORDS[each.verdict]}: {shortened(one.model, 60)}, {shortened(each.task, 60)} {subject(each)}"
                found = numbers(each)
                rule = condition(each.rule, each.metric) + (f": {found}" if found else "")
                message = ". ".join([rule, each.reason, each.todo])
                lines.append(f"::error title={_property(title)}::{_data(message)}")
    return lines


def _data(text: str) -> str:
    """As GitHub's toolkit escapes the message of a command."""
    return harmless(visible(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


assert set(WORDS) == set(VERDICTS) == set(WORST_FIRST)
