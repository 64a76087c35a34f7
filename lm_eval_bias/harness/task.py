"""A harness task whose numbers come from all documents together."""

import json
import logging
import re
from collections.abc import Callable
from functools import cached_property, partial
from inspect import isfunction, signature
from math import nan
from typing import Any

from lm_eval_bias.data.schema import located, marks
from lm_eval_bias.harness import compat
from lm_eval_bias.harness.conversation import UNTIL, ConversationTask, chat_prompt
from lm_eval_bias.harness.dataset import FIRST, CustomDataset, Documents
from lm_eval_bias.harness.gc_pause import gc_paused
from lm_eval_bias.harness.sampling import REQUEST, is_sampled
from lm_eval_bias.harness.shards import shard
from lm_eval_bias.harness.templates import CompiledTask, Config, without_examples
from lm_eval_bias.harness.whole_prompt import IN_CHAT, refuse_open_thinking
from lm_eval_bias.likelihoods import Read
from lm_eval_bias.measure import (
    FIRST_TOKEN,
    IN_FORM,
    INSTRUCTION,
    SEEN_MASS,
    WITHOUT_UNSEEN,
    Measure,
    Record,
    Row,
    Summary,
    by_wording,
    lacking_columns,
    lacking_numbers,
    mean,
    problems,
    rows,
    shares,
    summarise,
    tables,
    value,
)
from lm_eval_bias.usage import (
    PAPER,
    SHARD,
    WORDING,
    Options,
    UsageError,
    asked_in,
    flag,
    part,
    read_options,
)

logger = logging.getLogger(__name__)

RECORDS = compat.Unshown("records")
ERROR = "error"
REHEARSED = 50
"""Documents that `StandIn` answers before the model does."""
REASONING = "reasoning"
THINKING = 4096
"""Tokens that `reasoning` adds for each answer."""


class StandIn(compat.model_base()):  # type: ignore[misc]
    """A model that finds everything equally likely and answers nothing."""

    def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
        return [(-1.0, False)] * len(requests)

    def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
        return [-1.0] * len(requests)

    def generate_until(self, requests: Any, **_: Any) -> list[str]:
        return [""] * len(requests)

    def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
        return "\n".join(message["content"] for message in chat_history)


class MeasureTask(CompiledTask):
    """A task with a measure. In a YAML: `class: !function lm_eval_bias.harness.task.MeasureTask`.

    It reads two more keys. measure: a `measure.Measure`, in place of `process_results` and
    `metric_list`. options: a function that checks `--metadata` and returns the defaults;
    `temperature` and `repeats` also apply to the generation, and so does `--metadata
    reasoning=true` of all tasks that generate. `--metadata shard=2/4` asks a part (shards.py).

    wordings: other wordings of the instruction, each the keys of the YAML that it replaces.
    `--metadata wording=1` asks in the first; `wording=all` asks each document in the paper's and in
    all of them.

    In the results file all numbers and tables are under configs -> TASK -> cells, in the samples
    each record under "records". After an error, under configs -> TASK -> error, the numbers are NaN
    and the status is 1.
    """

    LIKELIHOOD = "loglikelihood"
    """The request type of likelihoods without a chat template."""

    def __init__(self, config: Config) -> None:
        config = {"num_fewshot": 0, **{k: v for k, v in config.items() if k != "class"}}
        without_examples(config)
        self.measure: Measure = config.pop("measure").about(config.get("dataset_kwargs") or {})
        options = config.pop("options", None)
        wordings = config.pop("wordings", None) or ()
        name = config["task"]
        metadata = config.get("metadata") or {}
        if FIRST in metadata:  # a run would take it for the size of the task
            raise UsageError(
                f"{name}: {FIRST} belongs in a task's YAML; use --limit for fewer documents"
            )
        metadata = located(metadata, metadata.get("config_source"))
        self._options = read_options(name, metadata, options, wordings)
        texts = {PAPER: {}, **{str(i): of for i, of in enumerate(wordings, start=1)}}
        asked = asked_in(metadata, wordings)
        self._wordings: dict[str | None, Config] = {name: texts[name] for name in asked}
        self._has_wordings = bool(wordings)
        self._marks = marks(self._options)
        self._part = part(metadata)
        self._places: list[int] = []
        config["dataset_kwargs"] = dict(config.get("dataset_kwargs") or {})
        builder = config.get("custom_dataset")
        documents = getattr(builder, "documents", bool)
        self._read = signature(options or documents).parameters.keys()
        if isinstance(builder, CustomDataset):  # its other arguments are the YAML's
            fixed = signature(documents).parameters.keys() - self._read
            metadata = {key: value for key, value in metadata.items() if key not in fixed}
        config["metadata"] = {**metadata, **self._options}
        if "repeats" in self._options:
            config["repeats"] = self._options["repeats"]
        if config.get("generation_kwargs"):
            reasons = flag(REASONING, metadata.get(REASONING, False))
            settings = sampled(config["generation_kwargs"], self._options)
            config["generation_kwargs"] = with_thinking(settings) if reasons else settings
        # No examples: prompts hold their own. Without this the harness copies every document.
        config["fewshot_config"] = {"samples": []}
        # A filter gives a list of answers to each request, unless it takes one out of it.
        steps = [step for pipe in config.get("filter_list") or () for step in pipe["filter"]]
        self._lists = bool(steps) and "take_first" not in [step["function"] for step in steps]
        for step in steps:  # fail now, not after the model's work
            if isinstance(step["function"], type):
                step["function"](**{key: value for key, value in step.items() if key != "function"})
        if self._lists and len(asked) > 1:
            raise UsageError(
                f"{name}: {WORDING}=all in --metadata is for tasks on likelihoods; ask each "
                "wording in a run of its own"
            )
        self._summary: Summary | None = None
        self._error: str | None = None
        super().__init__(config=config)
        if isinstance(builder, CustomDataset):  # of files fetched with the documents
            self.config.metadata.update(builder.checksums(**self._options))
        if len(asked) == 1:
            self.reword(self._wordings[asked[0]])
        # For the results file. Only now, or the harness would look for metrics of these names.
        self.config.metric_list = [
            {"metric": m.name, "higher_is_better": m.higher_is_better}
            for m in self.measure.metrics
            if m.primary
        ]

    def test_docs(self) -> Any:
        if self._part[1] == 1:
            return super().test_docs()
        if not self._places:
            whole = super().test_docs()
            columns = next(iter(self.measure.clusters), ())
            try:
                self._places = shard(whole, columns, *self._part)
            except UsageError as error:
                raise UsageError(f"{self.config.task}: {error}") from error
            self._documents = Documents(whole[i] for i in self._places)
            self.dataset: Any = {}  # the whole may be large
        return self._documents

    def doc_iterator(self, **kwargs: Any) -> Any:
        """The harness's; documents of a part have the numbers that they have in the whole."""
        documents = super().doc_iterator(**kwargs)
        if not self._places or kwargs.get("samples"):
            return documents
        return ((self._places[i], document) for i, document in documents)

    def build_all_requests(self, **kwargs: Any) -> Any:
        """The harness's, without `--cache_requests`, which would ignore the task's options. Raises
        UsageError for a wrong declaration, and for `repeats` of equal answers.
        """
        if self.config.repeats != 1 and not self._repeats:
            same = "it reads likelihoods, which are the same every time"
            raise UsageError(f"{self.task_name}: {same}; leave repeats={self.config.repeats} out")
        for problem in problems(self.measure, self.eval_docs.features):
            raise UsageError(f"{self.task_name}: {problem}")
        self._processes = kwargs.get("world_size", 1)
        uncached = {"cache_requests": False, "rewrite_requests_cache": False}
        with gc_paused():
            super().build_all_requests(**{**kwargs, **uncached})
            self._ask_others({**kwargs, **uncached})
        if self.instances:
            self._rehearse()

    def _ask_others(self, arguments: Options) -> None:
        """Add the requests in the other wordings, behind those of each document."""
        everything = list(self.instances)
        per_document = len({r.idx for r in everything})
        for i, texts in enumerate(list(self._wordings.values())[1:], start=1):
            other = compat.twin(self)
            other.reword(texts)
            super(MeasureTask, other).build_all_requests(**arguments)
            for r in other.instances:
                r.idx += i * per_document
            everything += other.instances
        self._instances = everything

    def _rehearse(self) -> None:
        """Let `StandIn` answer the first documents. Raises UsageError if their records, numbers or
        tables lack what the measure declares, as far as empty answers show.
        """
        everything = self.instances
        documents: dict[Any, list[Any]] = {}
        for r in everything:
            if r.doc_id in documents or len(documents) < REHEARSED:
                rehearsed = compat.derived(r, r.request_type, r.arguments)
                documents.setdefault(r.doc_id, []).append(rehearsed)
        self._instances = [r for of_one in documents.values() for r in of_one]
        level = logging.root.manager.disable
        logging.disable(logging.ERROR)
        try:
            stand_in = StandIn()
            for r in self._instances:
                r.resps = getattr(stand_in, r.request_type)([r] * (r.repeats or 1))
            super().apply_filters()
            name = compat.filter_names(self)[0]
            made = [
                self._made(of_one[0].doc, [r.filtered_resps[name] for r in of_one])
                for of_one in documents.values()
            ]
            records = next(iter(by_wording(flat(made)).values()))
            problem = next(lacking_columns(self.measure, records), None)
            if problem is None:
                summary = self.measure.summary(records, errors=True, **self._options)
                problem = next(lacking_numbers(self.measure, summary), None)
        except Exception:
            logger.debug("%s: no numbers of an empty answer", self.task_name, exc_info=True)
        else:
            if problem is not None:
                raise UsageError(f"{self.task_name}: {problem}")
        finally:
            logging.disable(level)
            self._instances = everything

    def fewshot_context(self, doc: Any, num_fewshot: int, **kwargs: Any) -> Any:
        """The harness's; without a system role, the question gets the system message."""
        if apply := kwargs.get("chat_template"):
            kwargs["chat_template"] = partial(chat_prompt, apply)
        return super().fewshot_context(doc, num_fewshot, **kwargs)

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
        """The harness's. Sampled answers (sampling.py), likelihoods with token counts and those
        behind a chat template (whole_prompt.py) have their own request types."""
        with self.known_output_type():
            requests = super().construct_requests(doc, ctx, **kwargs)
        every = requests if isinstance(requests, list) else [requests]
        kind = every[0].request_type
        if kind == "generate_until" and is_sampled(self.config.generation_kwargs):
            kind = REQUEST
        elif kind == "loglikelihood":
            kind = self.LIKELIHOOD
            if kwargs.get("apply_chat_template") and (apply := kwargs.get("chat_template")):
                kind += IN_CHAT
                refuse_open_thinking(self.task_name, ctx, self.doc_to_text(doc), apply)
        if kind != every[0].request_type:
            # With several processes the harness pads requests by the task's type.
            self.OUTPUT_TYPE = kind
            for request in every:
                request.request_type = kind
        return requests

    def apply_filters(self) -> Any:
        try:
            with gc_paused():
                filtered = super().apply_filters()
            return filtered
        except Exception as error:
            self._fail(error, "reading the answers")
            for instance in self.instances:
                for name in compat.filter_names(self):
                    instance.filtered_resps.setdefault(name, [])

    def process_results(self, doc: Any, results: Any) -> dict[str, Any]:
        if compat.predicts_only(self):
            return {"bypass": None}
        # One key holds the record. The others belong to no document, but the harness aggregates
        # only the keys that it finds here.
        values: Config = dict.fromkeys(self._aggregations)
        values[RECORDS] = self._record(doc, results)
        return values

    def _record(self, doc: Any, results: Any) -> Record | list[Record]:
        try:
            if self._error is None:
                return self._made(doc, results)
        except Exception as error:
            self._fail(error, "making a record of an answer")
        records = [{ERROR: self._error, **marks} for marks in self._all_marks]
        return records[0] if len(records) == 1 else records

    @property
    def _all_marks(self) -> list[Config]:
        wordings = [{INSTRUCTION: name} for name in self._wordings]
        return [{**self._marks, **wording} for wording in wordings or [{}]]

    def _made(self, doc: Any, results: Any) -> Record | list[Record]:
        if not self._lists:
            parts = shares(results, len(self._all_marks))
            records = []
            for of, marks in zip(parts, self._all_marks, strict=True):
                record = {**self.measure.record(doc, of), **marks}
                if reads := Read.all_in(of):
                    record[SEEN_MASS] = reads[0].shown
                    record[FIRST_TOKEN] = any(read.how == "first token" for read in reads)
                if any(read.how == "unseen" for read in reads):
                    without = self.measure.record(doc, Read.without_unseen(of))
                    record[WITHOUT_UNSEEN] = {**without, **marks}
                records.append(record)
        else:
            # A process with fewer documents asks its last one again; both answers are here
            # (lm_eval 0.4.13).
            (given,) = results
            answers = given[: self.config.repeats]
            in_form = getattr(given, IN_FORM.name, [None] * len(given))[: self.config.repeats]
            asked = [(answers, mean(in_form))]
            if not self.measure.gathers:
                asked = [([a], form) for a, form in zip(answers, in_form, strict=True)]
            records = [
                {**self.measure.record(doc, of), **self._marks, IN_FORM.name: form}
                for of, form in asked
            ]
        return records[0] if len(records) == 1 else records

    def aggregation(self) -> dict[str, Callable]:
        return super().aggregation() if compat.predicts_only(self) else self._aggregations

    @property
    def takes(self) -> set[str] | None:
        """The names that it reads in `--metadata`. None: any, as a function that makes its
        documents gets them all.
        """
        builder = self.config.custom_dataset
        if isfunction(builder):
            return None
        more = [*[REASONING] * bool(self.config.generation_kwargs), *[WORDING] * self._has_wordings]
        return {SHARD, *self._read, *more}

    @property
    def _repeats(self) -> bool:
        return self.measure.repeats or self.measure.gathers

    def higher_is_better(self) -> dict[str, bool | None]:
        if compat.predicts_only(self):
            return super().higher_is_better()
        return {row.name: row.metric.higher_is_better for row in self._rows}

    @cached_property
    def _rows(self) -> list[Row]:
        """The rows of the table. Groups come from the documents, so all processes agree."""

        def groups(column: str) -> list[str]:
            labels = self.eval_docs.unique(column)
            return labels if len(labels) > 1 else []

        return rows(self.measure.metrics, groups)

    @cached_property
    def _aggregations(self) -> dict[str, Callable]:
        aggregations: dict[str, Callable] = {RECORDS: self._count}
        for row in self._rows:
            aggregations[row.name] = partial(self._value, row, "value")
            if row.metric.stderr:  # the harness shows x_stderr as the standard error of x
                aggregations[f"{row.name}_stderr"] = partial(self._value, row, "stderr")
        return aggregations

    def _count(self, gathered: list[Any]) -> float:
        """The number of records. Called first, it makes the summary for `_value`."""
        records = flat(compat.in_document_order(gathered, self._processes))
        broken = next((record[ERROR] for record in records if ERROR in record), None)
        if broken is not None:  # in another process, perhaps
            self._error = broken
            compat.fail_at_end(f"no numbers for {self.task_name}; see the error above")
        else:
            try:
                summary = summarise(self.measure, records, self._options)
                self._cells = tables(self.measure, summary)
                self._numbers = {row.name: value(summary, row) for row in self._rows}
                self._summary = summary
            except Exception as error:
                self._fail(error, "computing its numbers")
        return float(len(records))

    def _value(self, row: Row, part: str, values: list[Any]) -> float:
        return nan if self._summary is None else float(getattr(self._numbers[row.name], part))

    def _fail(self, error: Exception, doing: str) -> None:
        """Log the first error and go on, to save the answers."""
        if self._error is None:
            self._error = f"{type(error).__name__}: {error}"
            logger.error(
                "%s: an error while %s; its numbers are NaN. If the run has --log_samples, "
                "`lm-eval-bias merge %s SAMPLES` makes them afterwards.",
                self.task_name,
                doing,
                self.task_name,
                exc_info=error,
            )
            compat.fail_at_end(f"no numbers for {self.task_name}; see the error above")

    def dump_config(self) -> Config:
        # Functions and objects become texts, which name no address: equal runs write equal files.
        text = json.dumps(super().dump_config(), default=str)
        config: Config = json.loads(re.sub(r" at 0x[0-9a-f]+", "", text))
        if self._summary is not None:
            config["cells"] = self._cells
        if self._error is not None:
            config[ERROR] = self._error
        return config


def sampled(generation: Options, options: Options) -> Config:
    """`generation_kwargs` with a task's option `temperature`; 0 is greedy."""
    if "temperature" not in generation or "temperature" not in options:
        return dict(generation)
    temperature = options["temperature"]
    return {**generation, "temperature": temperature, "do_sample": temperature > 0}


def with_thinking(generation: Options) -> Config:
    """`generation_kwargs` for a model that thinks first: more tokens, and no stop within a turn."""
    tokens = generation.get("max_gen_toks", 0) + THINKING
    return {**generation, "until": list(UNTIL), "max_gen_toks": tokens}


def flat(records: list[Any]) -> list[Record]:
    return [r for record in records for r in (record if isinstance(record, list) else [record])]


class ConversationMeasureTask(ConversationTask, MeasureTask):
    """A task of several turns with a measure. Reads the keys of both."""
