"""Data of the benchmarks, and the two ways to read it. No logic, no prompts. What is handed out
cannot be changed: all tasks share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from lm_eval_bias.data.schema import Found, Text, read, shipped


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of `items/NAME.tsv`: tab-separated, a header line, no quoting. Every field must be
    filled."""
    return _content(
        f"{name}.tsv",
        lambda rows: [
            p
            for i, row in enumerate(rows)
            for k, v in row.items()
            for p in Text().problems(v, (i, k))
        ],
    )


@cache
def lexicon(name: str) -> Mapping[str, Any]:
    """The content of `items/NAME.yaml`; its lists are tuples."""
    return _content(f"{name}.yaml")


def _content(name: str, wrong: Callable[[Any], list[Found]] = lambda data: []) -> Any:
    content = read(shipped(name), name)
    for problem in [*content.problems, *wrong(content.data)]:
        raise ValueError(f"items file {content.told(*problem)}")
    return content.data
