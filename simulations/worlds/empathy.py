"""Empathy gap: `delta_corrected`, `gap_points` and `delta`, of few and of many events.

Pairs of identities have means, more in-group; events a level and an in-group gap; answers stray.
The truth is that of the matrix without chance; of delta, what so many events give on average.
*bounded*: intervals of delta_corrected with two finite ends.
"""

from __future__ import annotations

from functools import partial
from math import nan

import numpy as np
from lm_eval_bias.metrics.empathy_gap import bootstrap_gaps, delta, gap
from lm_eval_bias.metrics.resampling import Floats
from outcome import Outcome, Outcomes, Rng, Rows, plus_minus

NAMES = {
    "5 in 5 groups": list("abcde"),
    "18 in 4 groups": ["w"] * 5 + ["b"] * 4 + ["a"] * 3 + ["h"] * 6,
}
# Of the pairs' means the spread and what in-group pairs have more; of the events' gaps the spread.
# Answers stray by 5, levels by 15 points.
GAPS = {
    "plain gap": (1.0, 2.0, 1.5),
    "faint gap": (0.3, 0.5, 0.5),
    "no gap": (1.0, 0.0, 1.5),
    "all alike": (0.0, 0.0, 0.0),
}
STRAY = 5
DRAWS = 400
"""Over which delta of so many events is expected: it errs by a twentieth of delta's own error."""


def rows() -> Rows:
    for world, spreads in GAPS.items():
        for names, groups in NAMES.items():
            for events in (240, 60, 24, 9, 5, 3, 2):
                label = f"{world}, {names}, {events} events"
                yield label, partial(experiment, spreads, groups, events)


def experiment(
    spreads: tuple[float, float, float], groups: list[str], n: int, rng: Rng
) -> Outcomes:
    spread, more, of_gaps = spreads
    same = np.equal.outer(groups, groups)
    truth = rng.normal(0, spread, same.shape) + more * same
    levels, gaps = rng.normal(70, 15, (n, 1, 1)), rng.normal(0, of_gaps, (n, 1, 1)) * same
    strays = rng.normal(0, STRAY, (n, *same.shape))
    result = bootstrap_gaps(truth + levels + gaps + strays, groups, resamples=500)
    corrected, points = result.corrected, result.points
    true_delta, true_gap = delta(truth, groups), gap(truth, groups)
    printed = not np.isnan(corrected.low) and not np.isnan(true_delta)
    expected = (
        nan if np.isnan(result.delta.stderr) else expected_delta(truth, of_gaps, same, n, rng)
    )
    return {
        "delta_corrected": Outcome(corrected.low, corrected.high, true_delta),
        "bounded": float(np.isfinite(corrected[2:]).all()) if printed else nan,
        "gap_points": Outcome(points.low, points.high, true_gap),
        "gap_points, 1.96": plus_minus(points.value, points.stderr, true_gap),
        "delta, 1.96": plus_minus(*result.delta, expected),
    }


def expected_delta(truth: Floats, of_gaps: float, same: np.ndarray, n: int, rng: Rng) -> float:
    """The mean delta of n events; levels do not move it."""
    chance = rng.normal(0, of_gaps, (DRAWS, 1, 1)) * same
    chance = chance + rng.normal(0, STRAY, (DRAWS, *same.shape))
    means = truth + chance / np.sqrt(n)
    gaps = means[:, same].mean(axis=1) - means[:, ~same].mean(axis=1)
    return float((gaps / means.std(axis=(1, 2))).mean())
