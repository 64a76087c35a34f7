"""Each kind of figure as an Altair specification, whose colours stand for series until the SVG is
written.

Rows of one data set; `m` says which mark a row is for. Names and texts stand in the data alone,
never in an expression or a field's name.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lm_eval_bias.figures import palette
from lm_eval_bias.figures.rows import (
    HEAD,
    Item,
    Plan,
    Scale,
    digits,
    label,
    lines,
    number,
    padded,
    scale,
    unlike,
    whole,
    widest,
    written,
)
from lm_eval_bias.figures.svg import cut, wide

WIDTH = 450
"""Pixels of a figure, about: at the width of a telephone its letters are still two thirds as large.
"""
SMALL, LABEL = 11, 12
LINES = "split(datum.label, '\\n')"
BOLD = {
    "condition": {"test": f"slice(datum.label, -1) === '{HEAD}'", "value": "bold"},
    "value": "normal",
}
Data = list[dict[str, Any]]
DATA = "rows"


class Sign(NamedTuple):
    """An entry of the legend. sort: area, point, line, reference, missing, further or number (with
    `stops`)."""

    sort: str
    label: str
    series: int = 0
    stops: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()  # (place from 0 to 1, text)


class Drawn(NamedTuple):
    """chart: an Altair chart as a Vega-Lite specification. legend: what its signs mean. notes:
    sentences for who does not see it."""

    chart: dict[str, Any]
    legend: list[Sign]
    notes: list[str]


def chart(made: Plan) -> Drawn:
    kind = made.figure.kind
    if kind == "radar" and len(made.xs) < 3:
        kind = "bars"  # of two axes there is no area
    kinds: dict[str, Callable[[Plan], Drawn]] = {
        "bars": _bars,
        "stacked": _bars,
        "boxes": _bars,
        "points": _points,
        "lines": _lines,
        "histogram": _histogram,
        "heatmap": _heatmap,
        "radar": _radar,
        "scatter": _scatter,
    }
    return kinds[kind](made)


# ---- What kinds share


def _alt() -> Any:
    import altair

    return altair


class Layer(NamedTuple):
    """A mark for the rows whose `m` it has; made only where there are such."""

    mark: str
    m: str
    encodings: Mapping[str, Any]
    properties: Mapping[str, Any]

    def made(self) -> Any:
        base = _alt().Chart().transform_filter(f"datum.m === '{self.m}'")
        return getattr(base, f"mark_{self.mark}")(**self.properties).encode(**self.encodings)


def _layer(mark: str, m: str, encodings: Mapping[str, Any], **properties: Any) -> Layer:
    return Layer(mark, m, encodings, properties)


def _raw(channel: str, field: str) -> Any:
    """A channel whose values are what they are drawn with."""
    return getattr(_alt(), channel)(f"{field}:N", scale=None, legend=None)


def _assembled(
    layers: Sequence[Layer],
    data: Data,
    made: Plan,
    width: float,
    height: float,
    columns: int,
    below: bool = True,
) -> dict[str, Any]:
    """Layers of a panel, for each panel. below: whether each has a scale of its own below it."""
    alt = _alt()
    titles = unlike(made.panels, lines(width, 3, LABEL))
    single = titles == [""]
    used = {row["m"] for row in data}
    kept = [layer.made() for layer in layers if layer.m in used]
    rows = [row if single else {**row, "f": titles[row["f"]]} for row in data]
    laid = alt.layer(*kept, data=alt.NamedData(name=DATA)).properties(width=width, height=height)
    if not single:
        header = alt.Header(
            labelFontSize=LABEL,
            labelFontWeight="bold",
            labelColor=palette.INK,
            labelPadding=5,
            labelLimit=0,
            labelExpr=LINES,
        )
        laid = laid.facet(
            facet=alt.Facet("f:N", title=None, sort=titles, header=header),
            columns=columns,
            spacing=18,
        )
        if below:
            laid = laid.resolve_axis(x="independent")
    configured = laid.configure(
        font="Arial",
        background="white",
        padding=6,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=palette.INK,
            titleColor=palette.INK,
            domainColor=palette.INK,
            tickColor=palette.INK,
            gridColor=palette.GRID,
            labelFontSize=LABEL,
            titleFontSize=LABEL,
            titleFontWeight="normal",
            labelLimit=0,
            titleLimit=0,
            labelPadding=4,
            domain=False,
            ticks=False,
        ),
    )
    specification = configured.to_dict(validate=False)
    specification["datasets"] = {DATA: rows}  # Altair would look at every row
    return specification


def _number_axis(
    made: Scale, title: str, size: float, grid: bool = True, **more: Any
) -> dict[str, Any]:
    alt = _alt()
    greatest = max(abs(made.low), abs(made.high))
    shape = {"format": ".3~g"} if greatest >= 1e6 or (made.ticks and made.span < 1e-3) else {}
    return {
        "scale": alt.Scale(domain=[made.low, made.high], nice=False, zero=False, clamp=False),
        "axis": alt.Axis(
            title=unlike([title], lines(size, 2))[0].split("\n") if title else None,
            values=list(made.ticks),
            grid=grid,
            **shape,
            **more,
        ),
    }


def _columns(
    made: Plan, labels: float, least: float = 130, one: float = WIDTH
) -> tuple[int, float]:
    """Panels beside each other, and the width of each. labels: width of what stands left of the
    first."""
    panels = len(made.panels)
    if panels == 1:
        return 1, max(one - labels, 220)
    for columns in (made.across if 1 < made.across <= 3 else 2, 2):
        width = (WIDTH - labels - 18 * (columns - 1)) / columns
        if width >= least:
            return columns, round(width)
    return 1, max(one - labels, 220)


def _signs(made: Plan, sort: str) -> list[Sign]:
    return [Sign(sort, label, index) for index, label in enumerate(made.series) if label]


def _unbiased(made: Plan, places: int) -> list[Sign]:
    reference = made.figure.reference
    return (
        []
        if reference is None
        else [
            Sign(
                "reference",
                f"no bias: {written(reference, 0 if reference == round(reference) else places)}",
            )
        ]
    )


def _beside(made: Plan) -> int:
    """So many series stand beside each other; one where each category has a single one, of which
    the colour tells more."""
    places = [(item.panel, item.x, item.y) for item in made.items]
    return 1 if len(set(places)) == len(places) else len(made.series)


def _names(labels: Sequence[str]) -> list[str]:
    """Labels left of a figure: in two lines where they are few."""
    return unlike(labels, lines(190, 2) if len(labels) <= 24 else lines(230, 1))


def _of_panels(made: Plan) -> range:
    return range(len(made.panels))


def _ends(item: Item) -> tuple[float, float]:
    return (item.low, item.high)


def _interval(item: Item, on: Scale) -> tuple[float, float, bool, bool] | None:
    """What is drawn of an interval, and whether it goes on below and above."""
    if math.isnan(item.low):
        return None
    return on.inside(item.low), on.inside(item.high), item.low < on.low, item.high > on.high


# ---- Bars, stacked bars and boxes


class _Bar(NamedTuple):
    """start, end: where it is drawn. text: its number."""

    item: Item
    start: float
    end: float
    text: str


def _bars(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    stacked, boxes = figure.kind == "stacked", figure.kind == "boxes"
    items = made.items
    beside = 1 if stacked else _beside(made)
    fives = (
        {id(item): [number(item.row.get(key)) for key in figure.five or ()] for item in items}
        if boxes
        else {}
    )
    signs: list[Sign] = []

    # The scale
    sums: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    bars: list[_Bar] = []
    also = [figure.reference] if figure.reference is not None else []
    if boxes:
        on = scale(
            [v for five in fives.values() for v in five],
            (),
            figure.domain,
            [*also, *(i.value for i in items)],
        )
    else:
        for item in sorted(items, key=lambda item: item.series) if stacked else items:
            if math.isfinite(item.value):
                start = 0.0
                if stacked:
                    total = sums[item.panel, item.x]
                    side = item.value < 0
                    start, total[side] = total[side], total[side] + item.value
                bars.append(_Bar(item, start, start + item.value, ""))
        values = [v for bar in bars for v in (bar.start, bar.end)]
        on = scale(
            values,
            [] if stacked else [e for item in items for e in _ends(item)],
            figure.domain,
            [0.0, *also],
        )
    counts = not boxes and all(
        item.value == round(item.value) for item in items if math.isfinite(item.value)
    )
    places = 0 if counts else digits(on)
    bars = [
        bar._replace(text=written(bar.item.value, places) + _text(bar.item, figure.label))
        for bar in bars
    ]
    longest = max((wide(bar.text, SMALL) for bar in bars), default=0)

    # Upright where the names of the categories have room below, lying else
    columns, width = _columns(made, 46)
    step = width / max(len(made.xs), 1)
    upright = step >= beside * 7 + 8 and step >= 22 and not made.grouped
    names = made.xs
    if upright:
        fitted = unlike(names, lines(step - 4, 3))
        upright = whole(fitted, names)
    if upright:
        names, size, bar_px = fitted, 230.0, (step * 0.78) / beside
        numbered = not stacked and not boxes and longest <= bar_px + 3
        step = min(step, 90)
        width = step * len(names)
        bar_px = step * 0.78 / beside
        numbered = not stacked and not boxes and longest <= bar_px + 3
        made_on = padded(on, 0.07 if numbered and on.low < 0 else 0, 0.07 if numbered else 0)
    else:
        names = _names(made.xs)
        labels = widest(names) + 8
        columns, width = _columns(made, labels)
        per = 15 if beside == 1 else 13 if beside <= 4 else 10
        step = max(beside * per + 7, 31 if any("\n" in name for name in names) else 20)
        size, bar_px = step * len(names), (step - 5) / beside
        numbered = not stacked and not boxes and bar_px >= 11 and longest < width / 3
        share = (longest + 14) / width
        made_on = padded(on, share if numbered and on.low < 0 else 0, share if numbered else 0)
    pixels = (size if upright else width) / made_on.span

    cat, num = ("x", "y") if upright else ("y", "x")
    Cat, Num, Off = (alt.X, alt.Y, alt.XOffset) if upright else (alt.Y, alt.X, alt.YOffset)
    place = Cat(
        "k:N",
        scale=alt.Scale(
            domain=names,
            paddingInner=0.22 if upright else 5 / step,
            paddingOuter=0.11 if upright else 2.5 / step,
        ),
        axis=alt.Axis(
            title=None,
            labelExpr=LINES,
            labelFontWeight=BOLD if made.grouped else "normal",
            labelOverlap=False,
            **({"labelAngle": 0} if upright else {}),
        ),
    )
    offset = (
        {
            f"{cat}Offset": Off(
                "o:N", scale=alt.Scale(domain=[str(i) for i in range(beside)], paddingInner=0.06)
            )
        }
        if beside > 1
        else {}
    )
    title = made.titles.get(figure.y, "")
    axis = _number_axis(made_on, title, size if upright else width)
    v = Num("v:Q", **axis)
    here: dict[str, Any] = {cat: place, num: v, **offset}
    through: dict[str, Any] = {**here, f"{num}2": f"{num}2:Q"}
    through[f"{num}2"] = (alt.Y2 if upright else alt.X2)("w")
    colour = {"color": _raw("Color", "c")}
    out = {"baseline": "bottom", "dy": -3} if upright else {"align": "left", "dx": 4}
    back = {"baseline": "top", "dy": 3} if upright else {"align": "right", "dx": -4}
    layers = [
        _layer("bar", "bar", {**through, **colour}, orient="vertical" if upright else "horizontal"),
        _layer("rule", "zero", {num: v}, color=palette.INK),
        _layer("rule", "ref", {num: v}, color=palette.INK, strokeDash=[5, 3], strokeWidth=1.4),
        _layer("rule", "whisker", through, color=palette.INK, strokeWidth=1.4),
        _layer("rule", "thin", {**through, **colour}, strokeWidth=1.6),
        _layer(
            "tick",
            "middle",
            here,
            color=palette.INK,
            thickness=2.4,
            orient="horizontal" if upright else "vertical",
            size=max(bar_px * 0.94, 4),
        ),
        _layer("point", "mean", here, color=palette.INK, shape="diamond", size=26, filled=True),
        _layer(
            "point",
            "up",
            here,
            shape="triangle-up" if upright else "triangle-right",
            size=24,
            color=palette.INK,
            filled=True,
            opacity=1,
        ),
        _layer(
            "point",
            "down",
            here,
            shape="triangle-down" if upright else "triangle-left",
            size=24,
            color=palette.INK,
            filled=True,
            opacity=1,
        ),
        _layer("text", "out", {**here, "text": "t:N"}, fontSize=SMALL, color=palette.INK, **out),
        _layer("text", "back", {**here, "text": "t:N"}, fontSize=SMALL, color=palette.INK, **back),
        _layer(
            "text",
            "in",
            {**here, "text": "t:N", "color": _raw("Color", "tc"), "stroke": _raw("Stroke", "c")},
            fontSize=SMALL,
            strokeWidth=6,
        ),
    ]

    data: Data = []
    plain = len(made.series) == 1
    base = on.inside(0.0)
    missing = further = False

    def at(item: Item, m: str, **values: Any) -> None:
        data.append(
            {
                "m": m,
                "f": item.panel,
                "k": names[item.x],
                "o": str(0 if beside == 1 else item.series),
                **values,
            }
        )

    for panel in _of_panels(made):
        if not boxes and on.low <= 0 <= on.high:
            data.append({"m": "zero", "f": panel, "v": 0})
        if figure.reference is not None and (boxes or figure.reference != 0):
            data.append({"m": "ref", "f": panel, "v": figure.reference})
    for bar in bars:
        item = bar.item
        at(
            item,
            "bar",
            v=bar.end,
            w=bar.start,
            c=palette.paint("solid" if plain else "area", item.series),
        )
        drawn = None if stacked else _interval(item, on)
        edge = bar.end
        if drawn is not None:
            low, high, below, above = drawn
            at(item, "whisker", v=low, w=high)
            edge = (max if bar.end >= base else min)(bar.end, high if bar.end >= base else low)
            for goes_on, m, end in ((below, "down", low), (above, "up", high)):
                if goes_on:
                    further = True
                    at(item, m, v=end)
        if numbered:
            at(item, "out" if bar.end >= base else "back", v=edge, t=bar.text)
        elif stacked:
            length, across = abs(bar.item.value) * pixels, bar_px
            room = (
                (length >= SMALL + 3 and across >= wide(bar.text, SMALL) + 4)
                if upright
                else (across >= SMALL and length >= wide(bar.text, SMALL) + 6)
            )
            # a mark of significance has room where its number has none
            text = bar.text if room else _text(item, figure.label)
            if room or (
                text and min(length, across) >= wide(text, SMALL) + 3 and min(length, across) >= 6
            ):
                solid = palette.colour(item.series)
                at(
                    item,
                    "in",
                    v=(bar.start + bar.end) / 2,
                    t=text,
                    tc=palette.on(solid),
                    c=palette.paint("solid", item.series),
                )
    for item in items:
        if boxes:
            five = fives[id(item)]
            if all(map(math.isfinite, five)) and len(five) == 5:
                c = palette.paint("solid", item.series)
                at(item, "thin", v=five[0], w=five[1], c=c)
                at(item, "thin", v=five[3], w=five[4], c=c)
                at(
                    item,
                    "bar",
                    v=five[1],
                    w=five[3],
                    c=c if plain else palette.paint("area", item.series),
                )
                at(item, "middle", v=five[2])
                if figure.y not in (figure.five or ()) and math.isfinite(item.value):
                    at(item, "mean", v=item.value)
            else:
                missing = True
                at(item, "out", v=on.low, t="×")
        elif not math.isfinite(item.value) and not stacked:
            missing = True
            at(
                item,
                "out",
                v=base if math.isnan(item.value) else on.high if item.value > 0 else on.low,
                t="×" if math.isnan(item.value) else written(item.value, 0),
            )
        elif stacked and not math.isfinite(item.value):
            missing = True
    if stacked:
        for (panel, x), empty in _missing(items).items():
            total = sums[panel, x]
            data.append(
                {
                    "m": "out",
                    "f": panel,
                    "k": names[x],
                    "o": "0",
                    "v": total[0],
                    "t": "×" if empty else "× incomplete",
                }
            )
    signs = [] if figure.colour == figure.x else _signs(made, "area")
    if any(row["m"] == "mean" for row in data):
        signs.append(Sign("mean", made.titles.get(figure.y, "mean")))
    signs += _unbiased(made, places) if any(row["m"] == "ref" for row in data) else []
    signs += _footnotes(missing, further)
    return Drawn(_assembled(layers, data, made, width, size, columns), signs, [])


def _missing(items: Iterable[Item]) -> dict[tuple[int, int], bool]:
    """Places of stacked bars of which a part has no value -> whether no part has one."""
    found: dict[tuple[int, int], bool] = {}
    there = {(item.panel, item.x) for item in items if math.isfinite(item.value)}
    for item in items:
        if not math.isfinite(item.value):
            found[item.panel, item.x] = (item.panel, item.x) not in there
    return found


def _footnotes(missing: bool, further: bool) -> list[Sign]:
    return [
        *([Sign("missing", "no value")] if missing else []),
        *([Sign("further", "interval goes on")] if further else []),
    ]


# ---- Points with intervals


def _points(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    names = _names(made.ys)
    beside = _beside(made)
    columns, width = _columns(made, widest(names) + 8)
    step = max(beside * 11 + 8, 32 if any("\n" in name for name in names) else 20)
    also = [figure.reference] if figure.reference is not None else []
    on = scale(
        (i.value for i in made.items),
        (e for i in made.items for e in _ends(i)),
        figure.domain,
        also,
        count=5 if width > 200 else 4,
    )
    drawn_on = padded(on, 0.03, 0.03)
    y = alt.Y(
        "k:N",
        scale=alt.Scale(
            domain=names,
            paddingInner=8 / step if beside > 1 else 0,
            paddingOuter=4 / step if beside > 1 else 0,
        ),
        axis=alt.Axis(
            title=None,
            labelExpr=LINES,
            labelFontWeight=BOLD if made.grouped else "normal",
            grid=True,
            labelOverlap=False,
            tickBand="center",
        ),
    )
    offset = (
        {"yOffset": alt.YOffset("o:N", scale=alt.Scale(domain=[str(i) for i in range(beside)]))}
        if beside > 1
        else {}
    )
    x = alt.X("v:Q", **_number_axis(drawn_on, made.titles.get(figure.x, ""), width))
    here = {"x": x, "y": y, **offset}
    colour = {"color": _raw("Color", "c")}
    ink = {"color": palette.INK, "filled": True, "opacity": 1, "size": 26}
    layers = [
        _layer("rule", "ref", {"x": x}, color=palette.INK, strokeDash=[5, 3], strokeWidth=1.4),
        _layer("rule", "whisker", {**here, "x2": alt.X2("w"), **colour}, strokeWidth=2),
        _layer(
            "point",
            "point",
            {**here, **colour, "shape": _raw("Shape", "sh")},
            filled=True,
            opacity=1,
            size=58,
        ),
        _layer("point", "up", here, shape="triangle-right", **ink),
        _layer("point", "down", here, shape="triangle-left", **ink),
        _layer(
            "text",
            "none",
            {**here, "text": "t:N"},
            fontSize=LABEL,
            color=palette.INK,
            align="left",
            dx=2,
        ),
        _layer(
            "text",
            "label",
            {**here, "text": "t:N"},
            fontSize=SMALL,
            color=palette.INK,
            align="left",
            dx=7,
        ),
    ]
    data: Data = [
        {"m": "ref", "f": panel, "v": figure.reference}
        for panel in _of_panels(made)
        if figure.reference is not None
    ]
    missing = further = False
    for item in made.items:
        common = {"f": item.panel, "k": names[item.y], "o": str(0 if beside == 1 else item.series)}
        c = palette.paint("solid", item.series)
        drawn = None if math.isnan(item.value) else _interval(item, on)
        if drawn is not None:
            low, high, below, above = drawn
            data.append({"m": "whisker", **common, "v": low, "w": high, "c": c})
            data += [
                {"m": m, **common, "v": end}
                for goes_on, m, end in ((below, "down", low), (above, "up", high))
                if goes_on
            ]
            further = further or below or above
        if math.isfinite(item.value):
            data.append(
                {"m": "point", **common, "v": item.value, "c": c, "sh": palette.shape(item.series)}
            )
            if text := _text(item, figure.label):
                data.append(
                    {
                        "m": "label",
                        **common,
                        "v": item.value if drawn is None else max(item.value, drawn[1]),
                        "t": text,
                    }
                )
        elif math.isnan(item.value):
            missing = True
            data.append({"m": "none", **common, "v": drawn_on.low, "t": "×"})
        else:
            data.append(
                {
                    "m": "none",
                    **common,
                    "v": drawn_on.high if item.value > 0 else drawn_on.low,
                    "t": written(item.value, 0),
                }
            )
    signs = [*_signs(made, "point"), *_unbiased(made, digits(on)), *_footnotes(missing, further)]
    return Drawn(_assembled(layers, data, made, width, step * len(names), columns), signs, [])


# ---- Lines


def _lines(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    numeric = made.xs == [""]
    columns, width = _columns(made, 50, least=180)
    height = 230 if len(made.panels) == 1 else 180
    also = [figure.reference] if figure.reference is not None else []
    on = scale(
        (i.value for i in made.items),
        (e for i in made.items for e in _ends(i)),
        figure.domain,
        also,
    )
    drawn_on = padded(on, 0.04 if all(math.isfinite(i.value) for i in made.items) else 0.12, 0.04)
    where = [number(item.row.get(figure.x)) if numeric else float(item.x) for item in made.items]
    if numeric:
        along = scale(where, count=6 if width > 300 else 4)
        x = alt.X(
            "p:Q",
            **_number_axis(
                padded(along, 0.03, 0.03), made.titles.get(figure.x, ""), width, grid=False
            ),
        )
    else:
        step = width / len(made.xs)
        fitted = unlike(made.xs, lines(step - 4, 3))
        straight = whole(fitted, made.xs)
        names = fitted if straight else unlike(made.xs, lines(150, 1))
        turned = {"labelAngle": 0 if straight else -90, "labelOverlap": 13 * len(names) > 760}
        if not straight and step < 13:
            width, columns = min(13 * len(names), 760), 1
        x = alt.X(
            "k:N",
            scale=alt.Scale(domain=names),
            axis=alt.Axis(title=made.titles.get(figure.x), labelExpr=LINES, grid=False, **turned),
        )
    y = alt.Y("v:Q", **_number_axis(drawn_on, made.titles.get(figure.y, ""), height))
    here = {"x": x, "y": y}
    ink = {"color": palette.INK, "filled": True, "opacity": 1, "size": 26}
    layers = [
        _layer("rule", "ref", {"y": y}, color=palette.INK, strokeDash=[5, 3], strokeWidth=1.4),
        _layer(
            "rule",
            "whisker",
            {**here, "y2": alt.Y2("w"), "color": _raw("Color", "c")},
            strokeWidth=1.4,
        ),
        _layer(
            "line",
            "line",
            {**here, "order": alt.Order("i:Q"), "detail": "s:N", "stroke": _raw("Stroke", "c")},
            strokeWidth=2,
        ),
        _layer(
            "point",
            "point",
            {**here, "color": _raw("Color", "c"), "shape": _raw("Shape", "sh")},
            filled=True,
            opacity=1,
            size=46,
        ),
        _layer("point", "up", here, shape="triangle-up", **ink),
        _layer("point", "down", here, shape="triangle-down", **ink),
        _layer(
            "text",
            "none",
            {**here, "text": "t:N"},
            fontSize=LABEL,
            color=palette.INK,
            baseline="bottom",
        ),
    ]
    data: Data = [
        {"m": "ref", "f": panel, "v": figure.reference}
        for panel in _of_panels(made)
        if figure.reference is not None
    ]
    missing = further = False
    of: dict[tuple[int, int], list[tuple[float, Item]]] = defaultdict(list)
    for place, item in zip(where, made.items, strict=True):
        of[item.panel, item.series].append((place, item))
    for (panel, series), found in of.items():
        # Where a value is missing the line ends, also where its row is: others of the figure have
        # that place.
        piece, last = 0, -1.0
        for place, item in sorted(
            ((p, i) for p, i in found if math.isfinite(p)), key=lambda one: one[0]
        ):
            common = {"f": panel, **({"p": place} if numeric else {"k": names[item.x]})}
            solid = palette.paint("solid", series)
            if not numeric and place > last + 1 and last >= 0:
                piece += 1
            last = place
            drawn = None if math.isnan(item.value) else _interval(item, on)
            if drawn is not None:
                low, high, below, above = drawn
                data.append({"m": "whisker", **common, "v": low, "w": high, "c": solid})
                data += [
                    {"m": m, **common, "v": end}
                    for goes_on, m, end in ((below, "down", low), (above, "up", high))
                    if goes_on
                ]
                further = further or below or above
            if math.isfinite(item.value):
                data.append(
                    {
                        "m": "line",
                        **common,
                        "v": item.value,
                        "s": f"{series} {piece}",
                        "i": place,
                        "c": palette.paint("dashed", series),
                    }
                )
                data.append(
                    {
                        "m": "point",
                        **common,
                        "v": item.value,
                        "c": solid,
                        "sh": palette.shape(series),
                    }
                )
            else:
                piece += 1
                missing = missing or math.isnan(item.value)
                data.append(
                    {
                        "m": "none",
                        **common,
                        "v": drawn_on.high if item.value == math.inf else drawn_on.low,
                        "t": "×" if math.isnan(item.value) else written(item.value, 0),
                    }
                )
    signs = [*_signs(made, "line"), *_unbiased(made, digits(on)), *_footnotes(missing, further)]
    return Drawn(_assembled(layers, data, made, width, height, columns), signs, [])


# ---- Histograms


def _histogram(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    columns, width = _columns(made, 50, least=180)
    height = 210 if len(made.panels) == 1 else 150
    also = [figure.reference] if figure.reference is not None else []
    spans = [
        (number(item.row.get(figure.x)), number(item.row.get(figure.to or "")))
        for item in made.items
    ]
    along = scale(
        (v for span in spans for v in span), (), figure.domain, also, count=6 if width > 300 else 4
    )
    on = scale((item.value for item in made.items), (), None, [0.0], count=4)
    x = alt.X(
        "p:Q", **_number_axis(along, made.titles.get(figure.x, ""), width, grid=False, ticks=True)
    )
    y = alt.Y("v:Q", **_number_axis(on, made.titles.get(figure.y, ""), height))
    layers = [
        _layer(
            "rect",
            "bar",
            {"x": x, "x2": alt.X2("q"), "y": y, "y2": alt.Y2("w"), "color": _raw("Color", "c")},
        ),
        _layer("rule", "zero", {"y": y}, color=palette.INK),
        _layer("rule", "ref", {"x": x}, color=palette.INK, strokeDash=[5, 3], strokeWidth=1.4),
        _layer(
            "text",
            "none",
            {"x": x, "y": y, "text": "t:N"},
            fontSize=LABEL,
            color=palette.INK,
            baseline="bottom",
        ),
    ]
    data: Data = [{"m": "zero", "f": panel, "v": 0} for panel in _of_panels(made)]
    data += [
        {"m": "ref", "f": panel, "p": figure.reference}
        for panel in _of_panels(made)
        if figure.reference is not None
    ]
    gap = along.span / width * 0.6
    unplaced = 0
    missing = False
    for item, (start, end) in zip(made.items, spans, strict=True):
        if not (math.isfinite(start) and math.isfinite(end)):
            unplaced += 1
        elif math.isfinite(item.value):
            some = gap if abs(end - start) > 4 * gap else 0
            data.append(
                {
                    "m": "bar",
                    "f": item.panel,
                    "p": start + some,
                    "q": end - some,
                    "v": item.value,
                    "w": 0,
                    "c": palette.paint("solid", 0),
                }
            )
        else:
            missing = True
            data.append({"m": "none", "f": item.panel, "p": (start + end) / 2, "v": 0, "t": "×"})
    notes = [f"{unplaced} rows without ends are not drawn."] if unplaced else []
    signs = [*_unbiased(made, digits(along)), *_footnotes(missing, False)]
    return Drawn(_assembled(layers, data, made, width, height, columns), signs, notes)


# ---- Heat maps


def _heatmap(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    across, down = len(made.xs), len(made.ys)
    values = [item.value for item in made.items if math.isfinite(item.value)]
    on = scale(values, (), figure.domain)
    reference = figure.reference
    if reference is None:
        stops, low, high = palette.SEQUENTIAL, on.low, on.high
    else:  # equal distances have equal strength
        reach = max(abs(on.high - reference), abs(on.low - reference))
        stops, low, high = palette.DIVERGING, reference - reach, reference + reach
    rows = unlike(made.ys, lines(130, 2 if down <= 12 else 1, LABEL if down <= 25 else SMALL))
    labels = widest(rows) + 12
    columns = 1 if across > 8 or len(made.panels) == 1 else 2
    room = (WIDTH - labels - 18 * (columns - 1)) / columns
    cell = max(12, min(46, room / across))
    height = max(12, min(cell, 30))
    if height < 30 and any("\n" in row for row in rows):
        height = 30
    heads = unlike(made.xs, lines(cell - 4, 2))
    upright = not whole(heads, made.xs)
    if upright:
        heads = unlike(made.xs, lines(130, 1, LABEL if cell >= 15 else SMALL))
    places = 0 if all(v == round(v) for v in values) else digits(on)
    texts = [
        _text(i, figure.label) if figure.label else written(i.value, places)
        for i in made.items
        if not math.isnan(i.value)
    ]
    numbered = (
        (cell >= 26 or figure.label is not None)
        and height >= 13
        and max((wide(t, SMALL) for t in texts), default=0) <= cell - 3
    )
    x = alt.X("p:Q", scale=alt.Scale(domain=[0, across], nice=False), axis=None)
    y = alt.Y("v:Q", scale=alt.Scale(domain=[down, 0], nice=False, zero=False), axis=None)
    here = {"x": x, "y": y}
    through = {**here, "x2": alt.X2("q"), "y2": alt.Y2("w")}
    size = {"fontSize": LABEL if cell >= 15 or not upright else SMALL, "color": palette.INK}
    layers = [
        _layer("rect", "cell", {**through, "fill": _raw("Fill", "c")}),
        _layer("rule", "gap", through, color=palette.INK, opacity=0.6),
        _layer("rule", "frame", through, color=palette.INK),
        _layer("text", "in", {**here, "text": "t:N", "color": _raw("Color", "c")}, fontSize=SMALL),
        _layer(
            "text",
            "row",
            {**here, "text": "t:N"},
            align="right",
            dx=-5,
            lineBreak="\n",
            fontSize=LABEL if down <= 25 else SMALL,
            color=palette.INK,
        ),
        _layer(
            "text",
            "head",
            {**here, "text": "t:N"},
            **(
                {"angle": 270, "align": "left", "dx": 5, "baseline": "middle"}
                if upright
                else {"dy": -6, "lineBreak": "\n"}
            ),
            **size,
        ),
        _layer(
            "text",
            "title",
            {**here, "text": "t:N"},
            align="left",
            fontSize=LABEL,
            fontStyle="italic",
            color=palette.INK,
        ),
    ]
    data: Data = []
    missing = masked = False
    there = set()
    for item in made.items:
        box = {"f": item.panel, "p": item.x, "q": item.x + 1, "v": item.y, "w": item.y + 1}
        there.add((item.panel, item.x, item.y))
        # left blank, as the paper has it; the table has its number
        if figure.mask and item.row.get(figure.mask) is True:
            masked = True
            continue
        if math.isnan(item.value):
            missing = True
            data += _crossed(box)
            continue
        share = (
            (on.inside(item.value) - low) / (high - low)
            if math.isfinite(item.value)
            else float(item.value > 0)
        )
        c = palette.scaled(share, stops)
        data.append({"m": "cell", **box, "c": c})
        if numbered:
            data.append(
                {
                    "m": "in",
                    "f": item.panel,
                    "p": item.x + 0.5,
                    "v": item.y + 0.5,
                    "t": _text(item, figure.label) if figure.label else written(item.value, places),
                    "c": palette.on(c),
                }
            )
    for panel in _of_panels(made):
        for i in range(across):
            for j in range(down):
                if (panel, i, j) not in there:  # no row is no number, too
                    missing = True
                    data += _crossed({"f": panel, "p": i, "q": i + 1, "v": j, "w": j + 1})
        corners = (
            (0, 0, across, 0),
            (across, 0, across, down),
            (across, down, 0, down),
            (0, down, 0, 0),
        )
        data += [
            {"m": "frame", "f": panel, "p": p, "v": v, "q": q, "w": w} for p, v, q, w in corners
        ]
        data += [
            {"m": "head", "f": panel, "p": i + 0.5, "v": -15 * head.count("\n") / height, "t": head}
            for i, head in enumerate(heads)
        ]
        if panel % columns == 0:
            data += [
                {"m": "row", "f": panel, "p": 0, "v": j + 0.5, "t": row}
                for j, row in enumerate(rows)
            ]
    # Equal colours beside each other, so that they become one path
    data.sort(
        key=lambda row: (
            row["m"] == "cell",
            row.get("c", "") if row["m"] == "cell" else "",
            row["f"],
        )
    )
    notes = []
    axes = [made.titles.get(key, key.replace("_", " ")) for key in (figure.y, figure.x)]
    notes.append(f"Rows: {axes[0]}; columns: {axes[1]}.")
    ends = scale([*values], (), figure.domain, [] if reference is None else [reference], count=3)
    from_, to = (ends.low - low) / (high - low), (ends.high - low) / (high - low)
    shades = tuple(palette.scaled(from_ + (to - from_) * i / 24, stops) for i in range(25))
    shown = tuple(
        ((t - ends.low) / ends.span, written(t, places if t != round(t) else 0))
        for t in (ends.low, ends.high, *ends.ticks)
    )
    signs = [
        Sign(
            "number",
            made.titles.get(figure.colour or "", "") or (figure.colour or ""),
            stops=shades,
            ticks=shown,
        )
    ]
    signs.append(Sign("text", f"Rows: {axes[0]} – columns: {axes[1]}"))
    if reference is not None:
        signs.append(
            Sign(
                "text",
                f"White: no bias ({written(reference, 0 if reference == round(reference) else places)})",
            )
        )
    if masked:
        signs.append(Sign("text", f"Blank: {made.titles.get(figure.mask or '', 'masked')}"))
    signs += [Sign("missing", "no value")] if missing else []
    return Drawn(
        _assembled(layers, data, made, cell * across, height * down, columns), signs, notes
    )


def _crossed(box: Mapping[str, Any]) -> Data:
    middle = {"m": "gap", "f": box["f"]}
    p, v = box["p"], box["v"]
    return [
        {**middle, "p": p + 0.3, "q": p + 0.7, "v": v + 0.3, "w": v + 0.7},
        {**middle, "p": p + 0.3, "q": p + 0.7, "v": v + 0.7, "w": v + 0.3},
    ]


# ---- Radar


def _radar(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    axes = len(made.xs)
    columns = 1 if len(made.panels) == 1 else 2
    room = 330 if columns == 1 else 240
    names = unlike(made.xs, lines(88, 2, SMALL))
    radius = room / 2 - 46
    width, height = room + (90 if columns == 1 else 0), room - 20
    middle = width / 2, height / 2
    also = [figure.reference] if figure.reference is not None else []
    values = [item.value for item in made.items]
    start = [] if any(v < 0 for v in values if math.isfinite(v)) or figure.domain else [0.0]
    on = scale(values, (), figure.domain, [*also, *start], count=4)
    if figure.domain is None and on.low < 0:  # the least number is no point in the middle
        on = padded(on, 0.12, 0)

    def at(axis: float, value: float, beyond: float = 0) -> dict[str, float]:
        angle = 2 * math.pi * axis / axes
        far = (on.inside(value) - on.low) / on.span * radius + beyond
        return {"p": middle[0] + far * math.sin(angle), "v": middle[1] - far * math.cos(angle)}

    def between(value: float) -> dict[str, float]:
        """On a ring in the middle between the first two axes, where no value stands."""
        one, other = at(0, value), at(1, value)
        return {key: (one[key] + other[key]) / 2 for key in one}

    x = alt.X("p:Q", scale=alt.Scale(domain=[0, width], nice=False), axis=None)
    y = alt.Y("v:Q", scale=alt.Scale(domain=[height, 0], nice=False, zero=False), axis=None)
    here = {"x": x, "y": y}
    path = {**here, "order": alt.Order("i:Q"), "detail": "s:N"}
    layers = [
        _layer("line", "ring", path, stroke=palette.GRID, strokeWidth=1),
        _layer("line", "ref", path, stroke=palette.INK, strokeWidth=1.4, strokeDash=[5, 3]),
        _layer("line", "line", {**path, "stroke": _raw("Stroke", "c")}, strokeWidth=2),
        _layer(
            "point",
            "point",
            {**here, "color": _raw("Color", "c"), "shape": _raw("Shape", "sh")},
            filled=True,
            opacity=1,
            size=40,
        ),
        _layer(
            "text",
            "left",
            {**here, "text": "t:N"},
            align="right",
            fontSize=SMALL,
            lineBreak="\n",
            color=palette.INK,
        ),
        _layer(
            "text",
            "right",
            {**here, "text": "t:N"},
            align="left",
            fontSize=SMALL,
            lineBreak="\n",
            color=palette.INK,
        ),
        _layer(
            "text",
            "middle",
            {**here, "text": "t:N"},
            align="center",
            fontSize=SMALL,
            lineBreak="\n",
            color=palette.INK,
        ),
        _layer(
            "text",
            "tick",
            {**here, "text": "t:N"},
            align="center",
            baseline="middle",
            fontSize=10,
            color=palette.INK,
        ),
        _layer("text", "none", {**here, "text": "t:N"}, fontSize=LABEL, color=palette.INK),
    ]
    data: Data = []
    places = digits(on)
    rings = sorted({*on.ticks, on.high})
    for panel in _of_panels(made):
        for ring in rings:
            data += [
                {"m": "ring", "f": panel, **at(i, ring), "s": f"r{ring}", "i": i}
                for i in range(axes + 1)
            ]
        if figure.reference is not None:
            data += [
                {"m": "ref", "f": panel, **at(i, figure.reference), "s": "ref", "i": i}
                for i in range(axes + 1)
            ]
        for i, name in enumerate(names):
            data += [
                {"m": "ring", "f": panel, **at(i, end), "s": f"a{i}", "i": n}
                for n, end in enumerate((on.low, on.high))
            ]
            side = math.sin(2 * math.pi * i / axes)
            m = "middle" if abs(side) < 0.3 else "right" if side > 0 else "left"
            where = at(i, on.high, 9 if m != "middle" else 13)
            taller = name.count("\n") * SMALL * 1.15
            up = (
                taller / 2
                if m != "middle"
                else taller
                if math.cos(2 * math.pi * i / axes) > 0
                else 0
            )
            data.append(
                {
                    "m": m,
                    "f": panel,
                    "p": where["p"],
                    "v": where["v"] - up + SMALL * 0.35,
                    "t": name,
                }
            )
        data += [
            {"m": "tick", "f": panel, **between(t), "t": written(t, 0 if t == round(t) else places)}
            for t in on.ticks
        ]
    missing = False
    of: dict[tuple[int, int], dict[int, Item]] = defaultdict(dict)
    for item in made.items:
        of[item.panel, item.series][item.x] = item
    for (panel, series), found in of.items():
        there = [i for i in range(axes) if i in found and math.isfinite(found[i].value)]
        for i in sorted(set(range(axes)) - set(there)):
            missing = True
            data.append({"m": "none", "f": panel, **at(i + 0.03 * series, on.high, -7), "t": "×"})
        # From a gap on, so that each piece is one line; without a gap it closes.
        begin = next((i + 1 for i in range(axes) if i not in there), 0)
        piece = 0
        for n in range(axes + (len(there) == axes)):
            i = (begin + n) % axes
            if i not in there:
                piece += 1
                continue
            data.append(
                {
                    "m": "line",
                    "f": panel,
                    **at(i, found[i].value),
                    "s": f"{series} {piece}",
                    "i": n,
                    "c": palette.paint("dashed", series),
                }
            )
            if n < axes:
                data.append(
                    {
                        "m": "point",
                        "f": panel,
                        **at(i, found[i].value),
                        "c": palette.paint("solid", series),
                        "sh": palette.shape(series),
                    }
                )
    signs = [*_signs(made, "line"), *_unbiased(made, places), *_footnotes(missing, False)]
    title = made.titles.get(figure.y, "")
    if title:
        signs.insert(0, Sign("text", f"From the middle outwards: {title}"))
    return Drawn(_assembled(layers, data, made, width, height, columns, below=False), signs, [])


# ---- Labelled points


def _scatter(made: Plan) -> Drawn:
    alt, figure = _alt(), made.figure
    many = len(made.items) / len(made.panels)
    width, height = (560.0, 640.0) if many > 60 else (420.0, 460.0 if many > 30 else 340.0)
    places = [(number(item.row.get(figure.x)), item.value) for item in made.items]
    there = [place for place in places if math.isfinite(place[0]) and math.isfinite(place[1])]
    also = [figure.reference] if figure.reference is not None else []
    on_x = padded(scale((p[0] for p in there), (), figure.domain, count=6), 0.05, 0.05)
    on_y = padded(scale((p[1] for p in there), (), figure.domain, also), 0.05, 0.05)
    titles = [made.titles.get(key) or key.replace("_", " ") for key in (figure.x, figure.y)]
    x = alt.X("p:Q", **_number_axis(on_x, titles[0], width))
    y = alt.Y("v:Q", **_number_axis(on_y, titles[1], height))
    here = {"x": x, "y": y}
    layers = [
        _layer("rule", "ref", {"y": y}, color=palette.INK, strokeDash=[5, 3], strokeWidth=1.4),
        _layer(
            "rule",
            "leader",
            {**here, "x2": alt.X2("q"), "y2": alt.Y2("w")},
            color=palette.INK,
            strokeWidth=0.6,
            opacity=0.7,
        ),
        _layer(
            "point",
            "point",
            {**here, "color": _raw("Color", "c"), "shape": _raw("Shape", "sh")},
            filled=True,
            opacity=1,
            size=38,
        ),
        *(
            _layer(
                "text",
                align,
                {**here, "text": "t:N"},
                align=align,
                fontSize=SMALL,
                color=palette.INK,
            )
            for align in ("left", "right", "center")
        ),
    ]
    data: Data = [
        {"m": "ref", "f": panel, "v": figure.reference}
        for panel in _of_panels(made)
        if figure.reference is not None
    ]
    without = sum(not (math.isfinite(p[0]) and math.isfinite(p[1])) for p in places)
    left_out = 0
    for panel in _of_panels(made):
        spots = []
        for item, (px, py) in zip(made.items, places, strict=True):
            if item.panel == panel and math.isfinite(px) and math.isfinite(py):
                common = {"f": panel, "p": px, "v": py}
                data.append(
                    {
                        "m": "point",
                        **common,
                        "c": palette.paint("solid", item.series),
                        "sh": palette.shape(item.series),
                    }
                )
                text = _text(item, figure.label)
                spots.append(
                    (
                        (px - on_x.low) / on_x.span * width,
                        (on_y.high - py) / on_y.span * height,
                        text,
                    )
                )
        placed = labels(spots, width, height)
        for spot, where in zip(spots, placed, strict=True):
            if where is not None:
                left, middle, align, text = where
                if math.hypot(left - spot[0], middle - spot[1]) > NEAR:
                    across, down = left / width * on_x.span, middle / height * on_y.span
                    start = {
                        "p": on_x.low + spot[0] / width * on_x.span,
                        "v": on_y.high - spot[1] / height * on_y.span,
                    }
                    data.append(
                        {
                            "m": "leader",
                            "f": panel,
                            **start,
                            "q": on_x.low + across,
                            "w": on_y.high - down,
                        }
                    )
                data.append(
                    {
                        "m": align,
                        "f": panel,
                        "p": on_x.low + left / width * on_x.span,
                        "v": on_y.high - middle / height * on_y.span,
                        "t": text,
                    }
                )
            elif spot[2]:
                left_out += 1
    notes, signs = [], [*_signs(made, "point"), *_unbiased(made, 2)]
    if left_out:
        said = f"Without room for its label: {left_out} of {len(there)}; the table has them all."
        notes.append(said)
        signs.append(Sign("text", said))
    if without:
        said = f"Not drawn, since they have no place: {without}."
        notes.append(said)
        signs.append(Sign("text", said))
    return Drawn(_assembled(layers, data, made, width, height, 1), signs, notes)


def _text(item: Item, key: str | None) -> str:
    return (
        cut(label(item.row.get(key)), 130, SMALL)
        if key and item.row.get(key) not in (None, "")
        else ""
    )


NEAR = 15.0
"""Pixels from a point to its label; a line leads to one that is farther."""
PLACES: tuple[tuple[float, float, str], ...] = (
    (6, 0, "left"),
    (-6, 0, "right"),
    (0, -10, "center"),
    (0, 11, "center"),
    (4, -9, "left"),
    (4, 10, "left"),
    (-4, -9, "right"),
    (-4, 10, "right"),
    *(
        (dx, dy, "left")
        for reach in (18, 28, 38)
        for dx, dy in ((reach, -9), (reach, 10), (reach / 2, -reach), (reach / 2, reach))
    ),
    *(
        (-dx, dy, "right")
        for reach in (18, 28, 38)
        for dx, dy in ((reach, -9), (reach, 10), (reach / 2, -reach), (reach / 2, reach))
    ),
)
"""Where a label may stand, the best first: (right, down, alignment)."""


def labels(
    spots: Sequence[tuple[float, float, str]], width: float, height: float
) -> list[tuple[float, float, str, str] | None]:
    """Where the labels of points stand, so that none covers another or a point: (x, y of its
    middle, alignment, text); None for one that has no room. Those with the least room around choose
    first.

    spots: (x, y, label) in pixels, within width and height.
    """
    high = SMALL + 1
    dots = [(x - 4, y - 4, x + 4, y + 4) for x, y, _ in spots]
    near = [sum(abs(x - a) < 60 and abs(y - b) < 16 for a, b, _ in spots) for x, y, _ in spots]
    found: list[tuple[float, float, str, str] | None] = [None] * len(spots)
    taken: list[tuple[float, float, float, float]] = []
    for index in sorted(range(len(spots)), key=lambda i: (near[i], i)):
        x, y, text = spots[index]
        if not text:
            continue
        long = wide(text, SMALL)
        for dx, dy, align in PLACES:
            left = x + dx - {"left": 0, "right": long, "center": long / 2}[align]
            box = (left - 1, y + dy - high / 2, left + long + 1, y + dy + high / 2)
            if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height:
                continue
            if any(_overlap(box, other) for other in taken) or any(
                _overlap(box, dot) for n, dot in enumerate(dots) if n != index
            ):
                continue
            taken.append(box)
            found[index] = (x + dx, y + dy, align, text)
            break
    return found


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
