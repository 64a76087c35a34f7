from math import atanh, isnan, sqrt, tanh

import numpy as np
import pytest
from lm_eval_bias.metrics.rank_correlation import correlations, rank_correlation, significance
from scipy import stats


def test_rho_and_p_are_scipys_with_ties():
    rng = np.random.default_rng(1)
    for n in (4, 10, 98):
        x = rng.integers(1, 6, n)
        y = x + rng.integers(-2, 3, n)
        found, expected = rank_correlation(x, y), stats.spearmanr(x, y)
        assert found[:3] == pytest.approx((n, expected.statistic, expected.pvalue))


def test_interval_by_hand():
    """Ranks 1 2 3 4 5 against 2 1 4 3 5: squared differences sum to 4, rho = 1 - 6 * 4 / (5 * 24) =
    .8. Bonett and Wright's standard error is sqrt((1 + .32) / 2)."""
    found = rank_correlation([1, 2, 3, 4, 5], [20, 10, 40, 30, 50])
    half = 1.959964 * sqrt((1 + 0.8**2 / 2) / 2)
    assert found.rho == pytest.approx(0.8)
    assert (found.low, found.high) == pytest.approx(
        (tanh(atanh(0.8) - half), tanh(atanh(0.8) + half)), abs=1e-6
    )


def test_without_each_pair_it_is_that_of_the_others():
    x, y = np.random.default_rng(4).integers(1, 5, (2, 9))
    rho, n = correlations(x, y, 1 - np.eye(9))
    others = [stats.spearmanr(np.delete(x, i), np.delete(y, i)).statistic for i in range(9)]
    assert rho == pytest.approx(others) and set(n) == {8}


@pytest.mark.parametrize("sign", [1, -1])
def test_equal_orders_are_one_with_p_zero_and_no_interval(sign):
    """Of five pairs; the last one has no number."""
    found = rank_correlation([1, 2, 2, 3, 9, np.nan], [sign * y for y in (10, 20, 20, 21, 22, 0)])
    assert found[:3] == (5, sign, 0) and found.stars == "***"
    assert isnan(found.low) and isnan(found.high)


@pytest.mark.parametrize(
    "x, y",
    [([1, 2, 3], [1, 2, 3]), ([], []), ([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3, 4], [0.1] * 4)],
)
def test_what_cannot_be_known_is_nan_without_stars(x, y):
    n, *rest, stars = rank_correlation(x, y)
    assert n == len(x) and all(map(isnan, rest)) and stars == ""


def test_stars_begin_below_their_levels():
    """t with 18 degrees of freedom is 2.101 at .05, 2.878 at .01, 3.922 at .001; rho = t / sqrt(18
    + t^2)."""
    for t, fewer, more in ((2.101, "", "*"), (2.878, "*", "**"), (3.922, "**", "***")):
        assert significance((t - 0.01) / sqrt(18 + (t - 0.01) ** 2), 20)[1] == fewer
        assert significance((t + 0.01) / sqrt(18 + (t + 0.01) ** 2), 20)[1] == more
