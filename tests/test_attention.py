"""Attention checks: questions whose answer is known tell whether a model can do a task."""

import random
import re
from functools import partial
from math import isnan, nan
from types import SimpleNamespace

import numpy as np
import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.benchmarks.known.bbq import MOVES
from lm_eval_bias.measure import (
    CHECK,
    IN_NATS,
    RESPONDS,
    Counted,
    Measure,
    Metric,
    Number,
    responds,
    summarise,
    with_checks,
)
from lm_eval_bias.results.verdict import unresponsive
from tests.rule_model import load

PARTS = ("original", "extended", "structure", "emotion", "behavior")
NAMES = (
    "bistereo_nli",
    "bistereo_pairs",
    "bistereo_analogy",
    "hbb",
    "hbb_sg",
    "mist_wabt_likelihood",
)
NAMES += ("mist_aat_likelihood", "empathy_religion_likelihood")
NAMES += tuple(f"stereomap_{part}_likelihood" for part in PARTS)
TASKS = catalogue.by_name()
ASKED = {name: TASKS[name].builder.checks(TASKS[name].dataset_kwargs) for name in NAMES}
WRITTEN = {
    "bistereo_nli_generate_ci": ["Entailment", "Contradiction", "Neutral"],
    "bistereo_analogy_generate": "choices",
    "hbb_generate_ci": ["a", "b"],
    "mist_wabt_ci": "groups",
    "mist_aat_ci": ["comedy", "tragedy"],
    "empathy_religion_ci": list(map(str, range(101))),
    "stereomap_original_ci": list("12345"),
    "stereomap_structure": list("12345"),
}
"""Task -> the answers that its checks offer, or the column that has them."""


def written(task, doc, choose=np.argmax):
    """An answer to a check. choose: values of the answers -> the place of one."""
    options = doc[WRITTEN[task]] if isinstance(WRITTEN[task], str) else WRITTEN[task]
    chosen = [options[choose(values)] for values in doc[CHECK][1]]
    if task != "mist_wabt_ci":
        return chosen[0]
    groups = [options[0], *chosen, options[0]]
    return "\n".join(f"({word}, {group})" for word, group in zip(doc["words"], groups, strict=True))


@pytest.mark.parametrize("task", WRITTEN)
def test_who_writes_right_answers_responds_and_no_rule_or_refusal_does(task):
    (asked,) = load(task)["tasks"].values()
    checks = [doc for doc in asked.eval_docs if doc.get(CHECK)]

    def moved(write):
        texts = [[write(doc)] for doc in checks]
        read = asked._filters[0].filters[0]().apply(texts, checks)
        records = [asked.measure.record(*both) for both in zip(checks, read, strict=True)]
        number = responds(records, asked.measure.metric("responds"))
        assert number.n >= 5
        return number.value

    assert moved(partial(written, task)) == 100
    assert moved(partial(written, task, choose=np.argmin)) == -100
    for place in (0, -1):
        same = partial(written, task, choose=lambda v, at=place: range(len(v))[at])
        assert abs(moved(same)) < 1e-9
    assert moved(asked.doc_to_text) == moved(lambda doc: "I cannot answer that.") == 0


OWN = {
    word: doc["groups"][values.index(1)]
    for doc in ASKED["mist_wabt_likelihood"]
    for word, values in zip(doc["words"][1:-1], doc[CHECK][1], strict=True)
}
"""The group of each word of a list."""
MEASURE = Measure(
    lambda doc, results: {"i": doc["i"]},
    Counted(lambda x: {"x": x}, {"x": lambda x, total: {"n": (total(1), total(1))}}),
    (Metric("n", "count", "How many."),),
    clusters=(("i",),),
)


def texts(doc):
    """The answers that a check offers, by what a model might like about them."""
    if "option_a" in doc:
        return [[doc["option_a"], doc["option_b"]]]
    if "words" in doc:
        return [doc["groups"]] * len(doc[CHECK][1])
    return [doc.get("choices", range(len(doc[CHECK][1][0])))]


def answer_and_place(doc, part, answer, place):
    named = doc["named"].index(answer) if "named" in doc else None
    return answer, ("place", part, place), ("named", part, named)


def neighbours(doc, part, answer, place):
    """In a list of words: the groups of the word before and the word behind."""
    words = doc.get("words", [])[part : part + 3 : 2]
    return [(way, OWN[word] == answer) for way, word in enumerate(words)]


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name].builder])
def test_each_task_has_checks_and_judges_them_but_for_written_ratings_of_several_kinds(name):
    task, kinds = TASKS[name], "stereomap_(behavior|emotion|extended)(_official)?"
    judged = "responds" in {metric.name for metric in task.measure.metrics}
    asked = bool(task.builder.checks(task.dataset_kwargs))
    assert judged == asked == (not re.fullmatch(kinds, name))


@pytest.mark.parametrize("metric", [RESPONDS, IN_NATS])
@pytest.mark.parametrize("likes", [lambda *_: (), answer_and_place, neighbours])
@pytest.mark.parametrize("task", ASKED)
def test_who_likes_an_answer_or_its_place_does_not_respond(task, likes, metric):
    def score(*asked):
        return sum(random.Random(repr(liked)).gauss(0, 3) for liked in likes(*asked))

    records = []
    for doc in ASKED[task]:
        scores = [
            score(doc, part, answer, place)
            for part, offered in enumerate(texts(doc))
            for place, answer in enumerate(offered)
        ]
        records.append(with_checks(MEASURE, metric).record(doc, answers(*scores)))
    number = responds(records, metric)
    assert number.n >= 5 and abs(number.value) < 1e-9


def answers(*likelihoods):
    return [(x, False) for x in likelihoods]


@pytest.mark.parametrize(
    "metric, of_checks", [(IN_NATS, (1.0, 0.5)), (RESPONDS, (38.0797, 23.1059))]
)
def test_the_mean_over_checks_with_its_interval(metric, of_checks):
    """Log-odds of the first answer: 2 and 0 in the forms of one check, 1 and 0 of the other. In
    points tanh(2 / 2) = 0.761594 and tanh(1 / 2) = 0.462117 are halved. Student's quantile of one
    degree of freedom is 12.706; the third check lacks a form."""
    measure = with_checks(MEASURE, metric)
    asked = [("one", 2, 1), ("one", 0, -1), ("two", 1, 1), ("two", 0, -1), ("cut off", 9, 1)]
    records = [
        measure.record({CHECK: [name, [[sign, -sign]]]}, answers(odds - 3, -3))
        for name, odds, sign in asked
    ]
    number = responds(records, metric)
    mean, stderr = sum(of_checks) / 2, (of_checks[0] - of_checks[1]) / 2
    assert number.n == 2 and number[:2] == pytest.approx((mean, stderr), rel=1e-4)
    ends = [mean - 12.706205 * stderr, mean + 12.706205 * stderr]
    if metric is RESPONDS:
        ends = np.clip(ends, -100, 100)
    assert number[2:4] == pytest.approx(ends, rel=1e-4)


def test_checks_count_in_no_other_number_and_old_samples_have_none():
    measure = with_checks(MEASURE)
    plain = [measure.record({"i": i}, answers(0, 0)) for i in range(12)]
    check = measure.record({CHECK: ["one", [[1, -1]]]}, answers(0, nan))
    old, new = (summarise(measure, records, {}) for records in (plain, [*plain, check]))
    assert old.values["n"].value == new.values["n"].value == 12
    assert isnan(old.values["responds"].value) and old.values["responds"].n == 0
    assert isnan(new.values["responds"].value)


@pytest.mark.parametrize(
    "metric, number, why",
    [
        (IN_NATS, Number(0.9, 0.1, 0.7, 1.1, 9, 9), ""),
        (IN_NATS, Number(0.004, 0.001, 0.002, 0.006, 9, 9), "by 0.004 nats, [0.002, 0.006]"),
        (RESPONDS, Number(30, 20, -9, 69, 9, 9), "by 30.0 points, [-9.0, 69.0]; 9 attention"),
        (RESPONDS, Number(100, 0, n=9), ""),
        (RESPONDS, Number(nan, n=0), "no attention checks were answered in full, so it is"),
        (MOVES, Number(nan, n=0), "no clear contexts were answered in full, so it is unknown"),
        (None, Number(nan), ""),
    ],
)
def test_what_a_model_that_does_not_respond_is_told(metric, number, why):
    run = SimpleNamespace(metric=lambda name: metric, number=lambda name: number, options={})
    assert why in unresponsive(run) and bool(why) == bool(unresponsive(run))
    run.options["items"] = "of a person, which have no checks"
    assert bool(unresponsive(run)) == (bool(why) and number.n != 0)
