from math import isnan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.crossed import Clustering, crossed_mean, crossed_variance

NOTHING = [0] * 6


def test_one_clustering_by_hand():
    """Rows 1 1 | 2 2 | 3 3: three clusters of means 1, 2, 3. Variance of the mean 1 / 3, t with 2
    degrees of freedom is 4.303."""
    found = crossed_mean([1, 1, 2, 2, 3, 3], NOTHING, Clustering("aabbcc", NOTHING))
    assert found[:3] == (2, pytest.approx(sqrt(1 / 3)), pytest.approx(2))
    assert (found.low, found.high) == pytest.approx(
        (2 - 4.303 * sqrt(1 / 3), 2 + 4.303 * sqrt(1 / 3)), abs=1e-3
    )


def test_strata_are_no_chance():
    """Two strata with clusters of means 0, 2 and 10, 14. Half of the rows each: (sqrt(2) / 2)^2 / 2
    + (sqrt(8) / 2)^2 / 2 = .25 * 1 + .25 * 4."""
    strata = [0, 0, 1, 1]
    found = crossed_mean([0, 2, 10, 14], strata, Clustering("abcd", strata))
    assert found.value == 6.5 and found.stderr == pytest.approx(sqrt(0.25 * 1 + 0.25 * 4))
    # Satterthwaite: (.25 + 1)^2 / (.25^2 + 1^2)
    assert found.df == pytest.approx(1.25**2 / (0.25**2 + 1))


def test_two_ways_agree_with_a_sum_over_all_pairs_of_rows():
    """Written anew: every two rows that share a cluster in one of the two ways contribute the
    product of their deviations."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(8, size=200), rng.integers(6, size=200)
    y = rng.standard_normal(8)[a] + rng.standard_normal(6)[b] + rng.standard_normal(200)
    nothing = np.zeros(200, dtype=int)
    found = crossed_mean(y, nothing, Clustering(a, nothing), Clustering(b, nothing))
    away = y - y.mean()
    variance = 0.0
    for labels, sign in ((a, 1), (b, 1), (10 * a + b, -1)):
        g = len(set(labels.tolist()))
        same = labels[:, None] == labels
        variance += sign * g / (g - 1) * (np.outer(away, away) * same).sum() / 200**2
    assert (found.value, found.stderr) == pytest.approx((y.mean(), sqrt(variance)))


def test_a_stratum_of_one_cluster_gives_the_strata_up():
    """a and b of one stratum, c of another: errors as if all three were of one, means 0, 2, 4."""
    found = crossed_mean([0, 2, 4], [0, 0, 1], Clustering("abc", [0, 0, 1]))
    assert found.stderr == pytest.approx(2 / sqrt(3))


def test_what_cannot_be_known_is_nan():
    assert all(isnan(x) for x in crossed_mean([], [], Clustering([], [])))
    one = crossed_mean([1, 2], [0, 0], Clustering("aa", [0, 0]))
    assert one.value == 1.5 and isnan(one.stderr) and isnan(one.low)
    assert isnan(crossed_variance([], Clustering([], []))[0])


def test_equal_rows_have_no_error():
    found = crossed_mean([0.1] * 6, NOTHING, Clustering("aabbcc", NOTHING))
    assert found.stderr == 0 and found.low == found.high == pytest.approx(0.1)
