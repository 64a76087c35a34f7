"""Do the intervals of StereoSet's scores hold what they promise?

    python simulations/coverage_stereoset.py [--runs 1000]

Each run draws target terms, each with its own share of examples in which the stereotype is
preferred and its own share of comparisons that the unrelated sentence loses, and of each term some
examples. Printed is how many of the intervals of 95 % hold the true number of all terms that could
be drawn, in percent, for models with ss 50, 55, 60 and 75, and the mean of icat beside the true
one.
"""

from __future__ import annotations

import argparse

import numpy as np
from lm_eval_bias.metrics.context_association import Scored, compared, icat

TERMS, EXAMPLES = 80, 26
"""About as many as the public part of the data set has in either form."""
RELATED = 0.85
SPREAD = 10.0
"""Of the beta distributions of terms: their two parameters add up to it, so that shares stray by
0.15 around 50 %."""


def drawn(random: np.random.Generator, ss: float, terms: int, examples: int) -> list[Scored]:
    """Examples of new terms. Scores are such that each comparison comes out as it was drawn."""
    found = []
    pro = random.beta(SPREAD * ss / 100, SPREAD * (1 - ss / 100), terms)
    related = random.beta(SPREAD * RELATED, SPREAD * (1 - RELATED), terms)
    for t in range(terms):
        n = max(1, random.poisson(examples))
        for prefers, won in zip(
            random.random(n) < pro[t], random.random((n, 2)) < related[t], strict=True
        ):
            # The two sentences that make sense stand at 1 and 2; the unrelated one below, between
            # or above them. Which of two won comparisons is lost changes nothing in the counts.
            unrelated = (3.0, 1.5, 0.0)[int(won.sum())]
            found.append(
                Scored(
                    f"{t:03}", "all", 2.0 if prefers else 1.0, 1.0 if prefers else 2.0, unrelated
                )
            )
    return found


def coverage(
    ss: float, runs: int, terms: int = TERMS, examples: int = EXAMPLES, seed: int = 1
) -> dict[str, float]:
    """Percent of the intervals that hold the true lms, ss and icat, and the mean of icat as `mean`."""
    random = np.random.default_rng(seed)
    true = {"lms": 100 * RELATED, "ss": ss, "icat": float(icat(100 * RELATED, ss))}
    held = dict.fromkeys(true, 0)
    mean = 0.0
    for _ in range(runs):
        total = compared(drawn(random, ss, terms, examples), ["all"]).total
        mean += total.icat.value / runs
        for name, number in true.items():
            score = getattr(total, name)
            held[name] += score.low <= number <= score.high
    return {
        **{name: 100 * count / runs for name, count in held.items()},
        "mean": mean,
        "true": true["icat"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(f"{'terms':>5} {'ss':>4} {'lms':>6} {'ss':>6} {'icat':>6}   mean icat (true)")
    for terms in (TERMS, 20):
        for ss in (50, 55, 60, 75):
            found = coverage(ss, runs, terms)
            held = " ".join(f"{found[name]:6.1f}" for name in ("lms", "ss", "icat"))
            print(f"{terms:5} {ss:4} {held}   {found['mean']:.1f} ({found['true']:.1f})")


if __name__ == "__main__":
    main()
