"""delta and its parts, against plain loops written anew and against matrices whose delta is known by hand."""

import itertools
import random
import statistics
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval_bias.metrics.empathy_gap import (
    bootstrap_gaps,
    complete,
    delta,
    gap,
    masked,
    mean_intensity,
    normalise,
    paired_tests,
    permutation_test,
    refusals,
)
from scipy import stats

GROUPS = ["white", "white", "black", "asian", "asian"]


def plain_delta(rows, groups):
    """Section 3.4 in loops: z-scores, then the mean over same(i, j) less the mean over the others."""
    cells = [x for row in rows for x in row]
    mu, sigma = statistics.fmean(cells), statistics.pstdev(cells)
    inside, outside = [], []
    for i, j in itertools.product(range(len(rows)), repeat=2):
        (inside if groups[i] == groups[j] else outside).append((rows[i][j] - mu) / sigma)
    return statistics.fmean(inside) - statistics.fmean(outside)


def matrix_of(rng, g=5):
    return [[rng.uniform(0, 100) for _ in range(g)] for _ in range(g)]


def test_delta_by_hand():
    """Diagonal 3, the rest 1, of 2 x 2: mean 2, standard deviation 1; z-scores 1 and -1; delta 2."""
    assert delta([[3, 1], [1, 3]], ["a", "b"]) == 2
    # 3 x 3, diagonal 4, the rest 1: mean 2, variance (3 * 4 + 6 * 1) / 9 = 2; 2 / sqrt 2 - (-1 / sqrt 2)
    assert delta(np.eye(3) * 3 + 1, ["a", "b", "c"]) == pytest.approx(3 / sqrt(2))
    # a block of two names of one group
    block = [[5, 5, 2], [5, 5, 2], [2, 2, 5]]
    assert gap(block, ["a", "a", "b"]) == 3 and delta(block, ["a", "a", "b"]) == pytest.approx(plain_delta(block, ["a", "a", "b"]))


@given(st.integers(0, 10_000))
def test_delta_is_what_plain_loops_say_and_does_not_depend_on_the_scale(seed):
    rows = matrix_of(random.Random(seed))
    expected = plain_delta(rows, GROUPS)
    assert delta(rows, GROUPS) == pytest.approx(expected)
    assert delta(np.array(rows) / 10 + 3, GROUPS) == pytest.approx(expected)
    assert delta(np.array(rows).T, GROUPS) == pytest.approx(expected)  # whether rows or columns are perceivers


@pytest.mark.parametrize(
    "matrix", [np.full((5, 5), 80.0), np.full((5, 5), 0.1 + 0.2), [[np.nan, *[1.0] * 4], *[[2.0] * 5] * 4]], ids=["constant", "constant, rounded", "a missing cell"]
)
def test_delta_of_a_constant_matrix_or_one_with_a_missing_cell_is_nan(matrix):
    assert isnan(delta(matrix, GROUPS)) and np.isnan(normalise(matrix)).all()
    assert all(isnan(x) for x in permutation_test(matrix, GROUPS, 10))


def test_identical_rows_have_no_gap_of_their_own():
    """Every perceiver says the same of each experiencer: with one name per group, the diagonal is an average column."""
    matrix = [[1, 2, 3, 4, 5]] * 5
    assert delta(matrix, list("abcde")) == pytest.approx(0)
    test = permutation_test(matrix, list("abcde"), 500)
    assert test.low == pytest.approx(0) and test.high == pytest.approx(0) and test.p == 1


def test_without_an_out_group_or_an_in_group_there_is_no_gap():
    assert isnan(gap([[1, 2], [3, 4]], ["a", "a"]))


def plain_permutations(rows, groups, count, rng):
    result = []
    for _ in range(count):
        r, c = list(range(len(rows))), list(range(len(rows)))
        rng.shuffle(r)
        rng.shuffle(c)
        result.append(plain_delta([[rows[i][j] for j in c] for i in r], groups))
    return result


def test_the_permutation_test_agrees_with_one_in_loops():
    rows = matrix_of(random.Random(3))
    for i in range(5):
        rows[i][i] += 40
    test = permutation_test(rows, GROUPS, 10_000)
    null = plain_permutations(rows, GROUPS, 4000, random.Random(4))
    low, high = np.percentile(null, [2.5, 97.5])
    assert test.delta == pytest.approx(plain_delta(rows, GROUPS))
    assert (test.low, test.high) == (pytest.approx(low, abs=0.05), pytest.approx(high, abs=0.05))
    p = sum(abs(x) >= abs(test.delta) for x in null) / len(null)
    assert test.p == pytest.approx(p, abs=3 * sqrt(p * (1 - p) / 4000) + 0.001)


def test_small_matrices_have_exact_permutation_distributions():
    """2 x 2 with delta 2: half of the four permutations give 2, half -2; all are as far from zero."""
    test = permutation_test([[3, 1], [1, 3]], ["a", "b"], 1000)
    assert (test.delta, test.low, test.high, test.p) == (2, -2, 2, 1)


def events(rng, n=30, g=5, effect=5.0):
    base = rng.normal(70, 15, (n, 1, 1)) + rng.normal(0, 4, (n, g, g))
    same = np.equal.outer(GROUPS, GROUPS)
    return base + effect * same


def test_an_event_refused_by_one_pair_is_left_out_everywhere_unless_pairwise():
    given = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, np.nan], [7.0, 8.0]], [[3.0, 4.0], [5.0, 6.0]]])
    assert complete(given).tolist() == [True, False, True]
    assert mean_intensity(given).tolist() == [[2, 3], [4, 5]]
    assert mean_intensity(given, pairwise=True).tolist() == [[3, 3], [5, 6]]
    assert refusals(given) == (pytest.approx(1 / 3), pytest.approx(1 / 12))
    nothing = np.full((2, 2, 2), np.nan)
    assert np.isnan(mean_intensity(nothing)).all() and np.isnan(mean_intensity(nothing, pairwise=True)).all()
    assert isnan(refusals(np.zeros((0, 2, 2))).events)


def test_the_bootstrap_agrees_with_one_in_loops():
    given = events(np.random.default_rng(1), n=12)
    result = bootstrap_gaps(given, GROUPS)
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(1500):
        means = np.mean([given[i] for i in rng.integers(0, 12, 12)], axis=0)
        drawn.append((plain_delta(means.tolist(), GROUPS), gap(means, GROUPS)))
    for interval, column, value in zip(result, zip(*drawn, strict=True), (plain_delta(given.mean(axis=0).tolist(), GROUPS), gap(given.mean(axis=0), GROUPS)), strict=True):
        assert interval.value == pytest.approx(value) and interval.stderr == pytest.approx(np.std(column), rel=0.1)
        width = interval.high - interval.low
        assert np.allclose([interval.low, interval.high], np.percentile(column, [2.5, 97.5]), atol=0.1 * width)


def test_bootstrap_intervals_of_the_raw_gap_cover_it():
    rng = np.random.default_rng(5)
    covered = sum(low <= 5 <= high for low, high in (bootstrap_gaps(events(rng, n=40), GROUPS, resamples=300).points[2:] for _ in range(150)))
    assert 0.87 <= covered / 150 <= 0.99


def test_one_event_has_a_gap_and_no_interval():
    given = events(np.random.default_rng(2), n=1)
    result = bootstrap_gaps(given, GROUPS)
    assert result.delta.value == pytest.approx(plain_delta(given[0].tolist(), GROUPS)) and isnan(result.delta.stderr) and isnan(result.points.low)
    given[0, 1, 2] = np.nan
    assert isnan(bootstrap_gaps(given, GROUPS).delta.value)


def test_paired_tests_agree_with_scipy():
    given = events(np.random.default_rng(6))
    for reference in ("perceiver", "experiencer"):
        result = paired_tests(given, reference)
        assert np.isnan(np.diag(result.p)).all() and np.isnan(np.diag(result.difference)).all()
        for p, e in itertools.permutations(range(5), 2):
            own = p if reference == "perceiver" else e
            expected = stats.ttest_rel(given[:, p, e], given[:, own, own])
            assert result.difference[p, e] == pytest.approx((given[:, p, e] - given[:, own, own]).mean())
            assert result.p[p, e] == pytest.approx(min(1, expected.pvalue * 20))
    # members of one group are not told apart, others are
    mask = paired_tests(events(np.random.default_rng(7), n=200), "perceiver").significant()
    assert not mask[0, 1] and not mask[3, 4] and mask[0, 2] and mask[2, 4]


def test_the_heat_map_is_white_where_either_test_fails():
    """Shape (events, 2, 2), noise but for what is said: (0, 1) differs from (0, 0) and not from (1, 1), (1, 0) from both."""
    noise = np.random.default_rng(11).normal(size=(100, 2, 2))
    given = np.add(noise, [[10, 5], [0, 5]])
    assert masked(given).tolist() == [[False, True], [False, False]]
    given[:, 1, 0] = given[:, 1, 1]  # never another one: no test, white
    assert masked(given).tolist() == [[False, True], [True, False]]


def test_paired_tests_leave_out_missing_answers_and_know_their_reference():
    given = events(np.random.default_rng(8))
    given[3, 0, 2] = np.nan
    kept = [i for i in range(30) if i != 3]
    expected = stats.ttest_rel(given[kept, 0, 2], given[kept, 0, 0])
    assert paired_tests(given, "perceiver").p[0, 2] == pytest.approx(min(1, expected.pvalue * 20))
    with pytest.raises(ValueError, match="expected 'perceiver' or 'experiencer'"):
        paired_tests(given, "both")


def test_refused_events_do_not_move_the_rest():
    given = events(np.random.default_rng(10))
    refused = np.concatenate([given, np.full((3, 5, 5), 0.0)])
    refused[-3:, 0, 0] = np.nan
    assert bootstrap_gaps(refused, GROUPS).delta.value == bootstrap_gaps(given, GROUPS).delta.value
