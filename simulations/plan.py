"""How well does a pilot tell the width of an interval on more documents?

    python simulations/plan.py [--runs 10] [TASK ...]

A made-up model answers all documents of a task: each cluster (theme, event, template, word) moves
its answers by a draw of its own, and each document by another. `plan` sees the first documents
alone and predicts the width on more of them; the same model's answers to those have the width that
is found. Printed for each number is the median of predicted / found over the runs, and between
which values nine of ten lie. Beside it what the square root of the number of documents would have
said.
"""

from __future__ import annotations

import argparse
import logging
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lm_eval_bias.catalogue import task as task_of
from lm_eval_bias.measure import clusters_of
from lm_eval_bias.results import sample_size as plan
from lm_eval_bias.results.runs import Number
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
    """Most probability on one number: more of one's own group, and more or less of it from event to
    event."""
    middle = 50 + 12 * x + 5 * (doc["perceiver"] == doc["experiencer"]) * (1 + x)
    return [["", [(-(((n - middle) / 3) ** 2), False) for n in range(101)]]]


# Task -> how it is answered, the column whose values answer in opposite ways, the documents of the
# pilot, and of what is predicted.
TASKS: dict[str, tuple[Answer, str | None, int, tuple[int, ...]]] = {
    "hbb": (two, "identity", 5568, (11136, 25056)),
    "bistereo_pairs": (of_sentences, "sentiment", 2000, (8000, 44295)),
    "bistereo_nli": (of_labels, "descriptor", 2000, (8000, 60256)),
    "mist_wabt_likelihood": (of_words, None, 720, (2880, 9000)),
    "empathy_religion_likelihood": (of_scale, None, 864, (3456, 8640)),
}


def made_up(
    documents: list[dict[str, Any]],
    clusterings: list[tuple[str, ...]],
    by: str | None,
    random: np.random.Generator,
) -> np.ndarray:
    """A number for each document: from each of its clusters 0.5 times a normal draw, which each
    value of the column `by` has anew, and once more from itself."""
    drawn: dict[Any, float] = {}
    x = random.standard_normal(len(documents))
    for i, columns in enumerate(clusterings):
        for k, document in enumerate(documents):
            names = [
                (i, name, document[by] if by else None) for name in clusters_of(document, columns)
            ]
            x[k] += sum(
                drawn.setdefault(name, 0.5 * random.standard_normal()) for name in names
            ) / math.sqrt(max(len(names), 1))
    return x


def width(
    measure: Any, records: list[dict[str, Any]], options: dict[str, Any], metric: Any
) -> plan.Interval:
    values = measure.summary(records, **options).values
    return plan.interval_of(
        metric, measure.metrics, {(name, None): Number(*value) for name, value in values.items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    print(
        "| task | number | pilot | documents | predicted / found | within | by the root of documents |\n|---|---|---|---|---|---|---|"
    )
    for name in arguments.tasks:
        answer, by, pilot, sizes = TASKS[name]
        task = task_of(name)
        measure, options = task.measure, read_options(name, {}, task.options)
        documents = task.builder(**{**task.metadata, **task.config.get("dataset_kwargs", {})})[
            "test"
        ]
        grown = plan.growth(
            [[clusters_of(doc, columns) for doc in documents] for columns in measure.clusters]
        )
        metrics = [m for m in measure.metrics if m.primary and not m.bounds]
        ratios: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for seed in range(arguments.runs):
            x = made_up(documents, measure.clusters, by, np.random.default_rng(seed))
            records = [
                measure.record(doc, answer(doc, value))
                for doc, value in zip(documents, x, strict=True)
            ]
            found = plan.in_windows(
                measure, [[record] for record in records[:pilot]], options, metrics
            )
            values = {n: measure.summary(records[:n], **options).values for n in (pilot, *sizes)}
            for metric in metrics:
                widths = {
                    n: plan.interval_of(
                        metric,
                        measure.metrics,
                        {(m, None): Number(*v) for m, v in values[n].items()},
                    )
                    for n in values
                }
                if (
                    widths[pilot] is None
                    or not math.isfinite(widths[pilot].width)
                    or widths[pilot].width <= 0
                ):
                    continue
                own = widths[pilot].own
                window = plan.Window(pilot, grown[:, pilot], widths[pilot].width)
                share = plan.share(window, own, found[metric.name])
                for n in sizes:
                    if widths[n].width > 0 and math.isfinite(widths[n].width):
                        told = float(
                            plan.predicted(window, own, share.value, [n], grown[:, [n]])[0]
                        )
                        naive = widths[pilot].width * math.sqrt(pilot / n)
                        ratios.setdefault((metric.name, n), []).append(
                            (told / widths[n].width, naive / widths[n].width)
                        )
        for (metric_name, n), pairs in ratios.items():
            told, naive = np.array(pairs).T
            low, middle, high = np.quantile(told, [0.05, 0.5, 0.95])
            row = (
                name,
                metric_name,
                f"{pilot:,}",
                f"{n:,}",
                f"{middle:.2f}",
                f"{low:.2f} to {high:.2f}",
                f"{np.median(naive):.2f}",
            )
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
