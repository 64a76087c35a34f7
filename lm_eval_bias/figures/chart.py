"""Each kind of figure as a Vega-Lite chart.

No text of a row is an expression, a field, or a value that Vega sorts by: the fields are those of
`plan.Item`, and labels are parameters in which axes and legends look up an index.
"""

from itertools import chain
from typing import Any

from lm_eval_bias.exhibit import Ends
from lm_eval_bias.figures.palette import COLOURS, INK
from lm_eval_bias.figures.plan import MISSING, Plan
from lm_eval_bias.figures.text import FONT, SIZE, SMALL, place, wide, widest, wrapped
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
    "mark": {"aria": False, "color": COLOURS[0]},
    "rule": {"color": INK, "strokeWidth": 1.5},
    "text": {"color": INK, "fontSize": SMALL},
    "range": {"category": COLOURS},
}
ONCE: Spec = {"data": {"values": [{}]}}
"""Of a layer that does not depend on the rows."""
Panel = tuple[int, Spec, Spec, list[str]]
"""The columns of panels; what each shows; labels by the name of their parameter; notes."""


def chart(plan: Plan) -> tuple[Spec, list[str]]:
    """The Vega-Lite specification of a figure, and notes that explain its signs."""
    kinds = {"histogram": _histogram, "heatmap": _heatmap, "scatter": _scatter}
    lacking = sum(item["t"] == MISSING for item in plan.items)
    columns, panel, texts, notes = kinds.get(plan.figure.kind, _categories)(plan)
    texts["series"] = plan.series
    if plan.panels != [""]:
        texts["panels"] = [wrapped(name, panel["width"] * 0.9) for name in plan.panels]
        facet = {"field": "f", "title": None, "header": {"labelExpr": "panels[datum.value]"}}
        apart = "shared" if plan.figure.kind == "histogram" else "independent"
        scale = {"y": apart, "yOffset": apart}
        own = {"scale": scale, "axis": {"x": "independent"}}
        panel = {"facet": facet, "columns": columns, "spec": panel, "resolve": own}
    panel["params"] = [{"name": name, "value": value} for name, value in texts.items()]
    notes += [f"Without a number: {lacking}"] * bool(lacking)
    return {**panel, "data": {"values": plan.items}, "config": CONFIG}, notes


def _room(plan: Plan, beside: float, least: float = 130) -> tuple[int, float]:
    """The columns of panels, and the width of one. beside: of what stands left and right of it."""
    room = plan.width - 20  # an axis' last label stands over its end
    half = (room - GAP) / 2 - beside
    return (2, half) if len(plan.panels) > 1 and half >= least else (1, max(room - beside, 130))


def _layer(mark: str, channels: Spec, where: str = "true", **look: Any) -> Spec:
    """where: an expression, true of the items that are drawn."""
    look["type"] = mark
    return {"mark": look, "encoding": channels, "transform": [{"filter": where}]}


def _number(title: str, size: float, domain: Ends | None) -> Spec:
    """A channel of numbers, without its field. size: of the axis, in pixels."""
    scale = {"domain": domain} if domain else {"zero": False}
    axis = {"title": wrapped(title, size), "tickCount": size // 60}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def _category(name: str, texts: str, padding: float, **axis: Any) -> Spec:
    """A channel of categories. texts: the parameter that has their labels."""
    axis |= {"labelExpr": f"{texts}[datum.value]", "grid": False}
    scale = {"type": "band", "paddingInner": padding}
    return {"field": name, "type": "nominal", "scale": scale, "axis": axis}


def _series(plan: Plan, *channels: str) -> Spec:
    """The channels by which series differ, with a legend."""
    if len(plan.series) == 1:
        return {}
    columns = int(plan.width // (widest(plan.series) + 40)) or 1
    legend = {"labelExpr": "series[datum.value]", "columns": columns, "title": None}
    shown = None if plan.figure.colour == plan.figure.x else legend
    return {channel: {"field": "s", "type": "nominal", "legend": shown} for channel in channels}


def _on(colour: str) -> Spec:
    """Black or white, whichever has more contrast on the colour that an expression gives."""
    missing = {"test": "datum.v === null", "value": INK}
    white = f"contrast({colour}, 'white') > contrast({colour}, 'black')"
    return {"condition": [missing, {"test": white, "value": "white"}], "value": "black"}


# ---- Bars, stacked bars, boxes, and points with intervals


def _categories(plan: Plan) -> Panel:
    figure, kind, items = plan.figure, plan.figure.kind, plan.items
    for item in items:
        item["c"] = COLOURS[item["s"] % len(COLOURS)]
    names = [wrapped(name, plan.width * 0.4) for name in plan.names]
    left = widest(chain(*names)) + 8
    right = 0 if kind == "stacked" else widest((item["t"] for item in items), SMALL) + 4
    columns, width = _room(plan, left + right)
    x = _number(plan.titles[figure.x if kind == "points" else figure.y], width, figure.domain)
    here = {"y": _category("k", "names", 0.2, title=None)}
    beside = kind in ("bars", "points") and len(plan.series) > 1
    if beside:
        here["yOffset"] = {"field": "s"}
    value = here | {"x": x | {"field": "v"}}
    bar = value | _series(plan, "color")
    line = {**here, "x": x | {"field": "l"}, "x2": {"field": "h"}}
    interval = _layer("rule", line)
    text = {**here, "x": {"value": width}, "text": {"field": "t"}}
    marks = [_layer("text", text, align="left", dx=4)]
    match kind:
        case "bars":
            marks += [_layer("bar", bar), interval]
        case "stacked":
            whole = max(figure.domain or (1,))
            for item in items:
                if item["v"] is not None and wide(item["t"], SMALL) > item["v"] / whole * width:
                    item["t"] = ""
            order = {"order": {"field": "s"}}
            middle = value["x"] | {"stack": "zero", "bandPosition": 0.5}
            inside = text | order | {"x": middle, "detail": {"field": "s"}}
            inside["color"] = _on("datum.c")
            marks = [_layer("bar", bar | order), _layer("text", inside)]
        case "boxes":
            box = bar | {"x": x | {"field": "a"}, "x2": {"field": "b"}}
            middle = _layer("tick", value, color=INK, thickness=2.4)
            marks += [interval, _layer("bar", box), middle]
        case _:
            point = value | _series(plan, "color", "shape")
            coloured = _layer("rule", line | {"color": {"field": "c", "scale": None}})
            marks += [coloured, _layer("point", point, filled=True, opacity=1, size=58)]
    notes = []
    if kind != "boxes" and any(item["l"] is not None for item in items):
        notes.append("Lines: 95 % intervals")
    if figure.reference is not None:
        null = {"x": x | {"datum": figure.reference}}
        marks.append(ONCE | _layer("rule", null, strokeDash=[5, 3]))
        notes.append(f"Dashed line: {figure.null} ({number_text(figure.reference)})")
    row = max(14 * max(map(len, names)) + 6, 13 * len(plan.series) * beside + 8)
    panel = {"layer": marks, "width": width, "height": {"step": row, "for": "position"}}
    return columns, panel, {"names": names}, notes


# ---- Histograms


def _histogram(plan: Plan) -> Panel:
    figure, height = plan.figure, 180
    columns, width = _room(plan, 40)
    x = _number(plan.titles[figure.x], width, figure.domain)
    x |= {"field": "a", "bin": "binned"}
    y = _number(plan.titles[figure.y], height, None) | {"field": "v"}
    bar = _layer("bar", {"x": x, "x2": {"field": "b"}, "y": y, "y2": {"datum": 0}})
    return columns, {"layer": [bar], "width": width, "height": height}, {}, []


# ---- Heat maps


def _heatmap(plan: Plan) -> Panel:
    figure = plan.figure
    downs = [wrapped(name, 130) for name in plan.downs]
    left = widest(chain(*downs)) + 30
    columns, width = _room(plan, left, 26 * len(plan.names))
    cell = min(60, width / len(plan.names))
    height = max(24, 14 * max(map(len, downs)) + 2)
    heads = [wrapped(name, cell - 4) for name in plan.names]
    lines = max(map(len, heads))
    turned = lines > 2 or widest(chain(*heads)) > cell - 4
    angle = {} if turned else {"labelAngle": 0, "labelPadding": 14 * lines - 12}
    top = {"orient": "top", "title": plan.titles[figure.x], **angle}
    here = {"x": _category("k", "names", 0, **top)}
    here["y"] = _category("r", "downs", 0, title=plan.titles[figure.y])
    legend = {"title": plan.titles[figure.colour], "type": "symbol"}
    scale = {"domain": figure.domain} if figure.domain else {}
    fill = {"field": "v", "type": "quantitative", "scale": scale, "legend": legend}
    layers = [_layer("rect", here | {"fill": fill}, "datum.v !== null")]
    if widest((item["t"] for item in plan.items), SMALL) <= cell - 3:
        text = {"text": {"field": "t"}, "color": _on("scale('fill', datum.v)")}
        layers.append(_layer("text", here | text))
    notes = [f"Blank: {plan.titles[figure.mask]}"] * any(item["t"] == "" for item in plan.items)
    texts = {"names": plan.names if turned else heads, "downs": downs}
    shown = {"layer": layers, "width": cell * len(heads), "height": height * len(downs)}
    return columns, shown, texts, notes


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
        place([item for item in items if item["f"] == panel], width, height)
        for panel in range(len(plan.panels))
    )
    point = {
        "x": _number(plan.titles[figure.x], width, (left, right)) | {"field": "a"},
        "y": _number(plan.titles[figure.y], height, (bottom, top)) | {"field": "v"},
        **_series(plan, "color", "shape"),
    }
    pixel = {"type": "quantitative", "scale": None, "axis": None}
    label = {"x": pixel | {"field": "p"}, "y": pixel | {"field": "q"}, "text": {"field": "t"}}
    line = label | {"x2": {"field": "x"}, "y2": {"field": "y"}}
    layers = [
        _layer("rule", line, "datum.far", strokeWidth=0.5),
        _layer("point", point, filled=True, opacity=1, size=38),
        _layer("text", label, "datum.p", align={"expr": "datum.align"}),
    ]
    notes = [f"Without room for its label: {left_out}, which the table has"] * bool(left_out)
    return 1, {"layer": layers, "width": width, "height": height}, {}, notes


def _ends(values: list[float]) -> Ends:
    """The ends of a scale that has room around the values."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or abs(low) / 2 or 0.5
    return low - room, high + room
