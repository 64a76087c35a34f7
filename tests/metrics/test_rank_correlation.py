from math import atanh, isnan, sqrt, tanh

import numpy as np
import pytest
from lm_eval_bias.metrics.rank_correlation import correlations, rank_correlation, significance
from scipy import stats

# StereoMap, Table 8, Cuddy et al.: rows competence, warmth, admiration, contempt, envy, pity;
# columns active facilitation, active harm, passive facilitation, passive harm.
CUDDY = """
    .08 -.20 -.77*** -.68***    .73*** -.55*** .45* -.24        .59** -.35 .95*** -.69**
    -.63** .93*** -.46* .48*    -.06 .22 .57** -.39             .51* -.10 -.48* .65**"""


def follows(cell: str, n: int) -> bool:
    """Whether a rho that is printed so may have these stars with n groups: it was rounded to two
    decimals."""
    rho, stars = abs(float(cell.rstrip("*"))), cell.count("*")
    low, high = (len(significance(r, n)[1]) for r in (max(rho - 0.005, 0), rho + 0.005))
    return low <= stars <= high


def exceptions(n: int) -> list[str]:
    """The cells whose stars do not follow from rho and n groups."""
    return [cell for cell in CUDDY.split() if not follows(cell, n)]


def test_stars_of_people_follow_from_twenty_groups():
    """Cuddy, Fiske and Glick (2007) had 20 groups. Of 20, 21 or 22 groups all but two cells of 24
    have the stars they should: -.55 has p = .012, one star, and -.69 has p = .0008, three. No other
    number has fewer exceptions."""
    assert exceptions(20) == exceptions(22) == ["-.55***", "-.69**"]
    assert min(len(exceptions(n)) for n in (*range(4, 20), *range(23, 200))) > 2


def test_rho_and_p_are_scipys_with_ties():
    rng = np.random.default_rng(1)
    for n in (4, 10, 98):
        x = rng.integers(1, 6, n)
        y = x + rng.integers(-2, 3, n)
        found, expected = rank_correlation(x, y), stats.spearmanr(x, y)
        assert (found.n, found.rho, found.p) == (
            n,
            pytest.approx(expected.statistic),
            pytest.approx(expected.pvalue),
        )


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
