"""The readers as filters of lm-evaluation-harness, for task YAML files."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval.api.filter import Filter

from lm_eval_bias.usage import UsageError

from .affect import affect
from .analogy import analogy_word
from .given_label import given_label, matches
from .intensity import intensity, papers_intensity
from .listed_option import listed_option
from .nli_label import nli_label
from .reasoning import spoken
from .stereotype_content import DICTIONARIES
from .survey import survey_answer
from .text import CUT_OFF, REFUSED, UNPARSED
from .word_pairs import word_pairs

logger = logging.getLogger(__name__)


def text_of(response: Any) -> str:
    """The text of a response; of a conversation, its last turn."""
    if isinstance(response, list):
        response = response[-1] if response else ""
    return response if isinstance(response, str) else ""


class Parser(Filter):
    """Reads every response to each request.

    For languages other than English a YAML may give `refusals`, for labels also `labels` (label ->
    words) and `denials`; the others are patterns. Raises UsageError for wrong options.
    """

    read_labels: Sequence[str] = ()

    def __init__(
        self,
        refusals: Sequence[str] = (),
        labels: Mapping[str, Sequence[str]] | None = None,
        denials: Sequence[str] = (),
        **unknown: Any,
    ) -> None:
        name = type(self).__name__
        takes = ["refusals", *(["labels", "denials"] if self.read_labels else [])]
        for key in [*unknown, *(["labels"] if labels and not self.read_labels else [])]:
            raise UsageError(f"filter {name}: unknown key {key!r}; it takes {' and '.join(takes)}")
        for option, texts in {"refusals": refusals, "denials": denials, **(labels or {})}.items():
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise UsageError(
                    f"filter {name}: {option}: expected a list of texts, found {texts!r}"
                )
        for label in labels or {}:
            if label not in self.read_labels:
                raise UsageError(
                    f"filter {name}: unknown label {label!r}; expected "
                    f"{', '.join(self.read_labels)}"
                )
        for pattern in (*refusals, *denials):
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(
                    f"filter {name}: {pattern!r} is no regular expression: {error}"
                ) from error
        self.refusals, self.labels, self.denials = refusals, labels, denials

    def apply(
        self, resps: Iterable[Sequence[Any]], docs: Iterable[Mapping[str, Any]]
    ) -> list[list[Any]]:
        answers = []
        for responses, doc in zip(resps, docs, strict=True):
            texts = [text_of(response) for response in responses]
            # repeated answers to a prompt are often equal
            read = {text: self.answer(text, doc) for text in dict.fromkeys(texts)}
            answers.append([read[text] for text in texts])
        n_cut_off = sum(answer == CUT_OFF for of_request in answers for answer in of_request)
        if n_cut_off:
            logger.warning(
                "%d of %d answers were cut off within reasoning and count as invalid; "
                "--metadata reasoning=true gives them room",
                n_cut_off,
                sum(map(len, answers)),
            )
        return answers

    def answer(self, text: str, doc: Mapping[str, Any]) -> Any:
        answer_text = spoken(text)
        if answer_text is None:
            return CUT_OFF
        answer = self.read(answer_text, doc)
        declines = answer == UNPARSED and matches(self.refusals, answer_text)
        return REFUSED if declines else answer

    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        raise NotImplementedError


class NLILabel(Parser):
    read_labels = ("entailment", "contradiction", "neutral")

    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        return given_label(text, self.labels, self.denials) if self.labels else nli_label(text)


class WordPairs(Parser):
    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        return word_pairs(text, doc["words"], doc["groups"])


class Affect(Parser):
    read_labels = ("comedy", "tragedy", "neutrality")

    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        return given_label(text, self.labels, self.denials) if self.labels else affect(text)


class Analogy(Parser):
    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        return analogy_word(text, doc["options"], doc.get("c"))


class Intensity(Parser):
    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        if doc.get("reader") == "paper":
            return papers_intensity(text)
        return intensity(text, doc["scale"], doc["narrative"], doc.get("emotion", ""))


class ListedOption(Parser):
    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        return listed_option(text, {"a": doc["option_a"], "b": doc["option_b"]})


class Survey(Parser):
    """Reads `survey_answer` for `items`, `text` (the group) and `keywords`."""

    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        return survey_answer(text, doc["items"], doc.get("text", ""), doc.get("keywords", 0))


class SurveyContent(Survey):
    """Adds "content": [keyword, how it was found or None, [[dimension, direction], ...]] for each
    keyword.

    dictionary: "ours" or "official". Raises UsageError if it is unknown or unavailable.
    """

    def __init__(self, dictionary: str = "ours", **options: Any) -> None:
        super().__init__(**options)
        if dictionary not in DICTIONARIES:
            raise UsageError(
                f"filter {type(self).__name__}: dictionary: expected {' or '.join(DICTIONARIES)}, "
                f"found {dictionary!r}"
            )
        self.dictionary = DICTIONARIES[dictionary]()

    def read(self, text: str, doc: Mapping[str, Any]) -> Any:
        answer = super().read(text, doc)
        if not isinstance(answer, dict):
            return answer
        content = []
        for keyword in answer["keywords"]:
            dimensions, how = self.dictionary.look_up(keyword)
            content.append([keyword, how, [list(dimension) for dimension in dimensions]])
        return {**answer, "content": content}
