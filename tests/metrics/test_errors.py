from itertools import product
from math import inf, isnan

import numpy as np
import pandas as pd
import pytest
import scipy
from lm_eval_bias.metrics.errors import (
    FEWEST_CLUSTERS,
    Sample,
    contrasts,
    effective_clusters,
    ratio,
    share_interval,
    t_interval,
    with_systematic,
)

ROWS = list(product(range(4), range(3), range(5)))
RNG = np.random.default_rng(1)
Y = RNG.normal(size=len(ROWS))


def grid(a=12, b=10):
    """Every cluster of the one clustering with every one of the other."""
    return np.indices((a, b)).reshape(2, -1)


def mean(y, *clusterings):
    sample = Sample(len(y), *clusterings)
    total = sample.total()
    return sample.estimates(total(y) / total(1), total(1))


def test_sums_without_a_cluster_are_those_of_the_other_rows():
    """Two clusterings, a part of each row, and rows that are in no part or no cluster."""
    frame = pd.DataFrame(ROWS, columns=["a", "b", "part"]).assign(y=Y)
    clusters = frame["a"] - 1
    sample = Sample(len(frame), (clusters, None), (frame["b"], None))
    sums = sample.total(frame["part"] - 1, 4)(frame["y"])
    without = [frame, *(frame[clusters != k] for k in range(3))]
    without += [frame[frame["b"] != k] for k in range(3)]
    for got, rows in zip(sums, without, strict=False):
        expected = [rows.loc[rows["part"] == part + 1, "y"].sum() for part in range(4)]
        assert got == pytest.approx(expected)


def test_the_groups_of_some_rows_are_those_of_all():
    """So that two runs, of which one lacks answers, leave out the same clusters."""
    a, b = grid()
    sample = Sample(len(a), (a, None), (b, None))
    every, some = sample.total()(1), sample[3:].total()(1)
    assert len(every) == len(some)
    assert (every - some).sum() == pytest.approx(3 * (len(every) - 3))


def test_the_error_of_one_clustering_is_that_of_the_means_of_equal_clusters():
    """Also in strata, where the means of the strata are no chance: 3 and 7 of a hundred. Strata of
    which one has one cluster are none."""
    cluster = np.repeat(np.arange(20), 4)
    values = RNG.normal(size=20)
    of = mean(values[cluster], (cluster, None))
    assert of.variance == pytest.approx([values.var(ddof=1) / 20])
    assert of.df == pytest.approx([19]) and (of.clusters, of.n) == (20, 80)
    assert mean(values[cluster], (cluster, cluster == 0)).variance == pytest.approx(of.variance)
    moved = values + 100 * (np.arange(20) % 2)
    of = mean(moved[cluster], (cluster, cluster % 2))
    halves = [values[k::2].var(ddof=1) / 10 for k in (0, 1)]
    assert of.variance == pytest.approx([sum(halves) / 4])
    moved = np.tile([1, 10, -1, -10], 5)  # of variance 1 : 100
    welch = 9 * 101**2 / (1 + 100**2)
    assert mean(moved[cluster], (cluster, cluster % 2)).df == pytest.approx(welch)


@pytest.mark.parametrize("varies", [0, 1])
def test_of_two_clusterings_that_cross_the_one_that_varies_makes_the_error(varies):
    labels = grid()
    values = RNG.normal(size=12)
    of = mean(values[labels[varies]], *((label, None) for label in labels))
    n = (12, 10)[varies]
    assert of.variance == pytest.approx([values[:n].var(ddof=1) / n])


def test_both_add_up_less_what_they_share():
    """y = a + b + e: Var(a) / 40 + Var(b) / 30 + Var(e) / 1200, in the mean of samples."""
    a, b = grid(40, 30)
    found = []
    for _ in range(300):
        y = RNG.normal(size=40)[a] + RNG.normal(size=30)[b] + 3 * RNG.normal(size=len(a))
        found.append(mean(y, (a, None), (b, None)).variance[0])
    assert np.mean(found) == pytest.approx(1 / 40 + 1 / 30 + 9 / 1200, rel=0.05)


def test_the_interval_covers_and_few_clusters_have_none():
    """2,000 samples at once, each a part of the rows."""
    y, part = RNG.normal(size=2000 * FEWEST_CLUSTERS), np.repeat(np.arange(2000), FEWEST_CLUSTERS)
    sample = Sample(len(y), (np.arange(len(y)) % FEWEST_CLUSTERS, None))
    total = sample.total(part, 2000)
    of = sample.estimates(total(y) / total(1), total(1))
    low, high = t_interval(of.value, np.sqrt(of.variance), of.df)
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.95, abs=0.015)
    few = mean(Y[: FEWEST_CLUSTERS - 1], (np.arange(FEWEST_CLUSTERS - 1), None))
    assert isnan(few.variance[0]) and few.clusters == FEWEST_CLUSTERS - 1


def test_what_is_undefined_without_a_cluster_has_no_error_and_equal_clusters_one_of_0():
    cluster = np.repeat(np.arange(12), 2)
    sample = Sample(24, (cluster, None))
    total = sample.total()
    there = cluster == 0
    only_one = sample.estimates(ratio(total(there), total(there)), total(1))
    assert isnan(only_one.variance[0])
    assert mean(np.full(24, 0.1), (cluster, None)).variance == 0


def test_contrasts_are_those_of_the_means_of_cells():
    """With pandas; cells that lack a part are left out, of all rows and without each cluster."""
    frame = pd.DataFrame(ROWS, columns=["cell", "part", "cluster"]).assign(y=Y)
    frame = frame[(frame["part"] < 2) & ~((frame["cell"] == 3) & (frame["part"] == 0))].iloc[3:]
    sample = Sample(len(frame), (frame["cluster"], None))

    def by_pandas(rows):
        means = rows.pivot_table("y", "cell", "part").dropna()
        return (means[0] - means[1]).mean()

    cells, part = frame["cell"].to_numpy(), frame["part"].to_numpy()
    ((value, *_),) = contrasts(sample.total(), [frame["y"]], cells, part, (1, -1))
    rows = [frame, *(frame[frame["cluster"] != k] for k in range(5))]
    assert value[:, 0] == pytest.approx(list(map(by_pandas, rows)))


def test_effective_clusters():
    """(3 + 1)^2 / (9 + 1) = 1.6."""
    assert effective_clusters([3, 1]) == pytest.approx(1.6)
    assert effective_clusters([5] * 7) == 7 and effective_clusters([0, 0]) == 0


def test_the_interval_of_a_share_that_all_clusters_agree_on_is_clopper_and_pearsons():
    """0 of 24: 1 - 0.025^(1 / 24) = 14.2 %."""
    low, high = share_interval([0, 1, 0.5, 0], [0, 0, 0, 0], [24, 24, 24, 9])
    end = 1 - 0.025 ** (1 / 24)
    assert (low[:2], high[:2]) == (pytest.approx([0, 1 - end]), pytest.approx([end, 1]))
    assert np.isnan(low[2:]).all() and np.isnan(high[2:]).all()


def test_few_large_values_leave_fewer_degrees_of_freedom():
    """scipy's unbiased kurtosis is G2. The variance is that of twelve values, with
    11 / (1 + G2 / 2) degrees of freedom, and with 11 where G2 is below 0."""
    for x in (np.eye(12)[0], np.arange(12) % 2.0, np.arange(12.0) ** 4):
        of = mean(x, (np.arange(12), None))
        excess = max(scipy.stats.kurtosis(x, bias=False), 0)
        assert of.variance == pytest.approx([x.var(ddof=1) / 12])
        assert of.df == pytest.approx([11 / (1 + excess / 2)])


def test_an_interval_counts_the_worst_systematic_error():
    """[8, 12] on 16 clusters, so half a deviation is 2 standard errors: √5 = 2.236 times as long.
    A mean of 0.98 is 0.98 · 4 / 1.96 = 2 arms: the lower end 3 arms away, the upper not moved."""
    half, mean = (0.0, 0.5), (0.98, 0.0)
    low, high, times = with_systematic(10.0, (8.0, 12.0), 16, [half])
    assert [low, high, times] == pytest.approx([10 - 2 * 5**0.5, 10 + 2 * 5**0.5, 5**0.5])
    low, high, times = with_systematic(10.0, (8.0, 12.0), 16, [mean, half])
    assert [low, high, times] == pytest.approx([4, 10 + 2 * 5**0.5, 5**0.5], abs=1e-3)
    assert [float(x) for x in with_systematic(1.0, (-inf, 2.0), 16, [])] == [-inf, 2, 1]
