"""What Vega drew -> a small SVG that a page can hold: flat, rounded, with the page's own text
colour and no style, script or link.

Vega's SVG has a group for every mark and a role for every point; a page says what a figure shows in
one name and a table beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from lm_eval_bias.figures import palette

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Of equal widths, so that what fits here fits in a browser; generic where a machine has none of
them."""
Attributes = tuple[tuple[str, str], ...]


class Leaf(NamedTuple):
    """Something drawn: a path (`d`, its subpaths in absolute numbers) or a text."""

    attributes: Attributes
    d: str = ""
    text: str = ""
    x: float = 0
    y: float = 0
    turn: float = 0
    apart: bool = False  # whether it overlaps none of its like, so that they may be one path


class Drawing(NamedTuple):
    leaves: Sequence[Leaf]
    width: float
    height: float


# ---- From Vega's SVG

_KEPT = (
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "fill-opacity",
    "stroke-opacity",
)
_TEXT = (
    "fill",
    "stroke",
    "stroke-width",
    "opacity",
    "font-size",
    "font-weight",
    "font-style",
    "text-anchor",
)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
_COMMAND = re.compile(r"([MLHVCSQTAZmlhvcsqtaz])([^MLHVCSQTAZmlhvcsqtaz]*)")
_TRANSLATE = re.compile(r"translate\(\s*([^,\s)]+)[,\s]+([^)]+)\)")
_ROTATE = re.compile(r"rotate\(\s*([^,\s)]+)")
_SCALE = re.compile(r"scale\(")


def read(svg: str) -> Drawing:
    """The leaves of an SVG that Vega wrote, in the order of drawing. ValueError for one that holds
    what Vega does not write."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    return Drawing([leaf for child in root for leaf in _walk(child, 0, 0, ())], width, height)


def _walk(node: ElementTree.Element, x: float, y: float, above: Attributes) -> Iterator[Leaf]:
    tag = node.tag.rpartition("}")[2]
    if (
        node.get("display") == "none"
        or (tag == "rect" and node.get("fill") == "white")
        or tag == "defs"
    ):
        return
    transform = node.get("transform", "")
    if _SCALE.search(transform):
        raise ValueError(f"a figure has a transform that is not known: {transform}")
    if moved := _TRANSLATE.search(transform):
        x, y = x + float(moved[1]), y + float(moved[2])
    turned = _ROTATE.search(transform)
    # along the turned axes
    if turned and moved and (inner := _TRANSLATE.search(transform, turned.end())):
        angle, dx, dy = math.radians(float(turned[1])), float(inner[1]), float(inner[2])
        x, y = (
            x + dx * math.cos(angle) - dy * math.sin(angle),
            y + dx * math.sin(angle) + dy * math.cos(angle),
        )
    if tag == "g":
        inherited = tuple(
            (key, value)
            for key in ("fill", "stroke", "opacity")
            if (value := node.get(key)) not in (None, "none", "1")
        )
        for child in node:
            yield from _walk(child, x, y, above + inherited)
    elif tag == "path":
        d = node.get("d", "")
        shown = _attributes(node, _KEPT, above)
        if d and (("fill" in dict(shown)) or ("stroke" in dict(shown))):
            yield Leaf(
                shown,
                d=_moved(d, x, y),
                apart="fill" in dict(shown) and "stroke" not in dict(shown),
            )
    elif tag == "line":
        x2, y2 = x + float(node.get("x2", "0")), y + float(node.get("y2", "0"))
        yield Leaf(_attributes(node, _KEPT, above), d=_straight(x, y, x2, y2), apart=True)
    elif tag == "text":
        spans = [child for child in node if child.tag.endswith("tspan")]
        lines = [node.text or ""] if not spans else [span.text or "" for span in spans]
        shown = _attributes(node, _TEXT, above)
        down = 0.0
        for index, line in enumerate(lines):
            down += float(spans[index].get("dy", "0")) if spans else 0.0
            if line.strip():
                yield Leaf(
                    shown, text=line, x=x, y=y + down, turn=float(turned[1]) if turned else 0.0
                )
    else:
        raise ValueError(f"a figure has an element that is not known: {tag}")


def _attributes(node: ElementTree.Element, kept: Sequence[str], above: Attributes) -> Attributes:
    found = dict(above)
    for key in kept:
        value = node.get(key)
        if value is not None:
            found[key] = value.removesuffix("px") if key == "font-size" else value
    for key in ("fill", "stroke"):
        if found.get(key) in ("none", "transparent"):
            del found[key]
    if "stroke" not in found:
        for key in ("stroke-width", "stroke-dasharray", "stroke-opacity"):
            found.pop(key, None)
    plain = {
        "opacity": "1",
        "stroke-width": "1",
        "text-anchor": "start",
        "font-weight": "normal",
        "fill-opacity": "1",
    }
    return tuple(sorted((key, value) for key, value in found.items() if plain.get(key) != value))


def _moved(d: str, x: float, y: float) -> str:
    """A path elsewhere. Absolute commands move; relative ones do not, but for the first."""
    result = []
    for command, rest in _COMMAND.findall(d):
        values = [float(v) for v in _NUMBER.findall(rest)]
        if command in "MLCSQT":
            values = [v + (y if i % 2 else x) for i, v in enumerate(values)]
        elif command == "H":
            values = [v + x for v in values]
        elif command == "V":
            values = [v + y for v in values]
        elif command == "A":
            values = [v + {5: x, 6: y}.get(i % 7, 0) for i, v in enumerate(values)]
        result.append(command + _joined(values))
    return "".join(result)


def _straight(x: float, y: float, x2: float, y2: float) -> str:
    start = f"M{_joined((x, y))}"
    if number(x) == number(x2):
        return f"{start}V{number(y2)}"
    return f"{start}H{number(x2)}" if number(y) == number(y2) else f"{start}L{_joined((x2, y2))}"


def number(value: float) -> str:
    """With one digit after the point, or none."""
    written = f"{value:.1f}".removesuffix(".0")
    return "0" if written == "-0" else written


def _joined(values: Sequence[float]) -> str:
    return " ".join(number(v) for v in values).replace(" -", "-")


# ---- To ours


class Colours(NamedTuple):
    """What the text is written in, and what lies under it; `currentColor` and nothing on a page,
    fixed in a picture."""

    ink: str = "currentColor"
    paper: str | None = None


PAGE = Colours()


def write(
    drawing: Drawing,
    *,
    name: str,
    title: str = "",
    description: str = "",
    colours: Colours = PAGE,
    bold: Sequence[Leaf] = (),
) -> str:
    """The SVG. name: makes its ids its own on a page. bold: leaves above the drawing, its heading."""
    mine = identifier(name)
    used: set[int] = set()
    body = "".join(
        _grouped([_dressed(leaf, mine, colours.ink, used) for leaf in (*bold, *drawing.leaves)])
    )
    width, height = round(drawing.width), round(drawing.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    ]
    if title:
        parts.append(f' role="img" aria-labelledby="{mine}-title" aria-describedby="{mine}-desc"')
    parts.append(f' font-family="{FONT}" font-size="12" fill="none">')
    if title:
        parts.append(
            f'<title id="{mine}-title">{escape(title)}</title><desc id="{mine}-desc">{escape(description)}</desc>'
        )
    if colours.paper:
        parts.append(f'<rect width="{width}" height="{height}" fill="{colours.paper}"/>')
    if used:
        parts.append(f"<defs>{''.join(_pattern(n, mine) for n in sorted(used))}</defs>")
    return "".join([*parts, body, "</svg>\n"])


def identifier(name: str) -> str:
    """A name as an id; other names have others."""
    return "f-" + "".join(
        c if c.isascii() and c.isalnum() else "--" if c == "-" else f"-{ord(c):x}_" for c in name
    )


def _pattern(series: int, mine: str) -> str:
    colour = palette.colour(series)
    over, lines = palette.on(colour), palette.pattern(series)
    mark = (
        f'<circle cx="4" cy="4" r="1.4" fill="{over}"/>'
        if lines == "o"
        else f'<path d="{lines}" stroke="{over}" stroke-width="1.1"/>'
    )
    tile = f'<rect width="8" height="8" fill="{colour}"/>{mark}'
    return f'<pattern id="{mine}-{series}" width="8" height="8" patternUnits="userSpaceOnUse">{tile}</pattern>'


def _dressed(leaf: Leaf, mine: str, ink: str, used: set[int]) -> Leaf:
    """With the colours that it is to have."""
    found = dict(leaf.attributes)
    for key in ("fill", "stroke"):
        value = found.get(key)
        if value == palette.INK:
            found[key] = ink
        elif value == palette.GRID:
            found[key] = ink
            found[f"{key}-opacity"] = ".2"
        elif series := palette.painted(value):
            found[key] = palette.colour(series.number)
            if series.role == "area" and palette.pattern(series.number):
                used.add(series.number)
                found[key] = f"url(#{mine}-{series.number})"
            elif series.role == "dashed" and palette.dash(series.number):
                found["stroke-dasharray"] = palette.dash(series.number)
    if leaf.text and "stroke" in found:
        found["paint-order"] = "stroke"
    if found.get("font-size") == "12":
        del found["font-size"]
    return leaf._replace(attributes=tuple(sorted(found.items())))


def _grouped(leaves: Sequence[Leaf]) -> Iterator[str]:
    """Neighbours that look alike, under one group; paths that do not overlap, as one path."""
    start = 0
    while start < len(leaves):
        end = start
        while (
            end < len(leaves)
            and leaves[end].attributes == leaves[start].attributes
            and bool(leaves[end].d) == bool(leaves[start].d)
        ):
            end += 1
        alike = leaves[start:end]
        attributes = "".join(f" {key}={quoteattr(value)}" for key, value in alike[0].attributes)
        if alike[0].d:
            paths = (
                ["".join(leaf.d for leaf in alike)]
                if all(leaf.apart for leaf in alike)
                else [leaf.d for leaf in alike]
            )
            drawn = [f'<path d="{d}"' for d in paths]
        else:
            drawn = [f"<text{_place(leaf)}>{escape(leaf.text)}</text>" for leaf in alike]
        if len(drawn) == 1:
            yield (
                f"{drawn[0]}{attributes}/>"
                if alike[0].d
                else drawn[0].replace("<text", f"<text{attributes}", 1)
            )
        else:
            yield f"<g{attributes}>{''.join(one + '/>' if alike[0].d else one for one in drawn)}</g>"
        start = end


def _place(leaf: Leaf) -> str:
    if leaf.turn:
        return (
            f' transform="translate({number(leaf.x)} {number(leaf.y)})rotate({number(leaf.turn)})"'
        )
    return f' x="{number(leaf.x)}" y="{number(leaf.y)}"'


def moved(drawing: Drawing, x: float, y: float, width: float, height: float) -> Drawing:
    """The same elsewhere, on another sheet."""
    leaves = [
        leaf._replace(x=leaf.x + x, y=leaf.y + y, d=_moved(leaf.d, x, y) if leaf.d else "")
        for leaf in drawing.leaves
    ]
    return Drawing(leaves, width, height)


def attributes(**values: Any) -> Attributes:
    """Of a leaf: font_size=12 -> ("font-size", "12")."""
    return tuple(sorted((key.replace("_", "-"), str(value)) for key, value in values.items()))


# ---- Text

_WIDTHS: Mapping[str, int] = {
    **dict.fromkeys("ijl'", 222),
    **dict.fromkeys("|", 260),
    **dict.fromkeys(" !,./:;I[\\]ft·", 278),
    **dict.fromkeys("()-r`{}", 333),
    **dict.fromkeys('*"', 389),
    **dict.fromkeys("cksvxyzJ", 500),
    **dict.fromkeys("0123456789?_abdeghnopquL$#", 556),
    **dict.fromkeys("+<=>~−×", 584),
    **dict.fromkeys("FTZ", 611),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("Mm", 833),
    **dict.fromkeys("%", 889),
    **dict.fromkeys("W@…—", 1000),
}


def wide(text: str, size: float = 12) -> float:
    """About so many pixels is a text wide, in Arial; a character of another script counts as a wide
    one."""
    return sum(_WIDTHS.get(c, 600 if ord(c) < 0x1100 else 1000) for c in text) * size / 1000


def cut(text: str, width: float, size: float = 12) -> str:
    """A text that is not wider, its end left out if need be."""
    if wide(text, size) <= width:
        return text
    while text and wide(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, width: float, lines: int, size: float = 12) -> list[str]:
    """A text in so many lines at most, broken between words where that is possible."""
    found: list[str] = []
    rest = text
    while rest and len(found) < lines - 1 and wide(rest, size) > width:
        kept = cut(rest, width + wide("…", size), size).removesuffix("…")
        space = kept.rfind(" ") if not rest[len(kept) :].startswith(" ") else len(kept)
        at = space if space > len(kept) // 3 else max(len(kept), 1)
        found.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*found, cut(rest, width, size)] if rest or not found else found
