"""The answers in the YAML files, and what every reader promises for any text."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from score import NONE, PARTS, QUESTIONS, answer_of, cases, expected, outcomes, parser_of

from lm_eval_bias.answers.listed_option import ANOTHER

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


# the readers, and what each is asked
READERS = [
    *QUESTIONS.items(),
    ("reasoning", {}),
    ("refusal", {}),
    ("intensity", {"scale": 10, "narrative": "I waited 45 minutes"}),
    ("listed_option", {"options": {"a": "", "b": "b) No?"}}),
    ("survey", {"items": PARTS["extended"].split(), "group": "men", "keywords": 5}),
    ("survey", {"items": ["competent"], "group": "men", "keywords": 3}),
    ("survey", {"items": [], "keywords": 2}),
]
LABELS = {
    "affect": ("comedy", "tragedy", "neutrality"),
    "analogy": ("educated", "uneducated"),
    "listed_option": ("a", "b", ANOTHER),
    "nli_label": ("entailment", "contradiction", "neutral"),
}
by_reader = pytest.mark.parametrize("name, question", READERS)


def is_promised(answer, name, question, text):
    """Whether a reader may return an answer."""
    if name == "reasoning":
        return answer is None or set(answer) <= set(text) | {" "}
    if isinstance(answer, str | bool):
        return answer in (*NONE, *LABELS.get(name, ())) or name == "refusal"
    if name == "intensity":
        return 0 <= answer <= question["scale"]
    if name == "word_pairs":
        return len(answer) == len(question["words"]) and set(answer) <= {0, 1}
    ratings, keywords = answer["ratings"], answer["keywords"]
    return (
        len(answer) == 2
        and (ratings or keywords)
        and set(ratings) <= set(question["items"])
        and all(isinstance(value, float) and 1 <= value <= 5 for value in ratings.values())
        and len(keywords) <= question.get("keywords", 0)
        and all(k and k == k.lower().strip() and len(k.split()) < 6 for k in keywords)
    )


def pieces(name):
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


@by_reader
@given(st.text() | st.lists(st.sampled_from(pieces("pieces.jsonl")), max_size=40).map("".join))
def test_no_text_raises_an_error_and_every_answer_is_one_of_those_promised(name, question, text):
    assert is_promised(answer_of(name, {**question, "text": text}), name, question, text)


def steps(name, case):
    """How many lines of Python are executed."""
    lines = []

    def trace(frame, event, argument):
        lines.append(event)
        return trace

    sys.settrace(trace)
    answer_of(name, case)
    sys.settrace(None)
    return len(lines)


@pytest.mark.slow
@by_reader
def test_twice_the_text_takes_twice_the_steps(name, question):
    """A look at each pair of 150 pieces would show beside 400 lines for each of them."""
    grows = {}
    for piece in pieces("long.jsonl"):
        text = piece * min(150, 1000 // len(piece))
        answer_of(name, {**question, "text": text + piece})  # compiles patterns
        once, twice = (steps(name, {**question, "text": text * n}) for n in (1, 2))
        if twice > 2.3 * once:
            grows[piece] = (once, twice)
    assert grows == {}
