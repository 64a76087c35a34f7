"""What is said before the first request of a run, and what its files are worth after the last."""

import json
import re
from unittest.mock import MagicMock

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


UNLUCKY = """
import resource
from lm_eval_bias.benchmarks.mist.measure import AAT
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
"""


def test_what_cannot_be_saved_whole_is_named_at_the_end_with_status_1(tmp_path):
    base = f"include: {tasks_folder()}/mist/mist_aat.yaml"
    (tmp_path / "unlucky.yaml").write_text(f"{base}\ntask: unlucky\nmeasure: !function u.AAT\n")
    (tmp_path / "u.py").write_text(UNLUCKY)
    command = [*DUMMY, "--include_path", ".", "--tasks", "unlucky", "--limit", "60"]
    done = run_lm_eval([*command, "--output_path", "out"], tmp_path)
    assert done.returncode == 1 and "unlucky" in done.stdout and not (tmp_path / "none").exists()
    last = done.stderr.splitlines()[-1]
    assert last.startswith("lm-eval-bias: out/none/")
    assert last.endswith(
        " could not be saved whole, nor in the working directory or the temporary folder. Make "
        "room and run again"
    )


@pytest.mark.parametrize(
    ("times", "where"), [(0, "out"), (1, "here"), (2, "temporary"), (3, "out")]
)
def test_torn_samples_move_with_all_files_of_their_run(tmp_path, monkeypatch, caplog, times, where):
    """Writing fails so many times. Elsewhere the files are as they would have been."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    Saving(tracker)
    sample = dict.fromkeys(("resps", "filtered_resps", "target"), "")
    sample |= {"doc": MagicMock(), "arguments": [("prompt\u2028", "answer")]}
    sample["doc"].__str__.side_effect = [OSError("no space")] * times + ["document"]
    tracker.save_results_aggregated({"results": {}})
    tracker.save_results_samples("a", [{**sample, "doc": "document"}])
    tracker.save_results_samples("b", [sample])
    files = {p.name.split("_2")[0]: p for p in tmp_path.rglob("*") if p.is_file()}
    assert files.keys() == {"results", "samples_a", "samples_b"}
    assert {path.relative_to(tmp_path).parts[0] for path in files.values()} == {where}
    a, b = (files[f"samples_{task}"].read_text() for task in "ab")
    assert b == ("" if times == 3 else a)
    assert json.loads(a)["arguments"] == {
        "gen_args_0": {"arg_0": "prompt\u2028", "arg_1": "answer"}
    }
    assert caplog.text.count("could not be saved whole") == (times > 0)
    assert caplog.text.count(f"are in {files['results'].parent} instead") == (0 < times < 3)


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
            "hbb,bistereo_pairs_height",
            {"system_instruction": "x", "apply_chat_template": True},
            "bistereo_pairs_height: sentences",
        ),
        ("hbb", {"metadata": {"order": "paper", "reasoning": True}}, "'reasoning'"),
        ("hbb,mist_aat", {"metadata": {"order": "paper", "reasoning": True}}, None),
        ("hbb", {"metadata": {"pretrained": "x"}, "model_args": {"pretrained": "x"}}, None),
        ("hbb", {"metadata": {"pretrained": "x"}, "model_args": "dtype=y,pretrained=x"}, None),
        ("hbb", {"num_fewshot": 0, "system_instruction": "x"}, None),
    ],
)
def test_an_option_that_changes_nothing_is_said(tasks, arguments, expected):
    sentences = ignored(load(*tasks.split(","))["tasks"], arguments)
    assert ignored({"other": object()}, arguments) == []  # may take any metadata
    assert len(sentences) == (expected is not None)
    assert all(expected in sentence for sentence in sentences)
