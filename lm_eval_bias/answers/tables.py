"""Markdown tables whose column headings are labels, as lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

_TICK = re.compile(r"(?:x|✓|✔|✅|☑|☒|●|•|yes|true|1)\ufe0f?")
_CROSS = re.compile(r"(?:❌|✗|✘|✖|☐|○|no|false|0|n/a|-*)\ufe0f?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?\s*%?")


def as_lines(text: str, headings: Sequence[str]) -> str:
    """Rewrite rows as "first cell: heading" (a tick) or "first cell: heading 0.3, heading 0.7".

    headings: patterns; two columns must have different ones. Columns of words are lists.
    """
    if "|" not in text:
        return text
    out: list[str] = []
    for tabular, group in groupby(text.split("\n"), lambda line: "|" in line):
        lines = list(group)
        rows = [cells(line) for line in lines if tabular and not re.fullmatch(r"[\s|:=-]*", line)]
        columns = _headed(rows[0], headings) if len(rows) > 1 else {}
        out += _rewritten(rows, columns) if len(columns) > 1 else lines
    return "\n".join(out)


def cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|") if line.strip() != "|" else ""
    return [cell.strip() for cell in line.removesuffix("|").split("|")]


def _headed(row: list[str], headings: Sequence[str]) -> dict[int, str]:
    columns: dict[int, str] = {}
    kinds = []
    for i, cell in enumerate(row):
        kind = next((h for h in headings if re.fullmatch(rf"\W*{h}[^a-z]*", cell)), None)
        if kind is not None:
            columns[i] = cell
            kinds.append(kind)
    return columns if len(set(kinds)) == len(kinds) else {}


def _rewritten(rows: list[list[str]], columns: dict[int, str]) -> list[str]:
    body = [[*row, *[""] * (max(columns) + 1 - len(row))] for row in rows[1:]]
    cells = [row[i] for row in body for i in columns]
    ticked = all(_TICK.fullmatch(cell) or _CROSS.fullmatch(cell) for cell in cells)
    if not ticked and not all(_NUMBER.fullmatch(cell) for cell in cells):
        return [
            f"{heading}: " + ", ".join(row[i] for row in body if row[i])
            for i, heading in columns.items()
        ]
    lines = []
    for row in body:
        first = " ".join(row[: min(columns)])
        if all(_TICK.fullmatch(row[i]) or _CROSS.fullmatch(row[i]) for i in columns):
            ticks = [heading for i, heading in columns.items() if _TICK.fullmatch(row[i])]
            lines.append(f"{first}: " + " and ".join(ticks))
        else:
            numbers = [f"{heading} {row[i]}" for i, heading in columns.items()]
            lines.append(f"{first}: " + ", ".join(numbers))
    return lines
