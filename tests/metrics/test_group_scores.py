from math import inf, isnan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.crossed import CrossedMean
from lm_eval_bias.metrics.group_scores import (
    group_scores,
    mean_score,
    resampled_scores,
    score,
    spread,
    variation,
)

NAN = np.nan
WARMTH = ("Sociability", "Sociability", "Morality", "Morality")


def group_score(ratings, facets):
    """The score of one group by itself."""
    return CrossedMean(*(float(x[0]) for x in group_scores(np.asarray(ratings)[None], facets)))


def test_score_is_the_mean_over_facets_of_items_of_rounds():
    """Sociability: items 2 and 4, of which the first was rated once: 3. Morality: 5 alone. (3 + 5)
    / 2."""
    assert score([[2, 3, NAN, 5], [NAN, 5, NAN, 5]], WARMTH) == 4


def test_one_group_by_hand():
    """One round, items 1 3 | 4 4. Score (2 + 4) / 2 = 3. The deviations of the items from their
    facet are weighed by 1 / 4: variance 2 * 2 * (1 / 4)^2 = 1 / 4, with 4 items - 2 facets = 2
    degrees of freedom."""
    found = group_score([[1, 3, 4, 4]], WARMTH)
    assert found[:3] == (3, 0.5, 2)
    assert (found.low, found.high) == pytest.approx((3 - 4.3027 * 0.5, 3 + 4.3027 * 0.5), abs=1e-4)


def test_one_scale_in_one_round_is_students_mean():
    """Eight items of one facet: 95 % of a mean with 7 degrees of freedom, t = 2.365."""
    items = np.array([2, 3, 3, 4, 4, 4, 5, 3.0])
    found = group_score([items], ["competence"] * 8)
    stderr = items.std(ddof=1) / sqrt(8)
    assert found[:5] == pytest.approx(
        (3.5, stderr, 7, 3.5 - 2.3646 * stderr, 3.5 + 2.3646 * stderr), abs=1e-4
    )


def test_one_item_has_an_interval_over_rounds():
    """3 4 5: standard error 1 / sqrt(3), 2 degrees of freedom."""
    found = group_score([[3], [4], [5]], ["overall"])
    assert found[:3] == pytest.approx((4, 1 / sqrt(3), 2))
    once = group_score([[3]], ["overall"])
    assert once.value == 3 and all(map(isnan, once[1:5]))


def test_equal_ratings_have_no_error():
    for found in (
        group_score(np.full((10, 4), 0.1), WARMTH),
        mean_score(np.full((5, 10, 4), 0.1), WARMTH),
    ):
        assert found[:3] == (pytest.approx(0.1), 0, inf) and found.low == found.high == found.value
    assert spread(np.full((5, 10, 4), 0.1), WARMTH) == (0, 0, 0)


def test_other_groups_tell_how_much_items_stray():
    """A group whose four items agree by chance has no error by itself, and that of the others among
    others."""
    rng = np.random.default_rng(2)
    ratings = 3 + rng.normal(0, 0.5, (98, 1, 4))
    ratings[0] = 3
    assert group_score(ratings[0], WARMTH).stderr == 0
    found = group_scores(ratings, WARMTH)
    assert found.stderr[0] == pytest.approx(0.5 / sqrt(4), rel=0.15)
    assert (found.df > 50).all()


def test_an_item_that_is_low_for_all_has_the_freedom_of_items():
    """All groups have 1 3 | 4 4, each at its own level: the other groups tell nothing about items,
    and the 2 degrees of freedom remain."""
    found = group_scores(np.array([[[1, 3, 4, 4]], [[2, 4, 5, 5]], [[0, 2, 3, 3]]]), WARMTH)
    assert found.stderr == pytest.approx([0.5] * 3) and found.df == pytest.approx([2] * 3)


def test_a_facet_of_one_item_gives_the_facets_up():
    """Items 1 2 | 6 of facets with 2 and 1 items, weighed 1/4, 1/4, 1/2: the error is that of all
    items around the score, 3.75."""
    found = group_score([[1, 2, 6]], "aab")
    away = np.array([(1 - 3.75) / 4, (2 - 3.75) / 4, (6 - 3.75) / 2])
    assert found.value == 3.75 and abs(away.sum()) < 1e-12
    assert found.df == 2 and 0.5 * sqrt(1.5 * (away**2).sum()) < found.stderr < 2 * sqrt(
        1.5 * (away**2).sum()
    )


def test_an_item_that_nobody_rated_is_none():
    """As under a limit that cuts it off."""
    ratings = np.random.default_rng(11).normal(3, 1, (20, 10, 4))
    wider = np.concatenate([ratings, np.full((20, 10, 2), NAN)], axis=2)
    for number in (group_scores, spread, mean_score):
        for found, expected in zip(
            number(wider, (*WARMTH, "Morality", "Sociability")),
            number(ratings, WARMTH),
            strict=True,
        ):
            assert found == pytest.approx(expected)
    # Of four items one was rated: a sample of one, of which the error is not known. The one item
    # there is has an interval over rounds.
    one = np.where([True, False, False, False], ratings, NAN)
    found = group_scores(one, "aaaa")
    assert not np.isnan(found.value).any() and np.isnan(found.stderr).all()
    assert (group_scores(ratings[..., :1], "a").stderr > 0).all()


def test_nothing_is_nan():
    nothing = np.full((3, 10, 4), NAN)
    assert (
        np.isnan(group_scores(nothing, WARMTH)).all()
        and np.isnan(resampled_scores([(nothing, WARMTH)], draws=5)).all()
    )
    assert all(map(isnan, (*spread(nothing, WARMTH), *mean_score(nothing, WARMTH)[:5])))
    assert group_scores(np.zeros((0, 10, 4)), WARMTH).value.shape == (0,)


def test_resamples_have_the_variance_of_the_scores():
    """Two items per facet: drawn by counts, half of it."""
    rng = np.random.default_rng(4)
    ratings = (
        3
        + rng.normal(0, 0.5, (98, 1, 4))
        + rng.normal(0, 0.2, (98, 10, 1))
        + rng.normal(0, 0.2, (98, 10, 4))
    )
    drawn = resampled_scores([(ratings, WARMTH)])[:, :, 0]
    assert drawn.shape == (1000, 98)
    # Of a mean of 4 items and 10 rounds, by what was put in.
    true = 0.5**2 / 4 + 0.2**2 / 10 + 0.2**2 / 40
    assert drawn.var(axis=0, ddof=1).mean() == pytest.approx(true, rel=0.2)
    assert drawn.mean(axis=0) == pytest.approx(score(ratings, WARMTH), abs=0.06)
    alone = [group_score(r, WARMTH).stderr for r in ratings[:20]]
    assert drawn.std(axis=0, ddof=1)[:20] == pytest.approx(alone, rel=0.1)


def test_spread_takes_chance_off_by_hand():
    """One facet of two items, one round: 1 3 | 3 1 | 5 7 | 7 5. Scores 2 2 6 6, variance 16 / 3. No
    item is higher for all. Each strays by 1: the variance of two items is 2, of their mean 1; and 4
    / 3 times that, as one of the 4 groups is spent on what items do to all."""
    found = spread([[[1, 3]], [[3, 1]], [[5, 7]], [[7, 5]]], "aa")
    assert found.value == pytest.approx(sqrt(16 / 3 - 4 / 3))


def test_spread_of_few_groups_is_nan():
    assert all(map(isnan, spread(np.random.default_rng(1).normal(3, 1, (2, 10, 4)), WARMTH)))
    assert all(map(isnan, spread([[[1]], [[2]], [[3]], [[4]]], "a")))


@pytest.mark.slow
def test_groups_that_stray_alike_are_no_spread():
    """Another trait, in which groups differ, and of which each of eight items has more or less:
    groups stray, but not each for itself."""
    rng = np.random.default_rng(10)
    above = 0
    for _ in range(200):
        strays = rng.normal(0, 0.4, (98, 1, 1)) * rng.normal(0, 1, (1, 1, 8)) + rng.normal(
            0, 0.2, (98, 10, 8)
        )
        above += spread(3 + strays, "a" * 8).low > 0
    assert above / 200 < 0.08


def test_mean_by_hand():
    """One facet of two items, one round: groups 1 3 | 3 5. Scores 2 and 4, mean 3. Items are 1 off
    for all: variance 2 / 2 = 1 with one degree of freedom; groups 2 / 2 = 1 with one; no group
    strays alone. Together 2 with (1 + 1)^2 / (1 + 1) = 2."""
    found = mean_score([[[1, 3]], [[3, 5]]], "aa")
    assert found[:3] == pytest.approx((3, sqrt(2), 2))
    assert found.high == pytest.approx(3 + 4.3027 * sqrt(2), abs=1e-3)


def test_mean_leaves_out_groups_without_a_score():
    ratings = np.array([[[1, 3]], [[3, 5]], [[NAN, NAN]]])
    assert mean_score(ratings, "aa") == pytest.approx(mean_score(ratings[:2], "aa"))
    one = mean_score(ratings[:1], "aa")
    assert one.value == 2 and all(map(isnan, one[1:5])) and one.n == 1


def test_coefficients_of_variation_by_hand():
    """4 and 2: standard deviation (ddof 0) 1, mean 3; 0 of equal scores. One score does not vary, a
    mean of 0 has no coefficient."""
    scores = [[4, 2, NAN], [0.1, 0.1, 0.1], [5, NAN, NAN], [-1, 1, 0], [NAN] * 3]
    assert variation(scores) == pytest.approx((1 / 6, 1 / 3, 2))
    assert all(map(isnan, variation(scores[2:])[:2]))
