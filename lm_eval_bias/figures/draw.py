"""Draw an exhibit: one function from rows to SVG, and the files that it is written as."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from lm_eval_bias.exhibit import Exhibit, Row
from lm_eval_bias.figures.chart import PADDING, chart
from lm_eval_bias.figures.plan import plan
from lm_eval_bias.figures.process import drawing
from lm_eval_bias.figures.text import FONT, wrapped
from lm_eval_bias.results.escape import shortened, visible

PAGE, COLUMN = 672, 322
"""Pixels, 96 to an inch, of the 7 inches of a page of two columns, and of the 3.35 of one."""


def svg(
    exhibit: Exhibit,
    rows: Sequence[Row],
    *,
    name: str,
    heading: str,
    description: str = "",
    source: str = "",
    n: str = "",
    model: str | None = None,
    width: float = PAGE,
) -> str:
    """The figure of an exhibit, on no ground, in the colour of the text around it.

    rows: from `exhibit.rows`. name: an id, unique on the page. description: alternative text.
    source, n: shown below. model: the key of the names of several models. Raises ValueError that
    says why nothing can be drawn.
    """
    planned = plan(exhibit, rows, model, width)
    drawn = drawing.call("vegalite_to_svg", chart(planned), allowed_base_urls=[])
    across, high = map(float, re.findall(r' (?:width|height)="([\d.]+)"', drawn)[:2])
    wide = max(across, width)
    notes = [*planned.notes, *[f"n = {n}"] * bool(n)]
    about = escape(". ".join([shortened(description, 2000), *notes]))
    heading = visible(heading)
    caption = visible(exhibit.caption) * (exhibit.caption != heading)
    above, top = _lines([(heading, 14), (caption, 12)], 0, wide)
    texts = [("; ".join(notes), 11), (visible(source), 10)]
    below, bottom = _lines(texts, top + high, wide)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {bottom:.1f}" '
        f'width="{width:g}" height="{bottom * width / wide:.1f}" role="img" font-family="{FONT}" '
        f'aria-labelledby="{name}-title" aria-describedby="{name}-desc">'
        f'<title id="{name}-title">{escape(heading)}</title><desc id="{name}-desc">{about}</desc>'
        f'{above}<svg y="{top:.1f}"{drawn[4:]}{below}</svg>\n'
    )


def _lines(texts: Sequence[tuple[str, int]], top: float, width: float) -> tuple[str, float]:
    """Texts with their font sizes, below each other, and where they end."""
    written = ""
    for text, size in texts:
        for line in wrapped(text, width - 30, size):
            top += 1.3 * size
            look = f'font-size="{size}" font-weight="{"bold" if size > 12 else "normal"}"'
            at = f'x="{PADDING}" y="{top:.1f}" fill="currentColor"'
            written += f"<text {at} {look}>{escape(line)}</text>"
    return written, top + PADDING


def files(exhibit: Exhibit, rows: Sequence[Row], **words: Any) -> dict[str, str | bytes]:
    """The figure as files, by their endings."""
    page, column = (svg(exhibit, rows, **words, width=width) for width in (PAGE, COLUMN))
    white = page.replace("<title", '<rect width="100%" height="100%" fill="white"/><title', 1)
    return {
        ".svg": page,
        ".png": drawing.call("svg_to_png", white, scale=2),
        "-column.pdf": _pdf(column),
        ".pdf": _pdf(page),
    }


def _pdf(figure: str) -> bytes:
    """72 points are 96 pixels, and vl-convert takes a pixel for a point."""
    sides = r' (width|height)="([\d.]+)"(?=[^>]* role="img")'
    points = re.sub(sides, lambda m: f' {m[1]}="{0.75 * float(m[2])}"', figure)
    return drawing.call("svg_to_pdf", points)
