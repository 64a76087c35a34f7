"""A request for the score of a sentence beside another that differs from it in some words, and what
the two share.

The harness calls `getattr(lm, request_type)(requests)` once for each request type.
`pair_loglikelihood` is such a type for every model of the harness: a model that reads from left to
right answers the joint log-likelihood of the sentence, and a masked language model
(models/masked.py) that of the words which both sentences share, given those that differ. Importing
this module adds the method to the harness's classes. `SentencePairTask` is a task that asks so.
"""

from __future__ import annotations

import unicodedata
from difflib import SequenceMatcher
from typing import Any

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.task import MeasureTask
from lm_eval_bias.harness.templates import render
from lm_eval_bias.usage import UsageError

REQUEST = "pair_loglikelihood"
JOINT = "joint"
SHARED = "shared tokens"
Answer = tuple[float, int | None, str]
"""A log-likelihood in nats, of how many tokens it is the sum (None if the model does not say), and
how it was made: JOINT or SHARED."""
Span = tuple[int, int]
"""Where something stands in a text: its first character, and the one after its last."""
# One of these between two letters makes no end of a word: "dark-skinned", "doctor's".
JOINERS = frozenset("-'\u2019\u2010\u2011")


def pair_loglikelihood(self: Any, requests: list[Any]) -> list[Answer]:
    """`LM.pair_loglikelihood`: an answer for each request, whose arguments are the sentence to
    score and the other one of its pair.

    Asks the model's own `loglikelihood` for the sentence without a context, where the harness puts
    its prefix token. The other sentence is not read, but it is part of what the request is.
    """
    asked = [
        compat.request(
            "loglikelihood", r.doc, ("", r.args[0]), r.idx, r.task_name, r.doc_id, r.repeats
        )
        for r in requests
    ]
    return [(float(answer[0]), None, JOINT) for answer in self.loglikelihood(asked)]


compat.add_request_type(REQUEST, pair_loglikelihood)


def words(text: str) -> list[Span]:
    """The words and the punctuation marks of a text, in order.

    A hyphen or an apostrophe within a word belongs to it. In a script that puts no spaces between
    words, each wide character is a word.
    """
    found: list[Span] = []
    start = 0
    while start < len(text):
        end = start + 1
        if _of_words(text[start]):
            while end < len(text) and (
                _of_words(text[end])
                or (text[end] in JOINERS and _of_words(text[end + 1 : end + 2]))
            ):
                end += 1
        if not text[start].isspace():
            found.append((start, end))
        start = end
    return found


def _of_words(character: str) -> bool:
    """Whether a character makes words together with its neighbours."""
    if not character or character.isspace() or unicodedata.category(character)[0] in "PS":
        return False
    return unicodedata.east_asian_width(character) != "W" or unicodedata.name(
        character, ""
    ).startswith("HANGUL")


def modified(sentence: str, other: str) -> list[Span]:
    """The words of a sentence that the other one of its pair does not share.

    Words are matched in order, so that those which are shared correspond one to one: `modified(a,
    b)` and `modified(b, a)` leave the same words. Nangia et al. 2020 match tokens in the same way.
    """
    # The matching is not symmetric by itself.
    texts = sorted([sentence, other])
    spans = [words(text) for text in texts]
    sequences = [
        [text[start:end] for start, end in each] for text, each in zip(texts, spans, strict=True)
    ]
    which = texts.index(sentence)
    shared: set[int] = set()
    for block in SequenceMatcher(
        None, sequences[0], sequences[1], autojunk=False
    ).get_matching_blocks():
        shared.update(range(block[which], block[which] + block.size))
    return [span for i, span in enumerate(spans[which]) if i not in shared]


class SentencePairTask(MeasureTask):
    """A task that asks for both sentences of a pair. Named in a YAML by `class: !function
    lm_eval_bias.harness.sentence_pairs.SentencePairTask`.

    Beside what `MeasureTask` reads: `sentences`, a list of two, each a column of the documents or a
    jinja template over them. The measure's `record` gets two results, the answer to the first
    sentence and that to the second. The sentences are scored as they stand: there are no examples,
    and neither a system message nor a chat template is put around them.
    """

    # What the harness knows it as where it does not ask for the type of the requests.
    KIND = "loglikelihood"

    def __new__(cls, config=None, **kwargs):
        return super().__new__(cls, {**(config or {}), "output_type": cls.KIND})

    def __init__(self, config: dict[str, Any]) -> None:
        config = dict(config)
        self.sentences = read_sentences(config.get("task"), config.pop("sentences", None))
        config = {
            "doc_to_text": self.sentences[0],
            "doc_to_target": "",
            "num_fewshot": 0,
            **config,
            "output_type": self.KIND,
        }
        if config["num_fewshot"]:
            raise UsageError(
                f"{config.get('task')}: a task of sentence pairs takes no few-shot examples, found {config['num_fewshot']}"
            )
        super().__init__(config)
        # The harness sends requests of this type, and pads them by it when there are several
        # processes.
        self.OUTPUT_TYPE = REQUEST

    def fewshot_context(self, doc, num_fewshot, **kwargs):
        """Nothing stands before a sentence."""
        return ""

    def construct_requests(self, doc, ctx, **kwargs):
        first, second = (str(render(sentence, doc)) for sentence in self.sentences)
        task, doc_id, repeats = compat.place(self, kwargs)
        pairs = ((first, second), (second, first))
        return [
            compat.request(REQUEST, doc, pair, index, task, doc_id, repeats)
            for index, pair in enumerate(pairs)
        ]

    def dump_config(self) -> dict:
        return {**super().dump_config(), "sentences": self.sentences}


def read_sentences(task: str | None, sentences: Any) -> list[str]:
    """The two sentences of a task's YAML, checked. Raises UsageError."""
    if (
        not isinstance(sentences, list)
        or len(sentences) != 2
        or not all(isinstance(each, str) and each for each in sentences)
    ):
        raise UsageError(
            f"{task}: expected `sentences`, a list of two columns or templates, found {sentences!r}"
        )
    return list(sentences)
