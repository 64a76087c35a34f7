"""Pipelines that write new items: `PIPELINE` in a benchmark's `pipeline.py`."""

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
    """An answer in the wrong form. check: what failed. cause: why."""

    def __init__(self, check: str, cause: str) -> None:
        super().__init__(f"{check}: {cause}")
        self.check, self.cause = check, cause


class Step(NamedTuple):
    """A question to the writer.

    read: answer -> fields; raises `Refused`. gives: their names; a row that has them starts later.
    """

    name: str
    prompt: Callable[[Known], str]
    read: Callable[[str, Known], dict[str, str]]
    gives: Sequence[str]


class Pipeline(NamedTuple):
    """How to make items, one from each row of a file.

    fields: of an item, the id first. optional: more fields of a row. rows: path -> rows with ids;
    raises UsageError.
    """

    fields: Sequence[str]
    optional: Sequence[str]
    rows: Callable[[str], list[dict[str, str]]]
    steps: Sequence[Step]

    def start(self, row: Known) -> int:
        return max(
            (i + 1 for i, step in enumerate(self.steps) if all(name in row for name in step.gives)),
            default=0,
        )

    def item(self, known: Known) -> dict[str, str]:
        first, *others = self.fields
        return {name: known[name] for name in (first, *self.optional, *others) if name in known}


def names() -> list[str]:
    folders = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in folders if find_spec(_module(name)))


def _module(benchmark: str) -> str:
    return f"{benchmarks.__name__}.{benchmark}.pipeline"


def pipeline(name: str) -> Pipeline:
    """Raises UsageError if the benchmark has none."""
    if name not in names():
        raise UsageError(f"no pipeline {name!r}; there are {', '.join(names())}")
    declared: Pipeline = import_module(_module(name)).PIPELINE
    return declared
