import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers.filters import Affect, Intensity, NLILabel, WordPairs
from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.benchmarks.mist import measure as mist

SPOKEN = [
    ("<think>Hmm, comedy ...</think> Tragedy", "Tragedy"),
    ("<think>\n\n</think>\n\nTragedy", "Tragedy"),
    ("<thinking>Comedy?</thinking>Tragedy", "Tragedy"),
    ("<reasoning>Comedy?</reasoning>\nTragedy", "Tragedy"),
    ("<THINK>Comedy</THINK>Tragedy", "Tragedy"),
    ("<seed:think>Comedy</seed:think>Tragedy", "Tragedy"),
    ("<think><reasoning>Comedy</reasoning> Comedy</think>Tragedy", "Tragedy"),
    ("<think>Comedy</think><think>Comedy</think>Tragedy", "Tragedy"),
    ("Comedy, perhaps.\n</think>\nTragedy", "Tragedy"),
    ("[THINK]Comedy[/THINK]Tragedy", "Tragedy"),
    ("◁think▷Comedy◁/think▷Tragedy", "Tragedy"),
    (
        "<|begin_of_thought|>Comedy<|end_of_thought|><|begin_of_solution|>Tragedy<|end_of_solution|>",
        "Tragedy",
    ),
    (
        "<|START_THINKING|>Comedy<|END_THINKING|><|START_RESPONSE|>Tragedy<|END_RESPONSE|>",
        "Tragedy",
    ),
    (
        "<|channel|>analysis<|message|>Comedy<|end|><|start|>assistant<|channel|>final<|message|>Tragedy<|return|>",
        "Tragedy",
    ),
    ("analysisComedy? No.assistantfinalTragedy", "Tragedy"),
    ("<|channel>thought\nComedy<channel|>Tragedy", "Tragedy"),
    ("<unused94>thought\nComedy<unused95>Tragedy", "Tragedy"),
    ("Here is my thought process: Comedy. Here is my response: Tragedy", "Tragedy"),
    ("Tragedy<|im_end|>\n<|im_start|>user\nComedy", "Tragedy"),
    ("<think>Comedy</think><|begin_of_box|>Tragedy<|end_of_box|>", "Tragedy"),
    ("[unused16]Comedy[unused17]Tragedy", "Tragedy"),
    ("Tragedy", "Tragedy"),
    ("I think so. [reason]", "I think so. [reason]"),
    ("", ""),
]
CUT_OFF = [
    "<think>Hmm, comedy",
    "<think>",
    "Tragedy <think>or comedy",
    "<reasoning>Comedy, since",
    "<|channel|>analysis<|message|>Comedy",
    "<|channel|>analysis<|message|>Comedy<|end|>",
    "analysisThe user wants comedy",
    "[THINK]Comedy",
    "<|START_THINKING|>Comedy",
    "<|channel>thought\nComedy",
    "Here is my thought process: Comedy",
]


@pytest.mark.parametrize(("text", "said"), SPOKEN)
def test_reasoning_is_not_spoken(text, said):
    assert spoken(text).strip() == said


@pytest.mark.parametrize("text", CUT_OFF)
def test_reasoning_without_an_end_is_cut_off(text):
    assert spoken(text) is None


DOC = {"words": ["Warm", "Quiet"], "groups": ["Lady", "Man"], "scale": 10, "narrative": ""}


@pytest.mark.parametrize("filter_", [NLILabel, WordPairs, Affect, Intensity])
def test_every_parser_counts_what_was_cut_off_and_says_how_to_give_more_room(filter_, caplog):
    with caplog.at_level(logging.WARNING):
        answers = filter_().apply(
            [["<think>Neutral? Comedy? 8? Warm: Man", "Hello."], ["<think>"]], [DOC] * 2
        )
    assert answers == [["cut off", "unparsed"], ["cut off"]]
    assert (
        "2 of 3 answers were cut off within reasoning" in caplog.text
        and "--gen_kwargs max_gen_toks=" in caplog.text
    )


def test_nothing_is_said_where_nothing_was_cut_off(caplog):
    assert (
        Affect().apply([["<think>Comedy</think>Tragedy"]], [DOC]) == [["tragedy"]]
        and not caplog.text
    )


def test_a_verdict_that_was_cut_off_is_unparsed():
    doc = dict.fromkeys(mist.ATTRIBUTION_KEYS, "x")
    assert mist.record_aat(doc, ["cut off"])["verdict"] == "unparsed"


MARKS = [
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<|channel|>",
    "final",
    "analysis",
    "<|message|>",
    "<|end|>",
    "assistantfinal",
    "a",
    "\n",
]


@given(st.text() | st.lists(st.sampled_from(MARKS)).map("".join))
def test_no_text_makes_it_raise_and_what_is_spoken_was_written(text):
    said = spoken(text)
    assert said is None or set(said) <= set(text) | {" "}
