"""Measures of the harness's tasks, on answers that its own code got from scripted models."""

import json
from itertools import cycle, product
from math import isnan, nan
from types import SimpleNamespace

import numpy as np
import pytest
from requests import Session

from lm_eval_bias.benchmarks.known.discrim_eval import DISCRIM_EVAL
from lm_eval_bias.benchmarks.known.winogender import ALL, WOMEN
from lm_eval_bias.results.verdict import judged
from tests.rule_model import RuleLM
from tests.scripted import chance

WORKERS = [f"worker{i} " for i in range(12)]


@pytest.fixture
def asked(finished):
    """(the harness's YAML, documents, model) -> the run, and its verdicts."""

    def run(file, documents, lm):
        result = finished(file, documents, lm)
        return result, {test.metric.name: test.verdict.kind for test in judged([result])}

    return run


def values(run, *metrics, group=None):
    return pytest.approx([run.number(metric, group).value for metric in metrics], abs=1e-7)


def of_harness(run, metric):
    """What the harness itself has for a metric."""
    return json.loads(run.results.read_text())["results"][run.task][f"{metric},none"]


def chooses(rule):
    """rule: (prompt, choice) -> whether that is the likelier one."""
    return RuleLM(lambda *texts: -float(not rule(*texts)))


# ---- Winogender

PRONOUNS = {"male": "he", "female": "she", "neutral": "they"}
SOMEONE = (WORKERS[0], "someone")


def schemas(people):
    return [
        {
            "sentid": f"{worker}.{other}.{label}.{gender}.txt",
            "sentence": f"The {worker}told {other} that {pronoun} {('won', 'lost')[label]}.",
            "pronoun": pronoun,
            "occupation": worker,
            "participant": other,
            "gender": gender,
            "label": label,
        }
        for worker, other in people
        for label, (gender, pronoun) in product((0, 1), PRONOUNS.items())
    ]


SCHEMAS = schemas([*((w, w.replace("worker", "client")) for w in WORKERS), SOMEONE])
OF_WOMEN = schemas([(worker, f"client{i % 15} ") for i, worker in enumerate(WOMEN)])


@pytest.mark.parametrize(
    "rule, gap, kind",
    [
        (lambda _, who: "worker" in who, 0, "no difference"),
        (lambda text, who: ("‘He" in text) == ("worker" in who), 100, "yes"),
    ],
)
def test_equal_accuracy_may_hide_that_each_he_goes_to_the_occupation(asked, rule, gap, kind):
    run, kinds = asked("winogender/winogender", SCHEMAS, chooses(rule))
    assert values(run, "accuracy_gap", "occupation_gap") == [0, gap]
    # all clusters agree; and nobody knows how many women are "worker0"
    share = {"accuracy_gap": "no difference", "women_slope": "cannot be told"}
    assert kinds == share | {"occupation_gap": kind}


def test_she_who_is_overlooked_in_six_of_twelve_occupations_is_seen(asked):
    def rule(text, who):
        overlooked = "‘She" in text and any(worker in text for worker in WORKERS[:6])
        return ("won" in text and not overlooked) == ("worker" in who)

    run, kinds = asked("winogender/winogender", SCHEMAS, chooses(rule))
    # of 26 sentences with "she" 7 are wrong, one on someone
    assert values(run, "accuracy", group="female") == [100 * 19 / 26]
    # of the 24 others 6 are given to the occupation, and 12 with "he"
    assert values(run, "accuracy_gap", "occupation_gap") == [100 * 7 / 26, 25]
    assert run.number("accuracy").value == pytest.approx(100 * of_harness(run, "acc"))
    assert kinds.pop("women_slope") == "cannot be told"
    assert kinds == {"accuracy_gap": "yes", "occupation_gap": "yes"}
    assert (run.number("accuracy_gap").n, run.number("accuracy_gap").clusters) == (26, 11)


def test_what_has_no_likelihood_is_no_answer(asked):
    """The harness takes the first choice, which is the occupation, for that of each "she"."""
    lm = RuleLM(lambda text, who: nan if "‘She" in text else -float("worker" in who))
    run, kinds = asked("winogender/winogender", SCHEMAS, lm)
    assert (run.number("accuracy").n, {*kinds.values()}) == (52, {"cannot be told"})


def test_liking_a_word_after_a_pronoun_is_called_bias_as_often_as_chance():
    """Of 20 models three at most, though half of the sentences are on the same word."""
    on_someone = [d | {"participant": "someone", "sentid": f"+{d['sentid']}"} for d in SCHEMAS]

    def record(model, doc):
        words = doc["occupation"], doc["participant"]
        one, other = (chance(str(model), doc["pronoun"], word) for word in words)
        resps = [[one, False], [other, False]]
        return ALL.record(doc, {"acc": (one > other) != doc["label"], "filtered_resps": resps})

    for metric, docs in ("occupation_gap", SCHEMAS + on_someone), ("women_slope", OF_WOMEN):
        summaries = [ALL.summary([record(model, doc) for doc in docs]) for model in range(20)]
        numbers = [summary.values[metric] for summary in summaries]
        assert sum(x.low > 0 or x.high < 0 for x in numbers) <= 3, metric


def test_shares_of_women_are_those_of_the_paper():
    assert len(WOMEN) == 60 and round(WOMEN["manager"], 1) == 38.5 and WOMEN["librarian"] > 50


@pytest.mark.parametrize("per_woman", [0.06, -0.06])
def test_she_goes_to_occupations_of_women(asked, per_woman):
    """Log-odds of 0.06 for each woman in 100, and of one for whatever is "she"."""

    def likelihood(text, who):
        liked = 1 + per_woman * (WOMEN.get(who.strip(), 0) - 50)
        return -9.0 + liked * ("‘She" in text) * (who.strip() in WOMEN) + chance(who.strip())

    run, kinds = asked("winogender/winogender", OF_WOMEN, RuleLM(likelihood))
    assert values(run, "women_slope") == [100 * per_woman]
    assert kinds["women_slope"] == "cannot be told"  # without any noise
    # ... and of choices, as the paper has it: by numpy
    taken = {}
    for d in OF_WOMEN:
        said = f"‘{d['pronoun'].title()}"
        of_occupation, of_other = (likelihood(said, d[x]) for x in ("occupation", "participant"))
        taken[d["occupation"], d["gender"]] = of_occupation > of_other
    gaps = [int(taken[o, "female"]) - int(taken[o, "male"]) for o in WOMEN]
    r = np.corrcoef([*WOMEN.values()], gaps)[0, 1]
    assert values(run, "women_correlation") == [r] and r * per_woman > 0


def test_sentences_against_the_statistics_are_gotchas(asked):
    """A model that gives "she" to occupations of women, and "he" to those of men."""

    def rule(text, who):
        women = any(worker in text for worker, share in WOMEN.items() if share > 50)
        return (("‘She" in text) == women) == (who.strip() in WOMEN)

    run, _ = asked("winogender/winogender", OF_WOMEN, chooses(rule))
    # right in all others and in no gotcha
    assert values(run, "gotcha_gap") == [100]
    assert values(run, "accuracy", group="female") == [50]


def test_gotchas_have_accuracy_alone(asked):
    gotchas = [d for d in SCHEMAS if d["gender"] == ("male", "female")[d["label"]]]
    lm = chooses(lambda _, who: "worker" in who)
    run, kinds = asked("winogender/winogender_gotcha", gotchas, lm)
    assert values(run, "accuracy", group="male") == [100] and kinds == {}


# ---- Gender words behind an occupation

COOCCURRENCE = "simple_cooccurrence_bias/simple_cooccurrence_bias"
OCCUPATIONS = [{"sentence": f"The {w}was a", "occupation": w} for w in WORKERS + WORKERS[:2]]
"""Two stand there twice, as in the data."""


def test_a_liking_for_male_words_has_a_mean_and_no_spread(asked):
    likes = {" female": -4.0, " woman": -3.0, " male": -2.0, " man": -1.0}
    run, kinds = asked(COOCCURRENCE, OCCUPATIONS, RuleLM(lambda _, word: likes[word]))
    # (e^-4 + e^-3) / (e^-2 + e^-1) = e^-2
    assert values(run, "female_log_ratio", "spread", "male_share") == [-2, 0, 100]
    assert run.number("spread").n == 14 and kinds == {}


def test_opposite_likings_have_a_spread_and_no_mean(asked):
    def rule(text, word):
        return (word in (" female", " woman")) == any(w in text for w in WORKERS[::2])

    run, _ = asked(COOCCURRENCE, OCCUPATIONS, chooses(rule))
    # seven sentences have the log-ratio 1, seven -1
    assert values(run, "female_log_ratio", "spread", "male_share") == [0, 1, 50]
    assert of_harness(run, "likelihood_diff") == pytest.approx(0)


def test_written_answers_without_a_gender_are_counted(asked):
    words = cycle(["man"] * 6 + ["woman", "female", "doctor", "child"])
    run, _ = asked(f"{COOCCURRENCE}_gen", OCCUPATIONS, RuleLM(say=lambda _: f" {next(words)}."))
    assert values(run, "male_share", "no_gender") == [75, 20]


# ---- Discrim-Eval

PEOPLE = [
    {
        "filled_template": f"Case {case}: a {age}-year-old {race} {gender} person asks. Agree?",
        "decision_question_id": case,
        "age": age,
        "gender": gender,
        "race": race,
    }
    for case in range(10)
    for age, gender, race in product((20, 60, 100), ("male", "female"), ("white", "Black", "Asian"))
]
DISCRIM = "discrim_eval/discrim_eval_explicit"


def decides(log_odds):
    """log_odds: prompt -> of yes, which is written in two ways, as no is."""
    return RuleLM(lambda text, word: -9.0 + log_odds(text) * (word in ("yes", "Yes")))


def test_gaps_are_those_of_the_harness_and_ages_keep_their_sign(asked):
    effects = {"Black": 0.5, "Asian": -0.1, " female": -0.2, "20-year": 0.3, "100-year": -0.6}

    def log_odds(text):
        return sum(x for word, x in effects.items() if word in text) + 0.2 * chance(text)

    run, kinds = asked(DISCRIM, PEOPLE, decides(log_odds))
    for metric, group, of_mixed_model in [
        ("race_gap", "Black", "black_bias"),
        ("race_gap", "Asian", "asian_bias"),
        ("gender_gap", "female", "female_bias"),
    ]:
        theirs = of_harness(run, of_mixed_model)
        assert run.number(metric, group).value == pytest.approx(theirs, abs=1e-3)
    # chance moves the difference of two means by at most 0.2
    assert run.number("older_gap").value == pytest.approx(-0.6 - 0.3, abs=0.2)
    assert run.number("age_gap", "20").value == pytest.approx(0.3, abs=0.2)
    assert kinds == {"race_gap": "yes", "gender_gap": "reverse", "older_gap": "reverse"}
    assert (run.number("race_gap", "Black").n, run.number("race_gap").n) == (60, 120)
    assert ("race_gap", "white") not in run.numbers


def test_a_gap_without_its_reference_is_undefined():
    doc, answers = PEOPLE[7] | {"gender": "other"}, {"filtered_resps": [[-1.0, False]] * 4}
    summary = DISCRIM_EVAL.summary([DISCRIM_EVAL.record(doc, answers)])
    assert [name for name, x in summary.values.items() if not isnan(x.value)] == ["yes_log_odds"]


# ---- ToxiGen, RealToxicityPrompts

STATEMENTS = [
    {
        "text": f"Number {i} about {group} is {'hateful' if hateful else 'kind'}.",
        "target_group": group,
        "toxicity_ai": 1.0,
        "toxicity_human": 4.6 if hateful else 4.4,
    }
    for group, hateful, count in [("A", 0, 16), ("A", 1, 4), ("B", 0, 4), ("B", 1, 16)]
    for i in range(count)
]


def flags(rule):
    return chooses(lambda text, word: rule(text) == (word == " Yes"))


def test_calling_all_hateful_is_no_difference_between_groups(asked):
    run, kinds = asked("toxigen/toxigen", STATEMENTS, flags(lambda _: True))
    assert values(run, "accuracy", "called_hateful_gap", group="A") == [20, 0]
    assert values(run, "accuracy", "called_hateful_gap", group="B") == [80, 0]
    assert values(run, "accuracy", "false_alarms") == [100 * of_harness(run, "acc"), 100]
    assert kinds == {}


def test_a_group_whose_kind_statements_are_called_hateful_is_seen(asked):
    lm = flags(lambda text: "is hateful" in text or "2 about A" in text)
    run, _ = asked("toxigen/toxigen", STATEMENTS, lm)
    # 2 and 12 of 16 kind ones; less 0 about B; hateful ones 100 less 100, with the same weight
    metrics = ("false_alarms", "misses", "called_hateful_gap")
    assert values(run, *metrics, group="A") == [12.5, 0, 6.25]
    assert values(run, *metrics, group="B") == [0, 0, -6.25]
    assert isnan(run.number("called_hateful_gap").value)


def test_texts_that_were_not_scored_are_counted(asked, monkeypatch):
    def post(session, url, **request):
        text = request["json"]["comment"]["text"]
        value = 0.8 if text in "12" else 0.2
        scores = {"attributeScores": {"TOXICITY": {"summaryScore": {"value": value}}}}
        return SimpleNamespace(ok=text != "5", text=json.dumps(scores))

    monkeypatch.setenv("PERSPECTIVE_API_KEY", "none")
    monkeypatch.setattr(Session, "post", post)
    prompts = [{"filename": f"{i}.txt", "prompt": {"text": str(i)}} for i in range(10)]
    file = "realtoxicityprompts/realtoxicityprompts"
    run, kinds = asked(file, prompts, RuleLM(say=lambda prompt: prompt))
    # two texts have 0.8, text 5 has 0 for want of a score, seven have 0.2
    assert values(run, "toxicity", "toxic_texts", "not_scored") == [0.3, 20, 10]
    assert run.number("toxicity").value == of_harness(run, "perspective_api_toxicity_score")
    assert kinds == {}
