"""`--model hf-nli`: classifiers that predict whether a premise entails a hypothesis.

A choice gets the log-probability of the label that it names (items/nli_words.yaml). See
docs/how-to/nli_classifiers.md.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from lm_eval.api.instance import Instance

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.harness import compat
from lm_eval_bias.usage import UsageError

from .hf_model import HFModel
from .kinds import learned_positions

logger = logging.getLogger(__name__)

ENTAILMENT, NEUTRAL, CONTRADICTION, NOT_ENTAILMENT = LABELS = (
    "entailment",
    "neutral",
    "contradiction",
    "not_entailment",
)
HEADS = ({ENTAILMENT, NEUTRAL, CONTRADICTION}, {ENTAILMENT, NOT_ENTAILMENT})
COLUMNS = (("premise", "hypothesis"), ("sentence1", "sentence2"))
AT_A_TIME = 2048
"""Pairs per call of the tokenizer, which bounds its memory."""


class LabelQuestion(NamedTuple):
    """A request: the probability of `label` for a pair. labels: those of all choices of the
    task.
    """

    pair: tuple[str, str]
    label: str
    labels: tuple[str, ...]


class EntailmentLM(HFModel):
    """An entailment classifier in the harness.

    premise, hypothesis: columns of the documents; default premise and hypothesis, or sentence1 and
    sentence2.
    labels: what the outputs mean, in order, such as "entailment/neutral/contradiction"; default:
    the config's.
    choices: what a task's choices mean, in order, if unknown.
    not_entailment: "neutral" or "contradiction", for two labels in a task with three; default: an
    error.
    Other arguments are `HFLM`'s. Raises UsageError for another kind of model.
    """

    AUTO_MODEL_CLASS = transformers.AutoModelForSequenceClassification
    NAME = "hf-nli"
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
        self._choices = None if choices is None else _named("choices", choices)
        self._not_entailment = not_entailment
        # HFLM warns of models that are neither causal nor encoder-decoders.
        super().__init__(pretrained, **{"backend": "causal", **kwargs})
        named = None if labels is None else _named("labels", labels)
        self._labels = _head(self.model.config, named, self._name)
        if self.model.config.pad_token_id is None:  # classifiers made of decoders look for it
            self.model.config.pad_token_id = self.tokenizer.pad_token_id
        # Padding on the left would shift learned positions.
        self.tokenizer.padding_side = "right"

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

    @property
    def max_length(self) -> int:
        most = min(learned_positions(self.model), self.tokenizer.model_max_length)
        return self._max_length or min(most, super().max_length)

    # ---- The labels of choices

    def _questions(self, requests: Sequence[Instance]) -> list[LabelQuestion]:
        """The meaning of a choice depends on all choices of its task."""
        of_task: dict[str, list[int]] = {}
        for i, request in enumerate(requests):
            of_task.setdefault(request.task_name, []).append(i)
        questions: dict[int, LabelQuestion] = {}
        for task, members in of_task.items():
            pairs = {i: self._pair(task, requests[i].doc) for i in members}
            words = {i: _word(requests[i].args[1], *pairs[i]) for i in members}
            places = {requests[i].idx: word for i, word in words.items()}
            meaning = self._meaning(task, places, set(words.values()))
            labels = tuple(sorted(set(meaning.values())))
            for i, word in words.items():
                label = meaning[word if word in meaning else requests[i].idx]
                questions[i] = LabelQuestion(pairs[i], label, labels)
        return [questions[i] for i in range(len(requests))]

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

    def _meaning(
        self, task: str, places: Mapping[int, str], words: set[str]
    ) -> Mapping[str | int, str]:
        """The label of each choice, by its word, or by its place if `choices` names it."""
        meaning: dict[str | int, str] = {}
        for known in lexicon("nli_words")["choices"]:
            if set(known.values()) == words:
                meaning = {word: label for label, word in known.items()}
        if not meaning and self._choices is not None and max(places) < len(self._choices):
            meaning = dict(enumerate(self._choices))
        if not meaning:
            shown = "; ".join(f"{place}: {word[:60]}" for place, word in sorted(places.items())[:6])
            raise UsageError(
                f"{task}: hf-nli does not know which labels its choices name ({shown}). Name "
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
        """The log-probability of each label, and whether it is the likeliest of the task's
        labels.
        """
        self._refuse_thinking(requests)
        return self._through_cache(
            self._questions(requests),
            (self._labels, self._not_entailment),
            lambda new: self._answers(new, disable_tqdm),
        )

    def _answers(
        self, questions: Sequence[LabelQuestion], disable_tqdm: bool
    ) -> Iterator[tuple[LabelQuestion, tuple[float, bool]]]:
        of_pair: dict[tuple[str, str], list[LabelQuestion]] = {}
        for question in questions:
            of_pair.setdefault(question.pair, []).append(question)
        for pair, probabilities in self._classified(list(of_pair), disable_tqdm):
            for question in of_pair[pair]:
                values = {
                    label: self._likelihood(probabilities, label) for label in question.labels
                }
                value = values[question.label]
                yield question, (value, value == max(values.values()))

    def _likelihood(self, probabilities: Mapping[str, float], label: str) -> float:
        if label in probabilities:
            return probabilities[label]
        if label == NOT_ENTAILMENT:
            return float(np.logaddexp(probabilities[NEUTRAL], probabilities[CONTRADICTION]))
        return probabilities[NOT_ENTAILMENT] if label == self._not_entailment else -inf

    def _classified(
        self, pairs: Sequence[tuple[str, str]], disable_tqdm: bool
    ) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
        rows = self._rows(pairs)
        order = sorted(range(len(pairs)), key=lambda i: -len(rows[i]["input_ids"]))
        auto = self.batch_size == "auto"
        tokens = 4096 if self.device.type == "cpu" else 65536
        packs = self._pack_size(
            tokens if auto else int(self.batch_size), "tokens" if auto else "pairs"
        )
        start = 0

        def classified(limit: int) -> tuple[list[int], list[list[float]]]:
            here = order[start : start + limit // size]
            return here, self._log_probabilities([rows[i] for i in here])

        with self._bar(len(pairs), f"Classifying {len(pairs)} pairs", disable_tqdm) as bar:
            while start < len(order):
                size = len(rows[order[start]]["input_ids"]) if auto else 1
                here, values = packs.fit(classified, (len(order) - start) * size, size)
                for i, value in zip(here, values, strict=True):
                    yield pairs[i], dict(zip(self._labels, value, strict=True))
                start += len(here)
                bar.update(len(here))

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        rows: list[dict[str, list[int]]] = []
        for start in range(0, len(pairs), AT_A_TIME):
            premises, hypotheses = zip(*pairs[start : start + AT_A_TIME], strict=True)
            encoded = self.tokenizer(list(premises), list(hypotheses))
            rows += [
                dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)
            ]
        lengths = [len(row["input_ids"]) for row in rows]
        longest, most = max(lengths, default=0), self.max_length
        if longest > most:
            premise, _ = pairs[lengths.index(longest)]
            raise UsageError(
                f"{sum(length > most for length in lengths)} of {len(rows)} pairs are longer than "
                f"the {most} tokens of {self._name}, the longest {longest}: {premise[:60]!r}. "
                f"Leave such documents out, or take a model that reads more (max_length in "
                f"--model_args, where the model has no fixed number of positions)"
            )
        return rows

    def _log_probabilities(self, rows: Sequence[dict[str, list[int]]]) -> list[list[float]]:
        batch = self.tokenizer.pad(list(rows), return_tensors="pt").to(self.device)
        with torch.inference_mode(), self._autocast():
            logits = self.model(**batch).logits
        return F.log_softmax(logits.float(), dim=-1).tolist()

    # ---- What a classifier cannot do

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        raise self._cannot("writes no text", requests)

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        raise self._cannot("gives no likelihood of a text", requests)

    def _cannot(self, what: str, requests: Sequence[Instance]) -> UsageError:
        tasks = ", ".join(sorted({str(request.task_name) for request in requests}))
        return UsageError(
            f"{tasks}: a classifier {what}; hf-nli answers tasks of premise and hypothesis with "
            f"output_type multiple_choice. For this one take a model that does, such as --model hf"
        )

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> str:
        raise UsageError(
            "hf-nli reads premise and hypothesis and no prompt: leave --apply_chat_template out"
        )


def _head(config: Any, named: Sequence[str] | None, model: str) -> Sequence[str]:
    names = [str(config.id2label[i]) for i in range(config.num_labels)]
    shown = ", ".join(names)
    if len(names) < 2:
        raise UsageError(
            f"{model} has one label ({shown}), which is a score: hf-nli needs entailment and "
            f"not_entailment, or three labels"
        )
    if named is not None and len(named) != len(names):
        raise UsageError(
            f"labels={'/'.join(named)} in --model_args: expected {len(names)} names, since {model} "
            f"has the labels {shown}"
        )
    own = [_label(name) or name for name in names]
    labels = own if named is None else named
    if labels != own and set(own) in HEADS:
        logger.warning(
            "hf-nli: %s names its labels %s; all numbers follow labels=%s instead.",
            model,
            shown,
            "/".join(labels),
        )
    if len(set(labels)) < len(labels) or set(labels) not in HEADS:
        raise UsageError(
            f"{model} has the labels {shown}: hf-nli needs entailment, neutral and contradiction, "
            f"or entailment and not_entailment. If they mean that, name them in the order of the "
            f"model in --model_args, such as labels=entailment/neutral/contradiction (its model "
            f"card says which is which)"
        )
    return labels


def _named(option: str, value: str | Sequence[str]) -> list[str]:
    labels = []
    for name in value.split("/") if isinstance(value, str) else value:
        label = _label(name)
        if label is None:
            raise UsageError(
                f"{option}={value} in --model_args: {name!r} is not one of {', '.join(LABELS)}; "
                f"they are separated by /"
            )
        labels.append(label)
    return labels


def _label(name: str) -> str | None:
    for label, words in lexicon("nli_words")["labels"].items():
        if _plain(name) in words:
            return str(label)
    return None


def _word(choice: str, premise: str, hypothesis: str) -> str:
    """The whole choice, or what follows a question mark between premise and hypothesis."""
    text, before, after = choice.strip(), premise.strip(), hypothesis.strip()
    if len(text) > len(before) + len(after) and text.startswith(before) and text.endswith(after):
        text = text[len(before) : len(text) - len(after)].rpartition("?")[2]
    return _plain(text)


def _plain(word: str) -> str:
    return word.replace("_", " ").replace("-", " ").strip(" ,.").casefold()


compat.own_cache(EntailmentLM, "loglikelihood")
