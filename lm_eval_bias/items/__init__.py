"""Data of the benchmarks, and the two ways to read it. No logic, no prompts. What is handed out cannot be changed: all tasks share it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of `items/NAME.tsv`: tab-separated, a header line, no quoting. Every field must be filled."""
    with (files(__name__) / f"{name}.tsv").open(encoding="utf-8", newline="") as f:
        rows = tuple(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    for line, row in enumerate(rows, start=2):
        empty = [k for k, v in row.items() if k is None or not v or v != v.strip()]
        if empty:
            raise ValueError(f"items file {name}.tsv, line {line}: empty, extra or padded field {empty[0]!r}")
    return tuple(map(MappingProxyType, rows))


@cache
def lexicon(name: str) -> Mapping[str, Any]:
    """The content of `items/NAME.yaml`; its lists are tuples."""
    return frozen(yaml.safe_load((files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")))


def frozen(data: Any) -> Any:
    """Plain data that nobody can change: read-only mappings in place of dicts, tuples in place of lists."""
    if isinstance(data, Mapping):
        return MappingProxyType({key: frozen(value) for key, value in data.items()})
    return tuple(map(frozen, data)) if isinstance(data, list) else data
