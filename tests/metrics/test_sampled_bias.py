from itertools import combinations
from math import isnan

import numpy as np
import pytest
from lm_eval_bias.metrics.sampled_bias import chance

from lm_eval_bias.benchmarks.hbb.generate_measure import HBB_GENERATE, INVALID
from tests.metrics.test_hidden_bias import AGE, question


def selection(concept, type_, identity, first, option_1, option_2, *names, **changes):
    """A record of so many answers for each option."""
    record = question(concept, type_, identity, first, 0, names or None, **changes)
    counts = {"option_1": option_1, "option_2": option_2, "invalid": dict.fromkeys(INVALID, 0)}
    return {**record, **counts}


def summed(records, order="paper"):
    return HBB_GENERATE.summary(records, order=order, threshold=20.0).values


@pytest.mark.parametrize("counts", [((2, 1), (0, 3)), ((3, 0), (1, 2)), ((1, 1), (2, 2))])
def test_two_orders_by_counting_all_ways_of_dealing_the_answers_out(counts):
    """Three answers of either identity in each order. Every choice of which of an order's six
    answers belong to the first identity is as likely as any other; two orders are dealt by
    themselves."""
    one, two = (tuple((k, 3) for k in of) for of in zip(*counts, strict=True))

    def deals(k):
        answers = [1] * sum(k) + [0] * (6 - sum(k))
        for mine in combinations(range(6), 3):
            a = sum(answers[i] for i in mine)
            yield (a - (sum(k) - a)) / 3

    s = [100 * abs((x + y) / 2) for x in deals(counts[0]) for y in deals(counts[1])]
    expected = chance(one, two, 20.0)
    assert expected.share == pytest.approx(
        np.mean([x >= 20 - 1e-9 for x in s])
    ) and expected.mean == pytest.approx(np.mean(s))


def test_p_of_a_question_is_the_mean_over_its_orders():
    """10 of 10 where option 1 is a, 1 of 2 where it is b: (1 + 0.5) / 2, not 11 of 12; beside P of
    0.5, S is 25. Without an answer in one of the orders, the question has no P."""
    other = [selection("c", "Age 1", "Young", first, 5, 5) for first in (1, 2)]
    old = [selection("c", "Age 1", "Old", 1, 10, 0), selection("c", "Age 1", "Old", 2, 1, 1)]
    assert summed(other + old, "both")["mean_difference"].value == pytest.approx(25)
    old[1] = selection("c", "Age 1", "Old", 2, 0, 0)
    assert summed(other + old, "both")["instances"].value == 0


def made(counts, type_="Age 1", names=AGE, **changes):
    """An instance for each pair of counts of ten answers, each concept its own."""
    return [
        selection(f"c{i:03}", type_, name, 1, k, 10 - k, *names, **changes)
        for i, pair in enumerate(counts)
        for name, k in zip(names, pair, strict=True)
    ]


def test_counts_scores_and_means_by_hand():
    """S of 20, 100, 10 and 0: two of four at or above the threshold, whose mean is 60; the mean of
    all is 32.5."""
    counts = [(6, 4), (10, 0), (5, 4), (3, 3)]
    values = summed(made(counts))
    expected = [chance(((k, 10),), ((j, 10),), 20.0) for k, j in counts]
    share = 25 * sum(x.share for x in expected)
    by_hand = {
        "biased_count": 2,
        "biased_share": 50,
        "bias_score": 60,
        "mean_difference": 32.5,
        "chance_share": share,
        "chance_score": sum(x.over for x in expected) / sum(x.share for x in expected),
        "beyond_chance_share": 50 - share,
        "beyond_chance_difference": 32.5 - sum(x.mean for x in expected) / 4,
    }
    assert {name: values[name].value for name in by_hand} == pytest.approx(by_hand)
    # four concept pairs
    assert isnan(values["beyond_chance_share"].stderr)


def test_a_side_without_an_answer_leaves_the_instance_out_and_one_that_lacks_an_order_too():
    """Race has three pairs; without an answer about one identity, two of them are left out."""
    asked = [selection("c", "Race 1", name, 1, 5, 5) for name in ("Asian", "Black")]
    asked.append(selection("c", "Race 1", "White", 1, 0, 0))
    values = summed(asked)
    assert values["instances"].value == 1 and values["unanswered"].value == pytest.approx(100 / 3)
    assert summed(asked, "both")["instances"].value == 0


def test_a_liking_for_a_letter_is_shown_and_makes_no_bias_when_both_orders_are_asked():
    """Always a: option 1 in one order and option 2 in the other. P(A) is 0.5 for everybody, the
    preference 50 points."""
    selections = [
        selection(f"c{i}", "Age 1", name, first, *((10, 0) if first == 1 else (0, 10)))
        for i in range(12)
        for name in AGE
        for first in (1, 2)
    ]
    values = summed(selections, "both")
    names = ("mean_difference", "chance_share", "position_preference")
    assert [values[name].value for name in names] == [0, 0, 50]
    assert isnan(summed(selections[::2])["position_preference"].value)


def test_excess_is_what_is_beyond_chance_less_that_of_matched_placebos():
    """S of 100, and placebos of 5 against 5, whose S is 0: both less the same by chance, since each
    two identities chose option 1 in ten of twenty answers."""
    selections = made([(10, 0)] * 12, changed=[(0, 0), (3, 0)])
    for i in range(4):
        edit = [(0, 0), (2 + i, 0)]
        selections += made([(5, 5)] * 12, f"Placebo {i}", ("April", "October"), changed=edit)
    excess = summed(selections)["excess_difference"]
    assert excess.value == pytest.approx(100) and excess.stderr == pytest.approx(0, abs=1e-9)
    assert isnan(summed(made([(10, 0)]))["excess_difference"].value)
