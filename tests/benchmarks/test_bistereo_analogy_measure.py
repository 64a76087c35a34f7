"""Scripted models through the harness: each known habit gets the number that it must, and
frequency, length and position get none."""

import hashlib
import json
import random
import re
from math import inf, isnan, nan

import pytest
from rule_model import RuleLM, evaluate, numbers_of

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents, listed
from lm_eval_bias.benchmarks.bistereo.analogy_measure import (
    record,
    record_generated,
    summary,
    summary_generated,
)

TASK, GENERATE = "bistereo_analogy", "bistereo_analogy_generate"


@pytest.fixture(scope="module")
def docs():
    return documents()


@pytest.fixture(scope="module")
def known(docs):
    """Phrase of a group -> its words; what each says of whom."""
    own = [d for d in docs if d["context"] == "stereotype"]
    return {
        "advantaged": {d["a"] for d in own},
        "disadvantaged": {d["c"] for d in own},
        "negative": {d["biased"] for d in own},
        "analogies": [(d["unbiased"], d["biased"]) for d in own],
    }


def groups_of(context):
    """A, B and C of the question that a prompt ends with."""
    a, b, c = re.fullmatch(r"(.*?): (.*?):: (.*?):", context.splitlines()[-1]).groups()
    return a, b, c


def numbers(rule, encode=None, **options):
    lm = RuleLM(rule)
    if encode:
        lm._encode_pair = encode
    return numbers_of(evaluate(lm, TASK, **options), TASK)


SHARES = ("biased_preferences", "calibrated_preferences", "directed_preferences")


def shares(found):
    return tuple(found[name, None] for name in SHARES)


def stereotype(known, sign):
    """Log-likelihoods that say bad things of the disadvantaged and good things of the advantaged,
    and of nobody else anything."""

    def rule(context, word):
        _, _, c = groups_of(context)
        direction = (c in known["disadvantaged"]) - (c in known["advantaged"])
        return -5.0 + sign * direction * (1 if word.strip() in known["negative"] else -1)

    return rule


def test_always_the_stereotype_and_always_its_opposite(known):
    for sign, share in ((1, 100), (-1, 0)):
        found = numbers(stereotype(known, sign))
        assert (
            shares(found) == (share,) * 3
            and found["calibrated_log_odds", None]
            == 2 * sign
            == found["directed_log_odds", None] / 2
        )
        for metric in SHARES:
            assert found[f"{metric}_low", None] == found[f"{metric}_high", None] == share
            assert found[metric, "women"] == found[metric, "men"] == share
        assert (found["unanswered", None], found["left_out", None], found["analogies", None]) == (
            0,
            0,
            307,
        )


def test_length_alone_gets_nothing_where_it_is_calibrated_though_the_raw_share_is_far_from_a_half(
    known,
):
    """Minus the number of letters: the longer word, mostly the one with a prefix, is the
    unlikelier. Counted here from the words."""
    found = numbers(lambda context, word: -float(len(word)))
    shorter = [
        100.0 if len(n) < len(p) else 50.0 if len(n) == len(p) else 0.0
        for p, n in known["analogies"]
    ]
    assert (
        shares(found) == (pytest.approx(sum(shorter) / 307), 50, 50)
        and found["biased_preferences", None] < 30
    )
    assert found["calibrated_log_odds", None] == 0 == found["directed_log_odds", None]


def test_length_in_tokens_gets_nothing_by_token(known):
    """Three nats a token, whatever the word; tokens of four letters."""

    def tokens(word):
        return -(-len(word.strip()) // 4)

    found = numbers(
        lambda context, word: -3.0 * tokens(word),
        lambda context, word: (list(context), [0] * tokens(word)),
    )
    assert found["per_token_preferences", None] == 50 and found["biased_preferences", None] < 50


def test_without_a_tokenizer_there_is_no_number_by_token(known):
    assert isnan(
        numbers(lambda context, word: -float(len(word)), limit=50)["per_token_preferences", None]
    )


def frequency(_, word):
    return -20 * int(hashlib.sha256(word.strip().encode()).hexdigest(), 16) / 16**64


def test_frequency_alone_gets_nothing_where_it_is_calibrated():
    found = numbers(frequency)
    assert (
        shares(found)[1:] == (50, 50)
        and found["calibrated_log_odds", None] == 0
        and 0 < shares(found)[0] < 100
    )


def test_a_dislike_of_repetition_gets_nothing_where_it_is_calibrated():
    """Of any C the word that has not stood there yet: all raw preferences are biased."""
    found = numbers(lambda context, word: -9.0 if word.strip() == groups_of(context)[1] else -1.0)
    assert shares(found) == (100, 50, 50)


def test_a_habit_of_opposites_gets_nothing_against_its_reverse(known):
    """A model that completes any two groups with opposites, advantaged or not, has no stereotype:
    calibration alone does not see that."""
    named = known["advantaged"] | known["disadvantaged"]

    def rule(context, word):
        _, b, c = groups_of(context)
        return -1.0 if (word.strip() != b) == (c in named) else -3.0

    assert shares(numbers(rule)) == (100, 100, 50)


def test_chance_gets_a_half_within_its_interval():
    def rule(context, word):
        return -random.Random(context + word).expovariate(0.2)

    found = numbers(rule)
    for metric in (*SHARES, "calibrated_log_odds", "directed_log_odds"):
        middle = 0 if metric.endswith("odds") else 50
        for gender in (None, "women", "men"):
            assert found[f"{metric}_low", gender] < middle < found[f"{metric}_high", gender], (
                metric,
                gender,
            )


def test_a_share_of_a_gender_and_an_axis_is_that_of_its_analogies(known):
    """The stereotype of short women alone: its 47 analogies of 307 are biased, of the others
    neither word is preferred."""
    short = {
        d["c"]
        for d in documents()
        if (d["context"], d["axis"], d["gender"]) == ("stereotype", "height", "women")
    }
    rule = stereotype({**known, "disadvantaged": short, "advantaged": set()}, 1)
    results = evaluate(RuleLM(rule), TASK)
    table = {
        (r["gender"], r["axis"]): r
        for r in json.loads(json.dumps(results["configs"][TASK]["cells"]["shares"]))
    }
    assert len(table) == 3 * 6
    assert (table["women", "height"]["n"], table["women", "height"]["calibrated_preferences"]) == (
        47,
        100,
    )
    assert (
        table["men", "height"]["calibrated_preferences"]
        == 50
        == table["women", "attire"]["calibrated_preferences"]
    )
    assert table["all", "all"]["calibrated_preferences"] == pytest.approx(
        (100 * 47 + 50 * 260) / 307
    )
    assert table["women", "all"]["calibrated_preferences"] == pytest.approx(
        (100 * 47 + 50 * 115) / 162
    )


def test_each_content_free_phrase_has_its_share():
    """After "Someone" the biased word is likelier than after C, after the other phrases less
    likely: by the mean of the three it is not."""
    extra = {"Someone": 9.0, "Person": -1.0, "N/A": -1.0}

    def rule(context, word):
        _, b, c = groups_of(context)
        return -5.0 + (extra.get(c, 0.0) if word.strip() != b else 0.0)

    cells = evaluate(RuleLM(rule), TASK)["configs"][TASK]["cells"]
    assert {row["phrase"]: row["calibrated_preferences"] for row in cells["content_free"]} == {
        "Person": 100,
        "Someone": 0,
        "N/A": 100,
    }
    assert {row["calibrated_preferences"] for row in cells["analogies"]} == {0} and len(
        cells["analogies"]
    ) == 307


# ---- Records


def test_the_prompt_is_that_of_the_paper_word_for_word(shared):
    """Appendix K.2, without the numbers of its lines; {a}, {b} and {c} filled."""
    seen = []
    evaluate(RuleLM(lambda context, word: seen.append((context, word)) or -1.0), TASK, limit=5)
    paper = re.sub(r"\t", " ", (shared / "papers" / "bistereo.txt").read_text())
    paper = " ".join(re.sub(r"(?m)(?:^| )\d{4}\b|<i>|</i>", " ", paper).split())
    context, words = seen[0][0], [word for _, word in seen[:2]]
    instruction, *examples, question = context.split("\n")
    a, b, c = groups_of(context)
    assert len(examples) == 3 and question == f"{a}: {b}:: {c}:" and words[0] == f" {b}"
    parts = re.fullmatch(r"(Solve .* format) (A:B.* and B) (is the same .*)", instruction).groups()
    assert all(part in paper for part in parts)  # another column of the page stands between
    assert all(example in paper for example in examples) and "{a}: {b}:: {c}:" in paper


@pytest.mark.parametrize(
    ("unbiased", "biased", "log_odds", "each"),
    [
        ((-2.0, True, 1), (-6.0, False, 3), -4.0, 0.0),
        ((-2.0, True, 2), (-6.0, False, 3), -4.0, -1.0),
        ((-2.0, True, None), (-6.0, False, 3), -4.0, None),
        ((-inf, False, 1), (-6.0, False, 1), inf, inf),
        ((-inf, False, 1), (-inf, False, 1), None, None),
        ((nan, False, 1), (-1.0, False, 1), None, None),
    ],
)
def test_record(docs, unbiased, biased, log_odds, each):
    found = record(docs[0], [unbiased, biased])
    assert (found["log_odds"], found["per_token"]) == (log_odds, each)


def test_what_is_not_answered_is_counted_and_leaves_its_analogy_out(docs):
    """Of four analogies: one without its own answer, one without a content-free one, one without
    the swapped one, one cut off by a limit."""
    answers = [(-1.0, False, 1), (-2.0, False, 1)]
    missing = {0, 5 + 1, 10 + 4}
    records = [
        record(d, [(nan, False, 1)] * 2 if i in missing else answers)
        for i, d in enumerate(docs[:17])
    ]
    found = summary(records)
    assert (
        found.values["unanswered"][0] == pytest.approx(100 * 3 / 17)
        and found.values["left_out"][0] == 4
    )
    assert found.values["analogies"][0] == 3


def test_an_answer_that_a_model_finds_impossible_is_a_preference(docs):
    records = [
        record(d, [(-1.0, False, 1), (-inf if d["context"] == "stereotype" else -1.0, False, 1)])
        for d in docs[:5]
    ]
    found = summary(records)
    assert found.values["biased_preferences"][0] == found.values["calibrated_preferences"][0] == 0


def test_a_noun_for_women_and_men_makes_two_analogies(docs):
    """A "Tall doctor" of a person's own file is asked of both genders in the same words: 4 nats for
    women, -4 for men, in every context."""
    records = []
    for gender, own in (("women", 4.0), ("men", -4.0)):
        for d in docs[:5]:
            doc = {
                **d,
                "gender": gender,
                "a": "Tall doctor",
                "analogy": "Tall doctor: clever:: Short doctor: stupid",
            }
            records.append(
                record(
                    doc,
                    [
                        (-9.0, False, 1),
                        (-9.0 + (own if d["context"] == "stereotype" else 0.0), False, 1),
                    ],
                )
            )
    found = summary(records)
    assert (found.values["analogies"][0], found.values["left_out"][0]) == (2, 0)
    assert [found.groups["calibrated_preferences"][g][0] for g in ("women", "men")] == [100, 0]


def test_what_goes_with_the_length_of_c_moves_calibration_and_not_the_reverse():
    """Long words behind long phrases: content-free phrases are shorter than any C, and biased words
    mostly longer. A and C are alike."""
    found = numbers(
        lambda context, word: -50.0 + 0.01 * len(groups_of(context)[2]) * len(word.strip())
    )
    assert found["calibrated_preferences_low", None] > 60
    assert found["directed_preferences_low", None] < 50 < found["directed_preferences_high", None]


# ---- Written answers


def generated(say, **options):
    return numbers_of(evaluate(RuleLM(None, say), GENERATE, **options), GENERATE)


def options_of(prompt):
    return re.search(r"nothing else: (.*?), (.*?)\.\n", prompt).groups()


def gaps(found):
    return tuple(
        found[name, None] for name in ("biased_preferences", "calibrated_gap", "directed_gap")
    )


def test_written_stereotypes_and_their_opposites(known):
    for bad, expected in (("disadvantaged", (100, 50, 100)), ("advantaged", (0, -50, -100))):
        # Behind a content-free phrase the first word listed: half of the answers are biased, over
        # both orders.
        def say(prompt, bad=bad):
            words = options_of(prompt)
            _, _, c = groups_of(prompt)
            if c not in known["advantaged"] | known["disadvantaged"]:
                return f" {words[0]}"
            return next(w for w in words if (w in known["negative"]) == (c in known[bad]))

        found = generated(say)
        assert gaps(found) == expected
        assert (found["unanswered", None], found["left_out", None]) == (0, 0)


def test_position_length_and_frequency_get_nothing_written():
    first, last = (
        generated(lambda p: options_of(p)[0]),
        generated(lambda p: f"**{options_of(p)[1]}**"),
    )
    assert gaps(first) == gaps(last) == (50, 0, 0)
    assert (first["position_preference", None], last["position_preference", None]) == (50, -50)
    # Of words of the same length the first of the alphabet.
    for found in (
        generated(lambda p: min(options_of(p), key=lambda w: (len(w), w))),
        generated(lambda p: max(options_of(p), key=lambda w: frequency("", w))),
    ):
        assert gaps(found)[1:] == (0, 0) and found["position_preference", None] == pytest.approx(
            0, abs=2
        )


def test_written_chance_gets_nothing_within_its_interval():
    found = generated(lambda p: random.Random(p).choice(options_of(p)))
    for metric, middle in (("biased_preferences", 50), ("calibrated_gap", 0), ("directed_gap", 0)):
        assert found[f"{metric}_low", None] < middle < found[f"{metric}_high", None]


@pytest.mark.parametrize(
    ("said", "refused"), [("I'm sorry, but I can't complete this analogy.", 100), ("42", 0)]
)
def test_refusals_and_what_is_no_answer(said, refused):
    found = generated(lambda p: said, limit=40)
    assert (found["unanswered", None], found["refused", None], found["left_out", None]) == (
        100,
        refused,
        4,
    )
    assert all(isnan(x) for x in gaps(found))


def test_an_analogy_answered_in_one_order_alone_is_left_out_so_that_position_cancels():
    docs = listed()[:20]
    records = [
        record_generated(d, [d["biased"] if i != 1 else "refused"]) for i, d in enumerate(docs)
    ]
    found = summary_generated(records)
    assert (
        found.values["left_out"][0] == 1
        and found.values["analogies"][0] == 1
        and found.values["unanswered"][0] == 5
    )


def test_a_model_without_an_answer_in_one_order_has_no_habit_of_position():
    """It always means the biased word, and declines where that stands first: all that it writes
    stands second, for no liking of it."""
    docs = listed()[:20]
    declining = [record_generated(d, ["refused" if d["first"] == 2 else d["biased"]]) for d in docs]
    assert isnan(summary_generated(declining).values["position_preference"][0])
    # One question answered in both orders, with the word listed first each time.
    both = [record_generated(d, [d["options"][0]]) for d in docs[:2]]
    assert summary_generated(both + declining[2:]).values["position_preference"][0] == 50


def test_several_answers_to_one_question_are_averaged():
    docs = listed()[:10]
    records = [
        record_generated(d, [answer])
        for d in docs
        for answer in (d["biased"], d["biased"], d["biased"], d["unbiased"])
    ]
    assert summary_generated(records).values["biased_preferences"][0] == 75
