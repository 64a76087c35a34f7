"""Verdicts as JUnit XML, which GitLab, Jenkins and the test reporters of GitHub read.

A suite for each model and task, a case for each rule: violated is a failure, not judged an error,
inconclusive skipped. There is no standard; this keeps what the schemas of Ant
(windyroad/JUnit-Schema) and of Jenkins' xUnit plugin have in common. In both, properties belong to
the suite, so that those of a case begin with its name.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import datetime
from math import isnan

from lm_eval_bias.gate.gate import ERROR, FAIL, INCONCLUSIVE, Judged, Verdict, condition, subject
from lm_eval_bias.gate.gate_files import WORDS, numbers
from lm_eval_bias.results.escape import shortened, visible

_ELEMENTS = {FAIL: "failure", ERROR: "error", INCONCLUSIVE: "skipped"}


def junit(judged: Sequence[Judged], when: datetime) -> str:
    """The document. when: written into each suite, to the second and without a zone, as Ant's
    schema has it."""
    root = ET.Element("testsuites")
    for one in judged:
        for task in dict.fromkeys(each.task for each in one.verdicts):
            _suite(
                root, one.model, task, [each for each in one.verdicts if each.task == task], when
            )
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _suite(
    root: ET.Element, model: str, task: str, verdicts: Sequence[Verdict], when: datetime
) -> None:
    counts = {name: sum(each.verdict == name for each in verdicts) for name in _ELEMENTS}
    suite = ET.SubElement(
        root,
        "testsuite",
        id=str(len(root)),
        name=f"{shortened(model)}: {shortened(task)}",
        package=shortened(model),
        hostname="localhost",
        timestamp=when.replace(tzinfo=None).isoformat(timespec="seconds"),
        tests=str(len(verdicts)),
        failures=str(counts[FAIL]),
        errors=str(counts[ERROR]),
        skipped=str(counts[INCONCLUSIVE]),
        time="0",
    )
    properties = ET.SubElement(suite, "properties")
    lines = []
    for each in verdicts:
        name = f"{subject(each)} {condition(each.rule, each.metric)}"
        for key, value in _properties(each).items():
            ET.SubElement(properties, "property", name=f"{name}: {key}", value=value)
        case = ET.SubElement(
            suite,
            "testcase",
            name=name,
            classname=f"{shortened(model)}: {shortened(task)}",
            time="0",
        )
        found = numbers(each)
        said = f"{found + '. ' if found else ''}{each.reason}"
        if each.verdict in _ELEMENTS:
            element = ET.SubElement(case, _ELEMENTS[each.verdict], message=visible(said))
            if each.verdict != INCONCLUSIVE:
                element.set("type", {FAIL: "violated", ERROR: "not judged"}[each.verdict])
            element.text = visible(each.todo)
        lines.append(visible(f"{WORDS[each.verdict]}: {name}: {said}"))
    ET.SubElement(suite, "system-out").text = "\n".join(lines)
    ET.SubElement(suite, "system-err")


def _properties(verdict: Verdict) -> dict[str, str]:
    """What exists of a verdict's numbers, in full."""
    of = {
        "verdict": verdict.verdict,
        "line": verdict.rule.line,
        "bound": verdict.rule.bound,
        "unit": verdict.metric.unit if verdict.metric else None,
        "value": verdict.value,
        "low": verdict.low,
        "high": verdict.high,
        "confidence": verdict.confidence,
        "adjusted p": verdict.p,
        "before": verdict.before,
        "now": verdict.now,
        "clusters": verdict.clusters,
        "documents": verdict.n,
        "documents of the task": verdict.has,
        "documents that would decide": verdict.needed,
    }
    return {
        key: str(value)
        for key, value in of.items()
        if value not in (None, "") and not (isinstance(value, float) and isnan(value))
    }
