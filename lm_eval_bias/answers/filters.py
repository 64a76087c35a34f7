"""The parsers as filters of the harness, which YAML files name: `function: !function lm_eval_bias.answers.filters.WordPairs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval.api.filter import Filter

from .affect import affect
from .intensity import intensity
from .nli_label import nli_label
from .word_pairs import word_pairs


def text_of(response: Any) -> str:
    """The text of a response, of a conversation its last turn's; empty if there is none."""
    if isinstance(response, list):
        response = response[-1] if response else ""
    return response if isinstance(response, str) else ""


class Parser(Filter):
    """What each response to a request says, in a list of as many as `repeats` asked for, as the harness's own filters give it."""

    def apply(self, resps, docs):
        return [[self.read(text_of(response), doc) for response in responses] for responses, doc in zip(resps, docs, strict=True)]

    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        """What a text says in answer to a document."""
        raise NotImplementedError


class NLILabel(Parser):
    """`nli_label`."""

    def read(self, text, doc):
        return nli_label(text)


class WordPairs(Parser):
    """`word_pairs`, for the document's `words` and `groups`."""

    def read(self, text, doc):
        return word_pairs(text, doc["words"], doc["groups"])


class Affect(Parser):
    """`affect` of the last turn."""

    def read(self, text, doc):
        return affect(text)


class Intensity(Parser):
    """`intensity` of the last turn, on the document's `scale`."""

    def read(self, text, doc):
        return intensity(text, doc["scale"], doc["narrative"])
