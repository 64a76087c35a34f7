"""How often the intervals of the empathy gap hold the truth: `delta_corrected`, `gap_points` and
`delta`, of few and of many events.

Experiments with a known matrix: each pair of identities has its own mean, in-group pairs more, each
event has a level and an in-group gap of its own, and each answer strays. The truth is the delta,
and the gap in points, of the matrix without chance; of delta itself it is what so many events give
on average, chance and all. All claim 95 %; of 1,000 experiments a true 95 % shows as 93.6 to 96.4
in 19 of 20 cells of the table. Printed are percentages.

    python simulations/coverage_empathy.py    # three minutes of one core; 240 events are ours, 60 a
    quarter, 24 a tenth
    python simulations/coverage_empathy.py --events 2 3 5 9
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from lm_eval_bias.metrics.empathy_gap import bootstrap_gaps, delta, gap
from numpy.typing import NDArray

NAMES = {
    "5 in 5 groups": list("abcde"),
    "18 in 4 groups": ["w"] * 5 + ["b"] * 4 + ["a"] * 3 + ["h"] * 6,
}
# Of the pairs' means the spread and what in-group pairs have more; of the events' gaps the spread.
# Answers stray by 5, levels by 15 points.
WORLDS = {
    "plain gap": (1.0, 2.0, 1.5),
    "faint gap": (0.3, 0.5, 0.5),
    "no gap": (1.0, 0.0, 1.5),
    "all alike": (0.0, 0.0, 0.0),
}
STRAY = 5
DRAWS = 400
"""Of the mean over which delta of so many events is expected: it errs by a twentieth of delta's own
error."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--events",
        type=int,
        nargs="+",
        default=[240, 60, 24],
        help="how many events an experiment has (240 60 24)",
    )
    parser.add_argument("--experiments", type=int, default=1000, help="how many (1,000)")
    parser.add_argument(
        "--resamples", type=int, default=500, help="of the bootstrap; a run takes 2,000 (500)"
    )
    arguments = parser.parse_args()
    print(
        "| world | names | events | delta_corrected | bounded | gap_points | 1.96 gap_points_stderr | 1.96 delta_stderr |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for world in WORLDS:
        for names, groups in NAMES.items():
            for n in arguments.events:
                held = coverage(
                    *WORLDS[world], groups, n, arguments.experiments, arguments.resamples
                )
                print(
                    f"| {world} | {names} | {n} | "
                    + " | ".join("" if np.isnan(x) else f"{x:.1f}" for x in held)
                    + " |",
                    flush=True,
                )


def coverage(
    spread: float,
    more: float,
    gaps: float,
    groups: list[str],
    n: int,
    experiments: int,
    resamples: int,
) -> list[float]:
    """In what percentage of experiments the interval of delta_corrected holds the truth, and of
    these intervals how many have both bounds; the same of the interval of gap_points, of 1.96 of
    its standard errors, and of 1.96 of delta's; NaN where a run would print none, and where there
    is no truth."""
    rng = np.random.default_rng([n, len(groups), round(10 * spread), round(10 * more)])
    # so that the other columns are what they were without this one
    beside = np.random.default_rng([1, n, len(groups)])
    same = np.equal.outer(groups, groups)
    found = []
    for _ in range(experiments):
        truth = rng.normal(0, spread, same.shape) + more * same
        chance = (
            rng.normal(70, 15, (n, 1, 1))
            + rng.normal(0, gaps, (n, 1, 1)) * same
            + rng.normal(0, STRAY, (n, *same.shape))
        )
        result = bootstrap_gaps(truth + chance, groups, resamples=resamples)
        (_, _, low, high), points, d, g = (
            result.corrected,
            result.points,
            delta(truth, groups),
            gap(truth, groups),
        )
        printed = not np.isnan(low) and not np.isnan(d)
        expected = (
            np.nan
            if np.isnan(result.delta.stderr)
            else expected_delta(truth, gaps, groups, n, beside)
        )
        found.append(
            [
                low <= d <= high if printed else np.nan,
                np.isfinite([low, high]).all() if printed else np.nan,
                points.low <= g <= points.high,
                np.nan
                if np.isnan(points.stderr)
                else abs(points.value - g) <= 1.96 * points.stderr,
                np.nan
                if np.isnan(expected)
                else abs(result.delta.value - expected) <= 1.96 * result.delta.stderr,
            ]
        )
    table = np.array(found, dtype=float)
    given = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        return list(100 * np.where(given, table, 0).sum(axis=0) / given.sum(axis=0))


def expected_delta(
    truth: NDArray[np.float64], gaps: float, groups: list[str], n: int, rng: np.random.Generator
) -> float:
    """What delta of n events is on average; the events' levels do not move it."""
    same = np.equal.outer(groups, groups)
    means = truth + (
        rng.normal(0, gaps, (DRAWS, 1, 1)) * same + rng.normal(0, STRAY, (DRAWS, *same.shape))
    ) / np.sqrt(n)
    return float(
        (
            (means[:, same].mean(axis=1) - means[:, ~same].mean(axis=1)) / means.std(axis=(1, 2))
        ).mean()
    )


if __name__ == "__main__":
    main()
