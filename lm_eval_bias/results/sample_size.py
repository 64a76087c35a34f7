"""How many documents make an interval so narrow, from a pilot's intervals and clusters.

What a cluster adds to the variance falls with the number of clusters, what a document adds with
that of documents. With W the width, N documents, G clusters, and a 0 for the pilot,

    (W / q(G))^2 = (W0 / q(G0))^2 (s G0 / G + (1 - s) N0 / N)

where q is Student's quantile with G - 1 degrees of freedom. G is that of the clustering that grows
least. s, the share of the clusters, is found on windows of the pilot's own documents.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from math import inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lm_eval_bias.measure import (
    Measure,
    Metric,
    Number,
    Record,
    Records,
    clusters_of,
    summarise_or_explain,
)
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.usage import Options, UsageError

PARTS = (2, 4)
"""The pilot is cut into so many windows, to see how the interval grows."""
WIDEST = 0.75
"""Where the share of the clusters may be anything within so much of 0 to 1, it is unknown."""
RANGE, NINE_OF_TEN = 0.9, 1.645
"""The least and the most documents hold the true number in about so many of the cases."""

Floats = NDArray[np.float64]


class Window(NamedTuple):
    documents: int
    clusters: Sequence[int]
    width: float


class Share(NamedTuple):
    """The part of the variance that clusters add, from 0 to 1. known: whether windows show it; else
    it is 1. matters: False where all documents bring clusters."""

    value: float
    low: float
    high: float
    known: bool
    matters: bool = True


UNKNOWN = Share(1.0, 0.0, 1.0, False)


class SizePlan(NamedTuple):
    """documents: so many make the width; least, most: its range; None where the task has not so
    many. at_full: the width with all documents."""

    width: float
    wanted: float
    documents: int | None = None
    least: int | None = None
    most: int | None = None
    at_full: tuple[float, float, float] = (nan, nan, nan)
    share: Share = UNKNOWN
    cannot: str = ""

    @property
    def known(self) -> bool:
        """Whether it is known what clusters add, or does not matter."""
        return self.share.known or not self.share.matters

    @property
    def needed(self) -> int | None:
        """Documents; at most, where it is not."""
        return self.documents if self.known else self.most


def width_of(number: Number) -> float:
    """From the lower to the upper end of the interval; NaN where there is none."""
    return number.high - number.low if number.low < number.high else nan


def growth(clusterings: Sequence[Iterable[Iterable[Hashable]]]) -> NDArray[np.int_]:
    """How many clusters the first n documents have, shape (clusterings, documents + 1).
    clusterings: of each, the clusters of each document."""
    rows = []
    for of_documents in clusterings:
        seen: set[Hashable] = set()
        counts = [0]
        for clusters in of_documents:
            seen.update(clusters)
            counts.append(len(seen))
        rows.append(counts)
    return np.array(rows, dtype=int)


def boundaries(labels: Sequence[Hashable]) -> list[int]:
    """The numbers of documents that cut no cluster apart. labels: the cluster of each document."""
    return [*accumulate(len([*cluster]) for _, cluster in groupby(labels))]


def windows(labels: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The ends of halves and quarters of documents, as far as possible where the label changes."""
    cuts = np.array([0, *boundaries(labels)])
    ends = (
        [int(cuts[abs(cuts - len(labels) * i / n).argmin()]) for i in range(n + 1)] for n in PARTS
    )
    pairs = dict.fromkeys(pair for of_parts in ends for pair in pairwise(of_parts))
    return [(a, b) for a, b in pairs if 0 < b - a < len(labels)]


def clusters_in(measure: Measure, documents: Sequence[Records]) -> list[int]:
    """How many clusters documents have in each clustering. documents: the records of each."""
    records = [record for of_document in documents for record in of_document]
    return [
        len({name for record in records for name in clusters_of(record, columns)})
        for columns in measure.clusters
    ]


def in_windows(
    measure: Measure,
    documents: Sequence[Sequence[Record]],
    options: Options,
    metrics: Iterable[Metric],
) -> dict[str, list[Window]]:
    """The intervals in windows of a pilot: metric -> windows. documents: of each, its records, in
    the order of the task."""
    labels = [tuple(clusters_of(records[0], measure.clusters[0])) for records in documents]
    result: dict[str, list[Window]] = {metric.name: [] for metric in metrics}
    for begin, end in windows(labels):
        part = documents[begin:end]
        clusters = clusters_in(measure, part)
        if min(clusters) < FEWEST_CLUSTERS:
            continue
        records = [record for of_document in part for record in of_document]
        try:
            values = summarise_or_explain(measure, records, options).values
        except UsageError:
            continue
        for name, of_metric in result.items():
            of_metric.append(Window(end - begin, clusters, width_of(values[name])))
    return result


def quantile(clusters: ArrayLike) -> Floats:
    return scipy.special.stdtrit(np.maximum(np.asarray(clusters, dtype=float) - 1, 1), 0.975)


def share(pilot: Window, parts: Sequence[Window]) -> Share:
    """How much of the variance clusters add, by least squares over windows of the pilot."""
    base = pilot.width / float(quantile(min(pilot.clusters)))
    rows = []
    for documents, clusters, width in parts:
        if not 0 < width < inf:
            continue
        fast = pilot.documents / documents
        slow = min(fast, *(a / b for a, b in zip(pilot.clusters, clusters, strict=True)))
        variance = (width / float(quantile(min(clusters))) / base) ** 2 / fast
        rows.append((1 - slow / fast, 1 - variance, variance * sqrt(2 / (min(clusters) - 1))))
    x, y, strays = np.array(rows).reshape(-1, 3).T
    size = float(x @ x)
    if len(rows) < 2 or size == 0:
        return UNKNOWN
    best = float(x @ y) / size
    value = min(max(best, 0.0), 1.0)
    spread = float(((y - best * x) ** 2).sum()) / (len(x) - 1) / size
    error = sqrt(max(spread, float((x * strays) @ (x * strays)) / size**2))
    low, high = (min(max(value + side * NINE_OF_TEN * error, 0.0), 1.0) for side in (-1, 1))
    return UNKNOWN if high - low > WIDEST else Share(value, low, high, True)


def predicted(
    pilot: Window, of_clusters: float, documents: ArrayLike, clusters: ArrayLike
) -> Floats:
    """The width with other numbers of documents, shape (n,). of_clusters: the share. clusters:
    shape (clusterings, n)."""
    documents, clusters = np.asarray(documents, dtype=float), np.asarray(clusters, dtype=float)
    fast = pilot.documents / documents
    slow = np.array(pilot.clusters, dtype=float)[:, None] / clusters
    # The clustering that changes least, and never more than documents do.
    slow = np.where(
        documents >= pilot.documents,
        np.maximum(slow.max(axis=0), fast),
        np.minimum(slow.min(axis=0), fast),
    )
    ratio = quantile(clusters.min(axis=0)) / float(quantile(min(pilot.clusters)))
    return pilot.width * np.sqrt(of_clusters * slow + (1 - of_clusters) * fast) * ratio


def _first(documents: NDArray[np.int_], narrow: NDArray[np.bool_]) -> int | None:
    return int(documents[narrow.argmax()]) if narrow.any() else None


def plan(
    pilot: Window,
    wanted: float,
    grown: NDArray[np.int_],
    parts: Sequence[Window] = (),
    ends: Sequence[int] = (),
) -> SizePlan:
    """How many documents make the interval as narrow as wanted.

    grown: as `growth` of the task's documents. parts: windows of the pilot. ends: as `boundaries`;
    by default any number of documents.
    """
    n, cannot = min(pilot.clusters, default=0), ""
    documents = np.array(ends or range(1, grown.shape[1]))
    documents = documents[grown[:, documents].min(axis=0) >= FEWEST_CLUSTERS]
    if n < FEWEST_CLUSTERS:
        cannot = f"the pilot has {n} cluster{'s' * (n != 1)}, and {FEWEST_CLUSTERS} are needed"
    elif isnan(pilot.width):
        cannot = "the pilot has no interval of it"
    elif pilot.width == inf:
        cannot = "the pilot's interval has no end"
    elif pilot.width <= 0:
        cannot = "the pilot shows no variance, which is no evidence that there is none"
    elif not documents.size:
        cannot = f"the task has fewer than {FEWEST_CLUSTERS} clusters"
    if cannot:
        return SizePlan(pilot.width, wanted, cannot=cannot)
    shared = share(pilot, parts)
    # The pilot's variance is by so much too small or too great at the ends of the range.
    small, great = (
        sqrt((n - 1) / float(scipy.special.chdtri(n - 1, tail)))
        for tail in ((1 - RANGE) / 2, (1 + RANGE) / 2)
    )
    low, middle, high = (
        predicted(pilot, of_clusters, documents, grown[:, documents])
        for of_clusters in (shared.low, shared.value, shared.high)
    )
    fewest, most = (
        [_first(documents, widths * factor <= wanted) for widths in (low, middle, high)]
        for factor in (small, great)
    )
    return SizePlan(
        pilot.width,
        wanted,
        documents=_first(documents, middle <= wanted),
        least=min((n for n in fewest if n is not None), default=None),
        most=None if None in most else max(n for n in most if n is not None),
        at_full=(float(low[-1]) * small, float(middle[-1]), float(high[-1]) * great),
        share=shared._replace(matters=not np.allclose(low, high, rtol=0.02)),
    )
