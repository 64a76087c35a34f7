"""A comparison of two runs as a file: HTML, Markdown, CSV or JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from math import isnan
from typing import Any

from lm_eval_bias.report.compare import LEGEND, LEVEL, Comparison, Line
from lm_eval_bias.report.html import environment, page
from lm_eval_bias.report.leaderboard import direction, goal, written
from lm_eval_bias.report.leaderboard_files import markdown_cell_of_any_length, number
from lm_eval_bias.results.escape import csv_cell, markdown_cell, shortened

# ---- What all share


def value(line: Line, which: float) -> str:
    """A number in the unit of its line."""
    return written(which, line.metric.unit)


def change(line: Line) -> str:
    """The difference, with its sign."""
    text = value(line, line.found.difference)
    return f"+{text}" if line.found.difference > 0 and text.strip("0.,") else text


def bounds(line: Line) -> str:
    """[low, high]; empty where there is none."""
    if isnan(line.found.low) or isnan(line.found.high):
        return ""
    return f"[{value(line, line.found.low)}, {value(line, line.found.high)}]"


def p_value(line: Line) -> str:
    """After Holm: 0.031, <0.001; a dash where no test was made."""
    return "–" if isnan(line.p) else "<0.001" if line.p < 0.001 else f"{line.p:.3f}"


def verdict(line: Line) -> str:
    """What a reader may say of it."""
    if line.why:
        return line.why
    said = line.towards if line.p <= LEVEL else "not told apart"
    return said if line.paired else f"{said} (unpaired)"


def about(line: Line) -> str:
    """Unit and goal."""
    return ", ".join(part for part in (line.metric.unit, goal(line.metric)) if part)


def primary(found: Comparison) -> str:
    """What came out, in one sentence."""
    apart = sum(line.p <= LEVEL for line in found.lines if not isnan(line.p))
    compared, refused = len(found.documents), len(found.refusals)
    tests = (
        f"{apart} of {found.tests} numbers differ after Holm"
        if found.tests
        else "no number could be tested"
    )
    tasks = f"{compared} task{'s' * (compared != 1)} compared"
    return f"{tests}; {tasks}" + (f", {refused} refused" if refused else "")


def remarks(found: Comparison) -> Iterator[tuple[str, list[str]]]:
    """What stands below the table: title, lines."""
    refused = [f"{shortened(each.task)}: {shortened(each.why, 600)}" for each in found.refusals]
    warnings = [
        f"{shortened(name)}, {shortened(task)}: {shortened(said, 300)}"
        for name, task, said in found.warnings
    ]
    said = {
        "Not compared": refused,
        "Read these with care": warnings,
        "Notes": [shortened(note, 1000) for note in found.notes],
    }
    yield from ((title, lines) for title, lines in said.items() if lines)


# ---- JSON lines and CSV: for programs


def _row(found: Comparison, line: Line) -> dict[str, Any]:
    each = line.found
    return {
        "first": found.first,
        "second": found.second,
        "task": line.task,
        "metric": line.metric.name,
        "group": line.group,
        "unit": line.metric.unit,
        "better": direction(line.metric),
        "null_value": line.metric.null_value,
        "first_value": number(each.first),
        "second_value": number(each.second),
        "difference": number(each.difference),
        "stderr": number(each.stderr),
        "low": number(each.low),
        "high": number(each.high),
        "p": number(each.p),
        "p_holm": number(line.p),
        "tests": found.tests,
        "paired": line.paired,
        "clusters": each.clusters,
        "documents": found.documents[line.task],
        "towards": line.towards or None,
        "why": line.why or None,
    }


def jsonl(found: Comparison) -> str:
    """A line for each number, and one for each task that is not compared; what does not exist is
    null."""
    rows = [_row(found, line) for line in found.lines]
    rows += [
        {"first": found.first, "second": found.second, "task": each.task, "refused": each.why}
        for each in found.refusals
    ]
    return "".join(f"{json.dumps(row, allow_nan=False)}\n" for row in rows)


def csv_table(found: Comparison) -> str:
    """A row for each number. Texts are quoted and start no formula; numbers are plain, and what
    does not exist is empty."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    columns = [
        *(_row(found, found.lines[0]) if found.lines else ("first", "second", "task")),
        "refused",
    ]
    writer.writerow(columns)
    rows = [{**_row(found, line), "refused": None} for line in found.lines]
    rows += [
        {"first": found.first, "second": found.second, "task": each.task, "refused": each.why}
        for each in found.refusals
    ]
    for row in rows:
        cells = [row.get(column) for column in columns]
        writer.writerow(
            [csv_cell(str(cell).lower() if isinstance(cell, bool) else cell) for cell in cells]
        )
    return file.getvalue()


# ---- Markdown


def markdown(found: Comparison) -> str:
    """One table, the largest difference first."""
    names = [markdown_cell(name) for name in (found.first, found.second)]
    lines = [
        "# Comparison",
        "",
        f"{names[0]} and {names[1]}: {markdown_cell_of_any_length(primary(found))}.",
        "",
    ]
    head = ["number", "task", "unit", *names, "second − first", "p (Holm)", "verdict"]
    lines += [f"| {' | '.join(head)} |", "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |"]
    for line in found.lines:
        cells = [markdown_cell(line.name), markdown_cell(line.task), markdown_cell(about(line))]
        cells += [
            value(line, line.found.first),
            value(line, line.found.second),
            f"{change(line)} {bounds(line)}".strip(),
        ]
        cells += [p_value(line).replace("<", "&lt;"), markdown_cell_of_any_length(verdict(line))]
        lines.append(f"| {' | '.join(cells)} |")
    for title, said in remarks(found):
        lines += [
            "",
            f"## {title}",
            "",
            *(f"- {markdown_cell_of_any_length(each)}" for each in said),
        ]
    lines += ["", "## How to read it", "", *(f"- {line}" for line in LEGEND)]
    return "\n".join(lines) + "\n"


# ---- HTML


def html(found: Comparison) -> str:
    """One page, without a script."""
    functions = {
        "value": value,
        "change": change,
        "bounds": bounds,
        "p_value": p_value,
        "verdict": verdict,
        "about": about,
    }
    said = list(
        dict.fromkeys(
            (line.metric.name, line.metric.description)
            for line in found.lines
            if line.metric.description
        )
    )
    return page(
        environment(),
        "compare.html",
        found=found,
        legend=LEGEND,
        remarks=list(remarks(found)),
        primary=primary(found),
        said=said,
        **functions,
    )


WRITERS = {".html": html, ".md": markdown, ".csv": csv_table, ".jsonl": jsonl}
"""By the ending of the file."""
