"""Choices that begin alike, against a model whose every continuation can be counted."""

import itertools
import logging
from math import exp, log

import pytest

from lm_eval_bias.harness.choices import extensions, nesting
from lm_eval_bias.likelihoods import made_exclusive


def test_a_choice_stands_under_the_longest_that_it_begins_with():
    # 1, 10, 100, 8, 85 in digits behind a prompt of the token 7
    assert extensions([(7, 1), (7, 1, 0), (7, 1, 0, 0), (7, 8), (7, 8, 5)]) == [
        [1],
        [2],
        [],
        [4],
        [],
    ]
    assert extensions([(7, 10), (7, 1), (7, 100)]) == [[], [], []]
    # no shorter choice of two tokens is there: it stands under the one of one token
    assert extensions([(1,), (1, 2, 3)]) == [[1], []]
    # equal ones are the same event
    assert extensions([(1,), (1,), (1, 2), (1, 2)]) == [[2], [2], [], []]


class RuleOfDigits:
    """Writes digits one at a time: the first by `first`, then with probability 1/2 another one or
    none, all equally likely; at most three."""

    def __init__(self, whole):
        self.whole = whole

    def _encode_pair(self, context, continuation):
        number = continuation.strip()
        return [1, 2], [int(number) + 100] if self.whole else [int(d) for d in number]

    def exactly(self, number):
        return 0.1 * 0.05 ** (len(number) - 1) * (0.5 if len(number) < 3 else 1)

    def loglikelihood(self, number):
        if self.whole:  # the token of a number is that number alone
            return log(self.exactly(number))
        longer = itertools.chain.from_iterable(
            ("".join(t) for t in itertools.product("0123456789", repeat=r))
            for r in range(4 - len(number))
        )
        return log(sum(self.exactly(number + rest) for rest in longer))


@pytest.mark.parametrize("whole", [False, True])
def test_both_ways_of_writing_numbers_give_the_same_distribution(whole):
    """0 to 999, of which a model that writes digits says each with the same probability as one that
    writes numbers."""
    lm = RuleOfDigits(whole)
    choices = [f" {n}" for n in range(1000)]
    if not whole:  # digits may begin with a zero
        choices += [f" {n:02}" for n in range(10)] + [f" {n:03}" for n in range(100)]
    likelihoods = [(lm.loglikelihood(c.strip()), False) for c in choices]
    result = made_exclusive(likelihoods, nesting(lm)("how many?", choices))
    assert [exp(value) for value, _ in result] == pytest.approx(
        [lm.exactly(c.strip()) for c in choices]
    )


def test_a_model_without_a_tokenizer_is_warned_of(caplog):
    with caplog.at_level(logging.WARNING):
        assert nesting(object())("a", ["1", "10"]) == [[], []]
    assert "no tokenizer to find choices that begin with others" in caplog.text
