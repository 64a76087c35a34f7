"""What a figure shows, in a sentence that a rule can say: a figure's title."""

from collections.abc import Iterable, Sequence
from math import isfinite, isnan, nan

from lm_eval_bias.figures.rows import Item, Plan, digits, label, number, scale, written
from lm_eval_bias.measure import Number
from lm_eval_bias.results.table import unit_text

NAMED = 2
"""Items, or panels, that a title names at most."""
LONGEST = 120
"""Characters of a title above which one panel must do, that with the greatest difference."""


def finding(plan: Plan, subject: str) -> str:
    """Which intervals of a test leave out its reference; without one the highest and the lowest.

    Empty where intervals or a single highest and lowest are lacking: the extremes of many numbers
    without intervals are no finding. subject: what is drawn; empty to name the axis."""
    figure = plan.figure
    items = [
        item
        for item in plan.items
        if isfinite(item.value) and not (figure.mask and item.row.get(figure.mask) is True)
    ]
    key = {"points": figure.x, "heatmap": figure.colour or ""}.get(figure.kind, figure.y)
    what = subject or plan.titles.get(key, key)
    if figure.reference is not None:
        sure = [item for item in items if not isnan(item.low)]
        return _beyond(plan, what, sure, figure.reference) if sure and figure.test else ""
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


def _beyond(plan: Plan, what: str, items: Sequence[Item], reference: float) -> str:
    beyond = [item for item in items if not item.low <= reference <= item.high]
    total, places = len(items), digits(scale(item.value for item in items))
    null = (
        f"{written(reference, 0 if reference == round(reference) else places)} ({plan.figure.null})"
    )
    if total == 1:
        return f"{what}: the interval {'leaves out' if beyond else 'includes'} {null}"
    if not beyond:
        return f"{what}: none of {total} intervals leaves out {null}"

    clear = sorted(
        beyond, key=lambda i: -abs(Number(i.value, nan, i.low, i.high).arms_from(reference))
    )[:NAMED]
    names = " and ".join(f"{_name(plan, item)} ({written(item.value, places)})" for item in clear)
    which = "clearest " if len(beyond) > NAMED else ""
    leave = "leaves" if len(beyond) == 1 else "leave"
    return (
        f"{what}: {len(beyond)} of {total} intervals {leave} out {null}: "
        f"{which}{names}; by chance {total / 20:.1g} would"
    )


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
    if figure.reference is not None and len(plan.panels) > 1:
        inner = plan.panels, item.panel
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
