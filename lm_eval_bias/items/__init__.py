"""Data of the benchmarks, and the two ways to read it. No logic, no prompts."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of `items/NAME.tsv`: tab-separated, a header line, no quoting. Every field must be filled."""
    with (files(__name__) / f"{name}.tsv").open(encoding="utf-8", newline="") as f:
        rows = tuple(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    for number, row in enumerate(rows, start=2):
        empty = [k for k, v in row.items() if k is None or not v or v != v.strip()]
        if empty:
            raise ValueError(f"items file {name}.tsv, line {number}: empty, extra or padded field {empty[0]!r}")
    return rows


@cache
def lexicon(name: str) -> dict[str, Any]:
    """The content of `items/NAME.yaml`."""
    return yaml.safe_load((files(__name__) / f"{name}.yaml").read_text(encoding="utf-8"))
