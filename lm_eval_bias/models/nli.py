"""`--model hf-nli`: sequence-classification models that say whether a premise entails a hypothesis.

Such a model continues no text. It reads premise and hypothesis from the document of a
multiple-choice task, and answers each choice with the log-probability of the label that the choice
names. What labels and choices are called stands in items/nli_words.yaml; where that does not settle
what is meant, it is an error that says how to name it. docs/nli_classifiers.md.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, log
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import transformers
from accelerate.utils.memory import should_reduce_batch_size
from lm_eval.api.instance import Instance
from lm_eval.api.model import hash_args
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils_hf import clear_torch_cache
from tqdm import tqdm

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.harness import compat
from lm_eval_bias.usage import UsageError

from .kinds import learned_positions
from .processes import share_documents

logger = logging.getLogger(__name__)

ENTAILMENT, NEUTRAL, CONTRADICTION, NOT_ENTAILMENT = LABELS = (
    "entailment",
    "neutral",
    "contradiction",
    "not_entailment",
)
HEADS = ({ENTAILMENT, NEUTRAL, CONTRADICTION}, {ENTAILMENT, NOT_ENTAILMENT})
COLUMNS = (("premise", "hypothesis"), ("sentence1", "sentence2"))
OPTIONS = ("premise", "hypothesis", "labels", "choices", "not_entailment")
AT_A_TIME = 2048
"""Pairs that are handed to the tokenizer at a time: what it makes of them beside the ids is gone
before the next."""


class Question(NamedTuple):
    """What a request asks: the probability of a label for a pair. labels: those of all choices of
    its task."""

    pair: tuple[str, str]
    label: str
    labels: frozenset[str]


class EntailmentLM(HFLM):
    """A classifier of entailment as a model of the harness, which loads it as its `hf` does.

    premise, hypothesis: the columns of the documents; by default premise and hypothesis, or
    sentence1 and sentence2. labels: what the outputs of the model mean, in their order, such as
    "entailment/neutral/contradiction"; by default its config says it. choices: what the choices of
    a task mean, in their order, where their words do not tell; written as `labels`. not_entailment:
    what "not entailment" of a model with two labels counts as in a task with three, "neutral" or
    "contradiction", of which the other gets no probability; by default such a task is an error. All
    other arguments are `HFLM`'s. Raises UsageError for a model that is no such classifier.
    """

    AUTO_MODEL_CLASS = transformers.AutoModelForSequenceClassification

    def __init__(
        self,
        pretrained,
        *,
        premise=None,
        hypothesis=None,
        labels=None,
        choices=None,
        not_entailment=None,
        **kwargs,
    ):
        for name in kwargs:
            for guess in difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.8):
                raise UsageError(
                    f"unknown option '{name}' in --model_args. Did you mean '{guess}'?"
                )
        if (premise is None) != (hypothesis is None):
            raise UsageError(
                "premise and hypothesis in --model_args go together: premise=COLUMN,hypothesis=COLUMN"
            )
        if not_entailment not in (None, NEUTRAL, CONTRADICTION):
            raise UsageError(
                f"not_entailment={not_entailment} in --model_args: expected neutral or contradiction"
            )
        self._columns = COLUMNS if premise is None else ((str(premise), str(hypothesis)),)
        self._choices = _named("choices", choices) if choices is not None else None
        self._not_entailment = not_entailment
        # "causal" is for HFLM's own requests, none of which are used; it warns of models that are
        # neither causal nor sequence to sequence.
        super().__init__(pretrained, **{"backend": "causal", **kwargs})
        self._labels = _head(
            self.model.config,
            _named("labels", labels) if labels is not None else None,
            self._name(),
        )
        if self.model.config.pad_token_id is None:  # classifiers made of decoders look for it
            self.model.config.pad_token_id = self.tokenizer.pad_token_id
        # On the left, padding would move every token of a model with learned positions.
        self.tokenizer.padding_side = "right"
        share_documents(self)

    def _name(self) -> str:
        return self.pretrained if isinstance(self.pretrained, str) else type(self.model).__name__

    def _create_model(self, pretrained: str, **kwargs: Any) -> None:
        made_as = self.config.architectures or ()
        # An adapter may bring the head that its base lacks.
        if (
            made_as
            and not kwargs.get("peft")
            and not any("ForSequenceClassification" in name for name in made_as)
        ):
            raise UsageError(
                f"{pretrained} is a {made_as[0]}: without a classification head its answers would be random. hf-nli needs a model that "
                "was trained on entailment, such as one whose name ends in -mnli"
            )
        super()._create_model(pretrained, **kwargs)

    @property
    def max_length(self) -> int:
        """Tokens of a pair, special ones included, that the model and its tokenizer were made for."""
        if self._max_length:
            return self._max_length
        learned = learned_positions(self.model)
        most = super().max_length if learned is None else min(learned, super().max_length)
        return min(most, self.tokenizer.model_max_length)

    # ---- What is asked

    def _questions(self, requests: Sequence[Instance]) -> list[Question]:
        """What each request asks. All requests of a task are looked at together: only all of its
        choices tell what one means."""
        of_task: dict[str | None, list[int]] = {}
        for i, request in enumerate(requests):
            of_task.setdefault(request.task_name, []).append(i)
        questions: dict[int, Question] = {}
        for task, members in of_task.items():
            name = task or "this task"
            pairs = [self._pair(name, requests[i].doc) for i in members]
            words = [
                _word(requests[i].args[1], *pair) for i, pair in zip(members, pairs, strict=True)
            ]
            places = [requests[i].idx for i in members]
            meaning = self._meaning(name, dict(zip(places, words, strict=True)), set(words))
            labels = frozenset(meaning.values())
            for i, pair, word, place in zip(members, pairs, words, places, strict=True):
                questions[i] = Question(pair, meaning[word if word in meaning else place], labels)
        return [questions[i] for i in range(len(requests))]

    def _pair(self, task: str, doc: Mapping[str, Any]) -> tuple[str, str]:
        for premise, hypothesis in self._columns:
            if isinstance(doc.get(premise), str) and isinstance(doc.get(hypothesis), str):
                return doc[premise], doc[hypothesis]
        expected = " or ".join(
            f"{premise} and {hypothesis}" for premise, hypothesis in self._columns
        )
        raise UsageError(
            f"{task}: hf-nli reads the texts in {expected} of a document; this one has {', '.join(map(str, doc))}. "
            "Where others hold premise and hypothesis, name them in --model_args: premise=COLUMN,hypothesis=COLUMN"
        )

    def _meaning(self, task: str, places: Mapping[int, str], words: set[str]) -> Mapping[Any, str]:
        """The label that each choice of a task stands for, by its word, or by its place where
        `choices` says so."""
        meaning: Mapping[Any, str] | None = next(
            (
                {word: label for label, word in known.items()}
                for known in lexicon("nli_words")["choices"]
                if set(known.values()) == words
            ),
            None,
        )
        if meaning is None and self._choices is not None and max(places) < len(self._choices):
            meaning = dict(enumerate(self._choices))
        if meaning is None:
            shown = "; ".join(f"{place}: {places[place][:60]}" for place in sorted(places)[:6])
            raise UsageError(
                f"{task}: hf-nli does not know which labels its choices name ({shown}). Say it in their order in --model_args, such as "
                "choices=entailment/neutral/contradiction or choices=entailment/not_entailment"
            )
        if (
            NOT_ENTAILMENT in self._labels
            and self._not_entailment is None
            and not set(meaning.values()) <= HEADS[1]
        ):
            raise UsageError(
                f"{task} asks for contradiction and neutral, which {self._name()} cannot tell apart: its labels are entailment and "
                "not_entailment. With not_entailment=neutral in --model_args that counts as neutral, and nothing is a contradiction"
            )
        return meaning

    # ---- What the model says

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """For each request the log-probability of its label, and whether no other choice is
        likelier. A pair is classified once.

        The harness's cache knows a request by its prompt, which is not what the model reads, so
        this one looks into it by itself.
        """
        questions = self._questions(requests)
        made = (
            self._name(),
            str(self.revision),
            str(self.peft),
            str(self.delta),
            str(self.model.dtype),
            "/".join(self._labels),
        )
        keys = [
            (*made, str(self._not_entailment), *each.pair, each.label, *sorted(each.labels))
            for each in questions
        ]
        cache = getattr(self.cache_hook, "dbdict", None)
        known = (
            {key: cache.get(hash_args("hf-nli", key)) for key in dict.fromkeys(keys)}
            if cache is not None
            else {}
        )
        answers: list[tuple[float, bool]] = [known.get(key) or (-inf, False) for key in keys]
        asking: dict[tuple[str, str], list[int]] = {}
        for i, question in enumerate(questions):
            if known.get(keys[i]) is None:
                asking.setdefault(question.pair, []).append(i)
        for pair, probabilities in self._classified(list(asking), disable_tqdm):
            for i in asking[pair]:
                each = {
                    label: self._likelihood(probabilities, label) for label in questions[i].labels
                }
                value = each[questions[i].label]
                answers[i] = (value, value == max(each.values()))
                self.cache_hook.add_partial("hf-nli", keys[i], answers[i])
        return answers

    def _likelihood(self, probabilities: Mapping[str, float], label: str) -> float:
        """The log-probability of a label from those of the model's own labels."""
        if label in probabilities:
            return probabilities[label]
        if label == NOT_ENTAILMENT:
            return _either(probabilities[NEUTRAL], probabilities[CONTRADICTION])
        return probabilities[NOT_ENTAILMENT] if label == self._not_entailment else -inf

    def _classified(
        self, pairs: Sequence[tuple[str, str]], disable_tqdm: bool = False
    ) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
        """Each pair with the log-probabilities of the model's labels, the longest first, so that
        what is too much for the memory shows."""
        rows = self._rows(pairs)
        order = sorted(range(len(pairs)), key=lambda i: -len(rows[i]["input_ids"]))
        most = None if self.batch_size == "auto" else int(self.batch_size)
        tokens = 4096 if self.device.type == "cpu" else 65536
        bar = tqdm(
            total=len(pairs),
            desc=f"Classifying {len(pairs)} pairs",
            disable=disable_tqdm or self.rank != 0,
        )
        done = 0
        while done < len(order):
            here = order[
                done : done + (most or max(1, tokens // len(rows[order[done]]["input_ids"])))
            ]
            try:
                values = self._log_probabilities([rows[i] for i in here])
            except RuntimeError as error:
                if not should_reduce_batch_size(error) or len(here) == 1:
                    raise
                clear_torch_cache()
                most = len(here) // 2
                continue
            for i, value in zip(here, values, strict=True):
                yield pairs[i], dict(zip(self._labels, value, strict=True))
            done += len(here)
            bar.update(len(here))
        bar.close()

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        """What the model reads of each pair. UsageError for one that is longer than the model: cut,
        it would be another question."""
        rows: list[dict[str, list[int]]] = []
        for start in range(0, len(pairs), AT_A_TIME):
            encoded = self.tokenizer(
                *map(list, zip(*pairs[start : start + AT_A_TIME], strict=True))
            )
            rows += [
                dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)
            ]
        lengths = [len(row["input_ids"]) for row in rows]
        longest = max(range(len(rows)), key=lengths.__getitem__, default=None)
        if longest is not None and lengths[longest] > self.max_length:
            raise UsageError(
                f"{sum(length > self.max_length for length in lengths)} of {len(rows)} pairs are longer than the {self.max_length} tokens "
                f"of {self._name()}, the longest {lengths[longest]}: {pairs[longest][0][:60]!r}. Leave such documents out, or take a model "
                "that reads more (max_length in --model_args, where the model has no fixed number of positions)"
            )
        return rows

    def _log_probabilities(self, rows: Sequence[dict[str, list[int]]]) -> list[list[float]]:
        """Shape (rows, labels), in float32 whatever the model computes in."""
        batch = self.tokenizer.pad(list(rows), return_tensors="pt").to(self.device)
        mixed = self.mixed_precision_dtype
        with (
            torch.inference_mode(),
            torch.autocast(self.device.type, dtype=mixed, enabled=mixed is not None),
        ):
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
        tasks = ", ".join(sorted({request.task_name or "this task" for request in requests}))
        return UsageError(
            f"{tasks}: a classifier {what}; hf-nli answers tasks of premise and hypothesis with output_type multiple_choice. For this one "
            "take a model that does, such as --model hf"
        )

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        raise UsageError(
            "hf-nli reads premise and hypothesis and no prompt: leave --apply_chat_template out"
        )


def _head(config: Any, given: Sequence[str] | None, name: str) -> list[str]:
    """The label of each output of a model."""
    names = [str(config.id2label[i]) for i in range(config.num_labels)]
    shown = ", ".join(names)
    if len(names) < 2:
        raise UsageError(
            f"{name} has one label ({shown}), which is a score: hf-nli needs entailment and not_entailment, or three labels"
        )
    if given is not None and len(given) != len(names):
        raise UsageError(
            f"labels={'/'.join(given)} in --model_args: expected {len(names)} names, since {name} has the labels {shown}"
        )
    read = [_label(each) or each for each in names]
    labels = list(given) if given is not None else read
    if labels != read and set(read) in HEADS:
        logger.warning(
            "hf-nli: %s names its labels %s; all numbers follow labels=%s instead.",
            name,
            shown,
            "/".join(labels),
        )
    if len(set(labels)) < len(labels) or set(labels) not in HEADS:
        raise UsageError(
            f"{name} has the labels {shown}: hf-nli needs entailment, neutral and contradiction, or entailment and not_entailment. If they "
            "mean that, name them in the order of the model in --model_args, such as labels=entailment/neutral/contradiction "
            "(its model card says which is which)"
        )
    return labels


def _named(option: str, value: Any) -> list[str]:
    """The labels that an option names. Commas separate options, and a semicolon ends a command of
    the shell."""
    names = [
        str(name).strip()
        for name in (value if isinstance(value, (list, tuple)) else str(value).split("/"))
    ]
    labels = [_label(name) for name in names]
    if None in labels:
        raise UsageError(
            f"{option}={value} in --model_args: {names[labels.index(None)]!r} is not one of {', '.join(LABELS)}; they are separated by /"
        )
    return [label for label in labels if label is not None]


def _label(name: str) -> str | None:
    return next(
        (label for label, words in lexicon("nli_words")["labels"].items() if _plain(name) in words),
        None,
    )


def _word(choice: str, premise: str, hypothesis: str) -> str:
    """The word by which a choice names a label: all of it, or what stands behind a question mark
    between premise and hypothesis."""
    text, before, after = choice.strip(), premise.strip(), hypothesis.strip()
    if len(text) > len(before) + len(after) and text.startswith(before) and text.endswith(after):
        text = text[len(before) : len(text) - len(after)].rpartition("?")[2]
    return _plain(text)


def _plain(word: str) -> str:
    return word.replace("_", " ").replace("-", " ").strip(" ,.").casefold()


def _either(a: float, b: float) -> float:
    """The logarithm of the sum of two probabilities, from theirs."""
    most, least = max(a, b), min(a, b)
    return most if least == -inf else most + log(1 + exp(least - most))


compat.own_cache(EntailmentLM, "loglikelihood")
