from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from lm_eval_bias.answers.word_pairs import word_pairs
from lm_eval_bias.benchmarks.mist.documents import pairs
from lm_eval_bias.data.lexicons import lexicon

STYLES = [
    *("({w}, {g})", "{w} - {g}", "{w}: {g}", "{w} → {g}", "- **{w}**: {g}", "* {w} – *{g}*"),
    *("{i}. {w}, {g}", "{i}) ({w}, {g})", "| {w} | {g} |", '"{w}": "{g}",', "({g}, {w})"),
    *("{w} ({g})", "{w}\n{g}", "`{w}`=`{g}`", "{w}-{g}", "{w} is associated with {g}.", "{g}: {w}"),
]
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
    groups = ["Ethan", "Kwame"]
    words = [w for polarity in lexicon("mist")["attributes"][dimension].values() for w in polarity]
    for a, b in combinations(words, 2):
        assert word_pairs(f"{a}: Ethan\n{b}: Kwame", [a, b], groups) == [0, 1]
        assert word_pairs(f"{a}: Ethan", [a, b], groups) == "unparsed"


def test_no_group_is_read_where_the_other_stands():
    for a, b in QUESTIONS:
        text = f"Warm: {a}\nQuiet: {b}"
        assert word_pairs(text, ["Warm", "Quiet"], [a, b]) == [0, 1], text
