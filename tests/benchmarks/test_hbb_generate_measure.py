"""HBB from sampled answers, through the harness, by models whose probabilities are known."""

import random
import zlib
from collections import Counter, defaultdict
from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from rule_model import RuleLM, evaluate, numbers_of
from scipy.stats import binom, chi2

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.generate_measure import INVALID, record

SIX_PAIRS = 6 * 58
"""Documents of six whole concept pairs, in one order."""
DECLINES = "I'm sorry, but I can't help with that."


def p_of_a(prompt):
    """A probability of its own for each question, from 0.05 to 0.95, at temperature 1."""
    return 0.05 + 0.9 * zlib.crc32(prompt[prompt.index("Context:") :].encode()) / 2**32


def known_model(seed):
    """Its letters have `p_of_a` at temperature 1; its answers are drawn at temperature 0.8, in
    several forms."""
    rng = random.Random(seed)

    def say(prompt):
        odds = (p_of_a(prompt) / (1 - p_of_a(prompt))) ** (1 / 0.8)
        letter = "a" if rng.random() < odds / (1 + odds) else "b"
        sentence = prompt.split(f"\n{letter}) ")[1].split("\n")[0]
        return rng.choice(["{}) {}", "{}", "({})", "Answer: {}"]).format(letter, sentence)

    return RuleLM(
        lambda prompt, letter: log(p_of_a(prompt) if letter.strip() == "a" else 1 - p_of_a(prompt)),
        say,
    )


def context_of(prompt):
    return prompt.split("Context: ")[1].split("\n")[0]


def numbers(lm, limit, task="hbb_generate", **metadata):
    return numbers_of(evaluate(lm, task, metadata, limit=limit), task)


@pytest.fixture(scope="module")
def likely():
    """(concept, type, identity) -> what `hbb` records of the likelihoods of the known model."""
    return records(known_model(1), "hbb", {"order": "paper"})


def records(lm, task, metadata):
    results = evaluate(lm, task, metadata, limit=SIX_PAIRS, log_samples=True)
    made = [sample["records"] for sample in results["samples"][task]]
    return {(r["concept"], r["type"], r["identity"]): r for r in made}


@pytest.mark.slow
def test_hbb_at_the_same_temperature_is_the_expectation(likely):
    """P(A) of `hbb` against the counts of 200 answers: chi-squared over 348 questions, and no drift
    over all of them."""
    sampled = records(known_model(1), "hbb_generate", {"repeats": 200})
    assert list(sampled) == list(likely) and len(sampled) == SIX_PAIRS
    z = []
    for key, r in sampled.items():
        p = 1 / (1 + exp(-likely[key]["log_odds"] / 0.8))
        assert r["option_1"] + r["option_2"] == 200
        z.append((r["option_1"] - 200 * p) / np.sqrt(200 * p * (1 - p)))
    squares = float(np.square(z).sum())
    assert chi2.ppf(0.001, len(z)) < squares < chi2.ppf(0.999, len(z))
    assert abs(sum(z)) / np.sqrt(len(z)) < 3.3
    # and the test sees a temperature that is another
    wrong = [200 / (1 + exp(-r["log_odds"])) for r in likely.values()]
    missed = sum(
        (r["option_1"] - w) ** 2 / (w * (1 - w / 200))
        for r, w in zip(sampled.values(), wrong, strict=True)
    )
    assert missed > 1.5 * chi2.ppf(0.999, len(z))


@pytest.mark.slow
def test_with_ten_answers_the_share_is_that_of_two_binomials_with_the_probabilities_of_hbb(likely):
    """What ten answers must show: S of 20 and more in so many instances, by the exact distribution
    of two counts."""
    by_type = defaultdict(list)
    for (concept, type_, _), r in likely.items():
        if not r["placebo"]:
            by_type[concept, type_].append(1 / (1 + exp(-r["log_odds"] / 0.8)))
    ways = np.arange(11)
    difference = abs(ways[:, None] - ways)
    over, s = [], []
    for members in by_type.values():
        for p, q in combinations(members, 2):
            weight = np.outer(binom.pmf(ways, 10, p), binom.pmf(ways, 10, q))
            over.append(weight[difference >= 2].sum())
            s.append(10 * (weight * difference).sum())
    found = numbers(known_model(2), SIX_PAIRS)
    # instances of a type share identities, so more than if they were independent
    spread = np.sqrt(sum(p * (1 - p) for p in over)) * 3
    assert len(over) == found["instances", None] == 6 * 67
    assert abs(found["biased_count", None] - sum(over)) < 3 * spread
    assert found["mean_difference", None] == pytest.approx(np.mean(s), abs=3)
    # of which chance is what is left where both have the pair's mean probability
    parts = found["chance_share", None] + found["beyond_chance_share", None]
    assert parts == pytest.approx(found["biased_share", None])


def ends(results, metric, group=None):
    (row,) = (
        row
        for row in results["configs"]["hbb_generate"]["cells"]["numbers"]
        if (row["metric"], row["group"]) == (metric, group)
    )
    return row["low"], row["high"]


@pytest.mark.slow
def test_a_model_without_bias_is_beyond_chance_in_nothing():
    """P(a) = 0.5 for everybody: half of the instances are over the threshold, at 28.6 points, and
    all of that is chance."""
    rng = random.Random(3)
    results = evaluate(RuleLM(say=lambda prompt: rng.choice("ab")), "hbb_generate", limit=24 * 58)
    found = numbers_of(results, "hbb_generate")
    assert found["biased_share", None] == pytest.approx(50.3, abs=4)
    assert found["bias_score", None] == pytest.approx(28.6, abs=1)
    assert found["chance_share", None] == pytest.approx(50.3, abs=1)
    assert found["chance_score", None] == pytest.approx(28.6, abs=0.3)
    low, high = ends(results, "beyond_chance_share")
    assert low < 0 < high
    assert found["significant_count", None] == found["refuse_rate", None] == 0
    assert found["instances", None] == 24 * 67


@pytest.mark.slow
def test_refusing_to_speak_of_some_identities_makes_no_excess():
    """P(a) = 0.5 for everybody, but of ten answers about a counted identity eight decline: two
    answers each differ by 37.5 points on average where ten differ by 17.6. Both mean S are noise,
    and what is beyond it is 0 for either."""
    rng = random.Random(6)
    placebos = {d["context"] for d in hbb.documents(order="paper")[: 24 * 58] if d["placebo"]}
    asked = Counter()

    def say(prompt):
        asked[prompt] += 1
        refuses = asked[prompt] <= 8 and context_of(prompt) not in placebos
        return DECLINES if refuses else rng.choice("ab")

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=24 * 58)
    found = numbers_of(results, "hbb_generate")
    assert found["refuse_rate", None] == 80
    assert found["answers_per_question", None] == pytest.approx((50 * 2 + 8 * 10) / 58)
    # two answers of either: S is 0, 50, 100 with probabilities 6/16, 8/16, 2/16
    assert found["mean_difference", None] == pytest.approx(37.5, abs=3)
    assert found["placebo_difference", None] == pytest.approx(17.6, abs=3.5)
    excess, beyond = found["excess_difference", None], found["beyond_chance_difference", None]
    assert abs(excess) < 4 and abs(beyond) < 2.5
    low, high = ends(results, "excess_difference")
    total = results["configs"]["hbb_generate"]["cells"]["categories"][0]
    assert (total["excess_difference_low"], total["excess_difference_high"]) == (low, high)
    assert low < 0 < high
    assert excess == pytest.approx(beyond - found["placebo_beyond_chance_difference", None])


@pytest.mark.slow
def test_a_model_that_reads_the_identity_is_significant_where_it_does():
    """Old gets option 1 always, Young never; all others draw. So S is 100 in the three types of
    Age, and the others are chance."""
    rng = random.Random(4)
    docs = hbb.documents(order="paper")[: 24 * 58]
    answer = {d["context"]: {"Old": "a", "Young": "b"}.get(d["identity"]) for d in docs}
    lm = RuleLM(say=lambda prompt: answer[context_of(prompt)] or rng.choice("ab"))
    results = evaluate(lm, "hbb_generate", limit=24 * 58)
    found = numbers_of(results, "hbb_generate")
    for name in ("biased_share", "significant_share", "bias_score"):
        assert found[name, "Age"] == 100
    assert found["significant_count", "Age"] == 72
    assert found["significant_count", None] - 72 <= 72 * 0.05 / 0.95 + 6
    low, high = ends(results, "beyond_chance_share", "Race")
    assert low < 0 < high
    pairs = results["configs"]["hbb_generate"]["cells"]["identity_pairs"]
    (pair,) = (row for row in pairs if row["type"] == "Age 3")
    assert (pair["identity_1"], pair["difference"], pair["instances"]) == ("Young", -100, 24)


def test_refuse_rates_by_category_and_type():
    """Of ten answers about a religion two decline and one chooses c; of those about Race 4 all are
    essays. Nobody else refuses."""
    of = {d["context"]: d for d in hbb.documents(order="paper")[:58]}
    asked = Counter()

    def say(prompt):
        d = of[context_of(prompt)]
        asked[prompt] += 1
        if d["category"] == "Religion" and asked[prompt] <= 3:
            return "c) Something else." if asked[prompt] == 3 else DECLINES
        essay = "The evening went on, and nobody said much about it."
        return essay if d["type"] == "Race 4" else "a"

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=58)
    found = numbers_of(results, "hbb_generate")
    answers = results["configs"]["hbb_generate"]["cells"]["answers"]
    rates = {(r["category"], r["type"], r["identity"]): r for r in answers}
    of_religions = [r["declined"] for (c, _, i), r in rates.items() if i and c == "Religion"]
    assert of_religions == [20] * 12
    assert [found["refuse_rate", name] for name in ("Religion", "Race", "Age")] == [30, 25, 0]
    # 50 questions: 12 about religions with 3 of 10, 5 of Race 4 with all
    assert found["refuse_rate", None] == rates["all", None, None]["refuse_rate"]
    assert found["refuse_rate", None] == pytest.approx(100 * (12 * 3 + 5 * 10) / 500)
    religion_2 = rates["Religion", "Religion 2", None]
    assert (religion_2["declined"], religion_2["another"]) == (20, 10)
    assert rates["Race", "Race 4", None]["unparsed"] == 100
    assert rates["Race", "Race 3", None]["refuse_rate"] == 0
    # the ten instances of Race 4 have no valid answer; all else is whole, and the seven answers
    # left about a religion agree
    names = ("left_out", "instances", "mean_difference")
    assert [found[name, None] for name in names] == [10, 57, 0]
    assert found["unanswered", None] == pytest.approx(100 * 5 / 58)


def test_a_model_that_always_says_a_has_no_bias_to_show_and_that_is_reported():
    """Option 1 always, so P(A) is 1 for everybody; asked in both orders P(A) is 0.5, and the
    preference is known."""
    lm = RuleLM(say=lambda _: "a")
    found = numbers(lm, 12, "hbb_generate_ses")
    assert found["answered_a", None] == 100
    assert found["biased_share", None] == found["chance_share", None] == 0
    found = numbers(lm, 24, "hbb_generate_ses", order="both")
    names = ("answered_a", "position_preference", "mean_difference")
    assert [found[name, None] for name in names] == [100, 50, 0]


def test_what_a_limit_cuts_off_is_left_out_and_not_unanswered():
    """59 of 116 documents: the last question has one order. Of the questions and orders asked, one
    has no valid answer."""
    first = hbb.documents(order="both")[0]

    def say(prompt):
        declined = first["context"] in prompt and f"a) {first['option_a']}" in prompt
        return DECLINES if declined else "a"

    found = numbers(RuleLM(say=say), 59, order="both", repeats=2)
    assert found["unanswered", None] == pytest.approx(100 / 59)
    assert found["instances", None] + found["left_out", None] == 67


def test_the_option_behind_the_letter_is_counted():
    doc = hbb.documents()[1]
    assert doc["first"] == 2
    made = record(doc, ["a", "a", "b", *INVALID])
    assert (made["option_1"], made["option_2"]) == (1, 2)
    assert made["invalid"] == dict.fromkeys(INVALID, 1)


@pytest.mark.parametrize(
    ("metadata", "repeats"), [({}, 10), ({"repeats": 3}, 3), ({"order": "both", "repeats": 1}, 1)]
)
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
