"""The words that two sentences share. Causal models score a sentence of a pair whole, masked ones
(models/masked.py) these words."""

import re
import unicodedata
from difflib import SequenceMatcher
from typing import Any

from lm_eval_bias.usage import UsageError

Span = tuple[int, int]
"""Start and end of a piece of text, in characters."""
# Between two letters these do not end a word: "dark-skinned", "doctor's".
JOINERS = frozenset("-'\u2019\u2010\u2011")


def words(text: str) -> list[Span]:
    """Spans of words and punctuation marks. A hyphen or apostrophe within a word belongs to it."""
    kinds = "".join(map(_kind, text))
    return [match.span() for match in re.finditer("w(?:-?w)*|[^ ]", kinds)]


def _kind(character: str) -> str:
    """A blank; "-", which may join the parts of a word; "w", a part of one; or ".", one by itself,
    such as a Chinese character."""
    if character.isspace():
        return " "
    if character in JOINERS:
        return "-"
    wide = unicodedata.east_asian_width(character) == "W"
    alone = wide and not unicodedata.name(character, "").startswith("HANGUL")
    return "." if alone or unicodedata.category(character)[0] in "PS" else "w"


def modified(sentence: str, other: str) -> list[Span]:
    """The words of a sentence that the other of its pair lacks (BIStereo, section 4.1.1);
    symmetric."""
    # SequenceMatcher is not symmetric: sort first.
    texts = sorted([sentence, other])
    spans = [words(text) for text in texts]
    first, second = (
        [text[start:end] for start, end in of_text]
        for text, of_text in zip(texts, spans, strict=True)
    )
    which = texts.index(sentence)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    shared: set[int] = set()
    for block in matcher.get_matching_blocks():
        shared.update(range(block[which], block[which] + block.size))
    return [span for i, span in enumerate(spans[which]) if i not in shared]


def read_sentences(task: str | None, sentences: Any) -> list[str]:
    """The two checked sentences of a task's YAML. Raises UsageError."""
    texts = sentences if isinstance(sentences, list) else []
    if len(texts) != 2 or not all(isinstance(text, str) and text for text in texts):
        raise UsageError(
            f"{task}: expected `sentences`, a list of two columns or templates, found {sentences!r}"
        )
    return texts
