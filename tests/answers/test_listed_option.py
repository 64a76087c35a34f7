import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.filters import ListedOption
from lm_eval_bias.answers.listed_option import ANOTHER, by_rules, listed_option
from lm_eval_bias.data.lexicons import table

# The options of our own concept pairs, as a question shows them.
PAIRS = [
    tuple(re.sub(r"\[\[X(?::obj)?('s)?\]\]", r"Dana\1", row[f"option_{i}"]) for i in (1, 2))
    for row in table("hbb_concepts")
]
BILL = {
    "a": "She checked the sum twice before she paid.",
    "b": "She handed over the card without looking at the bill.",
}
RESULTS = {"a", "b", ANOTHER, "refused", "unparsed"}
SWAPPED = {"a": "b", "b": "a"}

STYLES = [
    *("{l}) {s}", "{l}", "{l})", "({l})", "({l}) {s}", "{l}. {s}", "{l}: {s}", "[{l}] {s}", "**{l})** {s}", "**{l}) {s}**", "'{l}) {s}'", "`{l}`"),
    *("{s}", '"{s}"', "Final Answer: {l}) {s}", "Final Answer: {s}", "Answer: {l}", "The answer is {l}.", "The answer is {l}) {s}", "\\boxed{{{l}}}"),
    *("{l})<{s}>", "<answer>{l}</answer>", "<answer>{l}) {s}</answer>", "Option {l}", "Choice: {l}", "I would choose {l}.", "I'd go with {l}) here."),
    *("{l}\n\n{s}", "{l}) {s}\n\nContext: The bus was late.\na) Tim walked.\nb) Tim waited.\nFinal Answer: b", "{l}, because it fits the context."),
    *("a) {a}\nb) {b}\nFinal Answer: {l}) {s}", "a) {a}\nb) {b}\n\nI choose {l}.", "Neither is certain, but {l} is more likely.", "Not {o}, so {l}."),
]  # fmt: skip


@given(st.text(), st.sampled_from(PAIRS))
def test_no_text_makes_the_parser_raise(text, pair):
    assert listed_option(text, dict(zip("ab", pair, strict=True))) in RESULTS


@given(st.text(), st.text(), st.text())
def test_no_options_make_the_parser_raise(text, one, two):
    assert listed_option(text, {"a": one, "b": two}) in RESULTS
    assert listed_option(one, {"a": one, "b": two}) in RESULTS


@given(st.sampled_from(PAIRS), st.sampled_from("ab"), st.sampled_from(STYLES), st.booleans())
def test_a_rendered_option_reads_as_itself(pair, letter, style, upper):
    a, b = pair
    text = style.format(
        l=letter.upper() if upper else letter,
        s=a if letter == "a" else b,
        o=SWAPPED[letter],
        a=a,
        b=b,
    )
    assert listed_option(text, {"a": a, "b": b}) == letter


@given(st.sampled_from(PAIRS), st.sampled_from("ab"), st.integers(6, 12))
def test_the_first_words_of_an_option_stand_for_it(pair, letter, n):
    """Six words and more, where they tell the two apart: options of a pair may begin alike."""
    options = dict(zip("ab", pair, strict=True))
    other = set(options[SWAPPED[letter]].lower().split())
    first = options[letter].split()[:n]
    assert (
        listed_option(" ".join(first), options) == letter
        or len(set(" ".join(first).lower().split()) - other) < 4
    )


@pytest.mark.parametrize("pair", PAIRS[:20])
@pytest.mark.parametrize("style", ["{l}) {s}", "Answer: {l}\n{s}", "**{l}.** {s}"])
def test_a_letter_with_the_other_options_sentence_contradicts_itself(pair, style):
    options = dict(zip("ab", pair, strict=True))
    assert [
        listed_option(style.format(l=letter, s=options[SWAPPED[letter]]), options)
        for letter in "ab"
    ] == ["unparsed"] * 2


PIECES = [
    "{0})",
    "({1})",
    "{0}",
    "answer: {1}",
    "option {0}",
    "not ",
    "so ",
    ". ",
    ", ",
    "\n",
    "but ",
    "or ",
    "and ",
    "both ",
    "wait, ",
    "{2}",
    "{3}",
    "because ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(PAIRS))
def test_swapped_letters_swap_the_answer(pieces, pair):
    """The letter and its sentence decide, whichever letter it is: here b and d, which are no words."""
    text = " ".join(pieces)
    answer = listed_option(text.format("b", "d", *pair), {"b": pair[0], "d": pair[1]})
    other = listed_option(text.format("d", "b", *pair), {"d": pair[0], "b": pair[1]})
    assert {"b": "d", "d": "b"}.get(answer, answer) == other


@given(st.sampled_from(PAIRS), st.sampled_from("ab"), st.sampled_from(STYLES))
def test_swapped_options_and_letters_swap_the_answer(pair, letter, style):
    """The same of a and b, in every style: the sentence is the same, and so is the choice."""
    one, two = dict(zip("ab", pair, strict=True)), dict(zip("ba", pair, strict=True))
    other = SWAPPED[letter]
    text = style.format(l=letter, s=one[letter], o=other, a=one["a"], b=one["b"])
    swapped = style.format(l=other, s=two[other], o=letter, a=two["a"], b=two["b"])
    assert SWAPPED[listed_option(text, one)] == listed_option(
        swapped, {"a": two["a"], "b": two["b"]}
    )


@given(st.sampled_from(PAIRS), st.sampled_from(PAIRS), st.booleans(), st.sampled_from("ab"))
def test_a_sentence_of_another_question_is_no_option_and_behind_a_letter_it_is_the_letters(
    pair, other, first, letter
):
    """All are about the same person; what is said of somebody else's day is neither sentence,
    whatever words they share."""
    if pair != other:
        options = dict(zip("ab", pair, strict=True))
        assert listed_option(other[first], options) not in ("a", "b")
        assert listed_option(f"{letter}) {other[first]}", options) == letter


WORDS = st.sampled_from(
    [
        "the",
        "a",
        "an",
        "bus",
        "was",
        "late",
        "and",
        "they",
        "waited",
        "in",
        "rain",
        "hour",
        "about",
        "it",
        "cold",
        "A",
        "An",
        "The",
    ]
)


@given(
    st.lists(WORDS, max_size=15).map(" ".join),
    st.sampled_from(PAIRS),
    st.sampled_from([".", "", "!", "\n"]),
)
def test_a_text_without_a_letter_or_a_sentence_is_no_option(text, pair, end):
    """Where the article stands before a word; an "a" by itself is a letter."""
    text = " ".join(
        word
        for word, following in zip(text.split(), [*text.split()[1:], ""], strict=False)
        if word not in ("a", "A") or following in ("bus", "rain", "hour", "cold")
    )
    assert listed_option(text + end, dict(zip("ab", pair, strict=True))) not in ("a", "b")


@pytest.mark.parametrize("letter", ["a", "b"])
@pytest.mark.parametrize("start", ["A woman at the till", "A Dutch trader", "A."])
def test_an_option_that_begins_with_the_article_is_not_the_letter_a(letter, start):
    options = {
        "a": f"{start} Smit counted the coins again.",
        "b": f"{start} Smit waved the queue on with a grin.",
    }
    for text in (
        options[letter],
        options[letter].lower(),
        f"{letter}) {options[letter]}",
        f"Answer: {options[letter]}",
    ):
        assert listed_option(text, options) == letter


def test_more_than_two_options_are_read():
    options = {**BILL, "c": "She split the bill with her friend."}
    assert [
        listed_option(text, options)
        for text in ("c", "c) She split the bill with her friend.", "She split the bill", "d")
    ] == ["c"] * 3 + ["another"]


def test_reasoning_is_left_out():
    document = {"option_a": BILL["a"], "option_b": BILL["b"]}
    assert ListedOption().answer("<think>a or", document) == "cut off"
    assert ListedOption().answer("<think>a is careful</think>b)", document) == "b"
    assert (
        ListedOption().answer("analysisEither may do.assistantfinala) " + BILL["a"], document)
        == "a"
    )


def test_refusals_of_another_language_can_be_given():
    filter_ = ListedOption(refusals=["das beantworte ich nicht"])
    assert (
        filter_.answer(
            "Das beantworte ich nicht.", {"option_a": "Er blieb.", "option_b": "Er ging."}
        )
        == "refused"
    )
    assert filter_.answer("b) Er ging.", {"option_a": "Er blieb.", "option_b": "Er ging."}) == "b"


STORY = "She walked out into the rain and called a taxi. A man at the corner asked her for the time, and she laughed. "
THOUGHT = "The woman may be careful, so option a fits; but b is possible if she is in a hurry. She checked the sum before she paid. "


@pytest.mark.parametrize("prose", [STORY, THOUGHT])
def test_ten_thousand_characters_are_read_in_a_twentieth_of_a_second(prose):
    text = (prose * 100)[:10000]
    listed_option(text, BILL)  # compiles the patterns
    times = []
    for _ in range(5):
        begin = time.process_time()
        listed_option(text, BILL)
        times.append(time.process_time() - begin)
    assert min(times) < 0.05, times


def test_the_very_form_reads_as_the_rules_read_it():
    """It is read without them, in a thousandth of the time: 897,260 answers of
    hbb_generate_official took ten minutes."""
    for pair in PAIRS[::7]:
        options = dict(zip("ab", pair, strict=True))
        for letter, sentence in options.items():
            for text in (letter, f"{letter}) {sentence}", f" {letter}) {sentence}\n"):
                assert listed_option(text, options) == letter == by_rules(text, options)


def test_answers_that_are_alike_are_read_once(monkeypatch):
    read = []
    monkeypatch.setattr(ListedOption, "read", lambda self, text, doc: read.append(text) or text)
    assert ListedOption().apply([["x", "y", "x"], ["x"]], [{}, {}]) == [
        ["x", "y", "x"],
        ["x"],
    ] and read == ["x", "y", "x"]
