"""TriSentBias: which of two sentences a model prefers, in positive, negative and neutral context
(BIStereo, section 4.1.1, appendix G).

The sentences of a pair differ in a descriptor, desirable or undesirable. With x = PLL(S_d) -
PLL(S_u) in nats, the difference of their NPLL is tanh(x / 2).
"""

from collections.abc import Hashable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from .crossed import Clustering, CrossedMean, codes, crossed_mean, with_placebos
from .resampling import Bools, Estimate, Floats, Ints, ratio
from .student import ROUNDING

CONTEXTS = ("positive", "negative", "neutral")
NEUTRAL = CONTEXTS.index("neutral")
CONTRASTS = ("favouritism", "discrimination", "log_odds_gap")
ALPHA = 0.05


class Pair(NamedTuple):
    """One pair of sentences and their log-likelihoods in nats, or None.

    attribute: the word that makes the context. placebo: whether it is about no body. words: the
    same for bodies and placebos that the same words describe.
    """

    template: str
    axis: str
    gender: str
    context: str
    attribute: str | None
    descriptors: Hashable
    variant: Hashable
    desirable: float | None
    undesirable: float | None
    placebo: bool = False
    words: Hashable = None


class Triad(NamedTuple):
    """(z1, z2, z3) in percent of n answered pairs, at a threshold; gender "all" is all.

    star: whether the context's expected preference has p at most 0.05 over templates and over
    attributes; None in neutral context.
    """

    axis: str
    gender: str
    context: str
    threshold: float
    n: int
    unanswered: int
    z1: Estimate
    z2: Estimate
    z3: Estimate
    p_templates: float
    p_attributes: float
    star: bool | None


class Contrast(NamedTuple):
    """One of `CONTRASTS` with its 95 % interval: in points at the first threshold, or nats."""

    name: str
    axis: str
    gender: str
    n: int
    estimate: Estimate
    low: float
    high: float


class Preference(NamedTuple):
    """left_out: answered pairs in no contrast, in percent. within: z1 over positive and negative
    context."""

    left_out: float
    within: dict[str, Estimate]
    triads: list[Triad]
    contrasts: list[Contrast]

    def contrast(self, name: str, axis: str = "all") -> Contrast:
        """That of all genders."""
        return next(c for c in self.contrasts if (c.name, c.axis, c.gender) == (name, axis, "all"))


def differences(pairs: Sequence[Pair]) -> Floats:
    """x of each pair, shape (n,); NaN where a likelihood is no finite number; rounding is zero."""
    both = _likelihoods(pairs)
    return _less(both[:, 0], both[:, 1], np.abs(both).max(axis=1))


def calibrated(pairs: Sequence[Pair]) -> Floats:
    """x less that of the neutral pair of the same template, variant, gender and descriptors, shape
    (n,).

    NaN for neutral pairs, and where one of the four likelihoods is no finite number.
    """
    raw = differences(pairs)
    size = np.abs(_likelihoods(pairs)).max(axis=1)
    of_neutral = {_place(p): i for i, p in enumerate(pairs) if p.context == "neutral"}
    neutral = np.array([of_neutral.get(_place(p), -1) for p in pairs], dtype=int)
    lacking = (neutral < 0) | [p.context == "neutral" for p in pairs]
    return np.where(lacking, np.nan, _less(raw, raw[neutral], np.maximum(size, size[neutral])))


def _place(pair: Pair) -> tuple[Hashable, ...]:
    return pair.axis, pair.template, pair.variant, pair.gender, pair.descriptors


def _likelihoods(pairs: Sequence[Pair]) -> Floats:
    """Shape (n, 2); NaN for what is no finite number."""
    both = np.array([(p.desirable, p.undesirable) for p in pairs], dtype=float).reshape(-1, 2)
    return np.where(np.isfinite(both), both, np.nan)


def _less(a: Floats, b: Floats, size: Floats) -> Floats:
    """a - b, rounding of numbers of that size aside."""
    return np.where(np.abs(a - b) <= ROUNDING * np.maximum(1.0, size), 0.0, a - b)


def sentence_preference(
    pairs: Sequence[Pair],
    axes: Sequence[str],
    genders: Sequence[str],
    thresholds: Sequence[float],
    calibrate: bool,
    *,
    errors: bool = True,
) -> Preference:
    """TriSentBias of each axis, gender and context, and how the contexts differ.

    thresholds: of tanh(x / 2), at least one. calibrate: whether x is `calibrated` (for joint
    likelihoods; neutral context then has no z). z1, z2, z3: percent of pairs with |tanh(x / 2)| at
    most the threshold, above it, below its negative. favouritism: z2 in positive less z2 in
    negative context. discrimination: z3 in negative less z3 in positive. log_odds_gap: x in
    positive less x in negative context. Each compares pairs of the same template, variant, gender
    and descriptors. Templates and attributes are samples. ValueError for a pair of another axis,
    gender or context. Source: BIStereo, section 4.1.1.
    """
    for p in pairs:
        if p.axis not in axes or p.gender not in genders or p.context not in CONTEXTS:
            raise ValueError(f"not an axis, gender and context: {tuple(p)[1:4]}")
    design = Design(pairs, errors)
    raw = differences(pairs)
    x = calibrated(pairs) if calibrate else raw
    usable, answered = np.isfinite(raw), np.isfinite(x)
    infused = design.context != NEUTRAL

    def share(hits: Bools, which: Bools) -> Estimate:
        mean = design.mean(np.where(hits, 100.0, 0.0), which)
        return Estimate(mean.value, mean.stderr)

    triads = []
    for axis, gender, context, threshold in product(axes, ("all", *genders), CONTEXTS, thresholds):
        part = design.part(axis, gender) & (design.context == CONTEXTS.index(context))
        which = part & answered
        prefers = preference(x[which], threshold)
        z1, z2, z3 = (share(prefers == sign, which) for sign in (0, 1, -1))
        p_templates, p_attributes, star = np.nan, np.nan, None
        if context != "neutral" and len(prefers):
            expected = prefers if context == "positive" else -prefers
            p_templates = sign_test(expected, design.template[which])
            p_attributes = sign_test(expected, design.attribute[which])
            star = max(p_templates, p_attributes) <= ALPHA
        n, unanswered = len(prefers), int((part & ~usable).sum())
        where = axis, gender, context, threshold
        triads.append(Triad(*where, n, unanswered, z1, z2, z3, p_templates, p_attributes, star))

    contrasts = []
    within = {}
    for axis, gender in product(("all", *axes), ("all", *genders)):
        which = design.part(axis, gender) & answered & infused
        prefers = preference(x[which], thresholds[0])
        outcomes = 100.0 * (prefers == 1), -100.0 * (prefers == -1), x[which]
        for name, outcome in zip(CONTRASTS, outcomes, strict=True):
            contrasts.append(Contrast(name, axis, gender, *design.contrast(outcome, which)))
        if gender == "all":
            within[axis] = share(prefers == 0, which)

    in_contrast = np.count_nonzero(design.weights(answered & infused))
    return Preference(
        left_out=100 * float(ratio((usable & infused).sum() - in_contrast, len(pairs))),
        within=within,
        triads=triads,
        contrasts=contrasts,
    )


def gap_beyond_words(
    pairs: Sequence[Pair], axis: str, calibrate: bool, *, errors: bool = True
) -> tuple[CrossedMean, CrossedMean]:
    """`log_odds_gap` in nats less that of the placebos with the same words, and the former alone;
    axis "all" is all.

    Templates and attributes are samples.
    """
    x = calibrated(pairs) if calibrate else differences(pairs)
    of = [
        (p, value)
        for p, value in zip(pairs, x, strict=True)
        if np.isfinite(value) and p.context != "neutral" and axis in ("all", p.axis)
    ]
    return with_placebos(
        [value for _, value in of],
        [(p.axis, p.words) for p, _ in of],
        np.array([2 * p.placebo + CONTEXTS.index(p.context) for p, _ in of], dtype=int),
        (1, -1),
        Clustering([(p.axis, p.template) for p, _ in of], [(p.axis, p.placebo) for p, _ in of]),
        Clustering([(p.context, p.attribute) for p, _ in of], [p.context for p, _ in of]),
        errors=errors,
    )


def preference(log_odds: ArrayLike, threshold: float) -> Ints:
    """1 where the desirable sentence is preferred beyond the threshold, -1 the undesirable one, 0
    within."""
    npll_difference = np.tanh(np.asarray(log_odds, dtype=float) / 2)
    return np.where(abs(npll_difference) > threshold, np.sign(npll_difference), 0).astype(int)


def sign_test(signs: ArrayLike, clusters: ArrayLike) -> float:
    """p of more clusters being positive than negative, exactly and one-sided; 1 where all are 0.

    signs: shape (n,), 1, 0 or -1, added up in clusters, shape (n,).
    """
    sums = np.bincount(codes(np.asarray(clusters)), np.asarray(signs, dtype=float))
    positive, n = int((sums > 0).sum()), int((sums != 0).sum())
    return float(stats.binomtest(positive, n, 0.5, "greater").pvalue) if n else 1.0


def _weighted_means(outcome: Floats, weights: Floats, groups: Ints) -> Floats:
    """For each row the mean of its group, within which weights have one sign."""
    group = codes(groups)
    return (np.bincount(group, weights * outcome) / np.bincount(group, weights))[group]


class Design:
    def __init__(self, pairs: Sequence[Pair], errors: bool = True) -> None:
        self.errors = errors
        self.axis_names = np.array([p.axis for p in pairs], dtype=str)
        self.gender_names = np.array([p.gender for p in pairs], dtype=str)
        self.context = np.array([CONTEXTS.index(p.context) for p in pairs], dtype=int)
        self.axis = codes([p.axis for p in pairs])
        self.template = codes([(p.axis, p.template) for p in pairs])
        self.attribute = codes([(p.context, p.attribute) for p in pairs])
        self.place = codes([_place(p) for p in pairs])
        self.cell = codes([(p.axis, p.gender, p.context, p.descriptors) for p in pairs])

    def part(self, axis: str, gender: str) -> Bools:
        """Which pairs are of an axis and a gender ("all" is any)."""
        of_axis = (self.axis_names == axis) | (axis == "all")
        return of_axis & ((self.gender_names == gender) | (gender == "all"))

    def mean(self, outcome: Floats, which: Bools) -> CrossedMean:
        """Of some pairs; templates and, unless all are neutral, attributes are samples."""
        samples = [Clustering(self.template[which], self.axis[which])]
        if not (self.context[which] == NEUTRAL).all():
            samples.append(Clustering(self.attribute[which], self.context[which]))
        return crossed_mean(outcome, self.cell[which], *samples, errors=self.errors)

    def weights(self, which: Bools) -> Floats:
        """Of some pairs, so that the sum of weights times outcomes is the contrast.

        Places count by the harmonic mean of the numbers of their positive and negative pairs.
        """
        positive = self.context[which] == CONTEXTS.index("positive")
        place = codes(self.place[which])
        size = place.max(initial=-1) + 1
        n = np.stack([np.bincount(place, sign, size) for sign in (positive, ~positive)])
        counted = 2 * n[0] * n[1] / np.maximum(n.sum(axis=0), 1)
        own = np.where(positive, n[0, place], n[1, place])
        return np.where(positive, 1, -1) * counted[place] / own / max(counted.sum(), 1)

    def contrast(self, outcome: Floats, which: Bools) -> tuple[int, Estimate, float, float]:
        """Of positive pairs less negative ones of the same places: how many pairs, estimate,
        interval."""
        weights = self.weights(which)
        used = weights != 0
        if not used.any():
            return 0, Estimate(np.nan, np.nan), np.nan, np.nan
        inside = which.copy()
        inside[which] = used
        n = int(used.sum())
        weights, outcome = weights[used], outcome[used]
        of_cell = _weighted_means(outcome, weights, self.cell[inside])
        of_context = _weighted_means(outcome, weights, self.context[inside])
        cell = codes(self.cell[inside])
        # A pair moves the contrast by how far it is from what is expected of it: where pairs count
        # unequally, the common level of a cell or of a context would else be taken for chance. What
        # cells differ in stays, evenly over each, for where strata are ignored.
        between = np.bincount(cell, weights * (of_cell - of_context)) / np.bincount(cell)
        mean = self.mean(n * (weights * (outcome - of_cell) + between[cell]), inside)
        value = float((n * weights * outcome).mean())
        half = (mean.high - mean.low) / 2
        return n, Estimate(value, mean.stderr), value - half, value + half
