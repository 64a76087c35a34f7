"""Log-likelihoods of answers as probabilities, against scipy, and where there is no answer."""

from math import inf, isnan, nan

import pytest
from hypothesis import given, strategies as st
from scipy.special import softmax

from lm_eval_bias.likelihoods import likeliest, mass, probabilities, usable

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
