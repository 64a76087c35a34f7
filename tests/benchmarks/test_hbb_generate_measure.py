"""HBB from sampled answers, through the harness, by models whose probabilities are known."""

import random
from collections import Counter

import pytest
from rule_model import RuleLM, evaluate, numbers_of, rows_of

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.generate_measure import INVALID, record

DECLINES = "I'm sorry, but I can't help with that."


def context_of(prompt):
    return prompt.split("Context: ")[1].split("\n")[0]


def numbers(lm, limit, task="hbb_generate", **metadata):
    return numbers_of(evaluate(lm, task, metadata, limit=limit), task)


@pytest.mark.slow
def test_refusing_to_speak_of_some_identities_makes_no_excess():
    """P(a) = 0.5 for everybody, but of ten answers about a counted identity eight decline: two
    answers each differ by 37.5 points on average where ten differ by 17.6. Both mean S are noise,
    and what is beyond it is 0 for either."""
    rng = random.Random(6)
    placebos = {d["context"] for d in hbb.documents(order="paper")[: 24 * 78] if d["placebo"]}
    asked = Counter()

    def say(prompt):
        asked[prompt] += 1
        refuses = asked[prompt] <= 8 and context_of(prompt) not in placebos
        return DECLINES if refuses else rng.choice("ab")

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=24 * 78)
    found = numbers_of(results, "hbb_generate")
    assert found["refuse_rate", None] == 80
    assert found["answers_per_question", None] == pytest.approx((50 * 2 + 28 * 10) / 78)
    # two answers of either: S is 0, 50, 100 with probabilities 6/16, 8/16, 2/16
    assert found["mean_difference", None] == pytest.approx(37.5, abs=3)
    assert found["placebo_difference", None] == pytest.approx(17.6, abs=3.5)
    excess, beyond = found["excess_difference", None], found["beyond_chance_difference", None]
    assert abs(excess) < 4 and abs(beyond) < 2.5
    row = rows_of(results, "hbb_generate")["excess_difference", None]
    assert row["low"] < 0 < row["high"]


def test_refuse_rates_by_category_and_type():
    """Of ten answers about a religion two decline and one chooses c; of those about Race 4 all are
    essays. Nobody else refuses."""
    of = {d["context"]: d for d in hbb.documents(order="paper")[:78]}
    asked = Counter()

    def say(prompt):
        d = of[context_of(prompt)]
        asked[prompt] += 1
        if d["category"] == "Religion" and asked[prompt] <= 3:
            return "c) Something else." if asked[prompt] == 3 else DECLINES
        essay = "The evening went on, and nobody said much about it."
        return essay if d["type"] == "Race 4" else "a"

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=78)
    found = numbers_of(results, "hbb_generate")
    answers = results["configs"]["hbb_generate"]["cells"]["answers"]
    rates = {(r["category"], r["type"], r["identity"]): r for r in answers}
    of_religions = [r["declined"] for (c, _, i), r in rates.items() if i and c == "Religion"]
    assert of_religions == [20] * 12
    assert [found["refuse_rate", name] for name in ("Religion", "Race", "Age")] == [30, 25, 0]
    # 50 questions: 12 about religions with 3 of 10, 5 of Race 4 with all
    assert found["refuse_rate", None] == rates["all", None, None]["refuse_rate"]
    assert found["refuse_rate", None] == pytest.approx(100 * (12 * 3 + 5 * 10) / 500)
    # Table 6 is of questions: the five of Race 4 have no answer that chooses an option
    assert found["unanswered", None] == rates["all", None, None]["unanswered"] == 100 * 5 / 50
    religion_2 = rates["Religion", "Religion 2", None]
    assert (religion_2["declined"], religion_2["another"]) == (20, 10)
    assert rates["Race", "Race 4", None]["unparsed"] == 100
    assert rates["Race", "Race 3", None]["refuse_rate"] == 0


def test_what_a_limit_cuts_off_is_left_out_and_not_unanswered():
    """59 documents: the last question has one order. Begun are the first types of Age, Gender,
    Race, SES and Religion (1 + 1 + 10 + 1 + 6 instances) in one theme, the fourth of Gender and of
    Race in the next. Of the questions and orders asked, 16 about placebos, one has no valid
    answer."""
    first = hbb.documents(order="both")[0]

    def say(prompt):
        declined = first["context"] in prompt and f"a) {first['option_a']}" in prompt
        return DECLINES if declined else "a"

    found = numbers(RuleLM(say=say), 59, order="both", repeats=2)
    assert found["unanswered", None] == pytest.approx(100 / (59 - 16))
    assert found["instances", None] + found["left_out", None] == 19 + 1 + 10


def test_the_option_behind_the_letter_is_counted():
    doc = hbb.documents()[1]
    assert doc["first"] == 2
    made = record(doc, ["a", "a", "b", *INVALID])
    assert (made["option_1"], made["option_2"]) == (1, 2)
    assert made["invalid"] == dict.fromkeys(INVALID, 1)


@pytest.mark.parametrize("metadata, repeats", [({}, 10), ({"order": "both", "repeats": 1}, 1)])
def test_how_often_each_question_is_asked(metadata, repeats):
    asked = Counter()

    def say(prompt):
        asked[prompt] += 1
        return "a"

    task = "hbb_generate_ses"
    results = evaluate(RuleLM(say=say), task, metadata, limit=4)
    assert len(asked) == 4 and set(asked.values()) == {repeats}
    assert numbers_of(results, task)["answers_per_question", None] == repeats
    settings = results["configs"][task]["generation_kwargs"]
    assert (settings["temperature"], settings["do_sample"], settings["top_p"]) == (0.8, True, 1.0)
