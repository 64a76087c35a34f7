"""HBB from sampled answers, through the harness, by scripted models whose probabilities are known."""

import hashlib
import random
from collections import Counter, defaultdict
from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from rule_model import RuleLM, evaluate, numbers_of
from scipy.stats import binom, chi2

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.generate_measure import HBB_GENERATE, INVALID, record

SIX_PAIRS = 6 * 58
"""Documents of six whole concept pairs, in one order."""


def identity_of(prompt):
    """The scene and its options, which tell one question from another; the letter of each option
    stays what it is."""
    return prompt[prompt.index("Context:") :]


def p_of_a(prompt):
    """A probability of its own for each question, from 0.05 to 0.95, at temperature 1."""
    digest = hashlib.sha256(identity_of(prompt).encode()).digest()
    return 0.05 + 0.9 * int.from_bytes(digest[:4]) / 2**32


def at(temperature, p):
    return p ** (1 / temperature) / (p ** (1 / temperature) + (1 - p) ** (1 / temperature))


def known_model(seed, temperature=0.8):
    """Its letters have `p_of_a` at temperature 1; its answers are drawn at the task's temperature,
    in several forms."""
    rng = random.Random(seed)

    def say(prompt):
        letter = "a" if rng.random() < at(temperature, p_of_a(prompt)) else "b"
        sentence = prompt.split(f"\n{letter}) ")[1].split("\n")[0]
        return rng.choice(["{}) {}", "{}", "({})", "Answer: {}"]).format(letter, sentence)

    return RuleLM(
        lambda prompt, letter: log(p_of_a(prompt) if letter.strip() == "a" else 1 - p_of_a(prompt)),
        say,
    )


@pytest.fixture(scope="module")
def counted():
    """The record of each question with 200 answers to it, and what `hbb` makes of the likelihoods
    of the same model."""
    lm = known_model(1)
    sampled = evaluate(lm, "hbb_generate", {"repeats": 200}, limit=SIX_PAIRS, log_samples=True)
    likely = evaluate(lm, "hbb", {"order": "paper"}, limit=SIX_PAIRS, log_samples=True)
    return sampled, likely


def records(results, task):
    return {
        (r["concept"], r["type"], r["identity"]): r
        for r in (s["records"] for s in results["samples"][task])
    }


def test_hbb_at_the_same_temperature_is_the_expectation(counted):
    """P(A) of `hbb` against the counts of 200 answers: chi-squared over 348 questions, and no drift
    over all of them."""
    sampled, likely = (
        records(results, task)
        for results, task in zip(counted, ("hbb_generate", "hbb"), strict=True)
    )
    assert list(sampled) == list(likely) and len(sampled) == SIX_PAIRS
    z = []
    for key, r in sampled.items():
        p = 1 / (1 + exp(-likely[key]["log_odds"] / 0.8))
        assert r["option_1"] + r["option_2"] == 200
        z.append((r["option_1"] - 200 * p) / np.sqrt(200 * p * (1 - p)))
    squares = float(np.square(z).sum())
    assert (
        chi2.ppf(0.001, len(z)) < squares < chi2.ppf(0.999, len(z))
        and abs(sum(z)) / np.sqrt(len(z)) < 3.3
    )
    # and the test sees a temperature that is another
    wrong = [200 / (1 + exp(-r["log_odds"])) for r in likely.values()]
    missed = sum(
        (r["option_1"] - w) ** 2 / (w * (1 - w / 200))
        for r, w in zip(sampled.values(), wrong, strict=True)
    )
    assert missed > 1.5 * chi2.ppf(0.999, len(z))


def test_with_ten_answers_the_share_is_that_of_two_binomials_with_the_probabilities_of_hbb(counted):
    """What ten answers must show: S of 20 and more in so many instances, by the exact distribution
    of two counts."""
    likely = records(counted[1], "hbb")
    p_of = {key: 1 / (1 + exp(-r["log_odds"] / 0.8)) for key, r in likely.items()}
    ways = np.arange(11)
    over, s = [], []
    by_type = defaultdict(list)
    for (concept, type_, identity), r in likely.items():
        if not r["placebo"]:
            by_type[concept, type_].append(p_of[concept, type_, identity])
    for members in by_type.values():
        for p, q in combinations(members, 2):
            weight = np.outer(binom.pmf(ways, 10, p), binom.pmf(ways, 10, q))
            difference = abs(ways[:, None] - ways)
            over.append(weight[difference >= 2].sum())
            s.append(10 * (weight * difference).sum())
    found = numbers_of(evaluate(known_model(2), "hbb_generate", limit=SIX_PAIRS), "hbb_generate")
    # instances of a type share identities, so more than if they were independent
    spread = np.sqrt(sum(p * (1 - p) for p in over)) * 3
    assert len(over) == found["instances", None] == 6 * 67
    assert abs(found["biased_count", None] - sum(over)) < 3 * spread
    assert found["mean_difference", None] == pytest.approx(np.mean(s), abs=3)
    # of which chance is what is left where both have the pair's mean probability
    assert found["chance_share", None] + found["beyond_chance_share", None] == pytest.approx(
        found["biased_share", None]
    )


def test_a_model_without_bias_is_beyond_chance_in_nothing():
    """P(a) = 0.5 for everybody: half of the instances are over the threshold, at 28.6 points, and
    all of that is chance."""
    rng = random.Random(3)
    lm = RuleLM(say=lambda prompt: rng.choice("ab"))
    found = numbers_of(evaluate(lm, "hbb_generate", limit=24 * 58), "hbb_generate")
    assert found["biased_share", None] == pytest.approx(50.3, abs=4) and found[
        "bias_score", None
    ] == pytest.approx(28.6, abs=1)
    assert found["chance_share", None] == pytest.approx(50.3, abs=1) and found[
        "chance_score", None
    ] == pytest.approx(28.6, abs=0.3)
    assert found["beyond_chance_share_low", None] < 0 < found["beyond_chance_share_high", None]
    assert (
        found["significant_count", None] == 0
        and found["refuse_rate", None] == 0
        and found["instances", None] == 24 * 67
    )


def test_refusing_to_speak_of_some_identities_makes_no_excess():
    """P(a) = 0.5 for everybody, but of ten answers about a counted identity eight decline: two
    answers each differ by 37.5 points on average where ten differ by 17.6. Both mean S are noise,
    and what is beyond it is 0 for either."""
    rng = random.Random(6)
    placebos = {d["context"] for d in hbb.documents(order="paper")[: 24 * 58] if d["placebo"]}
    asked = Counter()

    def say(prompt):
        asked[prompt] += 1
        refuses = asked[prompt] <= 8 and prompt.split("Context: ")[1].split("\n")[0] not in placebos
        return "I'm sorry, but I can't help with that." if refuses else rng.choice("ab")

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=24 * 58)
    found = numbers_of(results, "hbb_generate")
    assert found["refuse_rate", None] == 80 and found[
        "answers_per_question", None
    ] == pytest.approx((50 * 2 + 8 * 10) / 58)
    # two answers of either: S is 0, 50, 100 with probabilities 6/16, 8/16, 2/16
    assert found["mean_difference", None] == pytest.approx(37.5, abs=3)
    assert found["placebo_difference", None] == pytest.approx(17.6, abs=3.5)
    assert (
        abs(found["excess_difference", None]) < 4
        and abs(found["beyond_chance_difference", None]) < 2.5
    )
    total = results["configs"]["hbb_generate"]["cells"]["categories"][0]
    assert (
        total["excess_low"] < 0 < total["excess_high"]
        and total["excess"] == found["excess_difference", None]
    )
    assert total["excess"] == pytest.approx(
        found["beyond_chance_difference", None] - found["placebo_beyond_chance_difference", None]
    )


def test_a_model_that_reads_the_identity_is_significant_where_it_does():
    """Old gets option 1 always, Young never; all others draw. So S is 100 in the three types of
    Age, and the others are chance."""
    rng = random.Random(4)
    docs = hbb.documents(order="paper")[: 24 * 58]
    answer = {d["context"]: {"Old": "a", "Young": "b"}.get(d["identity"]) for d in docs}

    def say(prompt):
        return answer[prompt.split("Context: ")[1].split("\n")[0]] or rng.choice("ab")

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=24 * 58)
    found = numbers_of(results, "hbb_generate")
    assert (
        found["biased_share", "Age"] == found["significant_share", "Age"] == 100
        and found["bias_score", "Age"] == 100
    )
    assert (
        found["significant_count", "Age"] == 72
        and found["significant_count", None] - 72 <= 72 * 0.05 / 0.95 + 6
    )
    assert found["beyond_chance_share_low", "Race"] < 0 < found["beyond_chance_share_high", "Race"]
    (pair,) = (
        r
        for r in results["configs"]["hbb_generate"]["cells"]["identity_pairs"]
        if r["type"] == "Age 3"
    )
    assert (pair["identity_1"], pair["difference"], pair["n"]) == ("Young", -100, 24)


def test_refuse_rates_by_category_and_type():
    """Of ten answers about a religion two decline and one chooses c; of those about Race 4 all are
    essays. Nobody else refuses."""
    docs = hbb.documents(order="paper")[:58]
    of = {d["context"]: d for d in docs}
    asked = Counter()

    def say(prompt):
        d = of[prompt.split("Context: ")[1].split("\n")[0]]
        asked[prompt] += 1
        if d["category"] == "Religion" and asked[prompt] <= 3:
            return (
                "c) Something else."
                if asked[prompt] == 3
                else "I'm sorry, but I can't help with that."
            )
        return (
            "The evening went on, and nobody said much about it." if d["type"] == "Race 4" else "a"
        )

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=58)
    found = numbers_of(results, "hbb_generate")
    answers = results["configs"]["hbb_generate"]["cells"]["answers"]
    rates = {(r["category"], r["type"]): r for r in answers if r["identity"] is None}
    of_identities = [
        r["declined"] for r in answers if r["identity"] is not None and r["category"] == "Religion"
    ]
    assert of_identities == [20] * 12
    assert (
        found["refuse_rate", "Religion"] == 30
        and found["refuse_rate", "Race"] == 25
        and found["refuse_rate", "Age"] == 0
    )
    # 50 questions: 12 about religions with 3 of 10, 5 of Race 4 with all
    assert (
        found["refuse_rate", None]
        == pytest.approx(100 * (12 * 3 + 5 * 10) / 500)
        == rates["all", None]["refused"]
    )
    assert (
        rates["Religion", "Religion 2"]["declined"],
        rates["Religion", "Religion 2"]["another"],
    ) == (20, 10)
    assert rates["Race", "Race 4"]["unparsed"] == 100 and rates["Race", "Race 3"]["refused"] == 0
    # the ten instances of Race 4 have no valid answer; all else is whole, and the seven answers
    # left about a religion agree
    assert (
        found["left_out", None] == 10
        and found["instances", None] == 57
        and found["mean_difference", None] == 0
    )
    assert found["unanswered", None] == pytest.approx(100 * 5 / 58)


def test_a_model_that_always_says_a_has_no_bias_to_show_and_that_is_said():
    """Option 1 always, so P(A) is 1 for everybody; asked in both orders P(A) is 0.5, and the liking
    is known."""
    found = numbers_of(
        evaluate(RuleLM(say=lambda _: "a"), "hbb_generate", limit=580), "hbb_generate"
    )
    assert (
        found["answered_a", None] == 100
        and found["biased_share", None] == 0 == found["chance_share", None]
    )
    found = numbers_of(
        evaluate(RuleLM(say=lambda _: "a"), "hbb_generate", {"order": "both"}, limit=1160),
        "hbb_generate",
    )
    assert (
        found["answered_a", None] == 100
        and found["position_preference", None] == 50
        and found["mean_difference", None] == 0
    )


def test_what_a_limit_cuts_off_is_left_out_and_not_unanswered():
    """59 of 116 documents: the last question has one order. Of the questions and orders asked, one
    has no valid answer."""
    silent = hbb.documents(order="both")[0]

    def say(prompt):
        return (
            "I'm sorry, but I can't help with that."
            if silent["context"] in prompt and f"a) {silent['option_a']}" in prompt
            else "a"
        )

    found = numbers_of(
        evaluate(RuleLM(say=say), "hbb_generate", {"order": "both", "repeats": 2}, limit=59),
        "hbb_generate",
    )
    assert (
        found["unanswered", None] == pytest.approx(100 / 59)
        and found["instances", None] + found["left_out", None] == 67
    )


def test_the_option_behind_the_letter_is_counted():
    doc = hbb.documents()[1]
    assert doc["first"] == 2
    made = record(doc, ["a", "a", "b", "refused", "cut off", "another", "unparsed"])
    assert (made["option_1"], made["option_2"]) == (1, 2) and made["invalid"] == dict.fromkeys(
        INVALID, 1
    )
    assert HBB_GENERATE.gathers


@pytest.mark.parametrize(
    ("metadata", "repeats"), [({}, 10), ({"repeats": 3}, 3), ({"order": "both", "repeats": 1}, 1)]
)
def test_how_often_each_question_is_asked(metadata, repeats):
    asked = Counter()

    def say(prompt):
        asked[prompt] += 1
        return "a"

    results = evaluate(RuleLM(say=say), "hbb_generate", metadata, limit=4)
    assert len(asked) == 4 and set(asked.values()) == {repeats}
    assert numbers_of(results, "hbb_generate")["answers_per_question", None] == repeats
    settings = results["configs"]["hbb_generate"]["generation_kwargs"]
    assert (settings["temperature"], settings["do_sample"], settings["top_p"]) == (0.8, True, 1.0)
