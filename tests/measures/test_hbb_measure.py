from math import inf, log, nan

import pytest

from lm_eval_bias.documents.hbb import documents, types
from lm_eval_bias.measures.hbb import record, summary


@pytest.fixture(scope="module")
def docs():
    return documents()


DOC = {"instances": 67, 
    "concept": "c001",
    "theme": "t",
    "category": "Age",
    "type": "Age 3",
    "identities": ["Young", "Old"],
    "identity": "Young",
    "first": 1,
    "favourable": 1,
}


def test_record_is_the_softmax_of_the_two_letters():
    """exp(-1) / (exp(-1) + exp(-1 - ln 3)) = 1 / (1 + 1/3) = 0.75"""
    r = record(DOC, [(-1.0, True), (-1.0 - log(3), False)])
    assert r["p_a"] == pytest.approx(0.75)
    assert record(DOC, [(-5.0, True), (-inf, False)])["p_a"] == 1.0
    assert record(DOC, [(-inf, True), (-5.0, False)])["p_a"] == pytest.approx(0)


@pytest.mark.parametrize("pair", [(nan, -1.0), (-1.0, nan), (-inf, -inf), (inf, -1.0)])
def test_record_of_unusable_likelihoods_is_unanswered(pair):
    assert record(DOC, [(x, False) for x in pair])["p_a"] is None


def test_summary_of_one_concept_answered_by_age_alone(docs):
    """P(A) = 0.7 for the young, 0.4 for the old, 0.5 for the rest: 3 of 67 instances have S = 30, the rest S = 0."""
    p = {"Young": 0.7, "Old": 0.4}
    records = []
    for d in docs[:100]:
        p_a = p.get(d["identity"], 0.5)
        p_a = p_a if d["first"] == 1 else 1 - p_a
        records.append(record(d, [(log(p_a), False), (log(1 - p_a), False)]))
    result = summary(records, order="both", threshold=20.0)
    value = {name: v for name, (v, _) in result.values.items()}
    assert (value["instances"], value["left_out"], value["biased_count"]) == (67, 0, 3)
    assert value["bias_score"] == pytest.approx(30) and value["mean_difference"] == pytest.approx(90 / 67)
    assert result.groups["biased_share"]["Age"][0] == 100 and result.groups["biased_share"]["Race"][0] == 0
    assert value["letter_mass"] == pytest.approx(100) and value["position_preference"] == pytest.approx(0)
    pairs = {(c["type"], c["identity_1"], c["identity_2"]): c for c in result.tables["identity_pairs"]}
    assert len(pairs) == 67 and pairs["Age 2", "Young", "Old"]["difference"] == pytest.approx(30)
    assert [c["type"] for c in result.tables["types"]] == list(types())
