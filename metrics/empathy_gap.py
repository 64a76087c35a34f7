"""The intergroup empathy gap: is more emotion predicted for a person of one's own group than for
one of another?

Throughout, intensities have the shape (events, g, g), the second axis the perceiver, the third the
experiencer, NaN for an answer that is missing or refused. `groups` names the group of each of the g
identities; identities of the same group are an in-group pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .jackknife import jackknife_variance
from .resampling import RESAMPLES, SEED, Estimate
from .student import student

PERMUTATIONS = 10_000
FEWEST = 10
"""Of fewer events delta and the gap in points have no standard error, because 1.96 of it to either
side would hold the gap in 70 to 91 % of cases, and the corrected delta no interval, which would
hold it in 50 to 91 %."""


def mean_intensity(intensities: ArrayLike, pairwise: bool = False) -> NDArray[np.float64]:
    """M0, the mean intensity of each pair over the events, shape (g, g).

    An event that any pair refused is left out everywhere; with `pairwise` only where it was
    refused. A pair without an event is NaN. Source: Hou, Daumé and Rudinger, section 3.4 and
    footnote 5.
    """
    intensities = np.asarray(intensities, dtype=float)
    if not pairwise:
        intensities = intensities[complete(intensities)]
    given = ~np.isnan(intensities)
    n = given.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(n > 0, np.where(given, intensities, 0).sum(axis=0) / n, np.nan)


def complete(intensities: ArrayLike) -> NDArray[np.bool_]:
    """Which events every pair answered, shape (events,)."""
    return ~np.isnan(np.asarray(intensities, dtype=float)).any(axis=(1, 2))


def normalise(matrix: ArrayLike) -> NDArray[np.float64]:
    """M: the matrix less its mean, over its standard deviation (ddof 0); NaN throughout if it is
    constant or lacks a cell.

    Source: section 3.4.
    """
    matrix = np.asarray(matrix, dtype=float)
    spread = matrix.std() if matrix.size else np.nan
    # A constant matrix of means differs from itself by rounding.
    if not spread > 1e-12 * max(1.0, abs(matrix).max(initial=0.0)):
        return np.full(matrix.shape, np.nan)
    return (matrix - matrix.mean()) / spread


def gap(matrix: ArrayLike, groups: Sequence[str]) -> float:
    """The mean of the in-group cells less that of the others; of a normalised matrix this is delta.

    matrix: shape (g, g). groups: length g. NaN if a cell is, or if there are no cells of either
    kind. Source: section 3.4.
    """
    matrix, same = np.asarray(matrix, dtype=float), _same(groups)
    if same.all() or not same.any():
        return np.nan
    return float(matrix[same].mean() - matrix[~same].mean())


def delta(mean_matrix: ArrayLike, groups: Sequence[str]) -> float:
    """The empathy gap score: `gap` of the normalised matrix. Give it M0 without the unspecified
    person (footnote 7)."""
    return gap(normalise(mean_matrix), groups)


class Permutation(NamedTuple):
    """delta, the 2.5 and 97.5 percentiles of its permutation distribution, and the two-sided p."""

    delta: float
    low: float
    high: float
    p: float


def permutation_test(
    mean_matrix: ArrayLike,
    groups: Sequence[str],
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
    *,
    errors: bool = True,
) -> Permutation:
    """The structured permutation test of delta: rows and columns permuted independently of each
    other.

    mean_matrix: M0, shape (g, g), without the unspecified person. p is the share of permutations,
    the observed one included, whose delta is as far from zero. NaN where delta is. The percentiles
    are those of no gap, not an interval for delta. Source: section 3.4; the paper draws 10,000.
    """
    matrix = normalise(mean_matrix)
    observed = gap(matrix, groups)
    if np.isnan(observed) or not errors:
        return Permutation(observed, np.nan, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    _, labels = np.unique(list(groups), return_inverse=True)
    g = len(labels)
    # To permute rows and columns is to permute their labels.
    rows, columns = (labels[np.argsort(rng.random((permutations, g)), axis=1)] for _ in range(2))
    inside = np.zeros(permutations)
    for i in range(g):
        inside += (rows[:, i, None] == columns) @ matrix[i]
    n_same = int(_same(groups).sum())
    null = inside / n_same - (matrix.sum() - inside) / (matrix.size - n_same)
    low, high = np.percentile(null, [2.5, 97.5])
    as_far = int((abs(null) >= abs(observed) - 1e-12).sum())
    return Permutation(observed, float(low), float(high), (1 + as_far) / (1 + permutations))


class Interval(NamedTuple):
    """A number, its standard error and the bounds of its interval of 95 %, over events."""

    value: float
    stderr: float
    low: float
    high: float


class Gaps(NamedTuple):
    """delta and its standard error; delta corrected for attenuation, and the gap in points of the
    scale, with intervals; over events."""

    delta: Estimate
    corrected: Interval
    points: Interval


def bootstrap_gaps(
    intensities: ArrayLike,
    groups: Sequence[str],
    pairwise: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    *,
    errors: bool = True,
) -> Gaps:
    """delta, what it would be with unlimited events, by a bootstrap over events, and the raw gap
    with Student's t over events.

    intensities: without the unspecified person. An event is drawn with its whole matrix.

    delta's standard error, of delta of so many events, is that of a jackknife: without one event,
    each in turn. NaN with fewer than `FEWEST`, and where a cell has one event alone.

    The means of M0 differ from one another by chance too, the more so the fewer events there are,
    and delta divides by how much they differ: it is too near to zero (attenuated), and in
    resamples, where chance counts twice, more so. An interval of percentiles of delta misses it,
    and their spread is too small by up to the root of two. So the variance of the cells is also
    estimated without chance, from products of different events alone (a U-statistic), and the
    interval is that of the gap over the root of it. A bound is infinite where the variance cannot
    be told from nothing, and the corrected value NaN where its estimate is not above zero. NaN
    bounds and standard errors with fewer than two events, and NaN bounds of the corrected value
    with fewer than `FEWEST`.

    The raw gap is a mean over events: its interval is Student's, with n - 1 degrees of freedom,
    which holds 95 % from two events on, where percentiles of a bootstrap hold 50 to 90 %. Its
    standard error is NaN with fewer than `FEWEST` events. Source: ours; the correction is
    Spearman's, for one variable, the jackknife Shao and Tu's (1995), section 2.1. The paper has no
    interval for delta. simulations/coverage_empathy.py counts how often the intervals hold the
    truth.
    """
    intensities = np.asarray(intensities, dtype=float)
    if not pairwise:
        intensities = intensities[complete(intensities)]
    n, g = intensities.shape[0], intensities.shape[1]
    mean_matrix = mean_intensity(intensities, pairwise)
    plain, points = delta(mean_matrix, groups), gap(mean_matrix, groups)
    if n < 2:
        return Gaps(
            Estimate(plain, np.nan),
            Interval(np.nan, np.nan, np.nan, np.nan),
            Interval(points, np.nan, np.nan, np.nan),
        )
    flat = intensities.reshape(n, g * g)
    given = ~np.isnan(flat)
    filled = np.where(given, flat, 0.0)
    # The level of an event is no difference between cells.
    deviations = np.where(given, flat - _event_levels(filled, given)[:, None], 0.0)
    squares = deviations**2
    same = _same(groups).ravel()
    floor = 1e-12 * max(1.0, abs(filled).max(initial=0.0))  # rounding

    def common_variance(
        weights: NDArray[np.float64], times: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The variance of the cells that different events share, shape (r,): over all pairs of
        draws less those of an event with itself."""
        total, with_itself = weights @ deviations, weights**2
        if pairwise:
            pairs = times**2 - with_itself @ given
            known = pairs > 0
            products = np.where(known, total**2 - with_itself @ squares, 0) / np.where(
                known, pairs, 1
            )
            count = np.maximum(known.sum(axis=1), 1)
            variance = (
                products.sum(axis=1) / count
                - (np.where(known, total / times, 0).sum(axis=1) / count) ** 2
            )
        else:
            pairs = n**2 - with_itself.sum(axis=1)
            products = (total**2).sum(axis=1) - with_itself @ squares.sum(axis=1)
            variance = np.where(pairs > 0, products, 0) / np.maximum(pairs, 1) / (g * g)
        # Nothing, give or take rounding, where a resample has one event alone.
        return np.where(
            variance > floor**2 + 1e-10 * (total**2 / times**2).mean(axis=1), variance, 0
        )

    def statistics(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of how often each event is drawn, shape (r, n) -> the corrected delta, shape (r,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            times = weights @ given if pairwise else np.full((1, 1), float(n))
            gaps = _gaps(weights @ filled / times, same)
            common = common_variance(weights, times)
            endless = np.where(abs(gaps) > floor, np.sign(gaps) * np.inf, np.nan)
            return np.where(common > 0, gaps / np.sqrt(common), endless)

    corrected = statistics(np.ones((1, n)))[0]
    if not errors:
        value = corrected if np.isfinite(corrected) else np.nan
        return Gaps(
            Estimate(plain, np.nan),
            Interval(float(value), *[np.nan] * 3),
            Interval(points, *[np.nan] * 3),
        )
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, resamples, 200):  # so many at a time that 6,050 events fit
        size = min(200, resamples - start)
        parts.append(statistics(rng.multinomial(n, np.full(n, 1 / n), size=size).astype(float)))
    drawn = np.concatenate(parts)
    interval = _interval(corrected if np.isfinite(corrected) else np.nan, drawn, n)
    if n < FEWEST:
        interval = interval._replace(low=np.nan, high=np.nan)
    return Gaps(
        Estimate(plain, _delta_stderr(filled, given, same, floor)),
        interval,
        _mean_gap(points, filled, given, same),
    )


def _gaps(means: NDArray[np.float64], same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean of the cells of the same group less that of the others, of rows of means; shape (r,
    cells) -> (r,)."""
    return means[:, same].mean(axis=1) - means[:, ~same].mean(axis=1)


def _delta_stderr(
    filled: NDArray[np.float64], given: NDArray[np.bool_], same: NDArray[np.bool_], floor: float
) -> float:
    """Of delta, by the jackknife over events: each left out in turn.

    filled, given: shape (n, cells); the answers, and which are there. same: shape (cells,). floor:
    a spread up to which is rounding.
    """
    told = given.any(axis=1)
    filled, given, n = filled[told], given[told], int(told.sum())
    times = given.sum(axis=0) - given
    if n < FEWEST or not times.all() or same.all() or not same.any():
        return np.nan
    means = (filled.sum(axis=0) - filled) / times
    spread = means.std(axis=1)
    without = _gaps(means, same) / np.where(spread > floor, spread, np.nan)
    variance = jackknife_variance(
        without - without.mean(), np.full(n, 1 / n), np.zeros(n, dtype=int)
    )
    return float(np.sqrt(variance.value))


def _mean_gap(
    points: float, filled: NDArray[np.float64], given: NDArray[np.bool_], same: NDArray[np.bool_]
) -> Interval:
    """The gap in points with Student's interval, from what each event adds to it.

    points: the gap. filled, given: shape (n, cells); the answers, and which are there. same: shape
    (cells,). An event adds its deviation from each cell's mean, over the number of events that have
    the cell. If all have all, the standard error is that of the mean of the events' own gaps.
    """
    n, times = int(given.any(axis=1).sum()), given.sum(axis=0)
    if n < 2:
        return Interval(points, np.nan, np.nan, np.nan)
    means = filled.sum(axis=0) / np.maximum(times, 1)
    shares = np.where(same, 1 / max(same.sum(), 1), -1 / max((~same).sum(), 1)) / np.maximum(
        times, 1
    )
    added = np.where(given, filled - means, 0) @ shares
    stderr = float(np.sqrt(n / (n - 1) * (added**2).sum())) if np.isfinite(points) else np.nan
    reach = stats.t.ppf(0.975, n - 1) * stderr
    return Interval(
        points, stderr if n >= FEWEST else np.nan, float(points - reach), float(points + reach)
    )


def _interval(value: float, drawn: NDArray[np.float64], n: int) -> Interval:
    """Standard error and percentiles of resampled values of n events; infinite ones count for the
    percentiles alone.

    The percentiles are those that make the interval of a mean as long as Student's: 2.5 with many
    events, 1.7 with 24. Plain ones are too short by the root of n / (n - 1) and by t over z.
    Source: Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician,
    2015, section 4.2.
    """
    tail = float(stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1)))
    defined, finite = drawn[~np.isnan(drawn)], drawn[np.isfinite(drawn)]
    low, high = (
        np.quantile(defined, [tail, 1 - tail], method="nearest")
        if len(defined) > 1
        else (np.nan, np.nan)
    )
    if low == high and np.isinf(low):  # infinite through and through
        low = high = np.nan
    stderr = finite.std(ddof=1) if len(finite) > 1 and not np.isnan(value) else np.nan
    return Interval(float(value), float(stderr), float(low), float(high))


def _event_levels(filled: NDArray[np.float64], given: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The level of each event, shape (n,), of a least squares fit of level + cell to the answers
    that are given; cells have mean zero.

    filled, given: shape (n, cells); the answers, and which are there. With all of them it is the
    event's mean.
    """
    levels, scale = np.zeros(len(filled)), abs(filled).max(initial=1.0)
    for _ in range(1000):
        cells = np.where(given, filled - levels[:, None], 0).sum(axis=0) / np.maximum(
            given.sum(axis=0), 1
        )
        cells -= cells.mean()
        last, levels = (
            levels,
            np.where(given, filled - cells, 0).sum(axis=1) / np.maximum(given.sum(axis=1), 1),
        )
        if abs(levels - last).max() < 1e-9 * scale:
            break
    return levels


class Difference(NamedTuple):
    """Paired t tests of every cell, shape (g, g) each: mean difference, Bonferroni-corrected p; NaN
    on the diagonal."""

    difference: NDArray[np.float64]
    p: NDArray[np.float64]

    def significant(self, level: float = 0.05) -> NDArray[np.bool_]:
        """Which cells differ."""
        return self.p < level


def paired_tests(intensities: ArrayLike, reference: str, *, errors: bool = True) -> Difference:
    """Each pair's intensities against in-group ones of the same events.

    intensities: shape (events, g, g). reference: "perceiver" compares (p, e) with (p, p),
    "experiencer" with (e, e). p values are multiplied by the g squared cells of the matrix, to at
    most 1, as the authors' program divides alpha by it (361, 484 and 36 with the unspecified
    person); a cell that differs by the same amount in all events has p 0, one that never differs
    NaN. Source: section 3.4.
    """
    if reference not in ("perceiver", "experiencer"):
        raise ValueError(f"reference={reference!r}: expected 'perceiver' or 'experiencer'")
    intensities = np.asarray(intensities, dtype=float)
    g = intensities.shape[1]
    own = np.einsum("eii->ei", intensities)
    differences = intensities - (own[:, :, None] if reference == "perceiver" else own[:, None, :])
    n = (~np.isnan(differences)).sum(axis=0)
    mean = mean_intensity(differences, pairwise=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.where(np.isnan(differences), 0, (differences - mean) ** 2).sum(axis=0)
        stderr = np.sqrt(squares / (n - 1) / n)
    _, p = student(mean, stderr, n - 1, np.nanmax(abs(intensities), initial=0.0), errors=errors)
    p = np.minimum(p * g**2, 1)
    diagonal = np.eye(g, dtype=bool)
    return Difference(np.where(diagonal, np.nan, mean), np.where(diagonal | (n < 2), np.nan, p))


def masked(
    tests: Iterable[Difference], shown: Iterable[int] = (), level: float = 0.05
) -> NDArray[np.bool_]:
    """Which cells of the heat map are white, shape (g, g): those that fail to differ in one of the
    tests.

    tests: `paired_tests` against the perceiver and against the experiencer. The diagonal is what
    the others are compared with, and is never white. shown: the numbers of identities whose rows
    and columns are never white either: in the authors' program the unspecified person's. Source:
    section 4, on Figure 2.
    """
    differ = np.all([test.significant(level) for test in tests], axis=0)
    white = ~(differ | np.eye(len(differ), dtype=bool))
    for i in shown:
        white[i] = white[:, i] = False
    return white


class Refusals(NamedTuple):
    """Shares from 0 to 1: of events that some pair refused (Table 6), and of single answers."""

    events: float
    answers: float


def refusals(intensities: ArrayLike) -> Refusals:
    """How much is missing. Source: appendix C.1. NaN without events."""
    intensities = np.asarray(intensities, dtype=float)
    if not intensities.size:
        return Refusals(np.nan, np.nan)
    return Refusals(float(1 - complete(intensities).mean()), float(np.isnan(intensities).mean()))


def _same(groups: Sequence[str]) -> NDArray[np.bool_]:
    labels = np.asarray(list(groups))
    return labels[:, None] == labels[None, :]
