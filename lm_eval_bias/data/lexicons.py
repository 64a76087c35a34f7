"""Data of the benchmarks, read-only, since all tasks share it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from lm_eval_bias.data.content import read
from lm_eval_bias.data.schema import shipped


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of `items/NAME.tsv`."""
    return _data(f"{name}.tsv")


@cache
def lexicon(name: str) -> Mapping[str, Any]:
    """The content of `items/NAME.yaml`; its lists are tuples."""
    return _data(f"{name}.yaml")


def _data(name: str) -> Any:
    return read(shipped(name), name).data
