"""Models without meaning: what they have fails the check, and what they have not passes."""

from math import sqrt
from statistics import fmean, stdev

import pytest

from lm_eval_bias.data import null_bands
from lm_eval_bias.measure import Measure, Metric, Number, Summary


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


def log_odds(doc, results):
    return {"x": results[0][0] - results[1][0]}


def average(records, **_):
    x = [r["x"] for r in records]
    half = 1.96 * stdev(x) / sqrt(len(x))
    return Summary({"echoed": Number(fmean(x), half / 1.96, fmean(x) - half, fmean(x) + half)})


@pytest.mark.slow
def test_a_number_that_echo_has_is_no_test_unless_it_is_declared(null_models):
    """In an analogy the unbiased word is that of the prompt."""
    questions = null_models.Questions("bistereo_analogy")
    questions.measure = Measure(log_odds, average, [ECHOED])
    rows = {f: null_models.numbers_of(questions, f, 20)["echoed"] for f in ("echo", "noise")}
    assert rows["echo"][0] == 20 and rows["echo"][4] > 90 and rows["echo"][1] > 0
    assert null_models.failures(ECHOED, rows) == ["echo"]
    assert null_models.failures(ECHOED._replace(confounds=("echo",)), rows) == []


@pytest.mark.parametrize(
    ("models", "excluded", "fails"),
    [(200, 7.0, False), (200, 7.5, True), (40, 10.0, False), (40, 12.5, True)],
)
def test_seven_percent_or_what_chance_allows(null_models, models, excluded, fails):
    """Binomial of 40 with 5 %: P(4 or more) = 0.14, P(5 or more) = 0.048."""
    rows = {"noise": [models, 0.0, -1.0, 1.0, excluded]}
    assert null_models.failures(ECHOED, rows) == (["noise"] if fails else [])


@pytest.mark.slow
@pytest.mark.parametrize("task", ["hbb_ci", "bistereo_nli_ci", "bistereo_pairs_ci", "mist_wabt"])
def test_the_bands_are_of_these_documents(null_models, task):
    """Where this fails, items changed: run `make null-models` and commit what it writes."""
    questions, known = null_models.Questions(task), null_bands.null_models()[task]
    assert questions.sha256() == known["sha256"]
    assert len(questions.documents) == known["documents"]


def test_no_family_has_a_number_that_tests_something(null_models):
    tested = list(null_models.tested({"tasks": null_bands.null_models()}))
    assert len(tested) >= 7
    assert not [
        found for *_, metric, rows in tested if (found := null_models.failures(metric, rows))
    ]


def test_a_run_replaces_its_families_and_leaves_the_others(null_models):
    row, newer = [40, 0.0, -1.0, 1.0, 5.0], [200, 0.0, -1.0, 1.0, 4.0]
    known = {"documents": 2, "sha256": "a", "numbers": {"delta": {"echo": row, "noise": row}}}
    data = {"version": "1", "tasks": {"mine": known}}
    null_models.merged(data, "mine", {**known, "numbers": {"delta": {"noise": newer}}})
    assert data["tasks"]["mine"]["numbers"] == {"delta": {"echo": row, "noise": newer}}
    lines = null_models.as_text(data).split("\n")
    assert '     "noise": [200, 0.0, -1.0, 1.0, 4.0]' in lines
    null_models.merged(data, "mine", {**known, "sha256": "b", "numbers": {}})
    assert data["tasks"]["mine"]["numbers"] == {}
