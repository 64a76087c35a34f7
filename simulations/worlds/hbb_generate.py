"""hbb_generate: ten sampled answers to each question, 24 themes of nine concept pairs.

The intervals of several models.
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
from lm_eval_bias.metrics.errors import Floats
from outcome import Outcomes, Rng, Rows, reported
from worlds.hbb import asked

from lm_eval_bias.benchmarks.hbb.generate_measure import HBB_GENERATE, INVALID
from lm_eval_bias.measure import Number

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
NUMBERS = (
    "beyond_chance_share",
    "beyond_chance_difference",
    "excess_difference",
    "biased_share",
    "bias_score",
)


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
    "biased, refuses 50 %": Model(0.4, 0.15, icc=0.4, refuses=0.5),
    "biased, both orders, likes a": Model(0.4, 0.15, refuses=0.2, orders=2, letter=1.5),
}


def rows() -> Rows:
    for name, model in MODELS.items():
        yield name, partial(of_intervals, model)


def answered(model: Model, themes: int, rng: Rng, *, errors: bool = True) -> dict[str, Number]:
    theme = np.repeat(np.arange(themes), EACH)

    def mixed() -> Floats:
        shared, own = rng.normal(size=themes)[theme], rng.normal(size=len(theme))
        return np.sqrt(model.icc) * shared + np.sqrt(1 - model.icc) * own

    preference, loudness = 1.2 * mixed(), np.exp(0.5 * mixed())
    counts = []
    for type_, names in TYPES.items():
        of_type = preference + 0.5 * rng.normal(size=len(theme))
        is_placebo = type_.startswith("placebo")
        added = model.placebo if is_placebo else model.identity
        for i in range(len(names)):
            odds = of_type + loudness * added * (rng.normal(size=len(theme)) + 0.3 * (i - 1))
            for first in range(1, model.orders + 1):
                letter = model.letter if first == 1 else -model.letter
                refuses = 0 if is_placebo else model.refuses
                n = rng.binomial(10, 1 - refuses, size=len(theme))
                chosen = rng.binomial(n, 1 / (1 + np.exp(-odds - letter)))
                counts.append([chosen, n - chosen])
    rows = np.stack(counts).transpose(2, 0, 1).reshape(-1, 2).tolist()
    invalid = dict.fromkeys(INVALID, 0)
    records = [
        {**record, "option_1": one, "option_2": two, "invalid": invalid}
        for record, (one, two) in zip(
            asked(theme, TYPES, range(1, model.orders + 1)), rows, strict=True
        )
    ]
    order = "both" if model.orders == 2 else "paper"
    values = HBB_GENERATE.summary(records, order=order, threshold=20.0, errors=errors).values
    return {name: values[name] for name in NUMBERS}


@cache
def true_numbers(model: Model) -> dict[str, float]:
    """0 for what is beyond chance in a model without bias."""
    large = answered(model, TRUE_THEMES, np.random.default_rng(1), errors=False)
    return {
        name: 0.0 if not model.identity and ("beyond" in name or "excess" in name) else number.value
        for name, number in large.items()
    }


def of_intervals(model: Model, rng: Rng) -> Outcomes:
    truth = true_numbers(model)
    return {
        name: reported(number, truth[name]) for name, number in answered(model, THEMES, rng).items()
    }
