"""The rows of an exhibit as a figure takes them: panels, series, categories and numbers, each with
a label that can be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lm_eval_bias.exhibit import Exhibit, Figure
from lm_eval_bias.figures.svg import wide, wrapped
from lm_eval_bias.results.escape import shortened

LONGEST = 60
"""Characters of a label; the table has it whole."""
GREATEST = 1e100
"""A number beyond is drawn as an infinite one: the span of such numbers may not be a number."""
PANELS, MARKS, CATEGORIES, ACROSS = 80, 6000, 400, 60
"""A figure of more panels, marks, categories below each other or columns of a heat map is not read
by anybody and fits no page."""
HEAD = ":"
"""Ends the title of a group among categories."""
KINDS = ("bars", "stacked", "points", "lines", "histogram", "boxes", "heatmap", "radar", "scatter")
Row = Mapping[str, Any]
Keys = tuple[str, ...]


class Item(NamedTuple):
    """A row. panel, series, x, y: the place of its labels in those of the figure; 0 where there is
    none. value: its number, or NaN. low, high: of its interval; NaN both or none."""

    row: Row
    panel: int
    series: int
    x: int
    y: int
    value: float
    low: float
    high: float


class Plan(NamedTuple):
    """What is drawn. panels: their titles, "" for the only one. series, xs, ys: labels; those of
    numbers are empty. across: so many panels belong beside each other; 0 where that is open.
    ambiguous: of which place there are several rows. grouped: whether titles of groups stand among
    the categories."""

    figure: Figure
    items: Sequence[Item]
    panels: Sequence[str]
    across: int
    series: Sequence[str]
    xs: Sequence[str]
    ys: Sequence[str]
    titles: Mapping[str, str]
    ambiguous: str | None
    grouped: bool = False


def number(value: Any) -> float:
    """A number of a row; NaN for what is none, and infinity for what no scale holds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        found = float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    return math.copysign(math.inf, found) if abs(found) > GREATEST else found


def label(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return f"{value:g}".replace("-", "−")
    return shortened(value, LONGEST)


def unlike(labels: Iterable[str], fit: Callable[[str], str] = str) -> list[str]:
    """Labels that fit, each another. What differs only where it was cut loses the words that it
    begins with in common, in place of those that tell it apart, and gets a number where even that
    does not fit."""
    labels = list(labels)
    alike: dict[str, list[str]] = {}
    for one in labels:
        alike.setdefault(fit(one), []).append(one)
    common = {fitting: _in_common(some) for fitting, some in alike.items()}
    found: list[str] = []
    for one in labels:
        fitting, count = fit(one), 1
        if common[fitting]:
            fitting = fit(" ".join(["…", *one.split()[common[fitting] :]]))
        first = fitting
        while fitting in found:
            count += 1
            fitting = f"{first} ({count})"
        found.append(fitting)
    return found


def _in_common(labels: Sequence[str]) -> int:
    """With how many words all of several labels begin that differ after these."""
    words = [one.split() for one in dict.fromkeys(labels)]
    common = 0
    while (
        len(words) > 1
        and all(len(some) > common + 1 for some in words)
        and len({some[common] for some in words}) == 1
    ):
        common += 1
    return common


def whole(fitted: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether labels are still all there, broken between words alone."""
    return all(
        new.replace("\n", " ").split() == old.split()
        for new, old in zip(fitted, labels, strict=True)
    )


def lines(width: float, most: int, size: float = 12) -> Callable[[str], str]:
    """Fits a label into lines of a width."""
    return lambda text: "\n".join(wrapped(text, width, most, size))


def plan(exhibit: Exhibit, rows: Sequence[Row], model: str | None) -> Plan:
    """What the rows of an exhibit are to be drawn as. ValueError where it has no figure."""
    figure = exhibit.figure
    if figure is None or figure.kind not in KINDS:
        raise ValueError(
            f"{exhibit.name} has no figure of a kind that is known: {', '.join(KINDS)}"
        )
    kind = figure.kind
    x: Keys = (figure.x,) if kind not in ("points", "histogram", "scatter") else ()
    y: Keys = (figure.y,) if kind in ("points", "heatmap") else ()
    if kind == "lines" and all(not math.isnan(number(row.get(figure.x))) for row in rows):
        x = ()
    colour: Keys = (figure.colour,) if figure.colour and kind != "heatmap" else ()
    facet: Keys = (figure.facet,) if figure.facet else ()
    above: Keys = (figure.row,) if figure.row else ()
    if model is not None and len({_key(row, (model,)) for row in rows}) > 1:
        where = _where(figure, colour)
        if where == "x" and kind in ("bars", "stacked", "boxes"):
            if len({_key(row, x) for row in rows}) == 1:
                x = (model,)
            elif not facet:
                facet, x = x, (model,)
            else:
                x = (*x, model)
        elif where == "colour":
            colour = (model,)
        elif not facet:
            facet = (model,)
        elif not above:
            above = (model,)
        else:
            facet = (*facet, model)
    if kind == "histogram" and colour:
        facet, colour = (*facet, *colour), ()
    order = {key: [str(value) for value in values] for key, values in figure.order.items()}
    series, xs, ys = (_values(rows, keys, order) for keys in (colour, x, y))
    across, down = _values(rows, facet, order), _values(rows, above, order)
    there = {(_key(row, above), _key(row, facet)) for row in rows}
    panels = [(r, f) for r in down for f in across if (r, f) in there]
    of_panel, of_series = {p: i for i, p in enumerate(panels)}, {s: i for i, s in enumerate(series)}
    of_x, of_y = {v: i for i, v in enumerate(xs)}, {v: i for i, v in enumerate(ys)}
    what = _number_key(figure)
    items, seen, ambiguous = [], set(), None
    for row in rows:
        low, high = (number(row.get(key)) if key else math.nan for key in (figure.low, figure.high))
        if math.isnan(low) or math.isnan(high) or low > high:
            low = high = math.nan
        item = Item(
            row,
            of_panel[_key(row, above), _key(row, facet)],
            of_series[_key(row, colour)],
            of_x[_key(row, x)],
            of_y[_key(row, y)],
            number(row.get(what)),
            low,
            high,
        )
        place: tuple[Any, ...] = (item.panel, item.series, item.x, item.y)
        if kind in ("histogram", "lines") and not x:
            place = (
                *place,
                number(row.get(figure.x)),
                number(row.get(figure.to)) if figure.to else 0,
            )
        if place in seen and kind != "scatter" and ambiguous is None:
            names = [
                label(value)
                for keys in (above, facet, colour, x, y)
                for value in _key(row, keys)
                if keys
            ]
            ambiguous = ", ".join(dict.fromkeys(names)) or "the only one"
        seen.add(place)
        items.append(item)
    made = Plan(
        figure,
        items,
        [_label((*r, *f)) for r, f in panels] if facet or above else [""],
        len(across) if above else 0,
        [_label(v) for v in series] if colour else [""],
        [_label(v) for v in xs] if x else [""],
        [_label(v) for v in ys] if y else [""],
        _titles(exhibit),
        ambiguous,
    )
    return _folded(made) if kind in ("bars", "stacked", "boxes", "points") else made


def _folded(made: Plan) -> Plan:
    """Panels that share no category become one, with their titles among the categories: each would
    have the places of all others."""
    upright = made.figure.kind != "points"
    of: dict[int, set[int]] = {}
    for item in made.items:
        of.setdefault(item.panel, set()).add(item.x if upright else item.y)
    names = made.xs if upright else made.ys
    if len(of) < 2 or sum(map(len, of.values())) != len(names) or len(names) <= len(of):
        return made
    place, labels = {}, []
    for panel in sorted(of):
        labels.append(made.panels[panel] + HEAD)
        for category in sorted(of[panel]):
            place[category] = len(labels)
            labels.append(names[category])
    items = [
        i._replace(panel=0, x=place[i.x]) if upright else i._replace(panel=0, y=place[i.y])
        for i in made.items
    ]
    folded = made._replace(items=items, panels=[""], across=0, grouped=True)
    return folded._replace(xs=labels) if upright else folded._replace(ys=labels)


def _where(figure: Figure, colour: Keys) -> str:
    """Where the models go, if there is room for them."""
    where = figure.model or "facet"
    if where == "x" and figure.kind in ("points", "lines", "radar"):
        where = "colour"
    if where == "x" and figure.kind in ("histogram", "heatmap", "scatter"):
        where = "facet"
    if where == "colour" and (colour or figure.kind in ("heatmap", "histogram")):
        where = "facet"
    return where


def _number_key(figure: Figure) -> str:
    if figure.kind == "points":
        return figure.x
    if figure.kind == "heatmap":
        return figure.colour or ""
    return figure.y


def _key(row: Row, keys: Keys) -> tuple[Any, ...]:
    """Values by which rows are told apart. True is not 1, and NaN is itself."""
    found = (row.get(key) for key in keys)
    return tuple(
        v if v is None or (type(v) in (str, int, float) and v == v) else str(v) for v in found
    )


def _label(key: tuple[Any, ...]) -> str:
    return " · ".join(label(value) for value in key)


def _values(
    rows: Sequence[Row], keys: Keys, order: Mapping[str, Sequence[str]]
) -> list[tuple[Any, ...]]:
    """The values of some keys, in their order: as it is given, and what it lacks as it comes."""
    found = list(dict.fromkeys(_key(row, keys) for row in rows))
    place = {
        key: {value: index for index, value in enumerate(order[key])}
        for key in keys
        if key in order
    }
    came = {
        key: {
            value: index
            for index, value in enumerate(dict.fromkeys(_key(row, (key,)) for row in rows))
        }
        for key in keys
    }

    def rank(value: tuple[Any, ...]) -> list[tuple[int, int]]:
        return [
            (0, place[key][str(one)])
            if key in place and str(one) in place[key]
            else (1, came[key][(one,)])
            for key, one in zip(keys, value, strict=True)
        ]

    return sorted(found, key=rank)


def _titles(exhibit: Exhibit) -> dict[str, str]:
    """Key -> how its axis is called."""
    found = {}
    for column in exhibit.columns:
        said = (
            column.unit
            if column.unit in ("%", "points", "SD", "nats")
            and column.unit.lower() not in column.title.lower()
            else ""
        )
        found[column.name] = shortened(
            f"{column.title} ({said})" if said else column.title, LONGEST
        )
    return found


def undrawable(made: Plan) -> str | None:
    """Why nothing can be drawn, in one sentence; None if something can."""
    figure = made.figure
    if not made.items:
        return "there are no rows"
    if figure.kind == "boxes":
        some = (
            any(
                all(math.isfinite(number(item.row.get(key))) for key in figure.five or ())
                for item in made.items
            )
            and figure.five
        )
    elif figure.kind == "scatter":
        some = any(
            math.isfinite(number(item.row.get(figure.x))) and math.isfinite(item.value)
            for item in made.items
        )
    elif figure.kind == "histogram":
        some = any(
            all(
                map(
                    math.isfinite,
                    (number(i.row.get(figure.x)), number(i.row.get(figure.to or "")), i.value),
                )
            )
            for i in made.items
        )
    else:
        some = any(math.isfinite(item.value) for item in made.items)
    if not some:
        return "no row has a number"
    if made.ambiguous is not None:
        return f"several rows have the same place in the figure ({made.ambiguous})"
    if len(made.panels) > PANELS:
        return f"it would have {len(made.panels)} panels, more than {PANELS}"
    categories = max(len(made.xs) if figure.kind != "heatmap" else 0, len(made.ys))
    if categories > CATEGORIES:
        return f"it would have {categories} categories, more than {CATEGORIES}"
    if figure.kind == "heatmap" and len(made.xs) > ACROSS:
        return f"it would have {len(made.xs)} columns, more than {ACROSS}"
    if len(made.items) > MARKS:
        return f"it would have {len(made.items):,} marks, more than {MARKS:,}"
    return None


# ---- Scales


class Scale(NamedTuple):
    """The ends of what is drawn, and where it has ticks."""

    low: float
    high: float
    ticks: Sequence[float]

    @property
    def span(self) -> float:
        return self.high - self.low

    def inside(self, value: float) -> float:
        return min(max(value, self.low), self.high)


def scale(
    values: Iterable[float],
    ends: Iterable[float] = (),
    domain: tuple[float, float] | None = None,
    also: Iterable[float] = (),
    count: int = 5,
) -> Scale:
    """A scale that holds all values and `also`; ends of intervals as far as they leave room for the
    values.

    domain: ends that it has at least.
    """
    held = [v for v in (*values, *also) if math.isfinite(v)]
    given = domain is not None and all(map(math.isfinite, domain)) and domain[0] < domain[1]
    if given and domain is not None:
        held += domain
    low, high = (min(held), max(held)) if held else (0.0, 1.0)
    if low == high:
        low, high = (low, low + 1) if low == 0 else (low - abs(low) / 2, low + abs(low) / 2)
    room = (high - low) * (0.25 if given else 1.5)
    far = [v for v in ends if math.isfinite(v)]
    low, high = (
        min([low, *(max(v, low - room) for v in far)]),
        max([high, *(min(v, high + room) for v in far)]),
    )
    return Scale(low, high, ticks(low, high, count))


def padded(made: Scale, below: float, above: float) -> Scale:
    """With so much more room at the ends, as a share of the span, and the same ticks."""
    return Scale(made.low - made.span * below, made.high + made.span * above, made.ticks)


def ticks(low: float, high: float, count: int) -> list[float]:
    """About so many round numbers from low to high."""
    rough = (high - low) / max(count, 1)
    if not math.isfinite(rough) or rough <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    # The nearest of 1, 2, 5 and 10 on a logarithmic scale.
    step = power * next(
        (m for m, to in ((1, 2**0.5), (2, 10**0.5), (5, 50**0.5)) if rough / power < to), 10
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if step == 0 or last - first > 50:
        return [low, high]
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def digits(made: Scale) -> int:
    """Digits after the point that a number needs on a scale: one on a scale of percentages, two
    from 0 to 1."""
    if made.span >= 5:
        return 1 if made.span < 1000 else 0
    return min(6, 1 - math.floor(math.log10(made.span / 5))) if made.span > 0 else 2


def written(value: float, places: int) -> str:
    """A number as it stands in a figure."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e6 or (value and abs(value) < 10.0**-places / 2 and abs(value) < 1e-6):
        return f"{value:.2g}".replace("-", "−")
    shown = f"{value:.{places}f}"
    return (shown[1:] if shown.startswith("-") and not shown.strip("-0.") else shown).replace(
        "-", "−"
    )


def widest(labels: Iterable[str], size: float = 12) -> float:
    return max((wide(line, size) for text in labels for line in text.split("\n")), default=0)
