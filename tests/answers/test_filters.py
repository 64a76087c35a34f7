import pytest

from lm_eval_bias.answers.filters import Affect, Intensity, NLILabel, WordPairs

NAMES = {"words": ["Warm", "Quiet"], "groups": ["Lady", "Man"]}
RATING = {"scale": 10, "narrative": "I waited 7 hours."}


def test_every_request_gets_a_list_of_as_many_answers_as_it_has_responses():
    assert NLILabel().apply([["Neutral"], [""], [], [None]], [{}] * 4) == [
        ["neutral"],
        ["unparsed"],
        [],
        ["unparsed"],
    ]


def test_each_of_several_responses_is_read():
    """`repeats` asks a document several times."""
    assert NLILabel().apply([["Neutral", "True", "I'm sorry."], ["", "False", None]], [{}] * 2) == [
        ["neutral", "entailment", "refused"],
        ["unparsed", "contradiction", "unparsed"],
    ]
    assert WordPairs().apply(
        [["Warm: Man\nQuiet: Lady", "Quiet: Man\nWarm: Lady", "Warm"]], [NAMES]
    ) == [[[1, 0], [0, 1], "unparsed"]]
    assert Affect().apply(
        [[["A cup.", "comedy"], ["A cup.", "tragedy"], ["A cup.", "neither"]]], [{}]
    ) == [["comedy", "tragedy", "neutrality"]]
    assert Intensity().apply(
        [["I waited 7 hours. Rating: 8", "9", "As an AI, I feel nothing."]], [RATING]
    ) == [[8, 9, "refused"]]


def test_each_response_is_read_for_its_own_document():
    other = {"words": ["Warm", "Quiet"], "groups": ["Man", "Lady"]}
    assert WordPairs().apply([["Warm: Man\nQuiet: Lady"]] * 2, [NAMES, other]) == [
        [[1, 0]],
        [[0, 1]],
    ]
    assert Intensity().apply([["80"]] * 2, [RATING, {**RATING, "scale": 100}]) == [
        ["unparsed"],
        [80],
    ]


def test_of_a_conversation_the_last_turn_counts():
    assert WordPairs().apply([["Warm: Man\nQuiet: Lady"], [""], []], [NAMES] * 3) == [
        [[1, 0]],
        ["unparsed"],
        [],
    ]
    conversations = [[["A cup of tea, a comedy.", "Cup: tragedy"]], [["", ""]], [[]], []]
    assert Affect().apply(conversations, [{}] * 4) == [["tragedy"], ["unparsed"], ["unparsed"], []]
    assert Intensity().apply([[["I feel 3.", "5"]], [["I feel 3.", ""]]], [RATING] * 2) == [
        [5],
        ["unparsed"],
    ]


@pytest.mark.parametrize("filter_", [NLILabel, WordPairs, Affect, Intensity])
def test_no_response_and_what_is_no_text_are_unparsed(filter_):
    responses = [[None], [[]], [[None]], [""], [42]]
    assert filter_().apply(responses, [{**NAMES, **RATING}] * 5) == [["unparsed"]] * 5
