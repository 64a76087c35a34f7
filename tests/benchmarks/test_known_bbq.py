"""BBQ and its Spanish and Catalan kin, asked of scripted models by the harness's own code."""

import json
from itertools import product
from math import sqrt
from pathlib import Path

import lm_eval
import pytest
from datasets import Dataset
from lm_eval.tasks.bbq import utils

from lm_eval_bias.benchmarks.known.bbq import BBQ
from lm_eval_bias.data.systematic_errors import systematic_errors
from lm_eval_bias.measure import summarise
from lm_eval_bias.results.verdict import NO, UNKNOWN, YES, judged
from tests.rule_model import RuleLM
from tests.scripted import chance

TASKS = Path(lm_eval.__file__).parent / "tasks"
FILES = {
    "bbq": "bbq/bbq_multiple_choice",
    "bbq_generate": "bbq/bbq_generate",
    "esbbq_gender": "esbbq/esbbq_gender",
}
AMB, GAP = "amb_bias_score", "aligned_gap"


def documents(templates=20, stereotyped=("Red",)):
    """Of each template eight, with the columns of all three data sets. The stereotype is that of
    the red one; a clear context tells of the red and of the blue one alike."""
    for t, polarity, k, clear in product(range(templates), ("neg", "nonneg"), (0, 1), (0, 1)):
        people = ("Red", "Blue")[:: 1 - 2 * k]
        aligned = t % 2 == k
        right = people.index("Red" if aligned == (polarity == "neg") else "Blue")
        yield {
            "category": "Religion" if t < 10 else "Age",
            "question_index": str(t),
            "template_id": t,
            "question_polarity": polarity,
            "context_condition": "disambig" if clear else "ambig",
            "question_type": ("anti-stereo", "pro-stereo")[aligned] if clear else "-",
            "context": f"{t}: a {people[0]} and a {people[1]} one. {people[right] * clear}",
            "question": f"Who is {polarity}?",
            **{f"ans{i}": f"The {name} one" for i, name in enumerate(people)},
            "ans2": "Unknown",
            "answer_info": {f"ans{i}": [n, n] for i, n in enumerate((*people, "unknown"))},
            "additional_metadata": {"stereotyped_groups": [*stereotyped]},
            "stereotyped_groups": [*stereotyped],
            "label": right if clear else 2,
        }


class Says(RuleLM):
    """say: document -> the answer, of which it is sure."""

    def loglikelihood(self, requests, **_):
        return [(-float(r.args[1].strip() != self.say(r.doc)), False) for r in requests]

    def generate_until(self, requests, **_):
        return [self.say(r.doc) for r in requests]


@pytest.fixture
def asked(finished):
    def run(task, say, data=()):
        read = finished(FILES[task], data or [*documents()], Says(say=say))
        return read, json.loads(read.results.read_text())["results"][task]

    return run


def right(doc):
    return doc[f"ans{doc['label']}"]


def stereotype(doc):
    return f"The {'Red' if doc['question_polarity'] == 'neg' else 'Blue'} one"


def other(doc):
    return f"The {'Blue' if doc['question_polarity'] == 'neg' else 'Red'} one"


def prefers(doc):
    """The stereotype in 70 % of the ambiguous contexts, 56 of 80."""
    if doc["context_condition"] == "disambig":
        return right(doc)
    contradicts = doc["question_polarity"] == "neg" and (
        doc["ans0"] == "The Red one" or doc["template_id"] % 5 == 0
    )
    return other(doc) if contradicts else stereotype(doc)


def at_random(doc):
    return doc[f"ans{int(3 * chance('a model', doc['context'], doc['question']))}"]


def kinds(run):
    return {test.metric.name: test.verdict.kind for test in judged([run])}


@pytest.mark.parametrize("task", FILES)
def test_a_preference_in_seven_of_ten_ambiguous_contexts_is_found(asked, task):
    """Of 20 templates 16 have a mean of (3 - 1) / 4, four of (2 - 2) / 4, alike in both halves."""
    run, _ = asked(task, prefers)
    number = run.number(AMB)
    assert number.value == pytest.approx(2 * 0.7 - 1) and number.n == 80
    squares = 8 * (0.5 - 0.4) ** 2 + 2 * (0 - 0.4) ** 2  # of the ten templates of a category
    stderr = sqrt(2 * 0.5**2 * squares / 9 / 10)
    # the systematic error of models without meaning, in standard deviations of a template
    _, spread = systematic_errors(task).get(AMB, {}).get("all others", (0, 0))
    assert number.stderr == pytest.approx(stderr * sqrt(1 + 20 * spread**2))
    assert run.number(AMB, "Age").value == pytest.approx(0.4)
    assert [run.number(f"accuracy_{x}").value for x in ("amb", "disamb")] == [0, 100]
    assert run.number("responds").value == 100 and run.number(GAP).value == 0
    assert kinds(run) == {AMB: YES, GAP: NO}
    rows = {row["category"]: row for row in run.tables["target_groups"]}
    assert {row["group"] for row in rows.values()} == {"Red"}
    assert rows["Age"][AMB] == pytest.approx(0.4)


@pytest.mark.parametrize("task", FILES)
def test_numbers_are_those_of_the_harness(asked, task):
    run, theirs = asked(task, at_random)
    same = {name: name for name in (AMB, "disamb_bias_score", "accuracy_amb", "accuracy_disamb")}
    if task == "esbbq_gender":
        same = {AMB: "bias_score_ambig", GAP: "bias_score_disambig"}
        same |= {"accuracy_amb": "acc_ambig", "accuracy_disamb": "acc_disambig"}
    else:
        for name in (AMB, "disamb_bias_score"):
            assert run.number(name, "Age").value == pytest.approx(theirs[f"{name}_Age,none"])
    for name, of_theirs in same.items():
        scale = 1 if name.endswith("score") else 100
        assert run.number(name).value == pytest.approx(scale * theirs[f"{of_theirs},none"])


def test_who_knows_when_to_say_unknown_has_no_bias_of_a_size_that_is_told(asked):
    """A share of 0 in ten templates or more has an interval (Clopper and Pearson's of 20)."""
    run, _ = asked("esbbq_gender", right)
    for name, scale in ((AMB, 1), (GAP, 100)):
        number = run.number(name)
        assert number.value == number.stderr == 0
        assert number.high == -number.low == pytest.approx(scale * (1 - 0.025 ** (1 / 20)))
    assert kinds(run) == {AMB: NO, GAP: NO}
    assert run.number("unknown_disamb").value == 0


@pytest.mark.parametrize("say", [lambda _: "Unknown", lambda d: d["ans0"], stereotype])
def test_who_never_minds_the_context_cannot_be_judged(asked, say):
    run, _ = asked("bbq", say)
    assert run.number("responds").value == 0
    assert kinds(run) == {AMB: UNKNOWN, GAP: UNKNOWN}
    assert "does not respond" in judged([run])[0].verdict.sentence


def test_a_model_that_always_contradicts_the_stereotype_scores_minus_one(asked):
    """The harness has 0 for every model without a biased answer."""
    run, theirs = asked("bbq", other)
    assert (run.number(AMB).value, theirs[f"{AMB},none"]) == (-1, 0)


def test_documents_of_which_both_people_are_the_stereotype_score_no_bias(asked):
    """Each answer to one question is biased, and none to the other: whoever says unknown to the
    latter alone is biased for the harness."""
    both = list(documents(4, ("Red", "Blue")))
    run, theirs = asked(
        "bbq",
        lambda d: d["ans0"] if d["question_polarity"] == "neg" else "Unknown",
        [*documents(), *both],
    )
    # 40 + 8 of 80 + 16 documents are answered; half of the 40 are biased, and all 8
    assert theirs[f"{AMB},none"] == pytest.approx((20 + 8 - 20) / 96)
    assert run.number(AMB).value == 0 and run.number(AMB).n == 80
    assert run.number("accuracy_amb").n == 96


def test_an_answer_that_cannot_be_read_is_counted_and_scores_no_bias(asked):
    def says(doc):
        unread = doc["context_condition"] == "ambig" and doc["template_id"] % 4 == 0
        return "Both, perhaps." if unread else prefers(doc)

    run, _ = asked("bbq_generate", says)
    assert run.number("unparsed").value == 25 and run.number("unparsed").n == 80
    # of 60 answers; templates 5, 10 and 15 contradict twice, the other 12 once
    assert run.number(AMB).value == pytest.approx(1 - 2 * (3 * 2 + 12) / 60)
    assert run.number(AMB).n == 60


# ---- The authors' documents


NULL = {
    "first option": lambda doc, people: people[0],
    "likes a name": lambda doc, people: max(people),
}


def often(doc, people):
    """The stereotype in 70 % of the contexts."""
    is_biased = chance(str(doc["example_id"])) < 0.7
    return next(p for p in people if (p in doc["biased_answers"]) == is_biased)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [*NULL, often])
def test_of_the_authors_documents_null_models_have_none(authors, rule):
    records, biased = [], []
    docs = map(json.loads, authors("bbq/Religion.jsonl").open())
    for doc in utils.process_docs(Dataset.from_list([*docs])):
        choices = utils.doc_to_choice(doc)
        answer = NULL.get(rule, often)(doc, choices[:2])
        likelihoods = [(float(choice == answer), False) for choice in choices]
        records.append(BBQ.record(doc, utils.process_results_multiple_choice(doc, likelihoods)))
        if doc["context_condition"] == "ambig":
            biased.append(answer in doc["biased_answers"])
    number = summarise(BBQ, records, {}).values[AMB]
    assert len(biased) == 600
    assert number.value == pytest.approx(2 * sum(biased) / 600 - 1)
    assert (number.low > 0.3) if rule is often else (number.low < 0 == number.value < number.high)
