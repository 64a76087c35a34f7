"""Log-likelihoods of answers as probabilities, against scipy, and where there is no answer."""

from math import exp, inf, isnan, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from lm_eval_bias.likelihoods import Read, likeliest, made_exclusive, mass, probabilities, usable

numbers = st.floats(-2000, 0)
possible = st.lists(numbers | st.just(-inf), min_size=1, max_size=12).filter(
    lambda values: max(values) > -inf
)
broken = st.lists(numbers | st.sampled_from([nan, inf, -inf]), max_size=12).filter(
    lambda values: any(isnan(v) or v == inf for v in values)
)


@given(broken | st.sampled_from([[], [-inf], [-inf, -inf]]))
def test_no_answer_where_none_has_any_probability_or_one_is_no_number(values):
    assert not usable(values)
    assert probabilities(values) is likeliest(values) is None
    assert mass(values) is None or all(value == -inf for value in values)


@given(possible, st.floats(-500, 500))
def test_probabilities_are_the_softmax_and_a_common_factor_changes_none(values, shift):
    p = probabilities(values)
    assert usable(values)
    assert p == pytest.approx(list(softmax(values)), abs=1e-12) and sum(p) == pytest.approx(1)
    assert all(weight == 0 for weight, value in zip(p, values, strict=True) if value == -inf)
    assert p == pytest.approx(probabilities([value + shift for value in values]), abs=1e-9)


@pytest.mark.parametrize(
    "shorter, longer, rest",
    [
        (log(0.5), log(0.5), -inf),
        (log(0.5), log(0.5000001), -inf),  # rounding
        (-inf, -inf, -inf),
        (-1.0, nan, nan),
        (-1000.0, -1001.0, -1000 + log(1 - exp(-1))),
    ],
)
def test_nothing_left_is_no_probability_and_what_is_no_number_stays_none(shorter, longer, rest):
    (value, _), _ = made_exclusive([(shorter, False), (longer, False)], [[1], []])
    assert value == pytest.approx(rest, nan_ok=True)


def test_what_longer_choices_take_is_taken_away():
    """P("1") = 0.6, of which "10" takes 0.5, of which "100" takes 0.2."""
    result = made_exclusive(
        [(log(0.6), True), (log(0.5), True), (log(0.2), False), (log(0.3), False)],
        [[1], [2], [], []],
    )
    assert [exp(value) for value, _ in result] == pytest.approx([0.1, 0.3, 0.2, 0.3])
    assert [greedy for _, greedy in result] == [False, True, False, False]


def test_what_unseen_longer_choices_may_take_shows_at_both_ends():
    """P("1") = 0.5, of which "10" takes 0.2 and "11" at most 0.1; "2" and "20" have at most 0.05,
    each perhaps all of it."""
    one, ten, eleven = Read(log(0.5), 0.9), Read(log(0.2), 0.9), Read(log(0.1), 0.9, "unseen")
    two = Read(log(0.05), 0.9, "unseen")
    reads = [(read, False) for read in (one, ten, eleven, two, two)]
    result = [value for value, _ in made_exclusive(reads, [[1, 2], [], [], [4], []])]
    assert [exp(value) for value in result] == pytest.approx([0.2, 0.2, 0.1, 0.05, 0.05])
    assert [value.how for value in result] == ["", "", *["unseen"] * 3]
    without = Read.without_unseen(result)
    assert [exp(value) for value in without] == pytest.approx([0.3, 0.2, 0, 0, 0])
