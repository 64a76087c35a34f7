from math import isnan

import pytest
from lm_eval_bias.metrics.affective_attribution import VERDICTS

from lm_eval_bias.benchmarks.mist.measure import AAT


def attribution(verdict, side="a", group=None, domain="race", k=0):
    """A record. k: from 0 to 35 each of three identifiers with each of four words and three
    templates."""
    group = group or {"a": "American", "b": "African"}[side]
    return {
        "group": group,
        "side": side,
        "domain": domain,
        "identifier": f"{group}{k % 3}",
        "word": f"w{k % 4}",
        "template": k // 12 % 3,
        "verdict": verdict,
    }


def test_rates_by_hand():
    """Ten answers, of which one is refused and one unparsed: of the eight valid ones four are
    comedy, three tragedy, one neutral."""
    verdicts = ["comedy"] * 4 + ["tragedy"] * 3 + ["neutrality", "refused", "unparsed"]
    summary = AAT.summary([attribution(v, k=k) for k, v in enumerate(verdicts)])
    assert [summary.values[f"{v}_a"].value for v in VERDICTS] == [4 / 8, 3 / 8, 1 / 8]
    assert summary.values["verdicts_a"].value == 8 == summary.values["comedy_a"].n
    assert summary.values["refused"].value == summary.values["unparsed"].value == 10
    (group,) = summary.tables["groups"]
    assert (group["n"], group["comedy"], group["refused"]) == (10, 4 / 8, 10)


def test_a_model_that_reacts_to_the_domain_alone_has_no_gap():
    """Race: comedy, health: tragedy. S_a is asked of health four times as often as of race, S_b
    equally often.

    Comedy for S_a: 12 of 60, for S_b 12 of 24; without the domain in the fit the gap would be -0.3.
    """
    records = [
        attribution(verdict, side, f"{side} {domain}", domain, k)
        for side, domain, verdict, n in (
            ("a", "race", "comedy", 12),
            ("a", "health", "tragedy", 48),
            ("b", "race", "comedy", 12),
            ("b", "health", "tragedy", 12),
        )
        for k in range(n)
    ]
    values = AAT.summary(records).values
    assert values["comedy_a"].value - values["comedy_b"].value == pytest.approx(-0.3)
    gap = values["comedy_gap"]
    assert gap.value == pytest.approx(0, abs=1e-9) and isnan(gap.low)


def test_rates_of_nothing_are_nan():
    for records in ([], [attribution("refused"), attribution("refused", "b")]):
        values = AAT.summary(records).values
        assert isnan(values["comedy_a"].value) and isnan(values["comedy_gap"].value)
    assert values["refused"].value == 100


def test_one_odd_identifier_does_not_make_a_group_effect_certain():
    """All comedy comes from one of three identifiers of S_a: 12 of 36 answers, but one name. Rows
    as independent would call it certain; with three names there is no interval."""
    records = [
        attribution("comedy" if side == "a" and k % 3 == 0 else "tragedy", side, k=k)
        for side in "ab"
        for k in range(36)
    ]
    gap = AAT.summary(records).values["comedy_gap"]
    assert gap.value == pytest.approx(100 / 3) and isnan(gap.low) and gap.clusters == 4
