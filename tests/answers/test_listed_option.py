import re

from hypothesis import given, strategies as st

from lm_eval_bias.answers.listed_option import listed_option
from lm_eval_bias.data.lexicons import table

# The options of our own concept pairs, as a question shows them.
PAIRS = [
    tuple(re.sub(r"\[\[X(?::obj)?('s)?\]\]", r"Dana\1", row[f"option_{i}"]) for i in (1, 2))
    for row in table("hbb_concepts")
]
SWAPPED = {"a": "b", "b": "a"}
STYLES = [
    *("{l}) {s}", "{l}", "{l})", "({l})", "({l}) {s}", "{l}. {s}", "{l}: {s}", "[{l}] {s}"),
    *("**{l})** {s}", "**{l}) {s}**", "'{l}) {s}'", "`{l}`", "{s}", '"{s}"', "{l}\n\n{s}"),
    *("Final Answer: {l}) {s}", "Final Answer: {s}", "Answer: {l}", "The answer is {l}."),
    *("The answer is {l}) {s}", "\\boxed{{{l}}}", "{l})<{s}>", "<answer>{l}</answer>"),
    *("<answer>{l}) {s}</answer>", "Option {l}", "Choice: {l}", "I would choose {l}."),
    *("I'd go with {l}) here.", "{l}, because it fits the context.", "Not {o}, so {l}."),
    "{l}) {s}\n\nContext: The bus was late.\na) Tim walked.\nb) Tim waited.\nFinal Answer: b",
    *("a) {a}\nb) {b}\nFinal Answer: {l}) {s}", "a) {a}\nb) {b}\n\nI choose {l}."),
    "Neither is certain, but {l} is more likely.",
]
pairs, letters = st.sampled_from(PAIRS), st.sampled_from("ab")


def options_of(pair, names="ab"):
    return dict(zip(names, pair, strict=True))


@given(pairs, letters, st.sampled_from(STYLES), st.booleans())
def test_a_rendered_option_is_read_as_itself(pair, letter, style, upper):
    """Also with the letters swapped: the sentence stays the same, and so does the choice."""
    for names in ("ab", "ba"):
        options = options_of(pair, names)
        chosen = names["ab".index(letter)]
        text = style.format(
            l=chosen.upper() if upper else chosen, s=options[chosen], o=SWAPPED[chosen], **options
        )
        assert listed_option(text, dict(sorted(options.items()))) == chosen


@given(pairs, letters, st.integers(6, 12))
def test_the_first_words_of_an_option_stand_for_it(pair, letter, n):
    """Six words and more, where they tell the two apart: options of a pair may begin alike."""
    options = options_of(pair)
    first = " ".join(options[letter].split()[:n])
    own = set(first.lower().split()) - set(options[SWAPPED[letter]].lower().split())
    assert listed_option(first, options) == letter or len(own) < 4


def test_a_letter_with_the_other_options_sentence_contradicts_itself():
    for pair in PAIRS[:20]:
        options = options_of(pair)
        for style in ("{l}) {s}", "Answer: {l}\n{s}", "**{l}.** {s}"):
            for letter in "ab":
                text = style.format(l=letter, s=options[SWAPPED[letter]])
                assert listed_option(text, options) == "unparsed", text


PIECES = [
    *("{0})", "({1})", "{0}", "answer: {1}", "option {0}", "{2}", "{3}", "\n", ". ", ", "),
    *("not ", "so ", "but ", "or ", "and ", "both ", "wait, ", "because "),
]


@given(st.lists(st.sampled_from(PIECES), max_size=8), pairs)
def test_swapped_letters_swap_the_answer(pieces, pair):
    """The letter and its sentence decide, whichever letter it is: here b and d, which are no
    words."""
    text = " ".join(pieces)
    answer = listed_option(text.format("b", "d", *pair), {"b": pair[0], "d": pair[1]})
    other = listed_option(text.format("d", "b", *pair), {"d": pair[0], "b": pair[1]})
    assert {"b": "d", "d": "b"}.get(answer, answer) == other


@given(pairs, pairs, st.booleans(), letters)
def test_a_sentence_of_another_question_is_no_option_and_behind_a_letter_it_is_the_letters(
    pair, other, first, letter
):
    """All are about the same person. Shared words make no sentence an option."""
    if pair != other:
        options = options_of(pair)
        assert listed_option(other[first], options) not in ("a", "b")
        assert listed_option(f"{letter}) {other[first]}", options) == letter


NOUNS = ["bus", "rain", "hour", "cold"]
TEXT = "the a an bus was late and they waited in rain hour about it cold A An The"


@given(
    st.lists(st.sampled_from(TEXT.split()), max_size=15),
    pairs,
    st.sampled_from([".", "", "!", "\n"]),
)
def test_a_text_without_a_letter_or_a_sentence_is_no_option(words, pair, end):
    """Where the article stands before a word; an "a" by itself is a letter."""
    text = " ".join(
        word
        for word, following in zip(words, [*words[1:], ""], strict=False)
        if word not in ("a", "A") or following in NOUNS
    )
    assert listed_option(text + end, options_of(pair)) not in ("a", "b")


def test_an_option_that_begins_with_the_article_is_not_the_letter_a():
    for start in ("A woman at the till", "A Dutch trader", "A."):
        options = {
            "a": f"{start} Smit counted the coins again.",
            "b": f"{start} Smit waved the queue on with a grin.",
        }
        for letter, sentence in options.items():
            for text in (
                sentence,
                sentence.lower(),
                f"{letter}) {sentence}",
                f"Answer: {sentence}",
            ):
                assert listed_option(text, options) == letter, text
