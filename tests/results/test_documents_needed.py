"""The documents that an interval needs: hand calculations, and the models that would fool a plan
made from n."""

from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t

from lm_eval_bias.measure import Number
from lm_eval_bias.results.sample_size import growth, plan, width_of

ANY, TENS = range(1, 2001), range(50, 2001, 10)


def alike(documents, clusters):
    """Every so many documents bring a cluster: 100 documents have 20 of them, 400 have 80."""
    return np.array([[n * clusters // documents for n in range(20 * documents + 1)]])


def fixed(documents, clusters):
    """All clusters are there from the beginning."""
    return np.full((1, documents + 1), clusters)


def test_growth_counts_distinct_clusters():
    assert growth([[["a"], ["a", "b"], [], ["c"]], [["x"]] * 4]).tolist() == [
        [0, 1, 2, 2, 3],
        [0, 1, 1, 1, 1],
    ]


def test_half_the_width_takes_almost_four_times_the_clusters():
    """100 documents have 20 clusters, 5 each: the variance falls with clusters, and Student's
    quantile too."""
    quantile = {n: t.ppf(0.975, n // 5 - 1) for n in TENS}
    half = next(n for n in TENS if sqrt(100 / n) * quantile[n] <= quantile[100] / 2)
    found = plan(8.0, 4.0, 100, [20], alike(100, 20), TENS)
    assert found.documents == half < 400
    assert found.at_full == pytest.approx(8 * sqrt(100 / 2000) * quantile[2000] / quantile[100])


def test_the_part_that_comes_from_no_cluster_stays():
    """5 is the root of 4 squared and 3 squared: half of 4 is had as above, 3 never."""
    half = plan(8.0, 4.0, 100, [20], alike(100, 20), TENS).documents
    assert plan(5.0, sqrt(4 + 9) + 1e-9, 100, [20], alike(100, 20), TENS, 3.0).documents == half
    assert plan(5.0, 3.0, 100, [20], alike(100, 20), TENS, 3.0).documents is None


def test_documents_that_bring_no_cluster_promise_nothing():
    """The root of the number of documents would have promised 400 of them."""
    made = plan(4.0, 2.0, 100, [50], fixed(10_000, 50), range(1, 10_001))
    assert made.documents is None and made.at_full == 4.0


def test_fewer_documents_of_the_same_clusters_are_no_better_than_their_number():
    """For twice the width a quarter of the documents, though each has all the clusters."""
    assert plan(4.0, 8.0, 100, [50], fixed(1000, 50), range(1, 1001)).documents == 25


def test_the_slower_of_two_clusterings_decides():
    """Templates come with documents, the 14 words were all used in the pilot."""
    grown = np.array([[n // 2 for n in range(2001)], [14] * 2001])
    assert plan(4.0, 1.0, 200, [100, 14], grown, ANY).at_full == 4.0
    grown[1] = range(2001)
    made = plan(4.0, 1.0, 200, [100, 14], grown, ANY)
    assert made.at_full == pytest.approx(4 / sqrt(10) * t.ppf(0.975, 999) / t.ppf(0.975, 13))


@pytest.mark.parametrize(
    "width, clusters, why",
    [
        (4.0, [9, 500], "9 clusters, and 10 are needed"),
        (4.0, [], "0 clusters"),
        (nan, [20], "no interval"),
        (inf, [20], "no end"),
        (0.0, [20], "no variance"),
    ],
)
def test_a_pilot_that_tells_nothing_plans_nothing(width, clusters, why):
    made = plan(width, 2.0, 100_000, clusters, alike(100, 20), ANY)
    assert why in made.cannot and made.documents is None and isnan(made.at_full)


def test_a_task_with_too_few_clusters_has_no_plan():
    assert "the task has fewer" in plan(4.0, 2.0, 100, [20], fixed(100, 9), range(1, 101)).cannot


def test_no_plan_asks_fewer_than_ten_clusters():
    assert plan(1.0, 50.0, 100, [20], alike(100, 20), ANY).documents == 50


def test_documents_end_where_nothing_is_cut_apart():
    """100 (8 / 4.1)^2 is 381, and 464 is 4 times 116."""
    made = plan(8.0, 4.1, 100, [20], alike(100, 20), range(116, 2001, 116))
    assert made.documents == 464


def test_a_width_is_from_end_to_end():
    assert width_of(Number(1, 9, -1, 4)) == 5 and width_of(Number(1, 9, -1, inf)) == inf
    assert isnan(width_of(Number(1, 9)))
