"""Choices that begin alike; test_conversation.py scores such choices with a real model."""

import logging

from lm_eval_bias.harness.choices import extensions, nesting


def test_a_choice_stands_under_the_longest_that_it_begins_with():
    # 1, 10, 100, 8, 85, 10 in digits behind a prompt of the token 7
    encoded = [(7, 1), (7, 1, 0), (7, 1, 0, 0), (7, 8), (7, 8, 5), (7, 1, 0)]
    assert extensions(encoded) == [[1], [2], [], [4], [], [2]]
    # no shorter choice of two tokens is there: it stands under the one of one token
    assert extensions([(1,), (1, 2, 3)]) == [[1], []]


def test_a_model_without_a_tokenizer_is_warned_of(caplog):
    with caplog.at_level(logging.WARNING):
        assert nesting(object())("a", ["1", "10"]) == [[], []]
    assert "no tokenizer to find choices that begin with others" in caplog.text
