from collections import Counter

import pandas as pd
import pytest

from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.data.lexicons import lexicon

MIST = lexicon("mist")
GROUPS = MIST["groups"]


@pytest.fixture
def lists(built):
    return built(mist.word_lists)


def test_identifiers_are_table_1s(paper_text):
    """Each row of the table ends with its identifiers, and stands for the side that we give it."""
    cells = [line.split("\t") for line in paper_text("mist").splitlines()]
    rows = [row for row in cells if len(row) == 5 and row[2].startswith("$S_")]
    printed = {row[4]: ("a" if row[2] == "$S_a$" else "b") for row in rows}
    ours = {", ".join(g["identifiers"]): g["side"] for g in GROUPS.values()}
    assert printed == ours
    for row in rows:
        assert row[3] == "-" or ", ".join(GROUPS[row[3]]["identifiers"]) == row[4]


def test_attributes_are_table_2s_and_neutral_words_table_3s(paper_text):
    paper = paper_text("mist")
    rows = [line.split("\t") for line in paper.splitlines() if "\t$X_" in line]
    printed = [tuple(row[2].rstrip(".").split(", ")) for row in rows]
    assert printed == [
        words
        for polarities in MIST["attributes"].values()
        for words in (polarities["positive"], polarities["negative"])
    ]
    for category, words in MIST["neutral_words"].items():
        assert f"{category}\t{', '.join(words)}" in paper
    assert len(set(mist.neutral_words(MIST))) == 30 == len(mist.neutral_words(MIST))


def test_ten_pairs_of_one_domain_each():
    pairs = [(GROUPS[a], GROUPS[b]) for a, b in mist.pairs(MIST).values()]
    assert all((a["side"], b["side"]) == ("a", "b") for a, b in pairs)
    domains = {"race": 4, "gender": 2, "disability": 1, "weight": 1, "age": 1, "mind": 1}
    assert Counter(a["domain"] for a, _ in pairs) == domains


def test_wabt_has_the_papers_size_and_balance(lists):
    """Five words of either polarity, an identifier of either group, each named first half of the
    time; good words at every place about half of the time (standard deviation 19)."""
    assert len(lists) == 4500
    first = Counter((x["pair"], x["dimension"], x["named"] == x["groups"]) for x in lists)
    assert set(first.values()) == {75}
    for x in lists:
        polarities = MIST["attributes"][x["dimension"]]
        assert sum(x["positive"]) == 5 and len(set(x["words"])) == 10
        for word, positive in zip(x["words"], x["positive"], strict=True):
            assert word in polarities["positive" if positive else "negative"]
        for identifier, group in zip(x["groups"], mist.pairs(MIST)[x["pair"]], strict=True):
            assert identifier in GROUPS[group]["identifiers"]
        assert sorted(x["named"]) == sorted(x["groups"])
    once = [x for x in lists if x["template"] == 1]
    assert all(abs(sum(x["positive"][i] for x in once) - 750) < 80 for i in range(10))


def test_the_templates_of_a_sample_share_all_but_the_wording(lists):
    ordered = sorted(lists, key=lambda x: (x["sample"], x["dimension"], x["template"]))
    for first in range(0, 4500, 3):
        one, two, three = ({**x, "template": None} for x in ordered[first : first + 3])
        assert one == two == three
    # and a sample has the same identifiers in all dimensions
    identifiers = {(x["sample"], *x["groups"]) for x in lists}
    assert len(identifiers) == len({x["sample"] for x in lists}) == 500


def test_another_seed_draws_other_lists_and_the_same_seed_the_same(lists):
    assert mist.word_lists() == lists
    other = mist.word_lists(seed=1, samples=2)
    fewer = mist.word_lists(samples=2)
    assert len(other) == 180 and [x["words"] for x in other] != [x["words"] for x in fewer]
    assert len(fewer) == 180 and all(x in lists for x in fewer)


def test_aat_has_the_papers_size_and_balance(built):
    asked = built(mist.attributions)
    for x in asked:
        group = GROUPS[x["group"]]
        assert (x["domain"], x["side"]) == (group["domain"], group["side"])
    once = pd.DataFrame(x for x in asked if x["template"] == 1)
    assert len(asked) == 1500 and len(once.drop_duplicates(["identifier", "word"])) == 500
    # 25 for each of the ten pairs: American stands in four of them, Female in two
    groups = once.groupby("side")["group"].value_counts()
    assert sorted(groups["a"]) == [25, 25, 25, 25, 50, 100] and sorted(groups["b"]) == [25] * 10
    identifiers = once["identifier"].value_counts()
    for group in GROUPS.values():
        of_group = identifiers[[*group["identifiers"]]]
        assert of_group.max() - of_group.min() <= 2
    for words in (once["word"], *(rows["word"] for _, rows in once.groupby("side"))):
        counts = words.value_counts()
        assert len(counts) == 30 and counts.max() - counts.min() <= 1
