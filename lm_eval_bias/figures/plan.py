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
"""What is drawn of a row. panel, series, name (on the axis), row (of a heat map): indices of
labels. v: value. l, h: interval. a, b: from and to. Numbers that are lacking are None. t: text,
MISSING where the value is lacking."""


class Plan(NamedTuple):
    """labels: by the field of items that has their indices; [""] for a single one. titles: by key.
    notes: what signs mean. width: of the figure, in pixels."""

    figure: Figure
    items: list[Item]
    labels: dict[str, list[Any]]
    titles: Mapping[Any, str]
    notes: list[str]
    width: float


def plan(
    exhibit: Exhibit, rows: Sequence[Mapping[Any, Any]], model: str | None, width: float
) -> Plan:
    """model: the key of the names of several models. Raises ValueError if nothing can be drawn."""
    figure = exhibit.figure
    assert figure, "it is a table alone"
    if len(rows) > MARKS:
        raise ValueError(f"it would have {len(rows):,} marks, more than {MARKS:,}")
    kind = figure.kind
    if kind == "points":
        figure = figure._replace(x=figure.y, y=figure.x)
    numbers = {"v": figure.y, "l": figure.low, "h": figure.high}
    used: dict[str, list[Any]] = {
        "panel": [figure.facet, model],
        "series": [figure.colour],
        "name": [figure.x],
    }
    if kind == "heatmap":
        used["series"], used["row"], numbers["v"] = [], [figure.y], figure.colour
    elif kind == "boxes":
        numbers = dict(zip("lavbh", figure.five or (), strict=True))
    elif kind in ("histogram", "scatter"):
        used["name"] = []
        numbers = {"v": figure.y, "a": figure.x, "b": figure.to or figure.x}
    if figure.model == "colour" and not figure.colour:
        used["series"] = [used["panel"].pop()]
    items: list[Item] = [
        {letter: known(row.get(key)) for letter, key in numbers.items()} for row in rows
    ]
    labels = {}
    for field, keys in used.items():
        indices, labels[field] = _labels(rows, keys, figure.order)
        for item, index in zip(items, indices, strict=True):
            item[field] = index
    if used["name"] and len({tuple(map(item.get, used)) for item in items}) < len(items):
        raise ValueError("several rows have the same place in the figure")
    units = {column.name: column.unit for column in exhibit.columns}
    for item, row in zip(items, rows, strict=True):
        blank = row.get(figure.mask) is True
        if blank or None in (item.get("a", 0), item.get("b", 0)):
            item["v"] = None
        label = row.get(figure.label)
        text = "" if label is None else shortened(label, LABEL)
        number = number_text(item["v"] or 0, units.get(numbers["v"] or "", ""))
        texts = {"bars": number, "stacked": number + text, "heatmap": text or number}
        missing = "" if blank else MISSING
        item["t"] = missing if item["v"] is None else texts.get(kind, text)
    if all(item["v"] is None for item in items):
        raise ValueError("no row has a number")
    titles = {
        column.name: shortened(column.title, LONGEST)
        + f" ({column.unit})" * bool(unit_text(column.unit))
        for column in exhibit.columns
    }
    lacking = sum(item["t"] == MISSING for item in items)
    notes = [f"Without a number: {lacking}"] * bool(lacking)
    return Plan(figure, items, labels, defaultdict(str, titles), notes, width)


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
