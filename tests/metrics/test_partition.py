from math import inf, isnan

import numpy as np
import pytest
from lm_eval_bias.metrics.partition import changed_share, order, paired_test, place_names, rand_test
from sklearn.metrics import adjusted_rand_score


def index(a, b):
    return rand_test(list(a), list(b), permutations=1).value


def test_index_is_scikit_learns():
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = rng.integers(2, 40)
        a, b = rng.integers(0, rng.integers(1, 8), n), rng.integers(0, rng.integers(1, 8), n)
        assert index(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)


@pytest.mark.parametrize(
    "labels", ["aaa xxx", "abc xyz", "aaa xyz", "abc xxx", "aab xxx", "aab yyx"]
)
def test_degenerate_partitions_are_scikit_learns(labels):
    a, b = map(list, labels.split())
    assert index(a, b) == adjusted_rand_score(a, b)


@pytest.mark.parametrize("labels", ["", "a"])
def test_fewer_than_two_items_are_nan(labels):
    n, *rest = rand_test(labels, labels)
    assert n == len(labels) and all(map(isnan, rest))


def test_p_of_agreement_by_counting():
    """aabb against itself: of the 6 arrangements of xxyy 2 agree fully, so p is 1 / 3."""
    found = rand_test("aabb", "xxyy", permutations=20_000)
    assert found.n == 4 and found.value == 1
    assert found.p == pytest.approx(1 / 3, abs=0.015)


POINTS = [[1, 1], [1, 5], [5, 1], [5, 5], [3, 3]]
"""Mean 3, standard deviation sqrt(16 / 5) = 1.79 on both: low is below 2.11, high above 3.89."""


def test_place_names_say_first_coordinate_first():
    names = place_names([[1, 5], [5, 1], [3, 3], [2.1, 3.9], [2.2, 3.8]], POINTS)
    assert names[:3] == ["low-high", "high-low", "middle-middle"]
    assert names[3:] == ["low-high 2", "middle-middle 2"]


def test_equal_names_are_numbered_from_low_to_high_and_without_variation_all_are_in_the_middle():
    middle = ["middle-middle", "middle-middle 2", "middle-middle 3"]
    assert place_names([[3.4, 3.4], [3, 3], [2.6, 2.6]], POINTS) == middle[::-1]
    assert place_names([[3.1, 3.1]] * 2, [[0.1 + 3, 3.1]] * 5) == middle[:2]


def test_clusters_are_ordered_from_low_low_to_high_high():
    assert order([[5, 5], [1, 1], [3, 3], [5, 3]], POINTS) == [1, 2, 3, 0]
    # The second coordinate varies ten times as much among the points: one point of it counts a
    # tenth of one of the first.
    assert order([[3, 13], [5, 3]], points=[[0, 0], [2, 20], [4, 40]]) == [0, 1]


def test_changed_share_matches_clusters_by_overlap():
    labels = [0, 0, 0, 1, 1]
    resampled = [
        [7, 7, 7, 2, 2],  # the same under other names
        [1, 1, 0, 0, 0],  # the third leaves
        [0, 0, 0, 0, 0],  # one cluster: it is that of the first three, and the others are without
        [3, 3, 4, 5, 5],  # the third has a cluster of its own
    ]
    assert changed_share(labels, resampled).tolist() == [0, 0, 0.5, 0.25, 0.25]


def test_identical_differences_and_too_few_pairs():
    """4.2 - 3.9 and 2.3 - 2.0 differ in the last bit, and are nearly the same difference."""
    assert paired_test([4.2, 2.3, 1.3], [3.9, 2.0, 1.0])[1:] == (pytest.approx(0), ">")
    assert paired_test([1, 2], [2, 3]) == (-inf, 0, "<")
    for first, second in (([1, 2], [1, 2]), ([1, np.nan, 3], [2, 2, np.nan]), ([np.nan], [1])):
        t, p, sign = paired_test(first, second)
        assert isnan(t) and isnan(p) and sign == "="
