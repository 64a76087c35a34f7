"""One `Table`, and how it and its numbers are written: text, Markdown, CSV. LaTeX is in
`show.latex`."""

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from math import floor, inf, isfinite, isnan, log10, nan
from textwrap import wrap
from typing import Any, NamedTuple

from lm_eval_bias.measure import Number
from lm_eval_bias.results.escape import csv_cell, markdown_text, visible

DECIMALS = {"count": 0, "%": 1, "points": 1, "p": 3, "t": 2, "SD": 2}
"""Decimals of a unit at least; the other units have three."""
_MOST_DECIMALS = 6
_SENTENCE = 40
# Smaller numbers are rounding errors of floats; greater ones are written in short.
_ROUNDING, _GREAT = 1e-12, 1e9


class Cell(NamedTuple):
    """interval: "[low, high]". note: a second line; of a title, the unit. value: the number,
    which sorts. n, verdict: of a number; they stand with the note."""

    text: str
    interval: str = ""
    note: str = ""
    value: float = nan
    n: str = ""
    verdict: str = ""

    @property
    def lines(self) -> tuple[str, str, str]:
        """What is shown: text, interval, and all else."""
        size = f"n = {self.n}" if self.n else ""
        return self.text, self.interval, joined("; ", size, self.note, self.verdict)


class Table(NamedTuple):
    """head: the titles. rows: as many cells each. words: columns of texts, which stand left. title:
    of a panel."""

    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    words: Collection[int] = frozenset({0})
    title: str = ""


_BESIDE = {
    "interval": Cell("95 % interval"),
    "n": Cell("n"),
    "note": Cell(""),
    "verdict": Cell("answer"),
}


def texts(rows: Sequence[Sequence[Cell]]) -> set[int]:
    """The columns without a number."""
    columns = enumerate(zip(*rows, strict=True))
    return {i for i, cells in columns if all(isnan(cell.value) for cell in cells)}


def apart(table: Table) -> tuple[Table, list[int]]:
    """A table with interval, n, note and verdict of a number in columns of their own, unless
    another has that n; and to which column each belongs."""
    made = []
    for i, head in enumerate(table.head):
        cells = [row[i] for row in table.rows]
        if i in table.words:
            made.append((i, True, [head, *cells]))
            continue
        made.append((i, False, [head, *(Cell(cell.text) for cell in cells)]))
        for name, title in _BESIDE.items():
            texts = [getattr(cell, name) for cell in cells]
            shown = any(
                all(text in ("", cell.text) for text, cell in zip(texts, other[1:], strict=True))
                for *_, other in made
            )
            if any(texts) and not (name == "n" and shown):
                made.append((i, name in ("note", "verdict"), [title, *map(Cell, texts)]))
    words = {place for place, (_, is_text, _) in enumerate(made) if is_text}
    head_row, *rows = zip(*(cells for *_, cells in made), strict=True) if made else [()]
    return Table(head_row, rows, words, table.title), [i for i, *_ in made]


# ---- Numbers


def number_text(value: float, unit: str = "", beside: Iterable[float] = ()) -> str:
    """A number as it is shown everywhere: none but 0 shows as 0; a dash does not exist. beside: the
    rest of value and interval."""
    if isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "-∞"
    if unit == "p" and 0 <= value < 0.001:
        return "<0.001"
    if abs(value) >= _GREAT:
        return f"{value:.3g}"
    if float(value).is_integer() and unit in ("", "count"):
        return f"{value:,.0f}" if unit or abs(value) >= 10_000 else f"{value:.0f}"
    if not unit:
        return f"{value:.4g}"
    shown = [x for x in (value, *beside) if isfinite(x)]
    width = max(shown) - min(shown)
    needed = max(_decimals(x) for x in (*shown, width) if abs(x) >= width / 10_000)
    least = 1 if unit == "count" else DECIMALS.get(unit, 3)
    text = f"{value:,.{min(max(least, needed), _MOST_DECIMALS)}f}"
    if text.strip("-0.,"):
        return text
    return text.removeprefix("-") if abs(value) <= _ROUNDING else f"{value:.1e}"


def _decimals(value: float) -> int:
    return (
        0 if abs(value) >= 0.1 or abs(value) <= _ROUNDING else -floor(log10(abs(value)) + _ROUNDING)
    )


def interval_text(number: Number, unit: str) -> str:
    """[low, high]; empty where there is none, or it has no width."""
    if not number.low < number.high:
        return ""
    ends = number.value, number.low, number.high
    low, high = (number_text(end, unit, ends) for end in ends[1:])
    return f"[{low}, {high}]"


def number_cell(number: Number, unit: str = "", note: str = "", verdict: str = "") -> Cell:
    ends = (number.low, number.high) if number.low < number.high else ()
    is_n = unit == "count" and number.value == number.n
    size = "" if number.n is None or is_n else f"{number.n:,}"
    text = number_text(number.value, unit, ends)
    return Cell(text, interval_text(number, unit), note, number.value, size, verdict)


def ends_text(counts: Iterable[float | None]) -> str:
    """The least and the greatest of several n, such as "40 to 181"; empty where none is known."""
    known = sorted(n for n in counts if n is not None)
    return " to ".join(dict.fromkeys(f"{n:,.0f}" for n in (*known[:1], *known[-1:])))


def unit_text(unit: str) -> str:
    """A unit beside a title or a number; empty where these show it."""
    return "" if unit in ("count", "p", "t") else unit


def with_unit(value: float, unit: str) -> str:
    return f"{number_text(value, unit)} {unit}".rstrip()


def joined(separator: str, *parts: str | None) -> str:
    """Those parts that are not empty."""
    return separator.join(filter(None, parts))


def unit_of_difference(unit: str) -> str:
    return "points" if unit == "%" else unit


# ---- Writers


def text(table: Table, width: float = inf) -> str:
    """For a terminal. Columns that do not fit stand below, behind the first one again; sentences
    stand below their row."""
    long = {
        (r, i)
        for r, row in enumerate(table.rows)
        for i in table.words
        if i and isfinite(width) and sum(map(len, row[i].lines)) > _SENTENCE
    }
    rows = [
        [Cell("") if (r, i) in long else cell for i, cell in enumerate(row)]
        for r, row in enumerate(table.rows)
    ]
    shown = table._replace(rows=rows)
    first, *others = (_column(shown, i) for i in range(len(table.head)))
    groups, room = [[first]], width - len(first[0])
    for column in others:
        room -= len(column[0]) + 2
        if room < 0 and len(groups[-1]) > 1:
            groups.append([first])
            room = width - len(first[0]) - len(column[0]) - 2
        groups[-1].append(column)
    blocks = [["  ".join(line).rstrip() for line in zip(*group, strict=True)] for group in groups]
    for r, i in sorted(long):
        below = (_indented(part, width) for part in table.rows[r][i].lines if part)
        blocks[-1][r + 1] = "\n".join([blocks[-1][r + 1], *below])
    return "\n\n".join(map("\n".join, blocks))


def _indented(text: str, width: float) -> str:
    lines = wrap(visible(text), int(width) - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"    {line}" for line in lines)


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Rows of texts for a terminal, the titles first. right: the columns that stand right."""
    head, *rest = [[Cell(part) for part in row] for row in rows]
    return text(Table(head, rest, set(range(len(head))).difference(right)))


def _column(table: Table, i: int) -> list[str]:
    cells = [[visible(part) for part in row[i].lines] for row in table.rows]
    widths = [max((len(cell[part]) for cell in cells), default=0) for part in range(3)]
    sides = ("<" if i in table.words else ">", "<", "<")
    lines = [
        " ".join(
            f"{part:{side}{width}}"
            for part, side, width in zip(cell, sides, widths, strict=True)
            if width
        )
        for cell in cells
    ]
    head = table.head[i]
    title = visible(f"{head.text} ({head.note})" if head.note else head.text)
    wide = max(map(len, [title, *lines]))
    side = sides[0] if not any(widths[1:]) else "<"
    return [f"{line:{side}{wide}}" for line in (title, *lines)]


def markdown(table: Table) -> list[str]:
    rules = ["---" if i in table.words else "---:" for i in range(len(table.head))]
    rows = [[_markdown(cell) for cell in row] for row in (table.head, *table.rows)]
    return [f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:])]


def _markdown(cell: Cell) -> str:
    text, interval, note = cell.lines
    return joined("<br>", markdown_text(text), interval, markdown_text(note))


def csv_text(head: Sequence[object], rows: Iterable[Sequence[Any]]) -> str:
    """Values after RFC 4180, texts quoted. The mark at the beginning (BOM) says it is UTF-8."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow([csv_cell(title) for title in head])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return "\ufeff" + file.getvalue()
