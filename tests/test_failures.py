"""An error after the model's work, through the command line: nothing of it is lost, and the command
says so."""

import json
import os
import subprocess
import sys

import pytest

YAML = """
include: {folder}/hbb/hbb.yaml
task: hbb_broken
measure: !function broken.BROKEN
"""
PYTHON = """
from lm_eval_bias.benchmarks.hbb.measure import HBB

def summary(records, **options):
    raise ZeroDivisionError("one of the numbers")

BROKEN = HBB._replace(summary=summary)
"""


@pytest.fixture(scope="module")
def run(root, tmp_path_factory):
    """hbb and a twin of it whose summary raises, asked of the harness's dummy model."""
    from lm_eval_bias.catalogue import tasks_folder

    mine, output = tmp_path_factory.mktemp("mine"), tmp_path_factory.mktemp("output")
    (mine / "hbb_broken.yaml").write_text(YAML.format(folder=tasks_folder()))
    (mine / "broken.py").write_text(PYTHON)
    command = [
        sys.executable,
        "-m",
        "lm_eval",
        "--model",
        "dummy",
        "--include_path",
        str(mine),
        "--tasks",
        "hbb,hbb_broken",
    ]
    options = ["--limit", "116", "--log_samples", "--output_path", str(output)]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return mine, output, done


def test_the_command_ends_with_status_1_after_its_tables(run):
    _, _, done = run
    assert done.returncode == 1
    assert "|hbb_broken|" in done.stdout and "|hbb       |" in done.stdout
    assert (
        done.stderr.splitlines()[-1]
        == "lm-eval-bias: no numbers for hbb_broken; see the error above"
    )
    assert "ZeroDivisionError: one of the numbers" in done.stderr


def test_the_results_name_the_error_and_hold_the_other_task(run):
    _, output, _ = run
    results = json.loads(next(output.rglob("results_*.json")).read_text())
    assert results["configs"]["hbb_broken"]["error"] == "ZeroDivisionError: one of the numbers"
    assert (
        results["results"]["hbb"]["instances,none"] == 67
        and "error" not in results["configs"]["hbb"]
    )
    assert all(
        v != v
        for k, v in results["results"]["hbb_broken"].items()
        if k.endswith(",none") and "_stderr" not in k
    )


def test_merge_makes_the_numbers_once_the_error_is_mended(run):
    """The same as those of hbb, but for the draws of a dummy model."""
    mine, output, _ = run
    samples = next(output.rglob("samples_hbb_broken_2*.jsonl"))
    assert len(samples.read_text().splitlines()) == 116
    command = [
        sys.executable,
        "-m",
        "lm_eval_bias.cli",
        "merge",
        "hbb_broken",
        str(samples),
        "--include_path",
        str(mine),
    ]
    still = subprocess.run(command, capture_output=True, text=True)
    assert still.returncode != 0
    (mine / "broken.py").write_text(
        PYTHON.replace(
            "raise ZeroDivisionError",
            "return HBB.summary(records, **options)\n    raise ZeroDivisionError",
        )
    )
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        "hbb_broken: 116 documents of 1 file\n" in done.stdout
        and "instances" in done.stdout
        and "67.0000 count" in done.stdout
    )
