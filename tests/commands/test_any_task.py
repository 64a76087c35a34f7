"""Metrics of tasks that nobody wrote a measure for, from files that the harness wrote of scripted
models: `compare`, gate rules, and the table of other tasks."""

import re
import shutil
from statistics import mean, stdev

import pytest
import yaml

from tests.rule_model import RuleLM
from tests.scripted import ask, edited, lines_of, made_up, write_lines

SUBJECTS = [f"subject {i}" for i in range(12)]
QUESTIONS = [
    {"question": f"Is {i} of {subject} right?", "subject": subject, "level": None}
    for subject in SUBJECTS
    for i in range(3)
]
CODE = """
def process_results(doc, results):
    yes, no = (likelihood for likelihood, _ in results)
    return {"right": yes > no, "nats": yes - no, "both": (0, int(yes < no))}
"""
QUESTION = {"dataset_path": "json", "test_split": "test", "doc_to_text": "{{question}}"}
CHOICE = {"output_type": "multiple_choice", "doc_to_choice": ["yes", "no"], "doc_to_target": 0}


def metrics(**higher_is_better):
    return [
        {"metric": name, "aggregation": "mean", "higher_is_better": higher}
        for name, higher in higher_is_better.items()
    ]


def kept(name, *patterns):
    steps = [{"function": "regex", "regex_pattern": p} for p in patterns]
    return {"name": name, "filter": [*steps, {"function": "take_first"}]}


TASKS = {
    "quiz": {**CHOICE, "metric_list": metrics(acc=True)},
    "quiz_twice": {**CHOICE, "metric_list": metrics(acc=True)},
    "nats": {
        **CHOICE,
        "process_results": "CODE",
        "metric_list": [*metrics(right=True, nats=False), {"metric": "both", "aggregation": "f1"}],
    },
    "written": {
        "output_type": "generate_until",
        "doc_to_target": "yes",
        "filter_list": [kept("strict", "^(yes)$"), kept("loose", "(yes)")],
        "metric_list": metrics(exact_match=True),
    },
}


def knows(wrong):
    """A model that says yes, the right answer, but for the questions whose numbers are given."""
    texts = {QUESTIONS[i]["question"] for i in wrong}

    def rule(context, continuation):
        # 1 nat, and a part that the task alone decides
        return (-1.0 if continuation.strip() == "no" else 0.0) * (-1 if context in texts else 1)

    return RuleLM(rule, lambda prompt: "no" if prompt in texts else "I say yes")


# Of twelve subjects of three questions each: how many either model has wrong.
LOST = {"one": [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0], "two": [0, 1, 0, 2, 1, 0, 3, 0, 1, 1, 0, 2]}
WRONG = {
    name: [3 * s + i for s, lost in enumerate(of_subjects) for i in range(lost)]
    for name, of_subjects in LOST.items()
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of each model."""
    folder = tmp_path_factory.mktemp("any")
    data = folder / "data.jsonl"
    twice = folder / "twice.jsonl"
    for file, questions in ((data, QUESTIONS), (twice, [*QUESTIONS, QUESTIONS[0]])):
        write_lines(file, questions)
    (folder / "nats_code.py").write_text(CODE)
    for name, config in TASKS.items():
        files = {"data_files": {"test": str(twice if name == "quiz_twice" else data)}}
        config = {"task": name, **QUESTION, **config, "dataset_kwargs": files}
        text = yaml.safe_dump(config).replace("CODE", "!function nats_code.process_results")
        (folder / f"{name}.yaml").write_text(text)
    for name, wrong in WRONG.items():
        ask(folder / name, name, knows(wrong), *TASKS, include=[folder])
    return folder


@pytest.fixture
def compare(command, runs, tmp_path, monkeypatch):
    """The rows, or the sentence of the error; and what is printed, as one line."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        file = tmp_path / "rows.jsonl"
        arguments = ("compare", runs / "one", runs / "two", *arguments)
        status, out, err = command(*arguments)
        if status:
            return err, " ".join(out.split())
        command(*arguments, "--output", file)
        return lines_of(file), " ".join(out.split())

    return run


def test_documents_of_a_subject_are_a_cluster(compare):
    """The jackknife's error of a mean of clusters of equal size is the standard deviation of their
    means, over the root of their number. The other task has a question twice: Holm counts two."""
    by_subject = [100 * (a - b) / 3 for a, b in zip(*LOST.values(), strict=True)]
    tasks = ("--task", "quiz", "--task", "quiz_twice")
    rows, out = compare("--metric", "acc", *tasks, "--cluster", "subject")
    row, twice = sorted(rows, key=lambda row: row["task"])
    assert row["difference"] == pytest.approx(mean(by_subject)) == -25
    assert row["stderr"] == pytest.approx(stdev(by_subject) / 12**0.5)
    assert (row["clusters"], row["documents"], row["unit"]) == (12, 36, "%")
    assert (twice["documents"], twice["tests"]) == (37, 2)
    assert twice["difference"] == pytest.approx(100 * (2 + 1 - 11) / 37)
    assert "quiz: clusters are those of the column subject" in out


def test_each_document_is_a_cluster_where_none_is_named(compare):
    of_one, of_two = ([i in WRONG[name] for i in range(36)] for name in WRONG)
    changes = [100 * (a - b) for a, b in zip(of_one, of_two, strict=True)]
    (row,), out = compare("--metric", "acc", "--task", "quiz")
    assert row["stderr"] == pytest.approx(stdev(changes) / 6) and row["clusters"] == 36
    assert "each document is a cluster of its own" in out and "question, subject, level" in out


def test_real_numbers_have_no_unit_and_the_direction_of_the_results(compare):
    """Each question that is wrong has -1 nat in place of 1: 9 more of 36."""
    (row,), _ = compare("--metric", "nats", "--task", "nats")
    assert row["difference"] == pytest.approx(-2 * 9 / 36) and row["unit"] == ""
    assert row["towards"] == "better"  # lower is, says the YAML
    (row,), _ = compare("--metric", "right", "--task", "nats")  # true and false
    assert (row["difference"], row["towards"]) == (pytest.approx(-25), "worse")


def test_a_filter_chooses_its_lines_of_the_samples(compare):
    (row,), _ = compare("--metric", "exact_match,loose", "--task", "written")
    assert row["difference"] == pytest.approx(-25)
    (row,), _ = compare("--metric", "exact_match,strict", "--task", "written", "--cluster", "level")
    assert row["first_value"] == 0 and row["why"] == "the answers are the same"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("--metric both --task nats", "line 1: both of a document is no number: [0, 1]"),
        ("--metric foo --task nats", "'foo'; expected one of nats, right"),
        ("--metric acc --task quiz --cluster subjet", "no column 'subjet'; did you mean subject?"),
        ("--metric exact_match --task written", "name one: exact_match,strict, exact_match,loose"),
        ("--metric exact_match,los --task written", "no filter 'los'; did you mean loose?"),
        ("--metric acc --task quis", "quis: it has no samples there (--log_samples); did you mean"),
        ("--metric acc", "--metric METRIC and --task TASK go together"),
    ],
)
def test_what_is_not_there_is_one_sentence(compare, arguments, message):
    error, _ = compare(*arguments.split())
    assert message in error and len(error.splitlines()) == 1


# ---- Rules of a gate


@pytest.fixture
def gate(command, runs, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run(*rules, judged=runs / "two", baseline=runs / "one", more=("--verbose",)):
        file = tmp_path / "bias.yaml"
        file.write_text("rules:\n" + "".join(f"  - {{{rule}}}\n" for rule in rules))
        status, out, err = command("gate", judged, "--rules", file, "--baseline", baseline, *more)
        return status, " ".join(out.split()), err

    return run


WORSE = "worse_than_baseline_by: 1"


def test_rules_on_any_metric(gate):
    """25 points of the right answers are lost; of the nats, less is better, and they are less."""
    status, out, err = gate(f"task: quiz, metric: acc, cluster: subject, {WORSE}")
    assert (
        status == 1 and "25.0 points worse" in out and "94.4 before, 69.4 now, 12 clusters" in out
    )
    assert "quiz: clusters are those of the column subject" in err
    nats = "task: nats, metric: nats, worse_than_baseline: significantly"
    status, out, err = gate(nats, "task: nats, metric: right, above: 40")
    assert status == 0 and "0.5 better" in out and "each document is a cluster of its own" in err


def test_a_baseline_keeps_the_values_of_a_metric(gate, runs, tmp_path):
    rule, kept = f"task: written, metric: 'exact_match,loose', {WORSE}", tmp_path / "kept.json.xz"
    gate(rule, judged=runs / "one", baseline=runs / "two", more=("--save", kept))
    _, of_file, _ = gate(rule, baseline=kept, more=())
    _, of_folder, _ = gate(rule, more=())
    assert "over its bound by 24.0 points" in of_file and of_file == of_folder


def test_a_direction_is_said_where_no_file_knows_it_and_never_turned_round(gate, runs, tmp_path):
    rule = f"task: quiz, metric: acc, {WORSE}"
    _, _, err = gate(f"{rule}, better: lower")
    assert "better: lower would turn it round; acc of quiz: %, higher is better" in err
    for name in ("one", "two"):
        shutil.copytree(runs / name, tmp_path / name)
        (results,) = (tmp_path / name).rglob("results_*.json")
        with edited(results) as content:
            del content["higher_is_better"]["quiz"], content["configs"]["quiz"]["metric_list"]
    where = {"judged": tmp_path / "two", "baseline": tmp_path / "one"}
    _, _, err = gate(rule, **where)
    assert "line 2: acc of quiz has no direction that is worse; say `better: lower` or" in err
    assert "25.0 points worse" in gate(f"{rule}, better: higher", **where)[1]
    assert "25.0 points better" in gate(f"{rule}, better: lower", **where)[1]


@pytest.mark.parametrize(
    "rules, message",
    [
        (["task: quiz, metric: ac, above: 1"], "line 2: quiz has no metric with a number for"),
        (["task: hbb, metric: mean_difference, cluster: x, above: 1"], "hbb has clusters of its"),
        (
            [
                f"task: quiz, metric: acc, {part}"
                for part in ("cluster: level, above: 1", "below: 9")
            ],
            "one kind of number for all rules on quiz; line 3 has another",
        ),
    ],
)
def test_what_a_rule_cannot_name(gate, rules, message):
    status, _, err = gate(*rules)
    assert status == 2 and message in err


def test_tasks_without_a_measure_stand_in_a_table_of_their_own(
    runs, command, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    made_up(tmp_path / "mine", {"gap": (2.0, 0.5, 0, None)}, "one")
    _, out, _ = command("leaderboard", runs / "two", tmp_path / "mine")
    assert re.search(r"written +two +exact_match +loose +0\.6944 +n = 36", out)
    assert (
        "without a verdict" in out and "nats, quiz, quiz_twice, written: without a measure" in out
    )
    report = tmp_path / "report"
    command("report", runs / "two", tmp_path / "mine", "--output", report, "--no_figures")
    page = (report / "index.html").read_text()
    assert "Other tasks" in page and "<td>0.6944" in page.replace(' class="t"', "")
