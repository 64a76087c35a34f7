"""What is said before the first request of a run, and what its files are worth after the last."""

import json
import re

import pytest
from lm_eval.loggers import EvaluationTracker

from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.harness.run import Saving, ignored
from tests.rule_model import load
from tests.started import run_lm_eval

DUMMY = ["--model", "dummy", "--model_args", "pretrained=none", "--log_samples"]


def test_a_path_that_cannot_be_written_ends_before_any_request(tmp_path):
    (tmp_path / "file").touch()
    command = [*DUMMY, "--tasks", "mist_aat", "--limit", "2"]
    done = run_lm_eval([*command, "--output_path", tmp_path / "file" / "results.json"])
    assert done.returncode == 1 and "Running conversation" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"lm-eval-bias: cannot write to {tmp_path}/file: File exists. Nothing was computed; give "
        "another --output_path"
    )


TASK = """
include: {folder}/mist/mist_aat.yaml
task: unlucky
measure: !function unlucky.UNLUCKY
"""
# After the model's work, to the process or the folder.
FATES = {
    "full": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))",
    "gone": "import os; os.rmdir('out/none'); os.rmdir('out'); open('out', 'w')",
}
MEASURE = """
from lm_eval_bias.benchmarks.mist.measure import AAT

def summary(records, **options):
    if len(records) > 50:
        {fate}
    return AAT.summary(records, **options)

UNLUCKY = AAT._replace(summary=summary)
"""


@pytest.mark.parametrize("fate", FATES)
def test_what_cannot_be_saved_whole_is_named_at_the_end_with_status_1(tmp_path, fate):
    (tmp_path / "unlucky.yaml").write_text(TASK.format(folder=tasks_folder()))
    (tmp_path / "unlucky.py").write_text(MEASURE.format(fate=FATES[fate]))
    command = [*DUMMY, "--include_path", ".", "--tasks", "unlucky,mist_aat", "--limit", "60"]
    done = run_lm_eval([*command, "--output_path", "out"], tmp_path)
    assert done.returncode == 1 and "unlucky" in done.stdout
    last = done.stderr.splitlines()[-1]
    if fate == "full":
        begin, end = "out/none/results", "Make room and run again"
        assert not (tmp_path / "none").exists() and done.stderr.count(end) == 2
    else:
        begin, end = "out/none/results", f"all files of this run are in {tmp_path}/none instead"
        names = {path.name.split("_2")[0] for path in (tmp_path / "none").iterdir()}
        assert names == {"results", "samples_mist_aat", "samples_unlucky"}
    assert last.startswith(f"lm-eval-bias: {begin}") and last.endswith(end)


class Full:
    """Part of an answer, which the disk is full for at the first so many times."""

    def __init__(self, times):
        self.times = times

    def __str__(self):
        self.times -= 1
        if self.times >= 0:
            raise OSError("No space left on device")
        return "answer"


@pytest.mark.parametrize(("times", "where"), [(0, "out"), (1, "here"), (2, "temporary"), (3, None)])
def test_torn_samples_move_with_all_files_of_their_run(tmp_path, monkeypatch, caplog, times, where):
    for folder in ("here", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    tracker.general_config_tracker.model_name_sanitized = "m"
    Saving(tracker)
    parts = dict.fromkeys(("resps", "filtered_resps", "target"), "")
    sample = {**parts, "arguments": [("prompt\u2028", "answer")], "doc": ""}
    samples = {"a": [sample], "b": [sample, {**sample, "doc": Full(times)}]}
    tracker.save_results_aggregated({"results": {}})
    for task, of_task in samples.items():
        tracker.save_results_samples(task_name=task, samples=of_task)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path).parts[0] for path in files} == {where or "out"}
    lines = {p.name.split("_2")[0]: p.read_text().split("\n")[:-1] for p in files}
    assert lines.keys() == {"results", "samples_a", "samples_b"}
    assert len(lines["samples_b"]) == (2 if where else 1)
    saved = json.loads(lines["samples_a"][0])
    assert saved["arguments"] == {"gen_args_0": {"arg_0": "prompt\u2028", "arg_1": "answer"}}
    errors = [r.message for r in caplog.records if r.name == "lm_eval_bias.harness.run"]
    assert len(errors) == (times > 0)
    if where and errors:
        assert "samples_b_2" in errors[0] and f"{files[0].parent} instead" in errors[0]


def test_two_equal_runs_write_equal_files(tmp_path):
    """But for times. Options that change nothing are said once a run, not once a task."""
    tasks = "hbb_ci,mist_aat,mist_wabt,bistereo_pairs_height"
    command = [*DUMMY, "--tasks", tasks, "--limit", "2", "--num_fewshot", "3"]
    command += ["--metadata", '{"colour": "blue"}', "--output_path"]
    runs = []
    for name in ("first", "second"):
        done = run_lm_eval([*command, tmp_path / name])
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("--num_fewshot 3 changes nothing") == 1
        assert done.stderr.count("'colour' in --metadata changes nothing") == 1
        files = {}
        for path in (tmp_path / name / "none").iterdir():
            text = files[path.name.split("_2")[0]] = path.read_text()
            assert not re.search(" at 0x", text)
        results = json.loads(files.pop("results"))
        del results["date"], results["total_evaluation_time_seconds"]
        runs.append((json.dumps(results), files))
    assert runs[0] == runs[1] and len(runs[0][1]) == 4


@pytest.mark.parametrize(
    ("tasks", "arguments", "expected"),
    [
        (
            "mist_wabt,bistereo_pairs_height",
            {"system_instruction": "x", "apply_chat_template": True},
            "bistereo_pairs_height: sentences",
        ),
        ("hbb", {"metadata": {"order": "paper"}}, None),
        ("hbb", {"metadata": {"reasoning": True}}, "'reasoning'"),
        ("mist_aat", {"metadata": {"reasoning": True}}, None),
        ("hbb", {"metadata": {"pretrained": "x"}, "model_args": {"pretrained": "x"}}, None),
        ("hbb", {"num_fewshot": 0, "system_instruction": "x"}, None),
    ],
)
def test_an_option_that_changes_nothing_is_said(tasks, arguments, expected):
    sentences = ignored(load(*tasks.split(","))["tasks"], arguments)
    assert len(sentences) == (expected is not None)
    assert all(expected in sentence for sentence in sentences)


def test_tasks_of_others_may_take_any_metadata():
    tasks = load("hbb")["tasks"]
    assert ignored({**tasks, "other": object()}, {"metadata": {"colour": 1}}) == []
