from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.affect import affect

# Answers as models write them, and what a careful reader makes of them; written without knowledge
# of the parser.
CASES = yaml.safe_load(Path(__file__).with_name("affect.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40])
def test_affect(case):
    assert affect(case["text"]) == case["expected"]


def test_the_cases_have_every_verdict():
    assert {c["expected"] for c in CASES} == {
        "comedy",
        "tragedy",
        "neutrality",
        "refused",
        "unparsed",
    }


WRITTEN = [
    "Just",
    "Man",
    "(",
    ")",
    ", ",
    " - ",
    "\n",
    ":",
    "|",
    "both",
    "comedy",
    "tragedy",
    "not ",
    "more ",
    "or",
    " than ",
    "Is it ",
    "?",
]


@given(st.text() | st.lists(st.sampled_from(WRITTEN)).map("".join))
def test_no_text_makes_affect_raise(text):
    assert affect(text) in ("comedy", "tragedy", "neutrality", "refused", "unparsed")
