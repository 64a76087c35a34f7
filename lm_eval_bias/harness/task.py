"""The harness task of all benchmarks: its numbers come from all documents together."""

import json
import logging
import re
from collections.abc import Callable
from copy import copy
from functools import cache, cached_property, partial
from inspect import signature
from math import nan
from typing import Any

from lm_eval.api.task import ConfigurableTask

from lm_eval_bias.answers.reasoning import shows_reasoning
from lm_eval_bias.data.model_files import chat_template
from lm_eval_bias.data.schema import file_fingerprints, with_resolved_paths
from lm_eval_bias.exhibit import Table
from lm_eval_bias.harness import compat, conversation, early, hub_data, scoring, sentence_pairs
from lm_eval_bias.harness.conversation import EMPTY, OWN, UNTIL, chat_prompt, read_turns
from lm_eval_bias.harness.dataset import FIRST, CustomDataset, Document, Documents
from lm_eval_bias.harness.saving import RECORDS, check_files
from lm_eval_bias.harness.shards import shard
from lm_eval_bias.harness.templates import Config, Text, render
from lm_eval_bias.harness.whole_prompt import NO_LIKELIHOODS, refuse_open_thinking
from lm_eval_bias.measure import (
    IN_FORM,
    INSTRUCTION,
    THOUGHT,
    Measure,
    Record,
    TableRow,
    first_seen,
    logging_disabled,
    mean,
    problems,
    record_of,
    rows,
    shares,
    summarise,
    tables,
)
from lm_eval_bias.usage import (
    PAPER,
    WORDING,
    UsageError,
    flag,
    part,
    read_options,
    requested_wordings,
)

logger = logging.getLogger(__name__)
_warn_once = cache(logger.warning)

ERROR = "error"
REASONING = "reasoning"
THINKING = 4096
"""Tokens that `reasoning` adds for each answer."""
NO_CHAT = (
    "a model thinks in the form of its chat template; with reasoning=true in --metadata add "
    "--apply_chat_template"
)
PLAIN, COUNTED, TEXTS, SENTENCES, TURNS = "plain", "counted", "texts", "sentences", "turns"
OUTPUT_TYPES = {
    PLAIN: None,
    COUNTED: "multiple_choice",
    TEXTS: "multiple_choice",
    SENTENCES: "loglikelihood",
    TURNS: "generate_until",  # so that --gen_kwargs reaches the task
}
"""What a YAML's `request` may be -> the harness's output type."""
Base: Any = ConfigurableTask


class BiasTask(Base):
    """A task with a measure. In a YAML: `class: !function lm_eval_bias.harness.task.BiasTask`.

    It reads more keys than the harness's:

    measure: a `measure.Measure`, in place of `process_results` and `metric_list`.

    request: what is asked. `plain`, the default: what `output_type` says. `counted`: choices, whose
    measure also gets their numbers of tokens. `texts`: the same of plain texts, without system
    message and chat template. `sentences`: two columns or templates, `sentences`, each beside the
    other, as they stand. `turns`: a conversation, `turns` with `user`, a template over columns and
    earlier `answers`, and optional `generation_kwargs`; with `doc_to_choice` the last turn is
    scored.

    options: a `TaskOptions`, which checks `--metadata`; `temperature` and `repeats` also apply to
    the generation, and so does `--metadata reasoning=true` of all tasks that generate; others score
    choices behind the model's thought then. `--metadata shard=2/4` asks a part (shards.py), and
    `anyway=true` asks on where the first answers are of no use (early.py).

    wordings: other wordings of the instruction, each the keys of the YAML that it replaces.
    `--metadata wording=1` asks in the first; `wording=all` asks each document in the paper's and in
    all of them.

    process_docs: turns rows of a data set of the hub into documents; the option `data` names a file
    in its place.

    In the results file all numbers and tables are under configs -> TASK -> cells, in the samples
    each record under "records". After an error, under configs -> TASK -> error, the numbers are
    NaN.
    """

    OUTPUT_TYPE: Any
    dataset: Any

    def __init__(self, config: Config):
        config = {"num_fewshot": 0, "doc_to_target": "", **config}
        metadata = config.get("metadata") or {}
        thinks = flag(REASONING, metadata.get(REASONING, False))
        config.pop("class", None)
        name = config["task"]
        if config["num_fewshot"]:
            raise UsageError(
                f"{name}: it takes no few-shot examples, found num_fewshot={config['num_fewshot']}"
            )
        if FIRST in metadata:  # a run would take it for the size of the task
            raise UsageError(
                f"{name}: {FIRST} can only be set in a task's YAML; use --limit for fewer documents"
            )
        config["dataset_kwargs"] = dict(config.get("dataset_kwargs") or {})
        self.measure: Measure = config.pop("measure").of_task(name, config["dataset_kwargs"])
        self._read_request(name, config, thinks)
        options = config.pop("options", None)
        wordings = config.pop("wordings", None) or ()
        metadata = with_resolved_paths(metadata, metadata.get("config_source"))
        self._options = read_options(name, metadata, options, wordings)
        texts = {PAPER: {}, **{str(i): text for i, text in enumerate(wordings, start=1)}}
        asked = requested_wordings(metadata, wordings)
        self._wordings: dict[str, Config] = {name: texts[name] for name in asked}
        self._marks = file_fingerprints(self._options)
        self._part = part(metadata)
        self._places: list[int] = []
        builder = config.get("custom_dataset")
        if isinstance(builder, CustomDataset) and options:  # other arguments are the YAML's
            fixed = signature(builder.documents).parameters.keys() - options.declared()
            metadata = {key: value for key, value in metadata.items() if key not in fixed}
        # a task that takes --metadata data=FILE; the documents of others are the harness's affair
        if config.get("dataset_path") and options and "data" in options.declared():
            process = config.pop("process_docs")
            source = (config["dataset_path"], config.get("dataset_name"), config["test_split"])
            path = self._options.get("data")
            config["custom_dataset"] = partial(hub_data.documents, process, name, *source, path)
        config["metadata"] = {**metadata, **self._options}
        if "repeats" in self._options:
            config["repeats"] = self._options["repeats"]
        if settings := config.get("generation_kwargs"):
            # 0 is greedy
            if "temperature" in settings and (t := self._options.get("temperature")) is not None:
                settings = {**settings, "temperature": t, "do_sample": t > 0}
            if thinks:  # with more tokens, and no stop within a turn
                tokens = settings.get("max_gen_toks", 0) + THINKING
                settings = {**settings, "until": list(UNTIL), "max_gen_toks": tokens}
            config["generation_kwargs"] = dict(settings)
        for key in ("doc_to_text", "doc_to_target"):
            if isinstance(config.get(key), str):
                config[key] = Text(config[key])
        # No examples: prompts hold their own. Without this the harness copies every document.
        config["fewshot_config"] = {"samples": []}
        self._read_filters(config)
        if self._lists and len(asked) > 1:
            raise UsageError(
                f"{name}: {WORDING}=all in --metadata is for tasks on likelihoods; ask each "
                "wording in a run of its own"
            )
        self._cells: dict[str, Table] = {}
        self._numbers: dict[str, float] = {}
        self._error: str | None = None
        super().__init__(config=config)
        if len(asked) == 1:
            self.reword(self._wordings[asked[0]])
        # For the results file. Only now, or the harness would look for metrics of these names.
        self.config.metric_list = [
            {"metric": m.name, "higher_is_better": m.higher_is_better}
            for m in self.measure.metrics
            if m.primary
        ]

    def _read_request(self, name: str, config: Config, thinks: bool) -> None:
        self.request = config.pop("request", PLAIN)
        if self.request not in OUTPUT_TYPES:
            raise UsageError(
                f"{name}: request: expected one of {', '.join(OUTPUT_TYPES)}, found "
                f"{self.request!r}"
            )
        if output_type := OUTPUT_TYPES[self.request]:
            config["output_type"] = output_type
        self.turns = list[Config]()
        if self.request == SENTENCES:
            self.sentences = sentence_pairs.read_sentences(name, config.pop("sentences", None))
            config.setdefault("doc_to_text", self.sentences[0])
        elif self.request == TURNS:
            self.turns = read_turns(name, config.pop("turns", None))
            config.setdefault("doc_to_text", self.turns[0]["user"])
        last = self.request == TURNS and config.get("doc_to_choice") is not None
        written = config.get("output_type", "generate_until") == "generate_until"
        self.thinks = thinks and (last or not written)
        """Whether its choices are scored behind the model's own thought."""
        if self.thinks:
            if self.as_it_stands:
                raise UsageError(
                    f"{name}: it scores texts as they stand, so there is no answer to think about; "
                    f"leave {REASONING}=true out of --metadata"
                )
            config["output_type"] = OUTPUT_TYPES[TURNS]
        if self.thinks or self.request == TURNS:
            settings = {"until": list(UNTIL), "do_sample": False}
            config["generation_kwargs"] = {**settings, **(config.get("generation_kwargs") or {})}
            self._own_kwargs = dict(config["generation_kwargs"])

    def _read_filters(self, config: Config) -> None:
        # A filter gives a list of answers to each request, unless it takes one out of it.
        steps = [step for pipe in config.get("filter_list") or () for step in pipe["filter"]]
        self._lists = bool(steps) and "take_first" not in [step["function"] for step in steps]
        self._reader: Any = None
        self._forms: dict[int, list[bool]] = {}
        self._thought: set[int] = set()
        for step in steps:  # fail now, not after the model's work
            if isinstance(step["function"], type):
                more = {key: value for key, value in step.items() if key != "function"}
                self._reader = step["function"](**more)

    @property
    def as_it_stands(self) -> bool:
        """Whether its texts are asked without system message and chat template."""
        return self.request in (TEXTS, SENTENCES)

    def reword(self, texts: Config) -> None:
        """Ask in another wording. texts: in the place of those of the YAML."""
        texts = dict(texts)
        if self.request == TURNS and "turns" in texts:
            self.turns = read_turns(self.config.task, texts.pop("turns"))
            texts["doc_to_text"] = self.turns[0]["user"]
        for key, text in texts.items():
            setattr(self.config, key, Text(text) if key == "doc_to_text" else text)

    # ---- Documents and texts

    def download(self, *arguments: Any, **named: Any) -> None:
        """The harness's, without a notice for each task, or a part of it."""
        with logging_disabled("lm_eval.api.task"):
            super().download(*arguments, **named)
        if self._part[1] > 1:
            split = self.config.test_split
            everything, columns = self.dataset[split], next(iter(self.measure.clusters), ())
            try:
                self._places = shard(everything, columns, *self._part)
            except UsageError as error:
                raise UsageError(f"{self.config.task}: {error}") from error
            self.dataset = {split: Documents(everything[i] for i in self._places)}

    def doc_iterator(self, **kwargs: Any) -> Any:
        """The harness's; documents of a part have the numbers that they have among all."""
        documents = super().doc_iterator(**kwargs)
        if not self._places or kwargs.get("samples"):
            return documents
        return ((self._places[i], document) for i, document in documents)

    @staticmethod
    def resolve_field(doc: Document, field: str | None = None) -> Any:
        return render(field, doc)

    # ---- Requests

    def build_all_requests(self, **kwargs: Any) -> Any:
        """The harness's, without `--cache_requests`. Raises UsageError for a wrong declaration, for
        `repeats` of equal answers, and for what the model cannot be asked."""
        if self.config.repeats != 1 and not (
            self.measure.repeats or self.measure.one_record_per_document
        ):
            same = "it reads likelihoods, which are the same every time"
            raise UsageError(f"{self.task_name}: {same}; leave repeats={self.config.repeats} out")
        for problem in problems(self.measure, self.features):
            raise UsageError(f"{self.task_name}: {problem}")
        lm: Any = getattr(kwargs.get("chat_template"), "__self__", None)
        if why := getattr(lm, "refusal", lambda task: None)(self):
            raise UsageError(f"{self.task_name}: --model {lm.NAME} cannot be asked this: {why}")
        given = [k for k in ("system_instruction", "apply_chat_template") if kwargs.get(k)]
        if given and self.as_it_stands:
            options = " and --".join(given)
            logger.warning("%s: texts are scored without --%s", self.task_name, options)
        check_files(self.task_name)
        known = self.config.metadata
        rendered = self.as_it_stands or any(map(kwargs.get, ("apply_chat_template", "rank")))
        if not rendered and chat_template(model := known.get("pretrained")):
            known["unused_chat_template"] = True
            _warn_once(
                "The tokenizer of %s has a chat template, and none is applied. This is right for a "
                "base model; an instruction-tuned one needs --apply_chat_template.",
                model,
            )
        early.stopped.pop(self.task_name, None)
        early.watched[self.task_name] = self._reader
        if flag("anyway", known.get("anyway", False)):
            del early.watched[self.task_name]
        self._processes = kwargs.get("world_size", 1)
        arguments = {**kwargs, "cache_requests": False, "rewrite_requests_cache": False}
        self.OUTPUT_TYPE = self.config.output_type
        everything = []
        for i, texts in enumerate(self._wordings.values() or [{}]):
            other = copy(self)
            other._config = copy(self._config)
            other.reword(texts)
            Base.build_all_requests(other, **arguments)
            per_document = len({r.idx for r in other.instances})
            for r in other.instances:  # behind those in the earlier wordings
                r.idx += i * per_document
            everything += other.instances
        self._instances = everything
        # With several processes the harness pads requests by the task's type.
        self.OUTPUT_TYPE = everything[0].request_type

    def fewshot_context(self, doc: Any, num_fewshot: int, **kwargs: Any) -> Any:
        """The harness's; without a system role, the question gets the system message. Of a
        conversation, the system message alone: `construct_requests` adds the turns."""
        if self.request == SENTENCES:
            return ""
        if self.request == TEXTS:
            return self.doc_to_text(doc)
        if self.request == TURNS or self.thinks:
            description = self.resolve_field(doc, self.config.description)
            parts = (kwargs.get("system_instruction"), description)
            return "\n\n".join(part.strip() for part in parts if part)
        if apply := kwargs.get("chat_template"):
            kwargs["chat_template"] = partial(chat_prompt, apply)
        return super().fewshot_context(doc, num_fewshot, **kwargs)

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
        """The harness's, with request types of our own."""
        chat = kwargs.get("apply_chat_template") and kwargs.get("chat_template")
        if self.request == TURNS or self.thinks:
            first, plan = self._plan(doc, ctx, chat)
            return compat.request(conversation.REQUEST, doc, (first, plan), 0, *kwargs["metadata"])
        if self.request == SENTENCES:
            first, second = (str(render(sentence, doc)) for sentence in self.sentences)
            pairs = ((first, second), (second, first))
            how = scoring.asked(pair=True)
            return [
                compat.request(scoring.REQUEST, doc, (*pair, *how), i, *kwargs["metadata"])
                for i, pair in enumerate(pairs)
            ]
        if self.request == TEXTS:
            # Under a chat template the harness leaves out the blank behind a context.
            kwargs["apply_chat_template"] = chat = False
        requests = super().construct_requests(doc, ctx, **kwargs)
        every = requests if isinstance(requests, list) else [requests]
        if every[0].request_type == "generate_until":
            every[0].request_type = conversation.REQUEST
            return requests
        if chat:
            refuse_open_thinking(self.task_name, ctx, self.doc_to_text(doc), chat)
        how = scoring.asked(count_tokens=self.request in (COUNTED, TEXTS), whole_prompt=chat)
        for request in every:
            request.request_type, request.arguments = scoring.REQUEST, (*request.args, *how)
        return requests

    def _plan(self, doc: Document, system: str, chat: Any) -> tuple[Any, Config]:
        """A conversation's first prompt and its plan (`conversation.Conversation`)."""
        own, now = self._own_kwargs, self.config.generation_kwargs
        changed = {key: value for key, value in now.items() if own.get(key) != value}
        turns: list[Config] = [
            {
                **conversation.question(turn["user"], doc),
                "generation_kwargs": {**own, **turn["generation_kwargs"], **changed},
            }
            for turn in self.turns
        ] or [{"user": self.doc_to_text(doc)}]
        if self.config.doc_to_choice is not None:
            scored: Config = {"choices": [str(choice) for choice in self.doc_to_choice(doc)]}
            if self.thinks:
                turns[-1] |= {"generation_kwargs": now, "thinks": True}
                scored |= {"counted": self.request == COUNTED}
                turns += [{**scored, "behind": where} for where in (EMPTY, OWN)]
            else:
                del turns[-1]["generation_kwargs"]
                turns[-1] |= scored
        plan = {"system": system or None, "chat": bool(chat), "turns": turns}
        asked = [{"role": "user", "content": turns[0]["user"]}]
        first = last = conversation.prompt(plan, asked, chat)
        if self.thinks and not (chat and isinstance(first, str)):
            raise UsageError(f"{self.task_name}: {NO_LIKELIHOODS if chat else NO_CHAT}")
        if chat and "choices" in turns[-1] and not self.thinks:
            for turn in turns[1:]:  # with any answers
                text = turn.get("user", turn.get("user_template"))
                asked += [{"role": "assistant", "content": "x"}, {"role": "user", "content": text}]
                last = conversation.prompt(plan, asked, chat)
            refuse_open_thinking(str(self.config.task), last, asked[-1]["content"], chat)
        return first, plan

    # ---- Answers

    def apply_filters(self) -> Any:
        self._error = early.stopped.get(self.task_name)
        try:
            filtered = super().apply_filters()
            if self.config.output_type == "generate_until" and not self.thinks:
                self._thought = {id(r.doc) for r in self.instances if shows_reasoning(str(r.resps))}
            if hasattr(self._reader, "in_form"):
                self._forms = {
                    id(r.doc): self._reader.in_form(r.resps, r.doc) for r in self.instances
                }
            return filtered
        except Exception as error:
            self._fail(error, "reading the answers")
            for instance in self.instances:
                for pipe in self.config.filter_list or [{"name": "none"}]:
                    instance.filtered_resps.setdefault(pipe["name"], [])

    def override_metric(self, metric_name: str) -> None:
        """With `--predict_only` there is one metric, `bypass`, and no record."""
        super().override_metric(metric_name)
        self._rows, self._aggregations = [], super().aggregation()

    def process_results(self, doc: Any, results: Any) -> dict[str, Any]:
        # One key holds the record. The others belong to no document, but the harness aggregates
        # only the keys that it finds here.
        values = dict.fromkeys(self._aggregations)
        return values | {RECORDS: self._record(doc, results)} if RECORDS in values else values

    def _record(self, doc: Any, results: Any) -> Record | list[Record]:
        records = [{ERROR: self._error, **known} for known in self._all_marks]
        try:
            if self._error is None:
                read = self._read_lists if self._lists else self._read
                records = read(doc, results)
        except Exception as error:
            self._fail(error, "making a record of an answer")
            records = [{**record, ERROR: self._error} for record in records]
        if id(doc) in self._thought:
            records = [{**record, THOUGHT: True} for record in records]
        return records[0] if len(records) == 1 else records

    @property
    def _all_marks(self) -> list[Config]:
        wordings = [{INSTRUCTION: name} for name in self._wordings]
        return [{**self._marks, **wording} for wording in wordings or [{}]]

    def _read(self, doc: Any, results: Any) -> list[Record]:
        """A record of each wording."""
        parts = shares(results, len(self._all_marks))
        return [
            {**record_of(self.measure, doc, of_wording, self.request == TURNS), **known}
            for of_wording, known in zip(parts, self._all_marks, strict=True)
        ]

    def _read_lists(self, doc: Any, results: Any) -> list[Record]:
        """A record of each answer to the document's only request, or one of all."""
        (given,) = results
        # A process with fewer documents asks its last one again; both answers are here.
        answers = given[: self.config.repeats]
        in_form = self._forms.get(id(doc), [None] * len(answers))[: len(answers)]
        asked: list[Any] = [([a], form) for a, form in zip(answers, in_form, strict=True)]
        if self.measure.one_record_per_document:
            asked = [(answers, mean(in_form))]
        return [
            {**self.measure.record(doc, some), **self._marks, IN_FORM.name: form}
            for some, form in asked
        ]

    # ---- Numbers

    def aggregation(self) -> dict[str, Callable]:
        return self._aggregations

    def higher_is_better(self) -> dict[str, bool | None]:
        return {row.name: row.metric.higher_is_better for row in self._rows}

    @cached_property
    def _rows(self) -> list[TableRow]:
        """The rows of the table. Groups come from the documents, so all processes agree."""

        def groups(column: str) -> list[str]:
            labels = [label for label in first_seen(self.eval_docs, column) if label is not None]
            return labels if len(labels) > 1 else []

        return rows(self.measure.metrics, groups)

    @cached_property
    def _aggregations(self) -> dict[str, Callable]:
        aggregations: dict[str, Callable] = {RECORDS: self._count}
        for row in self._rows:
            # the harness shows x_stderr as the error of x
            for name in (row.name, f"{row.name}_stderr")[: 1 + row.metric.stderr]:
                aggregations[name] = partial(self._value, name)
        return aggregations

    def _count(self, gathered: list[Any]) -> int:
        """The number of records. Called first, it makes the numbers for `_value`."""
        ordered = compat.in_document_order(gathered, self._processes)
        records = [r for each in ordered for r in (each if isinstance(each, list) else [each])]
        self._error = next((r[ERROR] for r in records if ERROR in r), None)  # of any process
        if self._error is None:
            try:
                summary = summarise(self.measure, records, self._options)
                self._cells = tables(self.measure, summary)
                for row in self._rows:
                    number = summary.number((row.metric.name, row.group))
                    self._numbers[row.name] = number.value
                    self._numbers[f"{row.name}_stderr"] = number.stderr
            except Exception as error:
                self._fail(error, "computing its numbers")
        if self._error and self.task_name not in early.stopped:
            compat.fail_at_end(f"no numbers for {self.task_name}; see the error above")
        return len(records)

    def _value(self, name: str, values: list[Any]) -> float:
        return float(self._numbers.get(name, nan))

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

    def dump_config(self) -> Config:
        # Functions and objects become texts, which name no address: equal runs write equal files.
        text = json.dumps(super().dump_config(), default=str)
        config = json.loads(re.sub(r" at 0x[0-9a-f]+", "", text))
        if self.request == SENTENCES:
            config["sentences"] = self.sentences
        if self.request == TURNS:
            config["turns"] = self.turns
        if self._cells:
            config["cells"] = self._cells
        if self._error:
            config["stopped" if self.task_name in early.stopped else ERROR] = self._error
        return config
