"""Labels by the words that a task's YAML gives."""

import re
from collections.abc import Mapping, Sequence

from .text import UNPARSED, letters, plain


def given_label(text: str, labels: Mapping[str, Sequence[str]], denials: Sequence[str] = ()) -> str:
    """Return the label whose word a text contains, or "unparsed".

    labels: label -> words. denials: patterns ("nicht"). The first line with a label must name one
    only, and contain no denial.
    """
    denied = [rf"\b(?:{letters(denial)})\b" for denial in denials]
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


def matches(patterns: Sequence[str], text: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
