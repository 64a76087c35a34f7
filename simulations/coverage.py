"""Whether the intervals cover: simulated benchmarks whose true numbers are known, counted how often
an interval holds them.

    python simulations/coverage.py              # every section
    python simulations/coverage.py hbb          # one of them
    python simulations/coverage.py hbb --runs 400

A section is a function of the number of simulated benchmarks and a random generator, registered in
SECTIONS; it prints a table. Nothing is asked of a model. A coverage of 95 out of 1,000 runs has a
standard error of 0.7.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np
from lm_eval_bias.metrics.hidden_bias import Question, hidden_bias
from lm_eval_bias.metrics.resampling import (
    RESAMPLES,
    cluster_bootstrap_stderr,
    cluster_sums,
    ratio,
    t_interval,
)
from numpy.typing import NDArray

RUNS = 1000
THEMES = 24


def concept_scores(
    rng: np.random.Generator, runs: int, concepts: int, icc: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean S of each concept pair in each run, shape (runs, concepts), and the theme of each
    concept pair.

    Themes are drawn anew in each run: the interval is about themes that somebody else might have
    written. icc: the share of the variance between concept pairs that their theme explains. Of
    normals, made lopsided as absolute values are: the square of a normal with mean 2. Concept pairs
    stand as documents do, one of each theme in turns. The true mean is 2^2 + 1 = 5.
    """
    theme = np.arange(concepts) % THEMES
    shared = rng.normal(size=(runs, THEMES))[:, theme]
    own = rng.normal(size=(runs, concepts))
    return (2 + np.sqrt(icc) * shared + np.sqrt(1 - icc) * own) ** 2, theme


TRUE_MEAN = 5.0


def mean(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return ratio(totals[..., 1:], totals[..., :1])


def hbb_coverage(
    rng: np.random.Generator, runs: int, concepts: int, icc: float, resamples: int = RESAMPLES
) -> Mapping[str, tuple[float, float]]:
    """Coverage of the mean of S in percent, and the mean length, of three intervals: the bootstrap
    over concept pairs with 1.96, over themes with 1.96, and over themes with Student's t
    (`t_interval`), which the tables print."""
    scores, theme = concept_scores(rng, runs, concepts, icc)
    covered: dict[str, list[bool]] = {}
    length: dict[str, list[float]] = {}
    for run in scores:
        rows = np.c_[np.ones(concepts), run]
        for name, clusters in (("concepts", np.arange(concepts)), ("themes", theme)):
            labels, sums = cluster_sums(clusters.tolist(), rows)
            (stderr,) = cluster_bootstrap_stderr(sums, mean, resamples)
            half = {f"{name}, 1.96": (run.mean() - 1.96 * stderr, run.mean() + 1.96 * stderr)}
            if name == "themes":
                half["themes, t"] = tuple(
                    float(end) for end in t_interval(run.mean(), stderr, len(labels))
                )
            for kind, (low, high) in half.items():
                covered.setdefault(kind, []).append(low < TRUE_MEAN < high)
                length.setdefault(kind, []).append(high - low)
    return {
        kind: (100 * float(np.mean(held)), float(np.mean(length[kind])))
        for kind, held in covered.items()
    }


def hbb(runs: int, rng: np.random.Generator) -> None:
    """HBB: 24 themes of nine concept pairs that resemble each other; 216 of them, and the first 50
    and 24 of a limited run."""
    print(f"{'concepts':>8} {'icc':>4} {'themes':>6}   coverage in percent (mean length)")
    for concepts in (216, 50, 24):
        for icc in (0.0, 0.1, 0.2, 0.4):
            found = hbb_coverage(rng, runs, concepts, icc)
            said = "   ".join(
                f"{kind}: {share:4.1f} ({length:.2f})" for kind, (share, length) in found.items()
            )
            print(f"{concepts:>8} {icc:>4} {min(concepts, THEMES):>6}   {said}", flush=True)


TYPES = {f"type {i}": ("one", "other") for i in range(6)} | {
    f"placebo {i}": ("one", "other") for i in range(2)
}
CATEGORIES = {type_: "Placebo" if type_.startswith("placebo") else "Counted" for type_ in TYPES}
TRUE_CONCEPTS = 300_000  # of a benchmark so large that its numbers are the true ones


def log_odds(
    rng: np.random.Generator, themes: NDArray[np.int64], icc: float
) -> NDArray[np.float64]:
    """Log-odds of option 1, shape (concepts, types, 2): a preference of each concept pair, and what
    the identity adds, more in counted types than in placebos and in some concept pairs than in
    others; of both, themes explain the share icc."""
    shared = rng.normal(size=(2, themes.max() + 1))[:, themes]
    preference, loudness = np.sqrt(icc) * shared + np.sqrt(1 - icc) * rng.normal(
        size=(2, len(themes))
    )
    of_type = np.array([0.3 if CATEGORIES[type_] == "Placebo" else 0.6 for type_ in TYPES])
    added = (np.exp(0.5 * loudness)[:, None] * of_type)[:, :, None] * rng.normal(
        size=(len(themes), len(TYPES), 2)
    )
    return 1.2 * preference[:, None, None] + added


def true_numbers(rng: np.random.Generator) -> Mapping[str, float]:
    """The numbers of a benchmark of endless themes, from loops of numpy without `hidden_bias`."""
    odds = log_odds(rng, np.arange(TRUE_CONCEPTS), 1.0)
    s = 100 * abs(np.diff(1 / (1 + np.exp(-odds / 0.8)), axis=2))[..., 0]
    placebo = np.array([kind == "Placebo" for kind in CATEGORIES.values()])
    counted = s[:, ~placebo]
    return {
        "mean": counted.mean(),
        "share": 100 * (counted >= 20).mean(),
        "score": counted[counted >= 20].mean(),
        "excess": counted.mean() - s[:, placebo].mean(),
        "log_odds": float(np.median(abs(np.diff(odds[:, ~placebo], axis=2)))),
    }


def hbb_numbers_coverage(
    rng: np.random.Generator,
    runs: int,
    concepts: int,
    icc: float,
    true: Mapping[str, float],
    resamples: int = 500,
) -> Mapping[str, float]:
    """Coverage in percent of value ± t √(k / (k - 1)) standard errors of k themes, for each number,
    and of the reported interval of the excess; of those that are reported. true: `true_numbers`."""
    themes = np.arange(concepts) % THEMES
    held: dict[str, list[bool]] = {name: [] for name in [*true, "excess_interval"]}
    for _ in range(runs):
        odds = log_odds(rng, themes, icc)
        questions = [
            Question(f"c{c}", type_, name, 1, float(odds[c, t, i]))
            for c in range(concepts)
            for t, (type_, names) in enumerate(TYPES.items())
            for i, name in enumerate(names)
        ]
        of = {f"c{c}": f"t{theme}" for c, theme in enumerate(themes)}
        placebo = [type_ for type_, kind in CATEGORIES.items() if kind == "Placebo"]
        total = hidden_bias(
            questions, TYPES, CATEGORIES, orders=1, placebo=placebo, themes=of, resamples=resamples
        ).total
        for name, value in true.items():
            low, high = t_interval(*getattr(total, name), len(set(of.values())))
            if not np.isnan(low):
                held[name].append(bool(low <= value <= high))
        held["excess_interval"].append(
            total.excess_interval[0] <= true["excess"] <= total.excess_interval[1]
        )
    return {name: 100 * float(np.mean(each)) for name, each in held.items()}


def hbb_numbers(runs: int, rng: np.random.Generator) -> None:
    """HBB: each number with an error, as `hidden_bias` computes it; all, a quarter and a tenth of
    the concept pairs."""
    true = true_numbers(rng)
    print(
        "| concept pairs | intraclass correlation | "
        + " | ".join(true)
        + " | excess, as reported |\n|"
        + "---|" * (len(true) + 3)
    )
    for concepts in (216, 54, 22):
        for icc in (0.0, 0.2):
            found = hbb_numbers_coverage(rng, runs, concepts, icc, true)
            print(
                f"| {concepts} | {icc} | "
                + " | ".join(f"{share:.1f}" for share in found.values())
                + " |",
                flush=True,
            )


SECTIONS: Mapping[str, Callable[[int, np.random.Generator], None]] = {
    "hbb": hbb,
    "hbb_numbers": hbb_numbers,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument(
        "--runs",
        type=int,
        default=RUNS,
        help="simulated benchmarks of each row (default %(default)s)",
    )
    arguments = parser.parse_args()
    for name in arguments.sections or SECTIONS:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}; there are {', '.join(SECTIONS)}")
        start = time.perf_counter()
        print(f"{name}: {SECTIONS[name].__doc__}\n{arguments.runs} runs")
        SECTIONS[name](arguments.runs, np.random.default_rng(20250601))
        print(f"{time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
