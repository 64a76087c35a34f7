"""What a command shows, and the formats it is written in."""

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lm_eval_bias.exhibit import Row, known
from lm_eval_bias.results import table
from lm_eval_bias.results.escape import harmless, markdown_text, visible
from lm_eval_bias.results.table import Table, csv_text
from lm_eval_bias.show import html as pages, latex as tex


class Section(NamedTuple):
    """about: number -> what it is."""

    title: str
    tables: Sequence[Table] = ()
    about: Mapping[str, str] = {}


class Page(NamedTuple):
    """remarks: title -> lines. legend: how to read it. rows: what CSV and JSON lines have. source:
    `page_figures.source`, for the caption of a table in a paper."""

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    remarks: Mapping[str, Sequence[str]]
    legend: Sequence[str]
    rows: Sequence[Row]
    source: str = ""


def html(page: Page) -> str:
    return pages.page("page.html", of=page)


def markdown(page: Page) -> str:
    lines = [f"# {markdown_text(page.title)}"]
    for line in page.lead:
        lines += ["", markdown_text(line)]
    for section in page.sections:
        lines += ["", f"## {markdown_text(section.title)}", ""]
        for part, _ in map(table.apart, section.tables):
            lines += [markdown_text(part.title), ""] if part.title else []
            lines += table.markdown(part)
    for title, remarks in {**page.remarks, "How to read it": page.legend}.items():
        items = [f"- {markdown_text(line)}" for line in remarks]
        lines += ["", f"## {title}", "", *items] if items else []
    lines += ["", markdown_text(page.source)] * bool(page.source)
    return "\n".join([*lines, ""])


def csv(rows: Sequence[Row]) -> str:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return csv_text(keys, ([row.get(key) for key in keys] for row in rows))


def jsonl(page: Page) -> str:
    """An undefined or infinite value is null."""
    lines = (
        {key: known(value) if isinstance(value, float) else value for key, value in row.items()}
        for row in page.rows
    )
    return "".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines)


def latex(page: Page) -> str:
    tables = [
        part._replace(title=table.joined(": ", section.title, part.title))
        for section in page.sections
        for part in section.tables
    ]
    caption = table.joined(" ", f"{page.title}.", *page.lead, page.source)
    return tex.latex(tables, caption, f"tab:{page.title.lower()}")


def text(page: Page, width: int) -> str:
    def filled(line: str) -> str:
        indent = line[: len(line) - len(line.lstrip(" "))]
        return textwrap.fill(
            visible(line),
            width,
            subsequent_indent=indent * 2,
            break_long_words=False,  # names and paths are copied from here
            break_on_hyphens=False,
        )

    parts = [[filled(line) for line in page.lead]]
    for section in page.sections:
        parts += [
            [
                *(filled(line) for line in (section.title, part.title) if line),
                table.text(part, width),
            ]
            for part in section.tables
        ]
    for title, lines in page.remarks.items():
        parts.append([title, *(filled(f"  {line}") for line in lines)] if lines else [])
    parts.append([filled(line) for line in page.legend])
    blocks = "\n\n".join("\n".join(lines) for lines in parts if lines)
    return "\n".join(map(harmless, blocks.split("\n")))


WRITERS: Mapping[str, Callable[[Page], str]] = {
    ".html": html,
    ".csv": lambda page: csv(page.rows),
    ".jsonl": jsonl,
    ".md": markdown,
    ".tex": latex,
}
"""By the ending of the file."""
