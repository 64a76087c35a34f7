"""The dictionary of stereotype content: what stands in it, how keywords are looked up, and how far
it agrees with the authors'."""

import csv
import hashlib
import re
import time
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.answers import stereotype_content
from lm_eval_bias.answers.filters import SurveyContent
from lm_eval_bias.answers.stereotype_content import NOTHING, ContentDictionary, Found, folded, ours
from lm_eval_bias.data import sources
from lm_eval_bias.data.lexicons import table
from lm_eval_bias.usage import UsageError

DIMENSIONS = [
    "sociability",
    "morality",
    "ability",
    "assertiveness",
    "status",
    "health",
    "beauty",
    "politics",
    "religion",
]
ROWS = table("stereotype_content")


def dictionary(*rows, lemmas=()):
    return ContentDictionary(
        *(
            [dict(zip(("word", "dimension", "direction"), row, strict=True)) for row in some]
            for some in (rows, lemmas)
        )
    )


SMALL = dictionary(
    ("hard-working", "assertiveness", 1), ("friendly", "sociability", 1), ("criminal", "morality", -1), ("risk-taker", "assertiveness", 1),
    ("honest", "morality", 1), ("leader", "assertiveness", 1), ("poor", "status", -1), ("Muslim", "religion", 0), ("skillful", "ability", 1),
    ("marginalized", "status", -1), ("humor", "sociability", 1), ("ambition", "assertiveness", 1), ("rich", "status", 1), ("lazy", "assertiveness", -1),
    ("caring", "sociability", 1), ("caring", "morality", 1), ("violence", "morality", -1), ("dedicated", "assertiveness", 1), ("easy", "ability", 1),
    ("valuable", "status", 1), ("canny", "ability", 1), ("selfish", "morality", -1), ("crime", "morality", -1), ("control", "assertiveness", 1),
    ("thief", "morality", -1), ("ability", "ability", 1), ("price", "status", 1), ("racist", "morality", -1), ("house", "status", 1), ("naive", "ability", -1),
)  # fmt: skip


# ---- What stands in it


def test_no_word_stands_twice_in_one_dimension_nor_in_two_spellings():
    assert max(Counter((row["word"], row["dimension"]) for row in ROWS).values()) == 1
    spelled = defaultdict(set)
    for row in ROWS:
        spelled[folded(row["word"])].add(row["word"])
    assert [words for words in spelled.values() if len(words) > 1] == []


def test_every_word_is_plain_and_has_a_known_dimension_and_direction():
    for row in ROWS:
        assert re.fullmatch(r"[a-z]+([ -][a-z]+)*", row["word"]), row
        assert row["dimension"] in DIMENSIONS and row["direction"] in ("1", "0", "-1"), row


def test_the_table_is_sorted():
    assert list(ROWS) == sorted(
        ROWS,
        key=lambda row: (DIMENSIONS.index(row["dimension"]), -int(row["direction"]), row["word"]),
    )


def test_every_dimension_is_well_filled_in_both_directions():
    for dimension in DIMENSIONS:
        directions = Counter(row["direction"] for row in ROWS if row["dimension"] == dimension)
        assert directions.total() >= 100 and min(directions["1"], directions["-1"]) >= 30, (
            dimension,
            directions,
        )


def test_at_most_a_tenth_of_the_words_have_two_dimensions_and_none_has_three():
    dimensions = Counter(row["word"] for row in ROWS)
    assert len(dimensions) >= 850 and max(dimensions.values()) == 2
    assert sum(n == 2 for n in dimensions.values()) <= len(dimensions) / 10


@pytest.mark.parametrize(
    ("table_or_figure", "words"),
    [
        ("Table 1", ["Caring", "Hardworking", "Friendly", "Sociable"]),
        ("Table 4", ["Friendly", "Sociable", "Trustworthy", "Honest", "Competent", "Skilled", "Confident", "Assertive"]),
        ("Table 6", ["competent", "confident", "independent", "competitive", "intelligent", "capable", "efficient", "skillful", "tolerant", "warm",
                     "good natured", "sincere", "friendly", "well-intentioned", "trustworthy", "prestigious", "economically successful", "well-educated"]),
        ("Table 7", ["Traditional", "Conservative", "Wealthy", "High-status"]),
        ("Table 3", ["creative", "accepted", "able", "strong work ethic", "poverty", "inequality"]),
        ("Table 10", ["stigmatized", "resourceful", "immature", "lucrative", "lazy", "unmotivated", "undeserving", "criminal record", "addicts", "flawed",
                      "undesirable", "discriminated", "underrepresented", "privileged", "independent", "self-reliant", "influential", "fame", "luxury",
                      "glamour", "prestige", "power", "underemployed", "determined", "disability", "money laundering", "trafficking", "recklessness"]),
        ("Table 11", ["achievement", "opportunity", "wealth", "power", "dominance"]),
        ("appendix M", ["risk takers", "risk taking", "risk taker"]),
        ("section 3.2", ["confident"]),
    ],
)  # fmt: skip
def test_words_that_the_paper_prints_are_found(table_or_figure, words):
    assert [word for word in words if not ours().look_up(word).content] == []


# ---- How a keyword is looked up


@pytest.mark.parametrize(
    "keyword",
    [
        "hard-working",
        "hard working",
        "hardworking",
        "Hard-Working",
        "HARD‑WORKING",
        " hard-working. ",
        '"hard-working"',
        "hard_working",
    ],
)
def test_case_hyphens_and_spaces_are_no_matter(keyword):
    assert SMALL.look_up(keyword) == Found([("assertiveness", 1)], "written")


@pytest.mark.parametrize(
    ("one", "other"),
    [("skilful", "skillful"), ("marginalised", "marginalized"), ("humour", "humor"), ("naïve", "naive"), ("organised", "organized"), ("street-wise", "streetwise"),
     ("honourable", "honorable"), ("likeable", "likable"), ("sceptical", "skeptical"), ("good-humoured", "good-humored"), ("analysing", "analyzing"),
     ("centre", "center"), ("colourful", "colorful"), ("neighbourly", "neighborly"), ("grey-haired", "greyhaired"), ("labelled", "labeled")],
)  # fmt: skip
def test_spellings_fold_to_one(one, other):
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    "pair",
    [
        ("wise", "wiz"),
        ("sour", "sor"),
        ("able", "ale"),
        ("filled", "felled"),
        ("our", "or"),
        ("holly", "holy"),
        ("rise", "rize"),
    ],
)
def test_words_that_differ_stay_apart(pair):
    assert folded(pair[0]) != folded(pair[1])


@pytest.mark.parametrize(
    ("keyword", "content"),
    [("criminals", [("morality", -1)]), ("risk-takers", [("assertiveness", 1)]), ("Leaders", [("assertiveness", 1)]), ("friendlier", [("sociability", 1)]),
     ("Muslims", [("religion", 0)]), ("laziest", [("assertiveness", -1)]), ("thieves", [("morality", -1)]), ("abilities", [("ability", 1)]), ("poorer", [("status", -1)])],
)  # fmt: skip
def test_then_the_base_form_is_looked_up(keyword, content):
    assert SMALL.look_up(keyword) == Found(content, "lemma")


NOUNS = {"celebrity": "celebrities", "minority": "minorities", "bully": "bullies", "hero": "heroes", "thief": "thieves", "addict": "addicts", "millionaire": "millionaires",
         "activist": "activists", "atheist": "atheists", "team player": "team players", "drug dealer": "drug dealers", "hard worker": "hard workers",
         "high earner": "high earners", "nonbeliever": "non-believers", "business owner": "business owners"}  # fmt: skip


@pytest.mark.parametrize("noun", NOUNS)
def test_plurals_of_our_nouns_are_found(noun):
    assert ours().look_up(NOUNS[noun]) == Found(ours().look_up(noun).content, "lemma") != NOTHING


@pytest.mark.parametrize(
    ("keyword", "content"),
    [
        ("very friendly", [("sociability", 1)]), ("extremely lazy", [("assertiveness", -1)]), ("the poor", [("status", -1)]),
        ("strong leader", [("assertiveness", 1)]), ("political leaders", [("assertiveness", 1)]), ("friendly people", [("sociability", 1)]),
        ("caring nature", [("sociability", 1), ("morality", 1)]), ("dedicated to family", [("assertiveness", 1)]), ("prone to violence", [("morality", -1)]),
        ("seen as lazy", [("assertiveness", -1)]), ("risk taking", [("assertiveness", 1)]), ("highly skilful people", [("ability", 1)]),
        ("rich and friendly", [("status", 1), ("sociability", 1)]), ("friendly/caring", [("sociability", 1), ("morality", 1)]),
        ("rich but lazy", [("status", 1), ("assertiveness", -1)]),
    ],
)  # fmt: skip
def test_then_what_decides_a_phrase(keyword, content):
    assert SMALL.look_up(keyword) == Found(content, "phrase")


@pytest.mark.parametrize(
    ("keyword", "content"),
    [
        ("not friendly", [("sociability", -1)]), ("not very friendly", [("sociability", -1)]), ("isn't lazy", [("assertiveness", 1)]), ("unfriendly", [("sociability", -1)]),
        ("unselfish", [("morality", 1)]), ("non-criminal", [("morality", 1)]), ("lack of ambition", [("assertiveness", -1)]), ("lacking ambition", [("assertiveness", -1)]),
        ("less honest", [("morality", -1)]), ("low crime", [("morality", 1)]), ("low ability", [("ability", -1)]), ("anti-racist", [("morality", 1)]),
        ("poor leaders", [("assertiveness", -1)]), ("bad criminal", [("morality", -1)]), ("not a Muslim", [("religion", 0)]), ("not caring", [("sociability", -1), ("morality", -1)]),
        ("never not friendly", [("sociability", 1)]),
    ],
)  # fmt: skip
def test_words_that_say_the_contrary_turn_the_direction_round(keyword, content):
    assert SMALL.look_up(keyword) == Found(content, "phrase")


@pytest.mark.parametrize(
    "keyword",
    ["invaluable", "priceless", "uneasy", "uncanny", "disability", "inability", "unhoused", "underground", "self-control", "culturally rich", "family-friendly",
     "user-friendly", "source of wonder", "people", "very", "not", "lack of", "", "-", "42", "and", "the", "一", "full of",
     "someone who was never known to be friendly to strangers"],
)  # fmt: skip
def test_what_is_not_in_the_dictionary_is_not_found(keyword):
    assert SMALL.look_up(keyword) == NOTHING


def test_brackets_are_left_out():
    assert SMALL.look_up("friendly (mostly)") == Found([("sociability", 1)], "written")


def test_what_is_written_comes_before_base_forms_and_these_before_phrases():
    small = dictionary(
        ("caring", "morality", 1),
        ("care", "health", 1),
        ("poor health", "health", -1),
        ("health", "health", 0),
    )
    assert small.look_up("caring") == Found([("morality", 1)], "written")
    assert small.look_up("cares") == Found([("health", 1)], "lemma")
    assert small.look_up("poor health") == Found([("health", -1)], "written")
    assert small.look_up("good health") == Found([("health", 0)], "phrase")


def test_a_dictionary_may_bring_base_forms_of_its_own():
    small = dictionary(("agonizing", "feelings", 0), lemmas=[("agonize", "feelings", 0)])
    assert small.look_up("agonizes") == Found([("feelings", 0)], "lemma")
    assert "agonize" not in small and "agonising" in small and len(small) == 1


def test_rows_of_one_word_that_contradict_each_other_leave_no_direction():
    small = dictionary(
        ("cool", "sociability", 1),
        ("cool", "sociability", -1),
        ("Cool", "status", 1),
        ("cool", "status", 0),
    )
    assert small.look_up("cool").content == [("sociability", 0), ("status", 1)]


@given(st.text(max_size=60))
def test_any_text_can_be_looked_up(text):
    content, how = ours().look_up(text)
    assert bool(content) == (how is not None) and how in (None, "written", "lemma", "phrase")
    assert len({dimension for dimension, _ in content}) == len(content)
    assert all(
        dimension in DIMENSIONS and direction in (-1, 0, 1) for dimension, direction in content
    )


PIECES = [
    "not",
    "very",
    "lack of",
    "low",
    "bad",
    "friendly",
    "leaders",
    "people",
    "of",
    "and",
    "self",
    "unkind",
    "seen as",
    "rich",
    "zebra",
    "-",
    "to",
    "highly",
]


@given(st.lists(st.sampled_from(PIECES), max_size=7).map(" ".join))
def test_phrases_of_all_kinds_come_to_an_end_and_case_is_no_matter(phrase):
    assert ours().look_up(phrase) == ours().look_up(phrase.upper())


@given(st.sampled_from(sorted({row["word"] for row in ROWS})))
def test_every_word_is_found_as_written_in_all_spellings_and_turned_by_not(word):
    found = ours().look_up(word)
    assert found.how == "written"
    assert (
        found
        == ours().look_up(word.title().replace("-", " "))
        == ours().look_up(word.replace(" ", "-"))
        == ours().look_up(re.sub("[- ]", "", word))
    )
    if len(word.split()) < 5 and not re.search("and|lack|low ", word):
        turned = ours().look_up(f"not {word}")
        assert turned.how == "phrase" and dict(turned.content) == {
            dimension: -direction for dimension, direction in found.content
        }


# ---- The authors'

FILE = "Full_Dictionaries.csv"


@pytest.fixture
def official(shared, monkeypatch):
    if not (shared / "official" / "stereomap" / FILE).is_file():
        pytest.skip("the authors' dictionary is not beside this checkout")
    monkeypatch.setenv(sources.LOCAL, str(shared / "official"))
    stereotype_content.official.cache_clear()
    yield stereotype_content.official
    stereotype_content.official.cache_clear()


@pytest.fixture
def released(shared):
    """The authors' rows, read without our reader: lower-case spelling without hyphens and spaces ->
    {dimension: direction}."""
    path = shared / "official" / "stereomap" / FILE
    if not path.is_file():
        pytest.skip("the authors' dictionary is not beside this checkout")
    words = defaultdict(dict)
    for row in csv.DictReader(path.open(encoding="utf-8-sig")):
        for name, value in row.items():
            if name.endswith(" dictionary") and value != "0":
                dimension = (
                    name.removesuffix(" dictionary").lower().replace("agency", "assertiveness")
                )
                direction = row.get(name.replace("dictionary", "direction"), "NA")
                words[re.sub("[^a-z]", "", row["original word"].lower())].setdefault(
                    dimension, set()
                ).add(0 if direction == "NA" else int(direction))
    return {
        word: {dimension: sum(directions) for dimension, directions in content.items()}
        for word, content in words.items()
    }


def test_the_authors_dictionary_is_the_pinned_file(shared):
    design = (shared / "DESIGN.md").read_text()
    release = sources.source("stereomap")
    path, size, sha256 = release.files[FILE]
    assert (
        release.repository in design
        and release.commit in design
        and path == "data/Full Dictionaries.csv"
    )
    content = (shared / "official" / "stereomap" / FILE).read_bytes()
    assert hashlib.sha256(content).hexdigest() == sha256 and len(content) == size


def test_the_authors_dictionary_has_its_dimensions_under_its_own_names(official):
    found = {
        dimension
        for word in stereotype_content.official()._written.values()
        for dimension, _ in word
    }
    assert {
        *DIMENSIONS,
        "work",
        "feelings",
        "ordinariness",
        "body_part",
        "body_property",
        "inhabitant",
    } <= found and "agency" not in found
    assert len(official()) > 14_000


def test_the_authors_dictionary_loads_in_under_a_second(official):
    taken = []
    for _ in range(3):
        official.cache_clear()
        start = time.process_time()
        official()
        taken.append(time.process_time() - start)
    assert min(taken) < 1


def test_our_reader_of_the_authors_file_finds_what_stands_in_it(official, released):
    """All words of one spelling, but the few whose spelling another word shares once British and
    American are one."""
    wrong = [
        word
        for word, content in released.items()
        if dict(official().look_up(word).content) != content
    ]
    assert len(wrong) < len(released) * 0.02


def agreement(released):
    """Of our words that the authors have too: dimension -> [ours, both have it, in the same
    dimension, both directed, direction agrees]."""
    content = defaultdict(dict)
    for row in ROWS:
        content[row["word"]][row["dimension"]] = int(row["direction"])
    counts = {dimension: [0] * 5 for dimension in [*DIMENSIONS, "any"]}
    for word, found in content.items():
        theirs = released.get(re.sub("[^a-z]", "", word))
        shared = [dimension for dimension in found if theirs and dimension in theirs]
        for dimension in found:
            directed = dimension in shared and found[dimension] and theirs[dimension]
            row = (
                1,
                theirs is not None,
                dimension in shared,
                bool(directed),
                bool(directed) and found[dimension] == theirs[dimension],
            )
            counts[dimension] = [a + b for a, b in zip(counts[dimension], row, strict=True)]
        directed = [dimension for dimension in shared if found[dimension] and theirs[dimension]]
        row = (
            1,
            theirs is not None,
            bool(shared),
            bool(directed),
            bool(directed) and all(found[dimension] == theirs[dimension] for dimension in directed),
        )
        counts["any"] = [a + b for a, b in zip(counts["any"], row, strict=True)]
    return counts


def documented(root):
    """The rows of the guide's tables: first cell -> numbers."""
    rows = re.findall(
        r"^\| (\w+) \|((?: [\d,]+ \|)+)$",
        (root / "docs" / "stereotype_content.md").read_text(),
        re.M,
    )
    return [
        (name, [int(cell.replace(",", "")) for cell in cells.split("|")[:-1]])
        for name, cells in rows
    ]


def test_the_guide_has_the_sizes(root):
    sizes = {name: numbers for name, numbers in documented(root) if len(numbers) == 4}
    for dimension in DIMENSIONS:
        directions = Counter(row["direction"] for row in ROWS if row["dimension"] == dimension)
        assert sizes[dimension] == [
            directions.total(),
            directions["1"],
            directions["0"],
            directions["-1"],
        ]
    assert f"{len(ours()):,} words" in (root / "docs" / "stereotype_content.md").read_text()


def test_the_guide_has_the_agreement_with_the_authors(root, released):
    counts = agreement(released)
    assert {name: numbers for name, numbers in documented(root) if len(numbers) == 5} == counts
    _, both, shared, directed, agree = counts["any"]
    assert shared > 0.75 * both and agree > 0.98 * directed


# ---- The filter

DOC = {"items": ["Friendly"], "text": "men", "keywords": 5}
ANSWER = "1. Lazy\n2. Risk takers\n3. Not friendly\n4. Purple\n\n- Friendly: 4"


def filtered(text, **options):
    return SurveyContent(**options).apply([[text]], [DOC])[0][0]


def test_the_filter_puts_content_beside_ratings_and_keywords():
    answer = filtered(ANSWER)
    assert answer["ratings"] == {"Friendly": 4}
    assert answer["keywords"] == ["lazy", "risk takers", "not friendly", "purple"]
    assert answer["content"] == [
        ["lazy", "written", [["assertiveness", -1]]],
        ["risk takers", "lemma", [["assertiveness", 1]]],
        ["not friendly", "phrase", [["sociability", -1]]],
        ["purple", None, []],
    ]


def test_an_answer_without_keywords_has_no_content_and_a_refusal_none_at_all():
    assert filtered("- Friendly: 4")["content"] == []
    assert filtered("I'm sorry, but I can't help with that.") == "refused"


def test_another_dictionary_is_told_before_a_model_is_asked(monkeypatch, tmp_path):
    with pytest.raises(UsageError, match="dictionary: expected ours or official, found 'theirs'"):
        SurveyContent(dictionary="theirs")
    monkeypatch.setenv(sources.LOCAL, str(tmp_path))
    stereotype_content.official.cache_clear()
    with pytest.raises(UsageError, match=rf"{FILE} is missing"):
        SurveyContent(dictionary="official")


def test_the_filter_reads_the_authors_dictionary(official):
    assert filtered("- Friendly: 4", dictionary="official")["ratings"] == {"Friendly": 4}
    assert SurveyContent(dictionary="official").dictionary is official()
