"""How well does a pilot predict the width of an interval on more documents?

    python simulations/plan.py [--runs 200]

Clusters and documents of a made-up task move a mean by a draw each; `plan` sees the first ones.
Printed: predicted / found width (median, and nine of ten runs), how often the found one lies in the
range of `plan`, what the root of the number of documents would predict, and the mean error of the
share of the clusters.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from outcome import mean_of

from lm_eval_bias.measure import Measure, Metric, Summary
from lm_eval_bias.results.sample_size import Window, growth, in_windows, plan, share, width_of

PILOT, OF_CLUSTER, DOCUMENTS = 24, 0.5, 10
"""Clusters of the pilot, the standard deviation of their effects (of a document's: 1), documents of
a cluster."""
TAILS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
    "skewed": lambda rng, n: (np.exp(rng.normal(size=n)) - np.exp(0.5)) / 2.161,
}
MEAN = Metric("mean", "points", "")


def summary(records: Sequence[Mapping[str, Any]], **_: Any) -> Summary:
    names = [name for name in ("cluster", "word") if name in records[0]]
    clusterings = [
        (np.unique([r[n] for r in records], return_inverse=True)[1], None) for n in names
    ]
    return Summary({"mean": mean_of([r["y"] for r in records], *clusterings)})


def measure(crossed: bool) -> Measure:
    clusters = (("cluster",), ("word",)) if crossed else (("cluster",),)
    return Measure(lambda doc, results: {}, summary, (MEAN,), clusters=clusters)


DESIGNS: dict[str, Callable[[int], dict[str, np.ndarray]]] = {
    "new clusters": lambda n: {"cluster": np.arange(n) // DOCUMENTS},
    "the same clusters": lambda n: {"cluster": np.arange(n) % PILOT},
    "new wordings, the same 14 words": lambda n: {
        "cluster": np.arange(n) // DOCUMENTS,
        "word": np.random.default_rng(1).integers(0, 14, n),
    },
}


def run(design: str, tails: str, times: int, rng: np.random.Generator) -> list[float]:
    pilot, draw = PILOT * DOCUMENTS, TAILS[tails]
    n = pilot * times
    labels = DESIGNS[design](n)
    y, parts = draw(rng, n), []
    for label in labels.values():
        y += OF_CLUSTER * draw(rng, int(label.max()) + 1)[label]
        parts.append(OF_CLUSTER**2 * np.mean(label[:pilot, None] == label[:pilot]))
    rows = [
        dict(zip(("y", *labels), row, strict=True)) for row in zip(y, *labels.values(), strict=True)
    ]
    of_all = measure(len(labels) > 1)
    grown = growth([[[name] for name in label] for label in labels.values()])
    first, found = (width_of(summary(rows[:m]).values["mean"]) for m in (pilot, n))
    window = Window(pilot, grown[:, pilot], first)
    windows = in_windows(of_all, [[row] for row in rows[:pilot]], {}, [MEAN])["mean"]
    low, middle, high = plan(window, 0.0, grown, windows, [n]).at_full
    of_clusters = share(window, windows)
    true = sum(parts) / (sum(parts) + 1 / pilot)
    error = abs(of_clusters.value - true) if of_clusters.known else np.nan
    by_root = first * np.sqrt(1 / times) / found
    return [middle / found, low <= found <= high, by_root, error]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    arguments = parser.parse_args()
    print("| design | effects | times | predicted / found | within | in range | by root | error |")
    print("|---|---|---|---|---|---|---|---|")
    for design, tails, times in product(DESIGNS, TAILS, (4, 16)):
        rng = np.random.default_rng(1)
        ratio, held, root, errors = np.array(
            [run(design, tails, times, rng) for _ in range(arguments.runs)]
        ).T
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        cells = [f"{middle:.2f}", f"{low:.2f} to {high:.2f}", f"{100 * held.mean():.0f}"]
        cells += [f"{np.median(root):.2f}", f"{np.mean(errors[~np.isnan(errors)]):.2f}"]
        print(f"| {design} | {tails} | {times} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
