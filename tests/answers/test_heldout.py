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
from score import QUESTIONS, cases, outcomes, parser_of

HERE = Path(__file__).parent


@cache
def counts(path):
    found = Counter()
    for case in cases(path):
        for outcome in outcomes(parser_of(path), case):
            found[outcome] += case.get("times", 1)
    return found


@pytest.mark.parametrize(
    "folder, least, most", [("heldout", 96, 0.5), ("fresh", 94, 0.5), ("transcripts", 97, 0.5)]
)
def test_answers_are_rarely_read_wrongly(folder, least, most):
    """At least so many are read right, and at most so many wrong, in percent."""
    files = sorted((HERE / folder).glob("*.yaml"))
    found = sum((counts(path) for path in files), Counter())
    assert len(files) >= 7 and found.total() >= 200
    assert found["right"] >= least / 100 * found.total(), found
    assert found["wrong"] <= most / 100 * found.total(), found


def test_texts_that_answer_nothing_get_no_value():
    """At most 0.5 % of what the readers make of them."""
    files = sorted((HERE / "nothing").glob("*.yaml"))
    found = sum((counts(path) for path in files), Counter())
    assert found.total() >= 300 * len(QUESTIONS)
    assert found["wrong"] <= 0.005 * found.total(), found


@pytest.mark.parametrize("path", sorted((HERE / "heldout").glob("*.yaml")), ids=lambda p: p.stem)
def test_no_reader_is_much_worse_than_the_others(path):
    found = counts(path)
    assert len(cases(path)) >= 75
    assert found["right"] >= 0.9 * found.total(), found
    assert found["wrong"] < 0.01 * found.total(), found
