from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval_bias.metrics.analogy import calibrated, per_token, preference


def test_a_preference_is_for_one_word_for_the_other_for_neither_or_unknown():
    assert preference([2.0, -0.1, 0.1 + 0.2 - 0.3, inf, -inf]).tolist() == [1, 0, 0.5, 1, 0]
    assert isnan(preference(nan))


def test_calibrated_is_what_c_adds_to_content_free_phrases():
    assert calibrated(-1.0, [-3.0, -2.0, -1.0]) == pytest.approx(1.0)  # -1 - (-2)
    assert (
        isnan(calibrated(-1.0, []))
        and isnan(calibrated(nan, [1.0]))
        and isnan(calibrated(1.0, [2.0, nan]))
    )
    assert isnan(calibrated(inf, [inf])) and calibrated(inf, [1.0]) == inf


@given(st.floats(-50, 50), st.integers(1, 7))
def test_a_word_that_c_does_not_move_is_exactly_as_likely(log_odds, phrases):
    assert calibrated(log_odds, [log_odds] * phrases) == 0


def test_per_token():
    assert per_token(-6.0, 3) == -2 and isnan(per_token(-6.0, None)) and isnan(per_token(-6.0, 0))
