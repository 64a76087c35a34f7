"""Text that anybody may have written: nothing in it steers a terminal, a table or a spreadsheet."""

import re
from html import escape
from math import isfinite
from typing import Any

LONGEST = 100
"""Characters of a name in a table of plain text; one of megabytes would hide all others."""
TEXT = 2000
"""Characters of a text out of a file."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula: OWASP's list for CSV injection, and what
older programs took."""
# What Markdown of GitHub takes for markup within a line.
_MARKUP = re.compile(
    r"[\\`*\[\]~!$^]|(?<!&)#|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|://|@|\bwww\.", re.I
)


def visible(text: object) -> str:
    """A text in which every character that is not seen stands as its code."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def shortened(text: object, most: int = LONGEST) -> str:
    """`visible`, with the middle left out of a text that is too long."""
    whole = str(text)
    if len(whole) > 2 * most:  # each character is seen as one at least
        whole = whole[:most] + whole[-most:]
    shown = visible(whole)
    return (
        shown
        if len(shown) <= most
        else f"{shown[: most - most // 2 - 1]}…{shown[len(shown) - most // 2 :]}"
    )


def clean(value: Any) -> Any:
    """Plain data from a file, in which no text steers a terminal or a page, or fills it."""
    if isinstance(value, str):
        return value if len(value) <= TEXT and value.isprintable() else shortened(value, TEXT)
    if isinstance(value, list):
        return [clean(part) for part in value]
    if isinstance(value, dict):
        return {clean(key): clean(part) for key, part in value.items()}
    return value


def csv_cell(value: object) -> object:
    """A finite number as it is, other numbers empty, and a text that is no formula; % is a unit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value if isfinite(value) else ""
    shown = "" if value is None else visible(value)
    return f"'{shown}" if shown != "%" and shown.lstrip().startswith(FORMULAS) else shown


def markdown_cell(text: object) -> str:
    shown = escape(shortened(text), quote=False).replace("|", "&#124;")
    return _MARKUP.sub(
        lambda match: "".join(f"\\{c}" if not c.isalnum() else c for c in match.group()), shown
    )


def markdown_text(text: str) -> str:
    """The same of a text of any length."""
    return " ".join(markdown_cell(word) for word in text.split(" "))


def harmless(line: str) -> str:
    """A line of a log that starts no command of GitHub (`::`, `##[`) or Azure (`##vso[`)."""
    line = line.replace("##[", "## [").replace("##vso[", "## vso[")
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line
