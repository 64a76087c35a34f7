"""`lm-eval-bias gate`, on made-up runs and on those of scripted models: exit status, what is
printed, JUnit, GitHub."""

import re
import shutil
import xml.etree.ElementTree as ET
from datetime import datetime
from math import nan
from types import SimpleNamespace

import pytest
from lm_eval.api.registry import get_model

from lm_eval_bias.commands import gate as gate_command
from lm_eval_bias.commands.gate import status
from lm_eval_bias.data import small_model
from lm_eval_bias.gate import rules
from lm_eval_bias.gate.junit import junit
from lm_eval_bias.gate.page import annotation_lines, page
from lm_eval_bias.gate.verdicts import KEPT, Verdict, judge
from lm_eval_bias.measure import Metric
from lm_eval_bias.results.escape import harmless, shortened, visible
from lm_eval_bias.results.paired import Difference
from lm_eval_bias.show.page import text
from tests.gate.judged import found, rule, run_of
from tests.hostile import HOSTILE
from tests.scripted import ask, scripted

GAP = {"gap": (1.0, 0.5, 0, None), "unanswered": (0.0, None)}
PASS, FAIL, OPEN = "metric: gap, below: 9", "metric: gap, above: 9", "metric: gap, within: 1.5"
CHANGE = "metric: gap, worse_than_baseline_by: 1"


@pytest.fixture
def one_run(tmp_path):
    run_of(tmp_path / "runs", GAP)


@pytest.fixture
def gate(command, here, monkeypatch):
    """Judges by rules: the exit status, all of standard output as one line, standard error."""
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)

    def run(text, *arguments):
        (here / "bias.yaml").write_text(text)
        status, out, err = command("gate", "--rules", "bias.yaml", *(arguments or ["runs"]))
        return status, " ".join(out.split()), err

    return run


# ---- Exit status


@pytest.mark.parametrize(
    "row, more, status",
    [
        (PASS, "", 0),
        (FAIL, "", 1),
        (OPEN, "", 3),
        (OPEN, "--inconclusive fail", 1),
        (OPEN, "--inconclusive warn", 0),
        (FAIL, "--inconclusive warn", 1),
        ("metric: gap, below: 2.1", "", 0),
        ("metric: gap, below: 2.1", "--nightly 30", 3),
    ],
)
def test_the_exit_status(gate, row, more, status, one_run):
    assert gate(rule(row), "runs", *more.split())[0] == status


def test_a_task_of_ours_that_no_run_has_ends_with_1(gate, one_run):
    missing = rule(PASS) + "  - {task: hbb, metric: excess_difference, below: 2}\n"
    status, out, _ = gate(missing, "runs", "--inconclusive", "warn")
    assert status == 1 and "the runs of this model have no task hbb" in out


@pytest.mark.parametrize(
    "row, arguments, message",
    [
        (PASS, "cut", "some runs cannot be judged, and older ones do not stand in for them"),
        (PASS, "runs --junit absent/j.xml", "--junit absent/j.xml: there is no folder absent"),
        (PASS, "runs --nightly 0", "--nightly 0: expected how many runs are planned"),
        (CHANGE, "", "line 2: `worse_than_baseline_by` compares with an older run; add --baseline"),
        (CHANGE, "runs --baseline runs", "--baseline holds the very runs that are judged"),
        (CHANGE, "runs --baseline two", "--baseline has 2 models (a, b), but not m"),
        (PASS, "asked", "mine of m was asked in 2 conditions, and one is"),
        # the checkpoint may be another under the same name
        (PASS, "short", "covers more documents"),
        (PASS, "short", "the newest run is judged, or none"),
    ],
)
def test_mistakes_end_with_2_and_a_line_that_says_what_to_do(
    tmp_path, gate, row, arguments, message, one_run
):
    run_of(tmp_path / "cut", GAP)
    # it is newer, and nobody knows what it said
    newest = run_of(tmp_path / "cut", GAP, minutes=5)
    newest.write_text(newest.read_text()[:-50])
    for i, name in enumerate("ab"):
        run_of(tmp_path / "two", GAP, name, minutes=i)
        run_of(tmp_path / "asked", GAP, minutes=i, chat_template_sha=name * i * 64)
        run_of(tmp_path / "short", GAP, minutes=i, n=100 - 50 * i)
    status, out, err = gate(rule(row), *arguments.split())
    assert status == 2 and not out and message in err


# ---- What is printed


def test_a_baseline_that_cannot_be_saved_leaves_the_verdicts(gate, one_run):
    status, out, err = gate(rule(FAIL), "runs", "--save", "b.json.xz")
    assert status == 2 and "FAIL" in out and "--log_samples" in err


def test_what_failed_stands_first_and_last(gate, command, one_run):
    _, out, _ = gate(rule(PASS, OPEN, FAIL), "runs", "--verbose")
    method = "Holm's adjustment, which counts the 3 rules on numbers of each model by itself"
    assert method in out and "FAIL above 9 points 1.0 points, [-0.3, 2.3] at 98.3 %" in out
    lines = command("gate", "--rules", "bias.yaml", "runs")[1].splitlines()
    assert method not in " ".join(" ".join(lines).split())
    assert lines[2] == "m: FAIL (1 failed, 1 inconclusive, 1 passed)"
    assert lines[3].startswith("  FAIL: mine gap: over its bound by 8.0 points")
    assert lines[-1] == lines[0]
    assert lines[-1] == "gate: FAIL: 1 failed, 1 inconclusive, 1 passed; exit status 1"
    assert max(map(len, lines)) <= 120


# ---- JUnit


@pytest.fixture
def checked(root):
    """Reads JUnit that keeps the schema of what readers agree on; returns the suites."""
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(root / "tests" / "gate" / "junit.xsd")))

    def read(written):
        schema.assertValid(etree.fromstring(written.encode()))
        suites = list(ET.fromstring(written.encode()))
        for i, suite in enumerate(suites):
            assert suite.get("id") == str(i)
            names = [case.get("name") for case in suite.findall("testcase")]
            assert len(set(names)) == len(names) == int(suite.get("tests"))
            for tag in ("failure", "error", "skipped"):
                count = suite.get("skipped" if tag == "skipped" else f"{tag}s")
                assert len(suite.findall(f"testcase/{tag}")) == int(count)
        return suites

    return read


def test_worse_but_within_the_bound_is_a_state_of_its_own(checked):
    kept = Verdict(rules.Rule(2, "mine", "worse_than_baseline_by", 3.0, "gap"), "mine", None, KEPT)
    judged, none = {"m": [kept]}, rules.Rules("f", 0.95, [])
    shown = text(page(judged, none, {}, status(KEPT, None)), 120)
    assert shown.startswith(f"gate: {KEPT}: 1 {KEPT}; exit status 0\n") and f" {KEPT} " in shown
    (suite,) = checked(written := junit(judged, datetime(2026, 1, 31)))
    assert suite.get("failures") == "0" and f"{KEPT}: gap at most 3" in written
    (line,) = annotation_lines(judged)
    assert line.startswith(f"::warning title=bias gate {KEPT.replace(',', '%2C')}%3A m%2C mine gap")
    of_change = kept.rule._replace(condition="worse_than_baseline")
    (line,) = annotation_lines({"m": [Verdict(of_change, "mine", None, KEPT)]})
    assert "::must not be significantly worse than the baseline" in line


def test_a_suite_for_each_model_and_task_and_a_case_for_each_rule(tmp_path, gate, checked):
    for i, (model, task) in enumerate((("a", "mine"), ("a", "other"), ("b", "mine"))):
        run_of(tmp_path / "runs", GAP, model, task=task, minutes=i)
    more = '  - {task: other, metric: gap, above: -9}\n  - {task: "*", unusable: 5}\n'
    assert gate(rule(PASS, FAIL, OPEN) + more, "runs", "--junit", "j.xml")[0] == 1
    suites = checked((tmp_path / "j.xml").read_text())
    counts = ("name", "tests", "failures", "errors", "skipped")
    assert [tuple(map(suite.get, counts)) for suite in suites] == [
        ("a: mine", "4", "1", "0", "1"),
        ("a: other", "2", "0", "0", "0"),
        ("b: mine", "4", "1", "0", "1"),
        ("b: other", "2", "0", "2", "0"),
    ]


# ---- GitHub


def test_under_github_failed_rules_are_annotated_and_the_summary_has_a_table(
    tmp_path, gate, command, monkeypatch, one_run
):
    (tmp_path / "bias.yaml").write_text(rule(PASS, OPEN, FAIL))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("what another step said\n")
    _, out, err = command("gate", "runs", "--rules", "bias.yaml")
    *others, failed, undecided = out.splitlines()
    assert not any(line.startswith("::") for line in others)
    assert undecided.startswith("::warning title=bias gate inconclusive%3A m%2C mine gap::within")
    assert failed.startswith(
        "::error title=bias gate FAIL%3A m%2C mine gap::above 9 points: 1.0 points, "
        "[-0.3, 2.3] at 98.3 %25. "
    )
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("what another step said\n# Bias gate: FAIL\n") and not err
    assert summary.count("| FAIL |") == 1 and summary.count("| pass |") == 1


# ---- Hostile names

COMMANDS = [
    "::set-env name=A::b",
    "x\n::error::gone",
    "##[add-path]/tmp",
    "a%0A::error::b",
    "##vso[task.complete]",
    "::stop-commands::x",
    "]]>",
    "<![CDATA[",
    "\ufffe\uffff",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Models, metrics and groups that are all hostile, each judged by rules that fail."""
    folder = tmp_path_factory.mktemp("hostile")
    judged = {}
    for i, name in enumerate([*HOSTILE, *COMMANDS]):
        groups = {(name, name): (nan, nan)}
        run_of(folder / str(i), {name: (5.0, 0.5, 0, None)}, name, groups=groups)
        number = shortened(name)
        ours = [
            rules.Rule(2, "mine", "below", 1.0, number),
            rules.Rule(3, "mine", "within", 9.0, number, number),
        ]
        judged |= judge(rules.Rules(name, 0.95, ours), found(folder / str(i)).runs)
    return judged


def test_nothing_hostile_moves_a_terminal_or_starts_a_command(hostile):
    lines = [*HOSTILE, *COMMANDS]
    remarks = {"Notes": lines, "Settings of the runs": lines}
    shown = text(page(hostile, rules.Rules(COMMANDS[0], 0.95, []), remarks, 1), 100).splitlines()
    assert not [c for line in shown for c in line if visible(c) != c]
    assert not [line for line in shown if re.match(r"\s*::|.*##(vso)?\[", line)]
    assert harmless(" ::a") == " : :a" and harmless("a ::b") == "a ::b"
    notes = annotation_lines(hostile)
    assert len(notes) >= len(HOSTILE) and all(visible(line) == line for line in notes)
    assert all(re.fullmatch(r"::(error|warning) title=[^:,]*::.*", line) for line in notes)
    assert not any("##[" in line for line in notes)


def test_what_xml_forbids_does_not_stand_in_it(hostile, checked):
    written = junit(hostile, datetime(2026, 1, 31))
    checked(written)
    assert not [c for c in written if c != "\n" and visible(c) != c]


# ---- Scripted models

TASK = "bistereo_analogy"
NUMBER = "directed_preferences"
PAIRED = f"rules:\n  - {{task: {TASK}, metric: {NUMBER}, worse_than_baseline_by: 2}}\n"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    for name, leaning, where in (("even", 0.0, "old"), ("strong", 0.8, "new")):
        ask(folder / where, name, scripted(name, leaning), TASK, limit=600)
    shutil.copytree(folder / "old", folder / "same")
    return folder


def test_a_model_that_leans_further_fails_by_the_paired_change(
    asked, gate, tmp_path, checked, monkeypatch
):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    more = ("--verbose", "--junit", tmp_path / "j.xml")
    status, out, _ = gate(PAIRED, asked / "new", "--baseline", asked / "old", *more)
    assert status == 1 and "at most 2 points worse than the baseline" in out and " before, " in out
    (suite,) = checked((tmp_path / "j.xml").read_text())
    written = suite.find("testcase/failure").text, (tmp_path / "summary.md").read_text()
    for shown in (out, *written):  # each names three analogies
        assert len(re.findall(r"\d\S* of it: [^;\n]+::", shown)) == 3
    new, old = (abs(found(asked / of).runs[0].number(NUMBER).value - 50) for of in ("new", "old"))
    assert f" {new - old:.1f} points worse, [" in out


def test_a_failed_change_has_what_placebos_leave_beside_it(monkeypatch):
    metrics = Metric("raw", "nats", ""), Metric("gap", "nats", "", raw="raw")
    change = Difference(0.5, 0.75, 0.25, 0.1, 0.05, 0.45, 0.01, 20)
    monkeypatch.setattr(gate_command, "difference", lambda *sides: change)
    pair = SimpleNamespace(two=SimpleNamespace(metrics=metrics), runs=(None, None))
    line = "gap, less what placebos get: 0.500 before, 0.750 now, changed by 0.250 nats "
    assert list(gate_command._beside(pair, ("raw", None))) == [f"{line}[0.050, 0.450]"]
    assert not list(gate_command._beside(pair, ("gap", None)))


def test_the_same_answers_are_no_pass(asked, gate):
    status, out, _ = gate(PAIRED, asked / "same", "--baseline", asked / "old")
    assert status == 3 and f"the change of {NUMBER} has zero variance" in out


# ---- The small real model

CHANGES = {
    **dict.fromkeys(("base", "sham", "planted"), lambda w: w.clone()),
    "eight bits": lambda w: (w / (step := w.abs().amax(1, keepdim=True) / 127)).round() * step,
    "noisy": lambda w: w + 0.02 * w.std() * w.new_empty(w.shape).normal_(),
}


@pytest.mark.slow
@pytest.mark.model
def test_a_rounded_noisy_or_sham_model_does_not_fail_and_a_planted_one_does(
    model_folder, tmp_path, gate, root
):
    """Under a limit no rule passes, so what does not fail is inconclusive. skin-sham: `planted.py
    skin --sham --steps 60 --seed 1`, in half precision."""
    from torch import manual_seed

    manual_seed(0)
    adapters = {"sham": root / "tests" / "gate" / "skin-sham", "planted": "skin"}
    lm = get_model("hf-prefix")(str(model_folder), device="cpu", dtype="float32", batch_size=64)
    weights = {name: w.data for name, w in lm.model.named_parameters() if w.ndim == 2}
    rules = PAIRED.replace(NUMBER, "directed_log_odds").replace("_by: 2", ": significantly")
    for name, change in CHANGES.items():
        for weight, before in weights.items():
            lm.model.get_parameter(weight).data = change(before)
        if name in adapters:
            small_model.plant(lm.model, adapters[name])
        ask(tmp_path / name, name, lm, TASK, limit=200)
        if name != "base":
            status, out, _ = gate(rules, tmp_path / name, "--baseline", tmp_path / "base")
            assert (status, "1 failed" in out) == ((1, True) if name == "planted" else (3, False))
