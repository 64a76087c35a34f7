"""The keywords that an answer lists.

A line may be the heading of a section, by its words: keywords, reasons, ratings. Keywords are the first list behind a heading of keywords
or in a sentence that names them ("five keywords are ..."); without either, the first list of the answer before its reasons and ratings. A
list is a run of lines with the same marker, of bare words, or words between commas. What stands in bold or before a colon, dash or bracket
is the keyword, the rest explains it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .layout import Line
from .refusal import clauses, without_refusals
from .text import plain

_KEYWORDS = (
    r"(?:key ?-?(?:words?|terms?|phrases?|traits?|verbs?)|adjectives?|verbs?|traits?|characteristics?|descriptors?|feelings?|emotions?|"
    r"behaviou?rs?|words?|terms?|attributes?|stereotypes|perceptions|qualities)"
)
_REASONS = r"(?:reasons?|reasoning|explanations?|rationale|justifications?|why|because|descriptions?|elaboration)"
_RATINGS = r"(?:ratings?|scores?|rate|scale|scoring|evaluation)"
_OFFER = re.compile(
    r"\b(?:i can (?:help|offer|discuss|provide|share|instead)|happy to|glad to|instead|would you like|if you(?:'d| would)? like|"
    r"alternatively|consider)\b"
)


def keywords_in(lines: list[Line], n: int, rated: set[int], is_label: Callable[[str], bool], refuses: bool = False) -> list[str]:
    """At most n keywords, lower case. rated: the lines that hold ratings. is_label: whether a text names what is rated."""
    if n < 1:
        return []
    reader = _Reader([_spoken(line) for line in lines] if refuses else lines, n, rated, is_label)
    found = reader.headed() or reader.told()
    if not found and not refuses:
        found = reader.first()
    return found[:n]


def _section(line: Line) -> tuple[str, str] | None:
    """The section that a line heads, and what follows the heading on it."""
    said = line.said
    head, colon, rest = said.partition(":")
    if colon and len(head.split()) > 14:
        return None
    if not colon:
        head, dash, rest = said.partition(" - ")
        if dash and not re.fullmatch(rf"\W*(?:\w+ )?{_KEYWORDS}\W*", head):
            head, rest = said, ""
        if not dash and not line.headed and len(said.split()) > 9:
            return None
    names = re.search(rf"\b{_KEYWORDS}\b", head)
    reasons = re.search(rf"\b{_REASONS}\b", head)
    ratings = re.search(rf"\b(?:{_RATINGS}|overall)\b", head)
    if line.marker in ("bullet", "numeral") and len(head.split()) > 5 and not line.headed and rest.strip():
        return None
    if reasons and not (names and names.start() < reasons.start()):
        kind = "reasons"
    elif names and not (ratings and ratings.start() < names.start()):
        kind = "keywords"
    elif ratings:
        kind = "ratings"
    else:
        return None
    if not colon and not line.headed and kind != "ratings" and re.search(r"[.!?]$", said):
        return None
    if colon:
        rest = line.text.partition(":")[2]
    elif rest:
        rest = re.split(r"\s[-–—]+\s", line.text, maxsplit=1)[-1]
    return kind, rest.strip(" *_")


class _Reader:
    def __init__(self, lines: list[Line], n: int, rated: set[int], is_label: Callable[[str], bool]) -> None:
        self.lines, self.n, self.rated, self.is_label = lines, n, rated, is_label
        self.sections: list[Any] = [None if i in rated else _section(line) for i, line in enumerate(lines)]
        for i, section in enumerate(self.sections):  # the prompt's questions, with nothing between them
            following = next((k for k in range(i + 1, len(lines)) if k not in rated or lines[k].said[-1:] != ":"), len(lines))
            if section and not section[1] and (following == len(lines) or (self.sections[following] and not self.sections[following][1])):
                self.sections[i] = ("none", "")
        others = [i for i, section in enumerate(self.sections) if section and section[0] in ("reasons", "ratings")]
        self.end = min([*(i for i in rated if not lines[i].said.endswith(":")), *others, len(lines)])

    def headed(self) -> list[str]:
        """Those behind the first heading of keywords that has any."""
        for i, section in enumerate(self.sections):
            if not section or section[0] != "keywords" or _declines(self.lines[i]):
                continue
            if section[1]:
                found = _between_commas(section[1], 1)
                if found:
                    return found
                continue
            found = self._list(i + 1)
            if found:
                return found
        return []

    def told(self) -> list[str]:
        """Those of a sentence: "five keywords that describe them are ..."."""
        for i, line in enumerate(self.lines):
            if i in self.rated or _declines(line):
                continue
            m = re.search(
                rf"\b{_KEYWORDS}\b[^.:!?\n]{{0,120}}?(?:\b(?:are|include|would be|might be|could be|were|is)\b|:)\s*(.+)",
                line.text,
                re.IGNORECASE,
            )
            m = m or re.search(
                r"\b(?:seen|described|perceived|viewed|regarded|characteri[sz]ed|thought of) as\b:?\s*(.+)", line.text, re.IGNORECASE
            )
            found = _between_commas(m[1], 3) if m else []
            if found:
                return found
        return []

    def first(self) -> list[str]:
        """Those of the first list, before reasons and ratings."""
        for i in range(self.end):
            line = self.lines[i]
            if self.sections[i] or (i and _OFFER.search(self.lines[i - 1].said)):
                continue
            if line.marker in ("bullet", "numeral", "heading"):
                found = self._list(i)
                if len(found) > 1:
                    return found
            else:
                found = _between_commas(line.text, 3) or self._list(i)
                if len(found) > 2:
                    return found
        return []

    def _list(self, start: int) -> list[str]:
        """The keywords of the list that begins at a line."""
        found: list[str] = []
        shape: tuple[str, int, bool] | None = None
        for i in range(start, len(self.lines)):
            line = self.lines[i]
            section = self.sections[i]
            if i in self.rated or (section and section[0] != "keywords") or len(found) >= self.n:
                break
            if section and shape and line.marker != shape[0]:
                break
            if shape is None:
                if not line.marker:
                    several = _between_commas(line.text, 2)
                    if several:
                        return several
                    if _declines(line):
                        return []
                several = _counted(line)
                if several:
                    return several
                shape = (line.marker, line.indent, line.headed)
            elif (line.marker, line.headed) != (shape[0], shape[2]) and line.marker != shape[0]:
                if not line.marker or line.indent > shape[1] or (shape[0] in ("numeral", "heading")):
                    if not shape[0]:
                        break
                    continue
                break
            elif line.indent > shape[1] + 1 and shape[0]:
                continue
            if shape[0] == "numeral" and found and line.numeral == 1:
                break
            keyword = _keyword(line.text, bool(line.marker))
            if keyword:
                found.append(keyword)
            elif not shape[0]:
                if found:
                    break
                shape = None
                if i > start + 1:
                    break
        return found


def _spoken(line: Line) -> Line:
    """A line without the sentences, and the parts of them that "but" ends, that decline."""
    if not _declines(line):
        return line
    parts = re.split(r"(?<=[.!?;])\s+|,?\s+(?=(?:but|however)\b)", line.text)
    rest = " ".join(part for part in parts if without_refusals(part) == plain(part))
    return line._replace(text=re.sub(r"^(?:but|however)\W+", "", rest), said=plain(rest))


def _declines(line: Line) -> bool:
    return len(clauses(line.text)) > 0 and without_refusals(line.text) != plain(line.text)


def _counted(line: Line) -> list[str]:
    """The keywords of "1. Caring 2. Kind 3. Skilled" on one line."""
    parts = re.split(r"[\s,;]+\(?\d{1,2}[.)]\)?\s+", line.text)
    return [k for part in parts if (k := _keyword(part, True))] if len(parts) > 2 and line.marker == "numeral" else []


_WORD = r"[^\W\d_][\w'’-]*"
_APOLOGY = re.compile(r"\b(?:i|i'm|we|sorry|you|your|my)\b", re.IGNORECASE)


def _keyword(entry: str, marked: bool) -> str | None:
    """The keyword of an entry of a list, without what explains it."""
    entry = entry.strip()
    bold = re.match(r"(\*\*\*?|__|_|\*|`)(?P<in>[^*_`\n]+?)\1", entry)
    text = bold["in"] if bold else entry
    text = re.sub(r"^(?:key ?word|trait|word|adjective|verb|feeling)?\s*#?\d+\s*[:.)-]\s*", "", text.strip(), flags=re.IGNORECASE)
    text = re.split(r"\s*[:(\[|=;→•]|\s+[-–—]+\s*|[–—]|\s*\.(?=\s|$)|\.$|,\s", text, maxsplit=1)[0]
    text = re.split(r"\s+(?:because|as they|since|due to|for their|which)\b", text, maxsplit=1)[0]
    text = re.sub(r"[*_`\"“”„«»#]", "", text).strip(" .,!?'‘’/").lower().replace("’", "'")
    if not re.fullmatch(rf"{_WORD}(?:[ /&-]+{_WORD}){{0,3}}", text) or _APOLOGY.search(text):
        return None
    if not marked and not bold and (len(text.split()) > 3 or (text != entry.lower().strip(" .*_:") and ":" not in entry)):
        return None
    return text


def _between_commas(text: str, least: int) -> list[str]:
    """The keywords of a list with commas, if there are as many as `least`, up to where the sentence ends."""
    text = re.sub(r"\([^()]*\)", "", text).strip()
    text = re.sub(r"[*_`\"“”„«»\[\]]", "", text)
    text = re.split(r"[.!?](?:\s|$)", text, maxsplit=1)[0]
    parts = [p for p in re.split(r"\s*[,;|•·]\s*(?:and\s+|&\s+|or\s+)?|\s+/\s+", text) if p.strip()]
    if parts and len(parts) >= max(least - 1, 1):
        parts = [*parts[:-1], *re.split(r"\s+(?:and|&)\s+", parts[-1])]
    found = []
    for part in parts:
        part = re.sub(r"^\(?\d{1,2}[.):]\s*", "", part.strip()).strip(" .'‘’").lower().replace("’", "'")
        if not re.fullmatch(rf"{_WORD}(?:[ /&-]+{_WORD}){{0,2}}", part) or _APOLOGY.search(part):
            break
        found.append(part)
    if len(found) < len(parts) and len(found) < 3:
        return []
    return found if len(found) >= least else []
