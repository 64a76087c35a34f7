"""Files of rows that stand in place of a data set of the hub."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lm_eval_bias.data.bounds import (
    FILE,
    TOO_MANY,
    VALUES,
    Unreadable,
    json_of,
    lines,
    loads,
    opened,
)
from lm_eval_bias.usage import UsageError

Row = Mapping[str, Any]
Document = dict[str, Any]
SHOWN = 10


def documents_of(
    rows: Iterable[Row], document: Callable[[Row], Document], name: str, where: str
) -> list[Document]:
    """The document of each row. UsageError that lists what is wrong, row by row.

    document: raises ValueError for a wrong row. name: its key for the row's id. where: the data set
    whose columns are expected.
    """
    documents = []
    problems = []
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        try:
            documents.append(document(row))
        except ValueError as error:
            problems.append(f"row {number}: {error}")
            continue
        first = row_of.setdefault(documents[-1][name], number)
        if first != number:
            problems.append(f"row {number}: id: {documents[-1][name]!r} stands in row {first} too")
    if problems:
        rest = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        listed = "; ".join([*problems[:SHOWN], *rest])
        raise UsageError(f"not the columns of {where}: {listed}")
    return documents


def rows(path: str, part: str | None = None) -> list[Row]:
    """The rows of a file: a list in .json, a line each in .jsonl, or a table in .parquet.

    part: of a .json with several: {"data": {PART: [...]}} or {PART: [...]}. UsageError for a file
    that cannot be read or holds no rows.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".json", ".jsonl", ".parquet"):
        raise UsageError(f"{path}: expected a file that ends in .json, .jsonl or .parquet")
    if kind == ".parquet":
        data: Any = _parquet(file)
    elif kind == ".jsonl":
        data = []
        for number, line in lines(file):
            try:
                data.append(loads(line, strict=True))
                if len(data) > VALUES:
                    raise ValueError(TOO_MANY)
            except ValueError as error:
                raise Unreadable(file, f"line {number}: {error}") from None
    else:
        data = json_of(file, strict=True)
    for key in ("data", part):
        if isinstance(data, Mapping) and isinstance(data.get(key), (Mapping, list)):
            data = data[key]
    rows = data if isinstance(data, list) else []
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        within = f", or {part} with such a list" if part else ""
        raise UsageError(f"{path}: expected a list of rows with names for their values{within}")
    return rows


def _parquet(path: Path) -> list[Any]:
    """A small file may stand for gigabytes, so it is read in pieces."""
    from pyarrow.parquet import ParquetFile  # comes with the harness's `datasets`

    made = []
    size = 0
    try:
        with opened(path) as file:
            for batch in ParquetFile(file).iter_batches(batch_size=1000):
                made += batch.to_pylist()
                size += batch.nbytes
                if size > FILE or len(made) > VALUES:
                    raise Unreadable(path, f"more than {FILE >> 20} MB or {VALUES:,} rows")
    except Unreadable:
        raise
    except (ValueError, NotImplementedError) as error:  # of pyarrow
        raise Unreadable(path, " ".join(str(error).split())) from error
    return made
