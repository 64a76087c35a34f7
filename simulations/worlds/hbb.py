"""HBB: 24 themes of nine concept pairs that resemble each other, all of them or the first ones.

icc: the share of the variance that themes explain.
"""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from lm_eval_bias.metrics.errors import Floats
from outcome import Outcomes, Rng, Rows, reported

from lm_eval_bias.benchmarks.hbb.measure import HBB, KEYS

THEMES = 24
TYPES = {f"type {i}": ("one", "other") for i in range(6)} | {
    f"placebo {i}": ("one", "other") for i in range(14)
}
PLACEBO = np.array([name.startswith("placebo") for name in TYPES])
TRUE_CONCEPTS = 300_000
"""Of a benchmark so large that its numbers are the true ones."""


def rows() -> Rows:
    for concepts in (216, 54, 22):
        for icc in (0.0, 0.2):
            yield f"numbers of {concepts}, icc {icc}", partial(of_numbers, concepts, icc)


def asked(theme: Iterable[int], types: Mapping[str, Any], first: Iterable[int] = (1,)) -> list[Any]:
    """Records without an answer: of each concept pair, type, identity and order."""
    return [
        {
            **dict.fromkeys(KEYS, 0),
            "concept": f"c{c:05}",
            "theme": f"t{t:04}",
            "category": "Placebo" if type_.startswith("placebo") else "Counted",
            "type": type_,
            "place": i,
            "placebo": type_.startswith("placebo"),
            "identities": list(names),
            "identity": name,
            "changed": [(2 + i % 8, i % 5)] * len(names),
            "first": order,
        }
        for c, t in enumerate(theme)
        for i, (type_, names) in enumerate(types.items())
        for name in names
        for order in first
    ]


def log_odds(rng: Rng, theme: np.ndarray, icc: float) -> Floats:
    """Of option 1, shape (concepts, types, 2)."""
    shared = rng.normal(size=(2, theme.max() + 1))[:, theme]
    own = rng.normal(size=(2, len(theme)))
    preference, loudness = np.sqrt(icc) * shared + np.sqrt(1 - icc) * own
    added = rng.normal(size=(len(theme), len(TYPES), 2)) * np.where(PLACEBO, 0.3, 0.6)[:, None]
    return 1.2 * preference[:, None, None] + np.exp(0.5 * loudness)[:, None, None] * added


@cache
def true_numbers() -> Mapping[str, float]:
    """Of endless themes, without the measure."""
    odds = log_odds(np.random.default_rng(1), np.arange(TRUE_CONCEPTS), 1.0)
    s = 100 * abs(np.diff(1 / (1 + np.exp(-odds / 0.8)), axis=2))[..., 0]
    shifts = abs(np.diff(odds, axis=2))[..., 0]
    counted, shift = s[:, ~PLACEBO], shifts[:, ~PLACEBO].mean()
    return {
        "mean_difference": counted.mean(),
        "biased_share": 100 * (counted >= 20).mean(),
        "bias_score": counted[counted >= 20].mean(),
        "excess_log_odds": shift - shifts[:, PLACEBO].mean(),
        "log_odds_difference": shift,
    }


def of_numbers(concepts: int, icc: float, rng: Rng) -> Outcomes:
    theme = np.arange(concepts) % THEMES
    odds = log_odds(rng, theme, icc).ravel().tolist()
    records = [
        {**record, "log_odds": value, "letter_mass": 1.0}
        for record, value in zip(asked(theme, TYPES), odds, strict=True)
    ]
    values = HBB.summary(records, order="paper", threshold=20.0, temperature=0.8).values
    return {name: reported(values[name], truth) for name, truth in true_numbers().items()}
