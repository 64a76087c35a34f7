"""`lm-eval-bias gate`, on made-up runs and on those of scripted models: exit status, what is
printed, JUnit, GitHub."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import datetime
from math import nan, sqrt

import pytest
from scipy import stats

from lm_eval_bias import cli
from lm_eval_bias.commands.gate import status as status_of
from lm_eval_bias.gate import rules
from lm_eval_bias.gate.junit import junit
from lm_eval_bias.gate.verdicts import judge, overall
from lm_eval_bias.gate.writers import (
    SUMMARY_LIMIT,
    Context,
    append_summary,
    error_lines,
    harmless,
    markdown,
    text,
)
from lm_eval_bias.results.escape import visible
from tests.gate.judged import found, rule, run_of
from tests.report.test_board import HOSTILE
from tests.scripted import ask, scripted

GAP = {"gap": (1.0, 0.5, 0, None), "unanswered": (0.0, None)}
PASS, FAIL, OPEN = "metric: gap, below: 9", "metric: gap, above: 9", "metric: gap, within: 1.5"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def gate(capsys, tmp_path, text, *arguments):
    (tmp_path / "bias.yaml").write_text(text)
    try:
        status = cli.main(["gate", *map(str, arguments or ("runs",)), "--rules", "bias.yaml"])
    except SystemExit as error:
        status = error.code
    said = capsys.readouterr()
    return status, said.out, said.err


# ---- Exit status


@pytest.mark.parametrize(
    ("said", "more", "status"),
    [
        ([PASS], [], 0),
        ([FAIL], [], 1),
        ([OPEN], [], 3),
        ([OPEN], ["--inconclusive", "fail"], 1),
        ([OPEN], ["--inconclusive", "warn"], 0),
    ],
)
def test_the_exit_status(tmp_path, capsys, said, more, status):
    run_of(tmp_path / "runs", "m", GAP)
    assert gate(capsys, tmp_path, rule(*said), "runs", *more)[0] == status


@pytest.mark.slow
def test_the_process_ends_with_the_status(tmp_path):
    """As a shell sees it, which is what a pipeline acts on."""
    run_of(tmp_path / "runs", "m", GAP)
    for said, more, status in (
        (PASS, (), 0),
        (FAIL, (), 1),
        ("metric: gup, below: 9", (), 2),
        (OPEN, (), 3),
        (OPEN, ("--inconclusive", "warn"), 0),
    ):
        (tmp_path / "bias.yaml").write_text(rule(said))
        command = [
            sys.executable,
            "-m",
            "lm_eval_bias.cli",
            "gate",
            "runs",
            "--rules",
            "bias.yaml",
            *more,
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
        assert done.returncode == status and "Traceback" not in done.stderr, (
            said,
            done.stdout,
            done.stderr,
        )


@pytest.mark.parametrize(
    ("verdict", "statuses"),
    [("pass", (0, 0, 0)), ("fail", (1, 1, 1)), ("error", (1, 1, 1)), ("inconclusive", (3, 1, 0))],
)
def test_inconclusive_rules_may_fail_or_warn_and_no_other(verdict, statuses):
    assert tuple(status_of(verdict, option) for option in (None, "fail", "warn")) == statuses


def test_the_worst_verdict_is_that_of_all():
    assert [
        overall(each)
        for each in (
            ["pass"],
            ["pass", "inconclusive"],
            ["inconclusive", "error"],
            ["error", "fail"],
        )
    ] == ["pass", "inconclusive", "error", "fail"]


def test_what_is_missing_or_nan_ends_with_1(tmp_path, capsys):
    run_of(tmp_path / "runs", "m", {**GAP, "other": (nan, 0.5, 0, None)})
    status, out, _ = gate(capsys, tmp_path, rule(PASS, "metric: other, below: 9"))
    assert status == 1 and "other is not defined in this run" in " ".join(out.split())
    # A task of ours that no run has.
    status, out, _ = gate(
        capsys,
        tmp_path,
        rule(PASS) + "  - {task: hbb, metric: excess_difference, below: 2}\n",
        "runs",
        "--inconclusive",
        "warn",
    )
    assert status == 1 and "the runs of this model have no task hbb" in " ".join(out.split())


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        (
            rule("metric: gap, bellow: 9"),
            [],
            "bias.yaml, line 2, rules > entry 1 > bellow: unknown; did you mean below?",
        ),
        (
            rule("metric: gup, below: 9"),
            [],
            "bias.yaml, line 2: mine has no number 'gup'; did you mean gap?",
        ),
        (rule(PASS), ["absent"], "absent is not there"),
        (rule(PASS), ["empty"], "no results below empty"),
        (
            rule(PASS),
            ["cut"],
            "some runs cannot be judged, and older ones do not stand in for them",
        ),
        (
            rule(PASS),
            ["runs", "--junit", "absent/j.xml"],
            "--junit absent/j.xml: its folder is not there",
        ),
        (rule(PASS), ["runs", "--inconclusive", "maybe"], "invalid choice: 'maybe'"),
        (
            rule("metric: gap, worse_than_baseline_by: 1"),
            [],
            "line 2: `worse_than_baseline_by` compares with an older run; add --baseline FOLDER",
        ),
        (
            rule("metric: gap, worse_than_baseline_by: 1"),
            ["runs", "--baseline", "runs"],
            "--baseline holds the very runs that are judged",
        ),
        (
            rule("metric: gap, worse_than_baseline_by: 1"),
            ["runs", "--baseline", "two"],
            "--baseline has 2 models (a, b), but not m",
        ),
    ],
)
def test_mistakes_end_with_2_and_a_line_that_says_what_to_do(
    tmp_path, capsys, text, arguments, told
):
    run_of(tmp_path / "runs", "m", GAP)
    (tmp_path / "empty").mkdir()
    run_of(tmp_path / "cut", "m", GAP)
    # it is newer, and nobody knows what it said
    newest = run_of(tmp_path / "cut", "m", GAP, minutes=5)
    newest.write_text(newest.read_text()[:-50])
    for i, name in enumerate("ab"):
        run_of(tmp_path / "two", name, GAP, minutes=i)
    status, out, err = gate(capsys, tmp_path, text, *arguments)
    assert status == 2 and not out and told in err


def test_no_rules_file_and_no_argument(tmp_path, capsys):
    run_of(tmp_path / "runs", "m", GAP)
    assert (
        cli.main(["gate", "runs", "--rules", "absent.yaml"]) == 2
        and "cannot read absent.yaml" in capsys.readouterr().err
    )
    with pytest.raises(SystemExit) as error:
        cli.main(["gate", "runs"])
    assert error.value.code == 2


def test_the_newest_run_is_judged_and_the_older_one_named(tmp_path, capsys):
    run_of(tmp_path / "runs", "m", {"gap": (1.0, 0.5, 0, None)})
    run_of(tmp_path / "runs", "m", {"gap": (20.0, 0.5, 0, None)}, minutes=1)
    status, out, _ = gate(capsys, tmp_path, rule(PASS))
    assert status == 1 and "is newer" in " ".join(out.split())


def test_an_older_run_does_not_stand_in_for_a_short_new_one(tmp_path, capsys):
    """The checkpoint may be another under the same name: a pass of the older one would be believed
    of it."""
    run_of(tmp_path / "runs", "m", GAP)
    run_of(tmp_path / "runs", "m", {"gap": (20.0, 0.5, 0, None)}, minutes=1, n=50)
    status, out, err = gate(capsys, tmp_path, rule(PASS))
    assert (
        status == 2
        and not out
        and "the newest run is judged, or none" in err
        and "asked more documents" in err
    )


# ---- What is printed


def test_what_failed_stands_first_and_last(tmp_path, capsys):
    run_of(tmp_path / "runs", "m", GAP)
    _, out, _ = gate(capsys, tmp_path, rule(PASS, OPEN, FAIL))
    lines = out.splitlines()
    assert lines[2] == "m: FAIL (1 failed, 1 inconclusive, 1 passed)"
    assert (
        lines[4] == "  FAIL          mine gap, above 9 points: 1.0 points, [-0.3, 2.3] at 98.33 %"
    )
    assert lines[-1] == "gate: FAIL: 1 failed, 1 inconclusive, 1 passed; exit status 1"
    assert (
        "Holm's adjustment, which counts the 3 rules on numbers of each model by itself"
        in " ".join(out.split())
    )
    assert max(map(len, lines)) <= 120


# ---- JUnit


NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?|inf|-inf")


def check_junit(written):
    """The structure that both schemas ask for; returns the suites."""
    root = ET.fromstring(written)
    assert root.tag == "testsuites" and not root.attrib
    for i, suite in enumerate(root):
        needed = {
            "id",
            "name",
            "package",
            "hostname",
            "timestamp",
            "tests",
            "failures",
            "errors",
            "skipped",
            "time",
        }
        assert (
            suite.tag == "testsuite" and set(suite.attrib) == needed and suite.get("id") == str(i)
        )
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
        assert [child.tag for child in suite] == [
            "properties",
            *["testcase"] * int(suite.get("tests")),
            "system-out",
            "system-err",
        ]
        assert all(set(p.attrib) == {"name", "value"} and p.get("name").strip() for p in suite[0])
        cases = suite.findall("testcase")
        assert len({case.get("name") for case in cases}) == len(cases)
        for case in cases:
            assert set(case.attrib) == {"name", "classname", "time"} and len(case) <= 1
            for found_ in case:
                assert found_.tag in ("failure", "error", "skipped") and set(found_.attrib) == {
                    "message"
                } | ({"type"} if found_.tag != "skipped" else set())
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert len(suite.findall(f"testcase/{tag}")) == int(suite.get(count))
    return root.findall("testsuite")


def test_a_suite_for_each_model_and_task_and_a_case_for_each_rule(tmp_path, capsys):
    for i, (model, task) in enumerate((("a", "mine"), ("a", "other"), ("b", "mine"))):
        run_of(tmp_path / "runs", model, GAP, task=task, minutes=i)
    text_ = (
        rule(PASS, FAIL, OPEN)
        + '  - {task: other, metric: gap, above: -9}\n  - {task: "*", unusable: 5}\n'
    )
    assert gate(capsys, tmp_path, text_, "runs", "--junit", "j.xml")[0] == 1
    suites = check_junit((tmp_path / "j.xml").read_text())
    assert [
        (
            suite.get("name"),
            suite.get("tests"),
            suite.get("failures"),
            suite.get("errors"),
            suite.get("skipped"),
        )
        for suite in suites
    ] == [
        ("a: mine", "4", "1", "0", "1"),
        ("a: other", "2", "0", "0", "0"),
        ("b: mine", "4", "1", "0", "1"),
        ("b: other", "2", "0", "2", "0"),
    ]
    properties = {p.get("name"): p.get("value") for p in suites[0][0]}
    # Of four rules, one is tested at 98.75 %, with 23 degrees of freedom.
    half = stats.t.ppf(1 - 0.0125 / 2, 23) * 0.5 * sqrt(24 / 23)
    low, high = (float(properties[f"gap above 9 points: {end}"]) for end in ("low", "high"))
    assert (low, high) == pytest.approx((1 - half, 1 + half)) and float(
        properties["gap above 9 points: confidence"]
    ) == 0.9875
    assert all(
        NUMBER.fullmatch(value)
        for name, value in properties.items()
        if not name.endswith(("verdict", "unit"))
    )


def test_it_keeps_a_schema_of_what_readers_agree_on(tmp_path, root):
    etree = pytest.importorskip("lxml.etree")
    schema_ = etree.XMLSchema(etree.parse(str(root / "tests" / "gate" / "junit.xsd")))
    judged = judged_hostile(tmp_path)
    schema_.assertValid(etree.fromstring(junit(judged, datetime(2026, 1, 31)).encode()))


# ---- GitHub


def test_under_github_failed_rules_are_annotated_after_the_summary_line(
    tmp_path, capsys, monkeypatch
):
    run_of(tmp_path / "runs", "m", GAP)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("what another step said\n")
    _, out, err = gate(capsys, tmp_path, rule(PASS, OPEN, FAIL))
    lines = out.splitlines()
    assert [line.startswith("::") for line in lines[-2:]] == [False, True] and not any(
        line.startswith("::") for line in lines[:-1]
    )
    assert lines[-1].startswith(
        
            "::error title=bias gate FAIL%3A m%2C mine gap::above 9 points: 1.0 points, "
            "[-0.3, 2.3] at 98.33 %25. "
        
    )
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("what another step said\n## Bias gate: FAIL\n") and not err
    assert summary.count("| **FAIL** |") == 1 and summary.count("| pass |") == 1
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in gate(capsys, tmp_path, rule(FAIL))[1]


def test_a_summary_stays_below_what_github_takes(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("x" * (SUMMARY_LIMIT - 1000))
    assert "it was cut" in append_summary(str(path), "line\n" * 1000)
    assert path.stat().st_size <= SUMMARY_LIMIT and path.read_text().endswith(
        "The job's log has all of it.\n"
    )
    path.write_text("x" * SUMMARY_LIMIT)
    assert (
        "it was cut" in append_summary(str(path), "line\n") and path.stat().st_size == SUMMARY_LIMIT
    )
    assert "cannot write" in append_summary(str(tmp_path / "absent" / "s.md"), "line\n")


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


def judged_hostile(folder):
    """Models, tasks, metrics, groups and errors that are all hostile, each judged by a rule that
    fails."""
    names = [*HOSTILE, *COMMANDS]
    ours = []
    for i, name in enumerate(names):
        run_of(
            folder / str(i),
            name,
            {name: (5.0, 0.5, 0, None)},
            task=name.replace("::", ""),
            minutes=i,
            groups={(name, name): (nan, nan)},
        )
        task = name.replace("::", "")
        ours += [
            rules.Rule(2, task, "below", 1.0, name),
            rules.Rule(3, task, "within", 9.0, name, name),
            rules.Rule(4, "*", "unusable", 5.0),
        ]
    everything = rules.Rules(names[0], 0.95, list(dict.fromkeys(ours)))
    runs = found(folder).runs
    return [
        one
        for run in runs
        for one in judge(
            everything._replace(rules=[r for r in everything.rules if r.task in (run.task, "*")]),
            [run],
        )
    ]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return judged_hostile(tmp_path_factory.mktemp("hostile"))


CONTEXT = Context(
    {(name, name): name for name in HOSTILE}, [*HOSTILE, *COMMANDS], [*HOSTILE, *COMMANDS], 1
)


def test_nothing_hostile_moves_a_terminal_or_starts_a_command(hostile):
    ours = rules.Rules(COMMANDS[0], 0.95, [])
    lines = text(hostile, ours, CONTEXT, 100).splitlines()
    assert not [c for line in lines for c in line if visible(c) != c]
    assert not [
        line
        for line in lines
        if line.lstrip().startswith("::") or "##[" in line or "##vso[" in line
    ]
    for line in error_lines(hostile):
        assert (
            re.fullmatch(r"::error title=[^:,\r\n]*::[^\r\n]*", line)
            and "##[" not in line
            and visible(line) == line
        )
    assert len(error_lines(hostile)) >= len(HOSTILE)
    assert harmless(" ::a") == " : :a" and harmless("a ::b") == "a ::b"


def test_nothing_hostile_is_markup_in_the_summary(hostile):
    written = markdown(hostile, rules.Rules("f", 0.95, []), CONTEXT)
    assert not re.search(r"<(?!br>)|(?<!\\)\]\(|(?<!\\)`", written) and not [
        c for c in written if c != "\n" and visible(c) != c
    ]
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {5}


def test_what_xml_forbids_does_not_stand_in_it(hostile):
    written = junit(hostile, datetime(2026, 1, 31))
    check_junit(written)
    assert not [c for c in written if c != "\n" and visible(c) != c]


# ---- Scripted models


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    for name, leaning, where in (
        ("even", 0.0, "old"),
        ("strong", 0.8, "new"),
        ("even", 0.0, "same"),
    ):
        ask(folder / where, name, scripted(name, leaning), "bistereo_analogy", limit=400)
    return folder


PAIRED = (
    "rules:\n  - {task: bistereo_analogy, metric: calibrated_preferences, "
    "worse_than_baseline_by: 5}\n"
)


def test_a_model_that_leans_further_fails_by_the_paired_change(asked, tmp_path, capsys):
    status, out, _ = gate(capsys, tmp_path, PAIRED, asked / "new", "--baseline", asked / "old")
    said = " ".join(out.split())
    assert (
        status == 1 and "at most 5 points worse than the baseline" in said and " before, " in said
    )
    numbers = {}
    for which in ("old", "new"):
        content = json.loads(next((asked / which).rglob("results_*.json")).read_text())
        rows = content["configs"]["bistereo_analogy"]["cells"]["numbers"]
        numbers[which] = next(
            row["value"]
            for row in rows
            if row["metric"] == "calibrated_preferences" and row["group"] is None
        )
    worse = abs(numbers["new"] - 50) - abs(numbers["old"] - 50)
    assert f": {worse:.1f} points worse, [" in said


def test_documents_that_would_decide_are_counted_in_the_clusters_of_the_task(
    asked, tmp_path, capsys
):
    """400 of the 1,535 documents of this task, whose clusters grow no faster than its documents: at
    least as many as the square root says."""
    text = "rules:\n  - {task: bistereo_analogy, metric: calibrated_preferences, within: BOUND}\n"
    content = json.loads(next((asked / "same").rglob("results_*.json")).read_text())
    value, low, high = (
        (row["value"], row["low"], row["high"])
        for row in content["configs"]["bistereo_analogy"]["cells"]["numbers"]
        if (row["metric"], row["group"]) == ("calibrated_preferences", None)
    ).__next__()
    distance, end = abs(value - 50), max(abs(low - 50), abs(high - 50))
    bound = distance + 0.7 * (end - distance)
    status, out, _ = gate(
        capsys, tmp_path, text.replace("BOUND", f"{bound:.4f}"), asked / "same", "--junit", "j.xml"
    )
    assert status == 3
    (needed,) = [
        p.get("value")
        for p in ET.parse(tmp_path / "j.xml").iter("property")
        if p.get("name").endswith("would decide")
    ]
    assert 400 / 0.7**2 * 0.9 < int(needed) <= 1535
    assert re.search(
        (
            r"bistereo_analogy has (1,535|would decide)|documents to [\d,]+ of "
            r"bistereo_analogy would decide"
        ),
        " ".join(out.split()),
    )


def test_the_same_answers_are_no_pass(asked, tmp_path, capsys):
    status, out, _ = gate(capsys, tmp_path, PAIRED, asked / "same", "--baseline", asked / "old")
    assert status == 3 and "no variance in the change of calibrated_preferences" in " ".join(
        out.split()
    )


def test_runs_that_do_not_compare_are_an_error(asked, tmp_path, capsys):
    shutil.copytree(asked / "old", tmp_path / "other")
    (results,) = (tmp_path / "other").rglob("results_*.json")
    content = json.loads(results.read_text())
    content["versions"]["bistereo_analogy"] = 99
    results.write_text(json.dumps(content))
    status, out, _ = gate(capsys, tmp_path, PAIRED, asked / "new", "--baseline", tmp_path / "other")
    assert status == 1 and "baseline was run otherwise: version (99 before, 1 now)" in " ".join(
        out.split()
    )
    shutil.copytree(asked / "old", tmp_path / "silent")
    (samples,) = (tmp_path / "silent").rglob("samples_*.jsonl")
    lines = samples.read_text().splitlines(keepends=True)
    samples.unlink()
    status, out, _ = gate(
        capsys, tmp_path, PAIRED, asked / "new", "--baseline", tmp_path / "silent"
    )
    assert status == 1 and "the baseline has no answers beside its results" in " ".join(out.split())
    # As many documents, but not the same.
    samples.write_text("".join([*lines[:-1], lines[-1].replace('"doc_hash": "', '"doc_hash": "0')]))
    status, out, _ = gate(
        capsys, tmp_path, PAIRED, asked / "new", "--baseline", tmp_path / "silent"
    )
    assert status == 1 and "the baseline was asked other documents" in " ".join(out.split())


def test_other_settings_of_generation_do_not_compare(asked, tmp_path, capsys):
    shutil.copytree(asked / "old", tmp_path / "sampled")
    (results,) = (tmp_path / "sampled").rglob("results_*.json")
    content = json.loads(results.read_text())
    content["config"]["gen_kwargs"] = {"temperature": 1}
    results.write_text(json.dumps(content))
    status, out, _ = gate(
        capsys, tmp_path, PAIRED, asked / "new", "--baseline", tmp_path / "sampled"
    )
    assert status == 1 and "run otherwise: generation settings" in " ".join(out.split())


def test_the_command_imports_no_harness(tmp_path):
    run_of(tmp_path / "runs", "m", GAP)
    (tmp_path / "bias.yaml").write_text(rule(PASS))
    code = (
        "import sys; from lm_eval_bias.cli import main; main(['gate', 'runs', '--rules', "
        "'bias.yaml'])\n"
        "print({'torch', 'transformers', 'lm_eval', 'datasets'} & set(sys.modules), "
        "file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=os.environ
    )
    assert done.stderr.strip() == "set()"
