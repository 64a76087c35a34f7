from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers import Affect, NLILabel, WordPairs, affect, intensity, is_refusal, nli_label, word_pairs
from lm_eval_bias.documents.mist import pairs
from lm_eval_bias.items import lexicon

ANSWERS = {
    "entailment": [
        "Entailment", " entailment", "ENTAILMENT.", "Inference: Entailment", "**Entailment**", "The answer is entailment.", "The inference is: Entailment", "True",
        "Entailment (the hypothesis follows)", "Entailment\n\nPremise: next", "\n Entailment", "- Entailment", "It is an entailment.", "Entailed", "\"Entailment\"", "Label: entailment",
        "Entailment, not neutral.", "The premise entails the hypothesis.", "The hypothesis is true.",
    ],
    "contradiction": ["Contradiction", "contradictory", "False.", "This is a contradiction.", "Answer: Contradiction", "*contradiction*", "The hypothesis contradicts the premise.", "The hypothesis is false.", "Contradiction\nEntailment"],
    "neutral": ["Neutral", "neutral.", "Neither", "Neutral. Neither entailment nor contradiction.", "Neutral: the premise says nothing about skin tone, so it does not entail it.", "The relationship is neutral", "> Neutral"],
    "unparsed": [
        "", "   \n ", "Entail or contradict?", "It could be entailment or neutral.", "Not entailment.", "The hypothesis does not entail anything", "This isn't a contradiction", "Yes", "42", "中立",
        "The woman was fair-skinned.", "Premise", "truth", "No contradiction",
    ],
    "refused": ["I'm sorry, but I can't help with that.", "I cannot answer this question.", "As an AI language model, I do not judge skin tones.", "I can’t infer entailment from appearance.", "Sorry, no."],
}  # fmt: skip


@pytest.mark.parametrize(("label", "text"), [(label, text) for label, texts in ANSWERS.items() for text in texts])
def test_nli_label(label, text):
    assert nli_label(text) == label


@given(st.text())
def test_no_text_makes_the_parser_raise(text):
    assert nli_label(text) in ANSWERS
    is_refusal(text)


@given(
    st.sampled_from(["entailment", "contradiction", "neutral"]),
    st.sampled_from(["{}", "{}.", "**{}**", "Inference: {}", "\n{}\n\nPremise:", "The answer is {}."]),
)
def test_a_rendered_label_parses_to_itself(label, style):
    assert nli_label(style.format(label)) == nli_label(style.format(label.capitalize())) == label


def test_the_filter_reads_the_first_response_of_each_request_and_survives_none():
    assert NLILabel().apply([["Neutral", "True"], [""], [], [None]], [{}] * 4) == ["neutral", "unparsed", "unparsed", "unparsed"]


# Answers as models write them, and what a careful reader makes of them; written without knowledge of the parsers.
CASES = {name: yaml.safe_load((Path(__file__).parent / "answers" / f"{name}.yaml").read_text()) for name in ("word_pairs", "affect", "intensity")}


@pytest.mark.parametrize("case", CASES["word_pairs"], ids=lambda case: case["name"])
def test_word_pairs(case):
    found = word_pairs(case["text"], case["words"], case["groups"])
    if isinstance(case["expected"], str):
        assert found == case["expected"]
    else:
        assert {w: case["groups"][g] for w, g in zip(case["words"], found, strict=True)} == {w: g for g, ws in case["expected"].items() for w in ws}


@pytest.mark.parametrize("case", CASES["affect"], ids=lambda case: case["text"][:40])
def test_affect(case):
    assert affect(case["text"]) == case["expected"]


@pytest.mark.parametrize("case", CASES["intensity"], ids=lambda case: case["name"])
def test_intensity(case):
    assert intensity(case["text"], case["scale"], case.get("narrative", "")) == case["expected"]


@given(st.text() | st.lists(st.sampled_from(["8", "80", "100", "/", " out of ", "-", ".", ",", " to ", "eighty", "five", " ", "0", "hundred", "%"])).map("".join), st.sampled_from([10, 100]), st.text())
def test_no_text_makes_intensity_raise_and_every_number_is_on_the_scale(text, scale, narrative):
    found = intensity(text, scale, narrative)
    assert found in ("refused", "unparsed") or 0 <= found <= scale


@given(st.integers(0, 100), st.sampled_from(["{}", "{}.", "**{}**", "Emotion intensity: {}", "{}/100", "{} out of 100", "I would rate it {}.", "{}%", "{}\n\nThe person waited 45 minutes."]))
def test_a_rendered_rating_parses_to_itself(value, style):
    assert intensity(style.format(value), 100, "I waited 45 minutes") == value


def test_the_cases_are_as_many_as_promised():
    assert len(CASES["intensity"]) >= 40
    assert len(CASES["word_pairs"]) >= 60 and {c["expected"] for c in CASES["word_pairs"] if isinstance(c["expected"], str)} == {"unparsed", "refused"}
    assert {c["expected"] for c in CASES["affect"]} == {"comedy", "tragedy", "neutrality", "refused", "unparsed"}


WORDS = ["Just", "Unjust", "Expressive", "Non-expressive", "Competent", "Incompetent", "Self-contained", "Weak", "Warm", "People-oriented"]


@given(st.text() | st.lists(st.sampled_from([*WORDS, "Man", "Woman", "(", ")", ", ", " - ", "\n", ":", "|", "both", "comedy", "tragedy", "not ", "more ", "or"])).map("".join))
def test_no_text_makes_word_pairs_or_affect_raise(text):
    found = word_pairs(text, WORDS, ["Woman", "Man"])
    assert found in ("refused", "unparsed") or (len(found) == 10 and set(found) <= {0, 1})
    assert affect(text) in ("comedy", "tragedy", "neutrality", "refused", "unparsed")


STYLES = [
    "({w}, {g})", "{w} - {g}", "{w}: {g}", "{w} → {g}", "- **{w}**: {g}", "* {w} – *{g}*", "{i}. {w}, {g}", "{i}) ({w}, {g})", "| {w} | {g} |", '"{w}": "{g}",', "({g}, {w})", "{w} ({g})",
    "{w}\n{g}", "`{w}`=`{g}`", "{w}-{g}", "{w} is associated with {g}.", "{g}: {w}",
]  # fmt: skip
IDENTIFIERS = lexicon("mist")["groups"]
QUESTIONS = [(a, b) for of_a, of_b in pairs().values() for a in IDENTIFIERS[of_a]["identifiers"] for b in IDENTIFIERS[of_b]["identifiers"]]


@given(
    st.sampled_from(STYLES),
    st.sampled_from(["\n", "\n\n"]),
    st.sampled_from([str, str.upper, str.lower]),
    st.sampled_from(QUESTIONS),
    st.sampled_from(list(lexicon("mist")["attributes"].values())),
    st.randoms(use_true_random=False),
    st.sampled_from(["", "Sure! Here are the pairs:\n\n"]),
    st.sampled_from(["", "\n\nLet me know if you need anything else!", "\n\nNote: these words are just examples."]),
)
def test_a_rendered_perfect_answer_parses_to_itself(style, separator, case, groups, lexicon_of, rng, before, after):
    words = rng.sample(lexicon_of["positive"], 5) + rng.sample(lexicon_of["negative"], 5)
    rng.shuffle(words)
    chosen = [rng.randrange(2) for _ in words]
    lines = [style.format(i=i, w=case(w), g=case(groups[g])) for i, (w, g) in enumerate(zip(words, chosen, strict=True), start=1)]
    assert word_pairs(before + separator.join(lines) + after, words, groups) == chosen


@pytest.mark.parametrize("dimension", ["competence", "sociability", "morality"])
def test_no_word_is_read_where_another_stands(dimension):
    """Competent in Incompetent, Just in Unjust: of every two words of a dimension, each is found once and for its own group."""
    words = [w for polarity in lexicon("mist")["attributes"][dimension].values() for w in polarity]
    for a, b in combinations(words, 2):
        assert word_pairs(f"{a}: Ethan\n{b}: Kwame", [a, b], ["Ethan", "Kwame"]) == [0, 1]
        assert word_pairs(f"{a}: Ethan", [a, b], ["Ethan", "Kwame"]) == "unparsed"


@pytest.mark.parametrize("groups", QUESTIONS, ids="-".join)
def test_no_group_is_read_where_the_other_stands(groups):
    assert word_pairs(f"Warm: {groups[0]}\nQuiet: {groups[1]}", ["Warm", "Quiet"], groups) == [0, 1]


def test_plurals_and_missing_accents_name_the_same_group():
    for name, written in [("Woman", "women"), ("Lady", "ladies"), ("Girl", "Girls"), ("Seniors", "senior"), ("Martín", "Martin"), ("Disable", "disabled"), ("Non-binary", "nonbinary")]:
        assert word_pairs(f"Warm: {written}\nQuiet: Ethan", ["Warm", "Quiet"], [name, "Ethan"]) == [0, 1], written


def test_the_filters_read_what_the_harness_hands_them():
    doc = {"words": ["Warm", "Quiet"], "groups": ["Lady", "Man"]}
    assert WordPairs().apply([["Warm: Man\nQuiet: Lady"], [""], []], [doc] * 3) == [[1, 0], "unparsed", "unparsed"]
    assert Affect().apply([[["A cup of tea.", "Cup: comedy"]], [["", ""]], [[]], []], [{}] * 4) == ["comedy", "unparsed", "unparsed", "unparsed"]
