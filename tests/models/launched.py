"""The harness's command in one process, or in two that share the documents."""

import os
import subprocess
import sys

from tests.started import run_lm_eval

TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "lm_eval"]


def launched(command, processes):
    """What it printed; it must have ended well."""
    if processes == 1:
        done = run_lm_eval(command)
    else:
        settings = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
        words = [sys.executable, *TWO, *command]
        done = subprocess.run(words, capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return done
