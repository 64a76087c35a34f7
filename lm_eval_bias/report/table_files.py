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
from lm_eval_bias.report.untrusted import csv_cell, visible

# ---- CSV


def csv_file(titles: Sequence[object], lines: Iterable[Sequence[Any]]) -> str:
    """Rows in full: numbers with all their digits, what does not exist empty, texts quoted and no formula."""
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
    """The keys of an exhibit's columns, each followed by those of its error and its interval, as far as a row has them."""
    found: dict[str, None] = {}
    for column in columns:
        found[column.name] = None
        ends = column.interval or (f"{column.name}_low", f"{column.name}_high")
        for key in (column.stderr, *ends):
            if key and any(row.get(key) is not None for row in rows):
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
}


def latex_text(text: object) -> str:
    """A text that LaTeX prints as it is: no command, no comment, no cell's end; what cannot be seen stands as its code."""
    return "".join(_ESCAPES.get(c) or (f"$\\{_GREEK[c]}$" if c in _GREEK else c) for c in visible(text))


def latex_number(text: str) -> str:
    """A number as it is shown, with a minus in place of a hyphen."""
    return latex_text(text).replace("-", "$-$") if re.match(r"[-<>\[\d]", text) else latex_text(text)


def latex_file(grids: Sequence[Grid], caption: str, label: str) -> str:
    """A table for `\\input` in a document with the packages booktabs and textcomp; each number stands with its interval."""
    parts = []
    for grid in grids:
        shape = "l" * grid.models + "".join("l" if text else "r" for text in grid.text)
        head = [latex_text(MODEL)] * grid.models
        for i, column in enumerate(grid.columns):
            title = grid.corner if i == 0 and grid.corner is not None else column.title
            # A matrix has one unit, which the caption may tell; in other tables it stands with the column.
            unit = f" ({unit_text(column.unit)})" if unit_text(column.unit) and grid.corner is None else ""
            head.append(latex_text(f"{title}{unit}{' ±' if grid.normal[i] else ''}"))
        lines = [_row(head), "\\midrule"]
        for line in grid.lines:
            name = [latex_text((line.model or "") + (f" ({line.mark})" if line.mark else ""))] * grid.models
            lines.append(_row([*name, *(_latex_cell(cell) for cell in line.cells)]))
        title = [f"{latex_text(grid.title)}\\\\"] if grid.title else []
        parts += [*title, f"\\begin{{tabular}}{{{shape}}}", "\\toprule", *lines, "\\bottomrule", "\\end{tabular}"]
    return "\n".join(
        [
            "% Written by lm-eval-bias report. Needs \\usepackage[T1]{fontenc}, \\usepackage{textcomp} and \\usepackage{booktabs}.",
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{latex_text(caption)}}}",
            f"\\label{{{re.sub(r'[^A-Za-z0-9:-]+', '-', label)}}}",
            *parts,
            "\\end{table}",
            "",
        ]
    )


def _row(cells: Sequence[str]) -> str:
    # The empty group keeps LaTeX from taking a "[" or "*" at the beginning of a row for an argument of the row before.
    return "{}" + " & ".join(cells) + " \\\\"


def _latex_cell(cell: Value) -> str:
    if cell.number is None:
        return latex_text(cell.text)
    return latex_number(cell.text) + (f" {latex_number(cell.interval)}" if cell.interval else "")
