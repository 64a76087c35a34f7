"""Entailment, contradiction or neutral."""

import re

from .choice import answer_in, chosen
from .statement import Labels
from .text import UNPARSED, plain
from .vocabulary import patterns

_WORDS = patterns("nli_label")
_LABELS = Labels(
    _WORDS["labels"], verbs=r"(?:entail|contradict)(?:s|ed)?(?: .*)?", neither="neutral"
)
_NAMED = re.compile(_LABELS.either)
_EXAMPLES, _REPEATED, _NEXT_PAIR = map(re.compile, _WORDS["question"].values())
_STATED, _UNSAID, _NOT_INFERRED = map(re.compile, _WORDS["parts"].values())
_LONG = 30  # words, beyond which "unknown" alone says nothing of the pair
_PAIR = re.compile(
    r"(?i)\b(?:premise|hypothes[ie]s|statements?|inference|information|sentences?)\b"
)
_OTHERWISE = re.compile(rf"{_NAMED.pattern}|\b{_WORDS['glosses']['decided']}\b")


def nli_label(text: str) -> str:
    """Return "entailment", "contradiction", "neutral", "refused" or "unparsed".

    If no label is named, other words stand for one: true, false, neither.
    """
    # One word for all that says that the premise does not tell; the rest may decline.
    text = _UNSAID.sub("undetermined", _NOT_INFERRED.sub("is not an entailment", text))
    answer = answer_in(text, _label_in, _LABELS.names.values())
    unsaid = "undetermined" in text and not _OTHERWISE.search(plain(text))
    unsaid &= len(text.split()) <= _LONG or _PAIR.search(text) is not None
    return "neutral" if answer == UNPARSED and unsaid else answer


def _label_in(text: str) -> str | None:
    text = _EXAMPLES.sub("\n", text)
    mention = _NAMED.search(text)
    following = _NEXT_PAIR.search(text, mention.start()) if mention else None
    text = _REPEATED.sub("\n", text[: following.start()] if following else text)
    label = chosen(text, _LABELS)
    if label in _LABELS.names or mention:
        return label if label in _LABELS.names else None
    stated = _STATED.match(text)
    return stated.lastgroup if stated else None
