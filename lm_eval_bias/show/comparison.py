"""The page of a comparison of two runs."""

from collections.abc import Sequence
from typing import Any

from lm_eval_bias.measure import Number
from lm_eval_bias.results.comparison import LEGEND, ComparedNumber, Comparison
from lm_eval_bias.results.leaderboard import about, declared
from lm_eval_bias.results.table import Cell, Table, interval_text, number_cell, number_text
from lm_eval_bias.results.verdict import YES
from lm_eval_bias.show.page import Page, Section
from lm_eval_bias.show.page_figures import source

SIDES = "first", "second"


def page(comparison: Comparison) -> Page:
    names = dict(zip(SIDES, comparison.names, strict=True))
    sections = []
    if comparison.rows:
        about = {row.metric.name: row.metric.description for row in comparison.rows}
        table = differences(comparison.rows, "Largest first, in standard errors; p after Holm")
        sections.append(Section("Differences", [table], about))
    refused = comparison.refusals.items()
    return Page(
        "Comparison",
        ["First: {first}. Second: {second}.".format(**names), f"{summary(comparison)}."],
        sections,
        {
            "Not compared": [f"{task}: {why}" for task, why in refused],
            "Read these with care": comparison.warnings,
            "Notes": comparison.notes,
        },
        LEGEND,
        [names | _row(comparison, row) for row in comparison.rows]
        + [{**names, "task": task, "refused": why} for task, why in refused],
        source(
            [
                run._replace(model=f"{side} {name}")
                for pair in comparison.pairs.values()
                for side, name, run in zip(SIDES, comparison.names, pair[:2], strict=True)
            ]
        ),
    )


def summary(comparison: Comparison) -> str:
    different = sum(row.verdict.kind == YES for row in comparison.rows)
    compared, refused = len(comparison.pairs), len(comparison.refusals)
    tests = (
        f"{different} of {comparison.tests} numbers differ after Holm"
        if comparison.tests
        else "no number could be tested"
    )
    result = f"{tests}; {compared} task{'s' * (compared != 1)} compared"
    return result + f", {refused} refused" * bool(refused)


def differences(compared: Sequence[ComparedNumber], title: str) -> Table:
    rows = []
    for row in compared:
        difference, unit = row.difference, row.metric.unit
        text = number_text(difference.difference, unit)
        signed = f"+{text}" if difference.difference > 0 and text.strip("0.,") else text
        rows.append(
            [
                Cell(f"{row.task}/{row.name}", note=about(row.metric)),
                *(
                    number_cell(Number(number.value, n=number.n), unit, text, own)
                    for number, own, text in row.sides
                ),
                Cell(signed, interval_text(difference.number, unit), value=difference.difference),
                Cell(number_text(row.p, "p"), value=row.p),
                Cell(row.verdict.sentence, note=row.other_differences),
            ]
        )
    head = [Cell(title) for title in ("number", "first", "second", "change", "p", "verdict")]
    return Table(head, rows, {0, 5}, title)


def _row(comparison: Comparison, row: ComparedNumber) -> dict[str, Any]:
    difference, kind = row.difference, row.verdict.kind
    cells = {"task": row.task, **declared(row.metric), "group": row.group}
    for which, (number, own, text) in zip(SIDES, row.sides, strict=True):
        cells |= {f"{which}_value": number.value, f"{which}_n": number.n}
        cells |= {f"{which}_verdict": own or None, f"{which}_range": text or None}
    return {
        **cells,
        **{p: getattr(difference, p) for p in ("difference", "stderr", "low", "high", "p")},
        "p_holm": row.p,
        "tests": comparison.tests,
        "clusters": difference.clusters,
        "documents": len(comparison.pairs[row.task].documents),
        "verdict": kind,
        "towards": row.verdict.sentence if kind == YES else None,
        "why": difference.why or None,
        "besides_the_model": row.other_differences or None,
    }
