"""The one engine of errors: how far a number would move if other clusters had been asked.

A number is computed from sums over rows. A `Sample` knows the clusters of the rows, and its `total`
adds rows up: first over all of them, then without each group of clusters. `estimates` says from
these how far the number would move:

    sample = Sample(len(x), (templates, None), (words, None))
    total = sample.total()
    n = total(1)
    result = sample.estimates(total(x) / n, n)

Two runs on the same rows: build one `Sample` of the rows of both, slice it for each run, and give
the second's `changes` less the first's to `variance`.

Source: Shao and Tu, The Jackknife and Bootstrap (1995), section 2.3; for several clusterings, A + B
- AB: Cameron, Gelbach and Miller, Robust Inference With Multiway Clustering (2011), section 2.
"""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SEED = 20250601
FEWEST_CLUSTERS = 10
"""Effective clusters, and events of a share, that an error needs."""
NORMAL = float(scipy.special.ndtri(0.975))
CELLS = 100
"""Groups in which the common cells of several clusterings are left out."""
ROUNDING = 1e-12
"""Of its size: equal values, added up in thousands, differ by less."""


class Estimates(NamedTuple):
    """Numbers of several parts of the rows, each of shape (parts,). value; variance, NaN where it
    is unknown; df: its degrees of freedom; clusters: effective ones, of the clustering with fewest;
    n: rows that count. ends: of an interval that is not Student's."""

    value: Floats
    variance: Floats
    df: Floats
    clusters: Ints
    n: Ints
    ends: tuple[Floats, Floats] | None = None


class Variance(NamedTuple):
    value: Floats
    df: Floats


class Part(NamedTuple):
    """Rows that are left out together. group: shape (rows,), -1 for never. strata: shape (groups,).
    ways: of how many clusterings the groups are."""

    group: Ints
    strata: Ints
    ways: int

    @property
    def size(self) -> int:
        return len(self.strata)


Value = tuple[Floats, ...]
"""A number, of how many units it is a mean, and if that is not the number of rows that count, this
too; each of shape (1 + groups, parts)."""
Values = dict[str, Value]


class Sample:
    """The clusters of rows, in one clustering or in several that cross; the parts of each stand
    before those that they have in common.

    Each clustering is (clusters, strata): whole numbers from 0, shape (rows,); a cluster of -1 is
    none; strata None are one stratum. A cluster lies in one stratum.
    """

    def __init__(self, rows: int, *clusterings: tuple[ArrayLike, ArrayLike | None]) -> None:
        self.rows = rows
        single = []
        for clusters, strata in clusterings:
            group = np.asarray(clusters, dtype=int)
            of_group = np.zeros(group.max(initial=-1) + 1, dtype=int)
            if strata is not None:
                of_group[group[group >= 0]] = np.asarray(strata, dtype=int)[group >= 0]
            single.append(Part(group, of_group, 1))
        joint = [
            _cells(chosen)
            for ways in range(2, len(single) + 1)
            for chosen in combinations(single, ways)
        ]
        self.single, self.parts = len(single), [*single, *joint]

    def __getitem__(self, rows: slice) -> "Sample":
        """The same groups of some of the rows."""
        part = copy(self)
        part.rows = len(np.arange(self.rows)[rows])
        part.parts = [p._replace(group=p.group[rows]) for p in self.parts]
        return part

    def total(self, by: ArrayLike | None = None, parts: int = 1) -> "Total":
        """Adds rows up within parts. by: the part of each row, shape (rows,), -1 for none."""
        one = np.zeros(self.rows, dtype=int)
        return Total(self, one if by is None else np.asarray(by, dtype=int), parts)

    def changes(self, value: Floats, n: Floats) -> list[tuple[Floats, Floats]]:
        """For each part of the sample, how numbers change without each of its groups, and the share
        of rows left out; shapes (groups, parts of the rows)."""
        ends = np.cumsum([1, *(p.size for p in self.parts)])
        with quiet_division():
            share = np.where(n[0] > 0, 1 - n / n[0], 0)
            change = value - value[0]
        return [(change[a:b], share[a:b]) for a, b in pairwise(ends)]

    def clusters(self, changes: Sequence[tuple[Floats, Floats]]) -> Ints:
        """Effective clusters of the clustering that has fewest."""
        counts = [
            np.where(share.any(axis=0), effective_clusters(share), np.inf)
            for _, share in changes[: self.single]
        ]
        fewest = np.min(counts, axis=0)
        return np.where(np.isfinite(fewest), fewest, 0).round().astype(int)

    def variance(self, changes: Sequence[tuple[Floats, Floats]]) -> Variance:
        """Of numbers, or of a combination of those of several runs, from their changes: the sum
        over clusterings, less that of two at once, and so on; at least the largest."""
        each = [
            _jackknife(change, share, part.strata)
            for part, (change, share) in zip(self.parts, changes, strict=True)
        ]
        single = each[: self.single]
        total = sum((-1) ** (p.ways + 1) * v.value for p, v in zip(self.parts, each, strict=True))
        total = np.maximum.reduce([total, *(v.value for v in single)])
        with quiet_division():
            squares = sum(v.value**2 / v.df for v in single)
        return Variance(total, satterthwaite(total, squares))

    def estimates(
        self, value: Floats, n: Floats, rows: Floats | None = None, fewest: int = FEWEST_CLUSTERS
    ) -> Estimates:
        """Of numbers and the counts of what they are means of, both as of `total`, shape (1 +
        groups, parts). rows: the counts to show, if others. Without clusterings, or with less than
        `fewest` clusters, there is no variance."""
        value, n = np.broadcast_arrays(value, n)
        nothing = np.full(value.shape[1], np.nan)
        counted = np.nan_to_num((n if rows is None else rows)[0]).round().astype(int)
        if not self.parts:
            return Estimates(value[0], nothing, nothing, np.zeros_like(counted), counted)
        changes = self.changes(value, n)
        clusters, variance = self.clusters(changes), self.variance(changes)
        there = (clusters >= fewest) & np.isfinite(value[0] + variance.value)
        equal = np.sqrt(variance.value) <= ROUNDING * np.maximum(1, abs(value[0]))
        known = np.where(there, np.where(equal, 0, variance.value), np.nan)
        return Estimates(value[0], known, variance.df, clusters, counted)


class Total:
    """Adds rows up: over all of each part, and without each group of the sample."""

    def __init__(self, sample: Sample, by: Ints, parts: int) -> None:
        self.sample, self.by = sample, by
        self.parts, self._rows = parts, np.flatnonzero(by >= 0)
        self._counts: dict[bytes, Floats] = {}
        self._places = [(by[self._rows], 1)]
        for part in sample.parts:
            group = part.group[self._rows] + 1
            self._places.append((group * parts + by[self._rows], part.size + 1))

    def count(self, known: Bools) -> Floats:
        key = known.tobytes()
        if key not in self._counts:
            self._counts[key] = self(known)
        return self._counts[key]

    def within(self, codes: Ints, size: int) -> tuple["Total", Floats]:
        """The total of finer parts, numbered from 0, and which belongs to which part, shape (size,
        parts)."""
        belongs = np.zeros((size, self.parts))
        belongs[codes[self._rows], self.by[self._rows]] = 1
        return Total(self.sample, np.where(self.by >= 0, codes, -1), size), belongs

    def __call__(self, x: ArrayLike) -> Floats:
        """x: shape (rows, ...), or one number for all. Shape (1 + groups, parts, ...)."""
        x = floats(x)
        if x.ndim > 1:
            columns = np.stack([self(column) for column in x.reshape(len(x), -1).T], axis=-1)
            return columns.reshape(*columns.shape[:2], *x.shape[1:])
        x = np.broadcast_to(x, len(self._rows)) if not x.ndim else x[self._rows]
        sums = [
            np.bincount(place, x, groups * self.parts).reshape(groups, self.parts).astype(float)
            for place, groups in self._places
        ]
        return np.concatenate([sums[0], *(sums[0] - group[1:] for group in sums[1:])])


def _cells(parts: Sequence[Part]) -> Part:
    """The common cells of clusterings in at most `CELLS` groups, with like shares of every stratum;
    a row outside a clustering is in no cell."""
    cell = np.zeros(len(parts[0].group), dtype=int)
    stratum = np.zeros_like(cell)
    there = np.all([p.group >= 0 for p in parts], axis=0)
    for p in parts:
        cell = cell * (p.size + 1) + p.group
        stratum = stratum * (p.strata.max(initial=0) + 1) + np.append(p.strata, 0)[p.group]
    cells, first, which = np.unique(cell[there], return_index=True, return_inverse=True)
    scrambled = cells * 2654435761 % 2**32  # an order that looks random (Knuth's)
    place = np.argsort(np.lexsort((scrambled, stratum[there][first])))
    groups = min(CELLS, len(cells))
    group = np.full(len(cell), -1)
    group[there] = place[which] % max(groups, 1)
    return Part(group, np.zeros(groups, dtype=int), len(parts))


def _jackknife(change: Floats, share: Floats, strata: Ints) -> Variance:
    """The variance of numbers over clusters, from how they change without each.

    change, share: shape (groups, parts). strata: shape (groups,). A group moves a number by c =
    -(1 - share) change, less its share of what its stratum moves; the variance is the sum over
    strata of G / (G - 1) sum(c^2), of G effective groups. If any stratum has one group, all are
    ignored. NaN with a change that is not finite and of one group; 0 without groups.
    """
    there = share > 0
    moved = np.where(there, (1 - share) * change, 0)
    value, df = _of_strata(moved, share, np.zeros_like(strata))
    if strata.any():
        alone = (_sums(there, strata) == 1).any(axis=0)
        value, df = np.where(alone, (value, df), _of_strata(moved, share, strata))
    return Variance(np.where(there.sum(axis=0) == 1, np.nan, value), df)


def _sums(x: Floats | Bools, strata: Ints) -> Floats:
    return np.asarray(np.eye(strata.max(initial=0) + 1)[:, strata] @ x)


def _of_strata(moved: Floats, share: Floats, strata: Ints) -> Variance:
    there = share > 0
    with quiet_division():
        part = share / np.where(there, _sums(share, strata)[strata], 1)
        away = moved - part * _sums(moved, strata)[strata]
        squares = _sums(share**2, strata)
        groups = _sums(share, strata) ** 2 / np.where(squares > 0, squares, 1)
        spare = np.maximum(groups - 1, ROUNDING)
        parts = groups / spare * _sums(away**2, strata)
        total = parts.sum(axis=0)
        excess = excess_kurtosis(away / np.sqrt(np.where(there, share, 1)), there)
    df = spare.sum(axis=0) / (1 + np.maximum(excess, 0) / 2)
    unequal = satterthwaite(total, (parts**2 / spare).sum(axis=0))
    return Variance(total, np.maximum(1.0, np.minimum(df, unequal)))


def excess_kurtosis(z: Floats, there: Bools) -> Floats:
    """Of the values of each column, about 0, without the bias of small samples (G2); 0 for fewer
    than four, and without spread. z, there: shape (n, columns).

    The variance of a variance of n values is 2 / (n - 1) + kurtosis / n times its square. Source:
    Joanes and Gill, Comparing Measures of Sample Skewness and Kurtosis (1998).
    """
    n = there.sum(axis=0).astype(float)
    second, fourth = (np.where(there, z, 0) ** 2).sum(axis=0), (np.where(there, z, 0) ** 4).sum(0)
    with quiet_division():
        g2 = n * fourth / second**2 - 3
        unbiased = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * g2 + 6)
    return np.where((n > 3) & (second > 0), unbiased, 0)


def satterthwaite(variance: ArrayLike, squares: ArrayLike) -> Floats:
    """Degrees of freedom of a sum of variances, at least 1; infinite without squares.

    squares: the sum of the squared parts, each over its own df.
    """
    with quiet_division():
        df = np.maximum(1.0, np.square(variance) / squares)
    return np.where(np.asarray(squares) > 0, df, np.inf)


def effective_clusters(sizes: ArrayLike) -> Floats:
    """How many equal clusters would tell as much, (sum n)^2 / sum n^2; 0 without rows.

    sizes: shape (clusters, ...). Source: Kish, Survey Sampling (1965), section 11.7.
    """
    n = floats(sizes)
    squares = (n**2).sum(axis=0)
    return n.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1)


def t_interval(
    value: ArrayLike, stderr: ArrayLike, df: ArrayLike, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """The ends of Student's interval of confidence 1 - alpha; NaN where the error is NaN or 0. df
    may be infinite."""
    value, stderr = floats(value), floats(stderr)
    half = np.where(stderr > 0, -scipy.special.stdtrit(df, alpha / 2) * stderr, np.nan)
    return value - half, value + half


def with_systematic(
    value: ArrayLike,
    ends: tuple[ArrayLike, ArrayLike],
    clusters: ArrayLike,
    errors: Sequence[tuple[float, float]],
) -> tuple[Floats, Floats, Floats]:
    """A 95 % interval that also holds for the worst of some systematic errors, and by how much its
    standard error grows.

    errors: mean and standard deviation of each, in standard deviations between clusters: the
    interval's standard error times the root of the number of clusters. Source: empirical
    calibration, Schuemie and others (2018), doi 10.1073/pnas.1708282114.
    """
    value, low, high = map(floats, (value, *ends))
    root = np.sqrt(floats(clusters))
    below = above = times = np.ones_like(root)
    if not errors:
        return low, high, times
    for mean, spread in errors:
        grown, moved = np.hypot(1, spread * root), mean * root / NORMAL
        times = np.fmax(times, grown)
        below, above = np.fmax(below, grown + moved), np.fmax(above, grown - moved)
    return value - below * (value - low), value + above * (high - value), times


def share_interval(
    value: ArrayLike, stderr: ArrayLike, clusters: ArrayLike, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """The ends of the interval of shares from 0 to 1: Clopper and Pearson's of so many independent
    answers that their error is as large as Student's on clusters - 1 degrees of freedom.

    With fewer than `FEWEST_CLUSTERS` such answers on a side, each cluster is one answer. NaN
    without an error, with fewer clusters, and for an error of 0 of a share that is neither 0 nor 1.
    Source: Korn and Graubard, Survey Methodology 24 (1998), without the number of answers.
    """
    p, stderr, clusters = map(floats, (value, stderr, clusters))
    alpha = min(alpha, 0.999)  # at 1 both quantiles are 0
    df = np.maximum(clusters - 1, 1)
    error = stderr * scipy.special.stdtrit(df, alpha / 2) / scipy.special.ndtri(alpha / 2)
    with quiet_division():
        answers = np.where(error > 0, p * (1 - p) / error**2, clusters)
        few = np.minimum(p, 1 - p) * answers < FEWEST_CLUSTERS
    n = np.where(few, np.minimum(clusters, answers), answers)
    low = np.where(p > 0, scipy.special.betaincinv(p * n, (1 - p) * n + 1, alpha / 2), 0)
    high = np.where(p < 1, scipy.special.betaincinv(p * n + 1, (1 - p) * n, 1 - alpha / 2), 1)
    known = (stderr > 0) | ((stderr == 0) & ((p == 0) | (p == 1)))
    known &= clusters >= FEWEST_CLUSTERS
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def floats(x: ArrayLike) -> Floats:
    return np.asarray(x, dtype=float)


def quiet_division() -> np.errstate:
    """Without warnings of what is undefined or infinite."""
    return np.errstate(divide="ignore", invalid="ignore")


def ratio(a: ArrayLike, b: ArrayLike) -> Floats:
    """a / b, NaN where b is 0."""
    with quiet_division():
        return np.where(np.asarray(b) == 0, np.nan, np.asarray(a) / b)


def mean(total: Total, x: ArrayLike, over: ArrayLike | None = None) -> Value:
    """The sum of the values that are not NaN over their number, or over that of `over`; both of
    shape (rows,)."""
    x = floats(x)
    known = ~np.isnan(x)
    n = total.count(known) if over is None else total(over)
    return ratio(total(np.where(known, x, 0)), n), n


def comoment(total: Total, x: ArrayLike, y: ArrayLike, rows: ArrayLike) -> Floats:
    """The sum of products of deviations, over `rows`."""
    x, y, rows = map(floats, (x, y, rows))
    return total(rows * x * y) - ratio(total(rows * x) * total(rows * y), total(rows))


def means(*columns: str) -> Callable[..., Values]:
    """The means of those columns that the rows have, as a function of (rows, total)."""
    return lambda x, total: {name: mean(total, x[name]) for name in columns if name in x}


def contrasts(
    total: Total, outcomes: Sequence[ArrayLike], cells: Ints, part: Ints, *signs: Sequence[float]
) -> list[Value]:
    """For each outcome and choice of signs the sum of signs times the means of the parts, averaged
    over the cells that have all parts.

    outcomes: each of shape (rows,). cells: shape (rows,), codes. part: shape (rows,), indices of
    signs.
    """
    parts, size = len(signs[0]), int(cells.max(initial=-1)) + 1
    finer, belongs = total.within(part * size + cells, parts * size)
    belongs = belongs.reshape(parts, size, total.parts).max(axis=0)

    def split(x: ArrayLike) -> Floats:
        return np.stack(np.split(finer(x), parts, axis=1))

    n = split(1)
    each = 1 / np.maximum(n, 1)
    weight = np.minimum(1, n.prod(axis=0))
    rows = [(weight * n[np.asarray(chosen) != 0].sum(axis=0)) @ belongs for chosen in signs]
    counted = weight @ belongs
    return [
        (ratio((weight * np.tensordot(chosen, means_of, 1)) @ belongs, counted), n_of)
        for x in outcomes
        for means_of in [split(x) * each]
        for chosen, n_of in zip(signs, rows, strict=True)
    ]


def beyond_placebos(
    x: Any, total: Total, outcome: ArrayLike, side: ArrayLike, cells: Sequence[str]
) -> Values:
    """The sum of the means of both sides, less that of the placebos of the same cells, and the
    former alone; cells count alike.

    x: has the columns placebo and cells. outcome, side (true or false): shape (rows,).
    """
    code = x.groupby(list(cells), dropna=False).ngroup().to_numpy()
    part = 2 * x["placebo"].to_numpy(dtype=int) + np.asarray(side, dtype=int)
    less, alone = contrasts(total, [outcome], code, part, (1, 1, -1, -1), (1, 1, 0, 0))
    return {"gap_beyond_words": less, "raw_gap": alone}
