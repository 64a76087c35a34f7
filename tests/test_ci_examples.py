"""docs/ci.md and docs/examples/ci: the workflows, line by line as they stand there. What asks a
model is replaced by made-up runs."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import yaml

from lm_eval_bias import catalogue
from lm_eval_bias.gate import rules

# Parses its options as the harness does, and writes results of the tasks in the rules.
LM_EVAL = """
import sys, json
sys.argv[0] = "lm_eval"
from lm_eval._cli.harness import HarnessCLI
if sys.argv[1] not in ("run", "ls", "validate"):
    sys.argv.insert(1, "run")
arguments = HarnessCLI().parse_args()
from pathlib import Path
from tests.gate.judged import run_of
cache = arguments.use_cache
assert cache.startswith("answers/") and len(cache) == len("answers/") + 16, cache
assert arguments.apply_chat_template and arguments.log_samples
tasks = arguments.tasks if isinstance(arguments.tasks, str) else ",".join(arguments.tasks)
assert tasks == "implicit_bias_ci", tasks
model = str(arguments.model_args)
for i, (task, numbers) in enumerate(json.loads(Path("made.json").read_text()).items()):
    values = {name: (value, 0.001) for name, value in numbers.items()}
    values |= {"unanswered": (0.0, None), "invalid": (0.0, None)}
    run_of(Path(str(arguments.output_path)), "checkpoint", values, task=task, minutes=i)
"""


@pytest.fixture(scope="module")
def example(root):
    return root / "docs" / "examples" / "ci"


def test_the_rules_of_the_example_are_about_the_group_for_ci(example):
    read = rules.read(example / "bias.yaml")
    known = {task.name: task for task in catalogue.tasks()}
    rules.check(
        read,
        {
            name: task.measure.metrics if any(r.task == name for r in read.rules) else ()
            for name, task in known.items()
        },
        {},
        False,
    )
    group = catalogue.read(
        next(
            path
            for path in map(type(example), [f"{catalogue.tasks_folder()}/implicit_bias_ci.yaml"])
        )
    )
    assert {rule.task for rule in read.rules} - {"*"} <= set(group["task"])


def test_the_rules_in_the_docs_are_rules(root):
    (text,) = re.findall(
        r"```yaml\n(.*?)```", (root / "docs" / "ci.md").read_text(encoding="utf-8"), re.DOTALL
    )
    read = rules.parse(text, "docs/ci.md")
    assert [rule.condition for rule in read.rules] == [
        "below",
        "within",
        "worse_than_baseline_by",
        "unusable",
    ]
    known = {
        task.name: task.measure.metrics
        for task in map(catalogue.task, {r.task for r in read.rules} - {"*"})
    }
    rules.check(read, known, {}, True)


def github(example):
    (job,) = yaml.safe_load((example / "github.yml").read_text())["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step], job["env"]


def gitlab(example):
    job = yaml.safe_load((example / "gitlab.yml").read_text())["bias"]
    return job["script"], job["variables"]


@pytest.mark.slow
@pytest.mark.parametrize("workflow", [github, gitlab])
def test_a_workflow_runs_as_written(workflow, example, root, tmp_path):
    lines, variables = workflow(example)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "asked.py").write_text(LM_EVAL)
    commands = {
        "lm_eval": f'exec {sys.executable} {folder}/asked.py "$@"',
        "lm-eval-bias": f'exec {sys.executable} -m lm_eval_bias.cli "$@"',
        "pip": "echo pip",
    }
    for name, program in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{program}\n")
        (folder / name).chmod(0o755)
    shutil.copy(example / "bias.yaml", tmp_path)
    # each number in the rules is 0
    made = {}
    for rule in rules.read(example / "bias.yaml").rules:
        if rule.metric:
            made.setdefault(rule.task, {})[rule.metric] = 0.0
    (tmp_path / "made.json").write_text(json.dumps(made))
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "weights").write_text("1")
    environment = {
        **os.environ,
        **{name: value for name, value in variables.items() if "$" not in value},
        "MODEL": "checkpoint",
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(root),
        "GITHUB_ENV": str(tmp_path / "env"),
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    if workflow is gitlab:  # one shell for all lines
        lines = ["\n".join(lines)]
    for line in lines:
        if (tmp_path / "env").exists():
            environment |= dict(
                each.split("=", 1) for each in (tmp_path / "env").read_text().splitlines()
            )
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    suites = ET.parse(tmp_path / "gate.xml").getroot()
    assert {suite.get("name").partition(": ")[2] for suite in suites} == set(made)
    assert "Bias gate" in (tmp_path / "summary.md").read_text()


def test_the_workflows_do_the_same(example):
    ours, theirs = (
        " ".join(" ".join(lines).replace("\\\n", " ").split())
        for lines, _ in (github(example), gitlab(example))
    )
    for command in (
        "lm_eval --model hf-prefix",
        "lm-eval-bias gate runs --rules bias.yaml --junit gate.xml",
    ):
        assert command in ours and command in theirs
