from math import exp, inf, isnan, log, nan

import numpy as np
import pytest

from lm_eval_bias.documents import empathy
from lm_eval_bias.items import lexicon
from lm_eval_bias.measure import numbers
from lm_eval_bias.measures import empathy as measures


def records(intensity, category="religion", events=24, **changes):
    """Records of the first events; `intensity` of (event number, perceiver, experiencer)."""
    numbers = {e["id"]: i for i, e in enumerate(empathy.events())}
    docs = empathy.documents(category)[: events * len(empathy.identities(category)) ** 2]
    return [measures.record(d, [intensity(numbers[d["event"]], d["perceiver"], d["experiencer"])]) for d in docs]


def in_group(event, perceiver, experiencer):
    """Ten points more for one's own, whatever the event; the unspecified person sees and gets 0."""
    if "a person" in (perceiver, experiencer):
        return 0.0
    return 50.0 + event + 10 * (perceiver == experiencer)


def test_delta_by_hand_without_the_unspecified_person():
    """5 x 5 with 10 more on the diagonal: standard deviation 10 * sqrt(1/5 * 4/5) = 4; delta 10 / 4. The zeros do not enter."""
    result = measures.summary(records(in_group), "complete")
    metrics = result.values
    assert metrics["delta"][0] == pytest.approx(2.5) and metrics["gap_points"][0] == pytest.approx(10)
    # in every event alike, so the spread of M0 is no chance
    assert [metrics[f"delta_{name}"][0] for name in ("corrected", "low", "high")] == pytest.approx([2.5] * 3)
    # two events of each emotion: four positive ones (of joy, pride, relief, trust), seven negative ones, surprise
    assert [(row["valence"], row["events"]) for row in result.tables["valences"]] == [("positive", 8), ("negative", 14)]
    for row in result.tables["emotions"] + result.tables["valences"]:
        assert (
            row["delta_corrected"] == pytest.approx(2.5)
            and row["gap_points"] == pytest.approx(10)
            and row["gap_points_stderr"] == pytest.approx(0, abs=1e-9)
        )
    assert metrics["delta_p"][0] < 0.05 and metrics["delta_null_high"][0] < 2.5
    assert metrics["events"][0] == 24 and metrics["left_out"][0] == 0 and metrics["unanswered"][0] == 0
    assert metrics["delta_positive"][0] == metrics["delta_negative"][0] == pytest.approx(2.5)
    # M0 itself holds the unspecified person: 25 cells of 50 + 11.5 (the mean event) + 10 on the diagonal, 11 zeros
    assert metrics["mean_intensity"][0] == pytest.approx((25 * 61.5 + 5 * 10) / 36)


def test_an_event_that_one_pair_refused_is_left_out_unless_pairwise():
    def intensity(event, perceiver, experiencer):
        if event == 3 and (perceiver, experiencer) == ("a Jew", "a Hindu"):
            return "refused"
        if event == 5 and (perceiver, experiencer) == ("a person", "a person"):
            return "unparsed"
        return in_group(event, perceiver, experiencer) + (100 if event in (3, 5) else 0) * (perceiver == experiencer)

    given = records(intensity)
    metrics = measures.summary(given, "complete").values
    assert metrics["events"][0] == 22 and metrics["unanswered_events"][0] == pytest.approx(100 * 2 / 24)
    assert metrics["unanswered"][0] == pytest.approx(100 * 2 / (24 * 36)) and metrics["refused"][0] == pytest.approx(100 * 1 / (24 * 36))
    assert metrics["gap_points"][0] == pytest.approx(10)
    pairwise = measures.summary(given, "pairwise").values
    assert pairwise["events"][0] == 24 and pairwise["gap_points"][0] > 15


def test_an_event_cut_off_by_a_limit_is_left_out_and_said():
    metrics = measures.summary(records(in_group)[:50], "complete").values
    assert metrics["events"][0] == 1 and metrics["left_out"][0] == 1 and isnan(metrics["delta"][1])
    metrics = measures.summary(records(in_group)[:20], "complete").values
    assert metrics["events"][0] == 0 and isnan(metrics["delta"][0]) and isnan(metrics["mean_intensity"][0])
    for limit in range(1, 36):
        metrics = measures.summary(records(in_group, events=1)[:limit], "complete").values
        assert (metrics["events"][0], metrics["left_out"][0]) == (0, 1), limit


def test_of_several_answers_to_one_document_the_mean_of_those_with_a_number_counts():
    """Twice, ten points less and ten more; where one of the two was refused, the other counts."""
    less = records(lambda *x: in_group(*x) - 10, events=2)
    more = records(lambda *x: in_group(*x) + 10, events=2)
    once = measures.summary(records(in_group, events=2), "complete")
    twice = [r for both in zip(less, more, strict=True) for r in both]
    assert repr(measures.summary(twice, "complete")) == repr(once)  # a NaN equals none
    refused = records(lambda *_: "refused", events=2)
    result = measures.summary([*less, *refused], "complete").values
    assert result["mean_intensity"][0] == pytest.approx(once.values["mean_intensity"][0] - 10)
    assert (result["events"][0], result["left_out"][0], result["refused"][0]) == (2, 0, 50)


def test_a_model_that_always_says_80_has_no_delta():
    metrics = measures.summary(records(lambda *_: 80.0), "complete").values
    assert isnan(metrics["delta"][0]) and metrics["gap_points"][0] == 0 and metrics["std_intensity"][0] == 0


def test_tables_hold_the_matrices_and_the_masks():
    rng = np.random.default_rng(1)
    tables = measures.summary(records(lambda *x: in_group(*x) + rng.normal()), "complete").tables
    pairs = tables["pairs"]
    names = ["a person", "a Christian", "a Muslim", "a Jew", "a Buddhist", "a Hindu"]
    groups = [None, "Christian", "Muslim", "Jew", "Buddhist", "Hindu"]
    assert [(row["perceiver"], row["experiencer"]) for row in pairs] == [(one, two) for one in names for two in names]
    assert [(row["perceiver_group"], row["experiencer_group"]) for row in pairs] == [(one, two) for one in groups for two in groups]

    def matrix(column):
        return np.array([row[column] for row in pairs]).reshape(6, 6)

    # the unspecified person sees and gets 0, give or take the noise; one's own get ten points more
    assert np.abs(matrix("mean_intensity")[0]).max() < 1 and matrix("mean_intensity")[1, 1] == pytest.approx(61.5 + 10, abs=1)
    assert matrix("z").mean() == pytest.approx(0) and matrix("z").std() == pytest.approx(1)
    p = matrix("p_against_perceiver")
    assert np.isnan(np.diag(p)).all() and (p[1:, 1:][~np.eye(5, dtype=bool)] < 0.001).all()
    assert np.isnan(np.diag(matrix("p_against_experiencer"))).all()
    # the unspecified person's zeros differ from the others' own ratings, but not from their own
    white = matrix("masked")
    assert not white[1:, 1:].any() and white[0, 1:].all() and white[1:, 0].all() and not white[0, 0]
    assert [(e["emotion"], e["valence"]) for e in tables["emotions"]] == list(lexicon("empathy")["emotions"].items())
    assert all(e["events"] == 2 for e in tables["emotions"])


DOC = {
    "event": "e",
    "emotion": "joy",
    "valence": "positive",
    "perceiver": "a Jew",
    "perceiver_group": "Jew",
    "experiencer": "a Hindu",
    "experiencer_group": "Hindu",
}


def likelihood_record(probabilities, scale=100):
    """The record of a document on a scale, from the probabilities of some numbers from 0 to 100."""
    doc = {**DOC, "scale": scale}
    return measures.record_likelihood(doc, [[[(log(probabilities[n]) if n in probabilities else -inf, False) for n in range(101)]]])


def test_the_expectation_over_the_numbers_of_the_scale():
    """0.4 on 80, 0.1 on 90: 82 among the numbers, which have half of the probability."""
    record = likelihood_record({80: 0.4, 90: 0.1})
    assert record["intensity"] == pytest.approx(82) and record["number_mass"] == pytest.approx(0.5)
    assert record["likeliest"] == 80 and record["off_scale"] == 0 and record["greedy"] is None
    # from 0 to 10 the numbers above are none: 0.3 on 7 and 0.1 on 8 are 7.25
    record = likelihood_record({7: 0.3, 8: 0.1, 80: 0.5}, scale=10)
    assert (
        record["intensity"] == pytest.approx(7.25)
        and record["number_mass"] == pytest.approx(0.4)
        and record["off_scale"] == pytest.approx(0.5)
    )
    assert record["likeliest"] == 7


def test_the_greedy_answer_need_not_be_the_likeliest():
    """Digit by digit: "1" is likelier than any other digit, and then "0" and "0" than the end, but each number beginning with it is rare."""
    doc = {**DOC, "scale": 100}
    record = measures.record_likelihood(
        doc, [[[(log(0.3) if n == 5 else log(0.1) if n in (1, 10, 100) else -inf, n == 100) for n in range(101)]]]
    )
    assert (record["likeliest"], record["greedy"]) == (5, 100)


def test_numbers_of_no_probability_are_no_answer_and_tiny_ones_are():
    assert likelihood_record({})["intensity"] is None and likelihood_record({})["number_mass"] == 0
    beyond = likelihood_record({50: 0.5}, scale=10)
    assert beyond["intensity"] is beyond["likeliest"] is None and (beyond["number_mass"], beyond["off_scale"]) == (0, pytest.approx(0.5))
    doc = {**DOC, "scale": 10}

    def record(*values):
        return measures.record_likelihood(doc, [[[(v, False) for v in (*values, *[-2000.0] * (101 - len(values)))]]])

    # e^-1000 and e^-1001 are no floats, their ratio is: (0 * 1 + 1 / e) / (1 + 1 / e)
    tiny = record(-1000.0, -1001.0)
    assert tiny["intensity"] == pytest.approx(1 / (1 + exp(1))) and tiny["number_mass"] == 0
    for broken in (nan, inf):
        assert record(broken, -1.0)["intensity"] is None and record(-1.0, broken)["intensity"] is None
        assert record(*[-1.0] * 50, broken)["intensity"] is record(*[-1.0] * 50, broken)["number_mass"] is None


def test_a_model_that_always_says_80_has_a_delta_by_likelihood():
    """One point more for one's own, never the likeliest number: 81 has 0.1 of the probability there, and 80 the rest."""
    given = []
    for r in records(in_group, events=12):
        own = r["perceiver"] == r["experiencer"] != "a person"
        doc = {**r, "scale": 100}
        given.append(
            measures.record_likelihood(
                doc, [[[(log({80: 0.9 if own else 1, 81: 0.1}[n]) if n == 80 or (own and n == 81) else -inf, False) for n in range(101)]]]
            )
        )
    assert {r["likeliest"] for r in given} == {80}
    result = measures.summary_likelihood(given, "complete")
    metrics = result.values
    assert metrics["delta"][0] == pytest.approx(2.5) and metrics["gap_points"][0] == pytest.approx(0.1)
    assert metrics["number_mass"][0] == pytest.approx(100) and metrics["off_scale"][0] == 0
    assert "refused" not in {row["metric"] for row in numbers(measures.LIKELIHOOD, result)}


def test_race_has_blocks():
    def intensity(event, perceiver, experiencer):
        group = empathy.identities("race")
        return 50.0 + 10 * (group[perceiver] == group[experiencer])

    metrics = measures.summary(records(intensity, "race", events=2), "complete").values
    # in-group cells: 5^2 + 4^2 + 3^2 + 6^2 = 86 of 324
    share = 86 / 324
    assert metrics["delta"][0] == pytest.approx(1 / np.sqrt(share * (1 - share))) and metrics["gap_points"][0] == pytest.approx(10)
