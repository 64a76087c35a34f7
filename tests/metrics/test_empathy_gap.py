"""delta and its parts, against plain loops written anew and against matrices whose delta is known
by hand."""

import itertools
import random
import statistics
from math import isnan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.empathy_gap import (
    complete,
    delta,
    gap,
    masked,
    mean_intensity,
    normalise,
    own_effects,
    paired_tests,
    permutation_test,
    points_gap,
    with_groups,
)
from lm_eval_bias.metrics.errors import Sample
from scipy import stats

GROUPS = ["white", "white", "black", "asian", "asian"]


def plain_delta(rows, groups):
    """Section 3.4 in loops: z-scores, then the mean over same(i, j) less that over the others."""
    cells = [x for row in rows for x in row]
    mu, sigma = statistics.fmean(cells), statistics.pstdev(cells)
    inside, outside = [], []
    for i, j in itertools.product(range(len(rows)), repeat=2):
        (inside if groups[i] == groups[j] else outside).append((rows[i][j] - mu) / sigma)
    return statistics.fmean(inside) - statistics.fmean(outside)


def matrix_of(rng):
    return [[rng.uniform(0, 100) for _ in range(5)] for _ in range(5)]


@pytest.mark.parametrize(
    "matrix", [np.full((5, 5), 0.1 + 0.2), [[np.nan, *[1.0] * 4], *[[2.0] * 5] * 4]]
)
def test_delta_of_a_constant_matrix_or_one_with_a_missing_cell_is_nan(matrix):
    assert isnan(delta(matrix, GROUPS)) and np.isnan(normalise(matrix)).all()
    assert all(isnan(x) for x in permutation_test(matrix, GROUPS, 10))


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


def events(rng, n=30):
    base = rng.normal(70, 15, (n, 1, 1)) + rng.normal(0, 4, (n, 5, 5))
    return base + 5 * np.equal.outer(GROUPS, GROUPS)


def test_a_pair_that_refused_an_event_has_the_mean_of_the_others():
    given = np.array(
        [[[1.0, 2.0], [3.0, 4.0]], [[5.0, np.nan], [7.0, 8.0]], [[3.0, 4.0], [5.0, 6.0]]]
    )
    assert complete(given).tolist() == [True, False, True]
    assert mean_intensity(given).tolist() == [[3, 3], [5, 6]]
    assert np.isnan(mean_intensity(np.full((2, 2, 2), np.nan))).all()


@pytest.mark.parametrize("missing", [False, True])
def test_the_error_of_delta_is_that_of_a_jackknife_in_loops(missing):
    """The root of (n - 1) / n times the squares of the deltas without one event around their mean;
    none where a cell has one event alone."""
    n = 12
    given = events(np.random.default_rng(n), n=n)
    if missing:
        given[0, 1, 2] = given[1, 3, 3] = np.nan
    sample = Sample(n, (np.arange(n), None))
    total = sample.total()

    def estimated():
        return sample.estimates(delta(mean_intensity(given, total), GROUPS), total(1))

    result = estimated()
    left = [np.nanmean(np.delete(given, i, axis=0), axis=0).tolist() for i in range(n)]
    without = [plain_delta(matrix, GROUPS) for matrix in left]
    variance = (n - 1) / n * sum((d - statistics.fmean(without)) ** 2 for d in without)
    assert result.variance == pytest.approx([variance])
    assert result.value == pytest.approx([plain_delta(np.nanmean(given, axis=0), GROUPS)])
    given[1:, 0, 1] = np.nan
    alone = estimated()
    assert not np.isnan(alone.value) and np.isnan(alone.variance)


def test_own_effects_are_what_in_group_cells_have_beyond_a_least_squares_fit_of_the_others():
    """A level for each perceiver and each experiencer, from the out-group cells."""
    rows = np.array(matrix_of(random.Random(5)))
    pairs = list(itertools.permutations(range(5), 2))
    design = np.array([np.eye(10)[p] + np.eye(10)[5 + e] for p, e in pairs])
    levels = np.linalg.lstsq(design, np.array([rows[pair] for pair in pairs]))[0]
    expected = np.diag(rows) - levels[:5] - levels[5:]
    assert own_effects(rows, "abcde") == pytest.approx(expected)
    assert expected.mean() == pytest.approx(gap(rows, "abcde"))


def test_the_error_of_the_gap_is_welchs_over_groups_where_all_events_agree():
    """scipy's t test of the own effects of five groups and of four placebos."""
    rng = np.random.default_rng(3)
    given, placebos = rng.normal(0, 3, (5, 5)) + 4 * np.eye(5), rng.normal(0, 3, (4, 4))
    levels = rng.normal(70, 15, (40, 1, 1))
    own, others = own_effects(given, "abcde"), own_effects(placebos, "abcd")
    value = points_gap("abcde", given, placebos)
    variance = with_groups("abcde", given + levels, placebos + levels).variance
    welch = stats.ttest_ind(own, others, equal_var=False)
    assert value == pytest.approx(own.mean() - others.mean())
    assert np.sqrt(variance) == pytest.approx([value / welch.statistic])


def test_the_error_of_the_gap_is_students_over_events_where_groups_agree():
    """scipy's t test of the events' own gaps; an event without answers is none."""
    rng = np.random.default_rng(9)
    given = rng.normal(70, 15, (9, 1, 1)) + rng.normal(5, 4, (9, 1, 1)) * np.eye(5)
    value = points_gap("abcde", given.mean(axis=0))
    own = stats.ttest_1samp([gap(event, "abcde") for event in given], 0)
    variance = with_groups("abcde", np.concatenate([given, np.full((3, 5, 5), np.nan)])).variance
    assert np.sqrt(variance) == pytest.approx([value / own.statistic])


@pytest.mark.parametrize("groups, value", [("ab", 7), ("a", np.nan)])
def test_fewer_than_three_groups_are_no_sample(groups, value):
    g = len(groups)
    given = np.stack([np.array([[8, 1], [2, 9]])[:g, :g]] * 12)
    assert points_gap(groups, given[0]) == pytest.approx(value, nan_ok=True)
    assert np.isnan(with_groups(groups, given).variance)


def test_a_cell_is_white_by_the_authors_rule_and_a_person_never():
    """Their program: of each cell two paired tests, at 0.05 over 36; the first of the six
    identities is the unspecified person. scipy's p are those of ours before they are corrected."""
    g, rng = 6, np.random.default_rng(6)
    given = rng.normal(0, 5, (40, g, g)) + rng.choice([0, 3, 4.5], (g, g)) * ~np.eye(g, dtype=bool)
    tests = [paired_tests(given, reference) for reference in ("perceiver", "experiencer")]
    theirs = np.zeros((g, g), dtype=bool)
    for p, e in itertools.permutations(range(g), 2):
        own = [stats.ttest_rel(given[:, p, e], given[:, i, i]).pvalue for i in (p, e)]
        assert [test[p, e] for test in tests] == pytest.approx([min(1, 36 * x) for x in own])
        theirs[p, e] = max(own) >= 0.05 / 36 and 0 not in (p, e)
    assert (masked(tests, shown=[0]) == theirs).all() and 0.1 < theirs.mean() < 0.9
    assert masked(tests)[0].any() and np.isnan([np.diag(test) for test in tests]).all()


def test_a_constant_difference_is_without_doubt_and_none_has_no_test():
    """Of (0, 1) against (0, 0): ten points more in every event; of (1, 0) against (1, 1): none."""
    own = np.array([60, 70, 70, 80, 65, 75, 90.0])
    given = np.stack([np.stack([own, own + 10], axis=1), np.stack([own, own], axis=1)], axis=1)
    for scale in (1, 0.1, 1 / 3):  # the same with rounding: not all differences of thirds are equal
        p = paired_tests(given * scale, "perceiver")
        assert p[0, 1] == pytest.approx(0) and np.isnan(p[1, 0])
    # the same person rated twice: 0.3 and 0.1 + 0.2 are one number
    given = np.array([[[0.3, 0.1 + 0.2], [1, 1]], [[0.7, 0.7], [1, 1]], [[0.3, 0.4 - 0.1], [1, 1]]])
    assert np.isnan(paired_tests(given, "perceiver")[0, 1])
