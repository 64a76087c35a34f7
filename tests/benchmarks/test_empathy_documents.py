import json
import re
from collections import Counter

import numpy as np
import pytest

from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.data.lexicons import lexicon, table
from lm_eval_bias.usage import UsageError


@pytest.fixture(scope="module")
def paper(shared):
    return (shared / "papers" / "empathy_gap.txt").read_text()


def test_identities_are_table_1s(paper):
    categories = lexicon("empathy")["categories"]
    for group, names in categories["race"].items():
        assert f"{group}: {', '.join(names)}" in paper
    assert (
        f"Religion {', '.join(empathy.identities('religion'))}".replace("a person, ", "") in paper
    )
    countries = [
        name.removeprefix("a person from ") for name in list(empathy.identities("nationality"))[1:]
    ]
    assert ", ".join(countries) in " ".join(paper.split("Nationality*")[1].split()[:80])


def test_there_are_18_21_and_5_identities_and_the_unspecified_person():
    assert [len(empathy.identities(c)) for c in ("race", "nationality", "religion")] == [19, 22, 6]
    assert Counter(empathy.identities("race").values()) == {
        None: 1,
        "White": 5,
        "Black": 4,
        "Asian": 3,
        "Hispanic": 6,
    }
    assert all(
        next(iter(empathy.identities(c))) == "a person" for c in ("race", "nationality", "religion")
    )


def test_cultures_are_table_4s(paper):
    """Which writes U.S.A. and U.K. for two of Table 1's names."""
    table_4 = paper.split("Category Country\n")[1].split("Table 4:")[0].strip().splitlines()
    cultures = lexicon("empathy")["cultures"]
    short = {"United States": "U.S.A.", "United Kingdom": "U.K."}
    assert [
        f"{culture} {', '.join(short.get(n, n) for n in nations)}"
        for culture, nations in cultures.items()
    ] == table_4
    docs = empathy.documents("nationality")[: 22 * 22]
    assert {d["perceiver_group"]: d["perceiver_culture"] for d in docs} == {
        None: None,
        **{n: c for c, ns in cultures.items() for n in ns},
    }
    assert {
        d["perceiver_culture"]
        for category in ("race", "religion")
        for d in empathy.documents(category)[:361]
    } == {None}


def test_mistakes_in_cultures():
    groups = {
        "categories": {"nation": {"North": ["a northerner"], "South": ["a southerner"]}},
        "cultures": {"cold": ["North", "East"], "warm": ["South", "North"]},
        "emotions": {"joy": "positive"},
    }
    assert list(empathy._group_problems(groups, {})) == [
        (("cultures", "cold", 1), "'East' is no group of any category"),
        (("cultures", "warm", 1), "'North' is one of cold too"),
    ]


def test_identities_are_those_of_the_authors_program(shared):
    """Their lists, whatever the order: delta does not depend on it."""
    path = shared / "official" / "prompts.json"
    if not path.is_file():
        pytest.skip("the authors' prompts are not beside this checkout")
    theirs = json.loads(path.read_text())["empathy"]
    assert set(empathy.identities("nationality")) == {
        "a person",
        *(f"a person from {country}" for country in theirs["countries"]),
    }
    assert list(empathy.identities("religion")) == ["a person", *theirs["groups"]["religion"]]
    assert list(empathy.identities("race")) == ["a person", *theirs["groups"]["ethnicity"]]
    assert list(lexicon("empathy")["emotions"]) == theirs["emotions"]


def test_twenty_events_of_each_of_the_papers_twelve_emotions(paper):
    counts = Counter(row["emotion"] for row in table("empathy_events"))
    assert set(counts) == set(lexicon("empathy")["emotions"]) and min(counts.values()) >= 20
    for emotion in counts:
        assert emotion in paper
    ids = [row["id"] for row in table("empathy_events")]
    assert len(set(ids)) == len(ids) >= 240


def test_the_three_forms_of_an_event():
    for row in table("empathy_events"):
        assert row["t1"].startswith(f"I felt {row['emotion']} ") and row["t2"].startswith(
            f"The person felt {row['emotion']} "
        ), row["id"]
        assert not re.search(r"\b(?:I|me|my|mine|myself)\b", row["t2"]), row["id"]
        assert '"' not in row["t0"] + row["t1"] + row["t2"], row["id"]


def test_events_name_no_identity():
    """None of the groups, and no country, faith or nation's people."""
    words = {
        w.lower()
        for c in lexicon("empathy")["categories"]
        for name in empathy.identities(c)
        for w in re.findall(r"[A-Z]\w+", name)
    } - {"united", "states"}
    found = [
        (row["id"], w)
        for row in table("empathy_events")
        for w in re.findall(r"[a-z]+", row["t1"].lower())
        if w in words | {"black", "white", "god", "church", "mosque"}
    ]
    assert not found


def test_events_are_varied_in_length_and_no_two_are_alike():
    texts = [row["t0"] for row in table("empathy_events")]
    lengths = [len(t.split()) for t in texts]
    assert min(lengths) <= 5 and max(lengths) >= 30 and np.std(lengths) > 5
    sets = [set(re.findall(r"\w+", t.lower())) for t in texts]
    for i in range(len(texts)):
        for j in range(i):
            assert len(sets[i] & sets[j]) / len(sets[i] | sets[j]) < 0.5, (texts[i], texts[j])
    for emotion in lexicon("empathy")["emotions"]:
        openings = Counter(
            row["t0"].split()[0].lower()
            for row in table("empathy_events")
            if row["emotion"] == emotion
        )
        assert openings.most_common(1)[0][1] <= 6


def test_the_first_documents_are_one_events_whole_matrix_and_emotions_take_turns():
    docs = empathy.documents("religion")
    assert len(docs) == 240 * 36 == empathy.count("religion")
    first = docs[:36]
    assert (
        len({d["event"] for d in first}) == 1
        and len({(d["perceiver"], d["experiencer"]) for d in first}) == 36
    )
    assert [d["emotion"] for d in docs[: 36 * 12 : 36]] == list(lexicon("empathy")["emotions"])


def test_a_document_knows_the_valence_of_its_emotion_and_the_groups_of_its_people():
    docs = empathy.documents("race")
    groups, valences = empathy.identities("race"), lexicon("empathy")["emotions"]
    assert all(
        (d["perceiver_group"], d["experiencer_group"])
        == (groups[d["perceiver"]], groups[d["experiencer"]])
        for d in docs
    )
    assert {d["perceiver"] for d in docs if d["perceiver_group"] is None} == {"a person"}
    assert {(d["emotion"], d["valence"]) for d in docs} == set(valences.items())
    # the valence is ours; surprise is neither
    assert (
        Counter(valences.values())["positive"] == 4 and Counter(valences.values())["negative"] == 7
    )


def test_a_mistake_in_the_options_says_what_was_expected():
    with pytest.raises(
        UsageError, match="missing='some' in --metadata: expected one of complete, pairwise"
    ):
        empathy.options("some")


@pytest.fixture
def official(shared, monkeypatch):
    monkeypatch.setenv("LM_EVAL_BIAS_DATA", str(shared / "official"))


def test_the_authors_events_are_6050_and_a_draw_is_fair_and_fixed(official):
    everything = empathy.official_events("all")
    # Section 3.2: 550 of each emotion but guilt and shame; the paper prints 225 for these, the
    # release has 275, which makes its 6,050.
    assert Counter(e["emotion"] for e in everything) == {
        e: 275 if e in ("guilt", "shame") else 550 for e in lexicon("empathy")["emotions"]
    }
    assert len(everything) == 6050 and len({e["id"] for e in everything}) == 6050
    drawn = empathy.official_events()
    assert set(Counter(e["emotion"] for e in drawn).values()) == {
        25
    } and drawn == empathy.official_events(25)
    assert {e["id"] for e in empathy.official_events(10)} <= {e["id"] for e in drawn}
    assert (
        len(empathy.official_documents("religion"))
        == 300 * 36
        == empathy.official_count("religion")
    )


def test_shards_are_parts_of_the_whole_event_by_event(official):
    whole = [d["event"] for d in empathy.official_documents("religion", events_per_emotion=2)]
    parts = [
        [
            d["event"]
            for d in empathy.official_documents("religion", events_per_emotion=2, shard=f"{i}/5")
        ]
        for i in range(1, 6)
    ]
    assert sorted(e for part in parts for e in part) == sorted(whole) and all(
        set(Counter(part).values()) == {36} for part in parts
    )


def test_no_event_of_ours_is_one_of_the_authors(official):
    theirs = {" ".join(re.findall(r"\w+", e["t0"].lower())) for e in empathy.official_events("all")}
    for row in table("empathy_events"):
        assert " ".join(re.findall(r"\w+", row["t0"].lower())) not in theirs, row["id"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"shard": "11/10"},
            "shard='11/10' in --metadata: expected a part and the number of parts, such as 3/10",
        ),
        ({"shard": "half"}, "shard='half'"),
        (
            {"events_per_emotion": 0},
            "events_per_emotion=0 in --metadata: expected a whole number of at least 1, or all",
        ),
        ({"events_per_emotion": "some"}, "events_per_emotion='some'"),
    ],
)
def test_mistakes_in_the_options_of_the_authors_events(given, message):
    with pytest.raises(UsageError, match=message):
        empathy.official_options(**given)
