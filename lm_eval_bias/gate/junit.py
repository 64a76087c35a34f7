"""Verdicts as JUnit XML: a suite for each model and task, a case for each rule.

It uses what the schemas of Ant (windyroad/JUnit-Schema) and of Jenkins' xUnit plugin share.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from datetime import datetime

from lm_eval_bias.gate.page import numbers
from lm_eval_bias.gate.verdicts import ERROR, FAIL, INCONCLUSIVE, Judged, condition, subject
from lm_eval_bias.results.escape import visible

_ELEMENTS = {FAIL: "failure", ERROR: "error", INCONCLUSIVE: "skipped"}
_TYPES = {FAIL: {"type": "violated"}, ERROR: {"type": "not judged"}}


def junit(judged: Judged, when: datetime) -> str:
    """when: written without a zone, as in Ant's schema."""
    root = ET.Element("testsuites")
    time = when.replace(tzinfo=None).isoformat(timespec="seconds")
    for model, task in dict.fromkeys((m, v.task) for m, all_of in judged.items() for v in all_of):
        verdicts = [verdict for verdict in judged[model] if verdict.task == task]
        counts = Counter(verdict.verdict for verdict in verdicts)
        suite = ET.SubElement(
            root,
            "testsuite",
            id=str(len(root)),
            name=f"{model}: {task}",
            package=model,
            hostname="localhost",
            timestamp=time,
            tests=str(len(verdicts)),
            failures=str(counts[FAIL]),
            errors=str(counts[ERROR]),
            skipped=str(counts[INCONCLUSIVE]),
            time="0",
        )
        ET.SubElement(suite, "properties")
        lines = []
        for verdict in verdicts:
            kind, name = verdict.verdict, f"{subject(verdict)} {condition(verdict)}"
            case = ET.SubElement(
                suite, "testcase", name=name, classname=f"{model}: {task}", time="0"
            )
            message = ". ".join(filter(None, (numbers(verdict), verdict.reason)))
            if kind in _ELEMENTS:
                facts = {"message": message, **_TYPES.get(kind, {})}
                ET.SubElement(case, _ELEMENTS[kind], facts).text = verdict.todo
            lines.append(f"{kind}: {name}: {message}")
        ET.SubElement(suite, "system-out").text = "\n".join(lines)
        ET.SubElement(suite, "system-err")
    ET.indent(root)
    # XML forbids characters that paths and messages may have
    written = ET.tostring(root, encoding="unicode").split("\n")
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *map(visible, written), ""])
