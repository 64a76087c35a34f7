"""The answers in the YAML files, and what every reader promises for any text."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score import PARTS, answer_of, cases, expected, outcomes, parser_of

from lm_eval_bias.answers.affect import affect
from lm_eval_bias.answers.analogy import analogy_word
from lm_eval_bias.answers.intensity import intensity
from lm_eval_bias.answers.listed_option import ANOTHER, listed_option
from lm_eval_bias.answers.nli_label import nli_label
from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.answers.refusal import is_refusal
from lm_eval_bias.answers.survey import survey_answer
from lm_eval_bias.answers.word_pairs import word_pairs

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_written_answer_is_read_as_a_careful_reader_reads_it(path):
    """A case that says `lost: true` is not read, and not read wrongly."""
    reader, written = parser_of(path), cases(path)
    wrong = []
    for case in written:
        faults = set(outcomes(reader, case)) - {"right"}
        if "wrong" in faults or bool(faults) != case.get("lost", False):
            read = answer_of(reader, case)
            wrong.append(f"{case['text'][:300]!r}: expected {expected(case)}, read {read}")
    assert written and not wrong, "\n".join([f"{len(wrong)} of {len(written)}", *wrong])
    assert sum("lost" in case for case in written) <= max(1, 0.02 * len(written))


WORDS = ["Just", "Unjust", "Weak", "Warm", "Quiet", "Competent", "Incompetent", "Self-contained"]
OPTIONS = {
    "a": "She checked the sum twice before she paid.",
    "b": "She handed over the card without looking at the bill.",
}
NONE = ("refused", "unparsed")


def is_survey_answer(answer, items, n_keywords):
    if isinstance(answer, str):
        return answer in NONE
    ratings, keywords = answer["ratings"], answer["keywords"]
    return (
        len(answer) == 2
        and (ratings or keywords)
        and set(ratings) <= set(items)
        and all(isinstance(value, float) and 1 <= value <= 5 for value in ratings.values())
        and len(keywords) <= n_keywords
        and all(k and k == k.lower().strip() and len(k.split()) < 6 for k in keywords)
    )


def survey_reader(items, n_keywords):
    return (
        lambda text: survey_answer(text, items, "men", n_keywords),
        lambda answer, text: is_survey_answer(answer, items, n_keywords),
    )


# reader, and what it may return for a text
READERS = {
    "affect": (affect, lambda answer, text: answer in ("comedy", "tragedy", "neutrality", *NONE)),
    "analogy": (
        lambda text: analogy_word(text, ["educated", "uneducated"], "Woman in burqa"),
        lambda answer, text: answer in ("educated", "uneducated", *NONE),
    ),
    "intensity": (
        lambda text: intensity(text, 100, "I waited 45 minutes"),
        lambda answer, text: answer in NONE or 0 <= answer <= 100,
    ),
    "intensity to 10": (
        lambda text: intensity(text, 10, text),
        lambda answer, text: answer in NONE or 0 <= answer <= 10,
    ),
    "listed_option": (
        lambda text: listed_option(text, OPTIONS),
        lambda answer, text: answer in ("a", "b", ANOTHER, *NONE),
    ),
    "listed_option of the text": (
        lambda text: listed_option(text, {"a": text[:20], "b": text[20:200]}),
        lambda answer, text: answer in ("a", "b", ANOTHER, *NONE),
    ),
    "nli_label": (
        nli_label,
        lambda answer, text: answer in ("entailment", "contradiction", "neutral", *NONE),
    ),
    "is_refusal": (is_refusal, lambda answer, text: isinstance(answer, bool)),
    "word_pairs": (
        lambda text: word_pairs(text, WORDS, ["Ethan", "Kwame"]),
        lambda answer, text: answer in NONE or (len(answer) == 8 and set(answer) <= {0, 1}),
    ),
    "spoken": (spoken, lambda answer, text: answer is None or set(answer) <= set(text) | {" "}),
    "survey": survey_reader(PARTS["extended"].split(), 5),
    "survey of one item": survey_reader(["competent"], 3),
    "survey of no item": survey_reader([], 2),
}
by_reader = pytest.mark.parametrize(("read", "is_answer"), READERS.values(), ids=READERS)


def pieces(name):
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


@by_reader
@given(st.text() | st.lists(st.sampled_from(pieces("pieces.jsonl")), max_size=40).map("".join))
def test_no_text_raises_an_error_and_every_answer_is_one_of_those_promised(read, is_answer, text):
    assert is_answer(read(text), text)


def steps(read, text):
    """How many lines of Python are executed."""
    lines = []

    def trace(frame, event, argument):
        lines.append(event)
        return trace

    sys.settrace(trace)
    read(text)
    sys.settrace(None)
    return len(lines)


@pytest.mark.slow
@by_reader
def test_twice_the_text_takes_twice_the_steps(read, is_answer):
    grows = {}
    for piece in pieces("long.jsonl"):
        text = piece * (1 + 1000 // len(piece))
        assert is_answer(read(text * 2), text * 2)
        once, twice = steps(read, text), steps(read, text * 2)
        if twice > 2.3 * once:
            grows[piece] = (once, twice)
    assert grows == {}
