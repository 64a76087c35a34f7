"""Models without meaning: what they have fails the check, and what they have not passes."""

import json
from itertools import cycle

import numpy as np
import pytest
from lm_eval_bias.metrics.errors import means
from scipy.optimize import minimize
from scipy.stats import norm

from lm_eval_bias import catalogue
from lm_eval_bias.measure import CHECK, Counted, Measure, Metric
from lm_eval_bias.results.runs import find
from lm_eval_bias.results.verdict import NO, UNKNOWN, YES, judged
from tests.rule_model import RuleLM
from tests.scripted import ask
from tests.test_attention import written


@pytest.fixture(scope="module")
def null_models(benchmark_named):
    return benchmark_named("null_models")


ECHOED = Metric(
    "echoed",
    "nats",
    "Log-odds of the word that the prompt names.",
    null_value=0,
    primary=True,
    question="Is the word that the prompt names likelier?",
)


@pytest.mark.slow
def test_a_number_that_echo_has_is_no_test_unless_it_is_declared(null_models):
    """In an analogy the unbiased word is that of the prompt."""
    questions = null_models.Questions("bistereo_analogy")
    odds = lambda doc, results: {"i": str(doc), "echoed": results[0][0] - results[1][0]}  # noqa: E731
    counted = Counted(lambda records, **_: {"": records}, {"": means("echoed")})
    questions.measure = Measure(odds, counted, [ECHOED], clusters=[("i",)])
    questions.tests = [ECHOED]
    rows = {f: null_models.numbers_of(questions, f, 20)["echoed"] for f in ("echo", "noise")}
    own = {f: null_models.passing(ECHOED, r) for f, r in rows.items()}
    assert own["echo"][0] > 18 and null_models.often(ECHOED, own) == ["echo"]
    assert null_models.often(ECHOED._replace(confounds=("echo",)), own) == []
    errors, _ = null_models.systematic(ECHOED, rows)
    assert list(errors) == [null_models.COMMON, "echo"] and errors["echo"][0] > 0
    assert null_models.passing(ECHOED, rows["echo"], errors=[*errors.values()])[0] <= 1


RNG = np.random.default_rng(5)


@pytest.mark.parametrize("mean, spread", [(0.0, 0.0), (0.5, 0.0), (-0.3, 0.4)])
def test_a_systematic_error_is_found_beside_the_standard_errors(null_models, mean, spread):
    """4,000 models with standard errors from 0.1 to 0.3; beside scipy's own maximum."""
    errors = RNG.uniform(0.1, 0.3, 4000)
    values = RNG.normal(mean, np.hypot(errors, spread))
    found = null_models.fit(values, errors)
    assert [*found[:2]] == pytest.approx([mean, spread], abs=0.03)
    assert found.spread <= found.limit < spread + 0.04
    assert found.found == bool(mean or spread)

    def surprise(of):
        return -norm.logpdf(values, of[0], np.hypot(errors, of[1])).sum()

    best = minimize(surprise, [mean, spread + 0.1], method="Nelder-Mead").x
    assert [*found[:2]] == pytest.approx([best[0], abs(best[1])], abs=0.01)


def test_a_value_stands_in_standard_deviations_between_clusters(null_models):
    """An arm of 1.96 on 25 clusters: an error of 1, so a deviation of 5, of which 10 is 2."""
    values, errors = null_models.standardised([[10.0, 1.959964, 25], [1.0, float("nan"), 25]])
    assert values.tolist() == pytest.approx([2.0]) and errors.tolist() == [0.2]


def test_an_interval_with_systematic_errors_passes_less_and_needs_people_too(null_models):
    """[2, 4] of 16 clusters: a spread of half a deviation, √(1 + 16/4) = 2.2 times as long."""
    metric, rows = Metric("gap", "nats", "", null_value=0), [[3.0, 1.0, 16]]
    assert null_models.passing(metric, rows) == (1, 1)
    assert null_models.passing(metric, rows, [[-3.0, 1.0, 16]]) == (0, 1)
    for limit, passed in ((1.0, 0), (0.5, 1)):  # 4.1 times as long; 2.2
        assert null_models.passing(metric, rows, errors=[[0.0, limit]]) == (passed, 1)


def known(null_models):
    return json.loads(null_models.DATA.read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", ["hbb_ci", "bistereo_nli_ci", "bistereo_pairs_ci", "empathy_religion_ci"]
)
def test_the_models_were_asked_these_documents(null_models, task):
    """Where this fails, items changed: run `make null-models` and commit what it writes."""
    questions, of_task = null_models.Questions(task), known(null_models)["tasks"][task]
    assert questions.sha256() == of_task["sha256"]
    assert len(questions.documents) == of_task["documents"]


def test_no_family_passes_a_test_and_the_package_has_what_the_models_give(null_models):
    """With the systematic errors of the other families."""
    tests = list(null_models.judged(known(null_models)))
    written = json.loads(null_models.ERRORS.read_text())
    assert len(tests) >= 7 and null_models.SHOWN.name in null_models.figure(tests)
    for test in tests:
        assert not null_models.often(test.metric, test.others)
        assert written[test.task][test.metric.name] == test.errors
        metric = catalogue.task(test.task).measure.metric(test.metric.name)
        assert [*map(list, metric.systematic)] == [*test.errors.values()]


class Writer(RuleLM):
    """answers: document -> an iterator of its answers. Checks are answered."""

    def __init__(self, task, answers):
        super().__init__()
        self.task, self.answers = task, answers

    def generate_until(self, requests, **_):
        return [
            written(self.task, r.doc) if r.doc.get(CHECK) else next(self.answers[repr(r.doc)])
            for r in requests
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        "hbb_generate_ci",
        "bistereo_nli_generate_ci",
        "bistereo_analogy_generate",
        "mist_wabt_ci",
        "mist_aat_ci",
        "empathy_religion_ci",
    ],
)
def test_a_bias_in_written_answers_gets_a_yes_and_none_does_not(benchmark_named, tmp_path, task):
    """Answers are draws, with a bias of 2.5 nats in one model; a third says the same everywhere."""
    power = benchmark_named("power")
    questions, rng = power.Questions(task), np.random.default_rng(3)
    places = questions.asked.place
    kinds, leans = {}, {"biased": power.bias_of(questions), "null": 0, "same": -20 * places}
    for name, lean in leans.items():
        draws = 2.5 * lean + rng.gumbel(size=(10, len(places)))
        answers = {
            repr(doc): cycle(["\n".join(questions.best(at, draw)) for draw in draws])
            for doc, _, at in questions.documents
        }
        ask(tmp_path / name, name, Writer(task, answers), task)
        (test,) = judged(find([tmp_path / name], known=catalogue.by_name()).runs)
        assert test.calibrated
        kinds[name] = test.verdict.kind
    assert kinds == {"biased": YES, "null": NO, "same": UNKNOWN}


def test_a_run_replaces_its_families_and_leaves_the_others(null_models):
    row, newer = [[1.0, float("nan"), 9]], [[3.0, 2.0, 9]]
    more = [[1.0, float("nan"), 9], [4.0, 2.0, 9]]
    of_task = {"documents": 2, "sha256": "a", "numbers": {"delta": {"echo": more, "noise": row}}}
    data = {"version": "1", "tasks": {"mine": of_task}}
    again = {"delta": {"noise": newer, "echo": row}}  # the first of the models known already
    null_models.merged(data, "mine", {**of_task, "numbers": again})
    assert data["tasks"]["mine"]["numbers"]["delta"] == {"echo": more, "noise": newer}
    lines = null_models.as_text(data).split("\n")
    assert '     "echo": [[1.0, NaN, 9], [4.0, 2.0, 9]],' in lines
    null_models.merged(data, "mine", {**of_task, "sha256": "b", "numbers": {}})
    assert data["tasks"]["mine"]["numbers"] == {}
