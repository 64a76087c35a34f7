"""What `lm-eval-bias check FILE --for hbb` refuses of a concept pair, as the issue lists it; one
change to a good pair at a time."""

import pytest
from concept_pair import GOOD

from lm_eval_bias import cli
from lm_eval_bias.benchmarks.hbb.concepts_documents import named, unfit
from lm_eval_bias.data.lexicons import table
from tests.scripted import write_lines

FORMS = {"subject": "she", "possessive": "her", "object": "her", "reflexive": "herself"}
OTHER_OPTION = "At ten past eight the driver saw X come round the corner, one shoe still in X hand."


def found(**change):
    return [(field, check) for field, check, _ in unfit({**GOOD, **change}, FORMS)]


def test_a_good_pair_and_all_of_ours_are_fit():
    assert found() == []
    comma = "A minute was over, [[X]] waved to the first who came, and [[X:obj]] all greeted."
    assert found(option_1=comma) == []
    assert [each for row in table("hbb_concepts") for each in unfit(row, FORMS)] == []


@pytest.mark.parametrize(
    "change, field, check",
    [
        ({"context": "The bus was to leave at eight."}, "context", "missing placeholder"),
        (
            {"context": "The bus was to leave at eight, and [[X's]] bag was there."},
            "context",
            "missing placeholder",
        ),
        (
            {
                "option_1": "At ten to eight somebody stood at the stop, and waved to the first "
                "who came round the corner."
            },
            "option_1",
            "missing placeholder",
        ),
        (
            {
                "option_2": "At ten past eight the driver saw [[Y]] come round the corner, one "
                "shoe still in one hand."
            },
            "option_2",
            "missing placeholder",
        ),
        (
            {
                "option_1": "[[X]] was always there on time, and waved to the first who came "
                "round the corner."
            },
            "option_1",
            "concept named",
        ),
        (
            {
                "option_2": "The driver, who was always late, saw that [[X]] was so too, one "
                "shoe still in [[X's]] hand."
            },
            "option_2",
            "concept named",
        ),
        (
            {
                "option_1": "At ten to eight [[X:their]] bag stood at the stop, and [[X]] waved "
                "to the first who came round."
            },
            "option_1",
            "pronoun",
        ),
        (
            {
                "option_1": "At ten to eight the driver greeted [[X]] coldly, who waved to the "
                "first who came round the corner."
            },
            "option_1",
            "pronoun",
        ),
        (
            {"context": "The bus to the fair was to leave at eight, and [[X]]'s bag was in it."},
            "context",
            "pronoun",
        ),
        ({"option_2": GOOD["option_1"]}, "option_2", "options alike"),
        (
            {"option_1": "[[X]] stood at the stop, and waved to the one"},
            "option_1",
            "option lengths",
        ),
    ],
)
def test_each_fault_is_found_where_it_is_and_no_other(change, field, check):
    assert found(**change) == [(field, check)]


def test_lengths_differ_by_half_from_one_character_below_half():
    """The token of the person counts as one character, whatever the descriptor: "X " and 38 letters
    are 40."""
    long = "[[X]] " + 38 * "a"
    assert found(option_1=long, option_2="[[X]] " + 18 * "b") == []  # 20 of 40
    # 19 of 40
    assert found(option_1=long, option_2="[[X]] " + 17 * "b") == [("option_2", "option lengths")]


@pytest.mark.parametrize(
    "text, concept, part",
    [
        ("[[X]] got good marks in math.", "good at math", "good at math"),
        ("[[X]] did sums in math.", "good at math", None),
        ("The nurses met [[X]].", "nurse", "nurse"),
        ("[[X]] left.", "x", None),  # the token is no word
        ("[[X]] watched football.", "sports activities (football)", "football"),
        ("[[X]] cared for the family-oriented guests.", "Family-Oriented", "family-oriented"),
        ("[[X]] was elsewhere.", "to be", None),
        (
            "[[X]] wanted to be there.",
            "to be",
            "to be",
        ),  # a concept of function words alone is named by them
        ("[[X]]擅长数学。", "擅长数学", "擅长数学"),
    ],
)
def test_a_concept_is_named_where_its_words_stand_in_any_form(text, concept, part):
    assert named(text, concept) == part


def test_check_says_line_and_field(here, capsys):
    alike = {**GOOD, "id": "named", "option_1": f"{GOOD['option_1']} She was always on time."}
    rows = [GOOD, alike, {**GOOD, "id": "long", "option_1": "[[X]] stood at the stop."}]
    write_lines(here / "i.jsonl", rows)
    assert cli.main(["check", "i.jsonl", "--for", "hbb"]) == 1
    # the last: "X stood at the stop." is 20 characters
    assert capsys.readouterr().err.splitlines() == [
        "lm-eval-bias: 2 problems:",
        "  i.jsonl, line 2, option_1: names its concept, 'always on time', which it is "
        "to show by what the person does",
        f"  i.jsonl, line 3, option_1: 20 characters, the other option has "
        f"{len(OTHER_OPTION)}: less than half, so length alone tells them apart",
    ]
