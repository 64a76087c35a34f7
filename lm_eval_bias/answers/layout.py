"""An answer as list lines: tables, JSON, elements and stars are rewritten."""

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from .tables import is_ticked, lines_of_columns, rewritten_tables
from .text import plain, rewritten, rules, without_long_runs, without_reasons


class Line(NamedTuple):
    """A line without its marker ("bullet", "numeral", "heading" or "")."""

    text: str
    marker: str = ""
    indent: int = 0
    after_blank_line: bool = False  # an empty line stands before it
    plain: str = ""  # the line as returned by `plain`

    @property
    def headed(self) -> bool:
        return self.marker == "heading" or bool(re.fullmatch(r"(\*\*|__)[^*_]+\1:?", self.text))

    @property
    def listed(self) -> bool:
        return self.marker in ("bullet", "numeral") and not self.headed


_BREAK = "\x1e\n"  # between lines that become plain together, which is faster
_QUOTED = r"^\s*(?:>\s*)+"
_MARKERS = {
    "heading": re.compile(r"#{1,6}\s+"),
    "bullet": re.compile(
        r"(?:[-*+•·▪▫◦●○■□‣▸►▶➤➢✓✔✅☑✦◆◇⁃∙»>]|[–—](?=\s)|"
        r"[\u2600-\u27BF\U0001F300-\U0001FAFF]\ufe0f?)\s+|[-•–—](?=[^\W\d_])|\[[ xX]?\]\s+"
    ),
    "numeral": re.compile(
        r"(?P<bold>\*\*|__)?[(#]?\d{1,2}(?:[.)]|\ufe0f?\u20e3)(?P<closed>(?P=bold))?"
        r"(?:\s*(?=[^\W\d]|[*_\"'“‘(`])|\s+(?=\d[\d,.]*[ -][a-z]))"
    ),
}


def lines_of(text: str, is_label: Callable[[str], bool]) -> list[Line]:
    """is_label: whether a cell is the label of a row or column."""
    text = re.sub(r"(?<=\S) *\t+ *(?=\S)", " | ", _with_json(without_elements(_with_stars(text))))
    lines = []
    after_blank_line = False
    for raw in rewritten_tables(text, partial(_lines_of_table, is_label)).split("\n"):
        blank = not raw.strip(" \t#*_`~-=|.<>")
        if not blank:
            lines.append(_line(raw, after_blank_line))
        after_blank_line = blank
    plain_texts = plain(_BREAK.join(line.text for line in lines)).split(_BREAK)
    return [
        line._replace(plain=text.strip()) for line, text in zip(lines, plain_texts, strict=False)
    ]


def _line(raw: str, after_blank_line: bool) -> Line:
    text = re.sub(_QUOTED, "", raw).rstrip()
    indent = len(text) - len(text.lstrip())
    text, marker = text.strip(), ""
    for kind, pattern in _MARKERS.items():
        if m := pattern.match(text):
            marker, text = marker or kind, text[m.end() :].lstrip()
            if kind == "numeral" and not m["closed"]:
                text = (m["bold"] or "") + text  # "**1. Caring**"
    return Line(text, marker, indent, after_blank_line)


# ---- Stars, elements

_FULL, _HOLLOW = "★⭐🌟✭✮●⬤◉■▮⬛🟊🟡🔵🟢🔴", "☆✩✰○◯□▯⬜⚪⚫"
_STARS = rf"(?:[{_FULL}]\ufe0f?[ ]?){{1,10}}(?P<half>½|\+)?(?:[{_HOLLOW}]\ufe0f?[ ]?){{0,10}}"


def _with_stars(text: str) -> str:
    if text.isascii():
        return text

    def fraction(m: re.Match[str]) -> str:
        full, hollow = (sum(c in signs for c in m[0]) for signs in (_FULL, _HOLLOW))
        if not (m["half"] or full + hollow in (5, 10) or (full > 1 and not hollow)):
            return m[0]
        return f"{full}{'.5' if m['half'] else ''}/{10 if full + hollow > 6 else 5} "

    return re.sub(r"(\d)\ufe0f?\u20e3", r"\1", re.sub(_STARS, fraction, text))


_ELEMENTS = rules(
    {
        r"\r\n?": "\n",
        r"(?i)</?(?:b|strong)>": "**",
        "(?i)</?(?:i|em|u|span|p|div|ul|ol|table|thead|tbody|code|mark|sup|sub|small|"
        r"center)\b[^<>\n]*>": " ",
        r"(?i)<h[1-6]>\s*": "\n## ",
        r"(?i)<li>\s*": "\n- ",
        r"(?i)<tr\b[^<>\n]*>\s*": "\n|",
        r"(?i)\s{0,40}<t[dh]\b[^<>\n]*>([^<>\n]*)</t[dh]>\s{0,40}": r"\1|",
        r"(?i)<br\s*/?>": ", ",
        r"</[A-Za-z][^<>\n]{0,40}>": "\n",
        r"<[A-Za-z][^<>\n]{0,40}?\b(?:name|trait|item|id|value)\s*=\s*"
        r"[\"']([^\"'<>\n]{1,40})[\"']\s*>": r"\n\1: ",
        r"<([A-Za-z][^<>\n]{0,80}?)/?>": r"\n\1: ",
    }
)


def without_elements(text: str) -> str:
    """A text with XML and HTML elements as lines."""
    return without_long_runs(rewritten(text, _ELEMENTS)) if "<" in text or "\r" in text else text


# ---- JSON

_JSON = r"(?:```\w*\s*)?(?=[{\[]\s*[{\[\"'])"
_BROKEN = rules(
    {
        r"\"(?:keyword|word|trait|name|item|verb|feeling|emotion|behaviou?r|dimension)\"\s*:": "",
        r",\s*\"(?:rating|score|value)\"\s*:": ":",
    }
)
_SPACED = r"(?<=[a-z])(?=[A-Z])|(?<=[^\W_])_+(?=[^\W_])"  # highStatus, high_status
_RATING = re.compile(r"(?:rating|score|value|points?|level|stars?|answer)", re.IGNORECASE)
_REASON = (
    r"(?i)reason|explan|justif|rationale|comment|note|why|descri(?!ptors)|evidence|confidence|"
    r"certainty|meaning|\b(?:id|number|rank)\b"
)


def _with_json(text: str) -> str:
    begin = re.search(_JSON, text)
    if begin is None:
        return text
    before, rest = text[: begin.start()], text[begin.end() :]
    end = max(rest.rfind("}"), rest.rfind("]")) + 1
    try:
        value = json.loads(rest[:end], object_pairs_hook=tuple, parse_int=str, parse_float=str)
        return "\n".join([before, *_lines_of_value(value), rest[end:]])
    except (ValueError, RecursionError):
        pass
    if not re.search(r"\"[^\"\n]{1,60}\"\s*:", rest):
        return text
    rest = rewritten(without_reasons(rest), _BROKEN)
    parts = re.split(r"[{}\[\]\n]|,\s*(?=[\"{\[])", rest)
    return "\n".join([before, *(f"- {part}" if part else "" for part in parts)])


def _lines_of_value(value: Any, name: str = "") -> list[str]:
    if isinstance(value, tuple):
        lines = [
            line
            for key, member in value
            for line in _lines_of_value(member, re.sub(_SPACED, " ", key))
        ]
    elif isinstance(value, list):
        lines = [line for member in value for line in _lines_of_member(member)]
    else:
        label = f"{name}: " if name else ""
        return [f"{name}. {value}" if name.isdigit() else f"- {label}{value or ''}"]
    return [f"## {name}", *lines] if name else lines


def _lines_of_member(value: Any) -> list[str]:
    """A line for an object that names something and rates it."""
    members = value if isinstance(value, tuple) else ()
    fields = [(k, v) for k, v in members if isinstance(v, str) and not re.search(_REASON, k)]
    label = next((v for _, v in fields if re.match(r"[^\W\d]", v)), "")
    if not label:
        return _lines_of_value(value)
    ratings = [v for k, v in fields if _RATING.fullmatch(k)]
    return [f"- {label}: {[*ratings, *(v for _, v in fields if v != label), ''][0]}"]


# ---- Tables

_NUMBER = r"\W*\d{1,20}(?:[.,]\d+)?\b(?!\s*(?:years?|people|times)\b)"
_POINT = r"\W*([1-5])\b(?!\s*[-–to]+\s*\d)"
_RATING_HEAD = (
    r"\b(?:ratings?|scores?|values?|points?|levels?|stars?)\b|\b1\s*(?:-|to)\s*(?:5|10)\b|"
    r"\bout of\b|/\s*(?:5|10)\b"
)
_SOCIETY = r"\b(?:societ|america|others|public|perceived|people)"


def _lines_of_table(is_label: Callable[[str], bool], rows: list[list[str]]) -> list[str]:
    texts = [[plain(cell).strip() for cell in row] for row in rows]
    head, *body = texts
    labels = [i for i, cell in enumerate(head) if is_label(cell)]
    numbers = any(re.search(r"\d", cell) for cell in head)
    if len(rows) == 1 and len(head) > 2 and not numbers:
        return [", ".join(rows[0])]
    if len(labels) > 1 and body and not numbers:
        return ["", *lines_of_columns(texts, labels), ""]
    points = [i for i, cell in enumerate(head) if re.match(_POINT, cell)]
    if len(points) > 3 and all(is_ticked(row[points[0] :]) for row in body):
        return ["", *lines_of_columns(texts, points), ""]
    rated = [i for i, cell in enumerate(head) if re.search(_RATING_HEAD, cell)]
    headed = bool(rated or not (labels or numbers))
    lines = [f"## {rows[0][i]}:" for i in rated[:1]]
    for row, cells in zip(rows[headed:], texts[headed:], strict=True):
        lines += _lines_of_row(row, cells, head, rated, is_label)
    return ["", *lines, ""]


def _lines_of_row(
    row: list[str],
    texts: list[str],
    head: list[str],
    rated: list[int],
    is_label: Callable[[str], bool],
) -> list[str]:
    labels = [i for i, cell in enumerate(texts) if is_label(cell)]
    if not labels:
        full = [cell for cell, text in zip(row, texts, strict=True) if text]
        if len(full) > 1 and re.fullmatch(r"\W*\d{1,2}\W*", full[0]):
            full = full[1:]  # a numeral
        if all(re.search(r"[a-z].{0,40}[:=-]\W*\d", cell) for cell in full):
            return [f"- {cell}" for cell in full]  # "Friendly: 4 | Sociable: 3"
        return [f"- {full[0]}: {'; '.join(full[1:])}"]
    lines = []
    for label, following in pairwise([*labels, len(row)]):
        between = range(label + 1, following)
        numbers = [i for i in between if re.match(_NUMBER, texts[i])]
        chosen = [i for i in rated if i in between] or numbers
        shown = chosen[:1] or between
        if len({texts[i] for i in chosen}) > 1:  # "| Trait | My view | Society's view |"
            shown = [i for i in chosen if i < len(head) and re.search(_SOCIETY, head[i])]
        lines.append(f"- {row[label]}: {'; '.join(row[i] for i in shown if texts[i])}")
    return lines
