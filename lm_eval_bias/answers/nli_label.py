"""Entailment, contradiction or neutral, in words."""

from __future__ import annotations

import re

from .refusal import is_refusal
from .text import REFUSED, UNPARSED

_LABEL = re.compile(
    r"(?P<not>(?:\b(?:not?|never|without|cannot)|n't)\s+(?:\w+\s+){0,2})?\b(?P<label>entail|contradict|neutral)\w*", re.IGNORECASE
)
_LABELLED = re.compile(r"^\W*(?:(?:the )?(?:inference|answer|label|hypothesis|relation(?:ship)?)\b(?: is)?\W*)?", re.IGNORECASE)
_BARE = {"true": "entailment", "false": "contradiction", "neither": "neutral"}
_STEMS = {"entail": "entailment", "contradict": "contradiction", "neutral": "neutral"}


def nli_label(text: str) -> str:
    """The label of a premise-hypothesis pair that a model wrote in words.

    Returns "entailment", "contradiction", "neutral", "refused" or "unparsed". The first line that is not empty counts. Its first
    word decides if it is a label, or true, false or neither (the prompt explains the labels by these words); else the line must
    name exactly one label, and not deny it.
    """
    lines = [line for line in re.sub(r"[*_`#>\"“”]", "", text.replace("’", "'")).splitlines() if line.strip()]
    if not lines:
        return UNPARSED
    line = _LABELLED.sub("", lines[0].strip())
    first = re.match(r"[A-Za-z]*", line).group().lower()
    found = list(_LABEL.finditer(line))
    if found and found[0].start() == 0 and not found[0]["not"]:
        hedged = re.match(r"\s*(?:/|or\b)", line[found[0].end() :], re.IGNORECASE)
        return UNPARSED if hedged else _STEMS[found[0]["label"].lower()]
    if first in _BARE and not found:
        return _BARE[first]
    if is_refusal(line):
        return REFUSED
    if found and not any(m["not"] for m in found) and len({m["label"].lower() for m in found}) == 1:
        return _STEMS[found[0]["label"].lower()]
    return UNPARSED
