"""Do the intervals of BIStereo-NLI's halo gap hold what they promise, where wordings and attributes
are both samples?

    python simulations/coverage_bistereo.py [--runs 1000]

Of a made-up model the true gap is known in each domain; every wording and every attribute moves it
by a draw of its own. Each run draws new wordings and attributes and answers the benchmark's
documents, all or the first part of them. Printed is how many of the intervals of 95 % hold the true
gap: those that are reported (wordings and attributes, looks and behaviour apart), and those of
version 1, which took attributes for fixed and looks and behaviour for chance.
"""

from __future__ import annotations

import argparse

import numpy as np
from lm_eval_bias.metrics.crossed import Clustering, CrossedMean, codes, crossed_mean
from lm_eval_bias.metrics.halo import Pair, halo

from lm_eval_bias.benchmarks.bistereo.nli_documents import documents

TRUE = {"looks": 20.0, "behaviour": -10.0}
SPREADS = {"both": (8.0, 8.0), "wordings alone": (8.0, 0.0), "attributes alone": (0.0, 8.0)}
LABELS = ("entailment", "neutral")


class Twins:
    """The good twins among the first documents, as arrays."""

    def __init__(self, docs: list[dict], seed: int = 1) -> None:
        good = [d for d in docs if d["effect"] == "halo"]
        self.fair = [fair for fair, dark in zip(good[::2], good[1::2], strict=False)]
        domains = [d["domain"] for d in self.fair]
        self.domains, self.cells = (
            codes(domains),
            codes([(d["gender"], d["category"]) for d in self.fair]),
        )
        self.wordings = codes([(d["domain"], d["wording"]) for d in self.fair])
        self.attributes = codes([(d["category"], d["attribute"]) for d in self.fair])
        self.categories = codes([d["category"] for d in self.fair])
        self.gaps = np.array([TRUE[d] for d in domains])
        self.random = np.random.default_rng(seed)

    def answers(self, of_wordings: float, of_attributes: float) -> np.ndarray:
        """Whether fair and dark are entailed, shape (twins, 2), by a model with new wordings and
        attributes."""
        drawn = self.random.normal(0, of_wordings, self.wordings.max() + 1)[self.wordings]
        drawn = (
            drawn + self.random.normal(0, of_attributes, self.attributes.max() + 1)[self.attributes]
        )
        gap = (self.gaps + drawn) / 200
        return self.random.random((len(gap), 2)) < np.stack([0.5 + gap, 0.5 - gap], axis=1)

    def reported(self, answers: np.ndarray) -> CrossedMean:
        """The halo gap, as `halo` has it."""
        samples = (
            Clustering(self.wordings, self.domains),
            Clustering(self.attributes, self.categories),
        )
        return crossed_mean(
            100.0 * (answers[:, 0].astype(int) - answers[:, 1]), self.cells, *samples
        )

    def version_1(self, answers: np.ndarray) -> tuple[float, float]:
        """The gap and 1.96 standard errors of wordings alone, looks and behaviour drawn together."""
        nothing = np.zeros(len(answers), dtype=int)
        found = crossed_mean(
            100.0 * (answers[:, 0].astype(int) - answers[:, 1]),
            nothing,
            Clustering(self.wordings, nothing),
        )
        return found.value, 1.96 * found.stderr

    def same_as_halo(self, answers: np.ndarray) -> bool:
        """Whether `reported` is what the benchmark reports."""
        pairs = [
            Pair(
                **{key: d[key] for key in ("wording", "gender", "category", "domain", "attribute")},
                descriptor=skin,
                label=LABELS[int(not said)],
                question=(d["variant"], d["direction"]),
            )
            for d, both in zip(self.fair, answers, strict=True)
            for skin, said in zip(("fair", "dark"), both, strict=True)
        ]
        effects = {d["category"]: "halo" for d in self.fair}
        gap = halo(pairs, ("fair", "dark"), effects, ("women", "men")).gap("halo")
        found = self.reported(answers)
        return bool(
            np.allclose(
                [*gap.gap, gap.low, gap.high], [found.value, found.stderr, found.low, found.high]
            )
        )


def coverage(
    twins: Twins, of_wordings: float, of_attributes: float, runs: int
) -> tuple[float, float, float]:
    """Shares of the runs whose interval holds the true gap, in percent: reported, version 1; and
    the reported error over the true one."""
    true = float(twins.gaps.mean())
    reported = old = 0
    values, errors = [], []
    for _ in range(runs):
        answers = twins.answers(of_wordings, of_attributes)
        found = twins.reported(answers)
        reported += found.low <= true <= found.high
        value, half = twins.version_1(answers)
        old += abs(value - true) <= half
        values.append(found.value)
        errors.append(found.stderr)
    return (
        100 * reported / runs,
        100 * old / runs,
        float(np.sqrt(np.mean(np.square(errors))) / np.std(values)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    docs = documents()
    print(
        "| documents | what varies | reported, % | version 1, % | reported error / true error |\n|---|---|---|---|---|"
    )
    for part in (1, 4, 10):
        twins = Twins(docs[: len(docs) // part])
        assert twins.same_as_halo(twins.answers(8, 8))
        for name, spreads in SPREADS.items():
            reported, old, error = coverage(twins, *spreads, runs)
            print(
                f"| {len(docs) // part:,} | {name} | {reported:.1f} | {old:.1f} | {error:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
