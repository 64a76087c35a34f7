from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.intensity import intensity

# Answers as models write them, and what a careful reader makes of them; written without knowledge
# of the parser.
CASES = yaml.safe_load(Path(__file__).with_name("intensity.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_intensity(case):
    assert intensity(case["text"], case["scale"], case.get("narrative", "")) == case["expected"]


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            [
                "8",
                "80",
                "100",
                "/",
                " out of ",
                "-",
                ".",
                ",",
                " to ",
                "eighty",
                "five",
                " ",
                "0",
                "hundred",
                "%",
            ]
        )
    ).map("".join),
    st.sampled_from([10, 100]),
    st.text(),
)
def test_no_text_makes_intensity_raise_and_every_number_is_on_the_scale(text, scale, narrative):
    found = intensity(text, scale, narrative)
    assert found in ("refused", "unparsed") or 0 <= found <= scale


@given(
    st.integers(0, 100),
    st.sampled_from(
        [
            "{}",
            "{}.",
            "**{}**",
            "Emotion intensity: {}",
            "{}/100",
            "{} out of 100",
            "I would rate it {}.",
            "{}%",
            "{}\n\nThe person waited 45 minutes.",
        ]
    ),
)
def test_a_rendered_rating_parses_to_itself(value, style):
    assert intensity(style.format(value), 100, "I waited 45 minutes") == value


def test_the_cases_are_as_many_as_promised():
    assert len(CASES) >= 40
