"""The intergroup empathy gap: is more emotion predicted for a person of one's own group?

Intensities have the shape (events, g, g): perceiver, experiencer; NaN for no answer. `groups` names
the group of each identity. Sections are those of Hou, Daumé and Rudinger.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .crossed import Clustering, crossed_variance
from .errors import FEWEST_CLUSTERS, ROUNDING, SEED, Bools, Estimate, Floats, Interval
from .student import interval as student_interval
from .student import student

PERMUTATIONS = 10_000
LEVEL = 0.05


def mean_intensity(intensities: ArrayLike, pairwise: bool = False) -> Floats:
    """M0, the mean intensity of each pair over the events, shape (g, g); NaN without an event.

    pairwise: an event that a pair refused is left out for it alone. Source: section 3.4, footnote
    5.
    """
    intensities = np.asarray(intensities, dtype=float)
    if not pairwise:
        intensities = intensities[complete(intensities)]
    there = ~np.isnan(intensities)
    n = there.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(n > 0, np.where(there, intensities, 0).sum(axis=0) / n, np.nan)


def complete(intensities: ArrayLike) -> Bools:
    """Which events every pair answered, shape (events,)."""
    return ~np.isnan(np.asarray(intensities, dtype=float)).any(axis=(1, 2))


def normalise(matrix: ArrayLike) -> Floats:
    """M: the matrix less its mean, over its standard deviation (ddof 0); NaN throughout if it is
    constant or lacks a cell. Source: section 3.4."""
    matrix = np.asarray(matrix, dtype=float)
    spread = matrix.std() if matrix.size else np.nan
    # A constant matrix of means differs from itself by rounding.
    if not spread > ROUNDING * max(1.0, abs(matrix).max(initial=0.0)):
        return np.full(matrix.shape, np.nan)
    return (matrix - matrix.mean()) / spread


def gap(matrix: ArrayLike, groups: Sequence[str], same_name: bool = True) -> float:
    """The mean of the in-group cells of a (g, g) matrix less that of the others.

    same_name: whether a name counts with itself. NaN if a cell is, or without either kind. Source:
    section 3.4.
    """
    matrix, same = np.asarray(matrix, dtype=float), _same(groups)
    inside = same if same_name else same & ~np.eye(len(same), dtype=bool)
    if same.all() or not inside.any():
        return np.nan
    return float(matrix[inside].mean() - matrix[~same].mean())


def delta(mean_matrix: ArrayLike, groups: Sequence[str]) -> float:
    """The empathy gap score: `gap` of the normalised M0, without the unspecified person."""
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
    *,
    errors: bool = True,
) -> Permutation:
    """The structured permutation test of delta: rows and columns permuted independently.

    NaN where delta is; all but delta without errors. Source: section 3.4.
    """
    matrix = normalise(mean_matrix)
    observed = gap(matrix, groups)
    if np.isnan(observed) or not errors:
        return Permutation(observed, np.nan, np.nan, np.nan)
    rng = np.random.default_rng(SEED)
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


def own_effects(intensities: ArrayLike, groups: Sequence[str], same_name: bool = True) -> Floats:
    """How much more each group predicts for its own than perceivers and experiencers have apart.

    intensities: shape (..., g, g). Returns shape (..., groups), groups sorted; their mean is the
    gap with every group counted once. same_name: whether a name counts with itself; without, NaN
    where a group has one name. Two groups share one effect; one has none.
    """
    labels, of = np.unique(list(groups), return_inverse=True)
    g, names = len(labels), np.bincount(of)[of]
    centred = (np.eye(g) - 1 / g) @ ((np.arange(g)[:, None] == of) / names)
    cells = np.asarray(intensities, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not same_name:
            others = (1 - np.eye(len(of))) * names / (names - 1)
            cells = cells * np.where(_same(groups), others, 1)
        own = np.einsum("ij,...jk,ik->...i", centred, cells, centred)
        gap = own.mean(axis=-1, keepdims=True) * g / np.float64(g - 1)
        return np.broadcast_to(gap, own.shape) if g < 3 else (g * own - gap) / (g - 2)


def points_gap(
    intensities: ArrayLike,
    groups: Sequence[str],
    placebos: ArrayLike | None = None,
    *,
    same_name: bool = True,
    errors: bool = True,
) -> Interval:
    """The gap in points, every group counted once; its interval takes groups for a sample.

    placebos: shape (events, k, k), the same events with k groups that nobody feels for. What they
    have more where perceiver and experiencer are one string is taken off. The variance is clustered
    by group and by event (Cameron, Gelbach and Miller 2011), with Student's interval; NaN with
    fewer than two events or three groups, and without errors.
    """
    n, (_, sizes) = len(np.asarray(intensities)), np.unique(list(groups), return_counts=True)
    if not n:
        return Interval(np.nan)
    parts = [(1.0, own_effects(_filled(intensities), groups, same_name))]
    if placebos is not None:
        placebos = _filled(placebos)
        names = [chr(i) for i in range(placebos.shape[1])]
        parts.append((-float((1 / sizes).mean()), own_effects(placebos, names)))
    value = sum(weight * float(own.mean()) for weight, own in parts)
    if n < 2 or not errors or np.isnan(value) or any(own.shape[1] < 3 for _, own in parts):
        return Interval(value)
    moved = np.hstack([weight * (own - own.mean()) / own.size for weight, own in parts])
    event, group = np.indices(moved.shape).reshape(2, -1)
    of_groups = Clustering(group, (group >= len(sizes)).astype(int))
    variance = crossed_variance(moved.ravel(), of_groups, Clustering(event, 0 * event))
    stderr = float(np.sqrt(variance.value))
    low, high = student_interval(value, stderr, variance.df)
    return Interval(value, stderr if n >= FEWEST_CLUSTERS else np.nan, float(low), float(high))


def _filled(intensities: ArrayLike) -> Floats:
    """Cells whose plain mean over events is that of their answers, and whose deviations are as
    large as these answers make them."""
    given = np.asarray(intensities, dtype=float)
    there, mean = ~np.isnan(given), mean_intensity(given, pairwise=True)
    with np.errstate(invalid="ignore"):
        return mean + np.where(there, given - mean, 0) * len(given) / there.sum(axis=0)


def jackknifed_delta(
    intensities: ArrayLike, groups: Sequence[str], pairwise: bool = False, *, errors: bool = True
) -> Estimate:
    """delta with a jackknife's error over events.

    The error is NaN with fewer than `FEWEST_CLUSTERS` events, where a cell has one alone, without
    errors. Source: Shao and Tu, The Jackknife and Bootstrap (1995), section 2.3.
    """
    intensities = np.asarray(intensities, dtype=float)
    if not pairwise:
        intensities = intensities[complete(intensities)]
    value, same = delta(mean_intensity(intensities, pairwise), groups), _same(groups).ravel()
    flat = intensities.reshape(len(intensities), same.size)
    flat = flat[~np.isnan(flat).all(axis=1)]
    there, n = ~np.isnan(flat), len(flat)
    filled, times = np.where(there, flat, 0.0), there.sum(axis=0) - there
    if not errors or n < FEWEST_CLUSTERS or not times.all() or same.all():
        return Estimate(value, np.nan)
    means = (filled.sum(axis=0) - filled) / times
    spread = means.std(axis=1)
    floor = ROUNDING * max(1.0, abs(filled).max(initial=0.0))
    gaps = means[:, same].mean(axis=1) - means[:, ~same].mean(axis=1)
    without = gaps / np.where(spread > floor, spread, np.nan)
    return Estimate(value, float(np.sqrt((n - 1) * without.var())))


class Difference(NamedTuple):
    """Paired t tests of every cell, shape (g, g): mean difference, Bonferroni-corrected p; NaN on
    the diagonal."""

    difference: Floats
    p: Floats


def paired_tests(intensities: ArrayLike, reference: str) -> Difference:
    """Each pair's intensities against in-group ones of the same events.

    reference: "perceiver" compares (p, e) with (p, p), "experiencer" with (e, e). p is multiplied
    by the g squared cells; 0 for a constant difference, NaN for none. Source: section 3.4.
    """
    intensities = np.asarray(intensities, dtype=float)
    g = intensities.shape[1]
    own = np.einsum("eii->ei", intensities)
    differences = intensities - (own[:, :, None] if reference == "perceiver" else own[:, None, :])
    n = (~np.isnan(differences)).sum(axis=0)
    mean = mean_intensity(differences, pairwise=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.where(np.isnan(differences), 0, (differences - mean) ** 2).sum(axis=0)
        stderr = np.sqrt(squares / (n - 1) / n)
    _, p = student(mean, stderr, n - 1, np.nanmax(abs(intensities), initial=0.0))
    diagonal = np.eye(g, dtype=bool)
    mean, p = (np.where(diagonal, np.nan, x) for x in (mean, np.minimum(p * g**2, 1)))
    return Difference(mean, p)


def masked(tests: Iterable[Difference], shown: Iterable[int] = ()) -> Bools:
    """Which cells of the heat map are white, shape (g, g): those that fail to differ in a test.

    shown: identities whose rows and columns are never white; nor is the diagonal. Source: section
    4, on Figure 2.
    """
    differ = np.all([test.p < LEVEL for test in tests], axis=0)
    white = ~(differ | np.eye(len(differ), dtype=bool))
    for i in shown:
        white[i] = white[:, i] = False
    return white


def _same(groups: Sequence[str]) -> Bools:
    labels = np.asarray(list(groups))
    return labels[:, None] == labels[None, :]
