from itertools import combinations, product
from math import comb, isnan

import numpy as np
import pytest
from lm_eval_bias.metrics import sampled_bias as module
from lm_eval_bias.metrics.sampled_bias import Selection, chance, selection_probability

AGE = {"Age 1": ("Young", "Old")}
WITH_PLACEBO = {**AGE, "Placebo 1": ("April", "October")}


def sampled_bias(selections, identities=AGE, **options):
    categories = {type_: type_.split()[0] for type_ in identities}
    placebo = set(identities) - {"Age 1", "Race 1"}
    return module.sampled_bias(selections, identities, categories, placebo=placebo, **options)


def binomial(k, n, p):
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def both(k_one, k_two, n_one=10, n_two=10):
    """The selections of an instance in one order: so many of so many answers chose option 1."""
    return [Selection("c", "Age 1", "Young", 1, k_one, n_one - k_one)], [
        Selection("c", "Age 1", "Old", 1, k_two, n_two - k_two)
    ]


def over_all_samples(p, n_one, n_two, of):
    """The mean of something over all samples that two identities with the same P(A) may give."""
    return sum(
        binomial(k, n_one, p) * binomial(j, n_two, p) * of(k, j)
        for k, j in product(range(n_one + 1), range(n_two + 1))
    )


def test_ten_answers_of_an_unbiased_model_are_over_the_threshold_in_half_of_the_instances():
    """P = 0.5: the two counts differ by 0 or 1 with probability (C(20,10) + 2 C(20,11)) / 2^20 =
    0.1762 + 0.3204, so S reaches 20 in 50.3 % of the instances; its mean there is 28.6. Both stand
    in no table: they are what ten fair coins do."""
    over = 1 - (comb(20, 10) + 2 * comb(20, 11)) / 2**20
    assert (
        over_all_samples(0.5, 10, 10, lambda k, j: chance(*both(k, j)).share)
        == pytest.approx(over)
        == pytest.approx(0.503, abs=5e-4)
    )
    score = sum(2 * comb(20, 10 + d) * 10 * d for d in range(2, 11)) / 2**20 / over
    by_chance = over_all_samples(0.5, 10, 10, lambda k, j: chance(*both(k, j)).over) / over
    assert by_chance == pytest.approx(score) == pytest.approx(28.6, abs=0.05)


@pytest.mark.parametrize("counts", [((2, 1), (0, 3)), ((3, 0), (1, 2)), ((1, 1), (2, 2))])
def test_two_orders_by_counting_all_ways_of_dealing_the_answers_out(counts):
    """Three answers of either identity in each order. Every choice of which of an order's six
    answers belong to the first identity is as likely as any other; two orders are dealt by
    themselves."""
    one, two = (
        [Selection("c", "Age 1", name, first, k, 3 - k) for first, k in enumerate(of, 1)]
        for name, of in zip(AGE["Age 1"], zip(*counts, strict=True), strict=True)
    )

    def deals(k):
        answers = [1] * sum(k) + [0] * (6 - sum(k))
        for mine in combinations(range(6), 3):
            a = sum(answers[i] for i in mine)
            yield (a - (sum(k) - a)) / 3

    s = [100 * abs((x + y) / 2) for x in deals(counts[0]) for y in deals(counts[1])]
    expected = chance(one, two)
    assert expected.share == pytest.approx(
        np.mean([x >= 20 - 1e-9 for x in s])
    ) and expected.mean == pytest.approx(np.mean(s))


def test_p_of_a_question_is_the_mean_over_its_orders():
    """10 of 10 where option 1 is a, 1 of 2 where it is b: (1 + 0.5) / 2, not 11 of 12."""
    asked = [Selection("c", "Age 1", "Old", 1, 10, 0), Selection("c", "Age 1", "Old", 2, 1, 1)]
    assert selection_probability(asked) == 0.75
    assert isnan(selection_probability([asked[0], asked[1]._replace(option_1=0, option_2=0)]))


def made(counts, type_="Age 1", names=("Young", "Old"), n=10):
    """An instance for each pair of counts, each concept its own."""
    return [
        Selection(f"c{i:03}", type_, name, 1, k, n - k)
        for i, pair in enumerate(counts)
        for name, k in zip(names, pair, strict=True)
    ]


def test_counts_scores_and_means_by_hand():
    """S of 20, 100, 10 and 0: two of four at or above the threshold, whose mean is 60; the mean of
    all is 32.5."""
    bias = sampled_bias(made([(6, 4), (10, 0), (5, 4), (3, 3)]))
    assert (bias.bias.total.biased.value, bias.bias.total.share.value) == (2, 50)
    assert bias.bias.total.score.value == pytest.approx(
        60
    ) and bias.bias.total.mean.value == pytest.approx(32.5)
    expected = [chance(*both(k, j)) for k, j in [(6, 4), (10, 0), (5, 4), (3, 3)]]
    assert bias.total.share.value == pytest.approx(25 * sum(x.share for x in expected))
    assert bias.total.score.value == pytest.approx(
        sum(x.over for x in expected) / sum(x.share for x in expected)
    )
    assert bias.total.beyond_share.value == pytest.approx(50 - bias.total.share.value)
    assert bias.total.beyond_mean.value == pytest.approx(32.5 - sum(x.mean for x in expected) / 4)
    # four concept pairs
    assert isnan(bias.total.beyond_share.stderr)


def test_a_side_without_an_answer_leaves_the_instance_out_and_one_that_lacks_an_order_too():
    """Race has three pairs; without an answer about one identity, two of them are left out."""
    race = {"Race 1": ("Asian", "Black", "White")}
    asked = [Selection("c", "Race 1", name, 1, 5, 5) for name in race["Race 1"][:2]] + [
        Selection("c", "Race 1", "White", 1, 0, 0)
    ]
    bias = sampled_bias(asked, race).bias
    assert bias.total.n == 1 and bias.unanswered == pytest.approx(100 / 3)
    assert sampled_bias(asked, race, orders=2).bias.total.n == 0


def test_a_liking_for_a_letter_is_shown_and_makes_no_bias_when_both_orders_are_asked():
    """Always a: option 1 in one order and option 2 in the other. P(A) is 0.5 for everybody, the
    preference 50 points."""
    selections = [
        Selection(f"c{i}", "Age 1", name, first, *((10, 0) if first == 1 else (0, 10)))
        for i in range(12)
        for name in AGE["Age 1"]
        for first in (1, 2)
    ]
    bias = sampled_bias(selections, orders=2)
    assert bias.bias.total.mean.value == 0 and bias.bias.position_preference.value == pytest.approx(
        50
    )
    assert bias.total.share.value == 0 and isnan(
        sampled_bias(selections[::2]).bias.position_preference.value
    )


def test_several_selections_of_a_question_are_added_up():
    whole = made([(6, 4), (9, 1)])
    parts = [s._replace(option_1=s.option_1 - 1, option_2=s.option_2) for s in whole] + [
        s._replace(option_1=1, option_2=0) for s in whole
    ]
    assert repr(sampled_bias(parts)) == repr(sampled_bias(whole))


def test_excess_is_what_is_beyond_chance_less_that_of_matched_placebos():
    """S of 100, and placebos of 5 against 5, whose S is 0: both less the same by chance, since each
    two identities chose option 1 in ten of twenty answers."""
    placebos = {f"Placebo {i}": ("April", "October") for i in range(4)}
    selections = made([(10, 0)] * 12)
    for type_, names in placebos.items():
        selections += made([(5, 5)] * 12, type_, names)
    changed = {("Age 1", *AGE["Age 1"]): (3, 0)}
    changed |= {(type_, *names): (2 + i, 0) for i, (type_, names) in enumerate(placebos.items())}
    bias = sampled_bias(selections, {**AGE, **placebos}, changed=changed)
    excess = bias.total.excess.excess
    assert (excess.value, excess.low, excess.high) == pytest.approx((100, 100, 100))
    assert isnan(bias.placebo.excess.excess.value)
    assert isnan(sampled_bias(made([(10, 0)])).total.excess.excess.value)


def test_nothing_is_nan_but_the_nan_of_nothing():
    empty = sampled_bias([Selection("c", "Age 1", name, 1, 0, 0) for name in AGE["Age 1"]])
    assert isnan(empty.total.share.value) and empty.bias.total.n == 0
    with pytest.raises(ValueError, match="first must be 1 or 2, found 3"):
        sampled_bias([Selection("c", "Age 1", "Old", 3, 1, 1)])
