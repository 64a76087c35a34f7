"""Data of the benchmarks, read-only, since all tasks share it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from lm_eval_bias.data.content import Problem, read
from lm_eval_bias.data.schema import Text, shipped


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of `items/NAME.tsv`, without empty fields."""
    return _data(f"{name}.tsv")


@cache
def lexicon(name: str) -> Mapping[str, Any]:
    """The content of `items/NAME.yaml`; its lists are tuples."""
    return _data(f"{name}.yaml")


def _data(name: str) -> Any:
    content = read(shipped(name), name)
    problems: list[Problem] = list(content.problems)
    if name.endswith(".tsv"):
        for i, row in enumerate(content.data):
            for column, cell in row.items():
                problems += Text().problems(cell, (i, column))
    if problems:
        raise ValueError(f"items file {content.message(*problems[0])}")
    return content.data
