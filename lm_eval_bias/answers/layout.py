"""An answer as list lines: tables, JSON, HTML elements and stars are rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from .tables import cells
from .text import plain, rewritten, rules


class Line(NamedTuple):
    """A line without its marker ("bullet", "numeral", "heading" or "")."""

    text: str
    marker: str = ""
    numeral: int = 0
    indent: int = 0
    parted: bool = False  # an empty line stands before it
    plain: str = ""  # the line as returned by `plain`

    @property
    def headed(self) -> bool:
        return self.marker == "heading" or bool(re.fullmatch(r"(\*\*|__)[^*_]+\1:?", self.text))


_BULLET = re.compile(
    r"(?:[-*+•·▪▫◦●○■□‣▸►▶➤➢✓✔✅☑✦◆◇⁃∙»>]|[–—](?=\s)|"
    r"[\u2600-\u27BF\U0001F300-\U0001FAFF]\ufe0f?)\s+|[-•–—](?=[^\W\d_])|\[[ xX]?\]\s+"
)
_NUMERAL = re.compile(
    r"(?P<bold>\*\*|__)?(?:\((?P<in>\d{1,2})\)|#?(?P<n>\d{1,2})(?:[.)]|"
    r"\ufe0f?\u20e3))(?:(?P=bold))?(?:\s*(?=[^\W\d]|[*_\"'“‘(`])|\s+(?=\d[\d,.]*[ -][a-z]))"
)
_STEP = re.compile(r"(?i)^(\*\*|__)?(?:step|part|section|question|task|q) ?\d{1,2} ?[:.)–—-]+ ?")
_LETTER = re.compile(
    r"(?P<bold>\*\*|__)?\(?(?P<n>[a-zA-Z]|[ivxIVX]{1,4})[.)]\s+(?=[^\W\d]|[*_\"'“‘])"
)


def lines_of(text: str, is_label: Callable[[str], bool]) -> list[Line]:
    """Return the lines of a text. is_label: whether a cell is the label of a row or column."""
    text = _with_cells(_with_json(_without_elements(_with_stars(text))))
    lines: list[Line] = []
    parted = False
    for raw in _with_rows(text.split("\n"), is_label):
        if not raw.strip(" \t#*_`~-=|.<>"):
            parted = True
            continue
        lines.append(_line(raw, parted))
        parted = False
    return lines


def _line(raw: str, parted: bool) -> Line:
    text = re.sub(r"^\s*(?:>\s*)+", "", raw).rstrip()
    indent = len(text) - len(text.lstrip())
    text = text.strip()
    marker, numeral = "", 0
    level = re.match(r"#{1,6}\s+", text)
    if level:
        marker, text = "heading", text[level.end() :].rstrip("# ")
    text = _STEP.sub(r"\1", text)
    bullet = _BULLET.match(text)
    if bullet:
        marker, text = marker or "bullet", text[bullet.end() :].lstrip()
    counted = _NUMERAL.match(text) or _LETTER.match(text)
    if counted:
        digits = counted.groupdict().get("in") or counted["n"]
        numeral = int(digits) if digits.isdigit() else 1 + (ord(digits[0].lower()) - ord("a")) % 26
        # "**1.** Caring", not "**1. Caring**"
        closed = counted.group().rstrip().endswith(counted["bold"] or " ")
        marker, text = (
            marker or "numeral",
            ("" if closed else counted["bold"] or "") + text[counted.end() :],
        )
    return Line(text, marker, numeral, indent, parted, plain(text).strip())


# ---- Stars, elements

_FULL, _HOLLOW = "★⭐🌟✭✮●⬤◉■▮⬛🟊🟡🔵🟢🔴", "☆✩✰○◯□▯⬜⚪⚫"
_STARS = re.compile(
    rf"(?:[{_FULL}]\ufe0f?[ ]?){{1,10}}(?:½|\+)?(?:[{_HOLLOW}]\ufe0f?[ ]?)*|"
    rf"(?:[{_HOLLOW}]\ufe0f?[ ]?){{5}}"
)


def _with_stars(text: str) -> str:
    def fraction(m: re.Match[str]) -> str:
        signs = m.group()
        if re.search(r"\d\s*$", text[max(0, m.start() - 4) : m.start()]) and len(signs.strip()) < 3:
            return " "  # "4/5 ⭐"
        full, hollow = sum(c in _FULL for c in signs), sum(c in _HOLLOW for c in signs)
        starry = any(c in "★⭐🌟✭✮🟊" for c in signs) and full < 6 and not hollow
        if not 0 < full <= 10 - hollow or not (full + hollow in (5, 10) or starry or full > 2):
            return signs
        half = "½" in signs
        top = 5 if full + hollow < (6 if half else 10) else 10
        return f"{full}{'.5' if half else ''}/{top} "

    if not re.search(rf"[{_FULL}{_HOLLOW}\u20e3]", text):
        return text
    return re.sub(r"(\d)\ufe0f?\u20e3", r"\1", _STARS.sub(fraction, text))


_ELEMENTS = rules(
    {
        r"(?i)</?(?:b|strong)>": "**",
        "(?i)</?(?:i|em|u|span|p|div|ul|ol|table|thead|tbody|code|mark|sup|sub|small|"
        r"center)\b[^<>\n]*>": " ",
        r"(?i)<h[1-6]>\s*": "\n## ",
        r"(?i)<li>\s*": "\n- ",
        r"(?i)<tr\b[^<>\n]*>\s*": "\n|",
        r"(?i)\s*<t[dh]\b[^<>\n]*>\s*([^<>\n]*)</t[dh]>\s*": r"\1|",
        r"<[A-Za-z][^<>\n]{0,40}?\b(?:name|trait|"
        r"item)\s*=\s*[\"']([^\"'<>\n]{1,40})[\"'][^<>\n]{0,40}>": r"\n\1: ",
        r"</[A-Za-z][^<>\n]{0,40}>": "\n",
    }
)


def _without_elements(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<" not in text:
        return text
    text = re.sub(r"(?i)<br\s*/?>", "\n" if "|" not in text else " ", text)
    text = rewritten(text, _ELEMENTS)
    return re.sub(r"<([A-Za-z][^<>\n]{0,40}?)/?>", lambda m: f"\n{_spaced(m[1])}: ", text)


def _spaced(name: str) -> str:
    """high_status and highStatus as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W_])_+(?=[^\W_])", " ", name).strip()


# ---- JSON

_OBJECT = re.compile(
    r"[{\[](?=\s*(?:[{\[]\s*)*(?:\"[^\"\n]{1,200}\"\s*[:,\]]|'[^'\n]{1,60}'\s*[:,\]]|"
    r"[A-Za-z][\w -]{0,40}:\s*[\d\[{\"]))"
)
_TOKEN = re.compile(
    r"\s*(?:\"(?P<s>(?:[^\"\\]|\\.)*)(?:\"|$)|'(?P<q>(?:[^'\\\n]|\\.|(?<=\w)'(?=\w))*)'|"
    r"(?P<sign>[{}\[\],:])|(?P<bare>[^\s{}\[\],:\"'][^{}\[\],:\"\n]*))"
)
_RATING_KEY = re.compile(r"\b(?:rating|score|value|points?|level|number|stars?|answer)\b")
_REASON_KEY = re.compile(
    r"reason|explan|justif|rationale|comment|note\b|notes\b|why|descri(?!ptors)|evidence|"
    "confidence|certainty|meaning"
)
_DEEPEST = 12


class _Json:
    """Reads JSON with extra commas, unquoted names or no end."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.end = text, start
        self.token: re.Match[str] | None = None
        self.next()

    def next(self) -> None:
        self.token = _TOKEN.match(self.text, self.end)
        self.end = self.token.end() if self.token else self.end

    @property
    def sign(self) -> str:
        return (self.token["sign"] or "") if self.token else ""

    def value(self, depth: int = 0) -> Any:
        """A list, a tuple of pairs for an object, or a text; None at the end."""
        if self.token is None or depth > _DEEPEST:
            return None
        sign, token = self.sign, self.token
        if sign not in ("", "{", "["):
            return None
        self.next()
        if not sign:
            return re.sub(r"\\[nt]", " ", token[token.lastgroup or 0]).replace('\\"', '"').strip()
        members: list[Any] = []
        while self.token is not None and self.sign not in ("}", "]"):
            if self.sign in (",", ":"):
                self.next()
                continue
            member = self.value(depth + 1)
            if member is None:
                break
            if sign == "[":
                members.append(member)
            elif not isinstance(member, str):
                members.append(("", member))
            elif self.sign == ":":
                self.next()
                empty = self.sign in ("}", "]", ",")
                members.append((member, "" if empty else self.value(depth + 1)))
            else:
                members.append((member, ""))
        # The sign after the last one is no part of it.
        if self.token is not None and depth:
            self.next()
        return tuple(members) if sign == "{" else members


def _with_json(text: str) -> str:
    if not re.search(r"[{\[]", text):
        return text
    out: list[str] = []
    at = 0
    while True:
        begin = _OBJECT.search(text, at)
        if begin is None:
            return "".join([*out, text[at:]])
        reader = _Json(text, begin.start())
        value = reader.value()
        lines = _lines_of_value(value)
        fenced = re.search(r"```\w*\s*$", text[at : begin.start()])
        out.append(text[at : begin.start() - (len(fenced.group()) if fenced else 0)])
        if lines:
            out.append("\n" + "\n".join(lines) + "\n")
        at = max(reader.end, begin.end())


def _lines_of_value(value: Any) -> list[str]:
    if isinstance(value, str) or value is None:
        return [f"- {value}"] if value else []
    lines: list[str] = []
    if isinstance(value, list):
        for member in value:
            is_row = isinstance(member, tuple) and len(member) > 1
            lines += [_line_of_object(member)] if is_row else _lines_of_value(member)
        return lines
    if len(value) > 1 and all(name.isdigit() and isinstance(member, str) for name, member in value):
        return [f"{name[:2]}. {member}" for name, member in value]
    for name, member in value:
        key = _spaced(name)
        rating = _rating_field(member) if isinstance(member, tuple) else None
        if isinstance(member, str | None):
            lines.append(f"- {key}: {member or ''}")
        elif _REASON_KEY.search(key.lower()) and "keyword" not in key.lower():
            lines.append(f"## {key}")
            lines += [
                f"- {m}" if isinstance(m, str) else _line_of_object(m)
                for m in (member if isinstance(member, list) else [member])
                if isinstance(m, str | tuple)
            ]
        elif rating is not None:
            lines.append(f"- {key}: {rating}")
        else:
            lines += [f"## {key}", *_lines_of_value(member)]
    return lines


def _rating_field(members: tuple[tuple[str, Any], ...]) -> str | None:
    """The rating of an object, or its only number."""
    fields = [(k, v) for k, v in members if not _REASON_KEY.search(k.lower())]
    texts = [(k, v) for k, v in fields if isinstance(v, str)]
    named = [v for k, v in texts if _RATING_KEY.search(_spaced(k).lower()) and v]
    if named:
        return named[0]
    number = r"\d+(?:\.\d+)?(?:\s*/\s*\d+)?"
    if len(fields) == 1 < len(members) and texts and re.fullmatch(number, texts[0][1]):
        return texts[0][1]
    return None


def _line_of_object(members: tuple[tuple[str, Any], ...]) -> str:
    texts = [(k, v) for k, v in members if isinstance(v, str)]
    names = [v for k, v in texts if not (_is_number(v) or _RATING_KEY.search(k.lower()))]
    label = names[0] if names else ""
    if not re.search(r"[^\W\d]", label) or all(_is_number(v) for _, v in texts):
        return "\n".join(f"- {_spaced(k)}: {v}" for k, v in texts)
    others = [(k, v) for k, v in texts if v != label]
    ratings = [v for k, v in others if _RATING_KEY.search(_spaced(k).lower())]
    numbers = [
        v
        for k, v in others
        if re.fullmatch(r"\d+(?:\.\d+)?", v) and not re.search(r"\b(?:id|number|rank)\b|#", k)
    ]
    rest = [*ratings, *numbers, *(v for _, v in others), ""]
    return f"- {label}: {rest[0]}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[\d.]*", text) is not None


# ---- Tables

_RULE = re.compile(r"[\s|:=+-]*")
_MARK = re.compile(r"\W*(?:x|✓|✔|✅|☑|☒|●|•|yes|true|⬤|◉)\ufe0f?\W*")
_NUMBER = re.compile(r"\W*\d+(?:[.,]\d+)?\b(?!\s*(?:years?|people|times)\b)")
_RATING_HEAD = re.compile(
    r"\b(?:ratings?|scores?|values?|points?|levels?|stars?)\b|\b1\s*(?:-|to)\s*(?:5|10)\b|"
    r"\bout of\b|/\s*(?:5|10)\b"
)
_SOCIETY = re.compile(r"\b(?:societ|america|others|public|perceived|people)")
_REASON_HEAD = re.compile(
    "reason|explan|justif|rationale|comment|note|why|descri(?!ptor)|evidence|meaning|because|"
    "interpret|confiden|certain"
)
_KEYWORD_HEAD = re.compile(
    "key ?-?words?|traits?|adjectives?|verbs?|words?|characteristics?|descriptors?|feelings?|"
    "emotions?|behaviou?rs?|terms?"
)


def _with_cells(text: str) -> str:
    return re.sub(r"(?<=\S)[ ]*\t+[ ]*(?=\S)", " | ", text) if "\t" in text else text


def _with_rows(lines: list[str], is_label: Callable[[str], bool]) -> list[str]:
    out: list[str] = []
    for tabular, group in groupby(lines, lambda line: "|" in line.strip(" |")):
        table = list(group)
        if tabular:
            ruled = len(table) > 1 and bool(_RULE.fullmatch(table[1])) and "-" in table[1]
            rows = [cells(line) for line in table if not _RULE.fullmatch(line)]
            table = ["", *_lines_of_table(rows, ruled, is_label), ""]
        out += table
    return out


def _lines_of_table(
    rows: list[list[str]], ruled: bool, is_label: Callable[[str], bool]
) -> list[str]:
    if not rows:
        return []
    head = [plain(cell).strip() for cell in rows[0]]
    words = all(re.fullmatch(r"[^\W\d]+(?:[ -][^\W\d]+)?", cell) for cell in head)
    if len(rows) == 1 and len(head) > 2 and words:
        return [", ".join(rows[0])]
    labels = [i for i, cell in enumerate(head) if is_label(cell)]
    if len(labels) > 1 and len(rows) > 1 and not any(_NUMBER.match(cell) for cell in head):
        return _lines_of_columns(rows, labels)
    has_head = ruled or any(
        re.fullmatch(rf"(?:.* )?(?:{p.pattern})(?: .*)?", cell)
        for cell in head
        for p in (_KEYWORD_HEAD, _RATING_HEAD)
    )
    if not has_head or any(is_label(a) and _NUMBER.match(b) for a, b in pairwise(head)):
        head = []
    matches = [re.match(r"\W*([1-5])\b(?!\s*[-–to]+\s*\d)", cell) for cell in head]
    points = {i: m[1] for i, m in enumerate(matches) if m}
    rated = [
        i
        for i, cell in enumerate(head)
        if _RATING_HEAD.search(cell) and not _REASON_HEAD.search(cell)
    ]
    named = [i for i, cell in enumerate(head) if _KEYWORD_HEAD.fullmatch(cell.strip(" :"))]
    lines = [f"## {rows[0][i]}:" for i in (rated or named)[:1]]
    for row in rows[bool(head) :]:
        texts = [plain(cell).strip() for cell in row]
        label = next((i for i, cell in enumerate(texts) if is_label(cell)), None)
        marked = [i for i in points if i < len(texts) and i != label and _MARK.fullmatch(texts[i])]
        if len(points) > 3 and label is not None and len(marked) == 1:
            lines.append(f"- {row[label]}: {points[marked[0]]}")
        else:
            lines += _lines_of_row(row, texts, head, rated, is_label)
    return lines


def _lines_of_row(
    row: list[str],
    texts: list[str],
    head: list[str],
    rated: list[int],
    is_label: Callable[[str], bool],
) -> list[str]:
    labels = [i for i, cell in enumerate(texts) if is_label(cell)]
    if not labels:
        full = [i for i, cell in enumerate(texts) if cell]
        if (
            len(full) > 1
            and re.fullmatch(r"\W*\d{1,2}\W*", texts[full[0]])
            and not re.match(r"\W*\d", texts[full[1]])
        ):
            full = full[1:]  # a numeral
        if len(full) > 1 and all(re.search(r"[a-z].*[:=-]\s*\d", texts[i]) for i in full):
            return [f"- {row[i]}" for i in full]  # "Friendly: 4 | Sociable: 3"
        return [f"- {row[full[0]]}: {'; '.join(row[i] for i in full[1:])}"] if full else []
    lines = []
    for label, following in zip(labels, [*labels[1:], len(row)], strict=True):
        between = range(label + 1, following)
        numbers = [i for i in between if _NUMBER.match(texts[i])]
        named = [i for i in numbers if i in rated] or [i for i in rated if i in between] or numbers
        # "| Trait | My view | Society's view |"
        if len({texts[i] for i in named}) > 1 and len(head) > max(named):
            named = [i for i in named if _SOCIETY.search(head[i])]
            if len(named) != 1:
                lines.append(f"- {row[label]}:")
                continue
        chosen = named[0] if named else None
        if chosen is None and len(labels) == 1:
            chosen = next((i for i in rated if i < label), None)
        if (
            chosen is None
            and label == len(row) - 1
            and label
            and len(labels) == 1
            and _NUMBER.fullmatch(texts[label - 1])
            and not rated
        ):
            return [f"{row[label - 1]} - {row[label]}"]
        rest = row[chosen] if chosen is not None else "; ".join(row[i] for i in between if texts[i])
        lines.append(f"- {row[label]}: {rest}")
    return lines


def _lines_of_columns(rows: list[list[str]], labels: list[int]) -> list[str]:
    body = [[(rows[0][i], row[i]) for i in labels if i < len(row)] for row in rows[1:]]
    rated = [row for row in body if any(_NUMBER.match(plain(cell)) for _, cell in row)]
    return [f"- {head}: {cell}" for row in rated for head, cell in row]
