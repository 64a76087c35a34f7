"""The word that completes an analogy A : B :: C : D."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .choice import chosen, explicit
from .refusal import is_refusal, without_refusals
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, spelled, without_reasons

_CORRECTION = re.compile(
    r"\b(?:wait|actually|correction|second thoughts?|scratch that|i mean|no,|but if|"
    "(?:however|but),? (?:i|my|we)(?:'d| would| will|'ll)? (?:prefer|choose|pick|go|answer|"
    r"choice))\b"
)
_SETTLED = re.compile(r"\b(?:answer|verdict|choice)\b")
# "I would complete it with ...", "if a tall man is ..., then a short man is ..."
_COMPLETE = (
    r"\b(?:i|i'd|i'll|would|will|must|should) complete\b[^.\n:;?]{0,40}?\bwith\b|"
    r"^if\b[^.\n?]{1,60},? then\b[^.\n;?]{1,40}?\bis\b"
)
_IS_TO = re.compile(r"\bis to\b")
_WORD = r"(?:word|term|answer|completion|attribute|blank|d)"


def analogy_word(text: str, options: Sequence[str], c: str | None = None) -> str:
    """Return the option that a text gives for D, "refused" or "unparsed".

    options: the question's two words. c: the phrase for C; analogies about others do not count.
    """
    names = {option: _spelled(option) for option in options}
    word = chosen(_completion(plain(explicit(text)), names, c), names)
    if word in names:
        return word
    word = _word_in(as_lines(plain(without_reasons(text)), tuple(names.values())), names, c)
    declines = is_refusal(text)
    rest = _word_in(without_refusals(without_reasons(text)), names, c)
    if word is not None and not (declines and rest is None):
        return word
    return rest if rest is not None else REFUSED if declines else UNPARSED


def _spelled(option: str) -> str:
    return re.sub(r"^(un|in|im|ir|dis)(?=\w{4})", r"\1[\\s-]?", spelled(option))


def _word_in(text: str, names: Mapping[str, str], c: str | None) -> str | None:
    text = _completion(text, names, c)
    word = _stated(text, names, c) or _leading(text, names) or chosen(text, names)
    return word if word in names else None


def _stated(text: str, names: Mapping[str, str], c: str | None) -> str | None:
    of_c = "(?!)" if c is None else rf"(?<!\w){re.escape(plain(c))}"
    before = (
        rf"(?:^|[\n,;({{])\W{{0,2}}d\s*[:=]|\b{_WORD}\b[^.\n:;?]{{0,60}}?\b(?:is|be)\b:?|"
        rf"{_COMPLETE}|{of_c}(?:\s?[:=]| (?:is|would be|should be|must be)\b)"
    )
    ends: dict[str, int] = {}
    for option, pattern in names.items():
        word = rf"\W{{0,3}}{pattern}(?!\w)(?!\W{{1,3}}(?:or|and)\b)(?!\s*\?)"
        after = rf"(?<!\w){pattern}\W{{1,3}}(?:is|would be) the (?:\w+ )?{_WORD}\b"
        for m in re.finditer(rf"(?:{before}){word}|{after}", text):
            ends[option] = m.end()
    if len(ends) != 1:
        return None
    ((option, end),) = ends.items()
    return None if _CORRECTION.search(text, end) else option


def _leading(text: str, names: Mapping[str, str]) -> str | None:
    for option, pattern in names.items():
        first = re.match(rf"[^\w?]*{pattern}[^\w?]*?(?:\n|$|,?\s+(?:because|since|as)\b)", text)
        if first:
            rest = text[first.end() :]
            return None if _CORRECTION.search(rest) or _SETTLED.search(rest) else option
    return None


def _completion(text: str, names: Mapping[str, str], c: str | None) -> str:
    either = "|".join(f"(?:{pattern})" for pattern in names.values())
    either = rf"(?<!\w)(?:{either})(?!\w)"
    announced = r"(?:\b(?:one of )?(?:these|the) two words(?:, and write nothing else)?\W{0,3})?"
    listing = rf"{announced}{either}\s?[,/]\s?{either}(?:\s?:)?"
    text = re.sub(listing, lambda m: m.group() if _same(m.group(), names) else "\n", text)
    kept: list[str] = []
    answered = False
    for line in text.split("\n"):
        parts = line.split("::")
        if len(parts) > 1:
            first = re.match(rf"\W{{0,5}}{either}", parts[0])
            if first or answered:
                kept += [first.group()] if first and not answered else []
                break  # the answer stands before, and what follows is another analogy
            of, _, line = parts[1].rpartition(":")
            if c is not None and of and plain(c) not in of:
                continue
            line = line if of else ""
        compared = list(_IS_TO.finditer(line))
        if len(compared) > 1 and re.search(
            r"\bas\b", line[compared[0].end() : compared[-1].start()]
        ):
            line = line[compared[-1].end() :]
        kept.append(line)
        answered |= re.search(either, line) is not None
    return "\n".join(kept)


def _same(listing: str, names: Mapping[str, str]) -> bool:
    return not all(re.search(rf"(?<!\w){pattern}(?!\w)", listing) for pattern in names.values())
