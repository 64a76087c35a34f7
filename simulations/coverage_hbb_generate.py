"""hbb_generate by simulation: whether its intervals cover, and how many of its significant
instances are none.

    python simulations/coverage_hbb_generate.py
    python simulations/coverage_hbb_generate.py --runs 50

Models whose probabilities are known answer a benchmark of 24 themes with nine concept pairs each:
types of two, two, five and four identities, and four placebo types of two. What an identity adds to
the log-odds is drawn for each concept pair, more in some than in others, and concept pairs of a
theme resemble each other. Instances share identities as in the benchmark.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from lm_eval_bias.metrics.resampling import Estimate, t_interval
from lm_eval_bias.metrics.sampled_bias import (
    FALSE_DISCOVERIES,
    SampledBias,
    Selection,
    chance,
    sampled_bias,
)
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

THEMES, EACH = 24, 9
TRUE_THEMES = 700  # of a benchmark so large that its numbers are the true ones
TYPES = {
    "two": "YO",
    "more two": "PR",
    "five": "ABHNW",
    "four": "CJMI",
    **{f"placebo {i}": "xy" for i in range(4)},
}
PLACEBO = {name for name in TYPES if name.startswith("placebo")}
CATEGORIES = {name: "Placebo" if name in PLACEBO else "Counted" for name in TYPES}
SIZES = (2, 2, 2, 5, 4, 5, 4, 3)
"""Identities of the types whose tests are counted."""


class Model(NamedTuple):
    """identity, placebo: the standard deviation of what an identity adds to the log-odds. icc: the
    share that themes explain. refuses: the share of the answers about counted identities. letter:
    what stands behind a gains by it."""

    identity: float = 0.0
    placebo: float = 0.0
    icc: float = 0.2
    refuses: float = 0.0
    orders: int = 1
    letter: float = 0.0
    answers: int = 10


MODELS: Mapping[str, Model] = {
    "null_value": Model(),
    "biased": Model(0.4, 0.15),
    "unbiased, refuses 60 %": Model(refuses=0.6),
    "biased, refuses 50 %": Model(0.4, 0.15, icc=0.4, refuses=0.5),
    "biased, both orders, likes a": Model(0.4, 0.15, refuses=0.2, orders=2, letter=1.5),
}


def asked(rng: np.random.Generator, model: Model, themes: int, resamples: int) -> SampledBias:
    """What `sampled_bias` says of a benchmark of so many themes."""
    theme = np.repeat(np.arange(themes), EACH)

    def mixed() -> NDArray[np.float64]:
        return np.sqrt(model.icc) * rng.normal(size=themes)[theme] + np.sqrt(
            1 - model.icc
        ) * rng.normal(size=len(theme))

    preference, loudness = 1.2 * mixed(), np.exp(0.5 * mixed())
    selections = []
    for type_, names in TYPES.items():
        of_type = preference + 0.5 * rng.normal(size=len(theme))
        added = model.placebo if type_ in PLACEBO else model.identity
        for i, name in enumerate(names):
            odds = of_type + loudness * added * (rng.normal(size=len(theme)) + 0.3 * (i - 1))
            for first in range(1, model.orders + 1):
                p = 1 / (1 + np.exp(-odds - (model.letter if first == 1 else -model.letter)))
                n = np.full(len(theme), model.answers)
                if type_ not in PLACEBO:
                    n = rng.binomial(model.answers, 1 - model.refuses, size=len(theme))
                chosen = rng.binomial(n, p)
                counts = zip(chosen.tolist(), n.tolist(), strict=True)
                selections += [
                    Selection(f"{c:05}", type_, name, first, k, m - k)
                    for c, (k, m) in enumerate(counts)
                ]
    of = {f"{c:05}": f"{t:04}" for c, t in enumerate(theme.tolist())}
    return sampled_bias(
        selections,
        TYPES,
        CATEGORIES,
        orders=model.orders,
        placebo=PLACEBO,
        themes=of,
        resamples=resamples,
    )


def numbers(found: SampledBias) -> dict[str, Estimate]:
    return {
        "beyond_chance_share": found.total.beyond_share,
        "beyond_chance_difference": found.total.beyond_mean,
        "excess_difference": found.total.excess,
        "biased_share": found.bias.total.share,
        "bias_score": found.bias.total.score,
        "placebo_beyond_chance_share": found.placebo.beyond_share,
    }


def coverage(
    rng: np.random.Generator, model: Model, runs: int, resamples: int = 400
) -> dict[str, tuple[float, float]]:
    """Number -> its true value, 0 for what is beyond chance in an unbiased model, and how often its
    interval holds that, in percent."""
    true = {name: each.value for name, each in numbers(asked(rng, model, TRUE_THEMES, 2)).items()}
    if not model.identity and not model.placebo:
        true |= {name: 0.0 for name in true if "beyond" in name or "excess" in name}
    held: dict[str, list[bool]] = {name: [] for name in true}
    for _ in range(runs):
        for name, each in numbers(asked(rng, model, THEMES, resamples)).items():
            low, high = t_interval(*each, THEMES)
            held[name].append(bool(low <= true[name] <= high))
    return {name: (true[name], 100 * float(np.mean(held[name]))) for name in true}


def false_discoveries(
    rng: np.random.Generator, answers: int, share: float, effect: float, runs: int
) -> tuple[float, float]:
    """Of the significant instances those whose identities have the same probability, and of the
    others those that are significant; both in percent, means over the runs.

    share: of the identities that differ from their type in a concept pair, by `effect` in log-odds,
    up or down.
    """
    p_of = np.array([[_p(i, j, answers) for j in range(answers + 1)] for i in range(answers + 1)])
    false, found = [], []
    for _ in range(runs):
        p, same = (
            np.concatenate(each) for each in zip(*_tests(rng, p_of, share, effect), strict=True)
        )
        significant = false_discovery_control(p) <= FALSE_DISCOVERIES
        false.append((significant & same).sum() / max(1, significant.sum()))
        found.append((significant & ~same).sum() / max(1, (~same).sum()))
    return 100 * float(np.mean(false)), 100 * float(np.mean(found))


def _p(one: int, two: int, answers: int) -> float:
    return chance(*([Selection("c", "t", "i", 1, k, answers - k)] for k in (one, two))).p


def _tests(
    rng: np.random.Generator, p_of: NDArray[np.float64], share: float, effect: float
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """p of the instances of two identities of a type, and whether the two have the same
    probability."""
    for size in SIZES:
        odd = rng.random((THEMES * EACH, size)) < share
        odds = 1.2 * rng.normal(size=(THEMES * EACH, 1)) + effect * odd * rng.choice(
            [-1, 1], size=odd.shape
        )
        chosen = rng.binomial(len(p_of) - 1, 1 / (1 + np.exp(-odds)))
        for i, j in combinations(range(size), 2):
            yield p_of[chosen[:, i], chosen[:, j]], odds[:, i] == odds[:, j]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=300,
        help="simulated benchmarks of each row (default %(default)s)",
    )
    runs = parser.parse_args().runs
    rng = np.random.default_rng(20250601)
    print(
        "| answers | identities that differ | by | falsely significant | of those that differ |\n|---|---|---|---|---|"
    )
    for answers in (10, 50):
        for share, effect in ((0.0, 0.0), (0.02, 4.0), (0.1, 3.0), (0.3, 3.0), (0.1, 1.5)):
            false, found = false_discoveries(rng, answers, share, effect, runs)
            print(
                f"| {answers} | {100 * share:.0f} % | {effect} | {false:.1f} % | {found:.1f} % |",
                flush=True,
            )
    for name, model in MODELS.items():
        cells = coverage(rng, model, runs)
        print(
            f"{name}: "
            + ", ".join(
                f"{number} {true:.2f} {share:.1f} %" for number, (true, share) in cells.items()
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
