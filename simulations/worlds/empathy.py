"""Empathy gap: the gaps in points, of few and of many events.

Names have means as perceivers, as experiencers and as a pair; one that stands twice gets 3 points
more, placebos too; events have a level and an in-group gap; answers stray. *names fixed*:
`gap_points` with Student's interval over events. *found*: intervals of gap_beyond_repetition
without 0.
"""

from functools import partial
from itertools import product

import numpy as np
from lm_eval_bias.metrics.empathy_gap import own_effects, points_gap, with_groups
from lm_eval_bias.metrics.errors import Floats, t_interval
from outcome import Outcome, Outcomes, Rng, Rows
from scipy import stats

# Of each identity its group, and how many placebos.
NAMES = {
    "religion": ("abcde", 5),
    "nationality": ("abcdefghijklmnopqrstu", 8),
    "race": ("wwwwwbbbbaaahhhhhh", 8),
}
# What in-group pairs have more; the spread of the names' and pairs' means, and of the events' gaps.
# Answers stray by 5, levels by 15 points.
GAPS = {
    "plain gap": (3.0, 1.0, 1.5),
    "faint gap": (0.5, 0.3, 0.5),
    "no gap": (0.0, 2.0, 1.5),
    "all alike": (0.0, 0.0, 0.0),
}
REPEATED = 3


def rows() -> Rows:
    for (gap, spreads), (names, asked) in product(GAPS.items(), NAMES.items()):
        for events in (240, 24, 12):
            label = f"{gap}, {names}, {events} events"
            yield label, partial(experiment, *spreads, *asked, events)


def experiment(
    more: float, spread: float, of_gaps: float, groups: str, placebos: int, n: int, rng: Rng
) -> Outcomes:
    same, twice = np.equal.outer(list(groups), list(groups)), np.eye(len(groups))
    levels, gaps = rng.normal(70, 15, (n, 1, 1)), rng.normal(0, of_gaps, (n, 1, 1))

    def means(k: int) -> Floats:
        drawn = [rng.normal(0, spread, shape) for shape in ((k, k), (k, 1), (1, k))]
        return sum(drawn) + REPEATED * np.eye(k)

    truth = means(len(groups)) + more * same
    asked = truth + levels + gaps * same + rng.normal(0, 5, (n, *same.shape))
    others = means(placebos) + levels + rng.normal(0, 5, (n, placebos, placebos))
    points, beyond = interval(groups, asked), interval(groups, asked, others)
    fixed = stats.ttest_1samp(own_effects(asked, groups).mean(axis=1), 0).confidence_interval()
    true_gap = more + REPEATED * own_effects(twice, groups).mean()
    return {
        "gap_beyond_repetition": Outcome(*beyond, more),
        "found": float(not beyond[0] <= 0 <= beyond[1]),
        "gap_points": Outcome(*points, true_gap),
        "names fixed": Outcome(*fixed, true_gap),
    }


def interval(groups: str, *intensities: Floats) -> tuple[float, float]:
    value = points_gap(groups, *(x.mean(axis=0) for x in intensities))
    estimated = with_groups(groups, *intensities)
    low, high = t_interval(value, np.sqrt(estimated.variance), estimated.df)
    return low.item(), high.item()
