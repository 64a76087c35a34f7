"""How well does a pilot predict the width of an interval on more documents?

    python simulations/plan.py [--runs 10] [TASK ...]

Clusters and documents move a made-up model's answers by a draw each. `plan` sees the first
documents. Printed: predicted / actual width (median, and nine of ten runs), and what the root of
the number of documents would predict.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lm_eval_bias.catalogue import task as task_of
from lm_eval_bias.measure import clusters_of, summed_up
from lm_eval_bias.results.sample_size import Window, growth, in_windows, predicted, share, width_of
from lm_eval_bias.usage import read_options

Answer = Callable[[Mapping[str, Any], float], list[Any]]


def two(doc: Mapping[str, Any], x: float) -> list[Any]:
    """Log-likelihoods of two options that differ by x."""
    return [(x / 2, False), (-x / 2, False)]


def of_sentences(doc: Mapping[str, Any], x: float) -> list[Any]:
    return [(x / 2 - 20, 5, "joint"), (-x / 2 - 20, 5, "joint")]


def of_words(doc: Mapping[str, Any], x: float) -> list[Any]:
    signs = [1 if positive else -1 for positive in doc["positive"]]
    return [(sign * x * side / 2, False) for sign in signs for side in (1, -1)]


def of_labels(doc: Mapping[str, Any], x: float) -> list[Any]:
    return [(x, False), (-x, False), (0.8, False)]


def of_scale(doc: Mapping[str, Any], x: float) -> list[Any]:
    """More of one's own group, by another amount in each event."""
    middle = 50 + 12 * x + 5 * (doc["perceiver"] == doc["experiencer"]) * (1 + x)
    return [["", [(-(((n - middle) / 3) ** 2), False) for n in range(101)]]]


# Task -> how it is answered, the column whose values answer in opposite ways, the documents of the
# pilot, and of what is predicted.
TASKS: dict[str, tuple[Answer, str | None, int, tuple[int, ...]]] = {
    "hbb": (two, "identity", 5568, (11136, 25056)),
    "bistereo_pairs": (of_sentences, "sentiment", 2000, (8000, 44295)),
    "bistereo_nli": (of_labels, "descriptor", 2000, (8000, 60256)),
    "mist_wabt_likelihood": (of_words, None, 720, (2880, 9000)),
    "empathy_religion_likelihood": (of_scale, None, 1464, (5856, 14640)),
}


def made_up(
    documents: list[dict[str, Any]],
    clusterings: list[list[list[Any]]],
    by: str | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """For each document a normal draw, and half of one of each of its clusters, anew for each value
    of the column `by`."""
    x = rng.standard_normal(len(documents))
    for of_documents in clusterings:
        drawn: dict[Any, float] = defaultdict(lambda: 0.5 * rng.standard_normal())
        for k, (document, names) in enumerate(zip(documents, of_documents, strict=True)):
            effects = [drawn[name, document[by] if by else None] for name in names]
            x[k] += sum(effects) / np.sqrt(max(len(names), 1))
    return x


def ratios(name: str, runs: int) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """(metric, documents) -> predicted / actual width in each run, by `plan` and by the root."""
    answer, by, pilot, sizes = TASKS[name]
    task = task_of(name)
    measure, options = task.measure, read_options(name, {}, task.options)
    settings = {**task.metadata, **task.config.get("dataset_kwargs", {})}
    documents = list(task.builder(**settings)["test"])
    clusters = [
        [clusters_of(document, columns) for document in documents] for columns in measure.clusters
    ]
    grown = growth(clusters)
    metrics = [m for m in measure.metrics if m.primary]
    result = defaultdict(list)
    for seed in range(runs):
        x = made_up(documents, clusters, by, np.random.default_rng(seed))
        records = [
            measure.record(document, answer(document, value))
            for document, value in zip(documents, x, strict=True)
        ]
        windows = in_windows(measure, [[r] for r in records[:pilot]], options, metrics)
        values = {n: summed_up(measure, records[:n], options).values for n in (pilot, *sizes)}
        for metric in metrics:
            width = {n: width_of(numbers[metric.name]) for n, numbers in values.items()}
            window = Window(pilot, grown[:, pilot], width[pilot])
            for n in sizes:
                if 0 < width[pilot] < np.inf and 0 < width[n] < np.inf:
                    of_clusters = share(window, windows[metric.name]).value
                    by_plan = predicted(window, of_clusters, [n], grown[:, [n]])[0] / width[n]
                    by_root = width[pilot] * np.sqrt(pilot / n) / width[n]
                    result[metric.name, n].append((float(by_plan), float(by_root)))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    print("| task | number | documents | predicted / actual | within | by the root of documents |")
    print("|---|---|---|---|---|---|")
    for name in arguments.tasks:
        for (metric, n), pairs in ratios(name, arguments.runs).items():
            by_plan, by_root = np.array(pairs).T
            low, middle, high = np.quantile(by_plan, [0.05, 0.5, 0.95])
            cells = f"{middle:.2f} | {low:.2f} to {high:.2f} | {np.median(by_root):.2f}"
            print(f"| {name} | {metric} | {TASKS[name][2]:,} to {n:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
