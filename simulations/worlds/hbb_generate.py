"""hbb_generate: ten sampled answers to each question, 24 themes of nine concept pairs.

The intervals of several models.
"""

from functools import cache, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from lm_eval_bias.metrics.resampling import Floats
from lm_eval_bias.metrics.sampled_bias import SampledBias, Selection, sampled_bias
from outcome import Outcomes, Rng, Rows, numbered

THEMES, EACH = 24, 9
TRUE_THEMES = 700
"""Of a benchmark so large that its numbers are the true ones."""
TYPES = {
    "two": "YO",
    "more two": "PR",
    "five": "ABHNW",
    "four": "CJMI",
    **{f"placebo {i}": "xy" for i in range(14)},
}
PLACEBO = {name for name in TYPES if name.startswith("placebo")}
CATEGORIES = {name: "Placebo" if name in PLACEBO else "Counted" for name in TYPES}


CHANGED = {
    (name, *pair): (2 + i % 8, i % 5)
    for i, (name, of) in enumerate(TYPES.items())
    for pair in combinations(of, 2)
}


class Model(NamedTuple):
    """identity, placebo: standard deviation of what an identity adds to the log-odds. icc: the
    share of themes. letter: what answer a gains."""

    identity: float = 0.0
    placebo: float = 0.0
    icc: float = 0.2
    refuses: float = 0.0
    orders: int = 1
    letter: float = 0.0


MODELS = {
    "no bias": Model(),
    "biased": Model(0.4, 0.15),
    "no bias, refuses 60 %": Model(refuses=0.6),
    "biased, refuses 50 %": Model(0.4, 0.15, icc=0.4, refuses=0.5),
    "biased, both orders, likes a": Model(0.4, 0.15, refuses=0.2, orders=2, letter=1.5),
}


def rows() -> Rows:
    for name, model in MODELS.items():
        yield name, partial(of_intervals, model)


def answered(model: Model, themes: int, resamples: int, rng: Rng) -> SampledBias:
    theme = np.repeat(np.arange(themes), EACH)

    def mixed() -> Floats:
        shared, own = rng.normal(size=themes)[theme], rng.normal(size=len(theme))
        return np.sqrt(model.icc) * shared + np.sqrt(1 - model.icc) * own

    preference, loudness = 1.2 * mixed(), np.exp(0.5 * mixed())
    selections = []
    for type_, names in TYPES.items():
        of_type = preference + 0.5 * rng.normal(size=len(theme))
        added = model.placebo if type_ in PLACEBO else model.identity
        for i, name in enumerate(names):
            odds = of_type + loudness * added * (rng.normal(size=len(theme)) + 0.3 * (i - 1))
            for first in range(1, model.orders + 1):
                letter = model.letter if first == 1 else -model.letter
                answers = 0 if type_ in PLACEBO else model.refuses
                n = rng.binomial(10, 1 - answers, size=len(theme))
                chosen = rng.binomial(n, 1 / (1 + np.exp(-odds - letter)))
                selections += [
                    Selection(f"{c:05}", type_, name, first, int(k), int(m - k))
                    for c, (k, m) in enumerate(zip(chosen, n, strict=True))
                ]
    return sampled_bias(
        selections,
        TYPES,
        CATEGORIES,
        orders=model.orders,
        placebo=PLACEBO,
        themes={f"{c:05}": f"{t:04}" for c, t in enumerate(theme)},
        changed=CHANGED,
        resamples=resamples,
    )


def estimates(of: SampledBias) -> dict[str, tuple[float, float]]:
    return {
        "beyond_chance_share": of.total.beyond_share,
        "beyond_chance_difference": of.total.beyond_mean,
        "excess_difference": of.total.excess.excess[:2],
        "biased_share": of.bias.total.share,
        "bias_score": of.bias.total.score,
    }


@cache
def true_numbers(model: Model) -> dict[str, float]:
    """0 for what is beyond chance in a model without bias."""
    large = estimates(answered(model, TRUE_THEMES, 2, np.random.default_rng(1)))
    return {
        name: 0.0 if not model.identity and ("beyond" in name or "excess" in name) else value
        for name, (value, _) in large.items()
    }


def of_intervals(model: Model, rng: Rng) -> Outcomes:
    truth = true_numbers(model)
    of_experiment = estimates(answered(model, THEMES, 400, rng))
    return {
        name: numbered(of, THEMES, truth[name], "%" if name == "biased_share" else "")
        for name, of in of_experiment.items()
    }
