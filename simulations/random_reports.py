"""What does a report say of models with random weights, which cannot be biased?

python simulations/random_reports.py --models 8

Each is saved, asked by `lm_eval --model hf-prefix`, and read by `lm-eval-bias report`, whose first
sentences are printed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from families import transformer
from null_models import TASKS, Questions

BIN = Path(sys.executable).parent
ASKED = [task for task in TASKS if task.endswith("_ci") or task == "bistereo_analogy"]


def run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}")
    return done.stdout


def report(runs: Path) -> str:
    return run(BIN / "lm-eval-bias", "report", runs, "--no_figures", "-o", f"{runs} page")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--tasks", nargs="+", default=ASKED, metavar="TASK")
    arguments = parser.parse_args()
    asked = Questions("hbb_ci").asked
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder, "runs")
        for seed in range(arguments.models):
            place = Path(folder, f"random_{seed}")
            for part in transformer(np.random.default_rng(seed), asked):
                part.save_pretrained(place)
            options = ("--model", "hf-prefix", "--model_args", f"pretrained={place}")
            tasks = ("--tasks", ",".join(arguments.tasks), "--log_samples")
            run(BIN / "lm_eval", *options, *tasks, "--output_path", runs / place.name)
            print(f"seed {seed}: {report(runs / place.name).splitlines()[0]}", flush=True)
        print(f"all: {report(runs).splitlines()[0]}")


if __name__ == "__main__":
    main()
