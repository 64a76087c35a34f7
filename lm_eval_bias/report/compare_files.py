"""A comparison of two runs as text, and as a file: HTML, Markdown, CSV or JSON lines."""

import json
from typing import Any

from lm_eval_bias.exhibit import Column, intervals
from lm_eval_bias.measure import Number, estimate
from lm_eval_bias.report import drawn
from lm_eval_bias.report.compare import LEGEND, ComparedNumber, Comparison
from lm_eval_bias.report.html import page
from lm_eval_bias.report.leaderboard import direction, goal
from lm_eval_bias.results import table
from lm_eval_bias.results.changed import Changed, changed
from lm_eval_bias.results.escape import markdown_text, shortened
from lm_eval_bias.results.table import Cell, Table, csv_text, finite, interval_text, number_text
from lm_eval_bias.results.verdict import YES, counts

DRAWN, SHOWN, ANSWER = 25, 6, 600
"""Differences in a figure; answers to a question, and characters of each."""


def differences(comparison: Comparison, tested: bool = False) -> Table:
    """A row for each number. tested: only those that have a test."""
    titles = ("number", "first", "second", "change", "p", "verdict")
    rows = [
        [
            Cell(
                f"{shortened(row.task)}/{shortened(row.name)}",
                note=", ".join(part for part in (row.metric.unit, goal(row.metric)) if part),
            ),
            *(
                Cell(
                    number_text(value, row.metric.unit),
                    note="; ".join(part for part in (f"n = {n:,}", own, of_range) if part),
                )
                for value, n, own, of_range in zip(
                    row.difference[:2], row.sizes, row.own, row.ranges, strict=True
                )
            ),
            change(row),
            Cell(number_text(row.p, "p")),
            Cell(row.verdict.sentence, note=row.besides),
        ]
        for row in comparison.rows
        if not (tested and row.why)
    ]
    return Table([Cell(title) for title in titles], rows, frozenset({0, 5}))


def change(row: ComparedNumber) -> Cell:
    of, unit = row.difference, row.metric.unit
    text = number_text(of.difference, unit)
    signed = f"+{text}" if of.difference > 0 and text.strip("0.,") else text
    return Cell(signed, interval_text(Number(*of[2:6]), unit))


def summary(comparison: Comparison) -> str:
    different = sum(row.verdict.kind == YES for row in comparison.rows)
    compared, refused = len(comparison.documents), len(comparison.refusals)
    tests = (
        f"{different} of {comparison.tests} numbers differ after Holm"
        if comparison.tests
        else "no number could be tested"
    )
    tasks = f"{compared} task{'s' * (compared != 1)} compared"
    return f"{tests}; {tasks}" + (f", {refused} refused" if refused else "")


def remarks(comparison: Comparison) -> dict[str, list[str]]:
    lines = {
        "Not compared": [
            f"{shortened(task)}: {shortened(why, 600)}" for task, why in comparison.refusals.items()
        ],
        "Read these with care": [
            f"{shortened(model)}, {shortened(task)}: {shortened(warning, 300)}"
            for model, task, warning in comparison.warnings
        ],
        "Notes": [shortened(note, 1000) for note in comparison.notes],
    }
    return {title: of for title, of in lines.items() if of}


def text(comparison: Comparison, width: int) -> list[list[str]]:
    """Blocks of lines for a terminal. Numbers without a test stand below the table."""
    names = zip(("first: ", "second:"), (comparison.first, comparison.second), strict=True)
    blocks = [[f"{which} {shortened(model, width - 10)}" for which, model in names]]
    blocks.append([summary(comparison)])
    if any(not row.why for row in comparison.rows):
        blocks.append([table.text(differences(comparison, tested=True), width)])
    return blocks


def untested(comparison: Comparison) -> list[str]:
    """The numbers that have no test, by task and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in comparison.rows:
        if row.why:
            first, second = (number_text(n, row.metric.unit) for n in row.difference[:2])
            values = f"{first} → {second}"
            why = "; ".join(filter(None, (row.why, row.besides)))
            groups.setdefault((row.task, why), []).append(f"{shortened(row.name, 40)} {values}")
    return [
        f"{shortened(task)}: {', '.join(numbers)} ({why})"
        for (task, why), numbers in groups.items()
    ]


def markdown(comparison: Comparison) -> str:
    names = " and ".join(map(markdown_text, (comparison.first, comparison.second)))
    lines = ["# Comparison", "", f"{names}: {markdown_text(summary(comparison))}.", ""]
    lines += table.markdown(differences(comparison))
    return "\n".join([*lines, *table.markdown_end(remarks(comparison), LEGEND)])


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """A flat row for each number, and one for each task that is not compared."""
    models = {"first": comparison.first, "second": comparison.second}
    rows = []
    for row in comparison.rows:
        of = row.difference
        rows.append(
            {
                **models,
                "task": row.task,
                "metric": row.metric.name,
                "group": row.group,
                "unit": row.metric.unit,
                "better": direction(row.metric),
                "null_value": row.metric.null_value,
                "first_value": finite(of.first),
                "second_value": finite(of.second),
                "first_n": row.sizes[0] if row.sizes else None,
                "second_n": row.sizes[1] if row.sizes else None,
                **{
                    part: finite(getattr(of, part))
                    for part in ("difference", "stderr", "low", "high", "p")
                },
                "test": of.test or None,
                "p_holm": finite(row.p),
                "tests": comparison.tests,
                "clusters": of.clusters,
                "documents": comparison.documents[row.task],
                "verdict": row.verdict.kind,
                "towards": row.verdict.sentence.partition(" (")[0]
                if row.verdict.kind == YES
                else None,
                "first_verdict": row.own[0] or None,
                "second_verdict": row.own[1] or None,
                "why": row.why or None,
                "besides_the_model": row.besides or None,
                "first_range": row.ranges[0] or None,
                "second_range": row.ranges[1] or None,
            }
        )
    rows += [{**models, "task": task, "refused": why} for task, why in comparison.refusals.items()]
    return rows


def jsonl(comparison: Comparison) -> str:
    """What does not exist is null."""
    return "".join(f"{json.dumps(row, allow_nan=False)}\n" for row in _rows(comparison))


def csv_table(comparison: Comparison) -> str:
    rows = _rows(comparison)
    keys = [*dict.fromkeys(key for row in rows for key in row if key != "refused"), "refused"]
    return csv_text(keys, ([row.get(key) for key in keys] for row in rows))


def _figures(comparison: Comparison) -> list[str]:
    """The differences of each unit with their intervals, the largest first."""
    units: dict[str, list[dict[str, Any]]] = {}
    for row in comparison.rows:
        if not row.why:
            unit = "points" if row.metric.unit == "%" else row.metric.unit
            units.setdefault(unit, []).append(
                {
                    "task": row.task,
                    "number": f"{row.name}, {row.task}",
                    "verdict": row.verdict.kind,
                    "p": f"p {number_text(row.p, 'p')}",
                    **estimate("difference", Number(*row.difference[2:6])),
                }
            )
    how = intervals("difference", "number", reference=0)._replace(label="p", null="no difference")
    names = (("first", comparison.first), ("second", comparison.second))
    return [
        drawn.figure(
            how,
            rows[:DRAWN],
            (Column("difference", "Second less first", unit),),
            name=f"d{i}",
            title=(f"The {DRAWN} largest of {len(rows)}. " if len(rows) > DRAWN else "")
            + "Largest in standard errors first; p after Holm",
            seen=f"Do numbers in {unit} differ? {counts([row['verdict'] for row in rows])}",
            source=drawn.source(
                [
                    run._replace(model=f"{which} {model}")
                    for task in {row["task"]: None for row in rows[:DRAWN]}
                    for (which, model), run in zip(names, comparison.runs[task], strict=True)
                ]
            ),
        )
        for i, (unit, rows) in enumerate(units.items())
    ]


def _answers(of: Changed) -> list[Table]:
    """How both models answer, turn by turn, the likeliest answers of either first."""
    return [
        Table(
            [Cell("answer"), Cell("first", note="%"), Cell("second", note="%")],
            [
                [Cell(text[:ANSWER]), *(Cell(_percent(of.get(text, 0))) for of in both)]
                for text in sorted(
                    {**both[0], **both[1]}, key=lambda text: -max(of.get(text, 0) for of in both)
                )[:SHOWN]
            ],
        )
        for both in of.answers
    ]


def _percent(share: float) -> str:
    return "<0.1" if 0 < share < 0.001 else f"{100 * share:.1f}"


def html(comparison: Comparison) -> str:
    descriptions = {
        row.metric.name: row.metric.description for row in comparison.rows if row.metric.description
    }
    return page(
        "compare.html",
        comparison=comparison,
        differences=differences(comparison),
        summary=summary(comparison),
        descriptions=descriptions,
        figures=_figures(comparison) if drawn.installed() else None,
        missing=drawn.MISSING,
        changed={
            task: changed(*(run.samples for run in both)) for task, both in comparison.runs.items()
        },
        answers=_answers,
        legend=LEGEND,
        remarks=remarks(comparison),
    )


WRITERS = {".html": html, ".md": markdown, ".csv": csv_table, ".jsonl": jsonl}
"""By the ending of the file."""
