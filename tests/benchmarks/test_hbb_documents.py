import json
import re
from collections import Counter
from itertools import combinations, groupby
from statistics import mean

import pytest

from lm_eval_bias.benchmarks.hbb.documents import describe, described, documents, edit, refer
from lm_eval_bias.data.lexicons import lexicon, table

GROUPS = lexicon("hbb")
TYPES = GROUPS["types"]
PAPERS = {name: entry for name, entry in TYPES.items() if not entry.get("placebo")}
"""The types of Table 10."""
TEXTS = ("context", "option_1", "option_2")


@pytest.fixture
def docs(built):
    return built(documents)


@pytest.fixture
def concepts():
    return table("hbb_concepts")


def test_descriptors_are_table_10s_and_names_table_4s(paper_text):
    """The paper's table, with James, Kai and Jessica as names."""
    paper = paper_text("hbb")
    names = {"Age": "Jessica", "SES": "James", "Religion": "Kai"}
    for entry in PAPERS.values():
        name = names.get(entry["category"], "")
        for identity in entry["identities"].values():
            assert identity["descriptor"].replace("{name}", name) in paper
    for group, members in GROUPS["names"].items():
        assert f"{group.capitalize()}\t{', '.join(members)}" in paper


def test_descriptors_and_pronouns_are_the_released_ones(authors):
    released = json.loads(authors("hbb/descriptors.json").read_text())
    names = {name: pronoun for group in GROUPS["names"].values() for name, pronoun in group.items()}
    assert names == {n: p.lower() for group in released["name"].values() for n, p, _ in group}
    race = {
        i.lower(): {d.strip(" ,"): p.lower() for d, p, _ in ds}
        for i, ds in released["race_ethnicity"].items()
    }
    for entry in TYPES.values():
        for identity, person in entry["identities"].items() if entry["category"] == "Race" else ():
            assert person["pronoun"] == race[identity.lower()][person["descriptor"]], identity


def test_the_options_of_an_instance_differ_in_nothing_where_the_type_is_not_about_gender(docs):
    """The authors build the options once for each type. A model that reacts to pronouns alone has
    no bias of race."""
    options = {}
    for d in docs:
        if d["first"] == 1:
            options.setdefault((d["category"], d["type"], d["concept"]), set()).add(
                (d["option_a"], d["option_b"])
            )
    assert {category for (category, _, _), texts in options.items() if len(texts) > 1} == {"Gender"}
    assert {t for t, entry in TYPES.items() if entry.get("gendered")} == {
        f"Gender {i}" for i in (1, 2, 3, 4)
    }


def of_pairs(f):
    """f of the descriptors of each pair of identities: of placebos and of the paper."""
    values = {True: [], False: []}
    for entry in TYPES.values():
        texts = [person["descriptor"] for person in entry["identities"].values()]
        values[bool(entry.get("placebo"))] += [f(*pair) for pair in combinations(texts, 2)]
    return values


def test_placebos_change_as_much_as_the_papers_types():
    """A word replaced by another counts two; "paycheck" twice counts four. SES 1: was, on, the,
    board, of, several, charities; lived, with, to. The paper's pairs change 2 to 21 words, and are
    up to 43 characters longer."""
    assert edit("Kai, a Jew", "Kai, a b a") == [3, 0]
    rich, poor = (person["descriptor"] for person in TYPES["SES 1"]["identities"].values())
    assert edit(rich, poor) == [7 + 3 + 4, len("was on the board of several charities") - 31]
    edits = of_pairs(edit)
    assert len(edits[True]) == 6 * 6 + 2 and len(edits[False]) == 67
    for which in (0, 1):
        placebos, papers = ({pair[which] for pair in edits[kind]} for kind in (True, False))
        assert min(placebos) <= min(papers) <= max(papers) <= max(placebos)


@pytest.mark.parametrize("trait", ["[A-Z]", "-", r"\w{9}", r"([a-z])\1", r"ing\b"])
def test_placebos_differ_in_spelling_as_often_as_identities(trait):
    shares = of_pairs(lambda *pair: len({len(re.findall(trait, text)) for text in pair}) - 1)
    assert mean(shares[True]) > mean(shares[False]) > 0


def test_documents_carry_the_edit_and_none_where_the_options_change_too(docs):
    """Old, of Age 2, against Young: a, GEN, X, son / grandfather, who had been retired for several
    years: 12 words. "son, a GEN-X" has 12 characters, the other 51."""
    of = {(d["type"], d["identity"]): d["changed"] for d in docs[: 2 * 78]}
    assert of["Age 2", "Young"] == [[0, 0], [12, 39]] and of["Age 2", "Old"] == [[12, 39], [0, 0]]
    assert of["Gender 1", "Male"] == []


def test_members_of_an_instance_share_the_name_and_names_are_drawn_evenly(concepts, docs):
    names = {n for group in GROUPS["names"].values() for n in group}
    for concept in concepts[::20]:
        used = {}
        for q, _ in described(concept, GROUPS, TYPES):
            used.setdefault(q["type"], set()).update(names & set(re.findall(r"\w+", q["context"])))
        for type_, entry in TYPES.items():
            if "{name}" in next(iter(entry["identities"].values()))["descriptor"]:
                assert len(used[type_]) == 1
    drawn = Counter(
        re.search(r"(\w+), who is (?:wealthy|broke)", d["context"]).group(1)
        for d in docs
        if d["type"] == "SES 2"
    )
    assert set(drawn) == names and max(drawn.values()) < 2.5 * sum(drawn.values()) / 12


def test_types_and_both_orders_stand_together(docs):
    together = [(d["concept"], d["type"]) for d in docs]
    assert len(list(groupby(together))) == len(set(together))
    for one, two in zip(docs[::2], docs[1::2], strict=True):
        assert (one["first"], two["first"]) == (1, 2)
        assert (one["option_a"], one["option_b"]) == (two["option_b"], two["option_a"])
        assert one["context"] == two["context"]


def test_any_first_part_is_spread_over_the_themes(docs):
    """A quarter of the types in each of 24 themes, six themes a type; then the next quarter. After
    four quarters the next concept pair of each theme."""
    quarters = [docs[start : start + 936] for start in range(0, len(docs), 936)]
    assert len(quarters) == 4 * 216 / 24
    before = set()
    for i, quarter in enumerate(quarters):
        asked = {(d["theme"], d["type"]) for d in quarter}
        assert set(Counter(type_ for _, type_ in asked).values()) == {6}
        assert len({d["concept"] for d in quarter}) == len({theme for theme, _ in asked}) == 24
        categories = {d["category"]: set() for d in quarter}
        for d in quarter:
            categories[d["category"]].add(d["theme"])
        assert min(map(len, categories.values())) == 12  # SES has two types
        if i % 4:
            assert not asked & before
        before = before | asked if i % 4 else asked


def test_every_sentence_of_ours_has_the_person_and_no_other_pronoun(concepts):
    pronoun = re.compile(r"\[|\]|\b(they|them|their|he|she|him|his|her|hers)\b", re.I)
    for c in concepts:
        assert c["context"].count("[[X]]") == 1 and c["favourable"] in ("0", "1", "2")
        for field in TEXTS:
            rest = re.sub(r"\[\[X(?:'s|:obj|:self)?\]\]", "", c[field])
            assert not pronoun.search(rest), rest


def test_nothing_is_copied_from_the_authors_data(authors, concepts):
    released = authors("hbb/20241122-2120_all_data_questions074.csv").read_text()
    for c in concepts:
        for field in TEXTS:
            assert c[field] not in released


@pytest.mark.parametrize(
    "context, descriptor, expected",
    [
        ("[[X]] sat down.", "Kai, a Christian", "Kai, a Christian, sat down."),
        ("At noon [[X]] sat down.", "The old man", "At noon the old man sat down."),
        ("It was late. [[X]] sat down.", "The actor", "It was late. The actor sat down."),
        ("There sat [[X]], alone.", "Kai, a Christian", "There sat Kai, a Christian, alone."),
        ("[[X]] ate.", 'Wang, who said "Shiok!"', 'Wang, who said "Shiok!", ate.'),
        ("[[X]] opened [[X's]] bag.", "Father", "Father opened his bag."),
    ],
)
def test_describe(context, descriptor, expected):
    assert describe(context, descriptor, "he", GROUPS) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "[[X's]] bag fell, and [[X]] fell over [[X:self]].",
            "Her bag fell, and she fell over herself.",
        ),
        ("“Station?” [[X]] asked [[X:obj]].", "“Station?” she asked her."),
        ("“[[X]] knows,” said the clerk.", "“She knows,” said the clerk."),
        ("Nobody – [[X]] least of all – spoke.", "Nobody – she least of all – spoke."),
    ],
)
def test_refer(text, expected):
    assert refer(text, "she", GROUPS) == expected


def test_no_token_is_left_and_sentences_begin_with_capitals(docs):
    for d in docs:
        for field in ("context", "option_a", "option_b"):
            text = d[field]
            assert "[[" not in text and "{" not in text and ",," not in text
            assert text.lstrip("“\"'")[0].isupper() or text[0].isdigit(), text
            assert not re.search(r"(?<![.!?”\"]) (She|He|Her|His|Him)\b", text), text
