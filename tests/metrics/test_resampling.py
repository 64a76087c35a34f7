import numpy as np
import pytest
from lm_eval_bias.metrics.resampling import (
    FEWEST_CLUSTERS,
    cluster_bootstrap_stderr,
    cluster_sums,
    ratio,
    t_interval,
)


def mean(totals):
    return ratio(totals[..., 1:], totals[..., :1])


def test_sums_do_not_depend_on_the_order_of_the_rows():
    sums = cluster_sums(["b", "a", "b"], [[1, 10], [1, 20], [1, 30]])
    assert sums.tolist() == [[1, 20], [2, 40]]


@pytest.mark.parametrize("n", [1, 2, FEWEST_CLUSTERS - 1])
def test_few_clusters_have_no_standard_error(n):
    assert np.isnan(cluster_bootstrap_stderr([[3.0, 6.0 + i] for i in range(n)], mean)).all()
    assert np.isfinite(
        cluster_bootstrap_stderr([[3.0, 6.0 + i] for i in range(FEWEST_CLUSTERS)], mean)
    ).all()


def test_the_t_interval_covers():
    """Samples of 10 and 24 normal clusters. The bootstrap's variance of a mean is exactly that of
    the sample with ddof 0, over n; so nothing needs to be drawn."""
    rng = np.random.default_rng(4)
    for n in (10, 24):
        x = rng.normal(size=(20_000, n))
        low, high = t_interval(x.mean(axis=1), x.std(axis=1) / np.sqrt(n), n)
        assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.95, abs=0.006)


def test_a_statistic_that_is_nowhere_defined_has_no_standard_error():
    assert np.isnan(cluster_bootstrap_stderr([[0.0, 1.0], [0.0, 2.0]], mean)).all()
