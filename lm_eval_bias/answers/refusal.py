"""Whether an answer declines to answer.

A clause declines if it gives one of the grounds in refusal.yaml, without idioms and reported
speech.
"""

import re
from functools import lru_cache

from .text import letters, plain, without_long_runs, without_numerals, without_reasons
from .vocabulary import patterns

_WORDS = patterns("refusal")
_DECLINING = re.compile(letters("|".join(_WORDS["grounds"].values())))
_EARLY = 4  # clauses
_GOES_ON = re.compile(r"\W*(?:however|but|that said|nevertheless|still|therefore)\b")
_OPENING = re.compile(letters("|".join(_WORDS["openings"].values())))
_SENTENCE_END = re.compile(r"[.!?]\s|\n")
_CLAUSE, _AS_AN_AI, _NOT_ITS_OWN, _CONCESSION, _OFFER, _EXPLAINS, _SCRUPLE, _WEAK, _FLAT = map(
    re.compile, _WORDS["clauses"].values()
)
_NO_REFUSAL, _ANSWER = map(re.compile, _WORDS["texts"].values())


def clauses(text: str) -> list[str]:
    return list(filter(str.strip, _CLAUSE.split(_AS_AN_AI.sub(r"\g<0>\n", plain(text)))))


@lru_cache
def _declines(clause: str) -> bool:
    conceded = _CONCESSION.match(clause)
    rest = clause[conceded.end() :] if conceded else ""
    if re.search(r"\w", rest) and not _OFFER.search(rest):
        clause = rest
    return bool(_DECLINING.search(_NOT_ITS_OWN.sub(" ", clause)))


def without_refusals(text: str) -> str:
    """The clauses that neither decline nor explain why, a line each, up to an offer."""
    parts = clauses(text)
    kept, declined, before = [], False, ""  # up to a colon
    for clause in parts:
        declined = _declines(clause) or (declined and bool(_EXPLAINS.search(before + clause)))
        kept += [] if declined else [clause]
        before = clause if clause.endswith(":") else ""
    if len(kept) == len(parts):
        return plain(text)
    offer = next((i for i, clause in enumerate(kept) if _OFFER.search(clause)), len(kept))
    return "\n".join(kept[:offer])


def has_refusal(text: str) -> bool:
    """Whether a clause declines, or the first sentence moralises."""
    parts = clauses(text)
    declining = [
        clause
        for i, clause in enumerate(parts)
        if _declines(clause) and (i < _EARLY or _declines(_SCRUPLE.sub(" ", clause)))
    ]
    if not declining:
        return bool(_OPENING.search(_SENTENCE_END.split(plain(text).strip())[0]))
    firmly = any(_declines(_WEAK.sub(" ", clause)) for clause in declining)
    later = parts[parts.index(declining[0]) :]
    return firmly or not any(_GOES_ON.match(clause) for clause in later)


def is_refusal(text: str) -> bool:
    """Whether a text declines and gives no other answer: not "I don't feel, but I'd say 75"."""
    text = without_long_runs(text)
    if not has_refusal(text) or _NO_REFUSAL.search(plain(text)):
        return False
    answer = _ANSWER.search(without_refusals(without_numerals(plain(without_reasons(text)))))
    if answer and answer[0] == "neither":
        return any(map(_FLAT.search, clauses(text)))
    return answer is None
