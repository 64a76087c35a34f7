"""How wide texts are, their lines, and where the labels of points stand."""

from collections.abc import Iterable, Sequence
from itertools import product
from math import cos, hypot, radians, sin
from textwrap import wrap

from lm_eval_bias.figures.plan import Item

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts of equal widths: what fits in one of them fits in all."""
SIZE, SMALL = 12, 11
NARROW, BROAD = "ijl'|!,./:;I[]ft ·", "mwMW%@…—"


def wide(text: str, size: float = SIZE) -> float:
    """The width of a text in Arial, in pixels, or somewhat more."""
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

PLACES = [
    (reach * cos(radians(turn)), (reach + 4) * sin(radians(turn)), round(cos(radians(turn))))
    for reach in range(6, 115, 8)
    for turn in (0, 180, 270, 90, 315, 45, 225, 135)
]
"""Where a label may stand, the best first: pixels to the right and down, and its side."""


def place(items: Sequence[Item], width: float, height: float) -> int:
    """Place the labels of points so that none covers another, its line or a point.

    items: each with x and y, pixels from the left and the top, and a text t. Those that have room
    get p and q, where the label stands, and its side of the point, -1 for the left. The outermost
    come first: a reader looks for them. Returns how many have no room.
    """
    taken = [(item["x"] - 3, item["y"] - 3, item["x"] + 3, item["y"] + 3) for item in items]
    left_out = 0
    x, y = width / 2, height / 2
    for item in sorted(items, key=lambda item: -hypot(item["x"] - x, item["y"] - y)):
        long = wide(item["t"], SMALL)
        for right, down, side in PLACES:
            p, q, away = item["x"] + right, item["y"] + down, hypot(right, down)
            left = p - long * (1 - side) / 2
            box = left - 1, q - SMALL / 2, left + long + 1, q + SMALL / 2
            steps = [step / away for step in range(4, int(away) - 6, 4)]
            line = [(p - right * step, q - down * step) for step in steps]
            boxes = [box, *((a - 1, b - 1, a + 1, b + 1) for a, b in line)]
            inside = min(box) >= 0 and box[2] <= width and box[3] <= height
            if inside and not any(
                a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
                for a, b in product(boxes, taken)
            ):
                taken += boxes
                item |= {"p": p, "q": q, "side": side}
                break
        else:
            left_out += bool(item["t"])
    return left_out
