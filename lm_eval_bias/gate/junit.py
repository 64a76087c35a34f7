"""Verdicts as JUnit XML: a suite for each model and task, a case for each rule.

It keeps what the schemas of Ant (windyroad/JUnit-Schema) and of Jenkins' xUnit plugin have in
common.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import datetime

from lm_eval_bias.gate.page import WORDS, numbers
from lm_eval_bias.gate.verdicts import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    Judged,
    Verdict,
    condition,
    subject,
)
from lm_eval_bias.results.escape import visible

_ELEMENTS = {FAIL: "failure", ERROR: "error", INCONCLUSIVE: "skipped"}


def junit(judged: Sequence[Judged], when: datetime) -> str:
    """The document. when: written without a zone, as in Ant's schema."""
    root = ET.Element("testsuites")
    for one in judged:
        for task in dict.fromkeys(verdict.task for verdict in one.verdicts):
            verdicts = [verdict for verdict in one.verdicts if verdict.task == task]
            _suite(root, one.model, task, verdicts, when)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(
    root: ET.Element, model: str, task: str, verdicts: Sequence[Verdict], when: datetime
) -> None:
    failures, errors, skipped = (
        str(sum(verdict.verdict == outcome for verdict in verdicts)) for outcome in _ELEMENTS
    )
    suite = ET.SubElement(
        root,
        "testsuite",
        id=str(len(root)),
        name=f"{model}: {task}",
        package=model,
        hostname="localhost",
        timestamp=when.replace(tzinfo=None).isoformat(timespec="seconds"),
        tests=str(len(verdicts)),
        failures=failures,
        errors=errors,
        skipped=skipped,
        time="0",
    )
    ET.SubElement(suite, "properties")
    lines = []
    for verdict in verdicts:
        name = f"{subject(verdict)} {condition(verdict.rule, verdict.metric)}"
        case = ET.SubElement(suite, "testcase", name=name, classname=f"{model}: {task}", time="0")
        message = ". ".join(part for part in (numbers(verdict), verdict.reason) if part)
        if verdict.verdict in _ELEMENTS:
            element = ET.SubElement(case, _ELEMENTS[verdict.verdict], message=visible(message))
            if verdict.verdict != INCONCLUSIVE:
                element.set("type", "violated" if verdict.verdict == FAIL else "not judged")
            element.text = visible(verdict.todo)
        lines.append(visible(f"{WORDS[verdict.verdict]}: {name}: {message}"))
    ET.SubElement(suite, "system-out").text = "\n".join(lines)
    ET.SubElement(suite, "system-err")
