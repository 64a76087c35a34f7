"""Two crossed samples, as wordings and words: a mean, a share, a contrast of good and bad words.

All wordings meet all words, or one in six at random. In *rare* rows three good words in ten have a
large effect and the others none.
"""

from functools import partial
from itertools import product

import numpy as np
from lm_eval_bias.metrics.errors import Sample, contrasts, mean
from outcome import Outcomes, Rng, Rows, effects, estimated, reported
from scipy import stats

SIZES = (240, 30, 1.0), (60, 14, 1.0), (24, 12, 1.0), (60, 30, 1 / 6)
"""Wordings, words, and the share of the pairs that are asked."""
SPREADS = {"both": (0.7, 0.7), "one alone": (0.0, 0.7), "neither": (0.0, 0.0)}
"""Standard deviations of the draws of wordings and of words; of an answer's: 1."""
GAP = 0.3
"""What good words have more."""
RARE, LARGE = 0.3, 2.0


def rows() -> Rows:
    for (wordings, words, asked), (name, spreads) in product(SIZES, SPREADS.items()):
        what = f"{wordings} x {words}" + ", one in six" * (asked < 1)
        yield f"{what}, {name}", partial(experiment, wordings, words, asked, spreads, 0.0)
    for words in (6, 12, 24):
        yield f"40 x {words}, rare", partial(experiment, 40, words, 1.0, (0.0, 0.0), LARGE)


def experiment(
    wordings: int, words: int, asked: float, spreads: tuple[float, float], large: float, rng: Rng
) -> Outcomes:
    wording, word = (index.ravel() for index in np.indices((wordings, words)))
    there = rng.random(len(word)) < asked
    wording, word = wording[there], word[there]
    good = word % 2
    x = GAP * good + effects(rng, wording, spreads[0]) + effects(rng, word, spreads[1])
    x += large * good * (rng.random(words) < RARE)[word] + rng.normal(0, 1, len(x))
    sample = Sample(len(x), (wording, None), (word, good))
    total = sample.total()
    (gap,) = contrasts(total, [x], np.zeros_like(good), good, (-1, 1))
    bad_above, good_above, large_above = stats.norm.cdf(
        np.array([0, GAP, GAP + large]) / np.linalg.norm([1, *spreads])
    )
    share = (bad_above + (1 - RARE) * good_above + RARE * large_above) / 2
    true_gap = GAP + RARE * large
    numbers = {
        "mean": (mean(total, x), "points", true_gap / 2),
        "share": (mean(total, x > 0), "share", share),
        "contrast": (gap, "points", true_gap),
    }
    return {
        name: reported(estimated(sample.estimates(*value), unit), truth)
        for name, (value, unit, truth) in numbers.items()
    }
