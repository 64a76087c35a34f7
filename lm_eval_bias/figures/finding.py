"""The title of a figure that tests nothing: its highest and lowest number."""

from collections.abc import Iterable, Sequence
from math import isfinite, isnan

from lm_eval_bias.figures.rows import Item, Plan, digits, label, number, scale, written
from lm_eval_bias.results.table import unit_text

NAMED = 2
"""Items, or panels, that a title names at most."""
LONGEST = 120
"""Characters of a title above which one panel must do, that with the greatest difference."""


def finding(plan: Plan, subject: str) -> str:
    """The highest and the lowest number.

    Empty for a test, whose heading is its verdict, and where a single highest and lowest are
    lacking. subject: what is drawn; empty to name the axis."""
    figure = plan.figure
    items = [
        item
        for item in plan.items
        if isfinite(item.value) and not (figure.mask and item.row.get(figure.mask) is True)
    ]
    key = {"points": figure.x, "heatmap": figure.colour or ""}.get(figure.kind, figure.y)
    what = subject or plan.titles.get(key, key)
    if figure.reference is not None:
        return ""
    if figure.kind == "scatter":
        if len(items) < 2 or not (figure.label and {figure.x, figure.y} <= plan.units.keys()):
            return ""
        across = [item._replace(value=number(item.row[figure.x])) for item in items]
        axes = ((figure.x, across), (figure.y, items))
        ends_of = [(plan.titles[key], _ends(plan, of)) for key, of in axes]
        return "; ".join(f"{title}: {of}" for title, of in ends_of if of)
    if figure.kind == "histogram" or len(items) < 2:
        return ""
    stacked = figure.kind == "stacked"
    parts, names = ("series", plan.series) if stacked else ("panel", plan.panels)
    groups = [[i for i in items if getattr(i, parts) == n] for n in range(len(names))]
    told = [
        (_span(of), name, ends)
        for name, of in zip(names, groups, strict=True)
        if (ends := _ends(plan, of))
    ]
    told.sort(key=lambda part: -part[0])
    sentences = [f"{name}: {ends}" if name else ends for _, name, ends in told]
    if stacked or len(told) > NAMED or sum(map(len, sentences)) > LONGEST:
        sentences = sentences[:1]
    return f"{what}{', ' if told[0][1] else ': '}{'; '.join(sentences)}" if told else ""


def _span(items: Sequence[Item]) -> float:
    values = [item.value for item in items]
    return max(values) - min(values)


def _ends(plan: Plan, items: Sequence[Item]) -> str:
    """The highest and the lowest of the items; empty if several share an end."""
    values = [item.value for item in items]
    places = 0 if all(v == round(v) for v in values) else digits(scale(values))
    texts = [written(value, places) for value in values]
    parts = []
    for end, of in (("highest", max), ("lowest", min)):
        item = of(items, key=_value, default=None)
        if item is None or texts.count(text := written(item.value, places)) > 1:
            return ""
        parts.append(f"{end} {_name(plan, item)} ({text})")
    high, low = max(items, key=_value), min(items, key=_value)
    overlaps = low.high >= high.low and not plan.figure.five  # a box is no interval
    overlap = ", with intervals that overlap" if overlaps else ""
    return f"{', '.join(parts)}{overlap}" if high is not low else ""


def _value(item: Item) -> float:
    return item.value


def _name(plan: Plan, item: Item) -> str:
    """What tells an item from the others in its panel or series."""
    figure = plan.figure
    if figure.kind == "scatter":
        return label(item.row.get(figure.label or ""))
    if figure.kind == "heatmap":
        titles = [plan.titles.get(key, key) for key in (figure.y, figure.x)]
        return f"{titles[0]} {plan.ys[item.y]}, {titles[1]} {plan.xs[item.x]}"
    inner = (plan.panels, item.panel) if figure.kind == "stacked" else (plan.series, item.series)
    names = [of[at] for of, at in ((plan.xs, item.x), inner) if len(of) > 1]
    return ", ".join(dict.fromkeys(names)) or "this one"


def unit_and_n(plan: Plan, n: int | str | None) -> str:
    """The units of what is drawn, whether it has intervals, and the n of its numbers."""
    figure = plan.figure
    keys: Iterable[str | None] = (figure.x, figure.y, figure.colour, *(figure.five or ()))
    units = dict.fromkeys(unit_text(plan.units.get(key or "", "")) for key in keys)
    parts = [f"in {unit}" for unit in units if unit]
    if any(not isnan(item.low) for item in plan.items) and not figure.five:
        parts.append("lines are 95\u00a0% intervals")
    if n not in (None, ""):
        parts.append(f"n\u00a0=\u00a0{n if isinstance(n, str) else f'{n:,}'}")
    return ", ".join(parts)
