"""The keywords that an answer lists.

They are the first list below a heading of keywords, or in a sentence that names them; otherwise the
first list before reasons and ratings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter

from .layout import Line
from .refusal import has_refusal
from .text import plain

_KEYWORDS = (
    "(?:key ?-?(?:words?|terms?|phrases?|traits?|verbs?)|adjectives?|verbs?|traits?|"
    "characteristics?|descriptors?|feelings?|emotions?|behaviou?rs?|words?|terms?|attributes?|"
    "qualities|palabras clave|mots[ -]cles?|palavras[ -]chave|parole[ -]chiave|slowa kluczowe|"
    "(?:schlussel|stich|schlag)(?:worter|worte|begriffe)|(?:tref|kern|sleutel)woorden|nyckelord|"
    "ключевые слова|anahtar kelimeler)"
)
_REASONS = (
    "(?:reasons?|reasoning|explanations?|rationale|justifications?|why|descriptions?|"
    "elaborations?|razones|motivos|raisons|grunde|begrundung(?:en)?|ragioni|motivi|razoes|redenen|"
    "powody|причины|nedenler)"
)
_RATINGS = (
    "(?:ratings?|scores?|rate|scale|scoring|evaluations?|calificaci(?:on|ones)|"
    "puntuaci(?:on|ones)|valoraci(?:on|ones)|bewertung(?:en)?|avaliac(?:ao|oes)|"
    "classificac(?:ao|oes)|valutazion[ei]|beoordeling(?:en)?|oceny|оценки)"
)
_OFFER = re.compile(
    r"\b(?:i can (?:help|offer|discuss|provide|share|instead)|happy to|glad to|instead|"
    r"would you like|if you(?:'d| would)? like|alternatively|consider)\b|"
    r"\b(?:note|caveats?|disclaimers?|limitations?|keep in mind|remember|steps|"
    r"scale)\b[^\n]{0,60}:\W*$"
)


def keywords_in(
    lines: list[Line],
    n: int,
    rated: set[int],
    *,
    items: Sequence[str] = (),
    reasons: bool = False,
    declines: bool = False,
) -> list[str]:
    """Return at most n keywords, in lower case.

    rated: numbers of lines with ratings. reasons: the question asks for reasons. declines: only
    explicitly named keywords count.
    """
    if n < 1:
        return []
    reader = _KeywordReader(lines, n, rated, reasons)
    keywords = reader.headed()
    if not keywords:
        places = [reader.in_sentence()] if declines else [reader.in_sentence(), reader.first()]
        _, keywords = min(places, key=itemgetter(0))
        if not keywords and not declines:
            keywords = reader.bold()
        form = [plain(item).strip() for item in items]
        if len(keywords) > 2 and keywords == form[: len(keywords)]:
            return []
    return keywords[:n]


def section_of(line: Line) -> tuple[str, str] | None:
    """The section that a line heads, and the rest of the line."""
    text = line.plain
    head, colon, rest = text.partition(":")
    marked = line.marker in ("bullet", "numeral") and not line.headed
    if not colon:
        head, dash, after = text.partition(" - ")
        if not (dash and re.fullmatch(rf"\W*(?:\w+ ){{0,2}}(?:{_KEYWORDS}|{_REASONS})\W*", head)):
            head, dash, after = text, "", ""
        if (
            not dash
            and not line.headed
            and (len(text.split()) > (3 if marked else 9) or line.marker == "bullet")
        ):
            return None
        rest = after
    if len(head.split()) > (4 if marked else 14) and not re.match(
        rf"\W*(?:here are |these are )?(?:the |my )?(?:\w+ )?{_REASONS}\b", head
    ):
        return None
    if "(" in head and not marked:
        head = head[: head.index("(")] or head
    names = re.search(rf"\b{_KEYWORDS}\b", head)
    why = re.search(rf"\b{_REASONS}\b", head)
    ratings = re.search(rf"\b(?:{_RATINGS}|overall)\b", head)
    if (
        marked
        and rest.strip()
        and not re.fullmatch(
            rf"\W*(?:\w+ ){{0,2}}(?:{_KEYWORDS}|{_REASONS}|{_RATINGS}|overall)\W*", head
        )
    ):
        return None
    if why and not (names and names.start() < why.start()):
        kind = "reasons"
    elif names and not (ratings and ratings.start() < names.start()):
        kind = "keywords"
    elif ratings:
        kind = "ratings"
    else:
        return None
    if not colon and not line.headed and re.search(r"[.!]$", text):
        return None
    if colon:
        rest = line.text.partition(":")[2]
    elif rest:
        rest = re.split(r"\s[-–—]+\s", line.text, maxsplit=1)[-1]
    return kind, rest.strip(" *_")


_SENTENCES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_KEYWORDS}\b[^.:!?\n]{{0,120}}?(?:\b(?:are|include|would be|might be|could be|were|"
        r"is)\b|:)\s*(.+)",
        r"\b(?:choose|pick|list|suggest|say|select|use|be)\b:?\s+(.+?)\s+as (?:the |"
        rf"my )?(?:\w+ )?{_KEYWORDS}\b",
        rf"^\W*([^.:;\n]+?),? (?:are|were|would be) (?:the |my )?(?:\w+ )?{_KEYWORDS}\b",
        r"\b(?:(?:see|view|perceive|describe|regard|characteri[sz]e)s? [^.:;\n]{1,60}?|"
        r"(?:seen|described|perceived|viewed|regarded|characteri[sz]ed|thought of) )as\b:?\s*(.+)",
    )
]


class _KeywordReader:
    def __init__(self, lines: list[Line], n: int, rated: set[int], reasons: bool) -> None:
        self.lines = [line if i in rated else _numbered(line) for i, line in enumerate(lines)]
        self.n, self.rated, self.reasons = n, rated, reasons
        sections = [
            (i not in rated and section_of(line)) or ("", "") for i, line in enumerate(self.lines)
        ]
        self.kinds = [kind for kind, _ in sections]  # of the section that a line heads
        self.rests = [rest for _, rest in sections]  # of the line behind its heading
        self.kinds = [
            "none" if kind and self._leads_nowhere(i) else kind for i, kind in enumerate(self.kinds)
        ]
        if reasons:
            self.kinds = ["keywords" if kind == "reasons" else kind for kind in self.kinds]
            self.end = len(lines)
        else:
            stops = [
                i
                for i, line in enumerate(self.lines)
                if i in rated and not line.plain.endswith(":")
            ]
            stops += [i for i, kind in enumerate(self.kinds) if kind in ("reasons", "ratings")]
            self.end = min([*stops, len(lines)])

    def _leads_nowhere(self, i: int) -> bool:
        later = range(i + 1, len(self.lines))
        following = next(
            (k for k in later if k not in self.rated or self.lines[k].plain[-1:] != ":"), None
        )
        heads = following is None or (self.kinds[following] and not self.rests[following])
        return not self.rests[i] and bool(heads)

    def headed(self) -> list[str]:
        final = re.compile(r"\W*(?:my )?(?:revised|final|corrected|updated)\b")
        order = sorted(range(len(self.lines)), key=lambda i: not final.match(self.lines[i].plain))
        for i in order:
            if self.kinds[i] != "keywords" or has_refusal(self.lines[i].text):
                continue
            rest = self.rests[i]
            keywords = _between_commas(rest, 1) if rest else self._list(i + 1)
            if keywords:
                return keywords
        return []

    def in_sentence(self) -> tuple[int, list[str]]:
        for i, line in enumerate(self.lines):
            if i in self.rated or has_refusal(line.text):
                continue
            sentence = (
                not self.reasons
                and not line.marker
                and not re.match(r"(?:\*\*|__)|[^.:]{1,40}:", line.text)
            )
            for pattern in _SENTENCES[: 4 if sentence else 2]:
                m = pattern.search(line.text)
                keywords = _between_commas(m[1], 3) if m else []
                if keywords:
                    return i, keywords
        return len(self.lines), []

    def first(self) -> tuple[int, list[str]]:
        offers: set[int] = set()  # the lines that say what else could be done
        for i in range(self.end):
            line = self.lines[i]
            offered = i and (
                _OFFER.search(self.lines[i - 1].plain)
                or (i - 1 in offers and line.marker == self.lines[i - 1].marker != "")
            )
            if offered:
                offers.add(i)
            if self.kinds[i] or i in self.rated or offered:
                continue
            if line.marker in ("bullet", "numeral", "heading"):
                if self._rates(i):
                    break
                keywords = self._list(i)
                if len(keywords) > 1 or (keywords and self.reasons and line.marker != "heading"):
                    return i, keywords
            else:
                keywords = _between_commas(self._whole(i), 3) or self._list(i)
                if len(keywords) > 2 or (len(keywords) > 1 and self.reasons):
                    return i, keywords
        return len(self.lines), []

    def bold(self) -> list[str]:
        keywords = [
            keyword
            for i, line in enumerate(self.lines[: self.end])
            if not (line.marker or line.headed or i in self.rated)
            for word in re.findall(r"(?<!^)\*\*([^*\n:]{2,40})\*\*(?!:)", line.text)
            if (keyword := _keyword(word, False))
        ]
        return keywords if len(keywords) == self.n > 2 and not self.reasons else []

    def _rates(self, i: int) -> bool:
        number = r"[:=-]\s*(?:\d(?:[.,]\d)?(?:\s*/\s*\d+)?)?$"
        marker = self.lines[i].marker
        entries = [line.plain for line in self.lines[i : i + 3] if line.marker == marker]
        return all(re.search(number, entry) for entry in entries)

    def _list(self, start: int) -> list[str]:
        if start >= len(self.lines) or start in self.rated or self._ends(start, ""):
            return []
        first = self.lines[start]
        if first.marker:
            following = self.lines[start + 1 : start + 2]
            more = following and following[0].marker == first.marker and start + 1 not in self.rated
            several = _counted(first) or ([] if more else _between_commas(first.text, 3))
        else:
            several = _between_commas(self._whole(start), 2)
        several = several or self._by_sides(start)
        if several:
            return several
        shape = first.marker or ("bold" if first.text.startswith(("**", "__")) else "bare")
        keywords: list[str] = []
        last = -1  # the last entry's line
        explained = False
        for i in range(start, len(self.lines)):
            line = self.lines[i]
            ends = self._ends(i, shape if keywords else "")
            if i in self.rated or len(keywords) >= self.n or ends:
                break
            if not self._is_entry(line, shape, first.indent):
                prose = not (line.marker or line.indent or explained)
                if shape == "bullet" and len(keywords) > 1 and prose:
                    break
                sentence = re.search(r"[.!?]$", line.plain) and len(line.plain.split()) > 3
                if shape == "bare" and not (keywords and sentence):
                    break
                explained = True
                continue
            follows = i == last + 1 and not line.parted
            counts_on = line.numeral == self.lines[last].numeral + 1 or follows
            if shape == "numeral" and last >= 0 and not counts_on:
                break
            keyword = _keyword(line.text, bool(line.marker))
            if keyword:
                keywords.append(keyword)
                last = i
            elif shape == "bare":
                break
        return keywords

    def _by_sides(self, start: int) -> list[str]:
        """ "Positive: caring, kind" """
        keywords: list[str] = []
        for i, line in enumerate(self.lines[start:], start):
            if i in self.rated or not _SIDE.match(line.plain):
                break
            listed = _between_commas(line.text.partition(":")[2], 1)
            if not listed:
                break
            keywords += listed
        return keywords

    def _whole(self, i: int) -> str:
        """A line, with the next as long as it ends with a comma."""
        text = self.lines[i].text
        while (
            text.rstrip().endswith(",")
            and i + 1 < len(self.lines)
            and i + 1 not in self.rated
            and not self.lines[i + 1].marker
        ):
            i += 1
            text += " " + self.lines[i].text
        return text

    def _ends(self, i: int, shape: str) -> bool:
        explains = (
            self.kinds[i] == "reasons"
            and self.rests[i]
            and shape in ("numeral", "heading", "bold", "bullet")
            and self.lines[i].marker != shape
        )
        return self.kinds[i] not in ("", "keywords") and not explains

    def _is_entry(self, line: Line, shape: str, indent: int) -> bool:
        if shape == "bold":
            return not line.marker and line.text.startswith(("**", "__"))
        if shape == "bare":
            label = re.split(r":|\s-\s", line.plain)[0]
            return not line.marker and not re.search(r"\s\S+[.!?]$", label)
        return line.marker == shape and line.indent <= indent + 1


def spoken(line: Line) -> Line:
    """A line without what declines."""
    if not has_refusal(line.text):
        return line
    parts = re.split(r"(?<=[.!?;])\s+|,?\s+(?=(?:but|however)\b)", line.text)
    rest = " ".join(part for part in parts if not has_refusal(part))
    return line._replace(text=re.sub(r"^(?:but|however)\W+", "", rest), plain=plain(rest))


_COUNTED = re.compile(
    r"(?i)(?:\*\*)?(?:(?:key ?word|trait|adjective|verb|feeling|"
    r"word)\s*#?)?(?P<n>\d{1,2})(?:\*\*)?(?:\s*[:.)]\s*|\s+[-–—]\s+)(?:\*\*\s)?(?=[^\W\d]|"
    r"[*_\"'“])"
)


def _numbered(line: Line) -> Line:
    """ "1 - Caring" as a numbered list entry."""
    counted = None if line.marker == "numeral" else _COUNTED.match(line.text)
    if not counted:
        return line
    text = line.text[counted.end() :]
    return line._replace(
        text=text, marker="numeral", numeral=int(counted["n"]), plain=plain(text).strip()
    )


_SIDE = re.compile(
    r"\W*(?:more |mostly |the )?(?:positives?|negatives?|neutral|mixed|ambivalent|favou?rable|"
    r"unfavou?rable|good|bad)(?: \w+){0,2}\W*:"
)
_INNER = re.compile(r"[\s,;]+\(?\d{1,2}[.)]\)?\s+")


def _counted(line: Line) -> list[str]:
    """ "1. Caring 2. Kind 3. Skilled" """
    parts = _INNER.split(line.text)
    return (
        [k for part in parts if (k := _keyword(part, True))]
        if len(parts) > 2 and line.marker == "numeral"
        else []
    )


_WORD = r"[^\W\d_][\w'’-]*"
_WORDS = rf"(?:\d+(?:st|nd|rd|th|s)? )?{_WORD}(?:[ /&-]+{_WORD}){{0,3}}"
# Words of a sentence, between whose commas are no keywords: "however, people differ, though, in
# many ways".
_CLAUSE = re.compile(
    r"(?<![\w-])(?:however|though|although|but|is|are|was|were|has|have|they|there|these|this|in|"
    "because|as|also|which|who|people|many|some|most|such|overall|therefore|thus|course|while|"
    r"and)(?![\w-])"
)
_APOLOGY = re.compile(r"(?i)\b(?:i|i'm|we|sorry|you|your|my)\b")


def _keyword(entry: str, marked: bool) -> str | None:
    entry = entry.strip()
    bold = re.match(r"(\*\*\*?|__|_|\*|`)(?P<in>[^*_`\n]+?)\1", entry)
    text = bold["in"] if bold else entry
    text = re.sub(
        r"(?i)^(?:key ?word|trait|word|adjective|verb|feeling)?\s*#?\d+\s*[:.)-]\s*",
        "",
        text.strip(),
    )
    text = re.split(r"\s*[:(\[|=;→•]|\s+[-–—]+\s*|[–—]|\s*\.(?=\s|$)|\.$|,\s", text, maxsplit=1)[0]
    text = re.split(r"\s+(?:because|as they|since|due to|for their|which)\b", text, maxsplit=1)[0]
    text = re.sub(r"[*_`\"“”„«»#]", "", text).strip(" .,!?'‘’/").lower().replace("’", "'")
    if not re.fullmatch(_WORDS, text) or len(text) > 40 or _APOLOGY.search(text):
        return None
    if (
        not marked
        and not bold
        and (
            len(text.split()) > 3
            or (text != entry.lower().strip(" .*_:") and not re.search(r":|\s[-–—(]+\s?", entry))
        )
    ):
        return None
    return text


def _between_commas(text: str, least: int) -> list[str]:
    text = (
        re.sub(r"\s*\(?\b\d{1,2}[.)]\)?\s+", ", ", text) if len(_INNER.findall(text)) > 1 else text
    )
    text = re.sub(r"\([^()]*\)", "", text).strip(" ,")
    if re.fullmatch(
        r"(?:[^\W\d][\w'’-]*(?: [^\W\d][\w'’-]*)?[.;•·/] *|[^\W\d][\w'’-]* [-–—] "
        r"){2,}[^\W\d][\w'’ -]*[.]?",
        text,
    ):
        text = re.sub(r"\s*[.;•·/](?=.)\s*|\s+[-–—]\s+", ", ", text)  # "Strong. Tall. Loud."
    text = re.sub(r"[*_`\"“”„«»\[\]]", "", text)
    text = re.split(r"[.!?](?:\s|$)", text, maxsplit=1)[0]
    parts = [p for p in re.split(r"\s*[,;|•·]\s*(?:and\s+|&\s+|or\s+)?|\s+/\s+", text) if p.strip()]
    if parts and len(parts) >= max(least - 1, 1):
        parts = [*parts[:-1], *re.split(r"\s+(?:and|&)\s+", parts[-1])]
    keywords = []
    for part in parts:
        part = (
            re.sub(r"^\(?\d{1,2}[.):]\s*", "", part.strip())
            .strip(" .'‘’")
            .lower()
            .replace("’", "'")
        )
        if (
            not re.fullmatch(rf"{_WORD}(?:[ /&-]+{_WORD}){{0,2}}", part)
            or _APOLOGY.search(part)
            or _CLAUSE.search(part)
        ):
            break
        keywords.append(part)
    if len(keywords) < len(parts) and len(keywords) < 3:
        return []
    return keywords if len(keywords) >= least else []
