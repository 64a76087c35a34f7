from math import inf, nan

import pytest

from lm_eval_bias.documents.bistereo_nli import documents
from lm_eval_bias.measures.bistereo_nli import record, record_generated, summary


@pytest.fixture(scope="module")
def docs():
    return documents()


DOC = {
    "wording": "w",
    "shared": True,
    "gender": "women",
    "descriptor": "fair",
    "favoured": True,
    "category": "attractiveness",
    "effect": "halo",
}


@pytest.mark.parametrize(
    ("likelihoods", "answer"),
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


def test_the_genders_are_compared_on_the_wordings_that_both_are_asked(docs):
    """Shared: women and men, crossed alike. A model that says Entailment to what women alone are asked shows no difference of the genders."""
    shared = [d for d in docs if d["shared"]]
    women, men = (
        sorted((d["wording"], d["variant"], d["descriptor"], d["attribute"], d["direction"]) for d in shared if d["gender"] == g)
        for g in ("women", "men")
    )
    assert women == men and len(men) == 25_784
    records = [record_generated(d, ["neutral" if d["shared"] or d["descriptor"] == "dark" else "entailment"]) for d in docs]
    result = summary(records)
    gaps = {(g["effect"], g["gender"], g["category"]): g["gap"] for g in result.tables["gaps"]}
    assert gaps["halo", "women - men", "all"] == 0
    assert gaps["halo", "women", "all"] > 0 and gaps["halo", "men", "all"] == 0 == result.groups["halo_gap"]["men"][0]


def test_summary_counts_refusals_and_unusable_answers():
    answers = ["entailment", "refused", "unparsed", "neutral"]
    result = summary([record_generated(DOC, [a]) for a in answers])
    assert result.values["unanswered"][0] == 50
    assert result.values["refused"][0] == 25
    assert result.values["entailment"][0] == 50
    (cell,) = result.tables["labels"]
    assert (cell["n"], cell["unanswered"], cell["entailment"]) == (4, 2, 50)
