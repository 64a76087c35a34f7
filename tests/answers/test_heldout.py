"""The half of the answers that was kept aside: written by someone who had not seen the parsers, and unseen by whoever wrote them.

Do not read these files while you work on a parser; what is left of their worth is that nobody has. The issue asks for wrong values below 1 %;
their first scoring, with the parsers of this commit, gave 12 of 571 (2.1 %), 18 lost and 541 right. What is held here is that it gets no worse.
"""

from collections import Counter
from pathlib import Path

import pytest
from score import cases, outcome, parser_of

FILES = sorted((Path(__file__).parent / "heldout").glob("*.yaml"))


def test_answers_that_nobody_saw_are_hardly_ever_read_wrongly():
    counts = Counter(outcome(parser_of(path), case) for path in FILES for case in cases(path))
    assert sum(counts.values()) == 571
    assert counts["wrong"] <= 12 and counts["lost"] + counts["confused"] <= 18, counts


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_parser_reads_nine_of_ten(path):
    counts = Counter(outcome(parser_of(path), case) for case in cases(path))
    assert counts["right"] >= 0.92 * sum(counts.values()) and counts["wrong"] <= 0.04 * sum(counts.values())
