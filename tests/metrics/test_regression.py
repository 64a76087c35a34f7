from math import isnan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.regression import clustered_coefficient
from scipy import stats


def test_two_clusterings_agree_with_a_sum_over_all_pairs_of_rows():
    """Written anew: every two rows that share a cluster in one of the two ways contribute the
    product of their scores."""
    rng = np.random.default_rng(1)
    n = 60
    rows, columns = rng.integers(0, 7, n), rng.integers(0, 9, n)
    design = np.column_stack([rng.integers(0, 2, n), np.ones(n), rng.normal(size=n)])
    outcome = rng.normal(size=n) + rows * 0.3 - columns * 0.2
    beta, *_ = np.linalg.lstsq(design, outcome, rcond=None)
    weights = np.linalg.pinv(design)[0] * (outcome - design @ beta)

    def total(share):
        return sum(weights[i] * weights[j] for i in range(n) for j in range(n) if share(i, j))

    def factor(labels):
        g = len(set(labels))
        return g / (g - 1) * (n - 1) / (n - 3)

    both = list(zip(rows.tolist(), columns.tolist(), strict=True))
    variance = (
        factor(rows.tolist()) * total(lambda i, j: rows[i] == rows[j])
        + factor(columns.tolist()) * total(lambda i, j: columns[i] == columns[j])
        - factor(both) * total(lambda i, j: both[i] == both[j])
    )
    result = clustered_coefficient(design, outcome, rows.tolist(), columns.tolist())
    assert result.value == pytest.approx(beta[0]) and result.stderr == pytest.approx(sqrt(variance))


@pytest.mark.parametrize(
    "design",
    [[[1, 1]] * 4, [[0, 1]] * 4, np.zeros((0, 2))],
    ids=["one side", "the other", "nothing"],
)
def test_what_the_design_does_not_determine_is_nan(design):
    assert all(
        isnan(x)
        for x in clustered_coefficient(
            design, [1.0, 2.0, 3.0, 4.0][: len(design)], range(len(design))
        )
    )


def test_a_column_that_repeats_another_does_not_hide_the_first():
    design = np.array([[1, 1, 1], [1, 1, 1], [0, 1, 1], [0, 1, 1]])
    assert clustered_coefficient(design, [3.0, 5.0, 1.0, 1.0], range(4)).value == pytest.approx(3)


def test_with_one_cluster_or_no_row_to_spare_there_is_a_value_and_no_error():
    design = [[1, 1], [1, 1], [0, 1], [0, 1]]
    for d, outcome, clusters in (
        (design, [1, 0, 0, 0], ["one"] * 4),
        (design[1:3], [1, 0], range(2)),
    ):
        result = clustered_coefficient(d, outcome, clusters)
        assert not isnan(result.value) and all(isnan(x) for x in result[1:])


def test_deviations_that_cancel_in_every_cluster_say_nothing_of_chance():
    """Each cluster of either kind holds a 1 and a 0 of the same side: its sum deviates by nothing,
    though the answers differ."""
    rows, columns = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3]
    result = clustered_coefficient([[1, 1]] * 4 + [[0, 1]] * 4, [1, 0, 0, 1] * 2, rows, columns)
    assert result.value == pytest.approx(0) and all(isnan(x) for x in result[1:])


@pytest.mark.filterwarnings("ignore:Precision loss")  # scipy, of identical values
@pytest.mark.parametrize("one", [1, 0.1, 0.1 + 0.2, -7 / 3])
def test_sides_without_spread_differ_without_doubt_as_in_scipy(one):
    """Every answer of S_a is the same one and every answer of S_b is zero: a t test of identical
    values."""
    expected = stats.ttest_ind([1, 1, 1], [0, 0, 0])
    result = clustered_coefficient([[1, 1]] * 3 + [[0, 1]] * 3, [one] * 3 + [0] * 3, range(6))
    assert (expected.statistic, expected.pvalue) == (np.inf, 0)
    assert (result.t, result.p) == (np.sign(one) * np.inf, 0)
    # six answers that agree do not say how far others may be
    assert result.value == pytest.approx(one) and all(
        isnan(x) for x in (result.stderr, result.low, result.high)
    )
    # and where both sides always answer that one, there is no difference to test
    same = clustered_coefficient([[1, 1]] * 3 + [[0, 1]] * 3, [one] * 6, range(6))
    assert same.value == pytest.approx(0, abs=1e-12) and isnan(same.t) and isnan(same.p)
