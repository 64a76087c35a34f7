"""Where the labels of points stand."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import NamedTuple

from lm_eval_bias.figures.svg import SMALL, wide

NEAR = 15.0
"""Pixels from a point to its label; a line leads to a label that is farther away."""
_CLOSE = (
    (6, 0, "left"),
    (-6, 0, "right"),
    (0, -10, "center"),
    (0, 11, "center"),
    *((side * 4, down, align) for side, align in ((1, "left"), (-1, "right")) for down in (-9, 10)),
)
PLACES: tuple[tuple[float, float, str], ...] = (
    *_CLOSE,
    *(
        (side * right, down, align)
        for reach in (18, 28, 38, 52)
        for side, align in ((1, "left"), (-1, "right"))
        for right, down in ((reach, -9), (reach, 10), (reach / 2, -reach), (reach / 2, reach))
    ),
)
"""Where a label may stand, the best first: (right, down, alignment)."""


class Spot(NamedTuple):
    x: float
    y: float
    text: str


class Place(NamedTuple):
    """y: the middle of the label. x: the end that `align` names."""

    x: float
    y: float
    align: str


Box = tuple[float, float, float, float]


def labels(spots: Sequence[Spot], width: float, height: float) -> list[Place | None]:
    """Place labels so that none covers another, its line or a point; None without room. The
    outermost points come first, then those with the fewest neighbours."""
    near = [sum(abs(x - a) < 60 and abs(y - b) < 16 for a, b, _ in spots) for x, y, _ in spots]
    outer = outermost(spots)
    dots = [(x - 4, y - 4, x + 4, y + 4) for x, y, _ in spots]
    places: list[Place | None] = [None] * len(spots)
    taken: list[Box] = []
    for index in sorted(range(len(spots)), key=lambda i: (i not in outer, near[i])):
        x, y, text = spots[index]
        long = wide(text, SMALL)
        others = [*taken, *dots[:index], *dots[index + 1 :]]
        for right, down, align in PLACES if text else ():
            left = x + right - {"left": 0, "right": long, "center": long / 2}[align]
            box = left - 1, y + down - SMALL / 2, left + long + 1, y + down + SMALL / 2
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            leader = [(x + right * k / 4, y + down * k / 4) for k in (1, 2, 3)]
            line = [(a - 1, b - 1, a + 1, b + 1) for a, b in leader if hypot(right, down) > NEAR]
            if inside and not any(_overlap(of, other) for of in (box, *line) for other in others):
                taken += [box, *line]
                places[index] = Place(x + right, y + down, align)
                break
    return places


def outermost(spots: Sequence[Spot]) -> set[int]:
    """The corners of the convex hull (Andrew's monotone chain)."""
    order = sorted(range(len(spots)), key=lambda i: spots[i][:2])
    corners: set[int] = set()
    for way in (order, order[::-1]):
        chain: list[int] = []
        for i in way:
            while len(chain) > 1 and _turn(spots[chain[-2]], spots[chain[-1]], spots[i]) <= 0:
                chain.pop()
            chain.append(i)
        corners.update(chain)
    return corners


def _turn(a: Spot, b: Spot, c: Spot) -> float:
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)


def far(spot: Spot, place: Place) -> bool:
    """Whether a line leads to the label."""
    return hypot(place.x - spot.x, place.y - spot.y) > NEAR


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
