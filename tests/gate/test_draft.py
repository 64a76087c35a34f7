"""`gate --init`: the rules that it writes, and what it leaves out."""

import re

import pytest

from lm_eval_bias import catalogue
from tests.gate.judged import parse, run_of
from tests.scripted import ask, chance, scripted

QUESTION = {"gap": (1.0, 0.5, 0, None, "Q")}


@pytest.mark.parametrize(
    "task, excess, shift",
    [
        ("hbb_ci", "excess_log_odds", "log_odds_difference"),
        ("hbb_generate_ci", "excess_difference", "beyond_chance_difference"),
    ],
)
def test_two_models_are_compared_by_what_hbb_shifts_and_one_model_with_placebos(
    task, excess, shift
):
    measure = catalogue.task(task).measure
    one, two = measure.metric(excess), measure.metric(shift)
    assert one.question and (one.between_models, two.better) == (shift, "lower")


@pytest.fixture
def init(command, here):
    """The rules that are written from runs: status, text of the file, what is printed."""

    def run(*arguments):
        status, out, err = command("gate", "--init", "--rules", "bias.yaml", *arguments)
        file = here / "bias.yaml"
        return status, file.read_text() if file.exists() else "", out + err

    return run


def catches(text, metric="gap"):
    """The worsening that the rule of a metric is said to catch."""
    return float(re.search(f"metric: {metric},.*catches a worsening of ([0-9.]+)", text)[1])


PART = {("gap", "a"): (1.0, 0.5)}


@pytest.mark.parametrize("value, groups, least", [(1.0, PART, 3.0), (9, PART, 2.1), (1.0, {}, 2.9)])
def test_what_a_rule_catches_follows_from_the_interval(tmp_path, init, value, groups, least):
    """24 clusters, standard error 0.5; a fifth of 5 % is for parts. Student's t of 23 degrees of
    freedom has its 98th percentile at 2.177 and its 80th at 0.858; two independent models: 0.5 *
    sqrt(2) * (2.177 + 0.858) = 2.15. If the number may change sides, the sum of both decides: of
    equal models 0.5 * 2 * (2.177 + 0.858) = 3.04; without parts (2.069 + 0.858) = 2.93."""
    run_of(tmp_path / "runs", {"gap": (value, 0.5, 0, None, "Q")}, groups=groups)
    status, text, _ = init("runs")
    assert status == 0 and catches(text) == least
    rules = [(r.task, r.metric, r.condition, r.bound) for r in parse(text).rules]
    assert rules == [("mine", "gap", "worse_than_baseline", 0)]


def test_only_tasks_whose_measure_counts_unusable_answers_get_a_cap(tmp_path, init):
    run_of(tmp_path / "runs", {**QUESTION, "refused": (1.0, None)}, task="counts")
    assert parse(init("runs")[1]).rules[-1].task == "*"
    (tmp_path / "bias.yaml").unlink()
    run_of(tmp_path / "runs", QUESTION, task="other")
    text = init("runs")[1]
    assert [r.task for r in parse(text).rules if r.condition == "unusable"] == ["counts"]
    assert "# other: no cap. Its measure counts no such answers." in text


def test_of_two_models_the_wider_interval_counts_and_each_rule_for_holm(tmp_path, init):
    """Two rules, and none of both together, since they are of one task: the 98.75th percentile,
    2.398. 1.0 * 2 * (2.398 + 0.858) = 6.5. A question without a rule takes no part."""
    others = {name: (1.0, error, 0, None, name) for name, error in (("R", 0.1), ("S", 0.0))}
    run_of(tmp_path / "runs", {**QUESTION, **others}, "a")
    run_of(tmp_path / "runs", {"gap": (1.0, 1.0, 0, None, "Q")}, "b", minutes=1)
    text = init("runs")[1]
    assert catches(text) == 6.5
    assert ("*", "worse_than_baseline") not in {(r.task, r.condition) for r in parse(text).rules}


@pytest.mark.parametrize("moved, rules", [(1.0, 1), (20.0, 3)])
def test_a_task_to_which_the_model_does_not_respond_has_no_rule(tmp_path, init, moved, rules):
    """Its attention checks move the answers by 1 point of 100; 5 are needed."""
    responds = {"responds": (moved, 0.1, None, None)}
    run_of(tmp_path / "runs", {**QUESTION, **responds})
    run_of(tmp_path / "other", QUESTION, task="other", minutes=1)
    _, text, _ = init("runs", "other")
    written = [rule for rule in parse(text).rules if rule.condition == "worse_than_baseline"]
    assert len(written) == rules
    assert ("# mine gap: no rule. The model does not respond" in text) == (moved < 5)


@pytest.mark.parametrize(
    "values, more, message",
    [
        ({"gap": (1.0, 0.5, 0, None)}, {}, "no number tests a question"),
        (QUESTION, {"clusters": 9}, "It rests on 9 clusters, and 10 are needed."),
    ],
)
def test_runs_that_give_no_rule_write_no_file(tmp_path, init, values, more, message):
    run_of(tmp_path / "runs", values, **more)
    status, text, printed = init("runs")
    assert status == 2 and not text and message in printed


def test_a_file_that_is_there_is_left_alone(tmp_path, init):
    run_of(tmp_path / "runs", QUESTION)
    (tmp_path / "bias.yaml").write_text("mine")
    status, text, printed = init("runs")
    assert status == 2 and text == "mine" and "is there already" in printed


def test_a_baseline_pairs_the_answers_and_inconclusive_rules_say_how_many_documents(
    tmp_path, init, command
):
    """The paired change of two models that answer alike is known better than that of two models
    which are taken as independent; and the gate reads what --init wrote."""
    for name, spread in (("old", 0), ("new", 0.2)):
        lm = scripted("m", 0.4)
        lm.rule = lambda *texts, r=lm.rule, s=spread: r(*texts) + s * chance("new", *texts)
        ask(tmp_path / name, "org/m", lm, "bistereo_analogy", limit=800)
    alone = catches(init("new")[1], "directed_log_odds")
    (tmp_path / "bias.yaml").unlink()
    assert catches(init("new", "--baseline", "old")[1], "directed_log_odds") < alone
    row = "task: bistereo_analogy, metric: directed_preferences"
    (tmp_path / "own.yaml").write_text(
        f"rules:\n  - {{{row}, within: 1}}\n  - {{{row}, below: 70}}\n"
    )
    status, out, _ = command("gate", "new", "--rules", "own.yaml")
    assert status in (1, 3)
    said = " ".join(out.split())
    assert re.search(r"at most about [\d,]+ documents, so ask bistereo_analogy in", said) or (
        "perhaps not with this benchmark: with all 2,213 documents" in said
    ), said
