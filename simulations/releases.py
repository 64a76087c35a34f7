"""Histories of releases through the command line: what each way to gate them sees, and when.

python simulations/releases.py [--models 40]

Each model has a release and ten checkpoints after it. Documents, answers and the number are those
of `worlds/gate.py`, 40 themes. Prints for each strategy how many models were failed, and the median
checkpoint of it.
"""

import argparse
import contextlib
import csv
import io
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from worlds.gate import GAP, OF_MODEL, TRUE, answered, questions, summary

from lm_eval_bias import cli
from lm_eval_bias.measure import Measure
from lm_eval_bias.results.table import columns

THEMES, CHECKPOINTS = 40, 10
KINDS = {
    "unchanged": lambda t: 0.0,
    "drifting": lambda t: 0.5 * t,
    "broken once": lambda t: 5.0 * (t >= 6),
}
STRATEGIES = ("first release", "first release, --nightly 10", "checkpoint before", "history")
MEASURE = Measure(
    lambda doc, results: {},
    summary,
    (GAP._replace(question="Are the groups treated alike?", primary=True),),
    clusters=(("theme",),),
)
TASK = """\
task: twins
test_split: test
metadata: {version: 1.0}
measure: !function measured.MEASURE
"""


def write(folder: Path, records: Sequence[dict[str, float]], minute: int) -> None:
    """A folder as `lm_eval --log_samples` leaves it."""
    number = summary(records).values["gap"]
    row = {
        **{"metric": "gap", "group": None, "unit": "points", "better": "lower", "null_value": 0},
        **{"value": number.value, "stderr": number.stderr, "low": number.low, "high": number.high},
        **{"clusters": number.clusters, "primary": True, "question": "Q", "own_interval": True},
    }
    date = f"2026-01-31T10-{minute:02}-12.123456"
    n = {"original": len(records), "effective": len(records)}
    results = {
        "results": {"twins": {"alias": "twins", "gap,none": number.value}},
        "configs": {"twins": {"cells": {"numbers": [row]}, "metadata": {"version": 1.0}}},
        "versions": {"twins": 1.0},
        "n-samples": {"twins": n},
        "config": {"model": "hf", "model_args": {"pretrained": "model"}},
        "model_name": "model",
        "date": 1769853600 + 60 * minute,
    }
    folder.mkdir()
    (folder / f"results_{date}.json").write_text(json.dumps(results))
    lines = [
        json.dumps({"doc_id": i, "doc_hash": f"{i:064}", "prompt_hash": f"{i:064}", "records": r})
        for i, r in enumerate(records)
    ]
    (folder / f"samples_twins_{date}.jsonl").write_text("\n".join([*lines, ""]))


def status(*arguments: object) -> int:
    with contextlib.redirect_stdout(io.StringIO()):
        return cli.main([str(argument) for argument in arguments])


def seen(folder: Path, tasks: Path, rng: np.random.Generator, kind: str) -> dict[str, int]:
    """The first checkpoint that each strategy fails; 0 for none."""
    own, documents = rng.normal(0, OF_MODEL, THEMES), questions(rng, THEMES)
    for t in range(CHECKPOINTS + 1):
        write(folder / f"{t:02}", answered(rng, documents, TRUE + KINDS[kind](t), own), t)
    rules, include = folder / "bias.yaml", ("--include_path", tasks)
    write(folder / "again", answered(rng, documents, TRUE, own), CHECKPOINTS + 1)
    init = ("--init", "--rules", rules, *include, "--baseline", folder / "again")
    assert not status("gate", folder / "00", *init)
    found = dict.fromkeys(STRATEGIES, 0)
    for t in range(1, CHECKPOINTS + 1):
        now = ("gate", folder / f"{t:02}", "--rules", rules, *include, "--baseline")
        before = folder / f"{t - 1:02}"
        gates = ((folder / "00",), (folder / "00", "--nightly", CHECKPOINTS), (before,))
        for strategy, baseline in zip(STRATEGIES, gates, strict=False):
            if not found[strategy] and status(*now, *baseline) == 1:
                found[strategy] = t
    points = [folder / f"{t:02}" for t in range(CHECKPOINTS + 1)]
    table = folder / "history.csv"
    assert not status("history", *points, "--output", table, *include)
    with table.open() as file:
        marks = [row["marks"] for row in csv.DictReader(file)]
    found["history"] = next((t for t, mark in enumerate(marks) if "outside" in mark), 0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=40)
    models = parser.parse_args().models
    rows = [("strategy", *KINDS)]
    counts: dict[tuple[str, str], list[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        tasks = Path(name, "tasks")
        tasks.mkdir()
        (tasks / "twins.yaml").write_text(TASK)
        here = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        (tasks / "measured.py").write_text(f"{here}from releases import MEASURE\n")
        for i, kind in enumerate(KINDS):
            for seed in range(models):
                folder = Path(name, f"{i}-{seed}")
                folder.mkdir()
                found = seen(folder, tasks, np.random.default_rng([seed, i]), kind)
                for strategy, t in found.items():
                    counts.setdefault((strategy, kind), []).append(t)
    for strategy in STRATEGIES:
        cells = []
        for kind in KINDS:
            of = counts[strategy, kind]
            hits = [t for t in of if t]
            cells.append(f"{len(hits)} of {len(of)}" + (f", at {median(hits):g}" if hits else ""))
        rows.append((strategy, *cells))
    print(columns(rows))


if __name__ == "__main__":
    main()
