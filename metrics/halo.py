"""Halo and horn gaps from labels of premise-hypothesis pairs (BIStereo-NLI, sections 3.2, 4.2)."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from .crossed import Clustering, CrossedMean, codes, crossed_mean, with_placebos
from .resampling import Bools, Estimate, Floats, ratio

LABELS = ("entailment", "contradiction", "neutral")
EFFECTS = ("halo", "horn")


class Pair(NamedTuple):
    """One premise-hypothesis pair and its label, None for no usable answer.

    wording: the same for all genders, written within a domain. question: what one wording asks of
    one attribute. placebo: whether it is about no skin. words: the same for skin and placebos that
    the same words describe.
    """

    wording: str
    gender: str
    descriptor: str | None
    category: str
    label: str | None
    domain: str = ""
    attribute: str = ""
    question: Hashable = None
    placebo: bool = False
    words: Hashable = None


class Cell(NamedTuple):
    """One gender x descriptor x category (Figures 3, 23 to 25); percentages of answered pairs."""

    gender: str
    descriptor: str | None
    category: str
    n: int
    unanswered: int
    entailment: Estimate
    contradiction: Estimate
    neutral: Estimate


class Gap(NamedTuple):
    """One gap of n twins in percentage points, with its 95 % interval.

    gender, category: "all" where pooled; gender "women - men" for the difference of two gaps.
    """

    effect: str
    gender: str
    category: str
    n: int
    gap: Estimate
    low: float
    high: float


class Halo(NamedTuple):
    """Percentages, and gaps in percentage points. left_out: answered pairs without an answered
    twin. differences: of two genders' gaps."""

    left_out: float
    labels: dict[str, Estimate]
    non_neutral: Estimate
    cells: list[Cell]
    gaps: list[Gap]
    differences: list[Gap]

    def gap(self, effect: str, gender: str = "all", category: str = "all") -> Gap:
        """KeyError where there is none."""
        for g in (*self.gaps, *self.differences):
            if g[:3] == (effect, gender, category):
                return g
        raise KeyError((effect, gender, category))


def halo(
    pairs: Sequence[Pair],
    descriptors: tuple[str | None, str | None],
    effects: Mapping[str, str],
    genders: Sequence[str],
    *,
    errors: bool = True,
) -> Halo:
    """Shares of labels, and how they differ between two descriptors.

    descriptors: the one that the stereotype favours and the other; None for one that no pair has.
    effects: attribute category -> "halo" for a good one, "horn" for a bad one. Gaps are means over
    twins: of the good categories the mean of %E(favoured) - %E(other) and %C(other) - %C(favoured),
    of the bad ones the reverse. Without errors there are no cells, and gaps of no single category.
    ValueError for a pair that is of none of them. Source: BIStereo, section 4.2 and appendix I.
    """
    for p in pairs:
        if (
            p.gender not in genders
            or p.descriptor not in descriptors
            or p.category not in effects
            or p.label not in (*LABELS, None)
        ):
            raise ValueError(f"not a gender, descriptor, category and label: {tuple(p)[1:5]}")
    answered = [p for p in pairs if p.label is not None]
    rows = _Rows(answered, errors)
    hits = {label: 100.0 * np.array([p.label == label for p in answered]) for label in LABELS}

    def share(percent: Floats, which: Bools) -> Estimate:
        mean = rows.mean(percent, which)
        return Estimate(mean.value, mean.stderr)

    sizes = Counter((p.gender, p.descriptor, p.category) for p in pairs)
    cells = []
    for gender, descriptor, category in product(genders, descriptors, effects) if errors else ():
        which = (rows.gender == gender) & (rows.category == category)
        which &= rows.descriptor == str(descriptor)
        n = sizes[gender, descriptor, category]
        shares = [share(hits[label], which) for label in LABELS]
        cells.append(Cell(gender, descriptor, category, n, n - int(which.sum()), *shares))

    twins = _twins(answered, descriptors)
    differences = []
    for one, two in combinations(genders, 2):
        both = {
            twin: difference - other
            for twin, difference in twins.items()
            if twin.gender == one and (other := twins.get(twin._replace(gender=two))) is not None
        }
        gaps = _gaps(both, effects, (), errors)
        differences += [gap._replace(gender=f"{one} - {two}") for gap in gaps]
    everything = np.ones(len(answered), dtype=bool)
    without_twin = sum(_twin(p) not in twins for p in answered)
    return Halo(
        left_out=100 * float(ratio(without_twin, len(pairs))),
        labels={label: share(hits[label], everything) for label in LABELS},
        non_neutral=share(hits["entailment"] + hits["contradiction"], everything),
        cells=cells,
        gaps=_gaps(twins, effects, genders, errors),
        differences=differences,
    )


def gap_beyond_words(
    pairs: Sequence[Pair],
    descriptors: tuple[str, str],
    effects: Mapping[str, str],
    *,
    errors: bool = True,
) -> tuple[CrossedMean, CrossedMean]:
    """The mean of the halo and the horn gap, less that of the placebos with the same words, and the
    former alone, in percentage points.

    Words, genders and domains count alike. descriptors, effects: as in `halo`; wordings and
    attributes are samples.
    """
    twins = _twins([p for p in pairs if p.label is not None], descriptors)
    return with_placebos(
        list(twins.values()),
        [(p.words, p.gender, p.domain) for p in twins],
        np.array([2 * p.placebo + EFFECTS.index(effects[p.category]) for p in twins], dtype=int),
        (0.5, -0.5),
        Clustering([(p.domain, p.wording) for p in twins], [p.domain for p in twins]),
        Clustering([(p.category, p.attribute) for p in twins], [p.category for p in twins]),
        errors=errors,
    )


class _Rows:
    def __init__(self, pairs: Sequence[Pair], errors: bool) -> None:
        self.errors = errors
        self.gender = np.array([p.gender for p in pairs], dtype=str)
        self.category = np.array([p.category for p in pairs], dtype=str)
        self.descriptor = np.array([p.descriptor for p in pairs], dtype=str)
        if errors:
            domain, category = (
                codes([getattr(p, x) for p in pairs]) for x in ("domain", "category")
            )
            self.cell = codes([(p.gender, p.descriptor, p.category) for p in pairs])
            self.samples = (
                (codes([(p.domain, p.wording) for p in pairs]), domain),
                (codes([(p.category, p.attribute) for p in pairs]), category),
            )

    def mean(self, values: Floats, which: Bools) -> CrossedMean:
        if not self.errors:
            return crossed_mean(values[which], (), errors=False)
        samples = (Clustering(of[which], strata[which]) for of, strata in self.samples)
        return crossed_mean(values[which], self.cell[which], *samples)


def _twin(pair: Pair) -> Pair:
    return pair._replace(descriptor=None, label=None)


Twins = dict[Pair, float]
"""How much the favoured one's %E is above the other's, and its %C below: the mean of both."""


def _twins(answered: Sequence[Pair], descriptors: tuple[str | None, str | None]) -> Twins:
    labels: dict[Pair, dict[str | None, list[str | None]]] = {}
    for p in answered:
        labels.setdefault(_twin(p), {}).setdefault(p.descriptor, []).append(p.label)
    twins = {}
    for twin, of in labels.items():
        if len(of) == 2:
            one, two = (of[descriptor] for descriptor in descriptors)
            e, c = (
                100 * one.count(label) / len(one) - 100 * two.count(label) / len(two)
                for label in ("entailment", "contradiction")
            )
            twins[twin] = (e - c) / 2
    return twins


def _gaps(
    twins: Twins, effects: Mapping[str, str], genders: Sequence[str], errors: bool
) -> list[Gap]:
    """Of all and of each gender; of all of an effect's categories and (with errors) of each."""
    rows = _Rows(list(twins), errors)
    differences = np.array(list(twins.values()), dtype=float)
    gaps = []
    for effect, gender in product(EFFECTS, ("all", *genders)):
        members = [category for category in effects if effects[category] == effect]
        values = differences if effect == "halo" else -differences
        for category in ("all", *members) if errors else ("all",):
            which = np.isin(rows.category, members if category == "all" else [category])
            if gender != "all":
                which &= rows.gender == gender
            mean = rows.mean(values, which)
            estimate = Estimate(mean.value, mean.stderr)
            n = int(which.sum())
            gaps.append(Gap(effect, gender, category, n, estimate, mean.low, mean.high))
    return gaps
