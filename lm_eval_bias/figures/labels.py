"""Where the labels of points stand."""

from collections.abc import Sequence
from math import cos, hypot, pi, sin
from statistics import median
from typing import NamedTuple

from lm_eval_bias.figures.svg import SMALL, wide

FIRST = 10
"""How many points a reader looks for first, those farthest from the middle."""
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
        for reach in (18, 28, 38, 52, 66, 82, 100)
        for side, align in ((1, "left"), (-1, "right"))
        for right, down in ((reach, -9), (reach, 10), (reach / 2, -reach), (reach / 2, reach))
    ),
)
"""Where a label may stand, the best first: (right, down, alignment)."""
_RING = tuple(
    (reach * cos(turn), reach * sin(turn), align)
    for reach in range(16, 161, 6)
    for turn in (2 * pi * k / 32 for k in range(32))
    for align in (("left",), ("right",))[cos(turn) < 0] + ("center",) * (abs(cos(turn)) < 0.9)
)
"""Where those may stand that a reader looks for first and that found no place."""


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
    """Place labels so that none covers another, its line or a point; None without room. What is
    farthest from the middle comes first."""
    order = outermost(spots)
    first, hard = order[:FIRST], set[int]()
    for _ in range(FIRST):
        places = _placed(spots, order, hard, width, height)
        lacking = [i for i in first if places[i] is None and spots[i].text]
        order = [*lacking, *(i for i in order if i not in lacking)]
        hard.update(lacking)
        if not lacking:
            break
    return places


def outermost(spots: Sequence[Spot]) -> list[int]:
    """The indices of spots, the farthest from the middle of all first."""
    x, y = (median(at or [0.0]) for at in ([s.x for s in spots], [s.y for s in spots]))
    return sorted(range(len(spots)), key=lambda i: -hypot(spots[i].x - x, spots[i].y - y))


def _placed(
    spots: Sequence[Spot], order: Sequence[int], hard: set[int], width: float, height: float
) -> list[Place | None]:
    dots = [(x - 4, y - 4, x + 4, y + 4) for x, y, _ in spots]
    places: list[Place | None] = [None] * len(spots)
    taken: list[Box] = []
    for index in order:
        x, y, text = spots[index]
        long = wide(text, SMALL)
        others = [*taken, *dots[:index], *dots[index + 1 :]]
        for right, down, align in (PLACES + _RING * (index in hard)) if text else ():
            left = x + right - {"left": 0, "right": long, "center": long / 2}[align]
            box = left - 1, y + down - SMALL / 2, left + long + 1, y + down + SMALL / 2
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if not inside or any(_overlap(box, other) for other in others):
                continue
            away = hypot(right, down)
            parts = int(away // 4) + 1 if away > NEAR else 0
            leader = [(x + right * k / parts, y + down * k / parts) for k in range(1, parts)]
            line = [(a - 1, b - 1, a + 1, b + 1) for a, b in leader]
            if not any(_overlap(of, other) for of in line for other in others):
                taken += [box, *line]
                places[index] = Place(x + right, y + down, align)
                break
    return places


def far(spot: Spot, place: Place) -> bool:
    """Whether a line leads to the label."""
    return hypot(place.x - spot.x, place.y - spot.y) > NEAR


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
