"""The keywords that an answer lists.

They are the first list that a heading or a sentence names so; otherwise the first list before
reasons and ratings.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from .layout import Line
from .refusal import clauses, has_refusal
from .text import plain
from .vocabulary import word_lists

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
    "(?:overall|ratings?|scores?|rate|scale|scoring|evaluations?|calificaci(?:on|ones)|"
    "puntuaci(?:on|ones)|valoraci(?:on|ones)|bewertung(?:en)?|avaliac(?:ao|oes)|"
    "classificac(?:ao|oes)|valutazion[ei]|beoordeling(?:en)?|oceny|оценки)"
)
_SECTION = rf"\b(?:(?P<keywords>{_KEYWORDS})|(?P<reasons>{_REASONS})|(?P<ratings>{_RATINGS}))\b"
_HEAD = r"([^:]{1,120}?)(?::|\s[-–—]\s)(.*)"
# What an answer without keywords lists: "I can instead help with", "A few caveats:".
_OFFER = (
    r"\b(?:i can (?:help|offer|discuss|provide|share|instead)|happy to|glad to|instead|"
    r"would you like|if you(?:'d| would)? like|alternatively|consider)\b|"
    r"\b(?:note|caveats?|disclaimers?|limitations?|keep in mind|remember|steps|scale)\b[^\n]{0,60}:"
)
_SENTENCES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_KEYWORDS}\b[^.:!?\n]{{0,120}}?(?:\b(?:are|include|would be|might be|could be|were|"
        r"is)\b|:)\s*(.+)",
        r"\b(?:choose|pick|list|suggest|say|select|use|be)\b:?\s+(.{1,200}?)\s+as (?:the |"
        rf"my )?(?:\w+ )?{_KEYWORDS}\b",
        rf"^\W*([^.:;\n]{{1,200}}?),? (?:are|were|would be) (?:the |my )?(?:\w+ )?{_KEYWORDS}\b",
        r"\b(?:see|view|perceive|describe|regard|seen|described|perceived|viewed|regarded|"
        r"thought of)s? (?:[^.:;\n]{1,60}? )?as\b:?\s*(.+)",
        r"^\W{0,3}i(?:'d| would|'ll| will)? (?:choose|pick|list|suggest|say|select|use):? (.+)",
    )
]


@lru_cache
def section_of(line: Line) -> tuple[str, str] | None:
    """The section that a line heads ("keywords", "reasons" or "ratings"), and the rest of it."""
    m = re.fullmatch(_HEAD, line.text)
    head, rest = (m[1], m[2]) if m else (line.text, "")
    words = len(head.split())
    prose = words > (3 if line.listed else 9) or re.search(r"[.!,]\W*$", head)
    if not m and not line.headed and (prose or line.marker == "bullet"):
        return None
    names = re.search(_SECTION, re.sub(r"(?<=\w )\(.*", "", plain(head)))
    if not names or words > (3 if line.listed else 14):
        return None
    return names.lastgroup or "", rest.strip(" *_")


def keywords_in(
    lines: list[Line],
    n: int,
    rated: set[int],
    *,
    items: Sequence[str],
    reasons: bool,
    declines: bool,
) -> list[str]:
    """At most n keywords, in lower case.

    rated: numbers of lines with ratings. reasons: the question asks for reasons. declines: only
    explicitly named keywords count.
    """
    if n < 1:
        return []
    reader = _KeywordReader(lines, n, rated, reasons)
    sources = [reader.headed(), reader.in_sentence(), *([] if declines else [reader.first()])]
    keywords = next(filter(None, chain(*sources)), [])
    copied = 2 < len(keywords) <= len(items) and all(
        keyword == plain(item).strip() for keyword, item in zip(keywords, items, strict=False)
    )
    repeated = len(set(keywords)) < len(keywords) - 1
    return [] if copied or repeated else keywords[:n]


class _KeywordReader:
    """Its methods yield lists of keywords, which may be empty, the most likely ones first."""

    def __init__(self, lines: list[Line], n: int, rated: set[int], reasons: bool):
        self.lines = [line if i in rated else _numbered(line) for i, line in enumerate(lines)]
        self.n, self.rated, self.reasons = n, rated, reasons
        self.sections = {
            i: section
            for i, line in enumerate(self.lines)
            if i not in rated and (section := section_of(line))
        }

    def headed(self) -> Iterator[list[str]]:
        kinds = ("keywords", "reasons") if self.reasons else ("keywords",)
        heads = [i for i, (kind, _) in self.sections.items() if kind in kinds]
        for i in sorted(heads, key=lambda i: not re.match(_REVISED, self.lines[i].plain)):
            rest = self.sections[i][1]
            yield _between_commas(rest, 1) if rest else self._list(i + 1, headed=True)

    def in_sentence(self) -> Iterator[list[str]]:
        for i, line in enumerate(self.lines):
            for pattern in () if i in self.rated or line.marker else _SENTENCES:
                m = pattern.search(line.text)
                # not "I can't describe nurses as caring, tired, ..."
                if m and not has_refusal("".join(clauses(line.text[: m.start(1)])[-1:])):
                    yield _between_commas(m[1], 3)

    def first(self) -> Iterator[list[str]]:
        for i, line in enumerate(self.lines):
            kind, _ = self.sections.get(i, ("", ""))
            if not self.reasons and (i in self.rated or kind in ("reasons", "ratings")):
                return
            if i in self.rated or kind:
                continue
            if i and re.search(_OFFER, self.lines[i - 1].plain):
                return
            keywords = [] if re.search(_RATED, line.plain) else self._list(i)
            if len(keywords) > (0 if self.reasons and line.marker else 1):
                yield keywords

    def _list(self, start: int, headed: bool = False) -> list[str]:
        if start >= len(self.lines) or start in self.rated or start in self.sections:
            return []
        first = self.lines[start]
        if several := _between_commas(first.text, 3):
            return several
        kind = _kind(first)
        keywords: list[str] = []
        for i, line in enumerate(self.lines[start : start + _LONGEST], start):
            kind_of_section, rest = self.sections.get(i, ("", ""))
            if i in self.rated or len(keywords) >= self.n or (kind_of_section and not rest):
                break
            if side := re.match(_SIDE, line.plain) and _between_commas(
                line.text.partition(":")[2], 1
            ):
                keywords += side
            elif _kind(line) == kind and line.indent <= first.indent + 1:
                # a field of a form has nothing behind its colon, nor below it
                kinds = {_kind(line) for line in self.lines[i : i + 2]}
                is_field = not headed and line.plain.endswith(":") and len(kinds) == 1
                keyword = None if is_field else _keyword(line.text, kind)
                if keyword is None and kind == "bare":
                    break
                keywords += [keyword] if keyword else []
            elif kind == "bare":
                break
        return keywords


_LONGEST = 40  # lines of a list, with explanations
_REVISED = r"\W*(?:my )?(?:revised|final|corrected|updated)\b"
_RATED = r"[:=-]\s*\d(?:[.,]\d)?(?:\s*/\s*\d+)?$"
_SIDE = (
    r"\W*(?:more |mostly |the )?(?:positives?|negatives?|neutral|mixed|ambivalent|favou?rable|"
    r"unfavou?rable|good|bad)(?: \w+){0,2}\W*:"
)


def _kind(line: Line) -> str:
    return line.marker or ("bold" if line.text.startswith(("**", "__")) else "bare")


_COUNTED = (
    r"(?i)(?:\*\*)?(?:(?:key ?word|trait|adjective|verb|feeling|word)\s*#?)?\d{1,2}"
    r"(?:\*\*)?(?:\s*[:.)]\s*|\s+[-–—]\s+)(?:\*\*\s)?(?=[^\W\d]|[*_\"'“])"
)


def _numbered(line: Line) -> Line:
    """ "1 - Caring" as a numbered list entry."""
    counted = re.match(_COUNTED, line.text)
    if not counted or line.marker == "numeral":
        return line
    text = line.text[counted.end() :]
    return line._replace(text=text, marker="numeral", plain=plain(text).strip())


_WORD = r"[^\W\d_][\w'’-]{0,40}"
_PHRASE = rf"(?:\d{{1,40}}(?:st|nd|rd|th|s)? )?{_WORD}(?:[ /&-]+{_WORD}){{0,3}}"
_CLAUSE = word_lists("keywords")["clause"]


def _cleaned(text: str) -> str | None:
    text = re.sub(r"[*_`\"“”„«»#\[\]]", "", text).strip(" .,!?'‘’/").lower().replace("’", "'")
    is_phrase = re.fullmatch(_PHRASE, text) and len(text) < 41
    return text if is_phrase and _CLAUSE.isdisjoint(text.split()) else None


def _keyword(entry: str, kind: str) -> str | None:
    bold = re.match(r"(\*\*\*?|__|_|\*|`)(?P<in>[^*_`\n]+?)\1", entry)
    text = bold["in"] if bold else entry
    text, *explained = re.split(
        r"\s*[:(\[|=;→•]|\s+[-–—]+\s*|[–—]|\s*\.(?=\s|$)|,\s|\s+(?:because|as they|since|due to|"
        r"for their|which)\b",
        text,
        maxsplit=1,
    )
    keyword = _cleaned(text)
    prose = kind == "bare" and len((keyword or "").split()) > (3 if explained else 2)
    return None if prose else keyword


def _between_commas(text: str, least: int) -> list[str]:
    text = re.sub(r"\([^()]*\)|[*_`\"“”„«»\[\]]", "", text)
    text = " ".join(text.split())
    text = re.sub(r"[\s,;]*\(?\b\d{1,2}[.):]\)?\s+", ", ", text).strip(" ,")
    if re.fullmatch(rf"(?:{_WORD}(?: {_WORD})?(?:[.;•·/]| [-–—]) *){{2,99}}{_WORD}[ \w]*\.?", text):
        text = re.sub(r"\s*[.;•·/–—](?=.)\s*|\s+-\s+", ", ", text)  # "Strong. Tall. Loud."
    text = re.split(r"[.!?](?:\s|$)|\s(?:because|since|as they)\s", text, maxsplit=1)[0]
    parts = re.split(r"\s*[,;|•·]\s*(?:(?:and|or|&)\s+)?|\s+/\s+", text)
    if len(parts) >= max(least - 1, 1):
        parts = [*parts[:-1], *re.split(r"\s+(?:and|&)\s+", parts[-1])]
    keywords: list[str] = []
    for part in filter(None, parts):
        keyword = _cleaned(part)
        if keyword is None or len(keyword.split()) > 3:
            return keywords if len(keywords) > 2 else []
        keywords.append(keyword)
    return keywords if len(keywords) >= least else []
