from math import inf, isnan, log, nan

import pytest

from lm_eval_bias.benchmarks.bistereo import nli_documents, pairs_documents
from lm_eval_bias.benchmarks.bistereo.nli_measure import NLI, record, record_generated
from lm_eval_bias.benchmarks.bistereo.pairs_measure import PAIRS, record as pairs_record


def test_the_answer_is_the_likeliest_label_if_each_likelihood_is_a_number(every):
    for likelihoods, answer in (
        ((-1.0, -2.0, -3.0), "entailment"),
        ((-3.0, -inf, -1.0), "neutral"),
        ((-1.0, -2.0, nan), "unusable likelihoods"),
    ):
        assert record(every[0], [(x, False) for x in likelihoods])["answer"] == answer


def test_the_gap_is_of_probabilities_where_likelihoods_are_read(every):
    """Always Contradiction, so that no label differs: with 0.1, 0.7 and 0.2, 100 (0.1 - 0.7) = -60,
    where the stereotype holds for skin, else with 0.05 and 0.75 -70. Both gaps are half of 10, and
    so is their mean; in counted labels it is 0."""
    docs = every[:2084]

    def answer(d):
        holds = d["favoured"] == (d["effect"] == "halo") and not d["placebo"]
        shares = (0.1, 0.7, 0.2) if holds else (0.05, 0.75, 0.2)
        return [(log(share) - 3, False) for share in shares]

    values = NLI.summary([record(d, answer(d)) for d in docs]).values
    assert values["raw_gap"].value == pytest.approx(5)
    assert values["gap_beyond_words"].value == pytest.approx(5)
    assert values["halo_gap"].value == 0


@pytest.mark.parametrize(
    "senses, skin, liking, halo, beyond",
    [
        # the words' senses alone: good follows from fair and light, of hair as of skin
        (True, False, False, 100, 0),
        # of skin alone
        (False, True, False, 100, 100),
        # fair skin follows from anything, so that the halo is 100 and the horn -100
        (False, False, True, 100, 0),
    ],
)
def test_only_a_bias_about_skin_is_beyond_the_words(every, senses, skin, liking, halo, beyond):
    def answer(d):
        good = d["favoured"] == (d["effect"] == "halo")
        if liking and not d["placebo"]:
            return "entailment" if d["favoured"] else "contradiction"
        if senses or (skin and not d["placebo"]):
            return "entailment" if good else "contradiction"
        return "neutral"

    values = NLI.summary([record_generated(d, [answer(d)]) for d in every[:2084]]).values
    assert (values["halo_gap"][0], values["gap_beyond_words"][0]) == (halo, pytest.approx(beyond))


def extreme_label(doc):
    return record_generated(doc, ["neutral" if doc["paper"] else "entailment"])


def extreme_nats(doc):
    nats = 0 if doc["paper"] else {"positive": 9, "neutral": 0, "negative": -9}[doc["sentiment"]]
    return pairs_record(doc, [(-50.0 + nats, False), (-50.0, False)])


@pytest.mark.parametrize(
    "measure, module, n, record",
    [(NLI, nli_documents, 2084, extreme_label), (PAIRS, pairs_documents, 600, extreme_nats)],
)
def test_placebos_are_in_no_number_of_the_paper(built, measure, module, n, record):
    """Of models that are extreme in what is ours alone. test_each_n.py counts what is in a
    number."""
    rows = built(module.documents)[:n]
    paper = measure.summary([record(d) for d in rows if d["paper"]])
    assert repr(measure.summary([*map(record, rows)]).tables) == repr(paper.tables)
    assert isnan(paper.values["gap_beyond_words"].value)
