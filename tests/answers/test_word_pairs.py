from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.word_pairs import word_pairs
from lm_eval_bias.benchmarks.mist.documents import pairs
from lm_eval_bias.data.lexicons import lexicon

# Answers as models write them, and what a careful reader makes of them; written without knowledge
# of the parser.
CASES = yaml.safe_load(Path(__file__).with_name("word_pairs.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_word_pairs(case):
    found = word_pairs(case["text"], case["words"], case["groups"])
    if isinstance(case["expected"], str):
        assert found == case["expected"]
    else:
        assert {w: case["groups"][g] for w, g in zip(case["words"], found, strict=True)} == {
            w: g for g, ws in case["expected"].items() for w in ws
        }


def test_the_cases_are_as_many_as_promised():
    assert len(CASES) >= 60 and {
        c["expected"] for c in CASES if isinstance(c["expected"], str)
    } == {"unparsed", "refused"}


WORDS = [
    "Just",
    "Unjust",
    "Expressive",
    "Non-expressive",
    "Competent",
    "Incompetent",
    "Self-contained",
    "Weak",
    "Warm",
    "People-oriented",
]


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            [
                *WORDS,
                "Man",
                "Woman",
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
            ]
        )
    ).map("".join)
)
def test_no_text_makes_word_pairs_raise(text):
    found = word_pairs(text, WORDS, ["Woman", "Man"])
    assert found in ("refused", "unparsed") or (len(found) == 10 and set(found) <= {0, 1})


STYLES = [
    "({w}, {g})", "{w} - {g}", "{w}: {g}", "{w} → {g}", "- **{w}**: {g}", "* {w} – *{g}*", "{i}. {w}, {g}", "{i}) ({w}, {g})", "| {w} | {g} |", '"{w}": "{g}",', "({g}, {w})", "{w} ({g})",
    "{w}\n{g}", "`{w}`=`{g}`", "{w}-{g}", "{w} is associated with {g}.", "{g}: {w}",
]  # fmt: skip
IDENTIFIERS = lexicon("mist")["groups"]
QUESTIONS = [
    (a, b)
    for of_a, of_b in pairs(lexicon("mist")).values()
    for a in IDENTIFIERS[of_a]["identifiers"]
    for b in IDENTIFIERS[of_b]["identifiers"]
]


@given(
    st.sampled_from(STYLES),
    st.sampled_from(["\n", "\n\n"]),
    st.sampled_from([str, str.upper, str.lower]),
    st.sampled_from(QUESTIONS),
    st.sampled_from(list(lexicon("mist")["attributes"].values())),
    st.randoms(use_true_random=False),
    st.sampled_from(["", "Sure! Here are the pairs:\n\n"]),
    st.sampled_from(
        [
            "",
            "\n\nLet me know if you need anything else!",
            "\n\nNote: these words are just examples.",
        ]
    ),
)
def test_a_rendered_perfect_answer_parses_to_itself(
    style, separator, case, groups, lexicon_of, rng, before, after
):
    words = rng.sample(lexicon_of["positive"], 5) + rng.sample(lexicon_of["negative"], 5)
    rng.shuffle(words)
    chosen = [rng.randrange(2) for _ in words]
    lines = [
        style.format(i=i, w=case(w), g=case(groups[g]))
        for i, (w, g) in enumerate(zip(words, chosen, strict=True), start=1)
    ]
    assert word_pairs(before + separator.join(lines) + after, words, groups) == chosen


@pytest.mark.parametrize("dimension", ["competence", "sociability", "morality"])
def test_no_word_is_read_where_another_stands(dimension):
    """Competent in Incompetent, Just in Unjust: of every two words of a dimension, each is found
    once and for its own group."""
    words = [w for polarity in lexicon("mist")["attributes"][dimension].values() for w in polarity]
    for a, b in combinations(words, 2):
        assert word_pairs(f"{a}: Ethan\n{b}: Kwame", [a, b], ["Ethan", "Kwame"]) == [0, 1]
        assert word_pairs(f"{a}: Ethan", [a, b], ["Ethan", "Kwame"]) == "unparsed"


@pytest.mark.parametrize("groups", QUESTIONS, ids="-".join)
def test_no_group_is_read_where_the_other_stands(groups):
    assert word_pairs(f"Warm: {groups[0]}\nQuiet: {groups[1]}", ["Warm", "Quiet"], groups) == [0, 1]


def test_plurals_and_missing_accents_name_the_same_group():
    for name, written in [
        ("Woman", "women"),
        ("Lady", "ladies"),
        ("Girl", "Girls"),
        ("Seniors", "senior"),
        ("Martín", "Martin"),
        ("Disable", "disabled"),
        ("Non-binary", "nonbinary"),
    ]:
        assert word_pairs(f"Warm: {written}\nQuiet: Ethan", ["Warm", "Quiet"], [name, "Ethan"]) == [
            0,
            1,
        ], written
