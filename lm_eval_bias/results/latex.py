"""Tables in LaTeX, with booktabs, for papers."""

import re
from collections.abc import Sequence

from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.table import Cell, Table

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
_LETTERS = (
    "α:alpha β:beta γ:gamma δ:delta ε:epsilon ζ:zeta η:eta θ:theta ι:iota κ:kappa λ:lambda μ:mu "
    "ν:nu ξ:xi π:pi ρ:rho σ:sigma τ:tau υ:upsilon φ:phi χ:chi ψ:psi ω:omega Δ:Delta Σ:Sigma Ω:Omega"
)
_GREEK = dict(pair.split(":") for pair in _LETTERS.split())
# What T1 fonts have no sign for, below U+0180.
_NOT_LATIN = frozenset("ĦħĸĿŀŉŦŧſ")
PACKAGES = ("textcomp", "booktabs", "adjustbox")
ROWS_OF_A_PAGE = 40
"""LaTeX lets the rest of a longer table run out at the foot of its page."""


def latex_text(text: object) -> str:
    """A text that LaTeX prints as it is: no command, comment or end of a cell."""
    return "".join(
        _ESCAPES.get(c) or (f"$\\{_GREEK[c]}$" if c in _GREEK else c) for c in visible(text)
    )


def latex(tables: Sequence[Table], caption: str, label: str) -> str:
    """Tables for `\\input`: one number, and a float for each page of them, shrunk to the width of
    the text."""
    floats = []
    for i, page in enumerate(_pages(tables)):
        title = latex_text(caption + (" (continued)" if i else ""))
        floats += [
            "\\begin{table}",
            "\\centering",
            *(["\\addtocounter{table}{-1}"] if i else []),
            f"\\caption{{{title}}}",
            *([] if i else [f"\\label{{{re.sub(r'[^A-Za-z0-9:-]+', '-', label)}}}"]),
            "\\smallskip",
            *(line for table in page for line in _tabular(table)),
            "\\end{table}",
        ]
    packages = ", ".join(f"\\usepackage{{{name}}}" for name in PACKAGES)
    head = [f"% Written by lm-eval-bias report. Needs \\usepackage[T1]{{fontenc}}, {packages}."]
    foreign = sorted({c for line in floats for c in line if c >= "\u0180" or c in _NOT_LATIN})
    if foreign:
        signs = " ".join(foreign[:20]) + (" and others" if len(foreign) > 20 else "")
        head.append(f"% pdflatex knows no {signs}: use lualatex and a font that has them.")
    return "\n".join([*head, *floats, ""])


def _pages(tables: Sequence[Table]) -> list[list[Table]]:
    pages: list[list[Table]] = [[]]
    for table in tables:
        for start in range(0, max(len(table.rows), 1), ROWS_OF_A_PAGE):
            piece = table._replace(rows=table.rows[start : start + ROWS_OF_A_PAGE])
            above = sum(len(other.rows) + 3 for other in pages[-1])  # the head, and the title
            if above and above + len(piece.rows) > ROWS_OF_A_PAGE:
                pages.append([])
            pages[-1].append(piece)
    return pages


def _tabular(table: Table) -> list[str]:
    shape = "".join("l" if i in table.words else "r" for i in range(len(table.head)))
    return [
        *([f"{latex_text(table.title)}\\\\"] if table.title else []),
        "\\begin{adjustbox}{max width=\\linewidth}",
        f"\\begin{{tabular}}{{{shape}}}",
        "\\toprule",
        _row(table.head),
        "\\midrule",
        *map(_row, table.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{adjustbox}",
    ]


def _row(cells: Sequence[Cell]) -> str:
    # The empty group keeps LaTeX from taking a "[" or "*" at the beginning of a row for an argument
    # of the row before.
    return "{}" + " & ".join(map(_cell, cells)) + " \\\\"


def _cell(cell: Cell) -> str:
    parts = (cell.text, cell.interval, f"({cell.note})" if cell.note else "")
    return " ".join(_minus(part) for part in parts if part)


def _minus(text: str) -> str:
    written = latex_text(text)
    return written.replace("-", "$-$") if re.fullmatch(r"[-<>\[\]\d.,∞e+ ]+", text) else written
