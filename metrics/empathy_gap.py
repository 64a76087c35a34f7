"""The intergroup empathy gap: is more emotion predicted for a person of one's own group?

Matrices have the shape (..., g, g): perceiver, experiencer. Intensities are a stack of them, one
for each event, with NaN for no answer. `groups` names the group of each identity. Sections are
those of Hou, Daumé and Rudinger.
"""

import warnings
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .errors import (
    ROUNDING,
    SEED,
    Bools,
    Estimates,
    Floats,
    Sample,
    Total,
    floats,
    quiet_division,
    ratio,
    satterthwaite,
)

PERMUTATIONS = 10_000
LEVEL = 0.05
Groups = Sequence[Hashable]
FEWEST_GROUPS = 3
"""That are a sample: two share one effect."""


def mean_intensity(intensities: ArrayLike, total: Total | None = None) -> Floats:
    """M0, the mean intensity of each pair over the events that it answered, shape (g, g); with a
    total of the events (1 + groups, parts, g, g). Source: section 3.4, footnote 5."""
    given = floats(intensities)
    there = ~np.isnan(given)
    add = total or partial(np.sum, axis=0)
    return ratio(add(np.where(there, given, 0)), add(there))


def complete(intensities: ArrayLike) -> Bools:
    return np.asarray(~np.isnan(floats(intensities)).any(axis=(1, 2)))


def normalise(matrix: ArrayLike) -> Floats:
    """M: the matrix less its mean, over its standard deviation (ddof 0); NaN throughout if it is
    constant or lacks a cell. Source: section 3.4."""
    matrix = floats(matrix)
    mean, spread = (f(matrix, axis=(-2, -1), keepdims=True) for f in (np.mean, np.std))
    # A constant matrix of means differs from itself by rounding.
    largest = abs(matrix).max(axis=(-2, -1), keepdims=True, initial=1.0)
    return (matrix - mean) / np.where(spread > ROUNDING * largest, spread, np.nan)


def gap(matrix: ArrayLike, groups: Groups) -> Floats:
    """The mean of the in-group cells less that of the others, shape (...).

    NaN if a cell is, or without either kind. Source: section 3.4.
    """
    matrix, same = floats(matrix), _same(groups)
    if same.all() or not same.any():
        return np.full(matrix.shape[:-2], np.nan)
    return np.asarray(matrix[..., same].mean(axis=-1) - matrix[..., ~same].mean(axis=-1))


def delta(mean_matrix: ArrayLike, groups: Groups) -> Floats:
    """The empathy gap score: `gap` of the normalised M0, without the unspecified person."""
    return gap(normalise(mean_matrix), groups)


class Permutation(NamedTuple):
    """delta, the 2.5 and 97.5 percentiles of its permutation distribution, and the two-sided p."""

    delta: float
    low: float
    high: float
    p: float


def permutation_test(
    mean_matrix: ArrayLike, groups: Groups, permutations: int = PERMUTATIONS
) -> Permutation:
    """The structured permutation test of delta: rows and columns permuted independently.

    NaN where delta is. Source: section 3.4.
    """
    matrix = normalise(mean_matrix)
    observed = float(gap(matrix, groups))
    if np.isnan(observed):
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


def own_effects(matrix: ArrayLike, groups: Groups) -> Floats:
    """How much more each group predicts for its own than its perceivers and experiencers have
    anyway.

    Shape (..., groups), groups sorted; their mean is the gap with every group counted once. Two
    groups share one effect; one has none.
    """
    labels, label = np.unique(list(groups), return_inverse=True)
    g, names = len(labels), np.bincount(label)[label]
    centred = (np.eye(g) - 1 / g) @ ((np.arange(g)[:, None] == label) / names)
    cells = floats(matrix)
    with quiet_division():
        own = ((centred @ cells) * centred).sum(axis=-1)
        gap = own.mean(axis=-1, keepdims=True) * g / np.float64(g - 1)
        return np.broadcast_to(gap, own.shape) if g < 3 else (g * own - gap) / (g - 2)


def repetition(groups: Groups) -> float:
    """How much the gap in points rises if a string that stands twice gets one point more."""
    return float((1 / np.unique(list(groups), return_counts=True)[1]).mean())


def points_gap(groups: Groups, matrix: ArrayLike, placebos: ArrayLike | None = None) -> Floats:
    """The gap in points, every group counted once, shape (...).

    placebos: shape (..., k, k), of k groups that nobody feels for. What they have more on the
    diagonal is taken off.
    """
    gap = own_effects(matrix, groups).mean(axis=-1)
    if placebos is None:
        return np.asarray(gap)
    names = range(np.asarray(placebos).shape[-1])
    return np.asarray(gap - repetition(groups) * own_effects(placebos, names).mean(axis=-1))


def with_groups(
    groups: Groups, intensities: ArrayLike, placebos: ArrayLike | None = None
) -> Estimates:
    """The error of `points_gap` with events, groups and placebos as samples.

    Two-way, over what each group has of its own in each event. NaN with fewer than two events, or
    than `FEWEST_GROUPS` groups of either kind.
    """
    given = floats(intensities)
    asked = ~np.isnan(given).all(axis=(1, 2))
    parts = [(1.0, groups, given[asked])]
    if placebos is not None:
        others = floats(placebos)[asked]
        parts.append((-repetition(groups), range(others.shape[1]), others))
    if asked.sum() < 2 or any(len(set(names)) < FEWEST_GROUPS for _, names, _ in parts):
        return Estimates(*np.full((5, 1), np.nan))
    effects = [w * own_effects(_filled(x), names) for w, names, x in parts]
    moved = np.hstack([(own - own.mean()) / own.size for own in effects])
    event, group = np.indices(moved.shape).reshape(2, -1)
    sample = Sample(moved.size, (group, group >= effects[0].shape[1]), (event, None))
    total = sample.total()
    mean = moved.size * ratio(total(moved.ravel()), total(1))
    estimated = sample.estimates(mean, total(1), fewest=0)
    # Of four or five groups nothing is learned of how heavy their tails are.
    sums = moved.sum(axis=1), *np.split(moved.sum(axis=0), [effects[0].shape[1]])
    squares = sum((np.var(x, ddof=1) * len(x)) ** 2 / (len(x) - 1) for x in sums if len(x))
    return estimated._replace(df=satterthwaite(estimated.variance, squares))


def _filled(intensities: ArrayLike) -> Floats:
    """Cells whose mean over all events is that of their answers; deviations grow by the share of
    missing ones."""
    given = floats(intensities)
    there, mean = ~np.isnan(given), mean_intensity(given)
    return mean + ratio(np.where(there, given - mean, 0) * len(given), there.sum(axis=0))


def paired_tests(intensities: ArrayLike, reference: str) -> Floats:
    """Paired t tests of each pair's intensities against in-group ones of the same events: the
    Bonferroni-corrected p (times g squared), shape (g, g), NaN on the diagonal.

    reference: "perceiver" compares (p, e) with (p, p), "experiencer" with (e, e). p is 0 for a
    constant difference, NaN for none. Source: section 3.4.
    """
    intensities = floats(intensities)
    g = intensities.shape[1]
    own = np.einsum("eii->ei", intensities)
    differences = intensities - (own[:, :, None] if reference == "perceiver" else own[:, None, :])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of few events and equal differences
        p = scipy.stats.ttest_1samp(differences.round(12), 0, nan_policy="omit").pvalue
    return np.where(np.eye(g, dtype=bool), np.nan, np.minimum(p * g**2, 1))


def masked(tests: Iterable[Floats], shown: Iterable[int] = ()) -> Bools:
    """Which cells of the heat map are white, shape (g, g): those that do not differ in a test.

    tests: of `paired_tests`. shown: identities whose rows and columns are never white, as the
    diagonal. Source: section 4, on Figure 2.
    """
    differ = np.all([p < LEVEL for p in tests], axis=0)
    white = ~(differ | np.eye(len(differ), dtype=bool))
    for i in shown:
        white[i] = white[:, i] = False
    return white


def _same(groups: Groups) -> Bools:
    labels = np.asarray(list(groups))
    return labels[:, None] == labels[None, :]
