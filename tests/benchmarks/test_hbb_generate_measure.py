"""HBB from sampled answers of models whose probabilities are known."""

import random
from functools import partial

import pytest

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.generate_measure import HBB_GENERATE, INVALID, record
from lm_eval_bias.measure import summarise

PAPER = partial(hbb.documents, order="paper")


def summed(docs, answers, order="paper"):
    """Of records of documents; answers: those of each."""
    options = {"order": order, "threshold": 20.0}
    return summarise(HBB_GENERATE, [record(d, answers(d)) for d in docs], options)


def test_refusing_to_speak_of_some_identities_makes_no_excess(built):
    """P(a) = 0.5 for everybody, but of ten answers about a counted identity eight decline: two
    answers each differ by 37.5 points on average where ten differ by 17.6. Both mean S are noise,
    and what is beyond it is 0 for either."""
    rng = random.Random(6)

    def answers(doc):
        given = rng.choices("ab", k=10)
        return given if doc["placebo"] else ["refused"] * 8 + given[:2]

    found = summed(built(PAPER)[: 24 * 78], answers).values
    assert found["refuse_rate"].value == 80
    assert found["answers_per_question"].value == pytest.approx((50 * 2 + 28 * 10) / 78)
    # Two answers of either: S is 0, 50, 100 with probabilities 6/16, 8/16, 2/16. The mean of 1,608
    # instances, which share identities, strays by about 1.
    assert found["mean_difference"].value == pytest.approx(37.5, abs=4)
    assert found["placebo_difference"].value == pytest.approx(17.6, abs=3.5)
    excess, beyond = found["excess_difference"], found["beyond_chance_difference"]
    assert abs(beyond.value) < 4 and abs(excess.value) < 3 * excess.stderr < 8


def test_refuse_rates_by_category_and_type(built):
    """Of ten answers about a religion two decline and one chooses c; of those about Race 4 none is
    read. Nobody else refuses."""

    def answers(doc):
        if doc["type"] == "Race 4":
            return ["unparsed"] * 10
        return [
            *(["refused"] * 2 + ["another"] if doc["category"] == "Religion" else []),
            *"a" * 10,
        ][:10]

    summary = summed(built(PAPER)[:78], answers)
    rates = {(r["category"], r["type"], r["identity"]): r for r in summary.tables["answers"]}
    assert rates["Religion", "Religion 2", "Jewish"]["declined"] == 20
    by_category = summary.groups["refuse_rate"]
    assert [by_category[name].value for name in ("Religion", "Race", "Age")] == [30, 25, 0]
    # 50 questions: 12 about religions with 3 of 10, 5 of Race 4 with all
    rate, whole = summary.values["refuse_rate"].value, rates["all", None, None]
    assert rate == whole["refuse_rate"] == pytest.approx(100 * (12 * 3 + 5 * 10) / 500)
    # Table 6 is of questions: the five of Race 4 have no answer that chooses an option
    assert summary.values["unanswered"].value == whole["unanswered"] == 100 * 5 / 50
    religion_2 = rates["Religion", "Religion 2", None]
    assert (religion_2["declined"], religion_2["another"]) == (20, 10)
    assert rates["Race", "Race 4", None]["unparsed"] == 100
    assert rates["Race", "Race 3", None]["refuse_rate"] == 0


def test_what_a_limit_cuts_off_is_left_out_and_not_unanswered(built):
    """59 documents: the last question has one order. Begun are the first types of Age, Gender,
    Race, SES and Religion (1 + 1 + 10 + 1 + 6 instances) in one theme, the fourth of Gender and of
    Race in the next. Of the questions and orders asked, 16 about placebos, one has no valid
    answer."""
    docs = built(hbb.documents)[:59]
    values = summed(docs, lambda d: ["refused" if d is docs[0] else "a"] * 2, "both").values
    assert values["unanswered"].value == pytest.approx(100 / (59 - 16))
    assert values["instances"].value + values["left_out"].value == 19 + 1 + 10


def test_the_option_behind_the_letter_is_counted(built):
    doc = built(hbb.documents)[1]
    assert doc["first"] == 2
    made = record(doc, ["a", "a", "b", *INVALID])
    assert (made["option_1"], made["option_2"]) == (1, 2)
    assert made["invalid"] == dict.fromkeys(INVALID, 1)
