from math import exp, inf, isnan, log, nan

import pytest
from exhibited import shown

from lm_eval_bias.benchmarks.hbb.documents import documents
from lm_eval_bias.benchmarks.hbb.measure import HBB, record
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.measure import summarise, tables

PER_CONCEPT = 156
PLACEBOS = 6 * 6 + 2  # pairs: six types of four identities, two of two


@pytest.fixture(scope="module")
def docs(built):
    """Those of the first concept pair."""
    return sorted(built(documents), key=lambda doc: doc["concept"])[:PER_CONCEPT]


def test_record_holds_the_log_odds_of_the_two_letters(docs):
    """ln 3 apart; the two together have exp(-1) (1 + 1/3)."""
    r = record(docs[0], [(-1.0, True), (-1.0 - log(3), False)])
    assert r["log_odds"] == pytest.approx(log(3))
    assert r["letter_mass"] == pytest.approx(exp(-1) * 4 / 3)
    assert record(docs[0], [(-5.0, True), (-inf, False)])["log_odds"] == inf
    assert record(docs[0], [(-inf, True), (-5.0, False)])["log_odds"] == -inf
    for pair in ((nan, -1.0), (-inf, -inf)):
        r = record(docs[0], [(x, False) for x in pair])
        assert r["log_odds"] is None and r["letter_mass"] is None


def by_age(d):
    return {"Young": 0.7, "Old": 0.4}.get(d["identity"], 0.5)


def likelihoods(doc):
    """P(option 1) of `by_age`; the letters have half of the probability."""
    share = by_age(doc) if doc["first"] == 1 else 1 - by_age(doc)
    return [(log(share / 2), False), (log((1 - share) / 2), False)]


def summed(docs, **options):
    options = {"order": "both", "threshold": 20.0, "temperature": 1.0, **options}
    return summarise(HBB, [record(d, likelihoods(d)) for d in docs], options)


def test_summary_of_one_concept_answered_by_age_alone(docs):
    """P(A) = 0.7 for the young, 0.4 for the old, 0.5 for the rest: 3 of 67 instances have S = 30,
    the rest S = 0. Log-odds of 7/3 and 2/3: ln 3.5 apart. The excess is of 63, without
    Gender."""
    result = summed(docs)
    expected = {
        "instances": 67,
        "left_out": 0,
        "biased_count": 3,
        "bias_score": 30,
        "mean_difference": 90 / 67,
        "excess_difference": 90 / 63,
        "excess_log_odds": 3 * log(3.5) / 63,
        "placebo_difference": 0,
        "placebo_share": 0,
        "log_odds_difference": 3 * log(3.5) / 67,
        "letter_mass": 50,
        "position_preference": 0,
    }
    for name, value in expected.items():
        assert result.values[name].value == pytest.approx(value), name
    of_age = {
        "excess_log_odds": log(3.5),
        "excess_difference": 30,
        "biased_share": 100,
        "log_odds_difference": log(3.5),
    }
    for name, value in of_age.items():
        assert result.groups[name]["Age"].value == pytest.approx(value), name
    shares = result.groups["biased_share"]
    assert list(shares) == ["Age", "Gender", "Race", "SES", "Religion", "Placebo"]
    assert shares["Race"].value == 0 and all(
        isnan(result.groups["excess_log_odds"][name].value) for name in ("Gender", "Placebo")
    )
    pairs = {
        (c["type"], c["identity_1"], c["identity_2"]): c for c in result.tables["identity_pairs"]
    }
    assert len(pairs) == 67 + PLACEBOS
    assert pairs["Age 2", "Young", "Old"]["difference"] == pytest.approx(30)
    assert [c["type"] for c in result.tables["types"]] == list(lexicon("hbb")["types"])


def test_the_temperature_is_applied_in_the_summary(docs):
    """(7/3)^(1/0.8) and (2/3)^(1/0.8): P of 0.7425 and 0.3759. The log-odds stay."""
    result = summed(docs, temperature=0.8)
    p = [odds**1.25 / (1 + odds**1.25) for odds in (7 / 3, 2 / 3)]
    assert result.values["bias_score"].value == pytest.approx(100 * (p[0] - p[1]))
    assert result.groups["log_odds_difference"]["Age"].value == pytest.approx(log(3.5))


def test_tables_2_3_and_7_of_hbb_have_each_type_and_who_gets_which_concept(docs):
    """Race has ten pairs of identities in each type, Religion six. P(option 1) is higher for the
    young: theirs is concept 1. Instances with S = 0 associate nothing."""
    run = tables(HBB, summed(docs))
    types = {row["type"]: row for row in shown("hbb", "Table 2", run)}
    names = ("Age 3", "Race 4", "Religion 1", "Placebo 2")
    assert len(types) == 24 and [types[name]["instances"] for name in names] == [1, 10, 6, 1]
    assert types["Age 3"]["bias_score"] == pytest.approx(30)
    assert types["Race 4"]["biased_count"] == 0 and isnan(types["Race 4"]["bias_score"])
    assert isnan(types["Placebo 1"]["excess_log_odds"])
    table = shown("hbb", "Tables 3 and 7", run)
    assert [row["type"] for row in table] == ["Age 1", "Age 2", "Age 3"]
    for row in table:
        assert row["association_1"] == f"Young ↔ {docs[0]['concept_1']}"
        assert row["association_2"] == f"Old ↔ {docs[0]['concept_2']}"
        assert row["difference"] == pytest.approx(30) and row["largest_of"] == 3


def test_figure_4_of_hbb_has_placebos_by_their_types_whatever_their_name(docs):
    own = [{**d, "category": "Nothing" if d["placebo"] else "Placebo"} for d in docs]
    panels = {}
    for row in shown("hbb", "Figure 4", tables(HBB, summed(own))):
        panels.setdefault(row["instances"], []).append(row)
    assert {name: sum(row["count"] for row in of) for name, of in panels.items()} == {
        "all but placebos": 67,
        "Nothing": PLACEBOS,
    }
    assert panels["all but placebos"][0]["share"] == pytest.approx(6400 / 67)
