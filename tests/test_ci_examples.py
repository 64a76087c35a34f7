"""docs/how-to/ci.md and docs/examples/ci: the workflows, line by line as they stand there. What
asks a model is replaced by made-up runs. The release workflow beside them: what it claims."""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from lm_eval_bias import __version__, catalogue
from lm_eval_bias.gate import rules

BASH = ("bash", "-eo", "pipefail", "-c")
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
assert len(cache.rpartition("answers/")[2]) == 16, cache
assert arguments.model == "hf-prefix", arguments.model
assert arguments.apply_chat_template and arguments.log_samples
tasks = arguments.tasks if isinstance(arguments.tasks, str) else ",".join(arguments.tasks)
assert tasks == "implicit_bias_ci", tasks
model = str(arguments.model_args)
for i, (task, numbers) in enumerate(json.loads(Path("made.json").read_text()).items()):
    values = {name: (value, 0.001) for name, value in numbers.items()}
    values |= dict.fromkeys(("unanswered", "invalid", "unparsed"), (0.0, None))
    values["responds"] = (9.0, 0.1)
    run_of(Path(str(arguments.output_path)), values, "checkpoint", task=task, minutes=i)
"""


@pytest.fixture
def example(root):
    return root / "docs" / "examples" / "ci"


def test_the_rules_of_the_example_and_the_docs_are_about_the_group_for_ci(root, example, tmp_path):
    group = catalogue.read(Path(catalogue.tasks_folder(), "implicit_bias_ci.yaml"))["task"]
    (shown,) = re.findall(r"(?s)```yaml\n(.*?)```", (root / "docs/how-to/ci.md").read_text())
    (tmp_path / "bias.yaml").write_text(shown)
    document = rules.read(tmp_path / "bias.yaml")
    conditions = [rule.condition for rule in document.rules]
    assert set(conditions) == {*rules.CONDITIONS} - {rules.ABOVE}
    for read in (document, rules.read(example / "bias.yaml")):
        tasks = {rule.task for rule in read.rules} - {"*"}
        rules.check(read, [], {name: catalogue.task(name) for name in tasks}, ["a baseline"])
        assert tasks <= set(group)


def github(example):
    """The steps of action.yml, with the inputs of the example."""
    (job,) = yaml.safe_load((example / "github.yml").read_text())["jobs"].values()
    given = job["steps"][-1]["with"]
    action = yaml.safe_load((example.parents[2] / "action.yml").read_text())
    assert set(given) <= set(action["inputs"])
    context = {f"inputs.{k}": v.get("default") for k, v in action["inputs"].items()}
    context |= {f"inputs.{name}": value for name, value in given.items()}
    # the runs are made up, and have no samples
    context |= {"inputs.baseline": "", "github.event.pull_request.number": "7"}
    steps = [step for step in action["runs"]["steps"] if "run" in step]
    variables = {name: value for step in steps for name, value in step.get("env", {}).items()}
    lines = [step["run"].replace(" --save bias/baseline.json.xz", "") for step in steps]
    return lines, {"GITHUB_ACTION_PATH": "."} | {
        name: context[value.strip("${ }")] for name, value in variables.items()
    }


def bash(script, folder, env):
    return subprocess.run([*BASH, script], cwd=folder, env=env, capture_output=True, text=True)


def gitlab(example):
    job = yaml.safe_load((example / "gitlab.yml").read_text())["bias"]
    lines = [line.replace(" --baseline baseline.json.xz", "") for line in job["script"]]
    return lines, job["variables"]  # the runs are made up, and have no samples


@pytest.fixture(scope="module")
def package(root):
    parser = configparser.RawConfigParser()
    parser.read(root / "setup.cfg")
    return parser["metadata"]


def test_the_examples_install_this_version_from_the_source(example, package):
    """The name is not registered; an installation that is not pinned changes the instrument."""
    source = re.search(r"^Source = (.*)", package["project_urls"], re.M)[1]
    lines, variables = gitlab(example)
    assert variables["PACKAGE"] == f"lm-eval-bias[hf] @ git+{source}@v{__version__}"
    assert 'pip install "$PACKAGE"' in lines
    (job,) = yaml.safe_load((example / "github.yml").read_text())["jobs"].values()
    name = "/".join(source.split("/")[-2:])
    assert job["steps"][-1]["uses"] == f"{name}@v{__version__}"


def test_the_release_workflow_does_what_setup_cfg_and_the_docs_say(root, package, tmp_path):
    jobs = yaml.safe_load((root / ".github/workflows/release.yml").read_text())["jobs"]
    check, address, *build = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert "\n   ".join(build) in (root / "docs" / "releasing.md").read_text()
    tried = jobs["try"]["strategy"]["matrix"]["python"]
    claimed = re.findall(r"Python :: (3\.\d+)", package["classifiers"])
    assert claimed and set(claimed) <= set(tried) and jobs["publish"]["needs"] == "try"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}

    def status(line, tag="v" + __version__, cwd=root):
        return subprocess.run(
            [*BASH, line], cwd=cwd, env=os.environ | {"GITHUB_REF_NAME": tag}
        ).returncode

    assert not status(check) and status(check, tag="v9.9.9")
    (tmp_path / "docs" / "examples").mkdir(parents=True)
    for owner, fails in (("OWNER", True), ("somebody", False)):
        (tmp_path / "setup.cfg").write_text(f"Source = https://github.com/{owner}/lm-eval-bias\n")
        assert bool(status(address, cwd=tmp_path)) == fails


def test_the_test_workflow_does_what_ci_run_does(root):
    (job,) = yaml.safe_load((root / ".github/workflows/test.yml").read_text())["jobs"].values()
    targets = re.findall("^make ([a-z-]+)$", (root / ".ci/run").read_text(), re.M)
    assert len(targets) > 3 and job["strategy"]["matrix"]["target"] == targets
    assert job["steps"][-1]["run"] == "make ${{ matrix.target }}"


@pytest.mark.slow
@pytest.mark.parametrize("workflow", [github, gitlab])
def test_a_workflow_runs_as_written(workflow, example, root, tmp_path):
    lines, variables = workflow(example)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "run.py").write_text(LM_EVAL)
    commands = {
        "lm_eval": f'exec {sys.executable} {folder}/run.py "$@"',
        "lm-eval-bias": f'exec {sys.executable} -m lm_eval_bias "$@"',
        "pip": "echo pip",
        "gh": "true",
    }
    for name, program in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{program}\n")
        (folder / name).chmod(0o755)
    rules_text = (example / "bias.yaml").read_text()
    # there is no baseline
    rules_text = re.sub(r'.*task: "\*", worse.*\n', "", rules_text)
    rules_text = rules_text.replace(f"{rules.SIGNIFICANT}: significantly", f"{rules.BELOW}: 0.5")
    (tmp_path / "bias.yaml").write_text(rules_text)
    # each number in the rules is that of a model without bias
    made = {}
    for rule in rules.read(example / "bias.yaml").rules:
        if rule.metric:
            metrics = {m.name: m for m in catalogue.task(rule.task).measure.metrics}
            made.setdefault(rule.task, {})[rule.metric] = metrics[rule.metric].null_value or 0
    (tmp_path / "made.json").write_text(json.dumps(made))
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "model.safetensors").write_text("1")
    env = {
        **os.environ,
        **{name: value for name, value in variables.items() if "$" not in value},
        "MODEL": "checkpoint",
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(root),
        "GITHUB_ENV": str(tmp_path / "env"),
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_REPOSITORY": "o/r",
    }
    (tmp_path / "env").touch()
    if workflow is gitlab:  # one shell for all lines
        lines = ["\n".join(lines)]
    for line in lines:
        env |= dict(x.split("=", 1) for x in (tmp_path / "env").read_text().splitlines())
        done = bash(line, tmp_path, env)
        assert done.returncode == 0, done.stdout + done.stderr
    (written,) = tmp_path.rglob("gate.xml")
    suites = ET.parse(written).getroot()
    assert {suite.get("name").partition(": ")[2] for suite in suites} == set(made)
    assert "Bias gate" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    "workflow, show", [(github, 'cat "$GITHUB_ENV"'), (gitlab, 'echo "CHECKPOINT=$CHECKPOINT"')]
)
def test_a_checkpoint_is_named_by_what_its_links_lead_to(workflow, show, example, tmp_path):
    def name(folder):
        lines = [line for line in workflow(example)[0] if "find" in line]
        env = os.environ | {"MODEL": str(folder), "GITHUB_ENV": str(tmp_path / "env")}
        return bash("\n".join([*lines, show]), tmp_path, env)

    named = []
    for content in ("one", "two"):
        snapshot, blob = tmp_path / content / "snapshots" / "1a2b", tmp_path / content / "blobs"
        snapshot.mkdir(parents=True)
        blob.write_text(content)
        (snapshot / "model.safetensors").symlink_to("../../blobs")
        copy = shutil.copytree(snapshot, tmp_path / f"copy_{content}")
        assert not (copy / "model.safetensors").is_symlink()
        named += [name(folder).stdout.splitlines()[-1] for folder in (snapshot, copy)]
    assert named[0] == named[1] != named[2] == named[3]
    assert all(re.fullmatch("CHECKPOINT=[0-9a-f]{16}", checksum) for checksum in named)
    for file in ("config.json", "training_args.bin", "model_1/config.json"):
        (tmp_path / "rest" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "rest" / file).touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "one" / "blobs").unlink()  # now the link leads nowhere
    for folder in ("empty", "rest", "none", "one/snapshots/1a2b"):
        done = name(folder)
        assert (
            done.returncode == 1
            and f"found no weights (.safetensors, .gguf, model.bin) in '{folder}'" in done.stdout
        )


# Its requests; what GitHub answers is filtered by the same language as gh's.
GH = """#!/bin/sh
echo "$@" >>gh_calls
case "$*" in
    "api graphql -f query={viewer{login}} "*) answer=viewer ;;
    "api --paginate repos/o/r/issues/7/comments "*) answer=comments ;;
    *) exit ;;
esac
for filter; do true; done
jq -r "$filter" $answer
"""


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_the_action_edits_its_own_comment_and_no_strangers(example, tmp_path):
    (step,) = (line for line in github(example)[0] if "gh api" in line)
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "bias").mkdir()
    (tmp_path / "bias" / "verdict.md").write_text("Bias gate: passed")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RULES": "bias.yaml", "NUMBER": "7"}
    own, mark = "github-actions[bot]", "<!-- lm-eval-bias gate bias.yaml -->"
    viewer = {"data": {"viewer": {"login": own}}}
    (tmp_path / "viewer").write_text(json.dumps(viewer))
    strange = [("stranger", mark), (own, "another gate"), (own, f"see {mark}")]
    for comments, request in (
        (strange, "repos/o/r/issues/7/comments"),
        ([*strange, (own, mark), (own, mark), *strange], "-X PATCH repos/o/r/issues/comments/4"),
    ):
        listed = [
            {"id": i, "user": {"login": login}, "body": f"{body}\nBias gate: failed"}
            for i, (login, body) in enumerate(comments)
        ]
        (tmp_path / "comments").write_text(json.dumps(listed))
        done = bash(step, tmp_path, env | {"GITHUB_REPOSITORY": "o/r"})
        assert done.returncode == 0, done.stderr
        *_, sent = (tmp_path / "gh_calls").read_text().splitlines()
        assert sent == f"api {request} -F body=@bias/comment.md"
    assert (tmp_path / "bias" / "comment.md").read_text() == f"{mark}\nBias gate: passed"
