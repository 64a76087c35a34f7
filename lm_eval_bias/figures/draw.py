"""Draw an exhibit: one function from rows to SVG, and the same as PNG and PDF."""

import re
from collections.abc import Sequence
from typing import Any

import vl_convert

from lm_eval_bias.exhibit import Exhibit, Row
from lm_eval_bias.figures.finding import finding, unit_and_n
from lm_eval_bias.figures.kinds import chart
from lm_eval_bias.figures.rows import COLUMN, PAGE, plan
from lm_eval_bias.figures.svg import FONT, SERIF, SMALL, Lines, rewritten
from lm_eval_bias.results.escape import shortened, visible

TITLE = 300
LEAST, TALLEST = 0.75, 9 * 96
"""A figure that must be shrunk further for one column, or is higher there than a page's text, is
written for two alone."""


def svg(
    exhibit: Exhibit,
    rows: Sequence[Row],
    *,
    name: str,
    title: str,
    seen: str = "",
    description: str = "",
    source: str = "",
    n: int | str | None = None,
    model: str | None = None,
    width: float = PAGE,
) -> str:
    """The figure as SVG.

    rows: from `exhibit.rows`. name: an id, unique on the page. title: what is shown; seen: what is
    seen, by default what a rule says. description: alternative text. source, n: below and
    beside the title. model: the key of the model's name. Raises ValueError that says why nothing
    can be drawn.
    """
    planned = plan(exhibit, rows, model, width)
    specification, notes = chart(planned)
    vega = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    seen = seen or finding(planned, "" if exhibit.numbered else exhibit.name)
    shown, seen = visible(shortened(title, TITLE)), visible(seen)
    about = " · ".join(
        part for part in (shown.rstrip(".") if seen else "", unit_and_n(planned, n)) if part
    )
    above = [Lines(seen or shown, 15 if width >= PAGE else 13, True, 6), Lines(about, 12)]
    below = [Lines(note, SMALL) for note in notes] + [Lines(visible(source), 10)]
    return rewritten(
        vega,
        name=name,
        title=seen or shown,
        description=" ".join([shortened(description, 2000), *notes]).strip(),
        above=[text for text in above if text.text],
        below=[text for text in below if text.text],
        width=width,
    )


def files(
    exhibit: Exhibit, rows: Sequence[Row], serif: bool = False, **words: Any
) -> dict[str, str | bytes]:
    """The figure as files, by their endings: of two columns of a paper, and drawn again for one.
    serif: for papers in Times."""
    page, column = (
        svg(exhibit, rows, **words, width=width).replace(FONT, SERIF if serif else FONT, 1)
        for width in (PAGE, COLUMN)
    )
    found: dict[str, str | bytes] = {".svg": page, ".png": png(page), ".pdf": pdf(page)}
    across, high = map(float, column.partition(' viewBox="0 0 ')[2].partition('"')[0].split())
    if across * LEAST <= COLUMN and high * min(1, COLUMN / across) <= TALLEST:
        found["-column.pdf"] = pdf(column)
    return found


def png(figure: str) -> bytes:
    """An SVG from `svg` as a picture on white, two pixels a unit."""
    start, _, parts = figure.partition("<defs")
    white = '<rect width="100%" height="100%" fill="white"/>'
    return vl_convert.svg_to_png(_inked(f"{start}{white}<defs{parts}"), scale=2)


def pdf(figure: str) -> bytes:
    """An SVG from `svg`, as many inches wide: 72 points each, which vl-convert takes for a unit."""
    start, end = figure.split(" viewBox", 1)
    points = re.sub(
        r'(width|height)="([\d.]+)"', lambda m: f'{m[1]}="{float(m[2]) * 0.75:g}"', start
    )
    return vl_convert.svg_to_pdf(_inked(f"{points} viewBox{end}"))


def _inked(figure: str) -> str:
    return figure.replace("<svg ", '<svg color="#1d1d1b" ', 1)
