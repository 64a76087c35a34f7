"""Pipelines by which a model writes new items: `pipeline.py` in the folder of a benchmark, with its
prompts in a YAML beside it. The module declares its `PIPELINE`."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from lm_eval_bias import benchmarks
from lm_eval_bias.usage import UsageError

Known = Mapping[str, str]
"""An unfinished item: its row, and what the answers so far gave."""


class Refused(ValueError):
    """An answer in the wrong form. check: the check that failed, in a few words. cause: why."""

    def __init__(self, check: str, cause: str) -> None:
        super().__init__(f"{check}: {cause}")
        self.check, self.cause = check, cause


class Step(NamedTuple):
    """A question to the writer. prompt: its text. read: an answer -> the fields in it; raises
    `Refused`. gives: the names of these fields; a row that has them skips all steps up to this."""

    name: str
    prompt: Callable[[Known], str]
    read: Callable[[str, Known], dict[str, str]]
    gives: Sequence[str]


class Pipeline(NamedTuple):
    """How the items of a benchmark are made, one from each row of a person's file.

    fields: of an item, the first its id. optional: more fields that a row may have. task: the task
    that asks the items. rows: path of a file -> its rows, each with an id; raises UsageError.
    problems: (items, path of a file of groups or None) -> the problems of each. notes: an item ->
    hints for a reviewer. shown: an item -> (title, text) as a model would be asked.
    """

    fields: Sequence[str]
    optional: Sequence[str]
    task: str
    rows: Callable[[str], list[dict[str, str]]]
    steps: Sequence[Step]
    problems: Callable[[Sequence[Known], str | None], list[list[str]]]
    notes: Callable[[Known], list[str]]
    shown: Callable[[Known, str | None], list[tuple[str, str]]]

    def start(self, row: Known) -> int:
        """The number of the first step that a row needs."""
        return max(
            (i + 1 for i, step in enumerate(self.steps) if all(name in row for name in step.gives)),
            default=0,
        )

    def item(self, known: Known) -> dict[str, str]:
        first, *others = self.fields
        return {name: known[name] for name in (first, *self.optional, *others) if name in known}


def names() -> list[str]:
    """The benchmarks that have a pipeline."""
    folders = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in folders if find_spec(_module(name)))


def _module(benchmark: str) -> str:
    return f"{benchmarks.__name__}.{benchmark}.pipeline"


def pipeline(name: str) -> Pipeline:
    """The pipeline of a benchmark. UsageError if there is none."""
    if name not in names():
        raise UsageError(f"no pipeline {name!r}; there are {', '.join(names())}")
    declared: Pipeline = import_module(_module(name)).PIPELINE
    return declared
