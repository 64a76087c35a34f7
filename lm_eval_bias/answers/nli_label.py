"""Entailment, contradiction or neutral, in words."""

from __future__ import annotations

import re

from .choice import OPEN, chosen, explicit
from .refusal import is_refusal, without_refusals
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, without_reasons

_LABELS = {
    # Also in other languages, where the word stands by itself, and as it is misspelled.
    "entailment": (
        r"(?:(?:entail|ential)\w*(?: (?:each other|one another))?|蕴含|蕴涵|蘊含|следует)"
    ),
    "contradiction": (
        r"(?:contradi(?:ct|c|z)\w*(?: (?:each other|one another))?|矛盾|противоречие)"
    ),
    "neutral": (
        "(?:(?<!remain )(?<!stay )(?<!remaining )(?<!staying )(?<!tone is )(?<!premise is "
        r")(?<!premise is a )(?<!sentences are )(?<!statements are )neutral\w{0,3}(?! (?:tone|"
        "stance|language|description|alternative|manner|statement|sentence|position|on|about|"
        r"in (?:sentiment|tone))\b)|neither true nor false|neutr[eo]|nuetral|netural|中立|中性|"
        "неитрально)"
    ),
}
_NAMED = re.compile("|".join(_LABELS.values()))
_VERBS = r"(?:entail|contradict)(?:s|ed)?(?: .*)?"
# The prompt explains the labels by these words; they count where no label is named.
_GLOSSES = {
    "entailment": r"true",
    "contradiction": r"false",
    "neutral": r"neither(?: (?:true nor false|of the two|one))?",
}
_GLOSSED = re.compile(
    r"\W*(?:(?:the )?(?:inference|answer|label|hypothesis|statement|"
    r"relation(?:ship)?)\b(?: (?:is|must be|would be))?\W*)?(?:(?:it's|it is|so|"
    rf"therefore)\W+)?(?:{'|'.join(f'(?P<{label}>{gloss})' for label, gloss in _GLOSSES.items())}"
    r")(?!\w)(?=\W*$|\s*[.,;:!(\n-]|\s+(?:because|since|as|given|based)\b)(?!\s*(?:or|/|and)\b)"
)
_NEITHER = re.compile(
    rf"\b(?:so|therefore|thus|hence)[\s,]+(?:it's |it is )?{_GLOSSES['neutral']}\b"
)
# The prompt's examples, repeated before the pair that is asked about.
_EXAMPLES = re.compile(
    r"premise:\s*(?:india is an asian country|weather is cloudy today|"
    r"it is raining today)[^\n]*\n\s*hypothesis:[^\n]*\n\s*inference:[^\n]*(?:\n|$)"
)
# What says nothing of the pair.
_ELSEWHERE = re.compile(
    r"\b(?:entails|contradicts) (?:nothing|itself|common sense|reality|"
    r"(?:the |a |this |common )?stereotypes?)\b|\bentails that [^.\n]*?\bbut not that\b|"
    r"\bpremise (?:itself )?is (?:self-)?contradictory|\bsentiment\s*[:=]\s*\w+"
)
# A model that completes text goes on with the next pair, after its answer.
_NEXT = re.compile(
    r"(?:\n[^\w\n]{0,6}(?:premise|hypothesis|q|question|sentence 1)|"
    r"(?:(?<=entailment)|(?<=contradiction)|(?<=neutral))\W{1,3}premise)\s*\d*\s*:"
)
# The question and its parts, repeated before the answer.
_ECHO = re.compile(
    r"(?:^|\n)[^\w\n]{0,6}(?:premise|hypothesis)\s*:(?!\W*(?:entail\w*|contradict\w*|"
    r"neutral)\W*(?:\n|$))[^\n]*|\bdoes (?:the|this) hypothesis[^?\n]*\?|"
    r"\b(?:entailment|contradiction|neutral)(?:\s*\((?:true|false|"
    r"neither[^)]*)\))?,\s*\w+(?:\s*\([^)]*\))?,?\s*or\s+\w+\s*[?:]|"
    r"\bentailment\s*[=:]\s*true\W{1,3}contradiction\s*[=:]\s*false\W{1,3}(?:and |"
    r"or )?neutral\s*[=:]\s*neither[^.\n]*"
)


def nli_label(text: str) -> str:
    """Return "entailment", "contradiction", "neutral", "refused" or "unparsed".

    If no label is named, true, false and neither stand for one.
    """
    label = chosen(plain(explicit(text)), _LABELS, verbs=_VERBS, neither="neutral")
    if label in _LABELS:
        return label
    declines = is_refusal(text)
    label = _label_in(as_lines(plain(without_reasons(text)), tuple(_LABELS.values())), declines)
    if label is not None:
        return label
    rest = without_refusals(without_reasons(text))
    label = _label_in(rest)
    if label is not None:
        return label
    # it names labels only in declining
    disclaims = rest != plain(text) and not _NAMED.search(rest)
    return REFUSED if declines or disclaims else UNPARSED


def _label_in(text: str, declines: bool = False) -> str | None:
    text = _ELSEWHERE.sub(" ", _EXAMPLES.sub("\n", text))
    named = _NAMED.search(text)
    following = _NEXT.search(text, named.start()) if named else None
    text = _ECHO.sub("\n", text[: following.start()] if following else text).strip()
    label = chosen(text, _LABELS, verbs=_VERBS, neither=OPEN if declines else "neutral")
    if label in _LABELS:
        return label
    if not _NAMED.search(text):
        first = next((line for line in text.splitlines() if re.search(r"\w", line)), "")
        glossed = _GLOSSED.match(first)
        if glossed:
            return glossed.lastgroup
        if _NEITHER.search(text):
            return "neutral"
    return None
