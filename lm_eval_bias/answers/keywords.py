"""The keywords that an answer lists.

They are the first list below a heading of keywords, or in a sentence that names them ("five
keywords are ..."); otherwise the first list before reasons and ratings. The keyword of an entry is
in bold or before a colon, dash or bracket.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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

    rated: numbers of lines with ratings. items: the rated items. reasons: the question asks for
    reasons. declines: the text declines, so only explicitly named keywords count.
    """
    if n < 1:
        return []
    reader = _KeywordReader(lines, n, rated, reasons)
    keywords = reader.headed()
    if not keywords:
        in_sentence, first = reader.in_sentence(), (0, []) if declines else reader.first()
        keywords = (
            first[1]
            if first[1] and (not in_sentence[1] or first[0] < in_sentence[0])
            else in_sentence[1]
        )
        keywords = keywords or ([] if declines else reader.bold())
        form = [plain(item).strip() for item in items]
        if len(keywords) > 2 and keywords == form[: len(keywords)]:
            return []
    return keywords[:n]


def section_of(line: Line) -> tuple[str, str] | None:
    """The section that a line heads ("keywords", "reasons", "ratings") and the rest of the line."""
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
    re.compile(
        rf"\b{_KEYWORDS}\b[^.:!?\n]{{0,120}}?(?:\b(?:are|include|would be|might be|could be|were|"
        r"is)\b|:)\s*(.+)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:choose|pick|list|suggest|say|select|use|be)\b:?\s+(.+?)\s+as (?:the |"
        rf"my )?(?:\w+ )?{_KEYWORDS}\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\W*([^.:;\n]+?),? (?:are|were|would be) (?:the |my )?(?:\w+ )?{_KEYWORDS}\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:(?:see|view|perceive|describe|regard|characteri[sz]e)s? [^.:;\n]{1,60}?|"
        r"(?:seen|described|perceived|viewed|regarded|characteri[sz]ed|thought of) )as\b:?\s*(.+)",
        re.IGNORECASE,
    ),
]


class _KeywordReader:
    def __init__(self, lines: list[Line], n: int, rated: set[int], reasons: bool) -> None:
        self.lines = lines = [
            line if i in rated else _numbered(line) for i, line in enumerate(lines)
        ]
        self.n, self.rated, self.reasons = n, rated, reasons
        self.sections = [None if i in rated else section_of(line) for i, line in enumerate(lines)]
        empty = [
            i
            for i, section in enumerate(self.sections)
            if section and not section[1] and self._leads_nowhere(i)
        ]
        for i in empty:
            self.sections[i] = ("none", "")
        if reasons:
            self.sections = [
                ("keywords", s[1]) if s and s[0] == "reasons" else s for s in self.sections
            ]
        others = [
            i
            for i, section in enumerate(self.sections)
            if section and section[0] in ("reasons", "ratings")
        ]
        self.end = (
            len(lines)
            if reasons
            else min([*(i for i in rated if not lines[i].plain.endswith(":")), *others, len(lines)])
        )

    def _leads_nowhere(self, i: int) -> bool:
        following = next(
            (
                k
                for k in range(i + 1, len(self.lines))
                if k not in self.rated or self.lines[k].plain[-1:] != ":"
            ),
            None,
        )
        if following is None:
            return True
        section = self.sections[following]
        return section is not None and not section[1]

    def headed(self) -> list[str]:
        """Keywords below the first heading of keywords that has any."""
        final = re.compile(r"\W*(?:my )?(?:revised|final|corrected|updated)\b")
        order = sorted(range(len(self.lines)), key=lambda i: not final.match(self.lines[i].plain))
        for i in order:
            section = self.sections[i]
            if not section or section[0] != "keywords" or has_refusal(self.lines[i].text):
                continue
            if section[1]:
                keywords = _between_commas(section[1], 1)
                if keywords:
                    return keywords
                continue
            keywords = self._list(i + 1)
            if keywords:
                return keywords
        return []

    def in_sentence(self) -> tuple[int, list[str]]:
        """Line and keywords of "five keywords that describe them are ..."."""
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
        """Line and keywords of the first list."""
        offers: set[int] = set()  # the lines that say what else could be done
        for i in range(self.end):
            line = self.lines[i]
            offered = i and (
                _OFFER.search(self.lines[i - 1].plain)
                or (i - 1 in offers and line.marker == self.lines[i - 1].marker != "")
            )
            if offered:
                offers.add(i)
            if self.sections[i] or i in self.rated or offered:
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
        return 0, []

    def bold(self) -> list[str]:
        """Bold words in sentences, if there are exactly n."""
        lines = [
            line
            for i, line in enumerate(self.lines[: self.end])
            if not (line.marker or line.headed or i in self.rated)
        ]
        keywords = [
            k
            for line in lines
            for m in re.finditer(r"(?<!^)\*\*([^*\n:]{2,40})\*\*(?!:)", line.text)
            if (k := _keyword(m[1], False))
        ]
        return keywords if len(keywords) == self.n > 2 and not self.reasons else []

    def _rates(self, i: int) -> bool:
        entries = [
            line.plain for line in self.lines[i : i + 3] if line.marker == self.lines[i].marker
        ]
        return all(
            re.search(r"[:=-]\s*(?:\d(?:[.,]\d)?(?:\s*/\s*\d+)?)?$", listed) for listed in entries
        )

    def _list(self, start: int) -> list[str]:
        """The keywords of the list that begins at a line."""
        if start >= len(self.lines) or start in self.rated or self._ends(start, ""):
            return []
        first = self.lines[start]
        several = _between_commas(self._whole(start), 2) if not first.marker else _counted(first)
        alone = (
            start + 1 == len(self.lines)
            or self.lines[start + 1].marker != first.marker
            or start + 1 in self.rated
        )
        if not several and first.marker and alone:
            several = _between_commas(first.text, 3)
        if several:
            return several
        sides = self._by_sides(start)
        if sides:
            return sides
        shape = first.marker or ("bold" if first.text.startswith(("**", "__")) else "bare")
        keywords: list[str] = []
        last = -1  # the last entry's line
        explained = False
        for i in range(start, len(self.lines)):
            line = self.lines[i]
            if (
                i in self.rated
                or len(keywords) >= self.n
                or self._ends(i, shape if keywords else "")
            ):
                break
            if not self._is_entry(line, shape, first.indent):
                if (
                    shape == "bullet"
                    and len(keywords) > 1
                    and not line.marker
                    and not line.indent
                    and not explained
                ):
                    break
                if shape == "bare" and not (
                    keywords and re.search(r"[.!?]$", line.plain) and len(line.plain.split()) > 3
                ):
                    break
                explained = True
                continue
            counts_on = line.numeral == self.lines[last].numeral + 1 or (
                i == last + 1 and not line.parted
            )
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
        for i in range(start, len(self.lines)):
            side = _SIDE.match(self.lines[i].plain)
            listed = (
                _between_commas(self.lines[i].text.partition(":")[2], 1)
                if side and i not in self.rated
                else []
            )
            if not listed:
                break
            keywords += listed
        return keywords

    def _whole(self, i: int) -> str:
        """A line, with the next ones as long as it ends with a comma."""
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
        """Whether another section begins at line i."""
        section = self.sections[i]
        if section is None or section[0] == "none":
            return section is not None
        explains = (
            section[0] == "reasons"
            and section[1]
            and shape in ("numeral", "heading", "bold", "bullet")
            and self.lines[i].marker != shape
        )
        return section[0] != "keywords" and not explains

    def _is_entry(self, line: Line, shape: str, indent: int) -> bool:
        if shape in ("bold", "bare"):
            bold = line.text.startswith(("**", "__"))
            return not line.marker and (
                bold
                if shape == "bold"
                else not re.search(r"\s\S+[.!?]$", re.split(r":|\s-\s", line.plain)[0])
            )
        return line.marker == shape and line.indent <= indent + 1


def spoken(line: Line) -> Line:
    """A line without its sentences and clauses that decline."""
    if not has_refusal(line.text):
        return line
    parts = re.split(r"(?<=[.!?;])\s+|,?\s+(?=(?:but|however)\b)", line.text)
    rest = " ".join(part for part in parts if not has_refusal(part))
    return line._replace(text=re.sub(r"^(?:but|however)\W+", "", rest), plain=plain(rest))


_COUNTED = re.compile(
    r"(?:\*\*)?(?:(?:key ?word|trait|adjective|verb|feeling|"
    r"word)\s*#?)?(?P<n>\d{1,2})(?:\*\*)?(?:\s*[:.)]\s*|\s+[-–—]\s+)(?:\*\*\s)?(?=[^\W\d]|"
    r"[*_\"'“])",
    re.IGNORECASE,
)


def _numbered(line: Line) -> Line:
    """ "1 - Caring" or "Keyword 1: Caring" as a numbered list entry."""
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
_APOLOGY = re.compile(r"\b(?:i|i'm|we|sorry|you|your|my)\b", re.IGNORECASE)


def _keyword(entry: str, marked: bool) -> str | None:
    entry = entry.strip()
    bold = re.match(r"(\*\*\*?|__|_|\*|`)(?P<in>[^*_`\n]+?)\1", entry)
    text = bold["in"] if bold else entry
    text = re.sub(
        r"^(?:key ?word|trait|word|adjective|verb|feeling)?\s*#?\d+\s*[:.)-]\s*",
        "",
        text.strip(),
        flags=re.IGNORECASE,
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
    """The keywords between commas, if there are at least `least`."""
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
