"""A harness task whose numbers come from all documents together, not from averages over documents."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from lm_eval_bias.conversation import ConversationTask
from lm_eval_bias.documents import empathy, hbb, mist
from lm_eval_bias.templates import CompiledTask
from lm_eval_bias.usage import read_options

RECORDS = "records"
# Every option that some task of this project takes in --metadata.
OPTIONS = frozenset(
    name
    for options in (hbb.options, mist.wabt_options, mist.aat_options, empathy.official_options)
    for name in inspect.signature(options).parameters
)


def _in_summary(values: list) -> float:
    """Stands for an aggregation while the harness reads the config; `SummaryTask.aggregation` gives the real ones."""
    raise NotImplementedError("SummaryTask.aggregation replaces this")


class SummaryTask(CompiledTask):
    """Named in a YAML by `class: !function lm_eval_bias.task.SummaryTask`. Beside the harness's own keys it reads three:

    process_results: (document, results of its requests) -> one record, plain data.
    summary: (records of all documents, **options) -> {"metrics": {name: (value, standard error)}, "cells": any JSON}.
    options: the function that checks what `--metadata` may set, and gives the defaults; left out where there is nothing to set.

    Each entry of `metric_list` is shown in the harness's table with its standard error, unless it says `stderr: false`.
    The cells, the finer numbers, go into the results file under configs -> TASK -> cells. `--log_samples` writes a
    document's record under "records".
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = {k: v for k, v in config.items() if k != "class"}
        self._summarise: Callable[..., dict[str, Any]] = config.pop("summary")
        options = config.pop("options", None)
        name = config["task"]
        metadata = config.get("metadata") or {}
        self._options = read_options(name, metadata, options, elsewhere=OPTIONS)
        config["dataset_kwargs"] = dict(config.get("dataset_kwargs") or {})
        config["metadata"] = {**metadata, **self._options}
        # No examples: the prompts hold their own, and without this the harness copies every document for a sampler.
        config["fewshot_config"] = {"samples": []}
        config["metric_list"] = [{"higher_is_better": None, **m, "aggregation": _in_summary} for m in config["metric_list"]]
        self._summary: dict[str, Any] = {}
        super().__init__(config=config)
        for metric in self.config.metric_list:
            del metric["aggregation"]

    @property
    def _is_bypassed(self) -> bool:
        return "bypass" in self._metric_fn_list  # --predict_only

    def build_all_requests(self, **kwargs) -> None:
        """As the harness does it, but without `--cache_requests`.

        That cache is kept by the task's name alone: after a run with another `order` it would hand out the wrong documents.
        """
        super().build_all_requests(**{**kwargs, "cache_requests": False, "rewrite_requests_cache": False})

    def process_results(self, doc, results):
        if self._is_bypassed:
            return {"bypass": None}
        # One key holds the record; the others belong to no single document, and are here because the harness
        # aggregates only what it finds here.
        values = dict.fromkeys(self._aggregations)
        values[RECORDS] = self.config.process_results(doc, results)
        return values

    def aggregation(self) -> dict[str, Callable]:
        return super().aggregation() if self._is_bypassed else self._aggregations

    @cached_property
    def _aggregations(self) -> dict[str, Callable]:
        aggregations: dict[str, Callable] = {RECORDS: self._count}
        for metric in self.config.metric_list:
            if metric["metric"] == RECORDS:
                continue
            aggregations[metric["metric"]] = partial(self._value, metric["metric"], 0)
            if metric.get("stderr", True):  # the harness shows x_stderr as the standard error of x
                aggregations[f"{metric['metric']}_stderr"] = partial(self._value, metric["metric"], 1)
        return aggregations

    def _count(self, records: list) -> float:
        """The number of records; first to be asked for, it also makes the summary that `_value` reads."""
        self._summary = self._summarise(records, **self._options)
        return float(len(records))

    def _value(self, metric: str, which: int, values: list) -> float:
        return self._summary["metrics"][metric][which]

    def dump_config(self) -> dict:
        config = super().dump_config()
        if "cells" in self._summary:
            config["cells"] = self._summary["cells"]
        return config


class ConversationSummaryTask(ConversationTask, SummaryTask):
    """A task of several turns whose numbers come from all documents together. Reads the keys of both."""
