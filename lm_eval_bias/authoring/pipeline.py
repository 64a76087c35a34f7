"""Pipelines that write new items: `PIPELINE` in a benchmark's `pipeline.py`."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from lm_eval_bias import benchmarks

Known = Mapping[str, str]
"""An unfinished item: its row, and what the answers so far gave."""


class Refused(ValueError):
    """An answer in the wrong form. args: the check that failed, and the cause."""


class Step(NamedTuple):
    """read: answer -> fields; raises `Refused`. gives: their names; a row that has them starts
    later."""

    name: str
    prompt: Callable[[Known], str]
    read: Callable[[str, Known], dict[str, str]]
    gives: Sequence[str]


class Pipeline(NamedTuple):
    """How to make an item from each row of a file.

    fields: of an item, as far as it has them. rows: path -> rows with ids; raises UsageError.
    """

    fields: Sequence[str]
    rows: Callable[[str], list[dict[str, str]]]
    steps: Sequence[Step]


def pipelines() -> dict[str, str]:
    """Benchmark -> the module of its pipeline."""
    modules = {
        module.name: f"{benchmarks.__name__}.{module.name}.pipeline"
        for module in pkgutil.iter_modules(benchmarks.__path__)
    }
    return {name: module for name, module in sorted(modules.items()) if find_spec(module)}


def pipeline(name: str) -> Pipeline:
    return import_module(pipelines()[name]).PIPELINE
