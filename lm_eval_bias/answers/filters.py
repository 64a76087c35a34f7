"""The readers as filters of lm-evaluation-harness, for task YAML files."""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from lm_eval.api.filter import Filter

from lm_eval_bias.measure import Document
from lm_eval_bias.usage import UsageError

from .affect import affect
from .analogy import analogy_word
from .given_label import given_label
from .intensity import intensity, papers_intensity
from .listed_option import listed_option
from .nli_label import nli_label
from .reasoning import without_reasoning
from .stereotype_content import DICTIONARIES, single_words
from .survey import survey_answer
from .text import CUT_OFF, REFUSED, UNPARSED, without_long_runs
from .word_pairs import word_pairs

logger = logging.getLogger(__name__)


def one_of(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, texts))})"


@lru_cache
def _outside(text: str) -> str | None:
    return without_reasoning(without_long_runs(text))


def _texts(responses: Iterable[Any]) -> list[str]:
    """The text of each response; of a conversation, of its last turn."""
    last = [r[-1] if isinstance(r, list) and r else r for r in responses]
    return [text if isinstance(text, str) else "" for text in last]


class Parser(Filter):
    """Reads every response to each request, as a list of answers.

    For other languages a YAML may give `refusals` and `denials` (patterns) and `labels` (label ->
    words). Raises UsageError for wrong options.
    """

    reader: Callable[..., Any]
    asked: Sequence[str] = ()  # the document's keys that the reader takes
    read_labels: Sequence[str] = ()

    def __init__(self, **options: Any) -> None:
        name = f"filter {type(self).__name__}"
        takes = ["refusals", *(["labels", "denials"] if self.read_labels else [])]
        for key in options:
            if key not in takes:
                raise UsageError(f"{name}: unknown key {key!r}; it takes {' and '.join(takes)}")
        self.labels = options.pop("labels", None) or {}
        for label in self.labels:
            if label not in self.read_labels:
                expected = ", ".join(self.read_labels)
                raise UsageError(f"{name}: unknown label {label!r}; expected {expected}")
        for option, texts in {**options, **self.labels}.items():
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise UsageError(f"{name}: {option}: expected a list of texts, found {texts!r}")
        for pattern in (pattern for patterns in options.values() for pattern in patterns):
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(
                    f"{name}: {pattern!r} is no regular expression: {error}"
                ) from error
        self.refusals, self.denials = options.get("refusals", ()), options.get("denials", ())

    def apply(self, resps: Iterable[Sequence[Any]], docs: Iterable[Document]) -> list[list[Any]]:
        answers = []
        for responses, doc in zip(resps, docs, strict=True):
            texts = _texts(responses)
            # repeated answers to a prompt are often equal
            read = {text: self.answer(text, doc) for text in set(texts)}
            answers.append([read[text] for text in texts])
        n_cut_off = sum(of_request.count(CUT_OFF) for of_request in answers)
        if n_cut_off:
            logger.warning(
                "%d of %d answers were cut off within reasoning and count as invalid; "
                "--metadata reasoning=true gives them room",
                n_cut_off,
                sum(map(len, answers)),
            )
        return answers

    def in_form(self, responses: Sequence[Any], doc: Document) -> list[bool]:
        form = re.compile(self.form(doc), re.IGNORECASE | re.MULTILINE)
        texts = (_outside(text) or "" for text in _texts(responses))
        return [bool(form.fullmatch(text.strip())) for text in texts]

    def answer(self, text: str, doc: Document) -> Any:
        outside = _outside(text)
        if outside is None:
            return CUT_OFF
        answer = self.read(outside, doc)
        declines = any(re.search(pattern, outside, re.IGNORECASE) for pattern in self.refusals)
        return REFUSED if answer == UNPARSED and declines else answer

    def read(self, text: str, doc: Document) -> Any:
        if self.labels:
            return given_label(text, self.labels, self.denials)
        return type(self).reader(text, *map(doc.get, self.asked))

    def form(self, doc: Document) -> str:
        """A pattern of the whole answer that the prompt asks for: here, of a label."""
        words = [word for of_label in self.labels.values() for word in of_label]
        return one_of(words or self.read_labels) + r"\.?"


class NLILabel(Parser):
    reader, read_labels = nli_label, ("entailment", "contradiction", "neutral")


class Affect(Parser):
    reader, read_labels = affect, ("comedy", "tragedy", "neutrality")

    def form(self, doc: Document) -> str:
        return rf"(?:{re.escape(doc.get('word', ''))}\W+)?{super().form(doc)}"


class WordPairs(Parser):
    reader, asked = word_pairs, ("words", "groups")

    def form(self, doc: Document) -> str:
        pair = rf"\({one_of(doc['words'])}, ?{one_of(doc['groups'])}\)"
        return rf"{pair}(?:,?\s*\n{pair}){{{len(doc['words']) - 1}}}"


class Analogy(Parser):
    reader, asked = analogy_word, ("options", "c")

    def form(self, doc: Document) -> str:
        return one_of(doc["options"]) + r"\.?"


class Intensity(Parser):
    def read(self, text: str, doc: Document) -> Any:
        if doc.get("reader") == "paper":
            return papers_intensity(text)
        return intensity(text, doc["scale"], doc["narrative"], doc.get("emotion", ""))

    def form(self, doc: Document) -> str:
        return r"\d{1,3}(?:\.\d+)?"


class ListedOption(Parser):
    def read(self, text: str, doc: Document) -> Any:
        return listed_option(text, {"a": doc["option_a"], "b": doc["option_b"]})

    def form(self, doc: Document) -> str:
        return one_of(f"{letter}) {doc[f'option_{letter}']}" for letter in "ab")


class Survey(Parser):
    def read(self, text: str, doc: Document) -> Any:
        return survey_answer(text, doc["items"], doc.get("text", ""), doc.get("keywords", 0))

    def form(self, doc: Document) -> str:
        """A line for each rating, with a number; or so many keywords."""
        if not doc["items"]:
            return rf"(?:[^\n,]+[\n,]+){{{doc['keywords'] - 1}}}[^\n,](?:.*\n)*.*"
        named = rf"(?: (?:with )?{re.escape(doc.get('text', ''))})?:?"
        off = r"[^\w\n]*+"  # bullets, markup, colons; possessive, since two stand side by side
        lines = [
            rf"(?=(?:.*\n)*?{off}(?:{one_of([item, 'Rating'])}{named})?{off}[1-5]{off}$)"
            for item in doc["items"]
        ]
        return "".join(lines) + r"(?:.*\n)*.*"


class SurveyContent(Survey):
    """Adds "content": [keyword, how it was found or None, [[dimension, direction], ...]] for each
    keyword; with "official" also "words", the `single_words`.

    dictionary: "ours" or "official". Raises UsageError if it is unknown or unavailable.
    """

    def __init__(self, dictionary: str = "ours", **options: Any):
        super().__init__(**options)
        if dictionary not in DICTIONARIES:
            raise UsageError(
                f"filter {type(self).__name__}: dictionary: expected {' or '.join(DICTIONARIES)}, "
                f"found {dictionary!r}"
            )
        self.dictionary, self.official = DICTIONARIES[dictionary](), dictionary == "official"

    def read(self, text: str, doc: Document) -> Any:
        answer = super().read(text, doc)
        if not isinstance(answer, dict):
            return answer
        content = []
        for keyword in answer["keywords"]:
            dimensions, how = self.dictionary.look_up(keyword)
            content.append([keyword, how, [list(dimension) for dimension in dimensions]])
        words = {"words": single_words(answer["keywords"])} if self.official else {}
        return {**answer, "content": content, **words}
