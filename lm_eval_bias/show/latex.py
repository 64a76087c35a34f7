"""Tables in LaTeX for papers: at most as wide as the text, with booktabs alone."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby, product
from math import ceil
from pathlib import Path

from yaml import BaseLoader

from lm_eval_bias.data.content import plain
from lm_eval_bias.figures.text import widest, wrapped
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.table import Table, apart

# What T1 fonts have no sign for, below U+0180.
_NOT_LATIN = frozenset("ĦħĸĿŀŉŦŧſ")
WIDTH = 345
"""Of a line of `article`, in points."""
SIZES = {"normalsize": 10.0, "small": 9.2, "footnotesize": 8.4}
"""Letters of a table, the largest first, and how wide they are: small ones are broad."""
GAP, TITLE, TEXT = 8, 48, 100
"""Points between columns, and at most of a title's line and of a text's."""
PAGE, LEADS = 550, {"normalsize": 12.0, "small": 11.0, "footnotesize": 9.5}
"""Points of a page, beyond which a float runs out at its foot, and of a line."""
QUEUE = 10
"""Floats that LaTeX is left with at a time: it holds 18, or 52, back for their pages."""


@cache
def _signs() -> dict[str, str]:
    return plain(Path(__file__).with_name("latex.yaml").read_text("utf-8"), BaseLoader)


def latex_text(text: object) -> str:
    """A text that LaTeX prints as it is: no command, comment or end of a cell."""
    return "".join(_signs().get(c, c) for c in visible(text))


def latex(tables: Sequence[Table], caption: str, label: str) -> str:
    """Tables for `\\input`: one number, and a float for each page of them. What does not fit into
    the width stands below, behind the same texts."""
    floats: list[str] = []
    for table in tables:
        shown, owners = apart(table)
        columns = [
            [f"{cell.text} ({cell.note})" if cell.note else cell.text for cell in cells]
            for cells in zip(shown.head, *shown.rows, strict=True)
        ]
        size, groups, titles = _fit(columns, owners, shown.words)
        texts = zip(*(columns[i][1:] for i in shown.words), strict=True)
        tall = [ceil(widest(row, SIZES[size]) / TEXT) for row in texts] or [1]
        above = LEADS["normalsize"] * (2 + ceil(widest([caption + " (continued)"], 10) / WIDTH))
        page = int((PAGE - above) / LEADS[size])
        titles += 2  # the rules and the panel's name
        rows = max(sum(tall), len(shown.rows))
        below = min(max(page // (titles + rows), 1), len(groups))  # blocks of a page
        step = room = max(page // below - titles, 1)
        if rows > room:
            step = max(room // max(tall), 1)
        for first, start in product(
            range(0, len(groups), below), range(0, max(len(shown.rows), 1), step)
        ):
            more = bool(floats)
            lines = [
                "\\clearpage" * (more and len(floats) % QUEUE == 0),
                "\\begin{table}",
                "\\centering",
                "\\addtocounter{table}{-1}" * more,
                f"\\caption{{{latex_text(caption + ' (continued)' * more)}}}",
                f"\\label{{{re.sub('[^A-Za-z0-9:-]+', '-', label)}}}" * (not more),
                f"\\setlength{{\\tabcolsep}}{{{GAP // 2}pt}}\\{size}",
                f"{latex_text(shown.title)}\\\\" * bool(shown.title),
            ]
            for group in groups[first : first + below]:
                part = [
                    (columns[i][0], columns[i][1:][start : start + step], i in shown.words)
                    for i in group
                ]
                lines += _tabular(part, SIZES[size])
            floats.append("\n".join(filter(None, [*lines, "\\end{table}"])))
    signs = set("".join(floats))
    fonts = " and \\usepackage[T1]{fontenc}" * any(c > "\x7f" for c in signs)
    head = [f"% Written by lm-eval-bias. Needs \\usepackage{{booktabs}}{fonts}."]
    if foreign := sorted(c for c in signs if c >= "\u0180" or c in _NOT_LATIN):
        named = shortened(" ".join(foreign))
        head.append(f"% pdflatex knows no {named}: use lualatex and a font that has them.")
    return "\n".join([*head, *floats, ""])


def _lines(title: str, cells: Sequence[str], is_text: bool, size: float) -> tuple[list[str], float]:
    """The lines of a title, and the width of its cells."""
    inside = widest((cell.replace("-", "M") for cell in cells), size)
    inside = min(inside, TEXT) if is_text else inside
    return wrapped(title, 1.1 * max(TITLE, inside, widest(title.split(), size)), size), inside


def _fit(
    columns: Sequence[Sequence[str]], owners: Sequence[int], words: frozenset[int]
) -> tuple[str, list[list[int]], int]:
    """The size of letters, which columns stand beside each other, and the lines of titles."""
    for size, points in SIZES.items():
        both = [_lines(c[0], c[1:], i in words, points) for i, c in enumerate(columns)]
        titles = max((len(lines) for lines, _ in both), default=0)
        widths = [GAP + max(inside, widest(lines, points)) for lines, inside in both]
        if sum(widths) <= WIDTH + GAP:
            return size, [[*range(len(columns))]], titles
    numbers = groupby(range(len(columns)), owners.__getitem__)
    room = WIDTH + GAP - max(sum(widths[i] for i in own) for _, own in numbers)
    same = 1  # the first texts tell rows apart
    while same in words and sum(widths[: same + 1]) <= room:
        same += 1
    groups = [[*range(same)]]
    for _, own in groupby(range(same, len(columns)), owners.__getitem__):
        group = [*groups[-1], *own]
        if sum(widths[i] for i in group) > WIDTH + GAP and len(groups[-1]) > same:
            group = [*range(same), *group[len(groups[-1]) :]]
            groups.append(group)
        groups[-1] = group
    return size, groups, titles


def _tabular(part: Sequence[tuple[str, Sequence[str], bool]], size: float) -> list[str]:
    """part: the title and the cells of each column, and whether it has texts."""
    shape, heads, body = "", [], []
    for title, cells, is_text in part:
        lines, inside = _lines(title, cells, is_text, size)
        broad = is_text and inside == TEXT
        side = "l" if is_text else "r"
        shape += f"p{{{TEXT}pt}}" if broad else side
        written = "\\\\{}".join(map(latex_text, lines))
        heads.append(f"\\shortstack[{side}]{{{written}}}" if len(lines) > 1 else written)
        body.append([_broken(cell) if broad else _minus(cell) for cell in cells])
    # The empty group keeps LaTeX from taking a "[" or "*" at the beginning of a row for an argument
    # of the row before. Within raggedright, two backslashes end a line.
    end = "\\tabularnewline" if "p" in shape else "\\\\"
    rows = [f"{{}}{' & '.join(row)} {end}" for row in zip(*body, strict=True)]
    top = [f"\\begin{{tabular}}{{@{{}}{shape}@{{}}}}", "\\toprule", f"{' & '.join(heads)} {end}"]
    return ["\\smallskip", *top, "\\midrule", *rows, "\\bottomrule", "\\end{tabular}\\par"]


def _broken(text: str) -> str:
    """A text of several lines."""
    return "\\raggedright " + re.sub(r"(\\_|/)", r"\1\\allowbreak{}", latex_text(text))


def _minus(text: str) -> str:
    written = latex_text(text)
    return written.replace("-", "$-$") if re.fullmatch(r"[-<>\[\]\d.,∞e+ ]+", text) else written
