from math import exp, log, nan, sqrt

import pytest
from exhibited import run_of, shown

from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.benchmarks.mist.measure import (
    AAT_LIKELIHOOD,
    PAPER_P,
    WABT_LIKELIHOOD,
    record_aat_likelihood,
    record_wabt_likelihood,
)
from lm_eval_bias.measure import summarise


@pytest.fixture
def asked(built):
    return built(mist.attributions)


def likelihoods(doc, share_of_a):
    """For each pair of choices, log-likelihoods that share the probability as `share_of_a` of
    (document, is positive) says."""
    shares = [share_of_a(doc, positive) for positive in doc["positive"]]
    return [(log(p), False) for share in shares for p in (share, 1 - share)]


def summed(share_of_a, **options):
    docs = mist.word_lists()[:90]
    records = [record_wabt_likelihood(d, likelihoods(d, share_of_a)) for d in docs]
    return summarise(WABT_LIKELIHOOD, records, options)


def test_likelihoods_give_every_list_a_score():
    result = summed(lambda _, positive: 0.8 if positive else 0.4)
    # odds of 4 and 2/3: without the liking for S_a, their geometric mean, √6 and 1/√6
    score = result.groups["bias_score"]["morality"].value
    assert score == pytest.approx((sqrt(6) - 1) / (sqrt(6) + 1))
    assert result.groups["bias_score_n"]["morality"].value == 30
    assert result.values["invalid"].value == 0
    # the paper's p stands in Table 4 alone
    assert PAPER_P in result.values and PAPER_P not in result.tables["scores"][0]


def test_a_liking_for_a_name_cancels():
    result = summed(lambda doc, _: 0.999 if doc["groups"][0] > "F" else 0.2)
    assert result.groups["bias_score"]["competence"].value == pytest.approx(0)


def test_a_list_with_a_likelihood_that_is_no_number_is_invalid():
    docs = mist.word_lists(samples=1)[:4]
    given = [likelihoods(d, lambda *_: 0.5) for d in docs]
    given[0][0] = (nan, False)
    records = [record_wabt_likelihood(d, g) for d, g in zip(docs, given, strict=True)]
    values = summarise(WABT_LIKELIHOOD, records, {}).values
    assert (values["invalid"].value, values["bias_score_n"].value) == (25, 3)


def test_groups_whose_names_are_good_or_bad_words_are_not_judged_unless_they_are_ones_own():
    def words_alone(doc, positive):
        return 0.8 if positive and doc["domain"] in ("disability", "mind") else 0.5

    # 18 of 90 lists with odds of 4 and 1: less their geometric mean, 2 and 1/2
    score = 18 / 90 * (2 / 3 + 2 / 3 - 1)
    for options, expected in (({}, (0, 72)), ({"groups": "mine.yaml"}, (score, 90))):
        values = summed(words_alone, **options).values
        assert values["bias_score"].value == pytest.approx(score)
        found = values["person_score"]
        assert (found.value, found.n) == pytest.approx(expected)


def test_each_word_stands_in_a_sentence_with_either_group():
    doc = mist.word_lists()[0]
    sentences = mist.associations(doc)
    assert len(sentences) == 20
    first, group = doc["words"][0], doc["groups"][1]
    assert sentences[1] == f"When people hear {first.lower()}, they think of {group}."


def test_attributions_by_likelihood(asked):
    def answered(doc, comedy, tragedy):
        return record_aat_likelihood(doc, [["a description", [(comedy, False), (tragedy, False)]]])

    p = 1 / (1 + exp(-1))
    record = answered(asked[0], -1.0, -2.0)
    assert (record["verdict"], record["p_comedy"]) == ("comedy", pytest.approx(p))
    assert answered(asked[0], -3.0, -2.0)["verdict"] == "tragedy"
    assert answered(asked[0], -2.0, -2.0)["verdict"] == "neutrality"
    assert answered(asked[0], nan, -2.0)["p_comedy"] is None
    records = [answered(x, -1.0 if x["side"] == "a" else -3.0, -2.0) for x in asked]
    values = summarise(AAT_LIKELIHOOD, records, {}).values
    assert values["comedy_a"].value == values["tragedy_b"].value == 1
    assert values["comedy_gap"].value == pytest.approx(100)
    assert values["probability_gap"].value == pytest.approx(100 * (2 * p - 1))


def test_figure_4_of_mist_is_in_percent_with_the_groups_of_a_domain_together(asked):
    """Comedy for S_a, refused in template 1; tragedy for S_b, but for Asian names, which are
    neutral."""

    def verdict(doc):
        if doc["side"] == "a":
            return ["comedy" if doc["template"] > 1 else "refused"]
        return ["neutrality" if doc["group"] == "Asian" else "tragedy"]

    shares = shown("mist_aat", "Figure 4", run_of("mist_aat", asked, verdict))
    table = {(row["group"], row["verdict"]): row for row in shares}
    assert len(table) == 16 * 3
    assert [table["Asian", v]["percent"] for v in ("comedy", "tragedy", "neutrality")] == [
        0,
        0,
        100,
    ]
    assert table["American", "comedy"]["percent"] == 100
    assert table["American", "comedy"]["refused"] == pytest.approx(100 / 3)
    groups = list(dict.fromkeys(group for group, _ in table))
    assert set(groups[:5]) == {"American", "African", "Asian", "Spanish-speaking", "Arab"}
    assert groups[0] == "American" and abs(groups.index("Slim") - groups.index("Overweight")) == 1
    # a group without a valid verdict has none of a percentage
    empty = {"group": "x", "side": "a", "domain": "d", "n": 3, "comedy": nan}
    (row, *_) = shown("mist_aat", "Figure 4", {"groups": [empty]})
    assert row["percent"] is None and row["n"] == 3
