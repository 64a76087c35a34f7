"""Comedy or tragedy."""

import re

from .choice import answer_in, chosen
from .statement import OPEN, Labels
from .text import plain, without_reasons
from .vocabulary import patterns

NEUTRALITY = "neutrality"
_WORDS = patterns("affect")
_AFFECT = Labels(_WORDS["labels"])
_ECHO, _WITH_SLASH, _UNDECIDED = map(re.compile, _WORDS["question"].values())
_HASHTAGS = re.compile(r"(?m)(?<=\w) +#\w.*")


def affect(text: str) -> str:
    """Return "comedy", "tragedy", "neutrality" (both, neither, unsure), "refused" or "unparsed"."""
    text = _HASHTAGS.sub("", text)
    answer = plain(without_reasons(text))
    if _UNDECIDED.search(answer) and _label_in(answer) == NEUTRALITY:
        return NEUTRALITY
    return answer_in(text, _label_in, _AFFECT.names.values())


def _label_in(text: str) -> str | None:
    if _WITH_SLASH.fullmatch(text.strip()):
        return NEUTRALITY
    label = chosen(_ECHO.sub(" ", text), _AFFECT)
    return NEUTRALITY if label == OPEN else label
