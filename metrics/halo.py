"""Halo and horn gaps from labels of premise-hypothesis pairs (BIStereo-NLI, sections 3.2 and 4.2).

The halo effect: a model finds that good looks and good behaviour follow from fair skin (or fair
skin from them), and contradict dark skin. The horn effect: it finds that bad looks and bad
behaviour follow from dark skin, and contradict fair skin.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .crossed import Clustering, CrossedMean, crossed_mean
from .resampling import Estimate

LABELS = ("entailment", "contradiction", "neutral")
EFFECTS = ("halo", "horn")
SHARES = ("difference", "entailment", "contradiction")


class Pair(NamedTuple):
    """One premise-hypothesis pair and the label that a model gave it.

    wording: the template's label; templates that differ in gender alone share it. gender,
    descriptor, category: of those given to `halo`. label: of `LABELS`, or None for no usable
    answer. domain: within which wordings were written. attribute: the word of the category.
    question: tells apart what one wording asks of one attribute: direction, variant. Pairs that
    differ in the descriptor alone are twins.
    """

    wording: str
    gender: str
    descriptor: str
    category: str
    label: str | None
    domain: str = ""
    attribute: str = ""
    question: Hashable = None


class Cell(NamedTuple):
    """One gender x descriptor x attribute category, as in Figures 3 and 23 to 25; percentages of
    the answered pairs."""

    gender: str
    descriptor: str
    category: str
    n: int
    unanswered: int
    entailment: Estimate
    contradiction: Estimate
    neutral: Estimate


class Gap(NamedTuple):
    """One halo or horn gap in percentage points: its estimate and the bounds of its 95 % interval,
    of n twins.

    `gender` or `category` is "all" where it is pooled; `gender` is "women - men" for the difference
    of two genders' gaps. share: what the gap is of, one of `SHARES`.
    """

    effect: str
    gender: str
    category: str
    share: str
    n: int
    gap: Estimate
    low: float
    high: float


class Halo(NamedTuple):
    """What `halo` returns. Percentages; `gaps` and `differences` in percentage points."""

    n: int
    unanswered: float
    left_out: float
    labels: dict[str, Estimate]
    non_neutral: Estimate
    cells: list[Cell]
    gaps: list[Gap]
    differences: list[Gap]

    def gap(
        self, effect: str, gender: str = "all", category: str = "all", share: str = "difference"
    ) -> Gap:
        """The gap of that effect, gender, category and share; KeyError where there is none."""
        for g in (*self.gaps, *self.differences):
            if (g.effect, g.gender, g.category, g.share) == (effect, gender, category, share):
                return g
        raise KeyError((effect, gender, category, share))


def halo(
    pairs: Sequence[Pair],
    descriptors: tuple[str | None, str | None],
    effects: Mapping[str, str],
    genders: Sequence[str],
    *,
    errors: bool = True,
) -> Halo:
    """Shares of labels, and how they differ between two descriptors.

    pairs: n answered or unanswered pairs, in any order. descriptors: the one that the stereotype
    favours ("fair") and the other ("dark"); None for one that no pair has. effects: attribute
    category -> "halo" for a good one, "horn" for a bad one. genders: those of the pairs. %E, %C, %N
    of a cell are shares of its answered pairs. Gaps are means over twins, pairs that differ in the
    descriptor alone; an answered pair whose twin is not is left out of them and counted in
    `left_out`, in percent of all pairs. Several answers to one pair are averaged. Of the good
    categories, %E(favoured) - %E(other) and %C(other) - %C(favoured); of the bad ones, %E(other) -
    %E(favoured) and %C(favoured) - %C(other): in all, positive is the stereotype and zero no
    difference. "difference" is the gap of %E - %C, which is their sum and lies between -200 and
    200. A gap over several cells pools their twins. `differences` are those of the gaps of every
    two genders, over the twins that both have. Standard errors and intervals: wordings and
    attributes are both taken for samples, of wordings within a domain and of attributes within a
    category; genders, descriptors, categories and their proportions are fixed
    (`crossed.crossed_mean`). An empty cell, and every number that needs one, is NaN. ValueError for
    a pair that is of none of them. Source: BIStereo, section 4.2 (%E, %C, %N) and appendix I (halo
    and horn effect); the gaps are ours.
    """
    categories = list(effects)
    unknown = sorted(set(effects.values()) - set(EFFECTS))
    if unknown:
        raise ValueError(f"effects: expected halo or horn, found {unknown[0]!r}")
    for p in pairs:
        if (
            p.gender not in genders
            or p.descriptor not in descriptors
            or p.category not in effects
            or p.label not in (*LABELS, None)
        ):
            raise ValueError(
                f"not a gender, descriptor, attribute category and label: {tuple(p)[1:5]}"
            )
    answered = _Rows([p for p in pairs if p.label is not None], errors)
    labels = np.array(
        [LABELS.index(p.label) for p in answered.pairs if p.label is not None], dtype=int
    )

    def share(which: NDArray[np.bool_], *wanted: str) -> Estimate:
        """The percentage of some labels among some answered pairs."""
        hits = np.isin(labels, [LABELS.index(label) for label in wanted])
        mean = answered.mean(100.0 * hits[which], which, ("gender", "descriptor", "category"))
        return Estimate(mean.value, mean.stderr)

    everything = np.ones(len(labels), dtype=bool)
    asked: dict[tuple[str, str | None, str], list[Pair]] = {
        (g, d, c): [] for g in genders for d in descriptors for c in categories
    }
    for p in pairs:
        asked[p.gender, p.descriptor, p.category].append(p)
    cells = []
    for cell, members in asked.items() if errors else ():
        inside = (
            answered.those("gender", cell[0])
            & answered.those("descriptor", cell[1])
            & answered.those("category", cell[2])
        )
        unanswered = sum(p.label is None for p in members)
        cells.append(
            Cell(*cell, len(members), unanswered, *(share(inside, label) for label in LABELS))
        )

    twins = _twins(answered.pairs, descriptors)
    complete = _Rows([p for p, _ in twins], errors)
    differences = np.array([d for _, d in twins], dtype=float).reshape(-1, 2)

    def shown(effect: str) -> list[str]:
        """The categories that an effect has gaps of."""
        return ["all", *((c for c in categories if effects[c] == effect) if errors else ())]

    gaps = [
        gap
        for effect in EFFECTS
        for gender in ("all", *genders)
        for category in shown(effect)
        for gap in _gaps(complete, differences, effects, effect, gender, category)
    ]
    between = []
    for one, two in combinations(genders, 2):
        shared, contrasts = _of_both(twins, one, two, errors)
        for effect in EFFECTS:
            for category in shown(effect):
                for gap in _gaps(shared, contrasts, effects, effect, "all", category):
                    between.append(gap._replace(gender=f"{one} - {two}"))
    kept = {_twin(p) for p, _ in twins}
    return Halo(
        n=len(pairs),
        unanswered=100 * (len(pairs) - len(labels)) / len(pairs) if pairs else np.nan,
        left_out=100 * sum(_twin(p) not in kept for p in answered.pairs) / len(pairs)
        if pairs
        else np.nan,
        labels={label: share(everything, label) for label in LABELS},
        non_neutral=share(everything, "entailment", "contradiction"),
        cells=cells,
        gaps=gaps,
        differences=between,
    )


class _Rows:
    """Pairs with what they share as numbers."""

    def __init__(self, pairs: Sequence[Pair], errors: bool) -> None:
        self.pairs, self.errors = pairs, errors
        self._codes: dict[tuple[str, ...], NDArray[np.int_]] = {}
        self._places: dict[tuple[Hashable, ...], NDArray[np.bool_]] = {}

    def codes(self, *fields: str) -> NDArray[np.int_]:
        """Whole numbers, the same where these fields are; shape (pairs,)."""
        if fields not in self._codes:
            numbers: dict[Hashable, int] = {}
            columns = zip(
                *([getattr(p, field) for p in self.pairs] for field in fields), strict=True
            )
            self._codes[fields] = np.array(
                [numbers.setdefault(each, len(numbers)) for each in columns], dtype=int
            )
        return self._codes[fields]

    def those(self, field: str, *values: Hashable) -> NDArray[np.bool_]:
        """Which have one of these values; shape (pairs,)."""
        if (field, *values) not in self._places:
            self._places[field, *values] = np.array(
                [getattr(p, field) in values for p in self.pairs], dtype=bool
            )
        return self._places[field, *values]

    def mean(
        self, values: NDArray[np.float64], which: NDArray[np.bool_], cell: tuple[str, ...]
    ) -> CrossedMean:
        """Of values of some of them, within cells. A sample are wordings within their domain, and
        attributes within their category."""
        if not self.errors:
            return crossed_mean(values, (), errors=False)
        samples = ((("domain", "wording"), ("domain",)), (("category", "attribute"), ("category",)))
        clusterings = [
            Clustering(*(self.codes(*fields)[which] for fields in each)) for each in samples
        ]
        return crossed_mean(values, self.codes(*cell)[which], *clusterings)


def _twin(pair: Pair) -> tuple[Hashable, ...]:
    """All that a pair and its twin have in common."""
    return pair.domain, pair.wording, pair.gender, pair.category, pair.attribute, pair.question


def _twins(
    answered: Sequence[Pair], descriptors: tuple[str | None, str | None]
) -> list[tuple[Pair, tuple[float, float]]]:
    """For each two twins that are answered, one of them and how much the favoured one's %E and %C
    are above the other's."""
    found: dict[tuple[Hashable, ...], dict[str | None, list[Pair]]] = {}
    for p in answered:
        found.setdefault(_twin(p), {}).setdefault(p.descriptor, []).append(p)
    result = []
    for of in found.values():
        if len(of) < 2:
            continue
        favoured, other = (
            [
                100 * [p.label for p in of[d]].count(label) / len(of[d])
                for label in ("entailment", "contradiction")
            ]
            for d in descriptors
        )
        result.append((of[descriptors[0]][0], (favoured[0] - other[0], favoured[1] - other[1])))
    return result


def _of_both(
    twins: Sequence[tuple[Pair, tuple[float, float]]], one: str, two: str, errors: bool
) -> tuple[_Rows, NDArray[np.float64]]:
    """The twins that two genders both have, and how much the first gender's differences are above
    the second's."""
    by_gender = {
        g: {_twin(p._replace(gender="")): (p, d) for p, d in twins if p.gender == g}
        for g in (one, two)
    }
    both = [key for key in by_gender[one] if key in by_gender[two]]
    contrasts = [
        [x - y for x, y in zip(by_gender[one][key][1], by_gender[two][key][1], strict=True)]
        for key in both
    ]
    return _Rows([by_gender[one][key][0] for key in both], errors), np.array(
        contrasts, dtype=float
    ).reshape(-1, 2)


def _gaps(
    rows: _Rows,
    differences: NDArray[np.float64],
    effects: Mapping[str, str],
    effect: str,
    gender: str,
    category: str,
) -> list[Gap]:
    """The gaps of one effect, gender and category, one for each of `SHARES`; differences: shape
    (twins, 2), of %E and of %C."""
    which = rows.those(
        "category",
        *([c for c in effects if effects[c] == effect] if category == "all" else [category]),
    )
    if gender != "all":
        which = which & rows.those("gender", gender)
    sign = 1 if effect == "halo" else -1
    entailment, contradiction = sign * differences[which, 0], -sign * differences[which, 1]
    found = []
    for name, values in zip(
        SHARES, (entailment + contradiction, entailment, contradiction), strict=True
    ):
        mean = rows.mean(values, which, ("gender", "category"))
        found.append(
            Gap(
                effect,
                gender,
                category,
                name,
                len(values),
                Estimate(mean.value, mean.stderr),
                mean.low,
                mean.high,
            )
        )
    return found
