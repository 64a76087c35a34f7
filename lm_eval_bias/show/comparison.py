"""The page of a comparison of two runs."""

from collections.abc import Callable
from functools import partial
from typing import Any

from lm_eval_bias.exhibit import Column, intervals
from lm_eval_bias.measure import Number, estimate
from lm_eval_bias.results.changed import Changed, changed
from lm_eval_bias.results.comparison import LEGEND, ComparedNumber, Comparison
from lm_eval_bias.results.leaderboard import about, declared
from lm_eval_bias.results.table import Cell, Table, interval_text, number_cell, number_text
from lm_eval_bias.results.verdict import UNKNOWN, YES, counts
from lm_eval_bias.show import page_figures
from lm_eval_bias.show.page import Fold, Page, Section

DRAWN, SHOWN, ANSWER = 25, 6, 600
"""Differences in a figure; answers to a question, and characters of each."""


def page(comparison: Comparison) -> Page:
    texts = {row.metric.name: row.metric.description for row in comparison.rows}
    sections = [
        Section(
            "Differences",
            [_differences(comparison)],
            _figures(comparison),
            about={name: text for name, text in texts.items() if text},
        ),
        Section(
            "The answers that changed",
            lead="Of each task up to ten questions that the two answer most differently: half the "
            "sum of the differences between the shares of their answers.",
            folds=[
                _changed(task, questions)
                for task, pair in comparison.pairs.items()
                if (questions := changed(pair.one.samples, pair.two.samples))
            ],
        ),
    ]
    first, second = comparison.names
    return Page(
        "Comparison",
        [f"First: {first}. Second: {second}.", f"{summary(comparison)}."],
        [section for section in sections if section.folds or (section.tables and comparison.rows)],
        {
            "Not compared": [f"{task}: {why}" for task, why in comparison.refusals.items()],
            "Read these with care": comparison.warnings,
            "Notes": comparison.notes,
        },
        LEGEND,
        _rows(comparison),
    )


def summary(comparison: Comparison) -> str:
    different = sum(row.verdict.kind == YES for row in comparison.rows)
    compared, refused = len(comparison.pairs), len(comparison.refusals)
    tests = (
        f"{different} of {comparison.tests} numbers differ after Holm"
        if comparison.tests
        else "no number could be tested"
    )
    tasks = f"{compared} task{'s' * (compared != 1)} compared"
    return f"{tests}; {tasks}" + (f", {refused} refused" if refused else "")


def _differences(comparison: Comparison) -> Table:
    titles = ("number", "first", "second", "change", "p", "verdict")
    rows = []
    for row in comparison.rows:
        difference, unit = row.difference, row.metric.unit
        both = [
            number_cell(Number(number.value, n=number.n), unit, "; ".join(filter(None, notes)))
            for (number, *notes) in _both(row)
        ]
        text = number_text(difference.difference, unit)
        signed = f"+{text}" if difference.difference > 0 and text.strip("0.,") else text
        change = Cell(signed, interval_text(difference.number, unit), value=difference.difference)
        verdict = Cell(row.verdict.sentence, note=row.besides)
        name = Cell(f"{row.task}/{row.name}", note=about(row.metric))
        rows.append([name, *both, change, Cell(number_text(row.p, "p"), value=row.p), verdict])
    title = "Largest first, in standard errors; p after Holm"
    return Table([Cell(title) for title in titles], rows, frozenset({0, 5}), title)


def _both(row: ComparedNumber) -> list[tuple[Number, str, str]]:
    """Of each run its number, what that says, and its range."""
    return [(number, own, text) for (number, text), own in zip(row.numbers, row.own, strict=True)]


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """A flat row for each number, and one for each task that is not compared."""
    models = dict(zip(("first", "second"), comparison.names, strict=True))
    rows = [models | _row(comparison, row) for row in comparison.rows]
    return rows + [{**models, "task": t, "refused": why} for t, why in comparison.refusals.items()]


def _row(comparison: Comparison, row: ComparedNumber) -> dict[str, Any]:
    difference, kind = row.difference, row.verdict.kind
    both: dict[str, Any] = {}
    for which, (number, own, text) in zip(("first", "second"), _both(row), strict=True):
        both[f"{which}_value"], both[f"{which}_n"] = number.value, number.n
        both[f"{which}_verdict"], both[f"{which}_range"] = own or None, text or None
    return {
        "task": row.task,
        **declared(row.metric),
        "group": row.group,
        **both,
        **{
            part: getattr(difference, part) for part in ("difference", "stderr", "low", "high", "p")
        },
        "test": difference.test or None,
        "p_holm": row.p,
        "tests": comparison.tests,
        "clusters": difference.clusters,
        "documents": len(comparison.pairs[row.task].documents),
        "verdict": kind,
        "towards": row.verdict.sentence.partition(" (")[0] if kind == YES else None,
        "why": difference.why or None,
        "besides_the_model": row.besides or None,
    }


def _figures(comparison: Comparison) -> list[Callable[[], str]]:
    """The differences of each unit with their intervals, the largest first."""
    units: dict[str, list[dict[str, Any]]] = {}
    for row in comparison.rows:
        if row.verdict.kind != UNKNOWN:
            unit = "points" if row.metric.unit == "%" else row.metric.unit
            units.setdefault(unit, []).append(
                {
                    "task": row.task,
                    "number": f"{row.name}, {row.task}",
                    "verdict": row.verdict.kind,
                    "p": f"p {number_text(row.p, 'p')}",
                    **estimate("difference", row.difference.number),
                }
            )
    how = intervals("difference", "number", reference=0)._replace(label="p", null="no difference")
    first, second = comparison.names
    return [
        partial(
            page_figures.figure,
            how,
            rows[:DRAWN],
            (Column("difference", "Second less first", unit),),
            name=f"d{i}",
            title=(f"The {DRAWN} largest of {len(rows)}. " if len(rows) > DRAWN else "")
            + "Largest in standard errors first; p after Holm",
            seen=f"Do numbers in {unit} differ? {counts([row['verdict'] for row in rows])}",
            source=page_figures.source(
                [
                    run
                    for task in {row["task"]: None for row in rows[:DRAWN]}
                    for pair in [comparison.pairs[task]]
                    for run in (
                        pair.one._replace(model=f"first {first}"),
                        pair.two._replace(model=f"second {second}"),
                    )
                ]
            ),
        )
        for i, (unit, rows) in enumerate(units.items())
    ]


def _changed(task: str, questions: list[Changed]) -> Fold:
    n = len(questions)
    return Fold(
        f"{task}: {n} question{'s' * (n != 1)}, the first with a distance of "
        f"{100 * questions[0].distance:.0f} of 100",
        [
            (
                f"{i}. Question {question.asked.number}, distance {100 * question.distance:.0f}",
                [turn.prompt for turn in question.asked.turns],
                _answers(question),
            )
            for i, question in enumerate(questions, 1)
        ],
    )


def _answers(question: Changed) -> list[Table]:
    """How both models answer, turn by turn, the likeliest answers of either first."""
    tables = []
    for both in question.answers:
        texts = {**both[0], **both[1]}
        shown = sorted(texts, key=lambda text: -max(shares.get(text, 0) for shares in both))[:SHOWN]
        head = [Cell("answer"), Cell("first", note="%"), Cell("second", note="%")]
        rows = [
            [
                Cell(text[:ANSWER]),
                *(Cell(number_text(100 * shares.get(text, 0), "%")) for shares in both),
            ]
            for text in shown
        ]
        tables.append(Table(head, rows, title="Answers of both"))
    return tables
