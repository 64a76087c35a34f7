"""Time and peak memory of `lm-eval-bias report` in fresh processes, and its largest page.

    lm_eval --model dummy --tasks implicit_bias_ci --log_samples --output_path made_up
    python speed/report.py made_up --against OTHER_TREE

OTHER_TREE is a working tree of another version; the two run in turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

REPORT = "import sys; from lm_eval_bias.cli import main; sys.exit(main(sys.argv[1:]))"
HERE = Path(__file__).parents[1]


def measured(tree: Path, runs: Path) -> tuple[float, float, float]:
    """Seconds of CPU, MiB at most, MB of the largest page."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", REPORT, "report", str(runs), "-o", f"{folder}/report"]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"the report of {tree} failed")
        largest = max(page.stat().st_size for page in Path(folder, "report").glob("*.html"))
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, largest / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, help="finished runs")
    parser.add_argument("--against", type=Path, metavar="TREE", help="a tree of another version")
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    trees = [HERE, *([arguments.against] if arguments.against else [])]
    rounds = [
        [measured(tree.resolve(), arguments.runs) for tree in trees] for _ in range(arguments.times)
    ]
    of_tree = [[median(of) for of in zip(*runs, strict=True)] for runs in zip(*rounds, strict=True)]
    for tree, (seconds, memory, page) in zip(trees, of_tree, strict=True):
        print(f"{tree}: {seconds:.1f} s, {memory:.0f} MiB, largest page {page:.2f} MB")
    if len(trees) > 1:
        seconds, memory, _ = (a / b for a, b in zip(*of_tree, strict=True))
        print(f"ratio of medians: time {seconds:.2f}, memory {memory:.2f}")


if __name__ == "__main__":
    main()
