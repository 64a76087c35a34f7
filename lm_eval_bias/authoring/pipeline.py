"""Pipelines by which a model writes new items: a module here for each benchmark that has one, with
its prompts in a YAML beside it.

A module says what it is in `PIPELINE`; `lm-eval-bias items` finds it by its name.
"""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from lm_eval_bias import benchmarks
from lm_eval_bias.usage import UsageError

Known = Mapping[str, str]
"""What is known of an item that is being made: the row that it is made from, and what the answers
so far gave."""


class Refused(ValueError):
    """An answer that does not have the form asked for. check: which check refused it, in two or
    three words. cause: what it found."""

    def __init__(self, check: str, cause: str) -> None:
        super().__init__(f"{check}: {cause}")
        self.check, self.cause = check, cause


class Step(NamedTuple):
    """One question to the writer. prompt: what is asked. read: an answer -> what it gives; raises
    `Refused`. gives: the names of that; a row that has them already is not asked about it, nor
    about anything before it."""

    name: str
    prompt: Callable[[Known], str]
    read: Callable[[str, Known], dict[str, str]]
    gives: Sequence[str]


class Pipeline(NamedTuple):
    """How the items of a benchmark are made, one of each row of a person's file.

    fields: of an item, in their order, the first its id; those that a person edits. optional:
    others that a row may bring along. task: the task that asks the items. rows: the path of a
    person's file -> its rows, each with an id; raises UsageError. steps: one after the other.
    problems: (items, the path of a file of groups or None) -> what is wrong with each, what `check`
    refuses. notes: an item -> what a reviewer should look at. shown: an item -> (what it is, text)
    as it would be asked.
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
        """The number of the first step of a row."""
        return max(
            (i + 1 for i, step in enumerate(self.steps) if all(name in row for name in step.gives)),
            default=0,
        )

    def item(self, known: Known) -> dict[str, str]:
        """The item out of all that is known."""
        return {
            name: known[name]
            for name in (self.fields[0], *self.optional, *self.fields[1:])
            if name in known
        }


def names() -> list[str]:
    """Of the benchmarks that have a pipeline."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if find_spec(_module(module.name))
    )


def _module(benchmark: str) -> str:
    return f"{benchmarks.__name__}.{benchmark}.pipeline"


def pipeline(name: str) -> Pipeline:
    """The pipeline of a benchmark. UsageError if there is none."""
    if name not in names():
        guess = difflib.get_close_matches(str(name), names(), n=1)
        raise UsageError(
            f"no pipeline {name!r}; "
            + (f"did you mean {guess[0]}?" if guess else f"there are {', '.join(names())}")
        )
    found: Any = import_module(_module(name))
    return found.PIPELINE
