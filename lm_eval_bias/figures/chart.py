"""Each kind of figure as a Vega-Lite chart.

No text of a row is an expression or a field: fields are those of `plan.Item`, and axes and legends
look up labels in parameters, by index.
"""

from itertools import chain
from typing import Any

from lm_eval_bias.exhibit import Ends
from lm_eval_bias.figures.palette import COLOURS, INK
from lm_eval_bias.figures.plan import Plan
from lm_eval_bias.figures.text import FONT, SIZE, SMALL, place, widest, wrapped
from lm_eval_bias.results.table import number_text

Spec = dict[str, Any]
"""A part of a Vega-Lite specification."""
PADDING, GAP = 5, 20
"""Vega-Lite's pixels around a figure, and between its panels."""
_WORDS = {
    "labelColor": INK,
    "labelFontSize": SIZE,
    "labelLimit": 0,
    "titleColor": INK,
    "titleFontSize": SIZE,
    "titleFontWeight": "normal",
}
CONFIG: Spec = {
    "aria": False,
    "font": FONT,
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {"gridColor": INK, "gridOpacity": 0.2, "domain": False, **_WORDS},
    "header": {"labelFontWeight": "bold", **_WORDS},
    "legend": {"orient": "top", **_WORDS},
    "mark": {"aria": False, "color": COLOURS[0], "invalid": "break-paths-show-domains"},
    "rule": {"color": INK, "strokeWidth": 1.5},
    "text": {"color": INK},
    "range": {"category": COLOURS},
}
Panel = tuple[int, list[Spec], float, Any]
"""The columns of panels, and of each what it shows, its width and height."""


def chart(plan: Plan) -> Spec:
    """The Vega-Lite specification of a figure."""
    kinds = {"histogram": _histogram, "heatmap": _heatmap, "scatter": _scatter}
    columns, layers, width, height = kinds.get(plan.figure.kind, _categories)(plan)
    panel = {"layer": layers, "width": width, "height": height}
    labels = plan.labels
    if labels["panel"] != [""]:
        labels["panel"] = [wrapped(name, width * 0.9) for name in labels["panel"]]
        header = {"labelExpr": "panel[datum.value]"}
        facet = {"field": "panel", "title": None, "header": header}
        y = "shared" if plan.figure.kind == "histogram" else "independent"
        own = {"scale": {"y": y, "yOffset": "independent"}, "axis": {"x": "independent"}}
        panel = {"facet": facet, "columns": columns, "spec": panel, "resolve": own}
    params = [{"name": field, "value": texts} for field, texts in labels.items()]
    return {**panel, "params": params, "data": {"values": plan.items}, "config": CONFIG}


def _room(plan: Plan, beside: float, least: float = 130) -> tuple[int, float]:
    """The columns of panels, and the width of one. beside: pixels left and right of it."""
    room = plan.width - 20  # an axis' last label stands over its end
    half = (room - GAP) / 2 - beside
    two = len(plan.labels["panel"]) > 1 and half >= least
    return (2, half) if two else (1, room - beside)


def _layer(mark: str, channels: Spec, where: str = "true", **look: Any) -> Spec:
    """where: an expression, true of the items that are drawn."""
    look["type"] = mark
    return {"mark": look, "encoding": channels, "transform": [{"filter": where}]}


def _number(title: str, size: float, domain: Ends | None) -> Spec:
    """A channel of numbers, without its field. size: of the axis, in pixels."""
    scale = {"domain": domain} if domain else {"zero": False}
    axis = {"title": wrapped(title, size), "tickCount": size // 60}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def _category(field: str, padding: float, **axis: Any) -> Spec:
    """A channel of categories."""
    axis["labelExpr"] = f"{field}[datum.value]"
    return {"field": field, "scale": {"paddingInner": padding}, "axis": axis}


def _series(plan: Plan) -> Spec:
    """The channels by which series differ, with a legend. Bars have no shape."""
    series, figure = plan.labels["series"], plan.figure
    columns = int(plan.width // (widest(series) + 40)) or 1
    legend = (
        {"labelExpr": "series[datum.value]", "columns": columns, "title": None}
        if len(series) > 1 and figure.colour != figure.x
        else None
    )
    channel = {"field": "series", "type": "nominal", "legend": legend}
    return {"color": channel, "shape": channel}


def _on(colour: str) -> Spec:
    """Black or white, whichever has more contrast. colour: an expression."""
    white = f"contrast({colour}, 'white') > contrast({colour}, 'black')"
    return {"expr": f"datum.v === null ? '{INK}' : {white} ? 'white' : 'black'"}


# ---- Bars, stacked bars, boxes, and points with intervals


def _categories(plan: Plan) -> Panel:
    figure, kind, items = plan.figure, plan.figure.kind, plan.items
    names = [wrapped(name, plan.width * 0.4) for name in plan.labels["name"]]
    plan.labels["name"] = names
    left = widest(chain(*names)) + 8
    right = 0 if kind == "stacked" else widest((item["t"] for item in items), SMALL) + 4
    columns, width = _room(plan, left + right)
    x = _number(plan.titles[figure.y], width, figure.domain)
    here = {"y": _category("name", 0.2, title=None, minExtent=left)}
    beside = len(plan.labels["series"]) * (kind in ("bars", "points"))
    if beside > 1:
        here["yOffset"] = {"field": "series"}
    value = here | {"x": x | {"field": "v"}}
    coloured = value | _series(plan)
    line = here | {"x": x | {"field": "l"}, "x2": {"field": "h"}}
    interval = _layer("rule", line)
    text = here | {"x": {"value": width}, "text": {"field": "t"}}
    marks = [_layer("text", text, align="left", dx=4)]
    colour = "scale('color', datum.series)"
    match kind:
        case "bars":
            marks += [_layer("bar", coloured), interval]
        case "stacked":
            scale = width / max(figure.domain or (1,))
            fits = f"datum.v * {scale} > 5.2 * length(datum.t)"
            middle = x | {"field": "v", "stack": "zero", "bandPosition": 0.5}
            number = {"condition": {"test": fits, "field": "t"}, "value": ""}
            inside = here | {"x": middle, "order": {"field": "series"}, "text": number}
            marks = [_layer("bar", coloured), _layer("text", inside, color=_on(colour))]
        case "boxes":
            box = coloured | {"x": x | {"field": "a"}, "x2": {"field": "b"}}
            middle = _layer("tick", value, color=INK, thickness=2.4)
            marks += [interval, _layer("bar", box), middle]
        case _:
            interval = _layer("rule", line, color={"expr": colour})
            marks += [interval, _layer("point", coloured, filled=True, opacity=1, size=58)]
    if kind != "boxes" and any(item["l"] is not None for item in items):
        plan.notes.append("Lines: 95 % intervals")
    if figure.reference is not None:
        plan.notes.append(f"Dashed line: {figure.null} ({number_text(figure.reference)})")
        null = _layer("rule", {"x": x | {"datum": figure.reference}}, strokeDash=[5, 3])
        marks.append({"data": {"values": [{}]}, **null})  # once, not for each row
    row = max(14 * max(map(len, names)) + 6, 13 * beside + 7)
    return columns, marks, width, {"step": row, "for": "position"}


# ---- Histograms


def _histogram(plan: Plan) -> Panel:
    figure, height = plan.figure, 180
    columns, width = _room(plan, 40)
    x = _number(plan.titles[figure.x], width, figure.domain) | {"field": "a", "bin": "binned"}
    y = _number(plan.titles[figure.y], height, None) | {"field": "v"}
    bar = _layer("bar", {"x": x, "x2": {"field": "b"}, "y": y})
    return columns, [bar], width, height


# ---- Heat maps


def _heatmap(plan: Plan) -> Panel:
    figure, names = plan.figure, plan.labels["name"]
    rows = [wrapped(name, 130) for name in plan.labels["row"]]
    plan.labels["row"] = rows
    left = widest(chain(*rows)) + 8
    columns, width = _room(plan, left + 30, 26 * len(names))
    cell = min(60, width / len(names))
    height = max(24, 14 * max(map(len, rows)) + 2)
    heads = [wrapped(name, cell - 4) for name in names]
    lines = max(map(len, heads))
    top: Spec = {"orient": "top", "title": plan.titles[figure.x]}
    if lines <= 2 and widest(chain(*heads)) <= cell - 4:
        plan.labels["name"] = heads
        top |= {"labelAngle": 0, "labelPadding": 14 * lines - 12}
    here = {
        "x": _category("name", 0, **top),
        "y": _category("row", 0, title=plan.titles[figure.y], minExtent=left),
    }
    legend = {"title": plan.titles[figure.colour], "type": "symbol"}
    scale = {"domain": figure.domain} if figure.domain else {}
    fill = {"field": "v", "type": "quantitative", "scale": scale, "legend": legend}
    layers = [_layer("rect", here | {"fill": fill})]
    if widest((item["t"] for item in plan.items), SMALL) <= cell - 3:
        ink = _on("scale('fill', datum.v)")
        layers.append(_layer("text", here | {"text": {"field": "t"}}, color=ink))
    if any(item["t"] == "" for item in plan.items):
        plan.notes.append(f"Blank: {plan.titles[figure.mask]}")
    return columns, layers, cell * len(names), height * len(rows)


# ---- Labelled points


def _scatter(plan: Plan) -> Panel:
    figure, items = plan.figure, [item for item in plan.items if item["v"] is not None]
    width = plan.width - 66
    height = 340 if len(items) < 40 else 620
    left, right = _ends([item["a"] for item in items])
    bottom, top = _ends([item["v"] for item in items])
    for item in items:
        item["x"] = (item["a"] - left) / (right - left) * width
        item["y"] = (top - item["v"]) / (top - bottom) * height
    left_out = sum(
        place([item for item in items if item["panel"] == panel], width, height)
        for panel in range(len(plan.labels["panel"]))
    )
    if left_out:
        plan.notes.append(f"Without room for its label: {left_out}, which the table has")
    point = {
        "x": _number(plan.titles[figure.x], width, (left, right)) | {"field": "a"},
        "y": _number(plan.titles[figure.y], height, (bottom, top)) | {"field": "v"},
        **_series(plan),
    }
    pixel = {"type": "quantitative", "scale": None}
    label = {"x": pixel | {"field": "p"}, "y": pixel | {"field": "q"}, "text": {"field": "t"}}
    line = label | {"x2": {"field": "x"}, "y2": {"field": "y"}}
    layers = [
        _layer("rule", line, "hypot(datum.p - datum.x, datum.q - datum.y) > 15", strokeWidth=0.5),
        _layer("point", point, filled=True, opacity=1, size=38),
        _layer(
            "text", label, "datum.p", align={"expr": "['right', 'center', 'left'][datum.side + 1]"}
        ),
    ]
    return 1, layers, width, height


def _ends(values: list[float]) -> Ends:
    """The ends of a scale that has room around the values."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room
