"""A figure in a page, where the extra `report` is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Rows

COLUMN = 322
"""Pixels of a figure that stands beside others."""
MISSING = "Figures are drawn by the extra `report`: pip install 'lm-eval-bias[report]'."


def installed() -> bool:
    return find_spec("vl_convert") is not None


def figure(
    how: Figure, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], **words: Any
) -> str:
    """The SVG of rows; empty where it cannot be drawn, such as of models that share a name."""
    from lm_eval_bias.figures import draw

    try:
        return draw.svg(Exhibit("", "", Rows(""), columns, "", "", how), rows, **words)
    except ValueError:
        return ""
