from math import isnan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.crossed import Clustering, combined, crossed_mean, crossed_variance
from lm_eval_bias.metrics.jackknife import jackknife_variance


def test_one_clustering_by_hand():
    """Ten clusters of two rows, with means 1 and 3: the variance of the mean is 10 / 9 / 10, t
    with 9 degrees of freedom 2.262. Of nine clusters there is no interval."""
    y, nothing = [1, 1, 3, 3] * 5, [0] * 20
    found = crossed_mean(y, nothing, Clustering("aabbccddeeffgghhiijj", nothing))
    assert found[:3] == (2, pytest.approx(1 / 3), pytest.approx(9))
    assert (found.low, found.high) == pytest.approx((2 - 2.262 / 3, 2 + 2.262 / 3), abs=1e-3)
    few = crossed_mean(y, nothing, Clustering("aabbccddeeffgghhiiii", nothing))
    assert few.stderr > 0 and isnan(few.low) and isnan(few.high)


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
        g = 200**2 / (np.unique(labels, return_counts=True)[1] ** 2).sum()
        same = labels[:, None] == labels
        variance += sign * g / (g - 1) * (np.outer(away, away) * same).sum() / 200**2
    assert (found.value, found.stderr) == pytest.approx((y.mean(), sqrt(variance)))


def test_a_stratum_of_one_cluster_gives_the_strata_up():
    """a and b of one stratum, c of another: errors as if all three were of one, means 0, 2, 4."""
    found = crossed_mean([0, 2, 4], [0, 0, 1], Clustering("abc", [0, 0, 1]))
    assert found.stderr == pytest.approx(2 / sqrt(3))


def test_what_cannot_be_known_is_nan():
    assert all(isnan(x) for x in crossed_mean([], [], Clustering([], []))[:5])
    one = crossed_mean([1, 2], [0, 0], Clustering("aa", [0, 0]))
    assert one.value == 1.5 and isnan(one.stderr) and isnan(one.low)
    assert isnan(crossed_variance([], Clustering([], []))[0])


def test_equal_rows_have_no_error():
    nothing = [0] * 10
    found = crossed_mean([0.1] * 10, nothing, Clustering("abcdefghij", nothing))
    assert found.stderr == 0 and found.low == found.high == pytest.approx(0.1)


@pytest.mark.parametrize("ways", [1, 2])
def test_clustered_errors_are_those_of_statsmodels(ways):
    """A mean is a regression on a constant. Clusters of equal size; with the correction G / (G - 1)
    in each way."""
    api = pytest.importorskip("statsmodels.api")
    a, b, _ = np.indices((12, 11, 3)).reshape(3, -1)
    rng = np.random.default_rng(5)
    y = rng.standard_normal(12)[a] + rng.standard_normal(11)[b] + rng.standard_normal(len(a))
    nothing = np.zeros(len(y), dtype=int)
    labels = [a, b][:ways]
    found = crossed_mean(y, nothing, *(Clustering(of, nothing) for of in labels))
    groups = np.stack(labels, axis=1).squeeze()
    fit = api.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert found.stderr == pytest.approx(float(fit.bse[0]))
    # what is left out is one cluster, or one cell of both ways, at a time
    parts = []
    for of in [*labels, *([11 * a + b] if ways == 2 else [])]:
        left = [np.mean(y[of != name]) - y.mean() for name in range(of.max() + 1)]
        shares = np.bincount(of) / len(y)
        parts.append(jackknife_variance(left, shares, np.zeros(len(left), dtype=int)))
    jackknifed = combined(parts[:ways], [(2, part) for part in parts[ways:]])
    assert np.sqrt(jackknifed.value) == pytest.approx(float(fit.bse[0]))
