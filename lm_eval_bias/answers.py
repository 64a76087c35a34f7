"""What a model wrote -> what it answered. One parser for each kind of answer; none of them ever raises on a text."""

from __future__ import annotations

import re

from lm_eval.api.filter import Filter

REFUSED = "refused"
UNPARSED = "unparsed"

_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|as a language model|"
    r"(?:i|we) (?:cannot|can't|can not|won't|will not|am unable|am not able|must decline|refuse|would rather not)|"
    r"(?:i|we) (?:do not|don't) feel comfortable|"
    r"i'm (?:unable|not able|not comfortable)|(?:not|in)appropriate to)\b",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer: an apology, "I cannot ...", "as an AI ..."."""
    return bool(_REFUSAL.search(text.replace("’", "'")))


_LABEL = re.compile(
    r"(?P<not>(?:\b(?:not?|never|without|cannot)|n't)\s+(?:\w+\s+){0,2})?\b(?P<label>entail|contradict|neutral)\w*", re.IGNORECASE
)
_BARE = {"true": "entailment", "false": "contradiction", "neither": "neutral"}
_STEMS = {"entail": "entailment", "contradict": "contradiction", "neutral": "neutral"}


def nli_label(text: str) -> str:
    """The label of a premise-hypothesis pair that a model wrote in words.

    Returns "entailment", "contradiction", "neutral", "refused" or "unparsed". The first line that is not empty counts. Its first
    word decides if it is a label, or true, false or neither (the prompt explains the labels by these words); else the line must
    name exactly one label, and not deny it.
    """
    lines = [line for line in re.sub(r"[*_`#>\"“”]", "", text.replace("’", "'")).splitlines() if line.strip()]
    if not lines:
        return UNPARSED
    line = re.sub(r"^\W*(?:(?:the )?(?:inference|answer|label|relation(?:ship)?)\b(?: is)?\W*)?", "", lines[0].strip(), flags=re.I)
    first = re.match(r"[A-Za-z]*", line).group().lower()
    found = list(_LABEL.finditer(line))
    if found and found[0].start() == 0 and not found[0]["not"]:
        hedged = re.match(r"\s*(?:/|or\b)", line[found[0].end() :], re.IGNORECASE)
        return UNPARSED if hedged else _STEMS[found[0]["label"].lower()]
    if first in _BARE and not found:
        return _BARE[first]
    if is_refusal(line):
        return REFUSED
    if found and not any(m["not"] for m in found) and len({m["label"].lower() for m in found}) == 1:
        return _STEMS[found[0]["label"].lower()]
    return UNPARSED


class NLILabel(Filter):
    """Harness filter: the first response of each request -> `nli_label` of it."""

    def apply(self, resps, docs):
        return [nli_label(r[0]) if r and isinstance(r[0], str) else UNPARSED for r in resps]
