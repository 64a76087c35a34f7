"""How wide texts are, their lines, and where the labels of points stand."""

from collections.abc import Iterable, Sequence
from math import cos, hypot, radians, sin
from statistics import median
from textwrap import wrap

from lm_eval_bias.figures.plan import Item

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts of equal widths: what fits in one of them fits in all."""
SIZE, SMALL = 12, 11
NARROW, BROAD = "ijl'|!,./:;I[]ft ·", "mwMW%@…—"


def wide(text: str, size: float = SIZE) -> float:
    """The width of a text in Arial, in pixels: about as wide as it is, or somewhat more."""
    widths = (
        300 if c in NARROW else 950 if c in BROAD or c > "\u1100" else 750 if c.isupper() else 560
        for c in text
    )
    return sum(widths) * size / 1000


def widest(texts: Iterable[str], size: float = SIZE) -> float:
    return max((wide(text, size) for text in texts), default=0)


def wrapped(text: str, width: float, size: float = SIZE) -> list[str]:
    """The lines of a text."""
    characters = 0.95 * width * len(text) / (wide(text, size) or 1)
    return wrap(text, max(4, int(characters)))


# ---- Labels of points

NEAR = 15.0
"""Pixels from a point to its label; a line leads to a label that is farther away."""
PLACES = [
    (reach * cos(radians(turn)), (reach + 4) * sin(radians(turn)), round(cos(radians(turn))))
    for reach in (6, 12, 18, 24, 30, 38, 46, 54, 62, 72, 84, 96, 110)
    for turn in (0, 180, 270, 90, 315, 45, 225, 135)
]
"""Where a label may stand, the best first: pixels to the right and down, and its side."""
Box = tuple[float, float, float, float]


def place(items: Sequence[Item], width: float, height: float) -> int:
    """Place the labels of points so that none covers another, its line or a point.

    items: each with x and y, pixels from the left and the top, and the text t, which becomes ""
    where there is no room. They get p and q, where the label stands, align, and far, whether a line
    leads to it. What is farthest from the middle comes first: a reader looks for it. Returns how
    many texts have no room.
    """
    x, y = (median([item[end] for item in items] or [0]) for end in "xy")
    dots = [(item["x"] - 4, item["y"] - 4, item["x"] + 4, item["y"] + 4) for item in items]
    taken, left_out = list[Box](), 0
    for item in sorted(items, key=lambda item: -hypot(item["x"] - x, item["y"] - y)):
        others = taken + [dot for dot, other in zip(dots, items, strict=True) if other is not item]
        long, text = wide(item["t"], SMALL), item["t"]
        item |= {"t": "", "far": False}
        for right, down, side in PLACES:
            p, q = item["x"] + right, item["y"] + down
            left = p - long * (1 - side) / 2
            box = left - 1, q - SMALL / 2, left + long + 1, q + SMALL / 2
            far = (away := hypot(right, down)) > NEAR
            steps = range(4, int(away) * far, 4)
            line = [(p - right * step / away, q - down * step / away) for step in steps]
            boxes = [box, *((a - 1, b - 1, a + 1, b + 1) for a, b in line)]
            inside = min(box) >= 0 and box[2] <= width and box[3] <= height
            if inside and not any(_overlap(one, other) for one in boxes for other in others):
                taken += boxes
                item |= {"p": p, "q": q, "t": text, "far": far}
                item["align"] = ("center", "left", "right")[side]
                break
        else:
            left_out += bool(text)
    return left_out


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
