"""docs/several_machines.md: its scripts, as processes of one machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# The command with one more model: its likelihoods are chance, by the texts alone.
LM_EVAL = f"""#!{sys.executable}
from lm_eval.api.registry import register_model
from tests.rule_model import RuleLM
from tests.scripted import chance

@register_model("chance")
class Chance(RuleLM):
    def __init__(self, **_):
        super().__init__(rule=lambda *texts: -1 - chance(*texts))

from lm_eval.__main__ import cli_evaluate
cli_evaluate()
"""


@pytest.mark.slow
def test_the_scripts_of_the_docs_run_parts_side_by_side_and_merge_them_into_the_whole(
    root, tmp_path
):
    task, command = "mist_wabt_likelihood", tmp_path / "bin" / "lm_eval"
    command.parent.mkdir()
    command.write_text(LM_EVAL)
    command.chmod(0o755)
    path = os.pathsep.join([str(command.parent), str(Path(sys.executable).parent), os.defpath])
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    asked = ["--model", "chance", "--tasks", task, "--metadata", "samples=3"]
    scripts = root / "docs" / "examples" / "shards"

    def start(*words, **more):
        return subprocess.Popen(words, cwd=tmp_path, env={**env, **more})

    part = ["bash", scripts / "part.sh", *asked]
    running = [start("lm_eval", *asked, "--output_path", "whole")] + [
        start(*part, SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="3") for i in (1, 2, 3)
    ]
    assert [process.wait() for process in running] == [0] * 4
    assert start("bash", scripts / "merge.sh", task).wait() == 0
    merged = json.loads((tmp_path / "merged" / f"{task}.json").read_text())
    (whole,) = (tmp_path / "whole").rglob("results_*.json")
    cells = json.loads(whole.read_text())["configs"][task]["cells"]
    assert merged["documents"] == merged["of"] == 3 * 180
    assert json.dumps(cells).replace("NaN", "null") == json.dumps(merged["cells"])
