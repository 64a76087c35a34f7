"""The exhibits of MIST and HBB: what they make of a run's rows, counted by hand."""

from math import inf, isnan, log, nan

import pytest
from exhibited import TASKS, run_of, shown

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.exhibit import rows

PER_CONCEPT = 156
VERDICTS = ("comedy", "tragedy", "neutrality")


def by(table, *keys):
    """Rows by the values of some columns."""
    result = {tuple(row[key] for key in keys) if keys[1:] else row[keys[0]]: row for row in table}
    assert len(result) == len(table)
    return result


# ---- MIST


@pytest.fixture(scope="module")
def aat():
    """Comedy for S_a, refused in template 1; tragedy for S_b, but for Asian names, which are
    neutral."""

    def verdict(doc):
        if doc["side"] == "a":
            return ["comedy" if doc["template"] > 1 else "refused"]
        return ["neutrality" if doc["group"] == "Asian" else "tragedy"]

    return run_of("mist_aat", mist.attributions(), verdict)


def test_figure_4_of_mist_is_in_percent_with_the_groups_of_a_domain_together(aat):
    table = by(shown("mist_aat", "Figure 4", aat), "group", "verdict")
    assert len(table) == 16 * 3
    assert [table["Asian", v]["percent"] for v in VERDICTS] == [0, 0, 100]
    assert table["American", "comedy"]["percent"] == 100
    assert table["American", "comedy"]["refused"] == pytest.approx(100 / 3)
    groups = list(dict.fromkeys(group for group, _ in table))
    assert set(groups[:5]) == {"American", "African", "Asian", "Spanish-speaking", "Arab"}
    assert groups[0] == "American" and abs(groups.index("Slim") - groups.index("Overweight")) == 1
    # a group without a valid verdict has none of a percentage
    empty = {"group": "x", "side": "a", "domain": "d", "n": 3, "comedy": nan}
    (row, *_) = shown("mist_aat", "Figure 4", {"groups": [empty]})
    assert row["percent"] is None and row["n"] == 3


# ---- HBB


def by_age(doc):
    return {"Young": 0.7, "Old": 0.4}.get(doc["identity"], 0.5)


def of_letters(docs, p):
    """The run in which a model has P(option 1) of p(document)."""

    def likelihoods(doc):
        share = p(doc) if doc["first"] == 1 else 1 - p(doc)
        return [(log(share / 2), False), (log((1 - share) / 2), False)]

    return run_of("hbb", docs, likelihoods, order="both", threshold=20.0, temperature=1.0)


@pytest.fixture(scope="module")
def docs(built):
    return sorted(built(hbb.documents), key=lambda doc: doc["concept"])[: 12 * PER_CONCEPT]


@pytest.fixture(scope="module")
def aged(docs):
    """One concept pair, P(option 1) 0.7 for the young, 0.4 for the old, 0.5 for all others: three
    of 67 instances have S = 30."""
    return of_letters(docs[:PER_CONCEPT], by_age)


def test_tables_2_3_and_7_of_hbb_have_each_type_and_who_gets_which_concept(aged, docs):
    """Race has ten pairs of identities in each type, Religion six. P(option 1) is higher for the
    young: theirs is concept 1. Instances with S = 0 associate nothing."""
    types = by(shown("hbb", "Table 2", aged), "type")
    names = ("Age 3", "Race 4", "Religion 1", "Placebo 2")
    assert len(types) == 30 and [types[name]["instances"] for name in names] == [1, 10, 6, 1]
    assert types["Age 3"]["bias_score"] == pytest.approx(30)
    assert types["Race 4"]["biased_count"] == 0 and isnan(types["Race 4"]["bias_score"])
    assert isnan(types["Placebo 1"]["excess_log_odds"])
    table = shown("hbb", "Tables 3 and 7", aged)
    assert [row["type"] for row in table] == ["Age 1", "Age 2", "Age 3"]
    for row in table:
        assert row["association_1"] == f"Young ↔ {docs[0]['concept_1']}"
        assert row["association_2"] == f"Old ↔ {docs[0]['concept_2']}"
        assert row["difference"] == pytest.approx(30) and row["of"] == 3


def test_figure_4_of_hbb_has_placebos_by_their_types_whatever_their_name(docs):
    own = [
        {**doc, "category": "Nothing" if doc["placebo"] else "Placebo"}
        for doc in docs[:PER_CONCEPT]
    ]
    panels = {}
    for row in shown("hbb", "Figure 4", of_letters(own, by_age)):
        panels.setdefault(row["instances"], []).append(row)
    assert {name: sum(row["count"] for row in of) for name, of in panels.items()} == {
        "all but placebos": 67,
        "Nothing": 14,
    }
    assert panels["all but placebos"][0]["share"] == pytest.approx(6400 / 67)


@pytest.mark.parametrize("wrong", [None, "text", nan, inf, True])
def test_a_cell_that_is_no_number_breaks_nothing(wrong, aat, aged):
    """A results file may have been written by anything."""
    for task, run in (("mist_aat", aat), ("hbb", aged)):
        spoilt = {
            name: [{key: wrong for key in row} for row in table]
            for name, table in run.items()
            if name != "numbers"
        }
        for exhibit in TASKS[task].measure.exhibits:
            rows(exhibit, spoilt)
            rows(exhibit, {name: [{} for _ in table] for name, table in spoilt.items()})
            assert rows(exhibit, {}) == []
