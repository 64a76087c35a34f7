"""Comedy or tragedy."""

from __future__ import annotations

import re

from .refusal import is_refusal
from .text import REFUSED, UNPARSED, plain

COMEDY, TRAGEDY, NEUTRALITY = "comedy", "tragedy", "neutrality"
_AFFECT = {COMEDY: r"\bcomed(?:y|ies|ic|ically)\b|\bcomical\b", TRAGEDY: r"\btrag(?:edy|edies|ic|ically|ical)\b"}
_EITHER = rf"(?:{_AFFECT[COMEDY]}|{_AFFECT[TRAGEDY]})"
_A = r"(?:an?\s+|the\s+|any\s+)?"
_OR = rf"{_EITHER}\W*(?:or|vs\.?|versus|/)\W*(?:more\s+)?(?:of\s+)?{_A}{_EITHER}"
# The question, repeated before the answer.
_ECHO = re.compile(rf"{_OR}\s*[:?]|\b(?:decide whether|classify the|does your description)\b[^.?!\n]*{_OR}\W*")
_OPEN = re.compile(
    r"\btragi-?\s?com\w*|\bcomi-?tragic\w*|\bneutral\w*|\bneither\b|\bboth\b|\bmix(?:ed|ture)?\b|\bambiguous\b|"
    r"\bin[ -]between\b|\bbittersweet\b"
)
_DENIED = re.compile(
    rf"(?:\b(?:not|no|never|nor|without|hardly|isn't|less|than|over|instead of)|n't)\s+"
    rf"(?:(?:really|quite|exactly|so much|of|more|as|feel|like)\s+)*{_A}{_EITHER}"
)
# Words that settle on one of the two, even where both are named.
_SETTLES = re.compile(
    r"\b(?:more|lean\w*|closer|rather|tend\w*|tilt\w*|prefer\w*|choice|answer|verdict|choose|pick|go(?:ing)? with|overall|on the whole|"
    r"ultimately|(?:i'd|i would) (?:say|call))\b[,:]?"
    r"(?:\s+(?:of|to|toward|towards|like|on|the|side|a|an|slightly|is|it|it's|that|would be)\b)*\s+"
    rf"(?P<label>{_EITHER})(?!\W*(?:or|and|nor|vs|/)\W*{_A}{_EITHER})"
)
_LESS = re.compile(rf"\bless\s+(?:of\s+)?{_A}{_EITHER}\s+than\s+(?:of\s+)?{_A}(?P<label>{_EITHER})")
_TORN = re.compile(r"\b(?:choose|decide|pick|torn|settle) between\b")


def affect(text: str) -> str:
    """Which of comedy and tragedy a model chose: "comedy", "tragedy", "neutrality", "refused" or "unparsed".

    Neutrality is both, neither, "neutral" or an answer that leaves it open. The first line that names a label or says that it is neither
    decides, if it is clear; else the whole text. "more comedy than tragedy" and "not a tragedy" are read as what they say. "refused" is an
    answer that declines, "unparsed" an empty one and one that speaks of neither.
    """
    said = _ECHO.sub(" ", plain(text))
    for line in said.splitlines():
        verdict = _affect_in(line)
        if verdict in (COMEDY, TRAGEDY):
            return verdict
        if verdict is not None:
            break
    verdict = _affect_in(" ".join(said.split()))
    if verdict in (COMEDY, TRAGEDY) or (verdict is not None and _TORN.search(said)):
        return verdict
    return REFUSED if is_refusal(text) else verdict or UNPARSED


def _affect_in(text: str) -> str | None:
    """Comedy, tragedy, neutrality; None where a text speaks of none of them."""

    def labels(part: str) -> set[str]:
        return {label for label, pattern in _AFFECT.items() if re.search(pattern, part)}

    if not labels(text):
        return NEUTRALITY if _OPEN.search(text) else None
    said = _DENIED.sub(" ", _LESS.sub(r" \g<label> ", text))
    affirmed = labels(_OPEN.sub(" ", said))
    settled = {label for m in _SETTLES.finditer(said) for label in labels(m["label"])}
    if len(settled) == 1:
        return settled.pop()
    return affirmed.pop() if len(affirmed) == 1 and not _OPEN.search(text) else NEUTRALITY
