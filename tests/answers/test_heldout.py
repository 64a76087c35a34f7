"""Answers that no reader was made for, and real ones.

heldout: kept aside; do not read these files while you work on a reader. fresh: written for the
readers as they are now, and scored once. transcripts: what models wrote in a run, judged by hand.
nothing: what models wrote when something else was asked. Language models invented the first two.
docs/explanation/answers.md has the results.
"""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from score import QUESTIONS, cases as cases_of, outcomes, parser_of

HERE = Path(__file__).parent


@cache
def counts(path):
    found = Counter()
    for case in cases_of(path):
        for outcome in outcomes(parser_of(path), case):
            found[outcome] += case.get("times", 1)
    return found


@pytest.mark.parametrize(
    "folder, files, cases, least",
    [
        ("heldout", 7, 200, 96),
        ("fresh", 7, 200, 94),
        ("transcripts", 7, 200, 97),
        ("nothing", 3, 300 * len(QUESTIONS), 99.5),
    ],
)
def test_answers_are_rarely_read_wrongly(folder, files, cases, least):
    """At least so many are read right, and at most 0.5 wrong, in percent."""
    paths = sorted((HERE / folder).glob("*.yaml"))
    found = sum(map(counts, paths), Counter())
    assert len(paths) >= files and found.total() >= cases
    assert found["right"] >= least / 100 * found.total(), found
    assert found["wrong"] <= 0.005 * found.total(), found


@pytest.mark.parametrize("path", sorted((HERE / "heldout").glob("*.yaml")), ids=lambda p: p.stem)
def test_no_reader_is_much_worse_than_the_others(path):
    found = counts(path)
    assert len(cases_of(path)) >= 75
    assert found["right"] >= 0.9 * found.total(), found
    assert found["wrong"] < 0.01 * found.total(), found
