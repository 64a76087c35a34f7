"""Do intervals hold what they promise? Simulated benchmarks whose true numbers are known.

    python simulations/coverage.py                       # every world
    python simulations/coverage.py hbb crossed --runs 300   # two of them
    python simulations/coverage.py compare --rows "12 clusters"

A world is a file in worlds/; its `rows` yields a label and an experiment for each row of the table.
A cell is the percentage of 95 % intervals that hold the true number, or of experiments in which
something happened; in brackets the mean value, the true number, the mean reported error over the
true one, and the percentage without an interval.
"""

import argparse
import os
from collections import defaultdict
from importlib import import_module
from math import isnan, nan
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from outcome import Experiment, Outcome

WORLDS = sorted(path.stem for path in (Path(__file__).parent / "worlds").glob("[a-z]*.py"))
SEED = 20250601


class Held(NamedTuple):
    """A cell of the table, as above."""

    percent: float
    mean: float = nan
    truth: float = nan
    error: float = nan
    without: float = 0.0

    def __str__(self) -> str:
        if isnan(self.percent):
            return "–"
        notes = []
        if not isnan(self.mean):
            notes.append(f"mean {self.mean:.2f} of {self.truth:.2f}")
        if not isnan(self.error):
            notes.append(f"error {self.error:.2f}")
        if self.without:
            notes.append(f"{self.without:.0f} % without")
        return f"{self.percent:.1f}" + (f" ({', '.join(notes)})" if notes else "")


def coverage(experiment: Experiment, runs: int) -> dict[str, Held]:
    rng = np.random.default_rng(SEED)
    outcomes = defaultdict(list)
    for _ in range(runs):
        for name, outcome in experiment(rng).items():
            outcomes[name].append(outcome)
    return {name: held(of_name) for name, of_name in outcomes.items()}


def held(outcomes: list[Outcome | float]) -> Held:
    if not isinstance(outcomes[0], Outcome):
        return Held(100 * pd.Series(outcomes, dtype=float).mean())
    low, high, truth, value, stderr = np.array(outcomes, dtype=float).T
    there = ~np.isnan(low)
    if not there.any():
        return Held(nan, without=100.0)
    inside = (low <= truth) & (truth <= high)
    error = np.sqrt(np.nanmean(stderr**2)) / np.nanstd(value) if (stderr > 0).any() else nan
    return Held(
        100 * inside[there].mean(), value.mean(), truth.mean(), error, 100 * (~there).mean()
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("worlds", nargs="*", help=f"of {', '.join(WORLDS)}; all by default")
    parser.add_argument("--runs", type=int, default=1000, help="experiments of each row (1,000)")
    parser.add_argument("--rows", default="", help="only rows whose label contains this text")
    arguments = parser.parse_args()
    for name in arguments.worlds or WORLDS:
        world = import_module(f"worlds.{name}")
        print(f"\n{name}: {world.__doc__}\n{arguments.runs:,} experiments each\n")
        columns: list[str] = []
        for label, experiment in world.rows():
            if arguments.rows not in label:
                continue
            cells = coverage(experiment, arguments.runs)
            if list(cells) != columns:
                columns = list(cells)
                print(f"| {name} | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
            print(f"| {label} | {' | '.join(map(str, cells.values()))} |", flush=True)


if __name__ == "__main__":
    main()
