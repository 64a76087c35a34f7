"""Labels in words that a task's YAML gives, for answers in another language than English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from .text import UNPARSED, plain


def given_label(text: str, labels: Mapping[str, Sequence[str]], denials: Sequence[str] = ()) -> str:
    """The label whose word a model wrote; "unparsed" if that is not clear.

    labels: label -> the words for it, whole words, upper or lower case. denials: regular
    expressions of words that deny what they stand with ("nicht", "keine?"). The first line that
    names a label counts. It must name one label alone, and hold no denial.
    """
    denied = [rf"\b(?:{_unaccented(denial)})\b" for denial in denials]
    words = {
        label: [rf"(?<!\w){re.escape(plain(word))}(?!\w)" for word in spelled]
        for label, spelled in labels.items()
    }
    for line in plain(text).splitlines():
        named = [
            label
            for label, patterns in words.items()
            if any(re.search(pattern, line) for pattern in patterns)
        ]
        if named:
            return named[0] if len(named) == 1 and not matches(denied, line) else UNPARSED
    return UNPARSED


def _unaccented(pattern: str) -> str:
    """A pattern that finds what `plain` leaves of a word."""
    return "".join(
        c for c in unicodedata.normalize("NFKD", pattern) if not unicodedata.combining(c)
    )


def matches(patterns: Sequence[str], text: str) -> bool:
    """Whether a text holds one of some regular expressions, in upper or lower case."""
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
