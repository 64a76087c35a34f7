import random
import re
from math import exp, inf, isnan, log, nan

import numpy as np
import pytest

from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy.measure import GENERATED, record, record_likelihood
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.measure import summarise
from tests.rule_model import RuleLM, evaluate

EVENT = 6**2 + 8**2
"""Documents of an event: the identities with each other, then the placebos."""
NUMBER = {d["event"]: i // EVENT for i, d in enumerate(empathy.documents("religion"))}


def records(intensity, events=24):
    """Records of the first events; `intensity` of (event number, perceiver, experiencer)."""
    return [
        record(d, [intensity(NUMBER[d["event"]], d["perceiver"], d["experiencer"])])
        for d in empathy.documents("religion")
        if NUMBER[d["event"]] < events
    ]


def summary(records):
    return summarise(GENERATED, records, {"missing": "complete"})


def value_of(summary):
    return {name: number.value for name, number in summary.values.items()}


def in_group(event, perceiver, experiencer):
    """Ten points more for one's own, whatever the event; the unspecified person sees and gets 0."""
    if "a person" in (perceiver, experiencer):
        return 0.0
    return 50.0 + event + 10 * (perceiver == experiencer)


def test_delta_by_hand_without_the_unspecified_person():
    """5 x 5 with 10 more on the diagonal: standard deviation 10 * sqrt(1/5 * 4/5) = 4; delta 10 /
    4. The zeros do not enter."""
    result = summary(records(in_group))
    value = value_of(result)
    expected = {
        "delta": 2.5,
        "gap_points": 10,
        # placebos have ten points more, too
        "gap_beyond_repetition": 0,
        "events": 24,
        "left_out": 0,
        "unanswered": 0,
        # 25 cells of 50 + 11.5 (the mean event) + 10 on the diagonal, 11 zeros
        "mean_intensity": (25 * 61.5 + 5 * 10) / 36,
    }
    assert {name: value[name] for name in expected} == pytest.approx(expected)
    assert value["delta_p"] < 0.05 and value["delta_null_high"] < 2.5
    for row in result.tables["emotions"] + result.tables["valences"]:
        assert (row["delta"], row["gap_points"]) == pytest.approx((2.5, 10))
        error = nan if row["events"] < 10 else 0
        assert row["gap_points_stderr"] == pytest.approx(error, abs=1e-9, nan_ok=True)


def test_an_event_cut_off_by_a_limit_is_left_out_and_counted():
    """Of the second event a part; or placebos alone, without which the paper's numbers count it."""
    docs = records(in_group, events=2)
    whole = summary(docs[: EVENT + 20])
    assert (whole.values["events"].value, whole.values["left_out"].value) == (1, 1)
    assert isnan(whole.values["delta"].stderr)
    for limit in (1, 7, 35):
        value = value_of(summary(docs[:limit]))
        assert (value["events"], value["left_out"]) == (0, 1), limit
        assert isnan(value["delta"]) and isnan(value["mean_intensity"])
    for limit in (36, 60):
        value = value_of(summary(docs[:limit]))
        assert (value["events"], value["left_out"]) == (1, 1), limit
        assert (value["delta"], value["gap_points"]) == pytest.approx((2.5, 10))
        assert isnan(value["gap_beyond_repetition"])
    value = value_of(summary(docs[: 2 * EVENT - 1]))
    assert (value["events"], value["left_out"]) == (2, 1)


def test_what_a_repeated_name_adds_is_taken_off_and_the_own_group_is_not():
    """Three points more where one string stands twice, two for the own group. Of race a share of
    the in-group pairs has one name, with every group counted once."""
    share = (1 / 5 + 1 / 4 + 1 / 3 + 1 / 6) / 4
    docs = [d for d in empathy.documents("race") if NUMBER[d["event"]] < 2]

    def intensity(d):
        own = d["perceiver_group"] == d["experiencer_group"] and not d["placebo"]
        return 50.0 + 3 * (d["perceiver"] == d["experiencer"]) + 2 * own

    value = value_of(summary([record(d, [intensity(d)]) for d in docs]))
    names = ("gap_points", "gap_beyond_repetition", "left_out")
    assert [value[name] for name in names] == pytest.approx([2 + 3 * share, 2, 0])


def test_of_several_answers_to_one_document_the_mean_of_those_with_a_number_counts():
    """Twice, ten points less and ten more; where one of the two was refused, the other counts."""
    less = records(lambda *x: in_group(*x) - 10, events=2)
    more = records(lambda *x: in_group(*x) + 10, events=2)
    once = summary(records(in_group, events=2))
    twice = [r for both in zip(less, more, strict=True) for r in both]
    numbers = [re.sub(r", n=\d+", "", repr(of)) for of in (summary(twice), once)]
    assert numbers[0] == numbers[1]  # a NaN equals none; answers are twice as many
    assert summary(twice).values["refused"].n == 2 * once.values["refused"].n
    value = value_of(summary([*less, *records(lambda *_: "refused", events=2)]))
    assert value["mean_intensity"] == pytest.approx(once.values["mean_intensity"].value - 10)
    assert (value["events"], value["left_out"], value["refused"]) == (2, 0, 50)


def test_tables_hold_the_matrices():
    rng = np.random.default_rng(1)
    pairs = summary(records(lambda *x: in_group(*x) + rng.normal())).tables["pairs"]
    group = empathy.identities("religion", lexicon("empathy"))
    columns = ("perceiver", "perceiver_group", "experiencer", "experiencer_group")
    expected = [(*one, *two) for one in group.items() for two in group.items()]
    assert [tuple(row[c] for c in columns) for row in pairs] == expected

    def matrix(column):
        return np.array([row[column] for row in pairs]).reshape(6, 6)

    # the unspecified person sees and gets 0, give or take the noise; one's own get ten points more
    assert np.abs(matrix("mean_intensity")[0]).max() < 1
    assert matrix("mean_intensity")[1, 1] == pytest.approx(61.5 + 10, abs=1)
    assert (matrix("z").mean(), matrix("z").std()) == pytest.approx((0, 1))
    p = matrix("p_against_perceiver")
    assert np.isnan(np.diag(p)).all() and (p[1:, 1:][~np.eye(5, dtype=bool)] < 0.001).all()


def likelihood_record(*likelihoods):
    doc = empathy.documents("religion")[9]
    return record_likelihood(doc, [[[(likelihood, False) for likelihood in likelihoods]]])


def test_the_expectation_over_five_sentences_in_equal_steps():
    """0.1, 0, 0.2, 0.1 and 0.1 of all probability: (0.2 * 50 + 0.1 * 75 + 0.1 * 100) / 0.5 = 55."""
    made = likelihood_record(log(0.1), -inf, log(0.2), log(0.1), log(0.1))
    assert made["intensity"] == pytest.approx(55)
    # e^-1000 and e^-1001 are no floats, their ratio is: 100 / e / (1 + 1 / e)
    tiny = likelihood_record(-1000.0, -inf, -inf, -inf, -1001.0)
    assert tiny["intensity"] == pytest.approx(100 / (1 + exp(1)))
    for broken in ([-inf] * 5, [nan, *[-1.0] * 4], [inf, *[-1.0] * 4]):
        assert likelihood_record(*broken)["intensity"] is None


def test_delta_events_and_table_6_are_those_of_the_authors_steps():
    """Their notebook: events that named groups answered; M0 rounded to two decimals; its z-scores;
    in-group less out-group."""
    rng = random.Random(0)

    def intensity(event, perceiver, experiencer):
        if rng.random() < (0.02 if "a person" in (perceiver, experiencer) else 0.003):
            return "refused"
        return 60.0 + rng.randrange(20) + 5 * (perceiver == experiencer)

    answered = records(intensity, events=60)
    given = [r["intensity"] for r in answered if not r["placebo"]]
    events = np.array(given, dtype=float).reshape(60, 6, 6)  # the unspecified person first
    named = events[:, 1:, 1:]
    kept = named[~np.isnan(named).any(axis=(1, 2))]
    m0 = kept.mean(axis=0).round(2)
    z, own = (m0 - m0.mean()) / m0.std(), np.eye(5, dtype=bool)
    value = value_of(summary(answered))
    assert value["events"] == len(kept) > value["events_m0"]
    refused = np.isnan(events).any(axis=(1, 2))
    assert value["unanswered_events"] == pytest.approx(100 * refused.mean())
    # ours does not round M0
    assert value["delta"] == pytest.approx(z[own].mean() - z[~own].mean(), abs=0.01)


ANSWERS = {  # answer: what our reader and the authors' program make of it, from 0 to 10
    "8": (8, 8),
    "7.5": (7.5, 7),
    "60-70 out of 100": (6.5, 60),
    "85": ("unparsed", 85),
    "On a scale from 0 to 10, I'd say 4.": (4, 0),
    "I cannot rate feelings, but 6.": (6, "refused"),
    "I'm not rating this.": ("refused", "refused"),
    "I must decline to answer.": ("refused", "unparsed"),
    "It is 150.": ("unparsed", "unparsed"),
}


@pytest.mark.parametrize("reader, column", [("ours", 0), ("paper", 1)])
def test_the_same_answers_read_by_us_and_as_by_the_authors_program(reader, column):
    answers = iter(ANSWERS)
    results = evaluate(
        RuleLM(say=lambda prompt: next(answers)),
        *("empathy_religion_s1", {"reader": reader}),
        **{"limit": len(ANSWERS), "log_samples": True},
    )
    expected = [row[column] for row in ANSWERS.values()]
    for sample, answer in zip(results["samples"]["empathy_religion_s1"], expected, strict=True):
        record = sample["records"]
        assert record["intensity"] == (None if isinstance(answer, str) else answer)
        assert record["refused"] == (answer == "refused")
    assert results["configs"]["empathy_religion_s1"]["metadata"]["reader"] == reader
