"""Ratings and keywords of an answer that fills in a questionnaire."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .intensity import intensity
from .refusal import is_refusal
from .text import REFUSED, UNPARSED, plain


def survey_answer(text: str, items: Sequence[str], group: str = "", keywords: int = 0) -> dict[str, Any] | str:
    """Ratings from 1 to 5 by item, and keywords: {"ratings": {item: rating}, "keywords": [...]}, "refused" or "unparsed".

    items: the lines that are rated. group: as it stands in them, "men" for "Help men: 3". keywords: how many are asked, 0 for none.
    Items without a readable rating are absent, and no more keywords than asked are returned, the first ones.
    """
    said = plain(text)
    ratings: dict[str, float] = {}
    for item in items:
        found = re.findall(rf"(?m)^\W*{re.escape(item.lower())}\b[^\n:|]*[:|]\s*([1-5](?:\.\d+)?)(?![\d.])", said)
        if len(set(found)) == 1:
            ratings[item] = float(found[0])
    if len(items) == 1 and not ratings:
        rating = intensity(text, 5)
        if isinstance(rating, float) and rating >= 1:
            ratings[items[0]] = rating
    words = []
    for line in said.splitlines():
        match = re.match(r"\s*(?:\d+[.)]|[-•*])\s*([a-z][a-z' -]+?)(?: \(.*| - .*|:.*|$)", line)
        if match and match[1] not in [item.lower() for item in items]:
            words.append(match[1])
    if not ratings and not words[:keywords]:
        return REFUSED if is_refusal(text) else UNPARSED
    return {"ratings": ratings, "keywords": words[:keywords]}
