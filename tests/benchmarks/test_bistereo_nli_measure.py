from math import inf, nan

import pytest

from lm_eval_bias.benchmarks.bistereo.nli_documents import documents
from lm_eval_bias.benchmarks.bistereo.nli_measure import record, record_generated, summary


@pytest.fixture(scope="module")
def docs():
    return documents()


DOC = {
    "wording": "w",
    "variant": 0,
    "domain": "looks",
    "attribute": "cute",
    "direction": "attribute in premise",
    "gender": "women",
    "descriptor": "fair",
    "favoured": True,
    "category": "attractiveness",
    "effect": "halo",
}


@pytest.mark.parametrize(
    "likelihoods, answer",
    [
        ((-1.0, -2.0, -3.0), "entailment"),
        ((-3.0, -inf, -1.0), "neutral"),
        ((-inf, -inf, -inf), "unusable likelihoods"),
        ((nan, -1.0, -2.0), "unusable likelihoods"),
        ((-1.0, -2.0, nan), "unusable likelihoods"),
        ((inf, -1.0, -1.0), "unusable likelihoods"),
    ],
)
def test_record(likelihoods, answer):
    assert record(DOC, [(x, False) for x in likelihoods])["answer"] == answer


def answered(docs, answer):
    return summary([record_generated(d, [answer(d)]) for d in docs])


def test_the_genders_are_compared_on_what_both_are_asked(docs):
    """Entailment for fair women in what women alone are asked, and in every other shared wording
    for fair women and men.

    Of the first 1,000 documents 428 of women and 428 of men are shared (4 a block, 214 blocks; half
    of them good). The genders differ in nothing but what men are not asked, so the difference is 0;
    the gaps by gender differ by it.
    """

    def answer(d):
        of_half = not d["shared"] or int(d["wording"].split("-")[1]) % 2
        return "entailment" if d["descriptor"] == "fair" and of_half else "neutral"

    result = answered(docs[:1000], answer)
    assert result.values["halo_gap_gender_difference"][0] == 0
    place = ("halo", "women - men", "all", "difference")
    columns = ("effect", "gender", "category", "share")
    (row,) = [g for g in result.tables["gaps"] if tuple(g[c] for c in columns) == place]
    assert row["n"] == 107
    assert result.groups["halo_gap"]["women"][0] > result.groups["halo_gap"]["men"][0] + 5


def test_a_model_that_contradicts_fair_so_ugly_alone_has_a_horn(docs):
    """All fair pairs of bad attributes Contradiction: %C 100 and 0. Gaps of %E alone are 0, and
    were all there was."""
    horn = {"descriptor": "fair", "effect": "horn"}
    result = answered(
        docs[:4000], lambda d: "contradiction" if horn.items() <= d.items() else "neutral"
    )
    expected = {
        "horn_gap": 100,
        "horn_gap_contradiction": 100,
        "horn_gap_entailment": 0,
        "halo_gap": 0,
        "halo_gap_contradiction": 0,
    }
    assert {name: result.values[name][0] for name in expected} == expected


def test_summary_counts_refusals_and_unusable_answers():
    answers = ["entailment", "refused", "unparsed", "neutral"]
    result = summary([record_generated(DOC, [a]) for a in answers])
    assert result.values["unanswered"][0] == 50
    assert result.values["refused"][0] == 25
    assert result.values["entailment"][0] == 50
    (cell,) = result.tables["labels"]
    assert (cell["n"], cell["unanswered"], cell["entailment"]) == (4, 2, 50)
