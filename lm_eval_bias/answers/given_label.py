"""Labels by the words that a task's YAML gives."""

import re
from collections.abc import Mapping, Sequence

from .text import UNPARSED, letters, plain


def given_label(text: str, labels: Mapping[str, Sequence[str]], denials: Sequence[str] = ()) -> str:
    """The label whose word a text contains, or "unparsed".

    labels: label -> words. denials: patterns ("nicht"). The first line with a label must name one
    only, without a denial.
    """
    for line in plain(text).splitlines():
        named = [
            label
            for label, words in labels.items()
            if any(re.search(rf"(?<!\w){re.escape(plain(w))}(?!\w)", line) for w in words)
        ]
        if named:
            denied = any(re.search(rf"\b(?:{letters(d)})\b", line, re.IGNORECASE) for d in denials)
            return UNPARSED if denied or len(named) > 1 else named[0]
    return UNPARSED
