"""`--model hf-nli`: classifiers that predict whether a premise entails a hypothesis.

A choice gets the log-probability of the label that it names (items/nli_words.yaml). See
docs/how-to/nli_classifiers.md.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from lm_eval.api.instance import Instance
from lm_eval.models.utils import chunks

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.harness import compat
from lm_eval_bias.usage import UsageError

from .encoding import AT_A_TIME
from .hf_model import EncoderModel

logger = logging.getLogger(__name__)

ENTAILMENT, NEUTRAL, CONTRADICTION, NOT_ENTAILMENT = LABELS = (
    "entailment",
    "neutral",
    "contradiction",
    "not_entailment",
)
HEADS = ({ENTAILMENT, NEUTRAL, CONTRADICTION}, {ENTAILMENT, NOT_ENTAILMENT})
COLUMNS = (("premise", "hypothesis"), ("sentence1", "sentence2"))


class LabelQuestion(NamedTuple):
    """The probability of `label` for a pair. labels: those of all the task's choices."""

    pair: tuple[str, str]
    label: str
    labels: tuple[str, ...]


class EntailmentLM(EncoderModel):
    """Options: docs/how-to/nli_classifiers.md; others are `HFLM`'s.

    labels: in order, such as "entailment/neutral/contradiction"; default: the config's.
    not_entailment: what the second of two labels means in a task with three; default: an error.
    Raises UsageError for another kind of model.
    """

    AUTO_MODEL_CLASS = transformers.AutoModelForSequenceClassification
    NAME = "hf-nli"
    AT_A_TIME = (4096, 65_536)
    ANSWERS = "Run tasks of premise and hypothesis with output_type multiple_choice"
    OPTIONS = ("premise", "hypothesis", "labels", "choices", "not_entailment")

    def __init__(
        self,
        pretrained: Any,
        *,
        premise: str | None = None,
        hypothesis: str | None = None,
        labels: str | Sequence[str] | None = None,
        choices: str | Sequence[str] | None = None,
        not_entailment: str | None = None,
        **kwargs: Any,
    ) -> None:
        if (premise is None) != (hypothesis is None):
            raise UsageError(
                "premise and hypothesis in --model_args go together: "
                "premise=COLUMN,hypothesis=COLUMN"
            )
        if not_entailment not in (None, NEUTRAL, CONTRADICTION):
            raise UsageError(
                f"not_entailment={not_entailment} in --model_args: expected neutral or "
                f"contradiction"
            )
        self._columns = COLUMNS if premise is None else ((str(premise), str(hypothesis)),)
        self._choices = _named("choices", choices)
        self._not_entailment = not_entailment
        super().__init__(pretrained, **kwargs)
        self._labels = _head(self.model.config, _named("labels", labels), self._name)
        if self.model.config.pad_token_id is None:  # classifiers made of decoders look for it
            self.model.config.pad_token_id = self.tokenizer.pad_token_id

    def _create_model(self, pretrained: str, **kwargs: Any) -> None:
        classes = self.config.architectures or []
        # An adapter may bring the head that its base lacks.
        if (
            classes
            and not kwargs.get("peft")
            and not any("ForSequenceClassification" in name for name in classes)
        ):
            raise UsageError(
                f"{pretrained} is a {classes[0]}: without a classification head its answers would "
                f"be random. hf-nli needs a model that was trained on entailment, such as one "
                f"whose name ends in -mnli"
            )
        super()._create_model(pretrained, **kwargs)

    # ---- The labels of choices

    def _questions(self, requests: Sequence[Instance]) -> list[LabelQuestion]:
        """The meaning of a choice depends on all choices of its task."""
        pairs = [self._pair(request.task_name, request.doc) for request in requests]
        asked = [
            (request, pair, _word(request.args[1], *pair))
            for request, pair in zip(requests, pairs, strict=True)
        ]
        choices: dict[str, set[tuple[int, str]]] = {}
        for request, _, word in asked:
            choices.setdefault(request.task_name, set()).add((request.idx, word))
        meanings = {task: self._meaning(task, known) for task, known in choices.items()}
        questions = []
        for request, pair, word in asked:
            meaning = meanings[request.task_name]
            label = meaning[word if word in meaning else request.idx]
            questions.append(LabelQuestion(pair, label, tuple(sorted(set(meaning.values())))))
        return questions

    def _pair(self, task: str, doc: Mapping[str, Any]) -> tuple[str, str]:
        for premise, hypothesis in self._columns:
            if isinstance(doc.get(premise), str) and isinstance(doc.get(hypothesis), str):
                return doc[premise], doc[hypothesis]
        expected = " or ".join(map(" and ".join, self._columns))
        raise UsageError(
            f"{task}: hf-nli reads the texts in {expected} of a document; this one has "
            f"{', '.join(map(str, doc))}. Where others hold premise and hypothesis, name them in "
            f"--model_args: premise=COLUMN,hypothesis=COLUMN"
        )

    def _meaning(self, task: str, choices: set[tuple[int, str]]) -> Mapping[str | int, str]:
        """The label of each choice, by its word, or by its place if `choices` names it. choices:
        (place, word)."""
        places, words = map(set, zip(*choices, strict=True))
        meaning: dict[str | int, str]
        for known in lexicon("nli_words")["choices"]:
            if set(known.values()) == words:
                meaning = {word: label for label, word in known.items()}
                break
        else:
            meaning = dict(enumerate(self._choices or ()))
        if max(places) >= len(meaning):
            shown = sorted(dict(choices).items())[:6]
            raise UsageError(
                f"{task}: hf-nli does not know which labels its choices name "
                f"({'; '.join(f'{place}: {word[:60]}' for place, word in shown)}). Name "
                f"them in order in --model_args, such as "
                f"choices=entailment/neutral/contradiction or choices=entailment/not_entailment"
            )
        if (
            NOT_ENTAILMENT in self._labels
            and self._not_entailment is None
            and not set(meaning.values()) <= HEADS[1]
        ):
            raise UsageError(
                f"{task} needs contradiction and neutral, but {self._name} has only the labels "
                f"entailment and not_entailment. With not_entailment=neutral in --model_args, the "
                f"latter counts as neutral, and nothing as contradiction"
            )
        return meaning

    # ---- Probabilities

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """The log-probability of each label, and whether it is the task's likeliest."""
        self._refuse_thinking(requests)
        return self._through_cache(
            self._questions(requests),
            (self._labels, self._not_entailment),
            lambda new: self._answers(new, disable_tqdm),
        )

    def _answers(
        self, questions: Sequence[LabelQuestion], disable_tqdm: bool
    ) -> Iterator[tuple[LabelQuestion, tuple[float, bool]]]:
        asked: dict[tuple[str, str], list[LabelQuestion]] = {}
        for question in questions:
            asked.setdefault(question.pair, []).append(question)
        pairs, inputs = list(asked), self._inputs(list(asked))
        lengths = np.array([len(ids) for ids in inputs["input_ids"]])
        self._refuse_long([premise for premise, _ in pairs], lengths)

        def classified(here: np.ndarray) -> list[list[float]]:
            batch = {
                name: torch.tensor([rows[i] for i in here], device=self.device)
                for name, rows in inputs.items()
            }
            with torch.inference_mode(), self._autocast():
                logits = self.model(**batch).logits
            return F.log_softmax(logits.float(), dim=-1).tolist()

        title = f"Classifying {len(pairs)} pairs"
        for here, values in self._in_packs(lengths, classified, title, disable_tqdm):
            for i, value in zip(here, values, strict=True):
                known = dict(zip(self._labels, value, strict=True))
                if NOT_ENTAILMENT not in known:
                    rest = np.logaddexp(known[NEUTRAL], known[CONTRADICTION])
                    known[NOT_ENTAILMENT] = float(rest)
                elif self._not_entailment:
                    known[self._not_entailment] = known[NOT_ENTAILMENT]
                for question in asked[pairs[i]]:
                    found = known.get(question.label, -inf)
                    most = max(known.get(label, -inf) for label in question.labels)
                    yield question, (found, found == most)

    def _inputs(self, pairs: Sequence[tuple[str, str]]) -> dict[str, list[list[int]]]:
        inputs: dict[str, list[list[int]]] = {}
        for part in chunks(pairs, AT_A_TIME):
            texts = map(list, zip(*part, strict=True))
            for name, rows in self.tokenizer(*texts, verbose=False).items():
                inputs.setdefault(name, []).extend(rows)
        return inputs

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        raise self._cannot("gives no likelihood of a text", requests)


def _head(config: Any, named: Sequence[str] | None, model: str) -> Sequence[str]:
    names = [str(config.id2label[i]) for i in range(config.num_labels)]
    shown = ", ".join(names)
    own = [_label(name) or name for name in names]
    labels = own if named is None else named
    if len(labels) != len(names):
        raise UsageError(
            f"labels={'/'.join(labels)} in --model_args: expected {len(names)} names, since "
            f"{model} has the labels {shown}"
        )
    if labels != own and set(own) in HEADS:
        logger.warning(
            "hf-nli: %s names its labels %s; all numbers follow labels=%s instead.",
            *(model, shown, "/".join(labels)),
        )
    if len(set(labels)) < len(labels) or set(labels) not in HEADS:
        raise UsageError(
            f"{model} has the labels {shown}: hf-nli needs entailment, neutral and contradiction, "
            f"or entailment and not_entailment. If they mean that, name them in the order of the "
            f"model in --model_args, such as labels=entailment/neutral/contradiction (its model "
            f"card says which is which)"
        )
    return labels


def _named(option: str, value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    names = value.split("/") if isinstance(value, str) else value
    labels = [_label(name) for name in names]
    if None in labels:
        raise UsageError(
            f"{option}={value} in --model_args: {names[labels.index(None)]!r} is not one of "
            f"{', '.join(LABELS)}; they are separated by /"
        )
    return [label for label in labels if label]


def _label(name: str) -> str | None:
    labels = lexicon("nli_words")["labels"].items()
    return next((label for label, words in labels if _plain(name) in words), None)


def _word(choice: str, premise: str, hypothesis: str) -> str:
    """The whole choice, or what follows a question mark between premise and hypothesis."""
    text, before, after = choice.strip(), premise.strip(), hypothesis.strip()
    if len(text) > len(before) + len(after) and text.startswith(before) and text.endswith(after):
        text = text[len(before) : len(text) - len(after)].rpartition("?")[2]
    return _plain(text)


def _plain(word: str) -> str:
    return word.replace("_", " ").replace("-", " ").strip(" ,.").casefold()


compat.own_cache(EntailmentLM, "loglikelihood")
