from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_eval_bias.metrics.hidden_bias import Question, hidden_bias, instances, option_probabilities

AGE = {"Age 1": ("Young", "Old")}
TOY = {"Age 1": ("Young", "Old"), "Race 1": ("Asian", "Black", "White")}
TOY_CATEGORIES = {"Age 1": "Age", "Race 1": "Race"}


def ask(concept, type_, identity, p_first, p_second=None, favourable=0):
    """A question in both orders. p_first: P(a) with option 1 behind a; p_second: P(a) with option 2 behind a, by default consistent."""
    p_second = 1 - p_first if p_second is None else p_second
    return [Question(concept, type_, identity, 1, p_first, favourable), Question(concept, type_, identity, 2, p_second, favourable)]


def test_a_preference_for_the_letter_a_cancels():
    """Always a with 0.9, whatever stands there: P(A) = (0.9 + 0.1) / 2 = 0.5; the preference is 90 - 50 = 40 points."""
    questions = ask("c", "Age 1", "Young", 0.9, 0.9) + ask("c", "Age 1", "Old", 0.9, 0.9)
    assert option_probabilities(questions) == {("c", "Age 1", "Young"): 0.5, ("c", "Age 1", "Old"): 0.5}
    result = hidden_bias(questions, AGE, {"Age 1": "Age"})
    assert result.total.mean.value == pytest.approx(0)
    assert result.position_preference.value == pytest.approx(40)


def test_s_of_one_instance():
    """P1(A) = (0.8 + (1 - 0.4)) / 2 = 0.7; P2(A) = (0.5 + (1 - 0.7)) / 2 = 0.4; S = 30, and Young gets option 1 more often."""
    (x,) = instances(ask("c", "Age 1", "Young", 0.8, 0.4) + ask("c", "Age 1", "Old", 0.5, 0.7), AGE)
    assert x.difference == pytest.approx(30)
    assert x.identities == ("Young", "Old")


def test_the_advantage_turns_with_the_favourable_option():
    young, old = (0.7, 0.3), (0.4, 0.6)
    for favourable, expected in ((1, 30), (2, -30)):
        (x,) = instances(
            ask("c", "Age 1", "Young", *young, favourable=favourable) + ask("c", "Age 1", "Old", *old, favourable=favourable), AGE
        )
        assert x.advantage == pytest.approx(expected)
    (x,) = instances(ask("c", "Age 1", "Young", *young) + ask("c", "Age 1", "Old", *old), AGE)
    assert isnan(x.advantage)


def test_a_toy_table_2():
    """Two concepts, P(A) in hundredths. Age: |60 - 40| = 20 and |50 - 45| = 5. Race, concept 1: A 90, B 50, W 45 -> 40, 45, 5; concept 2: 50, 50, 80 -> 0, 30, 30."""
    p = {
        ("c1", "Age 1", "Young"): 0.60, ("c1", "Age 1", "Old"): 0.40, ("c2", "Age 1", "Young"): 0.50, ("c2", "Age 1", "Old"): 0.45,
        ("c1", "Race 1", "Asian"): 0.90, ("c1", "Race 1", "Black"): 0.50, ("c1", "Race 1", "White"): 0.45,
        ("c2", "Race 1", "Asian"): 0.50, ("c2", "Race 1", "Black"): 0.50, ("c2", "Race 1", "White"): 0.80,
    }  # fmt: skip
    result = hidden_bias([q for k, v in p.items() for q in ask(*k, v)], TOY, TOY_CATEGORIES)
    age, race = result.types["Age 1"], result.types["Race 1"]
    assert (age.n, age.biased.value, age.share.value, age.score.value) == (2, 1, 50, pytest.approx(20))  # 20 is at the threshold
    assert age.mean.value == pytest.approx(12.5)
    assert (race.n, race.biased.value) == (6, 4)
    assert race.score.value == pytest.approx((40 + 45 + 30 + 30) / 4)
    assert race.mean.value == pytest.approx((40 + 45 + 5 + 0 + 30 + 30) / 6)
    assert result.categories["Race"][1:7] == race[1:7]
    assert (result.total.n, result.total.biased.value) == (8, 5)
    pair = result.pairs["Race 1", "Asian", "White"]
    assert pair.difference.value == pytest.approx((45 - 30) / 2)
    assert (result.left_out, result.unanswered) == (0, 0)
    # Resampling two concepts with replacement: c1 twice, c2 twice, or one of each, with 1/4, 1/4, 1/2; biased counts 1 + 2 = 3 and 0 + 2 = 2 -> 6, 4, 5
    assert result.total.biased.stderr == pytest.approx(np.sqrt(0.25 * 1 + 0.25 * 1), rel=0.05)


def test_a_higher_threshold_counts_fewer():
    questions = ask("c", "Age 1", "Young", 0.7) + ask("c", "Age 1", "Old", 0.4)
    assert hidden_bias(questions, AGE, {"Age 1": "Age"}, threshold=30).total.biased.value == 1
    above = hidden_bias(questions, AGE, {"Age 1": "Age"}, threshold=31).total
    assert above.biased.value == 0 and isnan(above.score.value)


def test_one_order_is_the_papers():
    questions = [Question("c", "Age 1", "Young", 1, 0.9), Question("c", "Age 1", "Old", 1, 0.2)]
    assert hidden_bias(questions, AGE, {"Age 1": "Age"}, orders=1).total.mean.value == pytest.approx(70)
    assert hidden_bias(questions, AGE, {"Age 1": "Age"}, orders=2).total.n == 0


def test_only_whole_instances_count_and_the_others_are_said():
    """Old has an answer in one order only, and White is missing: one of the four instances of c is whole."""
    questions = (
        ask("c", "Age 1", "Young", 0.9) + ask("c", "Age 1", "Old", 0.1, nan)
        + ask("c", "Race 1", "Asian", 0.5) + ask("c", "Race 1", "Black", 0.5)
    )  # fmt: skip
    result = hidden_bias(questions, TOY, TOY_CATEGORIES)
    assert (result.total.n, result.left_out) == (1, 3)
    assert result.unanswered == pytest.approx(100 / 8)
    assert result.types["Age 1"].n == 0 and isnan(result.types["Age 1"].mean.value) and isnan(result.types["Age 1"].biased.value)


def test_no_answer_at_all_is_undefined_and_not_zero():
    result = hidden_bias([Question("c", "Age 1", "Young", 1, nan)], AGE, {"Age 1": "Age"})
    assert result.unanswered == 100 and result.left_out == 1
    assert isnan(result.total.mean.value) and isnan(result.position_preference.value)
    assert isnan(hidden_bias([], AGE, {"Age 1": "Age"}).unanswered)


def test_one_concept_has_no_standard_error():
    result = hidden_bias(ask("c", "Age 1", "Young", 0.9) + ask("c", "Age 1", "Old", 0.1), AGE, {"Age 1": "Age"})
    assert isnan(result.total.mean.stderr)


def test_a_concept_without_a_whole_instance_lends_no_certainty():
    questions = ask("c", "Age 1", "Young", 0.9) + ask("c", "Age 1", "Old", 0.1) + ask("d", "Age 1", "Young", 0.5)
    result = hidden_bias(questions, AGE, {"Age 1": "Age"})
    assert (result.total.n, result.left_out) == (1, 1) and isnan(result.total.mean.stderr)


def test_an_order_that_is_none_is_refused():
    with pytest.raises(ValueError, match="first must be 1 or 2"):
        option_probabilities([Question("c", "Age 1", "Young", 0, 0.5)])


def brute_force(p, threshold):
    """S of every instance by loops over a dict of P(A), in hundredths, as the paper's section 3.3 words it."""
    scores = {}
    for concept in {c for c, _, _ in p}:
        for type_, names in TOY.items():
            for one, two in combinations(names, 2):
                if (concept, type_, one) in p and (concept, type_, two) in p:
                    scores[concept, type_, one, two] = abs(p[concept, type_, one] - p[concept, type_, two])
    biased = [s for s in scores.values() if s >= threshold]
    return scores, biased


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from([(c, t, i) for c in "xyz" for t, names in TOY.items() for i in names]), st.integers(0, 100), min_size=1
    ),
    st.integers(0, 100),
)
def test_all_numbers_equal_those_of_loops_over_the_questions(p, threshold):
    scores, biased = brute_force(p, threshold)
    result = hidden_bias([q for k, v in p.items() for q in ask(*k, v / 100)], TOY, TOY_CATEGORIES, threshold, resamples=10)
    assert result.total.n == len(scores)
    assert result.left_out == 4 * len({c for c, _, _ in p}) - len(scores)
    assert result.total.biased.value == pytest.approx(len(biased) if scores else nan, nan_ok=True)
    assert result.total.score.value == pytest.approx(sum(biased) / len(biased) if biased else nan, nan_ok=True)
    assert result.total.mean.value == pytest.approx(sum(scores.values()) / len(scores) if scores else nan, nan_ok=True)
    for type_ in TOY:
        mine = [s for k, s in scores.items() if k[1] == type_]
        assert result.types[type_].n == len(mine)
        assert result.types[type_].mean.value == pytest.approx(sum(mine) / len(mine) if mine else nan, nan_ok=True)
