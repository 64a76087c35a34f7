"""Do the intervals of BIStereo's analogies hold what they promise, where contrasts and counterparts
are both samples?

    python simulations/coverage_bistereo_analogy.py [--runs 1000]

A made-up model has a log-odds for each analogy: a mean that depends on gender and axis, which the
design fixes, and draws of the pair of descriptors (A, C), of the pair of words (B, D) and of the
analogy itself. Its true share of biased preferences follows from the normal distribution. Each run
draws new contrasts and counterparts and answers all analogies, or the first part of them. Printed
is how many of the intervals of 95 % hold the true share, of all analogies and of one gender: those
that are reported, and 1.96 errors of a share of as many independent analogies, which is what
counting them would give.
"""

from __future__ import annotations

import argparse

import numpy as np
from lm_eval_bias.metrics.analogy import Preferred, preference, preferred_mean
from lm_eval_bias.metrics.crossed import codes
from scipy import stats

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents

# Standard deviations of the draws of contrasts, of counterparts and of single analogies.
SPREADS = {
    "both": (0.6, 0.6, 1.0),
    "contrasts alone": (0.8, 0.0, 1.0),
    "counterparts alone": (0.0, 0.8, 1.0),
    "neither": (0.0, 0.0, 1.0),
}
PARTS = (1, 4, 10)


class Analogies:
    """The first analogies of the benchmark, as arrays."""

    def __init__(self, part: int = 1, seed: int = 1) -> None:
        docs = [d for d in documents() if d["context"] == "stereotype"]
        self.docs = docs[: len(docs) // part]
        self.genders = np.array([d["gender"] for d in self.docs])
        self.cells = codes([(d["gender"], d["axis"]) for d in self.docs])
        self.contrasts = codes([(d["axis"], d["contrast"]) for d in self.docs])
        self.counterparts = codes([d["counterpart"] for d in self.docs])
        self.random = np.random.default_rng(seed)
        self.means = np.linspace(-0.4, 0.9, self.cells.max() + 1)[self.cells]

    def log_odds(
        self, of_contrasts: float, of_counterparts: float, of_analogies: float
    ) -> np.ndarray:
        """Of a model with new contrasts and counterparts, shape (analogies,)."""
        drawn = self.random.normal(0, of_contrasts, self.contrasts.max() + 1)[self.contrasts]
        drawn += self.random.normal(0, of_counterparts, self.counterparts.max() + 1)[
            self.counterparts
        ]
        return self.means + drawn + self.random.normal(0, of_analogies, len(drawn))

    def true_share(self, spreads: tuple[float, float, float], inside: np.ndarray) -> float:
        """The percentage of biased preferences to be expected, in the cells' proportions."""
        return float(100 * stats.norm.cdf(self.means[inside] / np.linalg.norm(spreads)).mean())

    def preferred(self, values: np.ndarray, inside: np.ndarray) -> list[Preferred]:
        return [
            Preferred(
                float(v), (d["gender"], d["axis"]), d["contrast"], d["axis"], d["counterpart"]
            )
            for d, v, here in zip(self.docs, values, inside, strict=True)
            if here
        ]


def coverage(
    analogies: Analogies, spreads: tuple[float, float, float], runs: int, gender: str | None = None
) -> tuple[float, float, float]:
    """Percentages of the runs whose interval holds the true share: reported, and as if analogies
    were independent; and the reported error over the true one."""
    inside = (
        np.ones(len(analogies.docs), dtype=bool) if gender is None else analogies.genders == gender
    )
    true = analogies.true_share(spreads, inside)
    reported = naive = 0
    values, errors = [], []
    for _ in range(runs):
        shares = 100 * preference(analogies.log_odds(*spreads))
        found = preferred_mean(analogies.preferred(shares, inside))
        reported += found.low <= true <= found.high
        p = shares[inside].mean()
        naive += abs(p - true) <= 1.96 * np.sqrt(p * (100 - p) / inside.sum())
        values.append(found.value)
        errors.append(found.stderr)
    return (
        100 * reported / runs,
        100 * naive / runs,
        float(np.sqrt(np.mean(np.square(errors))) / np.std(values)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(
        "| analogies | what varies | reported, % | of one gender, % | independent, % | reported error / true error |"
    )
    print("|---|---|---|---|---|---|")
    for part in PARTS:
        for name, spreads in SPREADS.items():
            analogies = Analogies(part)
            whole, naive, error = coverage(analogies, spreads, runs)
            women, _, _ = coverage(analogies, spreads, runs, "women")
            print(
                f"| {len(analogies.docs)} | {name} | {whole:.1f} | {women:.1f} | {naive:.1f} | {error:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
