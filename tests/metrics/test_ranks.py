"""Holm's adjustment, and ranks of estimates with intervals."""

from math import inf, nan, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.metrics.ranks import ranks
from scipy import stats

QUANTILE = NormalDist().inv_cdf(0.975)

# ---- Holm


def test_holm_by_hand():
    """Five tests, sorted .005, .01, .03, .04, .3: times 5, 4, 3, 2, 1 is .025, .04, .09, .08, .3;
    none below the one before it, so .09 twice. Nothing is above 1."""
    p = [0.01, 0.04, 0.03, 0.3, 0.005]
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.3, 0.025])
    assert holm([0.6, 0.7]).tolist() == [1, 1]


def test_a_test_that_was_not_made_does_not_count():
    """.02 times 2 and .03 times 1, which may not be below .04."""
    assert holm([0.02, nan, 0.03]) == pytest.approx([0.04, nan, 0.04], nan_ok=True)


# ---- Ranks


def p_of(z):
    return 2 * (1 - NormalDist().cdf(z))


def symmetric(values, stderrs, **options):
    values, half = np.array(values, float), QUANTILE * np.array(stderrs, float)
    return ranks(values, values - half, values + half, **options)


def test_ranks_by_hand():
    """10, 12, 17 with standard errors of 1: z of the pairs 1.41, 3.54, 4.95, so p is .157, .0004,
    7e-7, and 10 and 12 share ranks 1 and 2."""
    found = symmetric([12, 17, 10], [1, 1, 1])
    p = [p_of(difference / sqrt(2)) for difference in (2, 5, 7)]
    pairs = [found.p[0, 2], found.p[0, 1], found.p[2, 1]]
    assert pairs == pytest.approx([p[0], 2 * p[1], 3 * p[2]])
    assert found.ranks.tolist() == [[1, 2], [3, 3], [1, 2]] and found.ties == [(0, 2), (1,)]


def test_the_sides_that_face_each_other_count():
    """5 reaches 1 down and 9 up, 10 reaches 2 down and 1 up: 5 / sqrt(9² + 2²) intervals are 1.06
    standard errors. The other way 5 / sqrt(1 + 1)."""
    facing = ranks([5, 10], [4, 8], [14, 11])
    assert facing.p[0, 1] == pytest.approx(p_of(QUANTILE * 5 / sqrt(85))) and not facing.lower.any()
    away = ranks([5, 10], [-4, 9], [6, 19])
    assert away.p[0, 1] == pytest.approx(p_of(QUANTILE * 5 / sqrt(2))) and away.lower[0, 1]


def test_distances_are_told_apart_only_where_both_signs_are():
    """-1 and 6, standard errors of 1: 5 / sqrt(2) = 3.54 where both are positive, 7 / sqrt(2) where
    they are not; the smaller counts."""
    found = symmetric([-1, 6], [1, 1], distances=True)
    assert found.p[0, 1] == pytest.approx(p_of(5 / sqrt(2)))
    assert found.ranks.tolist() == [[1, 1], [2, 2]]
    assert not symmetric([-6, 6], [1, 1], distances=True).lower.any()
    assert symmetric([-6, 6], [1, 1]).lower[0, 1]


def test_a_mirrored_interval_keeps_its_sides():
    """-5 in [-14, -4] is a distance of 5 in [4, 14]; beside 10 in [8, 11] it is the pair above."""
    mirrored = ranks([-5, 10], [-14, 8], [-4, 11], distances=True)
    assert mirrored.p[0, 1] == ranks([5, 10], [4, 8], [14, 11], distances=True).p[0, 1]


def test_what_has_no_interval_is_not_ranked_and_costs_the_others_nothing():
    found = ranks([10, 16, 12, nan, 11], [8, 13, nan, 1, 11], [12, 19, nan, 2, 11])
    assert np.isnan(found.ranks[2:]).all() and found.ranks[:2].tolist() == [[1, 1], [2, 2]]


def test_an_interval_without_end_tells_nothing_on_that_side():
    assert not ranks([1, 100], [0, -inf], [2, 101]).lower.any()
    assert ranks([1, 100], [-inf, 99], [2, inf]).lower[0, 1]


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 20)), min_size=1, max_size=9),
    st.booleans(),
)
def test_ties_cover_all_and_hold_none_that_differ(rows, distances):
    found = symmetric(*zip(*rows, strict=True), distances=distances)
    k = len(rows)
    for i in range(k):
        for j in range(k):
            together = any(i in each and j in each for each in found.ties)
            assert together == (not found.lower[i, j] and not found.lower[j, i])
    low, high = found.ranks.T
    assert (low >= 1).all() and (high <= k).all() and (low <= high).all()
    assert not any(set(a) < set(b) for a in found.ties for b in found.ties)


def test_few_clusters_need_students_quantiles():
    """Welch by hand: 10 ± 2 on 4 degrees of freedom, 16 ± 3 on 9. Errors 2 / 2.776 = 0.720 and 3 /
    2.262 = 1.326, together 1.509; 2.277^2 / (0.519^2 / 4 + 1.759^2 / 9) = 12.6 degrees of
    freedom."""
    one, two = 2 / stats.t.ppf(0.975, 4), 3 / stats.t.ppf(0.975, 9)
    df = (one**2 + two**2) ** 2 / (one**4 / 4 + two**4 / 9)
    assert df == pytest.approx(12.6, abs=0.1)
    few = ranks([10, 16], [8, 13], [12, 19], df=[4, 9])
    assert few.p[0, 1] == pytest.approx(2 * stats.t.sf(6 / sqrt(one**2 + two**2), df))
    assert few.p[0, 1] > ranks([10, 16], [8, 13], [12, 19]).p[0, 1]
