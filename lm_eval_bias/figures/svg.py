"""Rewrite Vega's SVG as a small one for a page. Paths are rounded; neighbours of the same look form
one group.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import groupby
from typing import Any, NamedTuple
from xml.etree import ElementTree

from lm_eval_bias.figures import palette

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts of equal widths: what fits in one of them fits in all."""
SERIF = "'Times New Roman', Times, 'Liberation Serif', 'Nimbus Roman', serif"
PADDING, SMALL, LINE = 6, 11, 1.3
Attributes = tuple[tuple[str, str], ...]


class Leaf(NamedTuple):
    """A path or a text. place: attributes of its position. about: what is shown at the pointer."""

    look: Attributes
    d: str = ""
    text: str = ""
    place: Attributes = ()
    about: str = ""


SUBSTITUTE = 1.16
"""How much wider DejaVu Sans is, which a browser takes where it finds nothing like Arial."""


class Lines(NamedTuple):
    """Texts above or below the drawing, each broken into lines. size: of the letters."""

    text: str
    size: float
    bold: bool = False
    most: int = 4


# ---- Vega's SVG

_LOOK = (
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "fill-opacity",
    "stroke-opacity",
    "font-size",
    "font-weight",
    "text-anchor",
)
_INHERITED = {"fill": "none", "stroke": "none", "opacity": "1"}
_DEFAULTS = {
    **_INHERITED,
    "stroke-width": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "font-size": "12",
    "font-weight": "normal",
    "text-anchor": "start",
}
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
_COMMAND = re.compile(r"([MLHVCAZhv])([^A-Za-z]*(?:e-?[^A-Za-z]*)*)")
_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")


def _leaves(
    node: ElementTree.Element, x: float, y: float, above: Mapping[str, str]
) -> Iterator[Leaf]:
    tag = node.tag.rpartition("}")[2]
    x, y, turn = _moved(node.get("transform", ""), x, y)
    look = _look(node, above)
    if tag == "g":
        inherited = {key: value for key, value in look.items() if key in _INHERITED}
        for child in node:
            yield from _leaves(child, x, y, inherited)
    elif tag == "line":
        x2, y2 = x + float(node.get("x2", "0")), y + float(node.get("y2", "0"))
        yield Leaf(_sorted(look), d=f"M{_joined((x, y))}L{_joined((x2, y2))}")
    elif tag == "path" and ("fill" in look or "stroke" in look):
        d = _path(node.get("d", ""), x, y)
        yield Leaf(_sorted(look), d, about=node.get("aria-label", ""))
    elif tag == "text":
        for line in [span for span in node if span.tag.endswith("tspan")] or [node]:
            y += float(line.get("dy", "0"))
            place: Attributes = (("x", _short(x)), ("y", _short(y)))
            if turn:
                place = (("transform", f"translate({_joined((x, y))})rotate({_short(turn)})"),)
            if line.text:
                yield Leaf(_sorted(look), text=line.text, place=place)


def _moved(transform: str, x: float, y: float) -> tuple[float, float, float]:
    turn = 0.0
    for name, values in _TRANSFORM.findall(transform):
        numbers = [float(value) for value in _NUMBER.findall(values)]
        if name == "rotate":
            turn = numbers[0]
        elif name == "translate":
            angle, (dx, dy) = math.radians(turn), numbers
            x += dx * math.cos(angle) - dy * math.sin(angle)
            y += dx * math.sin(angle) + dy * math.cos(angle)
        else:
            raise ValueError(f"unknown transform in a figure: {transform}")
    return x, y, turn


def _look(node: ElementTree.Element, above: Mapping[str, str]) -> dict[str, str]:
    own = {key: value.removesuffix("px") for key in _LOOK if (value := node.get(key)) is not None}
    look = {
        key: value
        for key, value in {**above, **own}.items()
        if _DEFAULTS.get(key) != value and value != "transparent"
    }
    return {key: v for key, v in look.items() if "stroke" in look or not key.startswith("stroke")}


def _path(d: str, x: float, y: float) -> str:
    """A translated path. Vega's relative commands (h, v) stay."""
    moved, places = [], 2 if "A" in d else 1  # a circle needs the digits
    for command, rest in _COMMAND.findall(d):
        values = [float(value) for value in _NUMBER.findall(rest)]
        if command in "MLC":
            values = [value + (y if i % 2 else x) for i, value in enumerate(values)]
        elif command in "HV":
            values = [value + (x if command == "H" else y) for value in values]
        elif command == "A":
            values = [value + {5: x, 6: y}.get(i % 7, 0) for i, value in enumerate(values)]
        moved.append(command + _joined(values, places))
    return "".join(moved)


def _sorted(look: Mapping[str, str]) -> Attributes:
    return tuple(sorted(look.items()))


def _short(value: float, places: int = 1) -> str:
    written = f"{value:z.{places}f}"
    return written.rstrip("0").rstrip(".")


def _joined(values: Sequence[float], places: int = 1) -> str:
    return " ".join(_short(value, places) for value in values).replace(" -", "-")


# ---- A page's SVG


def rewritten(
    vega: str,
    *,
    name: str,
    title: str,
    description: str,
    above: Sequence[Lines],
    below: Sequence[Lines],
    width: float,
) -> str:
    """Vega's SVG, made small, between texts. name: prefix of the ids. A drawing that is wider than
    `width` is shrunk."""
    drawn = ElementTree.fromstring(vega)
    wide, high = (float(drawn.get(key, "0")) for key in ("width", "height"))
    wide = max(wide, width)
    head, top = _written(above, PADDING, wide)
    foot, bottom = _written(below, top + high, wide)
    size = {"width": _short(width), "height": _short((bottom + PADDING) * width / wide)}
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            **size,
            "viewBox": f"0 0 {_short(wide)} {_short(bottom + PADDING)}",
            "role": "img",
            "aria-labelledby": f"{name}-title",
            "aria-describedby": f"{name}-desc",
            "font-family": FONT,
            "font-size": "12",
            "fill": "none",
        },
    )
    ElementTree.SubElement(svg, "title", {"id": f"{name}-title"}).text = title
    ElementTree.SubElement(svg, "desc", {"id": f"{name}-desc"}).text = description
    patterns = ElementTree.SubElement(svg, "defs")
    used: set[int] = set()
    svg.extend(head)
    moved = ElementTree.SubElement(svg, "g", {"transform": f"translate(0 {_short(top)})"})
    svg.extend(foot)
    leaves = [leaf for child in drawn for leaf in _leaves(child, 0, 0, {})]
    for look, group in groupby(leaves, key=lambda leaf: leaf.look):
        parent = ElementTree.SubElement(moved, "g", _painted(look, name, used))
        for leaf in group:
            if leaf.text:
                ElementTree.SubElement(parent, "text", dict(leaf.place)).text = leaf.text
            else:
                path = ElementTree.SubElement(parent, "path", {"d": leaf.d})
                if leaf.about:
                    ElementTree.SubElement(path, "title").text = leaf.about
    patterns.extend(_pattern(series, name) for series in sorted(used))
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


_HEAD = re.compile(r'<g font-size="([\d.]+)" [^>]*font-weight="bold">.*?</g>')
_SIZE = re.compile(r'height="([\d.]+)" viewBox="0 0 ([\d.]+) ([\d.]+)"')


def parted(figure: str) -> tuple[str, str]:
    """The title of a figure of `rewritten`, and the rest, for a page that has it as a heading."""
    title = unescape(figure.partition("<title")[2].partition(">")[2].partition("<")[0])
    head, size = _HEAD.search(figure), _SIZE.search(figure)
    if head and size:
        high, wide, units = map(float, size.groups())
        top = head[0].count("<text") * float(head[1]) * LINE
        ends = f'viewBox="0 {_short(top)} {_short(wide)} {_short(units - top)}"'
        cut = f'height="{_short(high * (1 - top / units))}" {ends}'
        figure = figure.replace(head[0], "", 1).replace(size[0], cut, 1)
    return title, figure


def _written(texts: Sequence[Lines], top: float, width: float) -> tuple[list[Any], float]:
    """Groups of texts, and where they end."""
    groups = []
    for text, size, bold, most in texts:
        look = {"font-size": _short(size), "fill": "currentColor"}
        group = ElementTree.Element("g", {**look, **({"font-weight": "bold"} if bold else {})})
        room = (width - 2 * PADDING) / ((1.08 if bold else 1) * SUBSTITUTE)
        for line in wrapped(text, room, most, size):
            top += size * LINE
            place = {"x": _short(PADDING), "y": _short(top - size * 0.3)}
            ElementTree.SubElement(group, "text", place).text = line
        top += 3
        groups.append(group)
    return groups, top


def _painted(look: Attributes, name: str, used: set[int]) -> dict[str, str]:
    """A look with final colours. used: collects series with a pattern."""
    painted = dict(look)
    for key in ("fill", "stroke"):
        colour = painted.get(key)
        if colour in (palette.INK, palette.GRID):
            painted[key] = "currentColor"
        if colour == palette.GRID:
            painted[f"{key}-opacity"] = ".2"
        if paint := palette.painted(colour):
            painted[key] = palette.colour(paint.number)
            if paint.role == "area" and palette.pattern(paint.number):
                used.add(paint.number)
                painted[key] = f"url(#{name}-{paint.number})"
            elif paint.role == "halo":
                painted |= {"paint-order": "stroke", "stroke-linejoin": "round"}
    return painted


def _pattern(series: int, name: str) -> ElementTree.Element:
    colour, lines = palette.colour(series), palette.pattern(series)
    tile = {"width": "8", "height": "8"}
    pattern = ElementTree.Element(
        "pattern", {"id": f"{name}-{series}", **tile, "patternUnits": "userSpaceOnUse"}
    )
    ElementTree.SubElement(pattern, "rect", {**tile, "fill": colour})
    look = {"d": lines, "stroke": palette.on(colour), "stroke-width": "1.1"}
    ElementTree.SubElement(pattern, "path", look)
    return pattern


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
    """The width of a text in Arial, in pixels. Other scripts count as wide."""
    return sum(_WIDTHS.get(c, 600 if ord(c) < 0x1100 else 1000) for c in text) * size / 1000


def cut(text: str, width: float, size: float = 12) -> str:
    """The text, cut at the end to fit a width."""
    if wide(text, size) <= width:
        return text
    while text and wide(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, width: float, lines: int, size: float = 12) -> list[str]:
    """At most `lines` lines, broken between words if possible."""
    broken: list[str] = []
    rest = text
    while rest and len(broken) < lines - 1 and wide(rest, size) > width:
        kept = cut(rest, width + wide("…", size), size).removesuffix("…")
        space = kept.rfind(" ") if not rest[len(kept) :].startswith(" ") else len(kept)
        at = space if space > len(kept) // 3 else max(len(kept), 1)
        broken.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*broken, cut(rest, width, size)] if rest or not broken else broken
