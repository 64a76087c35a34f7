"""Turn the rows of an exhibit into what a figure draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lm_eval_bias.exhibit import Ends, Exhibit, Figure, Row
from lm_eval_bias.figures.svg import wide, wrapped
from lm_eval_bias.results.escape import shortened

PAGE, COLUMN = 672, 322
"""Pixels, 96 to an inch, of the 7 inches of a page of two columns, and of the 3.35 of one."""
LONGEST = 60
"""Most characters of a label."""
GREATEST = 1e100
"""Greater numbers count as infinite, since the span of a scale might overflow."""
PANELS, MARKS, CATEGORIES, ACROSS = 80, 6000, 400, 60
"""A figure of more panels, marks, categories or columns of a heat map is unreadable."""
HEAD = ":"
"""Ends the title of a group among categories."""
Keys = tuple[str, ...]


class Item(NamedTuple):
    """A row to draw.

    panel, series, x, y: indices in the plan. value: NaN if a number that the row needs is missing.
    low, high: its interval, or NaN.
    """

    row: Row
    panel: int
    series: int
    x: int
    y: int
    value: float
    low: float
    high: float


class Plan(NamedTuple):
    """What to draw.

    panels, series, xs, ys: labels; [""] for a single one. titles, units: by key. width: of the
    figure. columns: of panels; 0 to choose. grouped: whether group titles stand among the
    categories.
    """

    figure: Figure
    items: Sequence[Item]
    panels: Sequence[str]
    columns: int
    series: Sequence[str]
    xs: Sequence[str]
    ys: Sequence[str]
    titles: Mapping[str, str]
    units: Mapping[str, str]
    width: float
    grouped: bool = False


def plan(exhibit: Exhibit, rows: Sequence[Row], model: str | None, width: float = PAGE) -> Plan:
    """What to draw. model: the key of the model's name. Raises ValueError if nothing can be
    drawn.
    """
    figure = exhibit.figure
    if figure is None:
        raise ValueError("it is a table alone")
    if not rows:
        raise ValueError("there are no rows")
    category, value_key, needed = _keys(figure)
    x: Keys = (category,) if category else ()
    y: Keys = (figure.y,) if figure.kind == "heatmap" else ()
    coloured = figure.kind not in ("heatmap", "histogram")
    colour: Keys = (figure.colour,) if figure.colour and coloured else ()
    panel = figure.facet
    facet: Keys = (panel,) if panel else ()
    columns = 0
    if model is not None and len({row.get(model) for row in rows}) > 1:
        if figure.model == "colour" and coloured and not colour:
            colour = (model,)
        else:
            columns = len({row.get(model) for row in rows}) if facet else 0
            facet = (*facet, model)

    panels, series, xs, ys = (_values(rows, keys, figure) for keys in (facet, colour, x, y))
    ends = (figure.five[0], figure.five[4]) if figure.five else (figure.low, figure.high)
    items = []
    for row in rows:
        complete = all(math.isfinite(number(row.get(key))) for key in needed)
        low, high = (number(row.get(key)) if key else math.nan for key in ends)
        if not low <= high:
            low = high = math.nan
        places = (
            panels.index(_key(row, facet)),
            series.index(_key(row, colour)),
            xs.index(_key(row, x)),
            ys.index(_key(row, y)),
        )
        value = number(row.get(value_key)) if complete else math.nan
        items.append(Item(row, *places, value, low, high))
    if not any(math.isfinite(item.value) for item in items):
        raise ValueError("no row has a number")
    if x and (again := _duplicate(items)):
        key = *panels[again.panel], *series[again.series], *xs[again.x], *ys[again.y]
        place = ", ".join(dict.fromkeys(map(label, key)))
        raise ValueError(f"several rows have the same place in the figure ({place})")
    sizes = (
        (len(panels), PANELS, "panels"),
        (len(xs), ACROSS if y else CATEGORIES, "columns" if y else "categories"),
        (len(ys), CATEGORIES, "rows"),
        (len(items), MARKS, "marks"),
    )
    for count, most, what in sizes:
        if count > most:
            raise ValueError(f"it would have {count:,} {what}, more than {most:,}")
    panel_names, names, x_names, y_names = (
        [_label(value) for value in values] for values in (panels, series, xs, ys)
    )
    labels = panel_names, columns, names, x_names, y_names
    units = {column.name: column.unit for column in exhibit.columns if column.unit}
    return _merged_panels(Plan(figure, items, *labels, _titles(exhibit), units, width))


def _keys(figure: Figure) -> tuple[str | None, str, Keys]:
    if figure.kind == "points":
        return figure.y, figure.x, ()
    if figure.kind == "heatmap":
        return figure.x, figure.colour or "", ()
    if figure.kind == "histogram":
        return None, figure.y, (figure.x, figure.to or "")
    if figure.kind == "scatter":
        return None, figure.y, (figure.x,)
    return figure.x, figure.y, figure.five or ()


def _duplicate(items: Sequence[Item]) -> Item | None:
    places = set()
    for item in items:
        if item[1:5] in places:
            return item
        places.add(item[1:5])
    return None


def _merged_panels(planned: Plan) -> Plan:
    """Join panels that share no category. Their titles then stand among the categories."""
    if planned.figure.kind == "heatmap":
        return planned
    of: dict[int, set[int]] = {}
    for item in planned.items:
        of.setdefault(item.panel, set()).add(item.x)
    count = len(planned.xs)
    if len(of) < 2 or sum(map(len, of.values())) != count or count <= len(of):
        return planned
    place, labels = {}, []
    for panel in sorted(of):
        labels.append(planned.panels[panel] + HEAD)
        for category in sorted(of[panel]):
            place[category] = len(labels)
            labels.append(planned.xs[category])
    items = [item._replace(panel=0, x=place[item.x]) for item in planned.items]
    return planned._replace(items=items, panels=[""], columns=0, xs=labels, grouped=True)


def _key(row: Row, keys: Keys) -> tuple[Any, ...]:
    """A key in which True is not 1 and NaN equals itself."""
    values = (row.get(key) for key in keys)
    return tuple(
        v if v is None or (type(v) in (str, int, float) and v == v) else str(v) for v in values
    )


def _values(rows: Sequence[Row], keys: Keys, figure: Figure) -> list[tuple[Any, ...]]:
    ranks = []
    for key in keys:
        names = dict.fromkeys([*figure.order.get(key, ()), *(str(row.get(key)) for row in rows)])
        ranks.append({name: rank for rank, name in enumerate(names)})
    return sorted(
        dict.fromkeys(_key(row, keys) for row in rows),
        key=lambda values: [rank[str(v)] for rank, v in zip(ranks, values, strict=True)],
    )


def _titles(exhibit: Exhibit) -> dict[str, str]:
    titles = {}
    for column in exhibit.columns:
        title, unit = column.title, column.unit
        if unit in ("%", "points", "SD", "nats") and unit.lower() not in title.lower():
            title = f"{title} ({unit})"
        titles[column.name] = shortened(title, LONGEST)
    return titles


def number(value: Any) -> float:
    """A float: NaN for other types, infinite beyond GREATEST."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    if abs(value) > GREATEST:
        return math.inf if value > 0 else -math.inf
    return value


# ---- Labels


def _label(key: tuple[Any, ...]) -> str:
    return " · ".join(map(label, key))


def label(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return f"{value:g}".replace("-", "−")
    return shortened(value, LONGEST)


def unlike(labels: Iterable[str], fit: Callable[[str], str] = str) -> list[str]:
    """Labels that fit and differ: equal ones lose common first words, or get a number."""
    labels = list(labels)
    alike: dict[str, list[str]] = {}
    for text in labels:
        alike.setdefault(fit(text), []).append(text)
    common = {fitting: _common_words(texts) for fitting, texts in alike.items()}
    distinct: list[str] = []
    for text in labels:
        fitting, count = fit(text), 1
        if common[fitting]:
            fitting = fit(" ".join(["…", *text.split()[common[fitting] :]]))
        first = fitting
        while fitting in distinct:
            count += 1
            fitting = f"{first} ({count})"
        distinct.append(fitting)
    return distinct


def _common_words(labels: Sequence[str]) -> int:
    words = [label.split()[:-1] for label in dict.fromkeys(labels)]
    if len(words) == 1:
        return 0
    common = 0
    for of_place in zip(*words, strict=False):
        if len(set(of_place)) > 1:
            break
        common += 1
    return common


def unbroken(fitted: Sequence[str], labels: Sequence[str]) -> bool:
    return [text.split() for text in fitted] == [text.split() for text in labels]


def lines(width: float, most: int, size: float = 12) -> Callable[[str], str]:
    return lambda text: "\n".join(wrapped(text, width, most, size))


def widest(labels: Iterable[str]) -> float:
    return max((wide(line) for text in labels for line in text.split("\n")), default=0)


# ---- Scales


class Scale(NamedTuple):
    low: float
    high: float

    @property
    def span(self) -> float:
        return self.high - self.low

    def inside(self, value: float) -> float:
        return min(max(value, self.low), self.high)

    def padded(self, below: float, above: float) -> Scale:
        """Add room at the ends, as shares of the span."""
        return Scale(self.low - self.span * below, self.high + self.span * above)


def scale(
    values: Iterable[float],
    intervals: Iterable[Ends] = (),
    domain: Ends | None = None,
    most: float = 1.5,
) -> Scale:
    """A scale for all values and the domain; of the intervals at least half are seen whole, as far
    as they take up no more than `most` of it at either end."""
    finite = [value for value in (*values, *(domain or ())) if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low == high:
        low, high = (low, low + 1) if low == 0 else (low - abs(low) / 2, low + abs(low) / 2)
    room = (high - low) * (1.5 if domain is None else 0.25)
    finite_pairs = [pair for pair in intervals if math.isfinite(sum(pair))]
    lengths = sorted(above - below for below, above in finite_pairs)
    if lengths and domain is None:
        room = max(room, min(lengths[len(lengths) // 2], (high - low) * most))
    far = [end for pair in finite_pairs for end in pair]
    return Scale(
        min([low, *(max(end, low - room) for end in far)]),
        max([high, *(min(end, high + room) for end in far)]),
    )


def digits(on: Scale) -> int:
    """Digits after the point: 1 from 0 to 100, 2 from 0 to 1."""
    if on.span >= 5:
        return 1 if on.span < 1000 else 0
    return min(6, 1 - math.floor(math.log10(on.span / 5)))


def written(value: float, places: int) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e6 or 0 < abs(value) < min(1e-6, 10.0**-places / 2):
        return f"{value:.2g}".replace("-", "−")
    return f"{value:z.{places}f}".replace("-", "−")
