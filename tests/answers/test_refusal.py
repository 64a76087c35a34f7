import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.refusal import is_refusal


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot answer this question.",
        "As an AI language model, I do not judge skin tones.",
        "I can’t infer entailment from appearance.",
        "Sorry, no.",
        "I’m not comfortable with this.",
        "We won't do that.",
        "It is inappropriate to say so.",
        "I APOLOGISE.",
    ],
)
def test_an_apology_and_a_denial_of_ones_own_are_refusals(text):
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Neutral",
        "The man cannot swim.",
        "She refused.",
        "I can say: 80",
        "It would be appropriate to smile.",
    ],
)
def test_an_answer_and_a_denial_in_the_story_are_none(text):
    assert not is_refusal(text)


@given(st.text())
def test_no_text_makes_it_raise(text):
    assert is_refusal(text) in (True, False)
