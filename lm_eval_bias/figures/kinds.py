"""Each kind of figure as a Vega-Lite chart.

All layers share one data set, in which `m` names a row's layer.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lm_eval_bias.exhibit import Row
from lm_eval_bias.figures import palette
from lm_eval_bias.figures.labels import Spot, far, labels
from lm_eval_bias.figures.rows import (
    HEAD,
    PAGE,
    Item,
    Plan,
    Scale,
    digits,
    label,
    lines,
    number,
    scale,
    unbroken,
    unlike,
    widest,
    written,
)
from lm_eval_bias.figures.svg import PADDING, SMALL, cut, wide

Spec = dict[str, Any]
"""A part of a Vega-Lite specification."""
GAP = 18
"""Pixels between panels."""
LABEL = 12
LINES = "split(datum.label, '\\n')"
INK = {"color": palette.INK}
TEXT = {**INK, "fontSize": SMALL}
DASHED = {"strokeDash": [5, 3], "strokeWidth": 1.4}
SOLID = {"filled": True, "opacity": 1}
MISSING = "×"
NO_VALUE = f"{MISSING}: no value"
STEPS = 64
"""Different colours of a heat map at most. Cells of one colour become one path."""
NARROW = 1.25
"""A scatter shows a part of its domain if the points take up less than one in this many."""
TYPES = {"Q": "quantitative", "N": "nominal"}


def chart(plan: Plan) -> tuple[Spec, list[str]]:
    """The Vega-Lite specification of a figure, and the notes below it."""
    kind = plan.figure.kind
    if kind in ("histogram", "heatmap", "scatter"):
        canvas = {"histogram": _histogram, "heatmap": _heatmap, "scatter": _scatter}[kind](plan)
    else:
        canvas = _categories(plan)
    return canvas.specification(), canvas.notes


def encoded(field: str, **options: Any) -> Spec:
    """A channel. field: its name, and after a colon the letter of its type."""
    name, _, kind = field.partition(":")
    return {"field": name, **({"type": TYPES[kind]} if kind else {}), **options}


OWN_COLOUR = encoded("c:N", scale=None)


def _room(plan: Plan) -> float:
    """The width for labels and panels: the last tick's label reaches beyond its panel."""
    return plan.width - 2 * PADDING - 10


class Canvas:
    """Layers of a panel, repeated for each panel."""

    def __init__(self, plan: Plan, width: float, height: float, columns: int) -> None:
        self.plan, self.width, self.height, self.columns = plan, width, height, columns
        self.frame: str | None = None
        self.notes: list[str] = []
        self.series = unlike(plan.series, lambda name: cut(name, _room(plan) - 40))
        self._layers: list[Spec] = []
        self._rows: list[Spec] = []

    def add(self, mark: str, rows: Iterable[Row], encodings: Spec, **properties: Any) -> None:
        """Add a layer if it has rows. A row without a panel `f` stands in each."""
        rows, layer = list(rows), len(self._layers)
        if rows:
            self._rows += [
                {"m": layer, "f": panel, **row}
                for row in rows
                for panel in range(len(self.plan.panels))
                if row.get("f", panel) == panel
            ]
            channels = {
                channel: encoded(of) if isinstance(of, str) else of
                for channel, of in encodings.items()
            }
            self._layers.append(
                {
                    "transform": [{"filter": f"datum.m === {layer}"}],
                    "mark": {"type": mark, **properties},
                    "encoding": channels,
                }
            )

    def by_series(self, signs: Sequence[str], **legend: Any) -> Spec:
        figure = self.plan.figure
        legended = self.series != [""] and figure.colour != figure.x
        return encoded(
            "s:N",
            title=None,
            scale={"domain": self.series, "range": list(signs)},
            legend=legend if legended else None,
        )

    def points(self) -> Spec:
        count = range(len(self.series))
        return {
            "color": self.by_series([palette.paint("solid", i) for i in count]),
            "shape": self.by_series([palette.shape(i) for i in count]),
        }

    def reference(self, encodings: Spec, places: int) -> None:
        value = self.plan.figure.reference
        if value is not None:
            self.add("rule", [{"v": value}], encodings, **INK, **DASHED)
            at = written(value, 0 if value == round(value) else places)
            self.notes.append(f"Dashed line: {self.plan.figure.null} ({at})")

    def note_left_out(self) -> None:
        count = sum(not math.isfinite(item.value) for item in self.plan.items)
        if count:
            self.notes.append(f"Not drawn for want of a number: {count}")

    def specification(self) -> Spec:
        titles = unlike(self.plan.panels, lines(self.width / 1.15, 3))  # they are bold
        shown: Spec = {"layer": self._layers, "width": self.width, "height": self.height}
        if titles != [""]:
            header = {
                "labelFontSize": LABEL,
                "labelFontWeight": "bold",
                "labelColor": palette.INK,
                "labelPadding": 5,
                "labelLimit": 0,
                "labelExpr": LINES,
            }
            shown = {
                "facet": encoded("f:N", title=None, sort=titles, header=header),
                "spec": shown,
                "columns": self.columns,
                "spacing": GAP,
                "resolve": {"axis": {"x": "independent"}},
            }
        text = {"labelFontSize": LABEL, "titleFontSize": LABEL, "titleFontWeight": "normal"}
        text |= {"labelColor": palette.INK, "titleColor": palette.INK}
        text |= {"labelLimit": 0, "titleLimit": 0}
        config = {
            "font": "Arial",
            "background": "transparent",
            "padding": PADDING,
            "view": {"stroke": self.frame},
            "legend": {
                "orient": "top",
                "columns": max(1, int(_room(self.plan) // (widest(self.series) + 34))),
                "symbolSize": 120,
                "symbolOpacity": 1,
                **text,
            },
            "axisXQuantitative": {"labelBound": 5, "labelOverlap": "greedy"},
            "axis": {
                "gridColor": palette.GRID,
                "labelPadding": 4,
                "domain": False,
                "ticks": False,
                **text,
            },
        }
        rows = [{**row, "f": titles[row["f"]]} for row in self._rows]
        return {**shown, "data": {"name": "rows"}, "datasets": {"rows": rows}, "config": config}


def _number_axis(on: Scale, title: str, size: float, **options: Any) -> Spec:
    return {
        "scale": {"domain": [on.low, on.high], "nice": False, "zero": False},
        "axis": {
            "title": lines(size, 2)(title).split("\n") if title else None,
            "tickCount": max(2, round(size / 60)),
            **options,
        },
    }


def _columns(plan: Plan, labels: float, least: float = 130) -> tuple[int, float]:
    """The number of panels in a row, and their width. labels: the width of labels on the left."""
    room = _room(plan) - labels
    if len(plan.panels) > 1:
        for columns in (plan.columns if 1 < plan.columns <= 4 else 2, 2):
            width = (room - GAP * (columns - 1)) / columns
            if width >= least:
                return columns, round(width)
    return 1, max(room, 130)


def _text(item: Item, key: str | None) -> str:
    value = item.row.get(key) if key else None
    return "" if value in (None, "") else cut(label(value), 130, SMALL)


# ---- Bars, stacked bars, boxes, and points with intervals


class Span(NamedTuple):
    item: Item
    start: float
    end: float


def _spans(plan: Plan) -> list[Span]:
    spans, totals = [], defaultdict[Any, float](float)
    for item in sorted(plan.items, key=lambda item: item.series):
        start, end = 0.0, item.value
        if not math.isfinite(item.value):
            continue
        if plan.figure.five:
            start, end = (
                number(item.row[plan.figure.five[1]]),
                number(item.row[plan.figure.five[3]]),
            )
        elif plan.figure.kind == "points":
            start = end
        elif plan.figure.kind == "stacked":
            stack = item.panel, item.x
            start, end = totals[stack], totals[stack] + item.value
            totals[stack] = end
        spans.append(Span(item, start, end))
    return spans


def _beside(plan: Plan) -> int:
    places = {(item.panel, item.x) for item in plan.items}
    stacked = plan.figure.kind == "stacked"
    return 1 if stacked or len(places) == len(plan.items) else len(plan.series)


class Categories(Canvas):
    def __init__(self, plan: Plan) -> None:
        figure = plan.figure
        self.kind, self.beside = figure.kind, _beside(plan)
        self.spans = _spans(plan)
        most = plan.width * 0.4
        few = len(plan.xs) <= 24 or plan.width < PAGE
        self.names = unlike(plan.xs, lines(min(most, 190), 2) if few else lines(most, 1))
        columns, size = _columns(plan, widest(self.names) + 8)
        step = self.beside * (15 if self.beside == 1 else 13 if self.beside <= 4 else 10) + 7
        step = max(step, 31 if any("\n" in name for name in self.names) else 20)
        self.bar = step * 0.8 / self.beside
        super().__init__(plan, size, step * len(self.names), columns)

        fixed = [] if figure.reference is None else [figure.reference]
        self.on = scale(
            [*fixed, *(figure.band or ()), *(end for span in self.spans for end in span[1:])],
            ((item.low, item.high) for item in plan.items),
            figure.domain,
            20 if self.kind == "points" else 1.5,
        )
        numbers = [span.item.value for span in self.spans]
        self.places = 0 if all(n == round(n) for n in numbers) else digits(self.on)
        self.texts = [written(n, self.places) for n in numbers]
        longest = max(wide(text, SMALL) for text in self.texts)
        self.numbered = self.kind == "bars" and self.bar >= 11 and longest < size / 3
        room = (longest + 14) / size
        below, above = (room if self.on.low < 0 else 0, room) if self.numbered else (0, 0)
        beside = max(
            (wide(_text(span.item, figure.label), SMALL) for span in self.spans), default=0
        )
        ends = (0.03, 0.03 + (beside + 10 if beside else 0) / size)
        self.axis = self.on.padded(*(ends if self.kind == "points" else (below, above)))
        self.pixels = size / self.axis.span
        self._place(plan.titles.get(figure.x if self.kind == "points" else figure.y, ""), size)

    def _place(self, title: str, size: float) -> None:
        head = {"test": f"slice(datum.label, -1) === '{HEAD}'", "value": "bold"}
        bold = {"condition": head, "value": "normal"}
        names = {
            "title": None,
            "labelExpr": LINES,
            "labelFontWeight": bold if self.plan.grouped else "normal",
            "labelOverlap": False,
            "grid": self.kind == "points",
            "tickBand": "center",
        }
        bands = {"domain": self.names, "paddingInner": 0.2, "paddingOuter": 0.1}
        self.along = {"x": encoded("v:Q", **_number_axis(self.axis, title, size))}
        self.here = {**self.along, "y": encoded("k:N", scale=bands, axis=names)}
        if self.beside > 1:
            beside = {"domain": list(range(self.beside))}
            self.here["yOffset"] = encoded("o:N", scale=beside)
        self.through = {**self.here, "x2": "w"}

    def at(self, item: Item, value: float, **more: Any) -> Spec:
        series = {"o": item.series, "s": self.series[item.series]}
        return {"f": item.panel, "k": self.names[item.x], **series, "v": value, **more}

    def bars(self) -> None:
        role = "area" if len(self.series) > 1 else "solid"
        paints = [palette.paint(role, index) for index in range(len(self.series))]
        self.add(
            "bar",
            [self.at(item, end, w=start) for item, start, end in self.spans],
            {**self.through, "color": self.by_series(paints, symbolType="square")},
            orient="horizontal",
        )

    def intervals(self, ink: bool) -> None:
        lines, below, above = [], [], []
        for item, start, end in self.spans:
            if math.isnan(item.low):
                continue
            low, high = self.on.inside(item.low), self.on.inside(item.high)
            colour = palette.INK if ink else palette.paint("solid", item.series)
            pieces = [(low, start), (end, high)] if self.kind == "boxes" else [(low, high)]
            lines += [self.at(item, v, w=w, c=colour) for v, w in pieces]
            below += [self.at(item, low)] if item.low < self.on.low else []
            above += [self.at(item, high)] if item.high > self.on.high else []
        self.add("rule", lines, {**self.through, "color": OWN_COLOUR}, strokeWidth=1.6)
        for rows, side in ((below, "left"), (above, "right")):
            self.add("point", rows, self.here, shape=f"triangle-{side}", size=26, **INK, **SOLID)
        if below or above:
            self.notes.append("Triangle: the interval goes on")

    def values(self) -> None:
        """Numbers at the ends of bars, and marks for missing ones."""
        above, below = [], []
        for (item, _, end), text in zip(self.spans, self.texts, strict=True):
            reach = (
                [end]
                if math.isnan(item.low)
                else [end, *map(self.on.inside, (item.low, item.high))]
            )
            if self.numbered and end >= 0:
                above.append(self.at(item, max(reach), t=text))
            elif self.numbered:
                below.append(self.at(item, min(reach), t=text))
        start = self.axis.low if self.kind in ("points", "boxes") else self.on.inside(0.0)
        for item in self.plan.items:
            if math.isnan(item.value):
                ends = [
                    s.end for s in self.spans if (s.item.panel, s.item.x) == (item.panel, item.x)
                ]
                top = max(ends, default=start) if self.kind == "stacked" else start
                above.append(self.at(item, top, t=MISSING))
            elif math.isinf(item.value):
                above.append(self.at(item, self.axis.inside(item.value), t=written(item.value, 0)))
        encodings = {**self.here, "text": "t:N"}
        self.add("text", above, encodings, align="left", dx=4, **TEXT)
        self.add("text", below, encodings, align="right", dx=-4, **TEXT)
        if any(math.isnan(item.value) for item in self.plan.items):
            self.notes.append(NO_VALUE)

    def labels_beside(self) -> None:
        rows = [
            self.at(item, self.axis.high, t=text)
            for item, _, _ in self.spans
            if (text := _text(item, self.plan.figure.label))
        ]
        self.add("text", rows, {**self.here, "text": "t:N"}, align="right", dx=-2, **TEXT)

    def values_inside(self) -> None:
        """Numbers and labels inside a stack; only the label if both do not fit."""
        rows = []
        for (item, start, end), value in zip(self.spans, self.texts, strict=True):
            mark = _text(item, self.plan.figure.label)
            length = abs(end - start) * self.pixels
            fitting = [t for t in (value + mark, mark) if t and wide(t, SMALL) + 9 <= length]
            if fitting and self.bar >= SMALL + 1:
                series = {
                    "c": palette.on(palette.colour(item.series)),
                    "h": palette.paint("halo", item.series),
                }
                rows.append(self.at(item, (start + end) / 2, t=fitting[0], **series))
        halo = encoded("h:N", scale=None)
        encodings = {**self.here, "text": "t:N", "color": OWN_COLOUR, "stroke": halo}
        self.add("text", rows, encodings, fontSize=SMALL, strokeWidth=9)


def _categories(plan: Plan) -> Canvas:
    canvas = Categories(plan)
    if plan.figure.band:
        low, high = plan.figure.band
        along = {**canvas.along, "x2": "w"}
        canvas.add("rect", [{"v": low, "w": high}], along, color=palette.GRID)
        canvas.notes.append("Shaded: what models without meaning have")
    bars = canvas.kind in ("bars", "stacked")
    if canvas.kind != "points":
        canvas.bars()
    if bars and canvas.on.low <= 0 <= canvas.on.high:
        canvas.add("rule", [{"v": 0}], canvas.along, **INK)
    if not bars or plan.figure.reference != 0:
        canvas.reference(canvas.along, canvas.places)
    canvas.intervals(ink=bars)
    values = [canvas.at(span.item, span.item.value) for span in canvas.spans]
    if canvas.kind == "points":
        canvas.add("point", values, {**canvas.here, **canvas.points()}, size=58, **SOLID)
        canvas.labels_beside()
    elif canvas.kind == "boxes":
        size = {"thickness": 2.4, "size": canvas.bar * 0.94}
        canvas.add("tick", values, canvas.here, orient="vertical", **size, **INK)
    elif canvas.kind == "stacked":
        canvas.values_inside()
    canvas.values()
    return canvas


# ---- Histograms


def _histogram(plan: Plan) -> Canvas:
    figure = plan.figure
    columns, width = _columns(plan, 50, least=180)
    height = 210 if len(plan.panels) == 1 else 150
    counted = [item for item in plan.items if math.isfinite(item.value)]
    spans = [(number(i.row[figure.x]), number(i.row[figure.to or ""])) for i in counted]
    along = scale((end for span in spans for end in span), domain=figure.domain)
    up = scale([0.0, *(item.value for item in counted)])
    x_axis = _number_axis(
        along, plan.titles.get(figure.x, ""), width, grid=False, ticks=True, tickColor=palette.INK
    )
    canvas = Canvas(plan, width, height, columns)
    here = {
        "x": encoded("p:Q", **x_axis),
        "y": encoded("v:Q", **_number_axis(up, plan.titles.get(figure.y, ""), height)),
    }
    gap = along.span / width * 0.6
    bars = []
    for item, (start, end) in zip(counted, spans, strict=True):
        apart = gap if abs(end - start) > 4 * gap else 0
        bars.append(
            {"f": item.panel, "p": start + apart, "q": end - apart, "v": item.value, "w": 0}
        )
    canvas.add("rect", bars, {**here, "x2": "q", "y2": "w"}, color=palette.paint("solid", 0))
    canvas.add("rule", [{"v": 0}], {"y": here["y"]}, **INK)
    canvas.note_left_out()
    return canvas


# ---- Heat maps


def _heatmap(plan: Plan) -> Canvas:
    figure, across, down = plan.figure, len(plan.xs), len(plan.ys)
    row_size = LABEL if down <= 25 else SMALL
    rows = unlike(plan.ys, lines(130, 2 if down <= 12 else 1, row_size))
    columns = 1 if across > 8 or len(plan.panels) == 1 else 2
    room = (_room(plan) - widest(rows) - 30 - GAP * (columns - 1)) / columns
    cell = max(12, min(60, room / across))
    height = 32 if any("\n" in row for row in rows) else min(cell, 32)
    head_size = LABEL if cell >= 15 else SMALL
    heads = unlike(plan.xs, lines(cell - 4, 2))
    turned = not unbroken(heads, plan.xs)
    if turned:
        heads = unlike(plan.xs, lines(130, 1, head_size))

    canvas = Canvas(plan, cell * across, height * down, columns)
    canvas.frame = palette.INK
    x_title, y_title, legend = (
        plan.titles.get(key, key) for key in (figure.x, figure.y, figure.colour or "")
    )
    names = {"labelOverlap": False, "grid": False}
    broken = {"labelExpr": LINES}  # of turned labels Vega would measure the lines wrongly
    angle = -90 if turned else 0
    top = {"orient": "top", "title": x_title, "labelAngle": angle, "labelFontSize": head_size}
    left = {"title": y_title, "labelFontSize": row_size}
    here = {
        "x": encoded(
            "k:N",
            scale={"domain": heads, "padding": 0},
            axis=top | names | ({} if turned else broken),
        ),
        "y": encoded("r:N", scale={"domain": rows, "padding": 0}, axis=left | names | broken),
    }
    written_here = {**here, "text": "t:N"}

    values = [item.value for item in plan.items if math.isfinite(item.value)]
    on = scale(values, domain=figure.domain)
    places = 0 if all(value == round(value) for value in values) else digits(on)
    empty = {
        (panel, x, y)
        for panel in range(len(plan.panels))
        for x in range(across)
        for y in range(down)
    }
    cells: list[Spec] = []
    texts: list[Spec] = []
    blank = 0
    for item in plan.items:
        if figure.mask and item.row.get(figure.mask) is True:
            blank += 1
        elif math.isnan(item.value):
            continue
        else:
            share = round((on.inside(item.value) - on.low) / on.span * STEPS) / STEPS
            place = {"f": item.panel, "k": heads[item.x], "r": rows[item.y]}
            cells.append({**place, "z": on.low + share * on.span})
            text = _text(item, figure.label) or written(item.value, places)
            texts.append({**place, "t": text, "c": palette.on(palette.scaled(share))})
        empty.remove((item.panel, item.x, item.y))
    stops = len(palette.SEQUENTIAL) - 1
    fill = encoded(
        "z:Q",
        scale={
            "domain": [on.low + on.span * i / stops for i in range(stops + 1)],
            "range": list(palette.SEQUENTIAL),
        },
        legend={
            **{"title": legend, "type": "symbol", "tickCount": 5, "columns": 9},
            **{"symbolStrokeColor": palette.INK, "symbolStrokeWidth": 0.7},
        },
    )
    cells.sort(key=lambda row: row["z"])
    canvas.add("rect", cells, {**here, "fill": fill})
    longest = max((wide(row["t"], SMALL) for row in texts), default=0)
    if height >= 13 and longest <= cell - 3 and (cell >= 26 or figure.label):
        canvas.add("text", texts, {**written_here, "color": OWN_COLOUR}, fontSize=SMALL)
    crosses = [{"f": f, "k": heads[x], "r": rows[y], "t": MISSING} for f, x, y in sorted(empty)]
    canvas.add("text", crosses, written_here, **TEXT)
    if blank:
        canvas.notes.append(f"Blank: {plan.titles.get(figure.mask or '', 'masked')}")
    if empty:
        canvas.notes.append(NO_VALUE)
    return canvas


# ---- Labelled points


def _scatter(plan: Plan) -> Canvas:
    figure = plan.figure
    many = len(plan.items) / len(plan.panels)
    width = _room(plan) - 46
    tall = 1.1 if plan.width >= PAGE else 1.75  # a column has room below alone
    height = min(width * tall, 620.0 if many > 60 else 460.0 if many > 30 else 340.0)
    shown = [item for item in plan.items if math.isfinite(item.value)]
    across, up = [number(i.row[figure.x]) for i in shown], [i.value for i in shown]
    whole = scale(figure.domain or (), domain=figure.domain)
    parts = [scale(ends) for ends in (across, up)]
    if narrow := figure.domain and max(part.span for part in parts) < whole.span / NARROW:
        on_x, on_y = (part.padded(0.07, 0.07) for part in parts)
    else:
        on_x, on_y = (scale(ends, domain=figure.domain).padded(0.05, 0.05) for ends in (across, up))
    x_title, y_title = (plan.titles.get(key, key) for key in (figure.x, figure.y))
    canvas = Canvas(plan, width, height, 1)
    here = {
        "x": encoded("p:Q", **_number_axis(on_x, x_title, width)),
        "y": encoded("v:Q", **_number_axis(on_y, y_title, height)),
    }

    def at(x: float, y: float) -> dict[str, float]:
        return {"p": on_x.low + x / width * on_x.span, "v": on_y.high - y / height * on_y.span}

    points, leaders, texts, left_out = [], [], [], 0
    for panel in range(len(plan.panels)):
        spots = []
        for item, x in zip(shown, across, strict=True):
            if item.panel != panel:
                continue
            text, places = _text(item, figure.label), (digits(on_x), digits(on_y))
            values = map(written, (x, item.value), places)
            about = f"{text}: {', '.join(values)}"
            series = canvas.series[item.series]
            points.append({"f": panel, "p": x, "v": item.value, "s": series, "t": about})
            left, down = (x - on_x.low) / on_x.span, (on_y.high - item.value) / on_y.span
            spots.append(Spot(left * width, down * height, text))
        for spot, place in zip(spots, labels(spots, width, height), strict=True):
            if place is None:
                left_out += bool(spot.text)
                continue
            end = at(place.x, place.y)
            texts.append({"f": panel, **end, "t": spot.text, "a": place.align})
            if far(spot, place):
                start = at(spot.x, spot.y)
                leaders.append({"f": panel, **start, "q": end["p"], "w": end["v"]})
    canvas.add("rule", leaders, {**here, "x2": "q", "y2": "w"}, strokeWidth=0.6, opacity=0.7, **INK)
    canvas.add("point", points, {**here, **canvas.points(), "description": "t:N"}, size=38, **SOLID)
    canvas.add("text", texts, {**here, "text": "t:N"}, align={"expr": "datum.a"}, **TEXT)
    if narrow:
        canvas.notes.append(
            f"Of the scale of {whole.low:g} to {whole.high:g} the part that has all points"
        )
    if left_out:
        canvas.notes.append(
            f"Without room for its label: {left_out} of {len(shown)}, which the table has"
        )
    canvas.note_left_out()
    return canvas
