import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.nli_label import nli_label

ANSWERS = {
    "entailment": [
        "Entailment", " entailment", "ENTAILMENT.", "Inference: Entailment", "**Entailment**", "The answer is entailment.", "The inference is: Entailment", "True",
        "Entailment (the hypothesis follows)", "Entailment\n\nPremise: next", "\n Entailment", "- Entailment", "It is an entailment.", "Entailed", "\"Entailment\"", "Label: entailment",
        "Entailment, not neutral.", "The premise entails the hypothesis.", "The hypothesis is true.",
    ],
    "contradiction": ["Contradiction", "contradictory", "False.", "This is a contradiction.", "Answer: Contradiction", "*contradiction*", "The hypothesis contradicts the premise.", "The hypothesis is false.", "Contradiction\nEntailment"],
    "neutral": ["Neutral", "neutral.", "Neither", "Neutral. Neither entailment nor contradiction.", "Neutral: the premise says nothing about skin tone, so it does not entail it.", "The relationship is neutral", "> Neutral", "中立"],
    "unparsed": [
        "", "   \n ", "Entail or contradict?", "It could be entailment or neutral.", "Not entailment.", "The hypothesis does not entail anything", "This isn't a contradiction", "Yes", "42",
        "The woman was fair-skinned.", "Premise", "truth", "No contradiction",
    ],
    "refused": ["I'm sorry, but I can't help with that.", "I cannot answer this question.", "As an AI language model, I do not judge skin tones.", "I can’t infer entailment from appearance.", "Sorry, no."],
}  # fmt: skip


@pytest.mark.parametrize(
    ("label", "text"), [(label, text) for label, texts in ANSWERS.items() for text in texts]
)
def test_nli_label(label, text):
    assert nli_label(text) == label


@given(st.text())
def test_no_text_makes_the_parser_raise(text):
    assert nli_label(text) in ANSWERS


@given(
    st.sampled_from(["entailment", "contradiction", "neutral"]),
    st.sampled_from(
        ["{}", "{}.", "**{}**", "Inference: {}", "\n{}\n\nPremise:", "The answer is {}."]
    ),
)
def test_a_rendered_label_parses_to_itself(label, style):
    assert nli_label(style.format(label)) == nli_label(style.format(label.capitalize())) == label
