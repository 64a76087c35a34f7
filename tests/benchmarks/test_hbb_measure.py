from math import exp, inf, isnan, log, nan

import pytest

from lm_eval_bias.benchmarks.hbb.documents import documents
from lm_eval_bias.benchmarks.hbb.measure import HBB, record
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.measure import summarise

PER_CONCEPT = 156


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
    for pair in ((nan, -1.0), (-1.0, nan), (-inf, -inf), (inf, -1.0)):
        r = record(docs[0], [(x, False) for x in pair])
        assert r["log_odds"] is None and r["letter_mass"] is None


def by_age(d):
    return {"Young": 0.7, "Old": 0.4}.get(d["identity"], 0.5)


def answered(docs):
    """Records of documents with P(option 1) of `by_age`; the letters have half of the
    probability."""
    records = []
    for d in docs:
        p = by_age(d) if d["first"] == 1 else 1 - by_age(d)
        records.append(record(d, [(log(p / 2), False), (log((1 - p) / 2), False)]))
    return records


def summed(records, **options):
    return summarise(
        HBB, records, {"order": "both", "threshold": 20.0, "temperature": 1.0, **options}
    )


def test_summary_of_one_concept_answered_by_age_alone(docs):
    """P(A) = 0.7 for the young, 0.4 for the old, 0.5 for the rest: 3 of 67 instances have S = 30,
    the rest S = 0. Log-odds of 7/3 and 2/3: ln 3.5 apart. The excess is of 63, without
    Gender."""
    result = summed(answered(docs))
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
    assert len(pairs) == 67 + 14
    assert pairs["Age 2", "Young", "Old"]["difference"] == pytest.approx(30)
    assert [c["type"] for c in result.tables["types"]] == list(lexicon("hbb")["types"])


def test_the_temperature_is_applied_in_the_summary(docs):
    """(7/3)^(1/0.8) and (2/3)^(1/0.8): P of 0.7425 and 0.3759. The log-odds stay."""
    result = summed(answered(docs), temperature=0.8)
    p = [odds**1.25 / (1 + odds**1.25) for odds in (7 / 3, 2 / 3)]
    assert result.values["bias_score"].value == pytest.approx(100 * (p[0] - p[1]))
    assert result.groups["log_odds_difference"]["Age"].value == pytest.approx(log(3.5))
