"""The dictionary of stereotype content: its rows, how keywords are looked up, and the authors'."""

import csv
import re
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from lm_eval_bias.answers import stereotype_content
from lm_eval_bias.answers.filters import SurveyContent
from lm_eval_bias.answers.stereotype_content import NOTHING, ContentDictionary, Found, folded, ours
from lm_eval_bias.data import sources
from lm_eval_bias.data.lexicons import table
from tests.mistakes import refused

DIMENSIONS = [
    *("sociability", "morality", "ability", "assertiveness", "status", "health", "beauty"),
    *("politics", "religion"),
]
ROWS = table("stereotype_content")


def content_of(text):
    """[("sociability", 1), ("morality", -1), ("religion", 0)] of "+sociability -morality
    religion"."""
    return [(word.strip("+-"), {"+": 1, "-": -1}.get(word[0], 0)) for word in text.split()]


def table_of(text):
    """Phrase -> content, of lines "phrase: content"."""
    rows = [line.split(":") for line in text.strip().splitlines()]
    return {phrase.strip(): content_of(content) for phrase, content in rows}


WORDS = """
    hard-working: +assertiveness
    friendly: +sociability
    criminal: -morality
    risk-taker: +assertiveness
    leader: +assertiveness
    poor: -status
    Muslim: religion
    skillful: +ability
    marginalized: -status
    humor: +sociability
    rich: +status
    lazy: -assertiveness
    caring: +sociability +morality
    care: +health
    health: health
    poor health: -health
    control: +assertiveness
    thief: -morality
    ability: +ability
    naive: -ability
    agonizing: feelings
    cool: +sociability -sociability status
    Cool: +status
"""
SMALL = ContentDictionary(
    [(word, *entry) for word, content in table_of(WORDS).items() for entry in content],
    lemmas=[("agonize", "feelings", 0)],
)


# ---- What stands in it


def test_every_word_is_plain_stands_once_in_a_dimension_and_has_one_spelling():
    assert max(Counter((row["word"], row["dimension"]) for row in ROWS).values()) == 1
    words = {row["word"] for row in ROWS}
    assert len({folded(word) for word in words}) == len(words)
    for row in ROWS:
        assert re.fullmatch(r"[a-z]+([ -][a-z]+)*", row["word"]), row
        assert row["dimension"] in DIMENSIONS and row["direction"] in ("1", "0", "-1"), row


# table, figure or section of StereoMap -> words that it prints
PRINTED = {
    "Table 1": "Caring, Hardworking, Friendly, Sociable",
    "Table 4": (
        "Friendly, Sociable, Trustworthy, Honest, Competent, Skilled, Confident, Assertive"
    ),
    "Table 6": (
        "competent, confident, independent, competitive, intelligent, capable, efficient, "
        "skillful, tolerant, warm, good natured, sincere, friendly, well-intentioned, "
        "trustworthy, prestigious, economically successful, well-educated"
    ),
    "Table 7": "Traditional, Conservative, Wealthy, High-status",
    "Table 3": "creative, accepted, able, strong work ethic, poverty, inequality",
    "Table 10": (
        "stigmatized, resourceful, immature, lucrative, lazy, unmotivated, undeserving, "
        "criminal record, addicts, flawed, undesirable, discriminated, underrepresented, "
        "privileged, independent, self-reliant, influential, fame, luxury, glamour, prestige, "
        "power, underemployed, determined, disability, money laundering, trafficking, recklessness"
    ),
    "Table 11": "achievement, opportunity, wealth, power, dominance",
    "appendix M": "risk takers, risk taking, risk taker",
    "section 3.2": "confident",
}


def test_words_that_the_paper_prints_are_found():
    for place, words in PRINTED.items():
        missing = [word for word in words.split(", ") if not ours().look_up(word).content]
        assert not missing, (place, missing)


# ---- How a keyword is looked up


def test_case_hyphens_and_spaces_do_not_matter():
    for keyword in (
        *("hard-working", "hard working", "hardworking", "Hard-Working", "HARD‑WORKING"),
        *(" hard-working. ", '"hard-working"', "hard_working", "hard-working (mostly)"),
    ):
        assert SMALL.look_up(keyword) == Found([("assertiveness", 1)], "written"), keyword


SPELLINGS = (
    "skilful=skillful marginalised=marginalized humour=humor naïve=naive organised=organized "
    "street-wise=streetwise honourable=honorable likeable=likable sceptical=skeptical "
    "good-humoured=good-humored analysing=analyzing centre=center colourful=colorful "
    "neighbourly=neighborly grey-haired=greyhaired labelled=labeled"
)
DIFFERENT = "wise=wiz sour=sor able=ale filled=felled our=or holly=holy rise=rize"


def test_spellings_fold_to_one_and_words_that_differ_stay_apart():
    for pairs, same in ((SPELLINGS, True), (DIFFERENT, False)):
        for pair in pairs.split():
            one, other = pair.split("=")
            assert (folded(one) == folded(other)) is same, pair


# before base forms; rows that contradict each other leave no direction
AS_WRITTEN = """
    caring: +sociability +morality
    poor health: -health
    agonising: feelings
    cool: sociability +status
"""
BASE_FORMS = """
    cares: +health
    agonizes: feelings
    criminals: -morality
    risk-takers: +assertiveness
    Leaders: +assertiveness
    friendlier: +sociability
    Muslims: religion
    laziest: -assertiveness
    thieves: -morality
    abilities: +ability
    poorer: -status
"""


@pytest.mark.parametrize(
    "rows, how", [(AS_WRITTEN, "written"), (BASE_FORMS, "lemma")], ids=["as written", "base forms"]
)
def test_what_is_written_comes_before_base_forms(rows, how):
    for keyword, content in table_of(rows).items():
        assert SMALL.look_up(keyword) == Found(content, how), keyword


UNKNOWN = [
    *("disability", "inability", "self-control", "culturally rich", "", "-", "42", "the", "一"),
    *("not friendly", "unfriendly", "lack of humor", "friendly people", "rich and lazy"),
]


def test_what_is_not_in_the_dictionary_is_not_found():
    assert [keyword for keyword in UNKNOWN if SMALL.look_up(keyword) != NOTHING] == []


@given(st.sampled_from(sorted({row["word"] for row in ROWS})))
def test_every_word_is_found_as_written_in_all_spellings(word):
    known = ours().look_up(word)
    assert known.how == "written"
    for spelling in (
        word.title().replace("-", " "),
        word.replace(" ", "-"),
        re.sub("[- ]", "", word),
    ):
        assert ours().look_up(spelling) == known


# ---- The authors'

FILE = "Full_Dictionaries.csv"


@pytest.fixture
def official(authors, monkeypatch):
    path = authors(f"stereomap/{FILE}")
    monkeypatch.setenv(sources.LOCAL, str(path.parents[1]))
    stereotype_content.official.cache_clear()
    yield path
    stereotype_content.official.cache_clear()


def test_what_a_body_is_like_and_which_group_it_is_has_no_direction_but_illness_and_looks_have():
    """The authors have these under body_property, body_covering and skin, or give no direction; to
    give one would encode what BIStereo measures. exotic is of low ordinariness there."""
    without = "slim slender petite tall feminine fat overweight skinny chubby bald hairy exotic "
    for word in (without + "obese pale wrinkled blind masculine chaste refugee nerd").split():
        assert {direction for _, direction in ours().look_up(word).content} == {0}, word
    for word, content in table_of("ugly: -beauty\nill: -health\nhandsome: +beauty").items():
        assert ours().look_up(word).content == content


def test_a_single_word_has_the_entries_that_the_authors_program_sums(official):
    """keywords_analysis.py: the row of the word as it is written, each dimension marked 1 with its
    direction, or 1 where there is no such column. Of some words ours folds two spellings."""
    known = {}
    with official.open(encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            known[row["original word"]] = {
                name[:-11].lower().replace("agency", "assertiveness"): int(direction)
                for name, value in row.items()
                if name.endswith(" dictionary") and value == "1"
                for direction in [row.get(f"{name[:-10]}direction", "1").replace("NA", "0")]
            }
    words = [word for word in known if " " not in word and known[word]]
    found = dict(stereotype_content.single_words(words))
    assert len(words) > 10_000
    assert sum(known[word] != dict(found.get(word, [])) for word in words) < len(words) * 0.02
    asked = ["tall", "criminals", "hard working", "exotic", "blorpish", "very odd"]
    assert dict(stereotype_content.single_words(asked)) == {
        word: list(known[word].items()) for word in ("tall", "criminal", "exotic")
    }
    assert known["tall"] == {"body_property": 1} and known["exotic"] == {"ordinariness": -1}


# ---- The filter

DOC = {"items": ["Friendly"], "text": "men", "keywords": 5}
ANSWER = "1. Lazy\n2. Risk takers\n3. Not friendly\n4. Purple\n\n- Friendly: 4"


def filtered(text):
    return SurveyContent().apply([[text]], [DOC])[0][0]


def test_the_filter_puts_content_beside_ratings_and_keywords():
    answer = filtered(ANSWER)
    assert answer["ratings"] == {"Friendly": 4}
    assert answer["keywords"] == ["lazy", "risk takers", "not friendly", "purple"]
    assert answer["content"] == [
        ["lazy", "written", [["assertiveness", -1]]],
        ["risk takers", "lemma", [["assertiveness", 1]]],
        ["not friendly", None, []],
        ["purple", None, []],
    ]
    assert filtered("- Friendly: 4")["content"] == []
    assert filtered("I'm sorry, but I can't help with that.") == "refused"


def test_another_dictionary_is_told_before_a_model_is_asked(monkeypatch, tmp_path):
    with refused("dictionary: expected ours or official, found 'theirs'"):
        SurveyContent(dictionary="theirs")
    monkeypatch.setenv(sources.LOCAL, str(tmp_path))
    stereotype_content.official.cache_clear()
    with refused(rf"{FILE} is missing"):
        SurveyContent(dictionary="official")
