from math import exp, inf, log

import pytest

from lm_eval_bias.benchmarks.hbb.measure import sg_record as record
from lm_eval_bias.benchmarks.hbb.sg_documents import documents

TOKENS = (10, 25, 31, 18, 40, 12, 9, 22)


@pytest.fixture(scope="module")
def docs(built):
    """Those of the first concept pair."""
    return sorted(built(documents), key=lambda doc: doc["concept"])[:78]


def answers(perplexities, tokens=TOKENS):
    """Each token as likely as the perplexity says: log-likelihood -n ln PPL."""
    return [(-n * log(ppl), False, n) for ppl, n in zip(perplexities, tokens, strict=True)]


def test_p_is_the_mean_of_the_reciprocal_perplexities_over_both_options(docs):
    """Option 1: (1/2 + 1/4 + 1/4 + 1/8) / 4 = 9/32. Option 2: 1/8 = 4/32. P = 9/13. A sentence
    twice as long at the same likelihood per token has the same P."""
    for tokens in (TOKENS, [2 * n for n in TOKENS]):
        made = record(docs[0], answers([2, 4, 4, 8, 8, 8, 8, 8], tokens))
        assert 1 / (1 + exp(-made["log_odds"])) == pytest.approx(9 / 13)
        assert (made["unit"], made["lengths"]) == ("tokens", list(tokens))


def test_impossible_sentences_count_0_and_unusable_ones_leave_the_question_unanswered(docs):
    """1/PPL of 1/2, 1/2, 1/2, 0 against four of 1/2: 3 to 4. e^-800 per token is 0 in a float."""
    known = answers([2] * 8)
    impossible = (-inf, False, 18)
    for likelihoods, log_odds in (
        ([*known[:3], impossible, *known[4:]], log(3 / 4)),
        ([impossible] * 4 + known[4:], -inf),
        ([(-800.0, False, 1)] * 4 + [(-801.0, False, 1)] * 4, 1),
    ):
        assert record(docs[0], likelihoods)["log_odds"] == pytest.approx(log_odds)
    for unusable in ([(inf, False, 10), *known[1:]], [impossible] * 8):
        assert record(docs[0], unusable)["log_odds"] is None


def test_without_token_counts_perplexity_is_per_utf8_byte(docs):
    """Curly quotation marks have three bytes each. One count unknown: bytes for all eight, so that
    one unit is compared."""
    sentences = docs[0]["choices"]
    assert "“" in sentences[0]
    likelihoods = [
        (-len(s.encode()) * log(2 if i < 4 else 6), False, None if i == 5 else 7)
        for i, s in enumerate(sentences)
    ]
    made = record(docs[0], likelihoods)
    curly = sum(c in "“”’" for c in sentences[0])
    assert made["unit"] == "bytes" and made["lengths"][0] == len(sentences[0]) + 2 * curly
    assert made["log_odds"] == pytest.approx(log(3))
