"""The request for likelihoods with numbers of tokens, on models of the harness."""

import pytest
from lm_eval.api.model import LM, CachingLM
from rule_model import RuleLM
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.token_counts import REQUEST, TokenCounts
from lm_eval_bias.usage import UsageError


class LettersLM(RuleLM):
    """Its tokens are letters, and a space belongs to the letter behind it; counts how often it is
    asked."""

    asked = 0

    def _encode_pair(self, context, continuation):
        type(self).asked += 1
        return list(context), list(continuation.strip())


def requests(*arguments):
    return [compat.request(REQUEST, {}, each, i, "t", 0) for i, each in enumerate(arguments)]


def test_every_model_of_the_harness_answers_with_the_tokens_of_its_tokenizer():
    lm = LettersLM(lambda context, word: -len(word))
    assert getattr(lm, REQUEST)(requests(("A:", " ugly"), ("A:", " beautiful"))) == [
        (-5, False, 4),
        (-10, False, 9),
    ]


def test_a_model_without_a_tokenizer_has_no_number(caplog):
    assert (
        getattr(RuleLM(lambda *_: -1.0), REQUEST)(requests(("A:", " x"), ("B:", " y")))
        == [(-1.0, False, None)] * 2
    )
    assert caplog.text.count("no tokenizer") == 1


def test_a_tokenizer_that_cannot_be_fetched_is_none():
    """As that of the harness's `dummy` without network."""

    class Dummy(RuleLM):
        @property
        def tokenizer(self):
            raise OSError("We couldn't connect to the hub")

    assert TokenCounts(Dummy())("A:", " x") is None


def test_the_requests_reach_the_model_in_one_call():
    seen = []

    class Spy(RuleLM):
        def loglikelihood(self, requests, **_):
            seen.append([r.args for r in requests])
            return super().loglikelihood(requests)

    getattr(Spy(lambda *_: -1.0), REQUEST)(requests(("A:", " x"), ("B:", " y")))
    assert seen == [[("A:", " x"), ("B:", " y")]]


def test_the_tokenizer_is_asked_once_for_each_end_of_a_prompt():
    lm = LettersLM(None)
    LettersLM.asked = 0
    count = TokenCounts(lm)
    end = "x" * 32
    assert [count(start + end, " ab") for start in ("one ", "two ")] == [
        2,
        2,
    ] and LettersLM.asked == 1


@pytest.mark.parametrize("end", ["", " "])
def test_an_encoder_without_a_prefix_token_is_asked_where_its_tokens_stand(end):
    """Words of three letters are one token, of more letters two: "ugly" is "ugl" and "y"."""
    made = Tokenizer(
        models.WordPiece(
            {"[UNK]": 0, "ugl": 1, "##y": 2, "bad": 3, "a": 4, ":": 5}, unk_token="[UNK]"
        )
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    class EncoderLM(RuleLM):
        prefix_token_id = None
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]")

        def _encode_pair(self, context, continuation):
            raise TypeError("no prefix token")

    count = TokenCounts(EncoderLM(None))
    assert [count(f"a:{end}", f" {word}"[len(end) :]) for word in ("ugly", "bad", "bad ugly")] == [
        2,
        1,
        3,
    ]


def test_the_cache_of_the_harness_answers_it(tmp_path):
    calls = []

    def rule(context, word):
        calls.append(word)
        return -1.0

    lm = LettersLM(rule)
    for _ in range(2):
        cached = CachingLM(lm, str(tmp_path / "cache.db"))
        assert getattr(cached, REQUEST)(requests(("A:", " x")))[0][::2] == (-1.0, 1)
        cached.dbdict.close()
    assert calls == [" x"] and hasattr(LM, REQUEST)


def test_a_model_that_takes_messages_says_what_to_do():
    with pytest.raises(UsageError, match="Run a task that generates"):
        getattr(RuleLM(None), REQUEST)(requests(([{"role": "user"}], " x")))
