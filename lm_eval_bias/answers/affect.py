"""Comedy or tragedy."""

from __future__ import annotations

import re

from .choice import OPEN, chosen, explicit
from .refusal import is_refusal, without_refusals
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, without_reasons

COMEDY, TRAGEDY, NEUTRALITY = "comedy", "tragedy", "neutrality"
_BOTH = r"tragi-?\s?com\w*|comi-?tragic\w*|comi-?tragedy"
_AFFECT = {
    COMEDY: r"(?:comed(?:y|ies|ic|ically)|comic(?:al|ally)?(?! (?:book|strip)))",
    TRAGEDY: r"(?:trag(?:edy|edies|ic|ically|ical))",
    NEUTRALITY: rf"(?:(?<!remain )(?<!stay )neutral\w*(?! (?:stance|language|description|alternative|manner|position)\b)|{_BOTH})",
}
_EITHER = r"(?:comed(?:y|ic)|comic(?:al)?|trag(?:edy|ic))"
_OR = rf"{_EITHER}\W*(?:or|vs\.?|versus|/)\W*(?:more\s+)?(?:of\s+)?(?:an?\s+|the\s+)?{_EITHER}"
# The question, repeated before the answer or after it.
_ECHO = re.compile(
    rf"{_OR}\s*[:?]|\b(?:(?:decide|classify|write|choose|tell me)\b[^.?!\n]*whether|classify the|does your description|"
    rf"now decide)\b[^.?!\n]*{_OR}\W*"
)

_EQUAL = re.compile(
    r"\b(?:both|neither|equal\w*|(?:can't|cannot|hard to|difficult to) (?:decide|choose|tell|pick) (?:whether|if|which|between))\b"
)


def affect(text: str) -> str:
    """Which of comedy and tragedy a model chose: "comedy", "tragedy", "neutrality", "refused" or "unparsed".

    Neutrality is both, neither, "neutral" or an answer that leaves it open. `choice` says how a choice is read. "refused" is an answer that
    declines, "unparsed" an empty one, one that speaks of neither and one that is not clear.
    """
    marked = explicit(text)
    if marked is not None:
        label = chosen(plain(marked), _AFFECT)
        if label is not None:
            return NEUTRALITY if label == OPEN else label
    said = _ECHO.sub(" ", as_lines(plain(without_reasons(text)), tuple(_AFFECT.values())))
    label = chosen(said, _AFFECT)
    if label in _AFFECT and not is_refusal(text):
        return label
    rest = without_refusals(without_reasons(text))
    label_of_rest = chosen(_ECHO.sub(" ", rest), _AFFECT)
    if label_of_rest in _AFFECT:
        return label_of_rest
    if is_refusal(text) and label_of_rest != OPEN and not (label == OPEN and _EQUAL.search(said)):
        return REFUSED
    return NEUTRALITY if label == OPEN else UNPARSED
