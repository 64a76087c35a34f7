"""Colours and other signs of series.

Colours have a contrast of at least 3:1 on white and on the dark page (#1c1c1b). Neighbours differ
by 20 in CIELAB or more, also for colour-blind eyes (Machado, Oliveira and Fernandes 2009).
"""

from typing import NamedTuple

COLOURS = ("#2f74c8", "#d2550a", "#7d8089", "#c061b8", "#5a8a2a", "#4f93d8", "#a05a4a", "#8a8f1e")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
# Lines over a tile of 8 by 8. The first series is plain, the third has dots.
PATTERNS = (
    "",
    "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    "M3 4H5M4 3V5",
    "M0 0L8 8M0 8L8 0",
    "M0 4H8",
    "M4 0V8",
    "M-2 6L2 10M0 0L8 8M6 -2L10 2",
)
# ColorBrewer's YlGnBu, from low to high; safe for colour blindness.
SEQUENTIAL = (
    "#ffffd9",
    "#edf8b1",
    "#c7e9b4",
    "#7fcdbb",
    "#41b6c4",
    "#1d91c0",
    "#225ea8",
    "#253494",
    "#081d58",
)

INK = "#010101"
"""Stands for the colour of the page's text, `currentColor`, until a figure is written."""
GRID = "#010102"
_ROLES = ("solid", "area", "halo")


class Paint(NamedTuple):
    """A placeholder colour. role: solid, area (with a pattern), or halo (around a text)."""

    role: str
    number: int


def paint(role: str, number: int) -> str:
    return f"#fe{_ROLES.index(role)}{number % 4096:03x}"


def painted(colour: str | None) -> Paint | None:
    if colour is None or not colour.startswith("#fe"):
        return None
    return Paint(_ROLES[int(colour[3])], int(colour[4:], 16))


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def shape(number: int) -> str:
    return SHAPES[number % len(SHAPES)]


def pattern(number: int) -> str:
    return PATTERNS[number % len(PATTERNS)]


def channels(hexadecimal: str) -> tuple[int, int, int]:
    return int(hexadecimal[1:3], 16), int(hexadecimal[3:5], 16), int(hexadecimal[5:7], 16)


def luminance(hexadecimal: str) -> float:
    """Relative luminance of WCAG 2, from 0 (black) to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (v / 255 for v in channels(hexadecimal))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2, from 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def on(background: str) -> str:
    """Black or white, whichever has more contrast; at least 4.5:1."""
    return max("#000000", "#ffffff", key=lambda text: contrast(text, background))


def scaled(share: float) -> str:
    """The colour at a place from 0 to 1 of a heat map."""
    stops = SEQUENTIAL
    place = share * (len(stops) - 1)
    below = min(int(place), len(stops) - 2)
    mixed = (
        round(a + (b - a) * (place - below))
        for a, b in zip(channels(stops[below]), channels(stops[below + 1]), strict=True)
    )
    return "#{:02x}{:02x}{:02x}".format(*mixed)
