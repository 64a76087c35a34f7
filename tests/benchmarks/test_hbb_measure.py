from math import exp, inf, isnan, log, nan

import pytest

from lm_eval_bias.benchmarks.hbb.documents import documents, types
from lm_eval_bias.benchmarks.hbb.measure import HBB, record, summary
from lm_eval_bias.measure import ROWS, rows


@pytest.fixture(scope="module")
def docs():
    return documents()


DOC = {
    "instances": 67,
    "concept": "c001",
    "concept_1": "one",
    "concept_2": "other",
    "theme": "t",
    "category": "Age",
    "type": "Age 3",
    "placebo": False,
    "identities": ["Young", "Old"],
    "identity": "Young",
    "first": 1,
    "favourable": 1,
}
PER_CONCEPT = 116


def test_record_holds_the_log_odds_of_the_two_letters():
    """ln 3 apart; the two together have exp(-1) (1 + 1/3)."""
    r = record(DOC, [(-1.0, True), (-1.0 - log(3), False)])
    assert r["log_odds"] == pytest.approx(log(3)) and r["letter_mass"] == pytest.approx(
        exp(-1) * 4 / 3
    )
    assert record(DOC, [(-5.0, True), (-inf, False)])["log_odds"] == inf
    assert record(DOC, [(-inf, True), (-5.0, False)])["log_odds"] == -inf


@pytest.mark.parametrize("pair", [(nan, -1.0), (-1.0, nan), (-inf, -inf), (inf, -1.0)])
def test_record_of_unusable_likelihoods_is_unanswered(pair):
    r = record(DOC, [(x, False) for x in pair])
    assert r["log_odds"] is None and r["letter_mass"] is None


def answered(docs, p):
    """Records of documents: p says P(option 1) of one; the letters have half of the probability."""
    records = []
    for d in docs:
        p_a = p(d) if d["first"] == 1 else 1 - p(d)
        records.append(record(d, [(log(p_a / 2), False), (log((1 - p_a) / 2), False)]))
    return records


def by_age(d):
    return {"Young": 0.7, "Old": 0.4}.get(d["identity"], 0.5)


def test_summary_of_one_concept_answered_by_age_alone(docs):
    """P(A) = 0.7 for the young, 0.4 for the old, 0.5 for the rest: 3 of 67 instances have S = 30,
    the rest S = 0. Log-odds of 7/3 and 2/3: ln 3.5 apart."""
    result = summary(
        answered(docs[:PER_CONCEPT], by_age), order="both", threshold=20.0, temperature=1.0
    )
    value = {name: v for name, (v, _) in result.values.items()}
    assert (value["instances"], value["left_out"], value["biased_count"]) == (67, 0, 3)
    assert value["bias_score"] == pytest.approx(30) and value["mean_difference"] == pytest.approx(
        90 / 67
    )
    assert (value["placebo_difference"], value["placebo_share"], value["log_odds_difference"]) == (
        0,
        0,
        0,
    )
    assert value["excess_difference"] == pytest.approx(90 / 67) and result.groups[
        "excess_difference"
    ]["Age"][0] == pytest.approx(30)
    assert (
        result.groups["biased_share"]["Age"][0] == 100
        and result.groups["biased_share"]["Race"][0] == 0
    )
    assert result.groups["log_odds_difference"]["Age"][0] == pytest.approx(log(3.5))
    assert list(result.groups["biased_share"]) == [
        "Age",
        "Gender",
        "Race",
        "SES",
        "Religion",
        "Placebo",
    ]
    assert isnan(result.groups["excess_difference"]["Placebo"][0])
    assert value["letter_mass"] == pytest.approx(50) and value[
        "position_preference"
    ] == pytest.approx(0)
    pairs = {
        (c["type"], c["identity_1"], c["identity_2"]): c for c in result.tables["identity_pairs"]
    }
    assert len(pairs) == 67 + 4 and pairs["Age 2", "Young", "Old"]["difference"] == pytest.approx(
        30
    )
    assert [c["type"] for c in result.tables["types"]] == list(types())
    assert "difference" not in result.tables["categories"][0]


def test_the_temperature_is_applied_in_the_summary(docs):
    """(7/3)^(1/0.8) and (2/3)^(1/0.8): P of 0.7425 and 0.3759. The log-odds stay."""
    records = answered(docs[:PER_CONCEPT], by_age)
    result = summary(records, order="both", threshold=20.0, temperature=0.8)
    p = [odds**1.25 / (1 + odds**1.25) for odds in (7 / 3, 2 / 3)]
    assert result.values["bias_score"][0] == pytest.approx(100 * (p[0] - p[1]))
    assert result.groups["log_odds_difference"]["Age"][0] == pytest.approx(log(3.5))


def test_the_tables_of_the_strongest_associations_the_distribution_and_the_answers(docs):
    """Tables 3 and 7, Figure 4, Table 6. Three instances of 30 points, all on concept pair c001; 64
    of 0."""
    one = docs[:PER_CONCEPT]
    records = answered(one, by_age)
    records[0] = {**records[0], "log_odds": None, "letter_mass": None}  # Age 1, Young, is unusable
    tables = summary(records, order="both", threshold=20.0, temperature=1.0).tables
    first = one[0]
    assert tables["associations"] == [
        {
            "category": "Age", "type": type_, "concept": "c001", "identity_1": "Young", "concept_1": first["concept_1"],
            "identity_2": "Old", "concept_2": first["concept_2"], "score": pytest.approx(30), "log_odds": pytest.approx(log(3.5)),
        }
        for type_ in ("Age 2", "Age 3")
    ]  # fmt: skip
    bins = {(b["category"], b["from"]): b for b in tables["distribution"] if b["count"]}
    assert {key: b["count"] for key, b in bins.items() if key[0] in ("all", "Age", "Placebo")} == {
        ("all", 0): 64, ("all", bins_of_30(tables)): 2, ("Age", bins_of_30(tables)): 2, ("Placebo", 0): 4,
    }  # fmt: skip
    assert bins["all", 0]["share"] == pytest.approx(100 * 64 / 66)
    answers = {row["category"]: row for row in tables["answers"]}
    assert answers["all"] == {
        "category": "all",
        "questions": 116,
        "unanswered": pytest.approx(100 / 116),
        "other": pytest.approx(50),
    }
    assert answers["Age"]["questions"] == 12 and answers["Age"]["unanswered"] == pytest.approx(
        100 / 12
    )


def bins_of_30(tables):
    """0.7 less 0.4 may be a hair less than 0.3: the bin from 25 or from 30."""
    (found,) = {b["from"] for b in tables["distribution"] if b["category"] == "Age" and b["count"]}
    assert found in (25, 30)
    return found


def test_groups_without_a_placebo_have_nothing_to_compare_with(docs):
    """A person's own file of groups need not have any."""
    result = summary(
        answered([d for d in docs[:PER_CONCEPT] if not d["placebo"]], by_age),
        order="both",
        threshold=20.0,
        temperature=1.0,
    )
    for name in (
        "placebo_difference",
        "placebo_share",
        "placebo_log_odds_difference",
        "excess_difference",
    ):
        assert isnan(result.values[name][0])
    assert (
        result.values["mean_difference"][0] == pytest.approx(90 / 67)
        and result.values["left_out"][0] == 0
    )


def test_under_one_order_there_is_no_position_preference(docs):
    first = [d for d in docs[:PER_CONCEPT] if d["first"] == 1]
    result = summary(answered(first, by_age), order="paper", threshold=20.0, temperature=1.0)
    assert isnan(result.values["position_preference"][0]) and result.values["mean_difference"][
        0
    ] == pytest.approx(90 / 67)


def test_at_most_a_dozen_rows_in_the_harness_table():
    assert [m.name for m in HBB.metrics if m.primary] == [
        "biased_share", "bias_score", "mean_difference", "placebo_difference", "placebo_share", "excess_difference",
        "log_odds_difference", "position_preference", "letter_mass", "instances", "unanswered",
    ]  # fmt: skip
    assert len(rows(HBB.metrics, lambda column: ["Age", "Gender"])) <= ROWS
