"""A harness task whose numbers come from all documents together, not from averages over documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from math import nan
from typing import Any

from lm_eval_bias.data.schema import located, marks
from lm_eval_bias.harness import compat
from lm_eval_bias.harness.conversation import ConversationTask
from lm_eval_bias.harness.dataset import FIRST
from lm_eval_bias.harness.gc_pause import no_search
from lm_eval_bias.harness.sampling import REQUEST, is_sampled
from lm_eval_bias.harness.templates import CompiledTask
from lm_eval_bias.measure import (
    Measure,
    Record,
    Row,
    Summary,
    problems,
    rows,
    summarise,
    tables,
    value,
)
from lm_eval_bias.usage import UsageError, read_options

logger = logging.getLogger(__name__)

RECORDS = compat.Unshown("records")
ERROR = "error"


class MeasureTask(CompiledTask):
    """Named in a YAML by `class: !function lm_eval_bias.harness.task.MeasureTask`. Beside the
    harness's own keys it reads two:

    measure: a `measure.Measure`, in place of `process_results` and `metric_list`. options: the
    function that checks what `--metadata` may set, and gives the defaults; left out where there is
    nothing to set. An option `temperature` is that of the task's generation, where its
    `generation_kwargs` have one, and an option `repeats` how often each document is asked.

    Where a person put a file in place of our items or groups, it is named in `metadata` and in
    every record, with its sha256. Its primary metrics are rows of the harness's table. All numbers
    and the finer tables go into the results file under configs -> TASK -> cells; `--log_samples`
    writes a document's record under "records", a list of them where `repeats` asks several times.
    No error after the model's work ends a run: numbers are NaN then, the error is logged and stands
    in the results file under configs -> TASK -> error, and the command ends with status 1.
    `lm-eval-bias merge` makes the numbers from the samples.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = {k: v for k, v in config.items() if k != "class"}
        self.measure: Measure = config.pop("measure")
        options = config.pop("options", None)
        name = config["task"]
        metadata = config.get("metadata") or {}
        if FIRST in metadata:  # in a run it would pass for the size of the task
            raise UsageError(
                f"{name}: {FIRST} stands in a task's YAML; ask fewer documents with --limit"
            )
        metadata = located(metadata, metadata.get("config_source"))
        self._options = read_options(name, metadata, options)
        self._marks = marks(self._options)
        config["dataset_kwargs"] = dict(config.get("dataset_kwargs") or {})
        config["metadata"] = {**metadata, **self._options}
        if "repeats" in self._options:
            config["repeats"] = self._options["repeats"]
        if config.get("generation_kwargs"):
            config["generation_kwargs"] = sampled(config["generation_kwargs"], self._options)
        # No examples: the prompts hold their own, and without this the harness copies every
        # document for a sampler.
        config["fewshot_config"] = {"samples": []}
        # A filter gives a list of answers to each request, unless it takes one out of it.
        steps = [step for each in config.get("filter_list") or () for step in each["filter"]]
        self._lists = bool(steps) and "take_first" not in [step["function"] for step in steps]
        # the harness makes them after the model's work, which is late to tell a mistake
        for step in steps:
            if isinstance(step["function"], type):
                step["function"](**{key: value for key, value in step.items() if key != "function"})
        self._summary: Summary | None = None
        self._error: str | None = None
        builder = config.get("custom_dataset")
        super().__init__(config=config)
        # of files that are fetched with the documents, and not for the options alone
        if hasattr(builder, "checksums"):
            self.config.metadata.update(builder.checksums(**self._options))
        compat.own_numbers(self)
        # What the results file says of the metrics. It comes after the harness has looked for
        # metrics of its own by these names.
        self.config.metric_list = [
            {"metric": m.name, "higher_is_better": m.higher_is_better}
            for m in self.measure.metrics
            if m.primary
        ]

    def build_all_requests(self, **kwargs):
        """As the harness does it, but without `--cache_requests`.

        That cache is kept by the task's name alone: after a run with another `order` it would hand
        out the wrong documents. Raises UsageError for `repeats` where every answer would be the
        same.
        """
        if self.config.repeats != 1 and not self._repeats:
            same = "it reads likelihoods, which are the same every time"
            raise UsageError(f"{self.task_name}: {same}; leave repeats={self.config.repeats} out")
        columns = list(self.eval_docs.features)
        for problem in problems(self.measure, columns):
            raise UsageError(f"{self.task_name}: {problem}")
        self._processes = kwargs.get("world_size", 1)
        with no_search():
            return super().build_all_requests(
                **{**kwargs, "cache_requests": False, "rewrite_requests_cache": False}
            )

    def construct_requests(self, doc, ctx, **kwargs):
        """As the harness does it; sampled answers are asked by a request of their own
        (sampling.py)."""
        if self.config.output_type != "generate_until" or not is_sampled(
            self.config.generation_kwargs
        ):
            return super().construct_requests(doc, ctx, **kwargs)
        self.OUTPUT_TYPE = self.config.output_type
        request = super().construct_requests(doc, ctx, **kwargs)
        # the harness pads by it when there are several processes
        self.OUTPUT_TYPE = request.request_type = REQUEST
        return request

    def apply_filters(self):
        try:
            with no_search():
                return super().apply_filters()
        except Exception as error:
            self._fail(error, "reading the answers")
            for instance in self.instances:
                for name in compat.filter_names(self):
                    instance.filtered_resps.setdefault(name, [])

    def process_results(self, doc, results):
        if compat.predicts_only(self):
            return {"bypass": None}
        # One key holds the record; the others belong to no single document, and are here because
        # the harness aggregates only what it finds here.
        values = dict.fromkeys(self._aggregations)
        values[RECORDS] = compat.one_value(self, self._record(doc, results))
        return values

    def _record(self, doc, results) -> Record | list[Record]:
        if self._error is not None:
            return {ERROR: self._error, **self._marks}
        try:
            if not self._lists:
                return {**self.measure.record(doc, results), **self._marks}
            # A process with fewer documents than others is asked its last one again, and both
            # answers stand there (lm_eval 0.4.13).
            answers = compat.answers(self, results)[: self.config.repeats]
            if self.measure.gathers:
                return {**self.measure.record(doc, answers), **self._marks}
            records = [{**self.measure.record(doc, [answer]), **self._marks} for answer in answers]
            return records[0] if len(records) == 1 else records
        except Exception as error:
            self._fail(error, "making a record of an answer")
            return {ERROR: self._error, **self._marks}

    def aggregation(self) -> dict[str, Callable]:
        return super().aggregation() if compat.predicts_only(self) else self._aggregations

    def aggregate(self, bootstrap_iters: int | None = None):
        """In 0.5 the harness asks the task for its numbers, and bootstraps the standard error of
        each that is no mean. Ours have theirs."""
        return super().aggregate(bootstrap_iters=0)

    def set_repeats(self, repeats: int) -> None:
        """What `--repeats` of 0.5 sets for all tasks of a run; those that read likelihoods, which
        are the same every time, keep 1."""
        if self._repeats:
            super().set_repeats(repeats)

    @property
    def _repeats(self) -> bool:
        return self.measure.repeats or self.measure.gathers

    def higher_is_better(self) -> dict[str, bool | None]:
        return (
            super().higher_is_better()
            if compat.predicts_only(self)
            else {row.name: row.metric.higher_is_better for row in self._rows}
        )

    @cached_property
    def _rows(self) -> list[Row]:
        """The rows of the table; which groups there are is known from the documents, in every
        process."""
        documents = self.eval_docs

        def groups(column: str) -> list[str]:
            found = documents.unique(column)
            return found if len(found) > 1 else []

        return rows(self.measure.metrics, groups)

    @cached_property
    def _aggregations(self) -> dict[str, Callable]:
        aggregations: dict[str, Callable] = {RECORDS: self._count}
        for row in self._rows:
            aggregations[row.name] = partial(self._value, row, 0)
            if row.metric.stderr:  # the harness shows x_stderr as the standard error of x
                aggregations[f"{row.name}_stderr"] = partial(self._value, row, 1)
        return aggregations

    def _count(self, gathered: list) -> float:
        """The number of records; first to be asked for, it also makes the summary that `_value`
        reads."""
        records = list(flat(compat.in_document_order(gathered, self._processes)))
        broken = next((record[ERROR] for record in records if ERROR in record), None)
        if broken is not None:  # in another process, perhaps
            self._error = broken
            compat.fail_at_end(self.task_name)
        else:
            try:
                summary = summarise(self.measure, records, self._options)
                self._cells = tables(self.measure, summary)
                self._values = {
                    (row.name, i): value(summary, row)[i] for row in self._rows for i in (0, 1)
                }
                self._summary = summary
            except Exception as error:
                self._fail(error, "computing its numbers")
        return float(len(records))

    def _value(self, row: Row, which: int, values: list) -> float:
        return nan if self._summary is None else float(self._values[row.name, which])

    def _fail(self, error: Exception, doing: str) -> None:
        """Remember the first error, tell it, and go on: the answers of the model are worth more
        than the numbers made of them."""
        if self._error is None:
            self._error = f"{type(error).__name__}: {error}"
            logger.error(
                "%s: an error while %s; its numbers are NaN. With --log_samples, `lm-eval-bias merge %s SAMPLES` makes them afterwards.",
                self.task_name,
                doing,
                self.task_name,
                exc_info=error,
            )
            compat.fail_at_end(self.task_name)

    def dump_config(self) -> dict:
        config = super().dump_config()
        if self._summary is not None:
            config["cells"] = self._cells
        if self._error is not None:
            config[ERROR] = self._error
        return config


def sampled(generation: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """How answers are generated, where a task has an option `temperature` for it; at 0 the
    likeliest token is taken each time."""
    if "temperature" not in generation or "temperature" not in options:
        return dict(generation)
    temperature = options["temperature"]
    return {**generation, "temperature": temperature, "do_sample": temperature > 0}


def flat(records: list) -> Iterator[Record]:
    """Records of several answers to a document, each by itself."""
    for record in records:
        if isinstance(record, list):
            yield from record
        else:
            yield record


class ConversationMeasureTask(ConversationTask, MeasureTask):
    """A task of several turns whose numbers come from all documents together. Reads the keys of
    both."""
