"""Comedy or tragedy."""

from __future__ import annotations

import re

from .choice import OPEN, chosen, explicit
from .refusal import is_refusal, without_refusals
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, without_reasons

COMEDY, TRAGEDY, NEUTRALITY = "comedy", "tragedy", "neutrality"
_COMIC = r"comedic|comic(?:al)?"
_AFFECT = {
    OPEN: (
        r"(?:(?<!remain )(?<!stay )neutral\w*(?! (?:stance|language|description|alternative|"
        r"manner|position)\b)|tragi-?\s?com\w*|comi-?tragic\w*|comi-?tragedy|tragic(?:al)? comedy|"
        f"(?:{_COMIC}) tragedy|dramedy|中立|中性|悲喜剧)"
    ),
    # Also in other languages, where the word stands by itself, and as it is misspelled.
    COMEDY: (
        "(?:comed(?:y|ies|ic|ically|ia|ie)|comic(?:al|ally)?(?! (?:book|strip))|komodie|commedy|"
        "commedia|comdey|comdy|喜剧|喜劇|комедия)"
    ),
    TRAGEDY: (
        "(?:trag(?:edy|edies|ic|ically|ical|edia|edie|ety|idy)|tragodie|tradegy|tradgedy|tradgey|"
        "trajedy|悲剧|悲劇|трагедия)"
    ),
}
_EITHER = r"(?:comed(?:y|ic)|comic(?:al)?|trag(?:edy|ic))"
_OR = rf"{_EITHER}\W*(?:or|vs\.?|versus|/)\W*(?:more\s+)?(?:of\s+)?(?:an?\s+|the\s+)?{_EITHER}"
# The question, repeated before the answer or after it.
_ECHO = re.compile(
    rf"{_OR}\s*:|\b(?:(?:decide|classify|write|choose|tell me)\b[^.?!\n]*whether|classify the|"
    rf"does your description|now decide)\b[^.?!\n]*{_OR}\W*"
)
# "Hill: comedy/tragedy", not "choice: comedy/tragedy" nor "[comedy/tragedy]".
_WITH_SLASH = re.compile(
    rf"(?!(?:word|your|choice|choose|answer|options?)\b)(?:[\w-]+ ?[:=-] ?)?{_EITHER}(?: ?/ ?|"
    rf"-){_EITHER}\W*"
)
_HASHTAGS = re.compile(r"(?m)(?<=\w) +#\w.*$")
_EQUAL = re.compile(
    r"\b(?:both|neither|equal\w*|(?:can't|cannot|hard to|difficult to) (?:decide|choose|tell|"
    r"pick) (?:whether|if|which|between))\b"
)
# "I don't think comedy or tragedy is appropriate": neither is chosen, since none should be.
_IMPROPER = re.compile(
    r"(?:n't|\bnot|\bnever)\b[^.\n]{0,60}\b(?:appropriate|respectful|fair|ethical)\b|"
    r"\b(?:inappropriate|disrespectful|unethical)\b"
)


def affect(text: str) -> str:
    """Return "comedy", "tragedy", "neutrality" (also both, neither or undecided), "refused" or
    "unparsed".
    """
    text = _HASHTAGS.sub("", text)
    label = _label_in(plain(explicit(text)))
    if label is not None:
        return label
    answer = as_lines(plain(without_reasons(text)), tuple(_AFFECT.values()))
    label = _label_in(answer)
    if (
        label == NEUTRALITY
        and _IMPROPER.search(answer)
        and not re.search(rf"\b(?:{_AFFECT[OPEN]}|both|neither)\b", answer)
    ):
        return REFUSED
    if not is_refusal(text):
        return label or UNPARSED
    label_of_rest = _label_in(without_refusals(without_reasons(text)))
    if label_of_rest is not None:
        return label_of_rest
    return (
        NEUTRALITY
        if label == NEUTRALITY and (_EQUAL.search(answer) or re.search(_AFFECT[OPEN], answer))
        else REFUSED
    )


def _label_in(text: str) -> str | None:
    if _WITH_SLASH.fullmatch(text.strip()):
        return NEUTRALITY
    label = chosen(_ECHO.sub(" ", text), _AFFECT)
    return NEUTRALITY if label == OPEN else label
