"""The page of a comparison of two runs."""

from typing import Any

from lm_eval_bias.exhibit import Column, intervals
from lm_eval_bias.measure import Number, estimate
from lm_eval_bias.results.changed import Changed, changed
from lm_eval_bias.results.comparison import LEGEND, ComparedNumber, Comparison
from lm_eval_bias.results.leaderboard import direction, goal
from lm_eval_bias.results.table import Cell, Table, interval_text, number_cell, number_text
from lm_eval_bias.results.verdict import UNKNOWN, YES, counts
from lm_eval_bias.show import page_figures
from lm_eval_bias.show.page import Fold, Page, Section

DRAWN, SHOWN, ANSWER = 25, 6, 600
"""Differences in a figure; answers to a question, and characters of each."""


def page(comparison: Comparison, draws: bool = True) -> Page:
    """draws: with figures."""
    about = {row.metric.name: row.metric.description for row in comparison.rows}
    sections = [
        Section(
            "Differences",
            [_differences(comparison)],
            _figures(comparison) if draws else (),
            about={name: text for name, text in about.items() if text},
        ),
        Section(
            "The answers that changed",
            lead="Of each task up to ten questions that the two answer most differently: half the "
            "sum of the differences between the shares of their answers.",
            folds=[
                _changed(task, of)
                for task, (one, two) in comparison.runs.items()
                if (of := changed(one.samples, two.samples))
            ],
        ),
    ]
    lead = [f"First: {comparison.first}. Second: {comparison.second}.", f"{summary(comparison)}."]
    remarks = {
        "Not compared": [f"{task}: {why}" for task, why in comparison.refusals.items()],
        "Read these with care": [": ".join((f"{m}, {t}", w)) for m, t, w in comparison.warnings],
        "Notes": comparison.notes,
    }
    return Page(
        "Comparison",
        [*lead, *(page_figures.missing() if draws else ())],
        [of for of in sections if of.folds or (of.tables and comparison.rows)],
        remarks,
        LEGEND,
        _rows(comparison),
    )


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


def _differences(comparison: Comparison) -> Table:
    titles = ("number", "first", "second", "change", "p", "verdict")
    rows = []
    for row in comparison.rows:
        of, unit = row.difference, row.metric.unit
        about = ", ".join(part for part in (unit, goal(row.metric)) if part)
        both = [
            number_cell(Number(value, n=n), unit, "; ".join(filter(None, (own, of_range))))
            for value, n, own, of_range in zip(of[:2], row.sizes, row.own, row.ranges, strict=True)
        ]
        text = number_text(of.difference, unit)
        signed = f"+{text}" if of.difference > 0 and text.strip("0.,") else text
        change = Cell(signed, interval_text(of.number, unit), value=of.difference)
        verdict = Cell(row.verdict.sentence, note=row.besides)
        name = Cell(f"{row.task}/{row.name}", note=about)
        rows.append([name, *both, change, Cell(number_text(row.p, "p"), value=row.p), verdict])
    title = "Largest first, in standard errors; p after Holm"
    return Table([Cell(title) for title in titles], rows, frozenset({0, 5}), title)


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """A flat row for each number, and one for each task that is not compared."""
    models = {"first": comparison.first, "second": comparison.second}
    rows = [models | _row(comparison, row) for row in comparison.rows]
    return rows + [{**models, "task": t, "refused": why} for t, why in comparison.refusals.items()]


def _row(comparison: Comparison, row: ComparedNumber) -> dict[str, Any]:
    of, kind = row.difference, row.verdict.kind
    both: dict[str, Any] = {}
    for which, *parts in zip(
        ("first", "second"), of[:2], row.sizes, row.own, row.ranges, strict=True
    ):
        for key, part in zip(("value", "n", "verdict", "range"), parts, strict=True):
            both[f"{which}_{key}"] = None if part == "" else part
    return {
        "task": row.task,
        "metric": row.metric.name,
        "group": row.group,
        "unit": row.metric.unit,
        "better": direction(row.metric),
        "null_value": row.metric.null_value,
        **both,
        **{part: getattr(of, part) for part in ("difference", "stderr", "low", "high", "p")},
        "test": of.test or None,
        "p_holm": row.p,
        "tests": comparison.tests,
        "clusters": of.clusters,
        "documents": comparison.documents[row.task],
        "verdict": kind,
        "towards": row.verdict.sentence.partition(" (")[0] if kind == YES else None,
        "why": row.why or None,
        "besides_the_model": row.besides or None,
    }


def _figures(comparison: Comparison) -> list[str]:
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
    names = (("first", comparison.first), ("second", comparison.second))
    return [
        page_figures.figure(
            how,
            rows[:DRAWN],
            (Column("difference", "Second less first", unit),),
            name=f"d{i}",
            title=(f"The {DRAWN} largest of {len(rows)}. " if len(rows) > DRAWN else "")
            + "Largest in standard errors first; p after Holm",
            seen=f"Do numbers in {unit} differ? {counts([row['verdict'] for row in rows])}",
            source=page_figures.source(
                [
                    run._replace(model=f"{which} {model}")
                    for task in {row["task"]: None for row in rows[:DRAWN]}
                    for (which, model), run in zip(names, comparison.runs[task], strict=True)
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
                f"{i}. Question {of.asked.number}, distance {100 * of.distance:.0f}",
                [turn.prompt for turn in of.asked.turns],
                _answers(of),
            )
            for i, of in enumerate(questions, 1)
        ],
    )


def _answers(of: Changed) -> list[Table]:
    """How both models answer, turn by turn, the likeliest answers of either first."""
    tables = []
    for both in of.answers:
        texts = {**both[0], **both[1]}
        shown = sorted(texts, key=lambda text: -max(of.get(text, 0) for of in both))[:SHOWN]
        head = [Cell("answer"), Cell("first", note="%"), Cell("second", note="%")]
        rows = [
            [Cell(text[:ANSWER]), *(Cell(_percent(of.get(text, 0))) for of in both)]
            for text in shown
        ]
        tables.append(Table(head, rows, title="Answers of both"))
    return tables


def _percent(share: float) -> str:
    return "<0.1" if 0 < share < 0.001 else f"{100 * share:.1f}"
