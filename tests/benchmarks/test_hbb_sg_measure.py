from math import exp, inf, log, nan

import pytest
from rule_model import RuleLM, evaluate, numbers_of

from lm_eval_bias.benchmarks.hbb.measure import HBB
from lm_eval_bias.benchmarks.hbb.sg_documents import documents
from lm_eval_bias.benchmarks.hbb.sg_measure import HBB_SG, record, summary

PER_CONCEPT = 58
TOKENS = (10, 25, 31, 18, 40, 12, 9, 22)


@pytest.fixture(scope="module")
def docs():
    return documents()[:PER_CONCEPT]


def answers(perplexities, tokens=TOKENS):
    """Each token as likely as the perplexity says: log-likelihood -n ln PPL."""
    return [(-n * log(ppl), False, n) for ppl, n in zip(perplexities, tokens, strict=True)]


def test_p_is_the_mean_of_the_reciprocal_perplexities_over_both_options(docs):
    """Option 1: (1/2 + 1/4 + 1/4 + 1/8) / 4 = 9/32. Option 2: 1/8 = 4/32. P = 9/13."""
    found = record(docs[0], answers([2, 4, 4, 8, 8, 8, 8, 8]))
    assert found["log_odds"] == pytest.approx(log(9 / 4))
    assert 1 / (1 + exp(-found["log_odds"])) == pytest.approx(9 / 13)
    assert (found["unit"], found["lengths"]) == ("tokens", list(TOKENS))


def test_a_sentence_twice_as_long_at_the_same_likelihood_per_token_has_the_same_p(docs):
    perplexities = [3, 5, 4, 9, 7, 2, 8, 6]
    once, twice = (record(docs[0], answers(perplexities, [k * n for n in TOKENS])) for k in (1, 2))
    assert once["log_odds"] == pytest.approx(twice["log_odds"])


def test_very_unlikely_sentences_do_not_vanish(docs):
    """e^-800 per token is 0 in a float; the log-odds are 1 all the same."""
    assert record(docs[0], [(-800.0, False, 1)] * 4 + [(-801.0, False, 1)] * 4)[
        "log_odds"
    ] == pytest.approx(1)


def test_an_impossible_sentence_counts_0_and_an_unusable_one_leaves_the_question_unanswered(docs):
    """1/PPL of 1/2, 1/2, 1/2, 0 against four of 1/2: 3 to 4."""
    some = answers([2] * 8)
    assert record(docs[0], [*some[:3], (-inf, False, 18), *some[4:]])["log_odds"] == pytest.approx(
        log(3 / 4)
    )
    for bad in (nan, inf):
        assert record(docs[0], [(bad, False, 10), *some[1:]])["log_odds"] is None
    assert record(docs[0], [(-inf, False, 10)] * 8)["log_odds"] is None
    assert record(docs[0], [(-inf, False, 10)] * 4 + some[4:])["log_odds"] == -inf


def test_without_token_counts_perplexity_is_per_utf8_byte_and_the_log_says_so(docs, caplog):
    """Curly quotation marks have three bytes each. One count unknown: bytes for all eight, so that
    one unit is compared."""
    sentences = docs[0]["choices"]
    assert "“" in sentences[0]
    found = record(
        docs[0],
        [
            (-len(s.encode()) * log(2 if i < 4 else 6), False, None if i == 5 else 7)
            for i, s in enumerate(sentences)
        ],
    )
    assert found["unit"] == "bytes" and found["lengths"][0] == len(sentences[0]) + 2 * sum(
        c in "“”’" for c in sentences[0]
    )
    assert found["log_odds"] == pytest.approx(log(3))
    summary([found], threshold=20.0)
    assert (
        "no numbers of tokens for 1 of 1 questions; perplexity is per UTF-8 byte there"
        in caplog.text
    )


def test_a_model_without_bias_gives_0(docs):
    """It likes some sentences better, whoever is described: pronouns and lengths differ in Gender,
    the perplexities do not."""
    records = [record(d, answers([2, 4, 4, 8, 3, 8, 9, 8])) for d in docs]
    result = summary(records, threshold=20.0)
    values = {name: v for name, (v, _) in result.values.items()}
    assert values["instances"] == 67 and values["left_out"] == values["unanswered"] == 0
    for name in (
        "biased_share",
        "mean_difference",
        "placebo_difference",
        "excess_difference",
        "log_odds_difference",
        "biased_count",
    ):
        assert values[name] == 0


def test_s_counts_and_excess_are_those_of_hbb(docs):
    """P = 9/13 for the young and 1/2 for the rest: in each of the three types of Age S = 100 (9/13
    - 1/2) = 19.23, else 0."""
    records = [
        record(d, answers([2, 4, 4, 8, 8, 8, 8, 8] if d["identity"] == "Young" else [4] * 8))
        for d in docs
    ]
    s = 100 * (9 / 13 - 1 / 2)
    below, above = (summary(records, threshold=t) for t in (20.0, 19.0))
    assert (below.values["biased_count"][0], above.values["biased_count"][0]) == (0, 3)
    assert (
        above.values["bias_score"][0]
        == pytest.approx(s)
        == above.groups["excess_difference"]["Age"][0]
    )
    assert (
        above.values["mean_difference"][0]
        == pytest.approx(3 * s / 67)
        == above.values["excess_difference"][0]
    )
    assert above.groups["log_odds_difference"]["Age"][0] == pytest.approx(log(9 / 4))
    (row,) = (r for r in above.tables["types"] if r["type"] == "Age 2")
    assert (row["n"], row["biased"]) == (1, 1) and row["difference"] == pytest.approx(s)
    assert above.tables["answers"][0] == {"category": "all", "questions": 58, "unanswered": 0}


def test_the_metrics_are_declared_once_for_both_but_for_letters_and_cells():
    own = {m.name: m._replace(cell=None) for m in HBB_SG.metrics}
    theirs = {m.name: m._replace(cell=None) for m in HBB.metrics}
    assert own.pop("lacking_sentences").unit == "%"
    assert own == {
        name: m for name, m in theirs.items() if name not in ("position_preference", "letter_mass")
    }
    assert {m.cell for m in HBB_SG.metrics} == {None, "Table 8, bias score", "Table 8, count"}


class LettersLM(RuleLM):
    """Its tokens are letters."""

    def _encode_pair(self, context, continuation):
        return list(context), list(continuation.strip())


def test_in_the_harness_each_sentence_counts_by_its_own_tokens():
    """Perplexity 2 for all sentences, but 1 where the descriptor is that of the old: all are as
    likely as one another, so S is 0; with perplexity 6 for those of option 2 behind "The old man"
    (Age 3) P is 1/2 and 6/8: S = 25."""
    sentences = {text: i for d in documents()[:PER_CONCEPT] for i, text in enumerate(d["choices"])}

    def rule(prompt, sentence):
        option_2 = sentences[sentence.strip()] >= 4
        return -len(sentence.strip()) * log(6 if option_2 and "the old man" in prompt else 2)

    results = evaluate(LettersLM(rule), "hbb_sg", limit=PER_CONCEPT)
    numbers = numbers_of(results, "hbb_sg")
    assert numbers["biased_count", None] == 1 and numbers["bias_score", None] == pytest.approx(25)
    assert (
        numbers["excess_difference", "Age"] == pytest.approx(25 / 3)
        and numbers["instances", None] == 67
    )
