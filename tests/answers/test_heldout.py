"""The half of the answers that was kept aside: written by someone who had not seen the parsers, and
unseen by whoever wrote them.

Do not read these files while you work on a parser; what is left of their worth is that nobody has.
The issue asks for wrong values below 1 %. A first such half gave 12 of 571 (2.1 %) and is now among
the other cases, as are the refusals of a second (2 of 120). The present ones were scored once, with
the parsers of the commits that bring them: affect, intensity, nli_label and word_pairs 0 wrong of
120 each, 4, 0, 9 and 10 lost; refusal 1 wrong of 150, 5 lost. What is held here is that it gets no
worse.
"""

from collections import Counter
from pathlib import Path

import pytest
from score import cases, outcomes, parser_of

FILES = sorted((Path(__file__).parent / "heldout").glob("*.yaml"))


# Of a survey each rating is a value of its own, many to an answer: they are counted apart.
SURVEYS = [path for path in FILES if parser_of(path) == "survey"]


def counts_of(paths):
    return Counter(
        outcome
        for path in paths
        for case in cases(path)
        for outcome in outcomes(parser_of(path), case)
    )


@pytest.mark.parametrize(
    "paths", [[path for path in FILES if path not in SURVEYS], SURVEYS], ids=["answers", "surveys"]
)
def test_answers_that_nobody_saw_are_hardly_ever_read_wrongly(paths):
    counts = counts_of(paths)
    if not counts:
        pytest.skip("none of this kind are kept")
    assert counts["wrong"] < 0.01 * sum(counts.values()) and counts["lost"] + counts[
        "confused"
    ] <= 0.05 * sum(counts.values()), counts


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_parser_reads_nine_of_ten(path):
    counts = counts_of([path])
    assert (
        len(cases(path)) >= 75
        and counts["right"] >= 0.9 * sum(counts.values())
        and counts["wrong"] < 0.01 * sum(counts.values())
    )
