"""Control limits, by hand and by simulation."""

import numpy as np
import pytest
from lm_eval_bias.metrics.control import limits


def test_limits_are_the_interval_of_prediction():
    """1, 2, 3: mean 2, standard deviation 1. The 99.5th percentile of Student's t with 2 degrees of
    freedom is 9.925: 2 ± 9.925 * sqrt(4 / 3)."""
    low, high = limits([1, 2, 3], alpha=0.01)
    assert np.isnan(low[:2]).all() and np.isnan(high[:2]).all()
    assert (low[3], high[3]) == pytest.approx((2 - 11.460, 2 + 11.460), abs=1e-3)
    # 1, 2: mean 1.5, deviation sqrt(0.5), one degree of freedom: 63.657
    assert high[2] == pytest.approx(1.5 + 63.657 * 0.70711 * 1.5**0.5, abs=1e-2)


def test_equal_values_have_no_limits():
    assert np.isnan(limits([4.0] * 5)).all()


@pytest.mark.parametrize("n", [3, 8, 30])
def test_of_a_series_that_does_not_change_so_many_lie_outside(n):
    generator = np.random.default_rng(n)
    series = generator.normal(5, 2, size=(4000, n + 1))

    def is_outside(row):
        low, high = limits(row[:n], alpha=0.05)
        return not low[n] <= row[n] <= high[n]

    outside = np.mean([is_outside(row) for row in series])
    assert outside == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 4000) ** 0.5)
