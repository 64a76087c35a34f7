"""What a figure draws of an exhibit's rows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lm_eval_bias.exhibit import Exhibit, Figure, Row, known
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.table import number_text, unit_text

LONGEST, LABEL = 120, 24
"""Characters of a name on an axis, and of a text beside a point or in a cell."""
MARKS = 6000
"""Nobody can read a figure of more marks."""
MISSING = "×"
Item = dict[str, Any]
"""What is drawn of a row. f, s, k, r: indices of its panel, series, category, and row of a heat
map. v: value. l, h: interval. a, b: from and to. Numbers that are lacking are None. t: its text,
MISSING where the value is lacking."""


class Plan(NamedTuple):
    """What to draw. panels, series, names, downs: the labels that items have the indices of, [""]
    for a single one. titles: by key. width: of the figure, in pixels."""

    figure: Figure
    items: list[Item]
    panels: list[str]
    series: list[str]
    names: list[str]
    downs: list[str]
    titles: Mapping[Any, str]
    width: float


def plan(exhibit: Exhibit, rows: Sequence[Row], model: str | None, width: float) -> Plan:
    """What to draw. model: the key of the names of several models. Raises ValueError if nothing
    can be drawn."""
    figure = exhibit.figure
    if figure is None:
        raise ValueError("it is a table alone")
    kind, colour, down = figure.kind, figure.colour, None
    name: str | None = figure.x
    keys = {"v": figure.y, "l": figure.low, "h": figure.high}
    if kind == "points":
        name, keys["v"] = figure.y, figure.x
    elif kind == "heatmap":
        down, colour, keys["v"] = figure.y, None, figure.colour
    elif kind == "boxes":
        keys = dict(zip("lavbh", figure.five or (), strict=True))
    elif kind in ("histogram", "scatter"):
        name, keys = None, {"v": figure.y, "a": figure.x, "b": figure.to or figure.x}
    facets = [figure.facet, model]
    if figure.model == "colour" and not colour:
        colour = facets.pop()
    units = {column.name: column.unit for column in exhibit.columns}
    used = facets, [colour], [name], [down]
    places, labels = zip(*(_labels(rows, keys, figure.order) for keys in used), strict=True)
    items = []
    for row, *place in zip(rows, *places, strict=True):
        item: Item = dict(zip("fskr", place, strict=True))
        item |= {letter: known(row.get(key)) for letter, key in keys.items()}
        blank = row.get(figure.mask) is True
        if blank or None in (item.get("a", 0), item.get("b", 0)):
            item["v"] = None
        label = "" if row.get(figure.label) is None else shortened(row[figure.label], LABEL)
        lacks = item["v"] is None
        number = MISSING if lacks else number_text(item["v"], units.get(keys["v"] or "", ""))
        texts = {"bars": number, "stacked": number + label, "heatmap": label or number}
        item["t"] = "" if blank else MISSING if lacks else texts.get(kind, label)
        items.append(item)
    if all(item["v"] is None for item in items):
        raise ValueError("no row has a number")
    if len(items) > MARKS:
        raise ValueError(f"it would have {len(items):,} marks, more than {MARKS:,}")
    if name and len(set(zip(*places, strict=True))) < len(items):
        raise ValueError("several rows have the same place in the figure")
    titles = {
        column.name: shortened(column.title, LONGEST)
        + f" ({column.unit})" * bool(unit_text(column.unit))
        for column in exhibit.columns
    }
    panels, series, names, downs = labels
    return Plan(figure, items, panels, series, names, downs, defaultdict(str, titles), width)


def _labels(
    rows: Sequence[Row], keys: Sequence[str | None], order: Mapping[str, Sequence[str]]
) -> tuple[list[int], list[str]]:
    """For each row the index of its label, and the labels: [""] without a key."""
    used = [key for key in keys if key]
    shown = {None: "–", "": "–"}
    texts = [tuple(str(shown.get(row.get(key), row.get(key))) for key in used) for row in rows]
    orders = [[*order.get(key, ()), *(text[i] for text in texts)] for i, key in enumerate(used)]
    unique = sorted(set(texts), key=lambda text: [*map(list.index, orders, text)])
    labels = [" · ".join(shortened(part, LONGEST) for part in text) for text in unique]
    return [unique.index(text) for text in texts], labels
