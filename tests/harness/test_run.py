"""Runs by the command line of the harness, and what their files are worth."""

import json
import math
import os
import re
import subprocess
import sys
from importlib.metadata import version
from unittest.mock import MagicMock

import pytest
from lm_eval.loggers import EvaluationTracker

from lm_eval_bias import cli
from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.harness.saving import check_files
from lm_eval_bias.usage import UsageError
from tests.cut_off import full_cache
from tests.started import run_lm_eval

KINDS = ("results", "samples")
THREE = ["--model", "dummy", "--model_args", "pretrained=none", "--log_samples", "--limit", "2"]
THREE += ["--tasks", "bistereo_analogy,mist_aat,bistereo_pairs_height", "--output_path"]


def test_two_equal_runs_write_equal_files(tmp_path):
    """But for times and the folder in the command."""
    runs = []
    for name in ("first", "second"):
        done = run_lm_eval([*THREE, tmp_path / name])
        assert done.returncode == 0, done.stderr
        files = {}
        for path in (tmp_path / name / "none").iterdir():
            text = path.read_text().replace(str(tmp_path / name), "OUT")
            files[path.name.split("_2")[0]] = text
            assert not re.search(" at 0x", text)
        results = json.loads(files.pop("results"))
        del results["date"], results["total_evaluation_time_seconds"]
        runs.append((json.dumps(results), files))
    assert runs[0] == runs[1] and len(runs[0][1]) == 3


def test_a_run_without_files_says_what_it_loses_and_none_is_hidden_or_full_of_nothing(tmp_path):
    """`--model_args pretrained=.tiny` lies in tiny; errors of errors, and keys that no document has
    a value for, are nowhere."""
    ask = ["--model", "dummy", "--model_args", "pretrained=.tiny", "--limit", "2"]
    ask += ["--tasks", "bistereo_pairs_height"]
    silent = run_lm_eval(ask)
    assert "without --output_path nothing is saved" in silent.stderr
    assert "without --log_samples the answers are not saved" in silent.stderr
    done = run_lm_eval([*ask, "--log_samples", "--output_path", tmp_path])
    assert "without --" not in done.stderr
    (results,), (samples,) = (list((tmp_path / "tiny").glob(f"{kind}_*")) for kind in KINDS)
    names = json.loads(results.read_text())["results"]["bistereo_pairs_height"]
    errors = {name for name in names if "_stderr," in name}
    assert {"raw_gap_stderr,none", "unanswered_stderr,none"} < errors
    assert not [name for name in errors if name.startswith("records") or "stderr_" in name]
    (row,) = (line for line in done.stdout.splitlines() if "|records" in line.replace(" ", ""))
    assert "N/A" not in row and "±" not in row
    for line in samples.read_text().splitlines():
        assert None not in {**json.loads(line), "resps": "", "filtered_resps": ""}.values()


@pytest.mark.parametrize("times, where", [(0, "out"), (1, "here"), (2, "temporary"), (3, "out")])
def test_torn_samples_move_with_all_files_of_their_run(tmp_path, monkeypatch, caplog, times, where):
    """Writing fails so many times. Elsewhere the files are as they would have been."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    check_files("a")
    sample = dict.fromkeys(("resps", "filtered_resps", "target"), "")
    sample |= {"doc": MagicMock(), "arguments": [("prompt\u2028", "answer")]}
    sample["doc"].__str__.side_effect = [OSError("no space")] * times + ["document"]
    tracker.save_results_aggregated({"results": {}, "configs": {"a": {}}})
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
    nowhere = "nor in the working directory or the temporary folder. Make room and run again"
    assert caplog.text.count(nowhere) == (times == 3)
    assert caplog.text.count(f"are in {files['results'].parent} instead") == (0 < times < 3)


def test_a_cache_that_is_full_costs_no_answer(tmp_path):
    """Of any type of request. The run ends as one without a cache, and with status 1."""
    full = tmp_path / "full_rank0.db"
    count = full_cache(full, 3)
    numbers = []
    for name, more in (("plain", []), ("cached", ["--use_cache", tmp_path / "full"])):
        done = run_lm_eval([*THREE, tmp_path / name, *more])
        assert done.returncode == len(more) // 2, done.stderr
        (results,) = (tmp_path / name).rglob("results_*")
        numbers.append(json.loads(results.read_text())["results"])
        assert len([*(tmp_path / name).rglob("samples_*")]) == 3
    assert numbers[0] == numbers[1] and count() == 3
    sentence = f"the cache {full} takes no more answers (database or disk is full): "
    assert sentence in done.stderr.splitlines()[-1] and done.stderr.count(sentence) == 2
    assert "Traceback" not in done.stderr and "Outer stack" not in done.stderr
    # a launcher ends all processes where one ends with another status
    done = run_lm_eval([*THREE, tmp_path / "second", *more], env={"RANK": "1"})
    assert done.returncode == 0 and done.stderr.count(sentence) == 1


def test_no_mistake_steers_the_terminal(capsys):
    """Such as one that has the words of a server."""
    sys.excepthook(UsageError, UsageError("a\x1b[2J"), None)
    assert capsys.readouterr().err == "lm-eval-bias: a\\x1b[2J\n"


BROKEN = """
from lm_eval_bias.benchmarks.hbb.measure import HBB

def fail(records, **options):
    raise ArithmeticError("nothing adds up")

BROKEN = HBB._replace(counted=HBB.counted._replace(units=fail))
"""


YAML = """
include: {folder}/hbb/hbb.yaml
task: broken
measure: !function broken.BROKEN
"""


def test_an_error_in_the_numbers_costs_neither_samples_nor_other_tasks(tmp_path, capsys):
    """Through the command line. `merge` makes the numbers once the error is mended."""
    (tmp_path / "broken.yaml").write_text(YAML.format(folder=tasks_folder()))
    (tmp_path / "broken.py").write_text(BROKEN)
    command = ["--model", "dummy", "--include_path", tmp_path, "--tasks", "hbb,broken"]
    command += ["--limit", "156", "--log_samples", "--output_path", tmp_path / "out"]
    done = run_lm_eval(command)
    assert done.returncode == 1 and "ArithmeticError: nothing adds up" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "lm-eval-bias: no numbers for broken; see the error above"
    )
    assert "|broken|" in done.stdout and "|hbb   |" in done.stdout
    results = json.loads(next(tmp_path.rglob("results_*.json")).read_text())
    assert results["configs"]["broken"]["error"] == "ArithmeticError: nothing adds up"
    assert math.isnan(results["results"]["broken"]["mean_difference,none"])
    assert results["results"]["hbb"]["instances,none"] == 67
    assert "error" not in results["configs"]["hbb"]
    (samples,) = tmp_path.rglob("samples_broken_*.jsonl")
    assert len(samples.read_text().splitlines()) == 156
    mended = BROKEN.replace("raise", "return HBB.counted.units(records, **options)\n    raise")
    (tmp_path / "broken.py").write_text(mended)
    assert cli.main(["merge", "broken", str(samples), "--include_path", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "broken: 156 documents of 1 file\n" in printed
    assert re.search(r"^instances +67 +count", printed, re.M), printed


def test_an_index_that_cannot_be_extended_is_reported(tmp_path, root):
    """A harness of the future, as far as it is imported here."""
    folder = tmp_path / "lm_eval" / "tasks"
    folder.mkdir(parents=True)
    for name in ("", "models", "api"):
        (folder.parent / name).mkdir(exist_ok=True)
        (folder.parent / name / "__init__.py").write_text("")
    (folder.parent / "api" / "registry.py").write_text("def load_plugins(): ...\n")
    (folder / "__init__.py").write_text("from . import _index\n")
    (folder / "_index.py").write_text("class TaskIndex:\n    def of(self): ...\n")
    done = subprocess.run(
        [sys.executable, "-c", "import lm_eval_bias, lm_eval.tasks"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"lm-eval-bias: lm_eval {version('lm_eval')} builds its task index in another way than "
        "0.4.13; the bias tasks are found only with --include_path "
        f"{tasks_folder()}"
    ]
