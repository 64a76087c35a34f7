"""Holm's adjustment, and ranks of estimates of which all pairs were tested."""

from itertools import combinations
from math import nan

import numpy as np
import pytest
from hypothesis import given, strategies as st
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.metrics.ranks import ranks

# ---- Holm


def test_holm_by_hand():
    """Five tests, sorted .005, .01, .03, .04, .3: times 5, 4, 3, 2, 1 is .025, .04, .09, .08, .3;
    none below the one before it, so .09 twice. Nothing is above 1."""
    p = [0.01, 0.04, 0.03, 0.3, 0.005]
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.3, 0.025])
    assert holm([0.6, 0.7]).tolist() == [1, 1]


# ---- Ranks


def upper(k, p):
    """P values of pairs, above the diagonal."""
    result = np.full((k, k), nan)
    result[np.triu_indices(k, 1)] = p
    return result


def test_ranks_by_hand():
    """12, 17 and 10: after Holm .0008, .16 and 2e-6, so 10 and 12 share ranks 1 and 2."""
    found = ranks([12, 17, 10], upper(3, [0.0004, 0.16, 7e-7]))
    assert found.ranks.tolist() == [[1, 2], [3, 3], [1, 2]] and found.ties == [(0, 2), (1,)]


def test_what_has_no_number_is_not_ranked_and_costs_the_others_nothing():
    """.03 is of one pair alone, that of the first and the last."""
    found = ranks([16, nan, 10], upper(3, [nan, 0.03, nan]))
    assert np.isnan(found.ranks[1]).all() and found.ranks[[0, 2]].tolist() == [[2, 2], [1, 1]]
    assert found.ties == [(2,), (0,)]


@given(st.integers(1, 9), st.randoms(use_true_random=False))
def test_ties_cover_all_and_hold_none_that_differ(k, random):
    pairs = list(combinations(range(k), 2))
    p = [random.choice((random.random(), 1e-4 * random.random())) for _ in pairs]
    found = ranks([random.random() for _ in range(k)], upper(k, p))
    for (i, j), adjusted in zip(pairs, holm(p), strict=True):
        assert any(i in tie and j in tie for tie in found.ties) == (adjusted > 0.05)
    low, high = found.ranks.T
    assert (low >= 1).all() and (high <= k).all() and (low <= high).all()
    assert {i for tie in found.ties for i in tie} == set(range(k))
    assert not any(set(a) < set(b) for a in found.ties for b in found.ties)
