"""The request for likelihoods with numbers of tokens, on models of the harness."""

from lm_eval_bias.likelihoods import Likelihood
from tests.models import tiny
from tests.rule_model import RuleLM


class LettersLM(RuleLM):
    """Its tokens are letters, and a space belongs to the letter behind it."""

    def _encode_pair(self, context, continuation):
        return list(context), list(continuation.strip())

    def tok_encode(self, text, add_special_tokens=None):
        return [*map(ord, text)]


def asked(lm, *pairs):
    return tiny.scored(lm, *pairs, count_tokens=True)


def counted(value, tokens, of_prompt):
    return Likelihood(value, False, tokens, of_prompt)


def test_every_model_of_the_harness_answers_with_the_tokens_of_its_tokenizer():
    pairs = [("A:", " ugly"), ("A:", " beautiful")]
    lm = LettersLM(lambda _, text: -len(text))
    answers = asked(lm, *pairs)
    assert answers == [counted(-5, 4, 2), counted(-10, 9, 2)]
    assert [request.args for request in lm.requests] == pairs


def test_the_tokens_of_a_prompt_are_counted_line_by_line():
    """Words, with a line's end: three, two and one. The second prompt has the same last lines."""
    lm = RuleLM(lambda *_: -1.0)
    lines = []
    lm.tok_encode = lambda line, add_special_tokens: (
        lines.append(line) or [*range(len(line.split()))]
    )
    answers = asked(lm, ("a b c\nd e\nf", " x"), ("a b\nd e\nf", " x"))
    assert answers == [counted(-1.0, None, 6), counted(-1.0, None, 5)]
    assert lines == ["a b c\n", "d e\n", "f", "a b\n"]


def test_a_model_without_a_tokenizer_has_no_number(caplog):
    """One behind an API gives back the text in place of tokens."""
    lm, api = RuleLM(lambda *_: -1.0), RuleLM(lambda *_: -1.0)
    api.tok_encode = lambda text, add_special_tokens=None: [text]
    for model in (lm, api):
        answers = asked(model, ("A:", " x"), ("B:", " y"))
        assert answers == [counted(-1.0, None, None)] * 2
    assert caplog.text.count("no tokenizer") == 2
