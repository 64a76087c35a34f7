"""`--model hf-nli`: classifiers that predict whether a premise entails a hypothesis.

A choice gets the log-probability of the label of that name. See docs/how-to/nli_classifiers.md.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from lm_eval.api.instance import Instance
from lm_eval.models.utils import chunks

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.usage import UsageError

from .encoding import AT_A_TIME
from .hf_model import EncoderModel

logger = logging.getLogger(__name__)

LABELS = ("entailment", "neutral", "contradiction")


class LabelQuestion(NamedTuple):
    """The probability of `label` for a pair of premise and hypothesis."""

    pair: tuple[str, str]
    label: str


class EntailmentLM(EncoderModel):
    """Options: docs/how-to/nli_classifiers.md; others are `HFLM`'s.

    labels: in order, such as "entailment/neutral/contradiction"; default: the config's. Raises
    UsageError for another kind of model.
    """

    AUTO_MODEL_CLASS = transformers.AutoModelForSequenceClassification
    NAME = "hf-nli"
    OWN_CACHE = ("loglikelihood",)
    AT_A_TIME = (4096, 65_536)
    ANSWERS = "Run tasks of premises and hypotheses, which `lm-eval-bias tasks` lists"
    OPTIONS = ("labels",)

    def __init__(
        self, pretrained: Any, *, labels: str | Sequence[str] | None = None, **kwargs: Any
    ):
        named = _named(labels)
        super().__init__(pretrained, **kwargs)
        self._labels = _head(self.model.config, named, self._name)
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
        questions = []
        choices = defaultdict(set)
        for request in requests:
            pair = request.doc.get("premise"), request.doc.get("hypothesis")
            if not all(isinstance(text, str) for text in pair):
                raise UsageError(
                    f"{request.task_name}: hf-nli reads premise and hypothesis of a document; this "
                    f"one has {', '.join(map(str, request.doc))}. {self.ANSWERS}"
                )
            label = request.args[1].strip().casefold()
            choices[request.task_name].add(label)
            questions.append(LabelQuestion(pair, label))
        for task, words in choices.items():
            if words != set(LABELS):
                raise UsageError(
                    f"{task}: hf-nli answers tasks with the choices {', '.join(LABELS)}; this one "
                    f"has {', '.join(sorted(word[:60] for word in words)[:6])}. {self.ANSWERS}"
                )
        return questions

    # ---- Probabilities

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """The log-probability of each label, and whether it is the task's likeliest."""
        self._refuse_thinking(requests)
        return self._through_cache(
            self._questions(requests), (self._labels,), lambda new: self._answers(new, disable_tqdm)
        )

    def _answers(
        self, questions: Sequence[LabelQuestion], disable_tqdm: bool
    ) -> Iterator[tuple[LabelQuestion, tuple[float, bool]]]:
        asked = defaultdict(list)
        for question in questions:
            asked[question.pair].append(question)
        pairs = list(asked)
        inputs = self._inputs(pairs)
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
                for question in asked[pairs[i]]:
                    found = known[question.label]
                    yield question, (found, found == max(value))

    def _inputs(self, pairs: Sequence[tuple[str, str]]) -> dict[str, list[list[int]]]:
        inputs = defaultdict(list)
        for part in chunks(pairs, AT_A_TIME):
            texts = map(list, zip(*part, strict=True))
            for name, rows in self.tokenizer(*texts, verbose=False).items():
                inputs[name].extend(rows)
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
    if labels != own and set(own) == set(LABELS):
        logger.warning(
            "hf-nli: %s names its labels %s; all numbers follow labels=%s instead.",
            *(model, shown, "/".join(labels)),
        )
    if sorted(labels) != sorted(LABELS):
        raise UsageError(
            f"{model} has the labels {shown}: hf-nli needs entailment, neutral and contradiction. "
            f"If they mean that, name them in the order of the model in --model_args, such as "
            f"labels=entailment/neutral/contradiction (its model card says which is which)"
        )
    return labels


def _named(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    names = value.split("/") if isinstance(value, str) else value
    labels = [_label(name) for name in names]
    if None in labels:
        raise UsageError(
            f"labels={value} in --model_args: {names[labels.index(None)]!r} is not one of "
            f"{', '.join(LABELS)}; they are separated by /"
        )
    return [label for label in labels if label]


def _label(name: str) -> str | None:
    plain = name.replace("_", " ").replace("-", " ").strip().casefold()
    words = lexicon("nli_words")
    return next((label for label in LABELS if plain in words[label]), None)
