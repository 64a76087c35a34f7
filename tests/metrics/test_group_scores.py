from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.errors import Sample, t_interval
from lm_eval_bias.metrics.group_scores import Scale, resampled_scores, variation

WARMTH = ("Sociability", "Sociability", "Morality", "Morality")


def score_of(ratings, facets):
    """(value, standard error, degrees of freedom) of one group by itself."""
    value, variance, df, *_ = Scale([ratings], facets).estimates
    return float(value[0]), float(np.sqrt(variance[0])), float(df[0])


def values(ratings, facets):
    """(mean, spread) and how many groups they are of."""
    (mean, n), (spread, _) = Scale(ratings, facets).values(Sample(len(ratings)).total())
    return float(mean[0, 0]), float(spread[0, 0]), int(n[0, 0])


def test_a_score_is_the_mean_over_facets_of_items_of_rounds():
    """Sociability: items 2 and 4, of which the first was rated once: 3. Morality: 5 alone. (3 + 5)
    / 2. In the second round nobody rated morality."""
    scale = Scale([[[2, 3, nan, 5], [nan, 5, nan, nan]]], WARMTH)
    assert scale.value == [4] and scale.by_round[0, 0] == (2.5 + 5) / 2
    assert isnan(scale.by_round[0, 1])


def test_one_group_by_hand():
    """One round, items 1 3 | 4 4. Score (2 + 4) / 2 = 3. The deviations of the items from their
    facet are weighed by 1 / 4: variance 2 * 2 * (1 / 4)^2 = 1 / 4, with 4 items - 2 facets = 2
    degrees of freedom."""
    assert score_of([[1, 3, 4, 4]], WARMTH) == (3, 0.5, 2)


def test_one_scale_in_one_round_and_one_item_in_several_are_students_mean():
    items = np.array([2, 3, 3, 4, 4, 4, 5, 3.0])
    assert score_of([items], "aaaaaaaa") == pytest.approx((3.5, items.std(ddof=1) / sqrt(8), 7))
    assert score_of([[3], [4], [5]], "a") == pytest.approx((4, 1 / sqrt(3), 2))
    once = score_of([[3]], "a")
    assert once[0] == 3 and isnan(once[1])


def test_equal_ratings_have_no_error():
    ratings = np.full((15, 10, 4), 0.1)
    assert score_of(ratings[0], WARMTH) == (pytest.approx(0.1), 0, inf)
    scale = Scale(ratings, WARMTH)
    mean, (spread, _) = scale.values((sample := Sample(15, (range(15), None))).total())
    found = scale.mean(sample.estimates(*mean))
    assert (found.variance, found.df) == (0, inf)
    assert spread[0] == 0 and scale.spread_ends == (0, 0)


def test_other_groups_tell_how_much_items_stray():
    """A group whose four items agree by chance has no error by itself, and that of the others among
    others."""
    rng = np.random.default_rng(2)
    ratings = 3 + rng.normal(0, 0.5, (98, 1, 4))
    ratings[0] = 3
    assert score_of(ratings[0], WARMTH)[1] == 0
    found = Scale(ratings, WARMTH).estimates
    assert sqrt(found.variance[0]) == pytest.approx(0.5 / sqrt(4), rel=0.15)
    assert (found.df > 50).all()


def test_an_item_that_is_low_for_all_has_the_freedom_of_items():
    """All groups have 1 3 | 4 4, each at its own level: the other groups tell nothing about items,
    and the 2 degrees of freedom remain."""
    found = Scale([[[1, 3, 4, 4]], [[2, 4, 5, 5]], [[0, 2, 3, 3]]], WARMTH).estimates
    assert found.variance == pytest.approx([0.25] * 3) and found.df == pytest.approx([2] * 3)


def test_a_facet_of_one_item_gives_the_facets_up():
    """Items 1 2 | 6 of facets with 2 and 1 items, weighed 1/4, 1/4, 1/2: the error is that of all
    items around the score, 3.75."""
    value, stderr, df = score_of([[1, 2, 6]], "aab")
    away = np.array([(1 - 3.75) / 4, (2 - 3.75) / 4, (6 - 3.75) / 2])
    usual = sqrt(1.5 * (away**2).sum())
    assert (value, df) == (3.75, 2) and usual / 2 < stderr < 2 * usual


def test_an_item_that_nobody_rated_is_none():
    """As under a limit that cuts it off."""
    ratings = np.random.default_rng(11).normal(3, 1, (20, 10, 4))
    wider = np.concatenate([ratings, np.full((20, 10, 2), nan)], axis=2)
    facets = (*WARMTH, "Morality", "Sociability")
    assert values(wider, facets) == pytest.approx(values(ratings, WARMTH))
    scale, other = Scale(wider, facets), Scale(ratings, WARMTH)
    assert scale.estimates.variance == pytest.approx(other.estimates.variance)
    assert scale.spread_ends == pytest.approx(other.spread_ends)
    # Of four items one was rated: a sample of one, of which the error is not known. The one item
    # there is has an interval over rounds.
    one = Scale(np.where([True, False, False, False], ratings, nan), "aaaa").estimates
    assert not np.isnan(one.value).any() and np.isnan(one.variance).all()
    assert (Scale(ratings[..., :1], "a").estimates.variance > 0).all()


def test_nothing_is_nan():
    nothing = np.full((3, 10, 4), nan)
    scale = Scale(nothing, WARMTH)
    assert np.isnan(scale.estimates[:2]).all() and all(map(isnan, scale.spread_ends))
    assert np.isnan(resampled_scores([scale], draws=5)).all()
    mean, spread, n = values(nothing, WARMTH)
    assert isnan(mean) and isnan(spread) and n == 0
    assert Scale(np.zeros((0, 10, 4)), WARMTH).value.shape == (0,)


def test_resamples_have_the_variance_of_the_scores():
    """Two items per facet: drawn by counts, half of it."""
    rng = np.random.default_rng(4)
    ratings = (
        3
        + rng.normal(0, 0.5, (98, 1, 4))
        + rng.normal(0, 0.2, (98, 10, 1))
        + rng.normal(0, 0.2, (98, 10, 4))
    )
    scale = Scale(ratings, WARMTH)
    drawn = resampled_scores([scale], draws=1000)[:, :, 0]
    assert drawn.shape == (1000, 98)
    # Of a mean of 4 items and 10 rounds, by what was put in.
    true = 0.5**2 / 4 + 0.2**2 / 10 + 0.2**2 / 40
    assert drawn.var(axis=0, ddof=1).mean() == pytest.approx(true, rel=0.2)
    assert drawn.mean(axis=0) == pytest.approx(scale.value, abs=0.06)
    alone = [score_of(r, WARMTH)[1] for r in ratings[:20]]
    assert drawn.std(axis=0, ddof=1)[:20] == pytest.approx(alone, rel=0.1)


def test_spread_takes_chance_off_by_hand():
    """One facet of two items, one round: 1 3 | 3 1 | 5 7 | 7 5. Scores 2 2 6 6, variance 16 / 3. No
    item is higher for all. Each strays by 1: the variance of two items is 2, of their mean 1; and 4
    / 3 times that, as one of the 4 groups is spent on what items do to all."""
    ratings = [[[1, 3]], [[3, 1]], [[5, 7]], [[7, 5]]]
    mean, spread, n = values([*ratings, [[nan, nan]]], "aa")
    assert (mean, spread, n) == (4, pytest.approx(sqrt(16 / 3 - 4 / 3)), 4)


@pytest.mark.parametrize(
    "ratings, facets",
    [(np.eye(2, 8).reshape(2, 2, 4), WARMTH), ([[[1]], [[2]], [[3]], [[4]]], "a")],
)
def test_spread_of_few_groups_and_of_one_rating_is_nan(ratings, facets):
    assert isnan(values(ratings, facets)[1]) and all(map(isnan, Scale(ratings, facets).spread_ends))


@pytest.mark.slow
def test_groups_that_stray_alike_are_no_spread():
    """Another trait, in which groups differ, and of which each of eight items has more or less:
    groups stray, but not each for itself."""
    rng = np.random.default_rng(10)
    above = 0
    for _ in range(200):
        trait = rng.normal(0, 0.4, (98, 1, 1)) * rng.normal(0, 1, (1, 1, 8))
        ratings = 3 + trait + rng.normal(0, 0.2, (98, 10, 8))
        above += Scale(ratings, "a" * 8).spread_ends[0] > 0
    assert above / 200 < 0.08


def test_the_mean_takes_groups_and_items_as_samples_by_hand():
    """One facet of two items, one round: ten groups 1 3 and ten 3 5. Scores 2 and 4, mean 3. Items
    are 1 off for all: variance 2 / 2 = 1 with one degree of freedom; groups 20 / 19 / 20 = 1 / 19
    with 19; no group strays alone. Together 20 / 19, with (20 / 19)^2 / (1 + 1 / 19^3) degrees of
    freedom."""
    scale = Scale([[[1, 3]], [[3, 5]]] * 10, "aa")
    sample = Sample(20, (range(20), None))
    found = scale.mean(sample.estimates(*scale.values(sample.total())[0]))
    assert (*found.value, *found.variance, *found.n) == pytest.approx((3, 20 / 19, 20))
    assert found.df == pytest.approx((20 / 19) ** 2 / (1 + 1 / 19**3))
    assert t_interval(*found[:3])[1] > 3 + 4.3  # of two degrees of freedom


def test_without_a_group_the_spread_is_that_of_the_others():
    """With equal items nothing is chance."""
    ratings = np.repeat(np.random.default_rng(3).normal(3, 1, (12, 1, 1)), 4, axis=2)
    total = Sample(12, (range(12), None)).total()
    (mean, _), (spread, n) = Scale(ratings, WARMTH).values(total)
    for i in range(12):
        others = np.delete(ratings[:, 0, 0], i)
        found = (mean[1 + i, 0], spread[1 + i, 0], n[1 + i, 0])
        assert found == pytest.approx((others.mean(), others.std(ddof=1), 11))


def test_coefficients_of_variation_by_hand():
    """4 and 2: standard deviation (ddof 0) 1, mean 3; 0 of equal scores. One score does not vary, a
    mean of 0 has no coefficient."""
    scores = [[4, 2, nan], [0.1, 0.1, 0.1], [5, nan, nan], [-1, 1, 0], [nan] * 3]
    assert variation(scores) == pytest.approx([1 / 3, 0, nan, nan, nan], nan_ok=True)
