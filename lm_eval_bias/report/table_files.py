"""Tables as files: CSV after RFC 4180 for programs, LaTeX with booktabs for papers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from lm_eval_bias.exhibit import Column
from lm_eval_bias.report.exhibited import MODEL, Grid, Printed, Value, unit_text
from lm_eval_bias.results.escape import csv_cell, visible

# ---- CSV


def csv_file(titles: Sequence[object], lines: Iterable[Sequence[Any]]) -> str:
    """Rows in full: numbers with all their digits, what does not exist empty, texts quoted and no
    formula."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow([csv_cell(title) for title in titles])
    for line in lines:
        writer.writerow([_cell(raw) for raw in line])
    return file.getvalue()


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal columns."""
    keys = list(rows[0]) if rows else []
    return csv_file(keys, ([row.get(key) for key in keys] for row in rows))


def _cell(raw: Any) -> object:
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, Printed) and raw.text is not None:
        return csv_cell(raw.text)
    if isinstance(raw, float):
        return csv_cell(float(raw)) if isfinite(raw) else ""
    return csv_cell(raw)


def keys(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys of an exhibit's columns, each followed by those of its error and its interval, as
    far as a row has them."""
    found: dict[str, None] = {}
    for column in columns:
        found[column.name] = None
        for part in ("stderr", "low", "high"):
            key = f"{column.name}_{part}"
            if any(row.get(key) is not None for row in rows):
                found[key] = None
    return list(found)


# ---- LaTeX

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "−": "$-$",
    "×": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "←": r"$\leftarrow$",
    "↔": r"$\leftrightarrow$",
    "≈": r"$\approx$",
    "≠": r"$\ne$",
    "√": r"$\surd$",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "ι": "iota",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "υ": "upsilon",
    "φ": "phi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Δ": "Delta",
    "Σ": "Sigma",
    "Ω": "Omega",
}

LONGEST = 40
"""Rows that a page holds; LaTeX lets the rest of a longer table run out at its foot."""
# What T1 fonts have no sign for, below U+0180.
_NOT_LATIN = frozenset("ĦħĸĿŀŉŦŧſ")


def latex_text(text: object) -> str:
    """A text that LaTeX prints as it is: no command, no comment, no cell's end; what cannot be seen
    stands as its code."""
    return "".join(
        _ESCAPES.get(c) or (f"$\\{_GREEK[c]}$" if c in _GREEK else c) for c in visible(text)
    )


def latex_number(text: str) -> str:
    """A number as it is shown, with a minus in place of a hyphen."""
    return (
        latex_text(text).replace("-", "$-$") if re.match(r"[-<>\[\d]", text) else latex_text(text)
    )


def latex_file(grids: Sequence[Grid], caption: str, label: str) -> str:
    """A table for `\\input`; each number stands with its interval.

    It is shrunk to the width of the text where it is wider, and has as many parts under one number
    as pages hold it.
    """
    parts = []
    for i, page in enumerate(_pages(grids)):
        again = ["\\addtocounter{table}{-1}"] if i else []
        title = f"\\caption{{{latex_text(caption + (' (continued)' if i else ''))}}}"
        place = [] if i else [f"\\label{{{re.sub(r'[^A-Za-z0-9:-]+', '-', label)}}}"]
        tables = [line for grid in page for line in _table(grid)]
        parts += [
            "\\begin{table}",
            "\\centering",
            *again,
            title,
            *place,
            "\\smallskip",
            *tables,
            "\\end{table}",
        ]
    packages = ", ".join(
        f"\\usepackage{{{name}}}" for name in ("textcomp", "booktabs", "adjustbox")
    )
    head = [f"% Written by lm-eval-bias report. Needs \\usepackage[T1]{{fontenc}}, {packages}."]
    if foreign := sorted({c for line in parts for c in line if not _latin(c)}):
        said = " ".join(foreign[:20]) + (" and others" if len(foreign) > 20 else "")
        head.append(f"% pdflatex knows no {said}: use lualatex and a font that has them.")
    return "\n".join([*head, *parts, ""])


def _pages(grids: Sequence[Grid]) -> list[list[Grid]]:
    """The grids, or pieces of them, that a page holds each."""
    pages: list[list[Grid]] = [[]]
    left = LONGEST
    for grid in grids:
        lines = grid.lines
        while True:
            if left < min(len(lines), LONGEST) and pages[-1]:
                pages.append([])
                left = LONGEST
            now, lines = lines[:LONGEST], lines[LONGEST:]
            pages[-1].append(grid._replace(lines=now))
            left -= len(now) + 3  # the head, and the title
            if not lines:
                break
    return pages


def _latin(c: str) -> bool:
    """Whether pdflatex prints it in T1 fonts."""
    return c < "\u0180" and c not in _NOT_LATIN


def _table(grid: Grid) -> list[str]:
    title = [f"{latex_text(grid.title)}\\\\"] if grid.title else []
    begin = [
        "\\begin{adjustbox}{max width=\\linewidth}",
        f"\\begin{{tabular}}{{{_shape(grid)}}}",
        "\\toprule",
    ]
    return [
        *title,
        *begin,
        _head(grid),
        "\\midrule",
        *_body(grid),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{adjustbox}",
    ]


def _shape(grid: Grid) -> str:
    return "l" * grid.models + "".join("l" if text else "r" for text in grid.text)


def _head(grid: Grid) -> str:
    head = [latex_text(MODEL)] * grid.models
    for i, column in enumerate(grid.columns):
        title = grid.corner if i == 0 and grid.corner is not None else column.title
        # A matrix has one unit, which the caption may tell; in other tables it stands with the
        # column.
        unit = (
            f" ({unit_text(column.unit)})" if unit_text(column.unit) and grid.corner is None else ""
        )
        head.append(latex_text(f"{title}{unit}"))
    return _row(head)


def _body(grid: Grid) -> list[str]:
    return [
        _row(
            [
                *[latex_text((line.model or "") + (f" ({line.mark})" if line.mark else ""))]
                * grid.models,
                *map(_latex_cell, line.cells),
            ]
        )
        for line in grid.lines
    ]


def _row(cells: Sequence[str]) -> str:
    # The empty group keeps LaTeX from taking a "[" or "*" at the beginning of a row for an argument
    # of the row before.
    return "{}" + " & ".join(cells) + " \\\\"


def _latex_cell(cell: Value) -> str:
    if cell.number is None:
        return latex_text(cell.text)
    return latex_number(cell.text) + (f" {latex_number(cell.interval)}" if cell.interval else "")
