"""Exhibits as figures: Altair specifications, rendered once by vl-convert, as SVG for a page and
PNG for anything else.

An SVG takes the colour of the page's text, holds no style, script or link, and tells series apart
by colour and by pattern, shape or dash. Its ids are its own, so that many stand on one page. The
extra `report` brings what this needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from lm_eval_bias.exhibit import Exhibit
from lm_eval_bias.figures import palette
from lm_eval_bias.figures.kinds import LABEL, SMALL, Sign, chart
from lm_eval_bias.figures.rows import plan, undrawable
from lm_eval_bias.figures.svg import (
    Colours,
    Drawing,
    Leaf,
    attributes,
    cut,
    moved,
    read,
    wide,
    wrapped,
    write,
)
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.usage import UsageError

PICTURE = Colours("#1d1d1b", "#ffffff")
"""A PNG is dark on white: it does not know where it will stand."""
MARGIN = 6
TITLE = 300


class Drawn(NamedTuple):
    """A figure as SVG text, and its size in pixels as it was drawn; it has a viewBox, so that a
    page may show it narrower."""

    svg: str
    width: int
    height: int


def drawable(
    exhibit: Exhibit, rows: Sequence[Mapping[str, Any]], model: str | None = None
) -> str | None:
    """Why the rows cannot be drawn, as a part of a sentence ("no row has a number"); None if they
    can."""
    if exhibit.figure is None:
        return "it is a table alone"
    try:
        return undrawable(plan(exhibit, rows, model))
    except ValueError as error:
        return str(error)


def svg(
    exhibit: Exhibit,
    rows: Sequence[Mapping[str, Any]],
    *,
    name: str,
    title: str,
    description: str,
    model: str | None = None,
) -> str:
    """The figure as SVG to stand in a page. For its size, see `draw`.

    rows: as `exhibit.rows` gives them. name: makes its ids unlike those of others. title,
    description: for who does not see it. model: the key under which rows of several models have the
    model's name. Raises ValueError for what is not `drawable`, and UsageError where the extra
    `report` is not installed.
    """
    return draw(exhibit, rows, name=name, title=title, description=description, model=model).svg


def draw(
    exhibit: Exhibit,
    rows: Sequence[Mapping[str, Any]],
    *,
    name: str,
    title: str,
    description: str,
    model: str | None = None,
) -> Drawn:
    """As `svg`, with its width and height."""
    drawing, notes = _drawing(exhibit, rows, model)
    said = " ".join([shortened(description, 2000), *notes]).strip()
    text = write(drawing, name=name, title=shortened(title, TITLE), description=said)
    return Drawn(text, round(drawing.width), round(drawing.height))


def png(
    exhibit: Exhibit,
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    model: str | None = None,
    scale: float = 2,
) -> bytes:
    """The figure as a picture, its title above it, on white. scale: pixels of the picture for one
    of the figure."""
    drawing, _ = _drawing(exhibit, rows, model)
    heading, height = _heading(shortened(title, TITLE), drawing.width)
    whole = moved(drawing, 0, height, drawing.width, drawing.height + height)
    return _converter().svg_to_png(
        write(whole, name="picture", colours=PICTURE, bold=heading), scale=scale
    )


def _heading(title: str, width: float) -> tuple[list[Leaf], float]:
    found = wrapped(visible(title), (width - 2 * MARGIN) / 1.08, 4, 14)
    look = attributes(fill=palette.INK, font_size=14, font_weight="bold")
    return [
        Leaf(look, text=line, x=MARGIN, y=MARGIN + 14 + 18 * n) for n, line in enumerate(found)
    ], 18 * len(found) + 8


# ---- Rendering


def _converter() -> Any:
    try:
        import altair  # noqa: F401
        import vl_convert
    except ImportError as error:
        raise UsageError(
            f"figures need {error.name}: pip install 'lm-eval-bias[report]'"
        ) from error
    return vl_convert


def _language() -> str | None:
    """The version of Vega-Lite to render with: Altair's own, or the nearest that vl-convert has."""
    import altair

    mine = tuple(int(part) for part in altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    known = getattr(_converter(), "get_vegalite_versions", list)()
    offered = sorted(tuple(int(part) for part in version.split(".")[:2]) for version in known)
    if not offered:
        return None
    same = [version for version in offered if version[0] == mine[0]]
    nearest = next((version for version in same if version >= mine), (same or offered)[-1])
    return ".".join(map(str, nearest))


def _plot(specification: str) -> Drawing:
    language = _language()
    chosen = {"vl_version": language} if language else {}
    return read(_converter().vegalite_to_svg(specification, allowed_base_urls=[], **chosen))


def _trusting() -> Any:
    """Altair without the check of every part of a specification against its schema, which takes
    longer than all else; the tests check."""
    from altair.utils import schemapi

    debug = getattr(schemapi, "debug_mode", None)
    return nullcontext() if debug is None else debug(False)


# A page shows the SVG of a figure beside its PNG: one rendering serves both.
_last: tuple[str, tuple[Drawing, list[str]]] | None = None


def _drawing(
    exhibit: Exhibit, rows: Sequence[Mapping[str, Any]], model: str | None
) -> tuple[Drawing, list[str]]:
    """What is drawn, with its legend, and sentences for its description."""
    global _last
    key = repr((exhibit.name, exhibit.figure, list(exhibit.columns), list(rows), model))
    last = _last
    if last is None or last[0] != key:
        _converter()
        made = plan(exhibit, rows, model)
        wrong = undrawable(made)
        if wrong is not None:
            raise ValueError(f"{exhibit.name} cannot be drawn: {wrong}")
        with _trusting():
            drawn = chart(made)
        plot = _plot(json.dumps(drawn.chart, allow_nan=False, sort_keys=True))
        width = max(plot.width, 260)
        legend, height = _legend(drawn.legend, width)
        below = moved(plot, 0, height, width, plot.height + height)
        last = _last = (
            key,
            (Drawing([*legend, *below.leaves], width, plot.height + height), drawn.notes),
        )
    return last[1]


# ---- The legend

_LINE = 20


def _legend(signs: Sequence[Sign], width: float) -> tuple[list[Leaf], float]:
    """Signs and what they mean, in lines above the figure."""
    leaves: list[Leaf] = []
    x, y = float(MARGIN), float(MARGIN + 8)
    for sign in signs:
        if sign.sort == "number":
            leaves += _gradient(sign, x, y, min(width - 2 * MARGIN, 260))
            x, y = float(MARGIN), y + 48
            continue
        before = {"text": 0, "line": 34, "reference": 34}.get(sign.sort, 20)
        label = cut(sign.label, width - 2 * MARGIN - before, LABEL)
        long = before + wide(label, LABEL)
        if x > MARGIN and x + long > width - MARGIN:
            x, y = float(MARGIN), y + _LINE
        leaves += _sign(sign, x, y)
        leaves.append(
            Leaf(attributes(fill=palette.INK, font_size=LABEL), text=label, x=x + before, y=y + 4)
        )
        x += long + 16
    if not signs:
        return [], 0
    return leaves, y + (14 if x > MARGIN else -6)


def _sign(sign: Sign, x: float, y: float) -> list[Leaf]:
    solid = palette.paint("solid", sign.series)
    if sign.sort == "area":
        return [
            Leaf(
                attributes(fill=palette.paint("area", sign.series)),
                d=f"M{x:g} {y - 6:g}h14v12h-14Z",
            )
        ]
    if sign.sort == "point":
        return [Leaf(attributes(fill=solid), d=_shape(palette.shape(sign.series), x + 7, y))]
    if sign.sort == "line":
        line = Leaf(
            attributes(stroke=palette.paint("dashed", sign.series), stroke_width=2),
            d=f"M{x:g} {y:g}h28",
        )
        return [line, Leaf(attributes(fill=solid), d=_shape(palette.shape(sign.series), x + 14, y))]
    if sign.sort == "reference":
        return [
            Leaf(
                attributes(stroke=palette.INK, stroke_width=1.4, stroke_dasharray="5 3"),
                d=f"M{x:g} {y:g}h28",
            )
        ]
    if sign.sort == "missing":
        return [Leaf(attributes(fill=palette.INK, font_size=LABEL), text="×", x=x + 4, y=y + 4)]
    if sign.sort in ("further", "mean"):
        return [
            Leaf(
                attributes(fill=palette.INK),
                d=_shape("triangle-right" if sign.sort == "further" else "diamond", x + 7, y),
            )
        ]
    return []


def _shape(shape: str, x: float, y: float, r: float = 4.6) -> str:
    """One of the shapes of a point, as Vega draws it, in the legend."""
    if shape == "circle":
        return f"M{x - r:g} {y:g}a{r} {r} 0 1 1 {2 * r:g} 0a{r} {r} 0 1 1 {-2 * r:g} 0Z"
    corners = {
        "square": ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
        "triangle-up": ((0, -1), (1, 0.85), (-1, 0.85)),
        "triangle-down": ((0, 1), (1, -0.85), (-1, -0.85)),
        "triangle-right": ((1, 0), (-0.85, 1), (-0.85, -1)),
        "diamond": ((0, -1.2), (1, 0), (0, 1.2), (-1, 0)),
        "cross": tuple(
            (a, b)
            for a, b in (
                (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
                (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
            )
        ),
    }[shape]  # fmt: skip
    return "M" + "L".join(f"{x + a * r:g} {y + b * r:g}" for a, b in corners) + "Z"


def _gradient(sign: Sign, x: float, y: float, width: float) -> list[Leaf]:
    """A scale of colours with its ticks, a title above."""
    text = attributes(fill=palette.INK, font_size=LABEL)
    leaves = [Leaf(text, text=cut(sign.label, width, LABEL), x=x, y=y + 4)] if sign.label else []
    each = width / len(sign.stops)
    for n, stop in enumerate(sign.stops):
        leaves.append(
            Leaf(
                attributes(fill=stop),
                d=f"M{x + n * each:.1f} {y + 9:g}h{each + 0.3:.1f}v10h-{each + 0.3:.1f}Z",
            )
        )
    leaves.append(
        Leaf(attributes(stroke=palette.INK), d=f"M{x:g} {y + 9:g}h{width:g}v10h{-width:g}Z")
    )
    taken: list[tuple[float, float]] = []
    for place, said in sign.ticks:  # the first, its ends, go before
        long = wide(said, SMALL)
        left = min(max(x + place * width - long / 2, x), x + width - long)
        if all(left > to + 6 or left + long < start - 6 for start, to in taken):
            leaves.append(
                Leaf(attributes(fill=palette.INK, font_size=SMALL), text=said, x=left, y=y + 31)
            )
            taken.append((left, left + long))
    return leaves
