import random
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
    """Shared: women and men, crossed alike. A model that says Entailment to what women alone are
    asked shows no difference of the genders."""
    shared = [d for d in docs if d["shared"]]
    women, men = (
        sorted(
            (d["wording"], d["variant"], d["descriptor"], d["attribute"], d["direction"])
            for d in shared
            if d["gender"] == g
        )
        for g in ("women", "men")
    )
    assert women == men and len(men) == 25_784
    records = [
        record_generated(
            d, ["neutral" if d["shared"] or d["descriptor"] == "dark" else "entailment"]
        )
        for d in docs
    ]
    result = summary(records)
    gaps = {
        (g["effect"], g["gender"], g["category"]): g["gap"]
        for g in result.tables["gaps"]
        if g["share"] == "difference"
    }
    assert gaps["halo", "women - men", "all"] == 0 == result.values["halo_gap_gender_difference"][0]
    assert (
        gaps["halo", "women", "all"] > 0
        and gaps["halo", "men", "all"] == 0 == result.groups["halo_gap"]["men"][0]
    )


def answered(docs, answer):
    return summary([record_generated(d, [answer(d)]) for d in docs])


def test_under_a_limit_the_genders_are_compared_on_what_both_are_asked(docs):
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
    (found,) = [
        g
        for g in result.tables["gaps"]
        if (g["effect"], g["gender"], g["category"], g["share"])
        == ("halo", "women - men", "all", "difference")
    ]
    assert found["n"] == 107
    assert result.groups["halo_gap"]["women"][0] > result.groups["halo_gap"]["men"][0] + 5


def test_a_model_that_contradicts_fair_so_ugly_alone_has_a_horn(docs):
    """All fair pairs of bad attributes Contradiction: %C 100 and 0. Gaps of %E alone are 0, and
    were all there was."""
    result = answered(
        docs[:4000],
        lambda d: (
            "contradiction" if d["descriptor"] == "fair" and d["effect"] == "horn" else "neutral"
        ),
    )
    expected = {
        "horn_gap": 100,
        "horn_gap_contradiction": 100,
        "horn_gap_entailment": 0,
        "halo_gap": 0,
        "halo_gap_contradiction": 0,
    }
    for name, gap in expected.items():
        assert result.values[name][0] == gap, name


def test_half_of_a_cell_refused_makes_no_gap(docs):
    """Entailment for looks and neutral for behaviour, of either skin tone; half of fair x
    attractiveness refused, as chance has it.

    Attractiveness is 11,008 of 15,066 good pairs of a skin tone: shares of what is answered would
    be 5,504 of 9,562 for fair, 57.6 %, and
    73.1 % for dark. The twins of those refused leave the gap.
    """
    rng = random.Random(3)

    def answer(d):
        if d["descriptor"] == "fair" and d["category"] == "attractiveness" and rng.random() < 0.5:
            return "refused"
        return "entailment" if d["domain"] == "looks" else "neutral"

    result = answered(docs, answer)
    assert result.values["halo_gap"][:2] == (0, 0)
    assert (
        result.values["left_out"][0]
        == result.values["unanswered"][0]
        == pytest.approx(100 * 5504 / 60256, rel=0.03)
    )


def test_summary_counts_refusals_and_unusable_answers():
    answers = ["entailment", "refused", "unparsed", "neutral"]
    result = summary([record_generated(DOC, [a]) for a in answers])
    assert result.values["unanswered"][0] == 50
    assert result.values["refused"][0] == 25
    assert result.values["entailment"][0] == 50
    (cell,) = result.tables["labels"]
    assert (cell["n"], cell["unanswered"], cell["entailment"]) == (4, 2, 50)
