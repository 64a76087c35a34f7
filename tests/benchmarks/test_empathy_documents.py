import re
from collections import Counter

import pytest

from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.data.lexicons import lexicon, table

GROUPS = lexicon("empathy")
CATEGORIES = ("race", "nationality", "religion")
EVENTS = table("empathy_events")


def identities(category):
    return empathy.identities(category, GROUPS)


@pytest.fixture
def paper(paper_text):
    return paper_text("empathy_gap")


def test_identities_are_table_1s(paper):
    for group, names in GROUPS["categories"]["race"].items():
        assert f"{group}: {', '.join(names)}" in paper
    assert f"Religion {', '.join(list(identities('religion'))[1:])}" in paper
    countries = [
        name.removeprefix("a person from ") for name in list(identities("nationality"))[1:]
    ]
    assert ", ".join(countries) in " ".join(paper.split("Nationality*")[1].split()[:80])
    assert [len(identities(c)) for c in CATEGORIES] == [19, 22, 6]
    assert all(next(iter(identities(c))) == "a person" for c in CATEGORIES)


def test_cultures_are_table_4s(paper):
    """Which writes U.S.A. and U.K. for two of Table 1's names."""
    table_4 = paper.split("Category Country\n")[1].split("Table 4:")[0].strip().splitlines()
    cultures = GROUPS["cultures"]
    short = {"United States": "U.S.A.", "United Kingdom": "U.K."}
    assert [
        f"{culture} {', '.join(short.get(n, n) for n in nations)}"
        for culture, nations in cultures.items()
    ] == table_4
    culture_of = {d["perceiver_group"]: d["perceiver_culture"] for d in matrix("nationality")}
    assert culture_of == {None: None, **{n: c for c, ns in cultures.items() for n in ns}}
    assert {d["perceiver_culture"] for c in ("race", "religion") for d in matrix(c)} == {None}


def matrix(category):
    """The documents of the first event without placebos."""
    return empathy.documents(category)[: len(identities(category)) ** 2]


def test_mistakes_in_cultures_and_placebos():
    groups = {
        "categories": {"nation": {"North": ["a northerner"], "South": ["a southerner"]}},
        "cultures": {"cold": ["North", "East"], "warm": ["South", "North"]},
        "placebos": {"nations": ["a dreamer", "a walker", "a singer"]},
    }
    assert list(empathy._group_problems(groups, {})) == [
        (("placebos", "nations"), "'nations' is not one of the groups' categories (nation)"),
        (("cultures", "cold", 1), "'East' is no group of any category"),
        (("cultures", "warm", 1), "'North' is one of cold too"),
    ]


def test_twenty_events_of_each_of_the_papers_twelve_emotions_in_three_forms(paper):
    counts = Counter(row["emotion"] for row in EVENTS)
    assert set(counts) == set(GROUPS["emotions"]) and min(counts.values()) >= 20
    assert all(emotion in paper for emotion in counts)
    assert len({row["id"] for row in EVENTS}) == len(EVENTS) >= 240
    for row in EVENTS:
        assert row["t1"].startswith(f"I felt {row['emotion']} "), row["id"]
        assert row["t2"].startswith(f"The person felt {row['emotion']} "), row["id"]
        assert not re.search(r"\b(?:I|me|my|mine|myself)\b", row["t2"]), row["id"]
        assert '"' not in row["t0"] + row["t1"] + row["t2"], row["id"]


def test_events_name_no_identity():
    """None of the groups, and no country, faith or nation's people."""
    names = " ".join(name for c in CATEGORIES for name in identities(c))
    words = {w.lower() for w in re.findall(r"[A-Z]\w+", names)} - {"united", "states"}
    words |= {"black", "white", "god", "church", "mosque"}
    for row in EVENTS:
        assert not words & set(re.findall(r"[a-z]+", row["t1"].lower())), row["id"]


@pytest.mark.parametrize(
    "category, names, form",
    [
        ("religion", 6, r"a [A-Z]\w+"),
        ("nationality", 22, r"a person from (the )?[A-Z][\w -]+"),
        ("race", 19, r"an? .+"),
    ],
)
def test_the_first_documents_are_one_events_whole_matrix_then_that_of_the_placebos(
    category, names, form
):
    """Of eight placebos, in the form of the category's names."""
    docs = empathy.documents(category)
    size = names**2 + 8**2
    assert len(docs) == 240 * size == empathy.count(category)
    assert empathy.count(category, events_per_emotion=25) == 300 * size
    for first in (0, size * 239):
        event = docs[first : first + size]
        assert len({(d["perceiver"], d["experiencer"]) for d in event}) == size
        assert len({d["event"] for d in event}) == 1
        assert [d["placebo"] for d in event] == [False] * names**2 + [True] * 8**2
        of_placebos = {d["perceiver_group"] for d in event if d["placebo"]}
        assert of_placebos == set(GROUPS["placebos"][category])
    assert all(re.fullmatch(form, name) for name in GROUPS["placebos"][category])


def test_emotions_take_turns():
    docs = [d for d in empathy.documents("religion") if not d["placebo"]]
    assert docs[7]["perceiver_group"] == docs[7]["experiencer_group"] == "Christian"
    emotions = [(d["emotion"], d["valence"]) for d in docs[: 36 * 12 : 36]]
    assert emotions == list(GROUPS["emotions"].items())
    # the valence is ours; surprise is neither
    assert Counter(v for _, v in emotions) == {"positive": 4, "negative": 7, "none": 1}


@pytest.fixture
def official(shared, monkeypatch):
    monkeypatch.setenv("LM_EVAL_BIAS_DATA", str(shared / "official"))


def test_the_authors_events_are_6050_and_a_draw_is_fair_and_fixed(official):
    everything = empathy.official_events("all")
    # Section 3.2: 550 of each emotion but guilt and shame; the paper prints 225 for these, the
    # release has 275, which makes its 6,050.
    assert Counter(e["emotion"] for e in everything) == {
        e: 275 if e in ("guilt", "shame") else 550 for e in GROUPS["emotions"]
    }
    assert len(everything) == 6050 and len({e["id"] for e in everything}) == 6050
    drawn = empathy.official_events()
    assert set(Counter(e["emotion"] for e in drawn).values()) == {25}
    assert {e["id"] for e in empathy.official_events(10)} <= {e["id"] for e in drawn}
    docs = empathy.documents("religion", events_per_emotion=25)
    assert len(docs) == 300 * 100 == empathy.count("religion", events_per_emotion=25)


def test_no_event_of_ours_is_one_of_the_authors(official):
    theirs = {" ".join(re.findall(r"\w+", e["t0"].lower())) for e in empathy.official_events("all")}
    for row in EVENTS:
        assert " ".join(re.findall(r"\w+", row["t0"].lower())) not in theirs, row["id"]
