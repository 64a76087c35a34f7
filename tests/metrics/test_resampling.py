import numpy as np
import pytest
from lm_eval_bias.metrics.resampling import cluster_bootstrap_stderr, cluster_sums, ratio


def mean(totals):
    return ratio(totals[..., 1:], totals[..., :1])


def test_sums_do_not_depend_on_the_order_of_the_rows():
    labels, sums = cluster_sums(["b", "a", "b"], [[1, 10], [1, 20], [1, 30]])
    assert labels == ["a", "b"]
    assert sums.tolist() == [[1, 20], [2, 40]]


def test_stderr_of_a_mean_of_clusters_of_one_is_the_classical_one():
    x = np.random.default_rng(0).normal(size=400)
    _, sums = cluster_sums(range(400), np.c_[np.ones(400), x])
    (stderr,) = cluster_bootstrap_stderr(sums, mean, resamples=20_000)
    assert stderr == pytest.approx(x.std(ddof=1) / np.sqrt(400), rel=0.03)


def test_stderr_grows_when_the_rows_of_a_cluster_agree():
    """100 clusters of ten equal rows know as much as 100 rows: sqrt(10) times the standard error that 1000 rows would have."""
    x = np.repeat(np.random.default_rng(1).normal(size=100), 10)
    rows = np.c_[np.ones(1000), x]
    clustered = cluster_bootstrap_stderr(cluster_sums(np.repeat(range(100), 10).tolist(), rows)[1], mean, 20_000)
    apart = cluster_bootstrap_stderr(cluster_sums(range(1000), rows)[1], mean, 20_000)
    assert clustered[0] / apart[0] == pytest.approx(np.sqrt(10), rel=0.05)


def test_one_cluster_has_no_standard_error():
    assert np.isnan(cluster_bootstrap_stderr([[3.0, 6.0]], mean)).all()


def test_a_statistic_that_is_nowhere_defined_has_no_standard_error():
    assert np.isnan(cluster_bootstrap_stderr([[0.0, 1.0], [0.0, 2.0]], mean)).all()


def test_columns_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        cluster_sums(["a"], [[1], [2]])
