"""Tables in LaTeX for papers: at most as wide as a line, by booktabs and graphicx."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import wrap

from yaml import BaseLoader

from lm_eval_bias.data.content import plain
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.table import Cell, Table, apart

LINES = 36
"""Of a float, titles and rows: with a long caption they are a page."""
TITLE, TEXT = 10, 30
"""Characters of a line of a title and of a text."""
QUEUE = 10
"""Floats that LaTeX is left with at a time: it holds 18, or 52, back for their pages."""
NEEDS = (
    "% Written by lm-eval-bias. Needs \\usepackage{booktabs,graphicx}; signs beyond ASCII need "
    "\\usepackage[T1]{fontenc},\n% and those of other scripts lualatex and a font that has them."
)
# A table that is wider than a line is shrunk to it.
_SHRUNK = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{"


@cache
def _signs() -> dict[str, str]:
    return plain(Path(__file__).with_name("latex.yaml").read_text("utf-8"), BaseLoader)


def latex_text(text: object) -> str:
    """A text that LaTeX prints as it is: no command, comment or end of a cell."""
    return "".join(_signs().get(c, c) for c in visible(text))


def latex(tables: Sequence[Table], caption: str, label: str) -> str:
    """Tables for `\\input`: one number, and a float for each page of them."""
    floats: list[str] = []
    for table in tables:
        shown, _ = apart(table)
        sides = ["l" if i in shown.words else "r" for i in range(len(shown.head))]
        head = _lines(shown.head, TITLE)
        rows = [_lines(row, TEXT) for row in shown.rows]
        titles, tall = (
            max([1, *(len(cell) for row in part for cell in row)]) for part in ([head], rows)
        )
        step = max((LINES - titles) // tall, 1)
        for start in range(0, max(len(rows), 1), step):
            more = bool(floats)
            lines = [
                "\\clearpage" * (more and len(floats) % QUEUE == 0),
                "\\begin{table}",
                "\\centering",
                "\\addtocounter{table}{-1}" * more,
                f"\\caption{{{latex_text(caption + ' (continued)' * more)}}}",
                f"\\label{{{re.sub('[^A-Za-z0-9:-]+', '-', label)}}}" * (not more),
                f"{latex_text(shown.title)}\\\\" * bool(shown.title),
                "\\setlength{\\tabcolsep}{3pt}\\small",
                f"{_SHRUNK}\\begin{{tabular}}{{@{{}}{''.join(sides)}@{{}}}}",
                "\\toprule",
                _row(head, sides, "b"),
                "\\midrule",
                *(_row(row, sides, "t") for row in rows[start : start + step]),
                "\\bottomrule",
                "\\end{tabular}}",
                "\\end{table}",
            ]
            floats.append("\n".join(filter(None, lines)))
    return "\n".join([NEEDS, *floats, ""])


def _lines(cells: Sequence[Cell], width: int) -> list[list[str]]:
    return [wrap(f"{cell.text} ({cell.note})" if cell.note else cell.text, width) for cell in cells]


def _row(cells: Sequence[Sequence[str]], sides: Sequence[str], place: str) -> str:
    """cells: the lines of each. place: which of them stand beside each other, t or b."""
    written = []
    for lines, side in zip(cells, sides, strict=True):
        text = "\\\\{}".join(map(_minus, lines))
        if len(lines) > 1:
            text = f"\\begin{{tabular}}[{place}]{{@{{}}{side}@{{}}}}{text}\\end{{tabular}}"
        written.append(text)
    # The empty group keeps LaTeX from taking a "[" or "*" at the beginning of a row for an argument
    # of the row before.
    return f"{{}}{' & '.join(written)} \\\\"


def _minus(text: str) -> str:
    written = latex_text(text)
    return written.replace("-", "$-$") if re.fullmatch(r"[-<>\[\]\d.,∞e+ ]+", text) else written
