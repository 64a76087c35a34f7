"""Draw an exhibit as SVG or PNG. The SVG takes the page's text colour and has no style, script or
link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import vl_convert
from altair.utils import schemapi

from lm_eval_bias.exhibit import Exhibit
from lm_eval_bias.figures.kinds import chart
from lm_eval_bias.figures.rows import plan
from lm_eval_bias.figures.svg import FONT, rewritten, wrapped
from lm_eval_bias.results.escape import shortened, visible

TITLE = 300
MARGIN, HEADING, LINE = 6, 14, 18


def svg(
    exhibit: Exhibit,
    rows: Sequence[Mapping[str, Any]],
    *,
    name: str,
    title: str,
    description: str,
    model: str | None = None,
) -> str:
    """The figure as SVG.

    rows: from `exhibit.rows`. name: an id, unique on the page. title, description: alternative
    text. model: the key of the model's name. Raises ValueError that says why nothing can be drawn.
    """
    planned = plan(exhibit, rows, model)
    # Altair's check against its schema is slow; the tests do it.
    with schemapi.debug_mode(False):
        specification, notes = chart(planned)
    vega = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    described = " ".join([shortened(description, 2000), *notes]).strip()
    return rewritten(vega, name=name, title=shortened(title, TITLE), description=described)


def png(figure: str, *, title: str) -> bytes:
    """An SVG from `svg` as a picture on white, two pixels a unit."""
    start, _, parts = figure.partition(">")
    size = ElementTree.fromstring(f"{start}/>")
    width, height = int(size.get("width", 0)), int(size.get("height", 0))
    lines = wrapped(visible(shortened(title, TITLE)), (width - 2 * MARGIN) / 1.08, 4, HEADING)
    top = LINE * len(lines) + 8
    heading = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + HEADING + LINE * n}">{escape(line)}</text>'
        for n, line in enumerate(lines)
    )
    # an inner svg element would be clipped, which is slower
    return vl_convert.svg_to_png(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + top}" '
        f'color="#1d1d1b" font-family="{FONT}" font-size="12" fill="none">'
        f'<rect width="{width}" height="{height + top}" fill="white"/>'
        f'<g font-size="{HEADING}" font-weight="bold" fill="currentColor">{heading}</g>'
        f'<g transform="translate(0 {top})">{parts.replace("</svg>", "</g></svg>")}',
        scale=2,
    )
