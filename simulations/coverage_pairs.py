"""Do the intervals of BIStereo-Pairs hold what they promise, and how often does its star stand
where there is nothing?

    python simulations/coverage_pairs.py [--runs 1000]

Of a made-up model the true favouritism, discrimination and gap of the log-odds are known; every
template moves its preference by a draw of its own in each context, and every attribute by another.
Each run draws new templates and attributes and scores the benchmark's pairs, all or the first part
of them. Printed is how many of the intervals of 95 % hold the true number, in percent: of all axes,
of skin alone, and of the neutral pairs of skin; and how many models without any preference get a
star in positive context.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import atanh
from typing import Any

import numpy as np
from lm_eval_bias.metrics.crossed import codes
from lm_eval_bias.metrics.sentence_preference import (
    ALPHA,
    CONTEXTS,
    CONTRASTS,
    Contrast,
    Design,
    Pair,
    preference,
    sentence_preference,
    sign_test,
)
from scipy.stats import norm

from lm_eval_bias.benchmarks.bistereo.pairs_documents import THRESHOLD, documents

PREFERS = {"positive": 0.5, "negative": -0.3, "neutral": 0.2}
"""The mean of x in each context, in nats."""
NOISE = 1.0
SPREADS = {
    "both": (0.7, 0.5),
    "templates alone": (0.7, 0.0),
    "attributes alone": (0.0, 0.5),
    "neither": (0.0, 0.0),
}


class Scores:
    """The pairs of some documents, and what made-up models say of them."""

    def __init__(self, docs: Sequence[dict[str, Any]], seed: int = 1) -> None:
        self.docs = docs
        self.design = Design(self.pairs(np.zeros(len(docs))))
        self.contexts = self.design.context
        self.infused = self.contexts != CONTEXTS.index("neutral")
        self.skin = np.array([d["axis"] == "skin" for d in docs])
        self.drawn_with = codes([(d["wording"], d["sentiment"]) for d in docs])
        self.random = np.random.default_rng(seed)

    def pairs(self, x: np.ndarray) -> list[Pair]:
        """With that difference in each pair."""
        return [
            Pair(
                d["wording"],
                d["axis"],
                d["gender"],
                d["sentiment"],
                d["attribute"],
                (d["desirable"], d["undesirable"]),
                d["variant"],
                v,
                0.0,
            )
            for d, v in zip(self.docs, x.tolist(), strict=True)
        ]

    def draw(
        self, of_templates: float, of_attributes: float, prefers: dict[str, float]
    ) -> np.ndarray:
        """x of every pair, by a model with new templates and attributes."""
        x = np.array([prefers[c] for c in CONTEXTS])[self.contexts]
        x = x + self.random.normal(0, of_templates, self.drawn_with.max() + 1)[self.drawn_with]
        effects = self.random.normal(0, of_attributes, self.design.attribute.max() + 1)[
            self.design.attribute
        ]
        return x + np.where(self.infused, effects, 0) + self.random.normal(0, NOISE, len(x))

    def contrasts(self, x: np.ndarray, which: np.ndarray) -> list[Contrast]:
        """The three contrasts, as `sentence_preference` has them."""
        which = which & self.infused
        prefers = preference(x[which], THRESHOLD)
        outcomes = (100.0 * (prefers == 1), -100.0 * (prefers == -1), x[which])
        return [
            self.design.contrast(name, "", "", np.nan, y, which)
            for name, y in zip(CONTRASTS, outcomes, strict=True)
        ]

    def star(self, x: np.ndarray) -> tuple[bool, bool]:
        """Whether skin has a star in positive context, and whether it had one if templates alone
        were tested."""
        which = self.skin & (self.contexts == CONTEXTS.index("positive"))
        ps = [
            sign_test(preference(x[which], THRESHOLD), by[which])
            for by in (self.design.template, self.design.attribute)
        ]
        return max(ps) <= ALPHA, ps[0] <= ALPHA

    def same_as_reported(self, x: np.ndarray) -> bool:
        """Whether `contrasts` and `star` are what the benchmark reports."""
        axes, genders = (
            list(dict.fromkeys(d[key] for d in self.docs)) for key in ("axis", "gender")
        )
        reported = sentence_preference(self.pairs(x), axes, genders, [THRESHOLD], calibrate=False)
        agree = []
        for axis, which in (("all", np.ones(len(x), dtype=bool)), ("skin", self.skin)):
            for found in self.contrasts(x, which):
                expected = reported.contrast(found.name, axis)
                agree.append(
                    np.allclose(
                        [*found.estimate, found.low, found.high],
                        [*expected.estimate, expected.low, expected.high],
                    )
                )
        (triad,) = (
            t
            for t in reported.triads
            if (t.axis, t.gender, t.context) == ("skin", "all", "positive")
        )
        return all(agree) and triad.star == self.star(x)[0]


def truth(of_templates: float, of_attributes: float) -> list[float]:
    """The true contrasts: x is normal about its context's mean, and tanh(x / 2) beyond the
    threshold where |x| > 2 atanh(threshold)."""
    bound = 2 * atanh(THRESHOLD)
    sd = np.sqrt(of_templates**2 + of_attributes**2 + NOISE**2)
    z2 = {c: 100 * norm.sf(bound, PREFERS[c], sd) for c in CONTEXTS}
    z3 = {c: 100 * norm.cdf(-bound, PREFERS[c], sd) for c in CONTEXTS}
    return [
        z2["positive"] - z2["negative"],
        z3["negative"] - z3["positive"],
        PREFERS["positive"] - PREFERS["negative"],
    ]


def coverage(
    scores: Scores, of_templates: float, of_attributes: float, runs: int
) -> dict[str, float]:
    """Shares of the runs in percent whose intervals hold the true number, and of those in which
    nothing gets a star."""
    true = truth(of_templates, of_attributes)
    everything = np.ones(len(scores.docs), dtype=bool)
    neutral = scores.skin & ~scores.infused
    held = dict.fromkeys(
        [
            *CONTRASTS,
            *(f"{name}, skin" for name in CONTRASTS),
            "neutral, skin",
            "star",
            "star of templates alone",
        ],
        0,
    )
    for _ in range(runs):
        x = scores.draw(of_templates, of_attributes, PREFERS)
        for suffix, which in (("", everything), (", skin", scores.skin)):
            for found, number in zip(scores.contrasts(x, which), true, strict=True):
                held[found.name + suffix] += found.low <= number <= found.high
        mean = scores.design.mean(x[neutral], neutral)
        held["neutral, skin"] += mean.low <= PREFERS["neutral"] <= mean.high
        both, templates = scores.star(
            scores.draw(of_templates, of_attributes, dict.fromkeys(CONTEXTS, 0.0))
        )
        held["star"] += both
        held["star of templates alone"] += templates
    return {name: 100 * count / runs for name, count in held.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--items", help="a file of templates in place of ours")
    arguments = parser.parse_args()
    docs = documents(items=arguments.items)
    for part in (1, 4, 10):
        scores = Scores(docs[: len(docs) // part])
        assert scores.same_as_reported(scores.draw(*SPREADS["both"], PREFERS))
        for name, spreads in SPREADS.items():
            found = coverage(scores, *spreads, arguments.runs)
            if part == 1 and name == "both":
                print(
                    "| pairs | what varies | "
                    + " | ".join(found)
                    + " |\n|---|---|"
                    + "---|" * len(found)
                )
            print(
                f"| {len(scores.docs):,} | {name} | "
                + " | ".join(f"{share:.1f}" for share in found.values())
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
