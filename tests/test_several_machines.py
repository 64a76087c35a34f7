"""docs/how-to/gpus_and_processes.md: its scripts, as processes of one machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rule_model import RuleLM
from tests.scripted import ask, chance
from tests.started import FEW_TASKS

# The command with one more model: its likelihoods are chance, by the texts alone.
LM_EVAL = f"""#!{sys.executable}
{FEW_TASKS}
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


ALL = """
set -- --model chance --tasks mist_wabt_likelihood --metadata samples=1
for i in 1 2; do
    SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=2 bash $0/part.sh "$@" &
done
wait && bash $0/merge.sh mist_wabt_likelihood
"""


@pytest.mark.slow
def test_the_scripts_run_parts_side_by_side_and_merge_them_into_the_whole(root, tmp_path):
    command = tmp_path / "lm_eval"
    command.write_text(LM_EVAL)
    command.chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-c", ALL, root / "docs" / "examples" / "shards"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        check=True,
    )
    task = "mist_wabt_likelihood"
    merged = json.loads((tmp_path / "merged" / f"{task}.json").read_text())
    lm = RuleLM(lambda *texts: -1 - chance(*texts))
    whole = ask(tmp_path / "whole", "chance", lm, task, metadata={"samples": 1})
    cells = json.loads(whole.read_text())["configs"][task]["cells"]
    documents = {"original": 90 + 12, "effective": 90 + 12}  # 12 attention checks
    assert merged["n-samples"][task] == documents
    assert json.dumps(cells).replace("NaN", "null") == json.dumps(merged["configs"][task]["cells"])
