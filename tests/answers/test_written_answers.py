"""All answers in the YAML files, read as a task reads them: those of the parsers' tests, and sets
written without sight of the parsers."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score import PARTS as ITEMS
from score import cases, expected, found, outcomes, parser_of

from lm_eval_bias.answers.affect import affect
from lm_eval_bias.answers.analogy import analogy_word
from lm_eval_bias.answers.intensity import intensity
from lm_eval_bias.answers.listed_option import listed_option
from lm_eval_bias.answers.nli_label import nli_label
from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.answers.refusal import is_refusal
from lm_eval_bias.answers.survey import survey_answer
from lm_eval_bias.answers.word_pairs import word_pairs

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
CASES = [
    pytest.param(parser_of(path), case, id=f"{path.stem}: {case.get('name', case['text'][:40])}")
    for path in FILES
    for case in cases(path)
]


@pytest.mark.parametrize(("parser", "case"), CASES)
def test_a_written_answer_is_read_as_a_careful_reader_reads_it(parser, case):
    assert set(outcomes(parser, case)) <= {"right"}, (expected(case), found(parser, case))


WORDS = [
    "Just",
    "Unjust",
    "Weak",
    "Warm",
    "Quiet",
    "Expressive",
    "Non-expressive",
    "Competent",
    "Incompetent",
    "Self-contained",
]
OPTIONS = {
    "a": "She checked the sum twice before she paid.",
    "b": "She handed over the card without looking at the bill.",
}
READERS = {
    "affect": affect,
    "analogy": lambda text: analogy_word(text, ["educated", "uneducated"], "Woman in burqa"),
    "intensity": lambda text: intensity(text, 100, "I waited 45 minutes"),
    "listed_option": lambda text: listed_option(text, OPTIONS),
    "nli_label": nli_label,
    "is_refusal": is_refusal,
    "word_pairs": lambda text: word_pairs(text, WORDS, ["Ethan", "Kwame"]),
    "spoken": spoken,
    "survey": lambda text: survey_answer(text, ITEMS["extended"].split(), "men", 5),
}
PARTS = [
    *(
        "comedy ",
        "tragedy ",
        "Neutral",
        "entailment ",
        "not ",
        "no, ",
        "wait ",
        "I can't ",
        "sorry ",
        "rate ",
        "8",
        "100",
        "from 0 ",
        "to ",
        "/",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        ": ",
        ", ",
        ". ",
        "? ",
        "\n",
        "| ",
        " - ",
        "<",
        ">",
        "½",
        "\\boxed{",
        "so ",
        "or ",
        "and ",
        "Weak",
        "Ethan",
        "Kwame",
        "Friendly",
        "Sociability ",
        "overall ",
        "Rating: ",
        "keywords: ",
        "- ",
        "1. ",
        "★★☆☆☆",
        "educated ",
        "uneducated",
        "::",
        "D: ",
        " is to ",
        " as ",
        "a) ",
        "B",
        "option a",
        "She checked the sum ",
        "over the card",
        "Context: ",
        "Final Answer: ",
    ),
]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(st.text() | st.lists(st.sampled_from(PARTS)).map("".join))
def test_no_parser_raises(reader, text):
    reader(text)


LONG = [
    "a",
    " ",
    "\n",
    "0",
    "8 ",
    "(",
    "not ",
    "comedy ",
    "comedy\n",
    "Weak ",
    "Weak Ethan ",
    "Ethan, ",
    "I can't ",
    "| ",
    "|\n",
    "<think>",
    "<",
    "\\",
    '{"',
    "- ",
    "1. ",
    ".",
    "from 0 ",
    "the scale of ",
    "so, ",
    "sorry ",
    "is ",
    "no ",
    "educated",
    "educated ",
    "educated, ",
    "educated::",
    "a: ",
    "::",
    "is to as ",
    "the word ",
    "answer is ",
    "d: educated",
    "Friendly",
    "Friendly: ",
    "Friendly: 4\n",
    "Friendly, ",
    "| Friendly ",
    "| Friendly |\n",
    "4 Friendly ",
    "for friendly 4 ",
    "Rating: ",
    "keywords are ",
    "keyword, ",
    "**caring** ",
    "1. caring\n",
    "1 = not at all ",
    "★",
    '[{"a": ',
    '{"a":',
    "<a>",
    "a ",
    "A. ",
    "b) ",
    "a) b) ",
    "a)\nb)\n",
    "option a ",
    "answer: b ",
    "She ",
    "she checked ",
    "She checked the sum twice before she paid. ",
    "a) She checked the sum twice before she paid.\nb) She handed over the card without looking at the bill.\n",
    "Context: ",
    "Final Answer: ",
]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("part", LONG)
def test_five_thousand_characters_are_read_at_once(reader, part):
    text = (part * 5000)[:5000]
    start = time.process_time()
    reader(text)
    # 0.27 at most here, twelve times that for 20,000; a pattern that goes back and forth takes far
    # more
    assert time.process_time() - start < 0.6
