"""Tables in markdown, as lines."""

import re
from collections.abc import Callable, Collection, Sequence
from itertools import groupby

_TICK = re.compile(r"(?:x|✓|✔|✅|☑|☒|●|•|yes|true|⬤|◉)\ufe0f?")
_CROSS = r"(?:❌|✗|✘|✖|☐|○|no|false|n/a|-*)\ufe0f?"
_NUMBER = r"\d+(?:[.,]\d+)?\s*%?"
_RULE = r"[\s|:=+-]*"


def as_lines(text: str, headings: Collection[str]) -> str:
    """Rows as "first cell: heading" (a tick) or "first cell: heading 0.3, heading 0.7".

    headings: patterns; two columns must have different ones.
    """

    def lines_of_rows(rows: list[list[str]]) -> list[str]:
        kinds = [
            next((h for h in headings if re.fullmatch(rf"\W*{h}[^a-z]*", cell)), None)
            for cell in rows[0]
        ]
        columns = [i for i, kind in enumerate(kinds) if kind]
        different = 1 < len(columns) == len({kinds[i] for i in columns})
        return lines_of_columns(rows, columns) if different else []

    return rewritten_tables(text, lines_of_rows)


def rewritten_tables(text: str, lines_of_rows: Callable[[list[list[str]]], list[str]]) -> str:
    out = []
    for tabular, group in groupby(text.split("\n"), lambda line: "|" in line):
        lines = list(group)
        rows = [_cells(line) for line in lines if tabular and not re.fullmatch(_RULE, line)]
        out += (lines_of_rows(rows) if rows else []) or lines
    return "\n".join(out)


def lines_of_columns(rows: Sequence[list[str]], columns: Sequence[int]) -> list[str]:
    head, *body = [row + [""] * (len(rows[0]) - len(row)) for row in rows]
    cells = [row[i] for row in body for i in columns]
    ticked = is_ticked(cells)
    if not ticked and not all(re.fullmatch(_NUMBER, cell) for cell in cells):
        return [f"{head[i]}: {', '.join(row[i] for row in body if row[i])}" for i in columns]
    lines = []
    for row in body:
        first = " ".join(row[: columns[0]])
        ticks = " and ".join(head[i] for i in columns if _TICK.fullmatch(row[i]))
        said = ticks if ticked else ", ".join(f"{head[i]} {row[i]}" for i in columns)
        lines.append(f"{first}: {said}" if first else said)
    return lines


def is_ticked(cells: Sequence[str]) -> bool:
    return all(_TICK.fullmatch(cell) or re.fullmatch(_CROSS, cell) for cell in cells)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.sub(r"^\s*\||\|\s*$", "", line).split("|")]
