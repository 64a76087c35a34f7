"""Files of rows that stand in place of a data set of the hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lm_eval_bias.usage import UsageError

Row = Mapping[str, Any]


def rows(path: str, part: str | None = None) -> list[Row]:
    """The rows of a file: a list in .json, a line each in .jsonl, or a table in .parquet.

    part: of a .json with several: {"data": {PART: [...]}} or {PART: [...]}. UsageError for a file
    that cannot be read or holds no rows.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".json", ".jsonl", ".parquet"):
        raise UsageError(f"{path}: expected a file that ends in .json, .jsonl or .parquet")
    try:
        if kind == ".parquet":
            from pyarrow.parquet import read_table  # comes with the harness's `datasets`

            data: Any = read_table(file).to_pylist()
        elif kind == ".jsonl":
            data = _lines(file.read_text(encoding="utf-8-sig"))
        else:
            data = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # of json, of the encoding and of pyarrow
        raise UsageError(f"cannot read {path}: {' '.join(str(error).split())}") from error
    for key in ("data", part):
        if isinstance(data, Mapping) and isinstance(data.get(key), (Mapping, list)):
            data = data[key]
    rows = data if isinstance(data, list) else []
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        within = f", or {part} with such a list" if part else ""
        raise UsageError(f"{path}: expected a list of rows with names for their values{within}")
    return rows


def _lines(text: str) -> list[Any]:
    # not splitlines: a text in JSON may hold other ends of lines, such as U+2028
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return values
