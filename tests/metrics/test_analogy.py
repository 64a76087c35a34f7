from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval_bias.metrics.analogy import (
    Preferred,
    calibrated,
    per_token,
    preference,
    preferred_mean,
)


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


def two_by_two(values):
    """Contrasts a and b, counterparts x and y, in one cell."""
    return [
        Preferred(v, "women", c, "height", w)
        for v, (c, w) in zip(values, ("ax", "ay", "bx", "by"), strict=True)
    ]


def test_contrasts_and_counterparts_are_both_samples():
    """Values 100, 100, 0, 0: influences +-12.5. Contrasts: sums 25 and -25, 2 / 1 * 1250 = 2500.
    Counterparts: 0. No less than the largest: an error of 50, with one degree of freedom, and no
    interval. And the same with contrasts and counterparts exchanged."""
    for values in ([100, 100, 0, 0], [100, 0, 100, 0]):
        found = preferred_mean(two_by_two(values))
        assert (found.value, found.stderr, found.df) == (50, pytest.approx(50), pytest.approx(1))
        assert isnan(found.low) and isnan(found.high)


def test_what_has_no_value_is_left_out_and_of_nothing_there_is_no_mean():
    assert preferred_mean(two_by_two([100, nan, nan, nan])).value == 100
    assert isnan(preferred_mean(two_by_two([nan] * 4)).value) and isnan(preferred_mean([]).value)


def test_an_infinite_value_has_no_error():
    assert preferred_mean(two_by_two([inf, 1.0, 0.0, 0.0]))[:1] == (inf,) and isnan(
        preferred_mean(two_by_two([inf, -inf, 0.0, 0.0])).value
    )
    assert isnan(preferred_mean(two_by_two([inf, 1.0, 0.0, 0.0])).stderr)


def test_the_proportions_of_the_cells_are_fixed():
    """Two cells that differ, with no spread in either: no error."""
    rows = [
        Preferred(100.0 * (g == "women"), g, f"{g}{c}", "height", w)
        for g in ("women", "men")
        for c in "ab"
        for w in "xy"
    ]
    assert (preferred_mean(rows).value, preferred_mean(rows).stderr) == (50, 0)
