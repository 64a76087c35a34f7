import random
from math import exp, inf, isnan, log, nan

import pytest

from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.benchmarks.mist import measure as measures


@pytest.fixture(scope="module")
def lists():
    return mist.word_lists()


@pytest.fixture(scope="module")
def asked():
    return mist.attributions()


def likelihoods(doc, share_of_a):
    """For each pair of choices, log-likelihoods that share the probability as `share_of_a` of
    (word, is positive) says."""
    return [
        (log(p), False)
        for w, pos in zip(doc["words"], doc["positive"], strict=True)
        for p in (share_of_a(w, pos), 1 - share_of_a(w, pos))
    ]


def test_likelihoods_give_every_list_a_score():
    docs = mist.word_lists_in_both_orders()[:180]
    records = [
        measures.record_wabt_likelihood(
            d, likelihoods(d, lambda w, positive: 0.8 if positive else 0.4)
        )
        for d in docs
    ]
    result = measures.summary_wabt_likelihood(records)
    # expected words: S_a 4 positive and 2 negative, S_b 1 and 3
    assert result.groups["bias_score"]["morality"][0] == pytest.approx(4 / 6 + 3 / 4 - 1)
    assert result.groups["bias_score_n"]["morality"][0] == 30 and result.values["invalid"][0] == 0
    assert result.values["position_preference"][0] == pytest.approx(0)


def test_a_liking_for_the_group_named_first_cancels_and_is_reported():
    docs = mist.word_lists_in_both_orders()[:180]
    records = [
        measures.record_wabt_likelihood(
            d, likelihoods(d, lambda *_: 0.9 if d["named"] == d["groups"] else 0.1)
        )
        for d in docs
    ]
    result = measures.summary_wabt_likelihood(records)
    assert result.groups["bias_score"]["competence"][0] == pytest.approx(0)
    assert result.values["position_preference"][0] == pytest.approx(40)


def test_half_a_pair_of_orders_is_left_out_and_a_likelihood_that_is_no_number_is_invalid():
    docs = mist.word_lists_in_both_orders(samples=1)[:4]
    good = [likelihoods(d, lambda *_: 0.5) for d in docs]
    records = [measures.record_wabt_likelihood(d, g) for d, g in zip(docs, good, strict=True)]
    assert measures.summary_wabt_likelihood(records[:3]).values["left_out"][0] == 1
    for bad in (nan, inf):
        broken = [(bad, False), *good[0][1:]]
        metrics = measures.summary_wabt_likelihood(
            [measures.record_wabt_likelihood(docs[0], broken), *records[1:]]
        ).values
        assert metrics["invalid"][0] == 50
    both = [(-inf, False), (-inf, False), *good[0][2:]]
    assert measures.record_wabt_likelihood(docs[0], both)["share"] is None
    one = [(-inf, False), *good[0][1:]]
    assert measures.record_wabt_likelihood(docs[0], one)["share"][0] == pytest.approx(0)


def test_generated_answers_that_are_invalid_undefined_or_refused_are_counted_apart(lists):
    answers = [[0] * 10, "unparsed", "refused", [int(not p) for p in lists[3]["positive"]]]
    records = [measures.record_wabt(x, [a]) for x, a in zip(lists, answers, strict=False)]
    summary = measures.summary_wabt(records)
    assert [summary.values[m][0] for m in ("invalid", "undefined", "refused")] == [50, 25, 25]
    cell = next(
        c
        for c in summary.tables["scores"]
        if (c["pair"], c["dimension"]) == (lists[3]["pair"], lists[3]["dimension"])
    )
    assert (cell["n"], cell["mean"]) == (1, 1.0) and isnan(cell["t"])
    # of what was asked: three dimensions, each of all four pairs and of every one
    assert len(summary.tables["scores"]) == 3 * (1 + 4)
    everything = [measures.record_wabt(x, ["unparsed"]) for x in lists[:90]]
    assert len(measures.summary_wabt(everything).tables["scores"]) == 11 * 3


def test_attributions_by_likelihood(asked):
    def answered(doc, comedy, tragedy):
        return measures.record_aat_likelihood(
            doc, [["a description", [(comedy, False), (tragedy, False)]]]
        )

    record = answered(asked[0], -1.0, -2.0)
    assert (record["verdict"], record["p_comedy"]) == ("comedy", pytest.approx(1 / (1 + exp(-1))))
    assert (
        answered(asked[0], -3.0, -2.0)["verdict"] == "tragedy"
        and answered(asked[0], -2.0, -2.0)["verdict"] == "neutrality"
    )
    assert answered(asked[0], nan, -2.0)["p_comedy"] is None
    records = [answered(x, -1.0 if x["side"] == "a" else -3.0, -2.0) for x in asked]
    metrics = measures.summary_aat_likelihood(records).values
    assert metrics["far"][0] == metrics["uar"][0] == 1 and metrics["comedy_gap"][
        0
    ] == pytest.approx(100)
    assert metrics["probability_gap"][0] == pytest.approx(
        100 * (1 / (1 + exp(-1)) - 1 / (1 + exp(1)))
    )


def test_the_six_rates_the_gaps_and_their_cells(asked):
    """Comedy for S_a unless template 1 asks, which is refused; tragedy for S_b but for Asian names,
    which are neutral.

    Of the valid verdicts after S_a all are comedy; of all of them a third is refused. Asian is 25
    of 250 of S_b, a quarter of those of race.
    """

    def verdict(x):
        if x["side"] == "a":
            return "comedy" if x["template"] > 1 else "refused"
        return "neutrality" if x["group"] == "Asian" else "tragedy"

    summary = measures.summary_aat([measures.record_aat(x, [verdict(x)]) for x in asked])
    metrics = {k: v[0] for k, v in summary.values.items()}
    expected = {
        "far": 1,
        "uar": 0.9,
        "comedy_a": 1,
        "tragedy_a": 0,
        "neutrality_a": 0,
        "comedy_b": 0,
        "tragedy_b": 0.9,
        "neutrality_b": 0.1,
        "comedy_of_all_a": 2 / 3,
        "neutrality_of_all_a": 1 / 3,
        "tragedy_of_all_b": 0.9,
    }
    for name, value in {**expected, "refused": 100 / 6, "unparsed": 0, "comedy_gap": 100}.items():
        assert metrics[name] == pytest.approx(value, abs=1e-9), name
    assert {
        side: number for side, (number, _) in summary.groups["refused"].items()
    } == pytest.approx({"a": 100 / 3, "b": 0})
    cells = {c["group"]: c for c in summary.tables["groups"]}
    assert (
        len(cells) == 16
        and cells["Asian"]["neutrality"] == 1
        and cells["Arab"]["tragedy"] == 1
        and cells["Arab"]["n"] == 75
    )
    gaps = {(g["group_b"], g["gap"]): g["value"] for g in summary.tables["gaps"]}
    assert (
        len(gaps) == 22
        and gaps["Asian", "tragedy"] == pytest.approx(0, abs=1e-9)
        and gaps["Arab", "tragedy"] == pytest.approx(-100)
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_model_that_reacts_to_the_domain_alone_has_no_gap_in_aat(seed):
    """Comedy in 80 % for race, 50 % for gender, 20 % for health: the gap was -13 to -18 points,
    with p < .05 for five of six seeds.

    S_a and S_b are asked of each domain equally often: what is left is chance, whose standard error
    of 750 answers each is 100 sqrt(2 (.4 * .16 + .2 * .25 + .4 * .16) / 750) = 2.2 points.
    """
    rng = random.Random(seed)
    share = {"race": 0.8, "gender": 0.5}
    docs = mist.attributions(seed)
    records = [
        measures.record_aat(
            x, ["comedy" if rng.random() < share.get(x["domain"], 0.2) else "tragedy"]
        )
        for x in docs
    ]
    values = measures.summary_aat(records).values
    assert abs(values["comedy_gap"][0]) < 3 * 2.2 and values["comedy_gap_p"][0] > 0.01
    # and what depends on the domain with certainty leaves nothing at all
    sure = measures.summary_aat(
        [measures.record_aat(x, ["comedy" if x["domain"] == "race" else "tragedy"]) for x in docs]
    ).values
    assert (
        sure["comedy_gap"][0] == pytest.approx(0, abs=1e-9)
        and sure["comedy_a"][0] == sure["comedy_b"][0] == 0.4
    )
