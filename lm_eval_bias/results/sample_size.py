"""How many documents make an interval so narrow, from a pilot's interval and clusters.

The part of the width that comes from clusters falls with their root. With W that part, and G the
clusters of the clustering that grows least, and a 0 for the pilot,

    W / q(G) = W0 / q(G0) sqrt(G0 / G)

where q is Student's quantile with G - 1 degrees of freedom, and documents count as a clustering,
too. So no more documents are needed: those that bring no cluster may help as well. The rest, F,
stays: groups, placebos, the systematic error. The whole width is the root of W^2 + F^2.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, groupby
from math import inf, isnan, nan
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lm_eval_bias.measure import Measure, Number, Records, clusters_of
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS

Floats = NDArray[np.float64]


class SizePlan(NamedTuple):
    """documents: so many make the width; None where the task has not so many. at_full: the width
    with all documents."""

    width: float
    documents: int | None = None
    at_full: float = nan
    cannot: str = ""


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


def clusters_in(measure: Measure, documents: Sequence[Records]) -> list[int]:
    """How many clusters documents have in each clustering. documents: the records of each."""
    records = [record for of_document in documents for record in of_document]
    return [
        len({name for record in records for name in clusters_of(record, columns)})
        for columns in measure.clusters
    ]


def quantile(clusters: ArrayLike) -> Floats:
    return scipy.special.stdtrit(np.asarray(clusters, dtype=float) - 1, 0.975)


def plan(
    width: float,
    wanted: float,
    asked: int,
    clusters: Sequence[int],
    grown: NDArray[np.int_],
    ends: Sequence[int],
    stays: float = 0,
) -> SizePlan:
    """How many documents make the interval as narrow as wanted.

    asked, clusters: documents of the pilot, and its clusters in each clustering. grown: as `growth`
    of the task's documents. ends: as `boundaries`. stays: the part of the width that no document
    narrows.
    """
    n, cannot = min(clusters, default=0), ""
    documents = np.array(ends)
    documents = documents[grown[:, documents].min(axis=0) >= FEWEST_CLUSTERS]
    if n < FEWEST_CLUSTERS:
        cannot = f"the pilot has {n} cluster{'s' * (n != 1)}, and {FEWEST_CLUSTERS} are needed"
    elif isnan(width):
        cannot = "the pilot has no interval of it"
    elif width == inf:
        cannot = "the pilot's interval has no end"
    elif width <= 0:
        cannot = "the pilot shows no variance, which is no evidence that there is none"
    elif not documents.size:
        cannot = f"the task has fewer than {FEWEST_CLUSTERS} clusters"
    if cannot:
        return SizePlan(width, cannot=cannot)
    counts = grown[:, documents]
    growths = np.vstack([documents, counts]) / np.array([asked, *clusters])[:, None]
    ratio = quantile(counts.min(axis=0)) / quantile(n)
    falls = np.sqrt(width**2 - stays**2) * ratio / np.sqrt(growths.min(axis=0))
    widths = np.hypot(falls, stays)
    narrow = widths <= wanted
    first = int(documents[narrow.argmax()]) if narrow.any() else None
    return SizePlan(width, first, float(widths[-1]))
