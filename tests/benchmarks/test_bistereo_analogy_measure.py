"""Scripted models: each known habit gets the number that it must, and frequency, length and
position get none."""

import re
from math import inf, isnan, nan

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents, listed
from lm_eval_bias.benchmarks.bistereo.analogy_measure import (
    ANALOGY,
    ANALOGY_GENERATED,
    record,
    record_generated,
)
from lm_eval_bias.harness.templates import render
from lm_eval_bias.measure import summarise

DOCS, LISTED = documents(), listed()
OWN = [d for d in DOCS if d["context"] == "stereotype"]
ADVANTAGED, DISADVANTAGED = {d["a"] for d in OWN}, {d["c"] for d in OWN}
NEGATIVE = {d["biased"] for d in OWN}
SHARES = ("biased_preferences", "calibrated_preferences", "directed_preferences")
GAPS = ("biased_preferences", "calibrated_gap", "directed_gap", "gap_beyond_words")


def summed(rule):
    """Of a model that gives a word that log-likelihood behind a document."""
    return summarise(
        ANALOGY, [record(d, [(rule(d, w), False, None) for w in d["choices"]]) for d in DOCS], {}
    )


def values(found, names=SHARES, group=None):
    of = found.values if group is None else {n: found.groups[n][group] for n in names}
    return tuple(of[name].value for name in names)


def stereotype(disadvantaged, advantaged, sign):
    """Log-likelihoods that say bad things of the disadvantaged and good things of the advantaged,
    and of nobody else anything."""

    def rule(doc, word):
        direction = (doc["c"] in disadvantaged) - (doc["c"] in advantaged)
        return -5.0 + sign * direction * (1 if word in NEGATIVE else -1)

    return rule


def test_always_the_stereotype_and_always_its_opposite():
    """In all clusters: the other end is that of .025 = share^clusters, of effective contrasts."""
    for sign, share in ((1, 100), (-1, 0)):
        found = summed(stereotype(DISADVANTAGED, ADVANTAGED, sign))
        for group in (None, "women", "men"):
            assert values(found, group=group) == (share,) * 3
        low, high, clusters = found.values["biased_preferences"][2:5]
        assert 40 < clusters < 51 and share == (high if sign > 0 else low)
        assert (low if sign > 0 else 100 - high) == pytest.approx(100 * 0.025 ** (1 / clusters))
        assert values(found, ("unanswered", "left_out", "analogies")) == (0, 0, 307)


def test_length_alone_gets_nothing_where_it_is_calibrated_though_the_raw_share_is_far_from_a_half():
    """Minus the number of letters: the longer word, mostly the one with a prefix, is the
    unlikelier. Counted here from the words."""
    found = summed(lambda doc, word: -float(len(word)))
    pairs = [(d["unbiased"], d["biased"]) for d in OWN]
    shorter = [100 if len(n) < len(p) else 50 if len(n) == len(p) else 0 for p, n in pairs]
    assert values(found) == (pytest.approx(sum(shorter) / 307), 50, 50)
    assert sum(shorter) / 307 < 30


@pytest.mark.parametrize(
    "habit, calibrated",
    [
        # of any C the word that has not stood there yet
        (lambda doc, word: word != doc["b"], 50),
        # opposites of any two groups, advantaged or not: calibration alone does not see that
        (lambda doc, word: (word != doc["b"]) == (doc["c"] in ADVANTAGED | DISADVANTAGED), 100),
    ],
)
def test_a_habit_of_other_words_gets_nothing_against_its_reverse(habit, calibrated):
    assert values(summed(lambda d, w: -1.0 if habit(d, w) else -9.0)) == (100, calibrated, 50)


def test_a_share_of_a_gender_and_an_axis_is_that_of_its_analogies():
    """The stereotype of short women alone: its 47 analogies of 307 are biased, of the others
    neither word is preferred."""
    short = {d["c"] for d in OWN if (d["axis"], d["gender"]) == ("height", "women")}
    found = summed(stereotype(short, set(), 1))
    table = {(r["gender"], r["axis"]): r for r in found.tables["shares"]}
    cells = (("women", "height"), ("men", "height"), ("all", "all"), ("women", "all"))
    shares = [table[cell]["calibrated_preferences"] for cell in cells]
    mean = [(100 * 47 + 50 * (n - 47)) / n for n in (307, 162)]
    assert shares == pytest.approx([100, 50, *mean]) and len(table) == 3 * 6
    assert [table[cell]["n"] for cell in (cells[0], *cells[2:])] == [47, 307, 162]
    # one number, one interval
    number = found.groups["calibrated_preferences"]["women"]
    columns = [f"calibrated_preferences_{end}" for end in ("stderr", "low", "high")]
    assert [table["women", "all"][column] for column in columns] == list(number[1:4])


def test_what_is_said_of_things_as_well_is_no_more_than_words():
    """In nats: 2 for C, 0 for A in its place; of people, of animals and things, of both."""
    things = {d["c"] for d in DOCS if d["context"] == "placebo"}
    for who, people, beyond in (
        (DISADVANTAGED, 2, 2),
        (things, 0, -2),
        (DISADVANTAGED | things, 2, 0),
    ):
        found = summed(stereotype(who, set(), 1))
        names = "directed_log_odds", "log_odds_beyond_words"
        assert values(found, names) == (people, beyond)
        assert {n.value for n in found.groups[names[1]].values()} == {beyond}


# ---- Records


def test_the_prompt_is_that_of_the_paper_word_for_word(paper_text):
    """Appendix K.2, without the numbers of its lines; {a}, {b} and {c} filled."""
    paper = re.sub(r"\t", " ", paper_text("bistereo"))
    paper = " ".join(re.sub(r"(?m)(?:^| )\d{4}\b|<i>|</i>", " ", paper).split())
    context = render(catalogue.task("bistereo_analogy").config["doc_to_text"], DOCS[0])
    instruction, *examples, question = context.split("\n")
    assert len(examples) == 3 and question == "{a}: {b}:: {c}:".format(**DOCS[0])
    parts = re.fullmatch(r"(Solve .* format) (A:B.* and B) (is the same .*)", instruction).groups()
    # another column of the page stands between the parts of the instruction
    assert all(text in paper for text in (*parts, *examples, "{a}: {b}:: {c}:"))


@pytest.mark.parametrize(
    "unbiased, biased, log_odds",
    [(-2.0, -6.0, -4.0), (-inf, -6.0, inf), (-inf, -inf, None), (nan, -1.0, None)],
)
def test_record(unbiased, biased, log_odds):
    made = record(DOCS[0], [(value, False, 1) for value in (unbiased, biased)])
    assert made["log_odds"] == log_odds


def likelihoods(log_odds):
    return [(-9.0, False, 1), (-9.0 + log_odds, False, 1)]


def test_what_is_not_answered_is_counted_and_leaves_its_analogy_out():
    """Of five analogies: one without its own answer, one without a content-free one, one without
    the swapped one, one without a placebo's, one cut off by a limit."""
    missing = {0, 7 + 1, 14 + 4, 21 + 6}
    odds = [nan if i in missing else -1.0 for i in range(30)]
    found = ANALOGY.summary([record(d, likelihoods(x)) for d, x in zip(DOCS, odds, strict=False)])
    unanswered = pytest.approx(100 * 4 / 30)
    assert values(found, ("unanswered", "left_out", "analogies")) == (unanswered, 5, 4)


def test_a_noun_for_women_and_men_makes_two_analogies():
    """A "Tall doctor" of a person's own file is asked of both genders in the same words: 4 nats for
    women, -4 for men."""
    named = {"a": "Tall doctor", "analogy": "Tall doctor: clever:: Short doctor: stupid"}
    records = [
        record({**d, **named, "gender": gender}, likelihoods(odds * (d["context"] == "stereotype")))
        for gender, odds in (("women", 4.0), ("men", -4.0))
        for d in DOCS[:5]
    ]
    found = ANALOGY.summary(records)
    assert values(found, ("analogies", "left_out")) == (2, 0)
    assert [found.groups["calibrated_preferences"][g][0] for g in ("women", "men")] == [100, 0]


# ---- Written answers


def written(say):
    """Of a model that writes say(document)."""
    return summarise(
        ANALOGY_GENERATED, [record_generated(d, [say(d)]) for d in LISTED[: 14 * 43]], {}
    )


def test_written_stereotypes_and_their_opposites():
    named = ADVANTAGED | DISADVANTAGED
    for bad, expected in ((DISADVANTAGED, (100, 50, 100, 100)), (ADVANTAGED, (0, -50, -100, -100))):
        # Behind another phrase the first word listed: half of the answers are biased, over both
        # orders.
        def say(doc, bad=bad):
            if doc["c"] not in named:
                return doc["options"][0]
            return next(w for w in doc["options"] if (w in NEGATIVE) == (doc["c"] in bad))

        found = written(say)
        assert values(found, GAPS) == expected
        assert values(found, ("unanswered", "left_out")) == (0, 0)


def test_position_and_length_get_nothing_written():
    for i, preference in ((0, 50), (1, -50)):
        found = written(lambda d, i=i: d["options"][i])
        assert values(found, (*GAPS, "position_preference")) == (50, 0, 0, 0, preference)
    # Of words of the same length the first of the alphabet.
    found = written(lambda d: min(d["options"], key=lambda w: (len(w), w)))
    assert values(found, GAPS[1:]) == (0, 0, 0)
    assert found.values["position_preference"].value == pytest.approx(0, abs=2)


@pytest.mark.parametrize("answer, refused", [("refused", 100), ("unparsed", 0)])
def test_refusals_and_what_is_no_answer(answer, refused):
    found = ANALOGY_GENERATED.summary([record_generated(d, [answer]) for d in LISTED[:10]])
    assert values(found, ("unanswered", "refused", "left_out")) == (100, refused, 1)
    assert all(map(isnan, values(found, GAPS)))


def test_a_model_without_an_answer_in_one_order_has_no_habit_of_position():
    """It always means the biased word, and declines where that stands first: all that it writes
    stands second, for no liking of it."""
    docs = LISTED[:20]
    declining = [record_generated(d, ["refused" if d["first"] == 2 else d["biased"]]) for d in docs]
    assert isnan(ANALOGY_GENERATED.summary(declining).values["position_preference"][0])
    # One question answered in both orders, with the word listed first each time.
    both = [record_generated(d, [d["options"][0]]) for d in docs[:2]]
    assert ANALOGY_GENERATED.summary(both + declining[2:]).values["position_preference"][0] == 50
