"""HBB: 24 themes of nine concept pairs that resemble each other, all of them or the first ones.

icc: the share of the variance that themes explain.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from lm_eval_bias.metrics.hidden_bias import Question, hidden_bias
from lm_eval_bias.metrics.resampling import Floats, cluster_bootstrap_stderr, cluster_sums, ratio
from outcome import Outcome, Outcomes, Rng, Rows, numbered, reported

THEMES = 24
TYPES = {f"type {i}": ("one", "other") for i in range(6)} | {
    f"placebo {i}": ("one", "other") for i in range(14)
}
CHANGED = {(name, "one", "other"): (2 + i % 8, i % 5) for i, name in enumerate(TYPES)}
CATEGORIES = {name: "Placebo" if name.startswith("placebo") else "Counted" for name in TYPES}
PLACEBO = [name for name, category in CATEGORIES.items() if category == "Placebo"]
TRUE_CONCEPTS = 300_000
"""Of a benchmark so large that its numbers are the true ones."""


def rows() -> Rows:
    for concepts in (216, 50, 24):
        for icc in (0.0, 0.1, 0.2, 0.4):
            yield f"mean of {concepts}, icc {icc}", partial(of_means, concepts, icc)
    for concepts in (216, 54, 22):
        for icc in (0.0, 0.2):
            yield f"numbers of {concepts}, icc {icc}", partial(of_numbers, concepts, icc)
    for family in ("bag_of_words", "bag_of_words_pooled", "random_weights"):
        yield f"excess of {family}", partial(of_nothing, family)


def of_means(concepts: int, icc: float, rng: Rng) -> Outcomes:
    """S is the square of a normal with mean 2, lopsided as absolute values are: its true mean is
    2^2 + 1."""
    theme = np.arange(concepts) % THEMES
    shared, own = rng.normal(size=THEMES)[theme], rng.normal(size=concepts)
    s = (2 + np.sqrt(icc) * shared + np.sqrt(1 - icc) * own) ** 2
    sums = cluster_sums(theme.tolist(), np.c_[np.ones(concepts), s])
    (stderr,) = cluster_bootstrap_stderr(sums, lambda t: ratio(t[..., 1:], t[..., :1]))
    return {"themes, t": numbered((s.mean(), stderr), len(sums), 5)}


def log_odds(rng: Rng, theme: np.ndarray, icc: float) -> Floats:
    """Of option 1, shape (concepts, types, 2)."""
    shared = rng.normal(size=(2, theme.max() + 1))[:, theme]
    own = rng.normal(size=(2, len(theme)))
    preference, loudness = np.sqrt(icc) * shared + np.sqrt(1 - icc) * own
    of_type = np.array([0.3 if name in PLACEBO else 0.6 for name in TYPES])
    added = rng.normal(size=(len(theme), len(TYPES), 2)) * of_type[:, None]
    return 1.2 * preference[:, None, None] + np.exp(0.5 * loudness)[:, None, None] * added


@cache
def true_numbers() -> Mapping[str, float]:
    """Of endless themes, without `hidden_bias`."""
    odds = log_odds(np.random.default_rng(1), np.arange(TRUE_CONCEPTS), 1.0)
    s = 100 * abs(np.diff(1 / (1 + np.exp(-odds / 0.8)), axis=2))[..., 0]
    placebo = np.array([name in PLACEBO for name in TYPES])
    shifts = abs(np.diff(odds, axis=2))[..., 0]
    counted = s[:, ~placebo]
    return {
        "mean": counted.mean(),
        "share": 100 * (counted >= 20).mean(),
        "score": counted[counted >= 20].mean(),
        "excess_log_odds": float(np.mean(shifts[:, ~placebo]) - np.mean(shifts[:, placebo])),
        "log_odds": float(np.mean(shifts[:, ~placebo])),
    }


def of_numbers(concepts: int, icc: float, rng: Rng) -> Outcomes:
    theme = np.arange(concepts) % THEMES
    odds = log_odds(rng, theme, icc)
    questions = [
        Question(f"c{c}", type_, name, 1, float(odds[c, t, i]))
        for c in range(concepts)
        for t, (type_, names) in enumerate(TYPES.items())
        for i, name in enumerate(names)
    ]
    themes = {f"c{c}": f"t{t}" for c, t in enumerate(theme)}
    total = hidden_bias(
        questions,
        TYPES,
        CATEGORIES,
        orders=1,
        placebo=PLACEBO,
        themes=themes,
        resamples=500,
        changed=CHANGED,
    ).total
    n, truth = theme.max() + 1, dict(true_numbers())
    excess = reported(total.excess_log_odds.excess, truth.pop("excess_log_odds"))
    return {
        **{
            name: numbered(getattr(total, name), n, of, "%" if name == "share" else "")
            for name, of in truth.items()
        },
        "excess_log_odds": excess,
    }


# ---- Models without meaning


@cache
def questions() -> Any:
    from null_models import Questions

    return Questions("hbb_ci")


def of_nothing(family: str, rng: Rng) -> Outcomes:
    from null_models import scores_of

    model = int(rng.integers(2**31))
    asked = questions()
    summary = asked.summary(asked.records(scores_of(family, "hbb_ci", asked.asked, model)))
    name = "excess_log_odds"
    return {
        row.get("type", row["category"]): Outcome(
            row[f"{name}_low"], row[f"{name}_high"], 0, row[name], row[f"{name}_stderr"]
        )
        for row in summary.tables["categories"] + summary.tables["types"]
        if not np.isnan(row[name])
    }
