"""A report: an overview of finished runs and a page for each model, with figures and tables as
files beside them."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias import __version__, exhibit as exhibits
from lm_eval_bias.exhibit import Exhibit
from lm_eval_bias.figures import palette
from lm_eval_bias.measure import IN_FORM
from lm_eval_bias.results import verdict
from lm_eval_bias.results.escape import markdown_text
from lm_eval_bias.results.runs import Run, Runs, by_question, distinguishing, listed
from lm_eval_bias.results.table import (
    Cell,
    Table,
    apart,
    joined,
    markdown,
    number_cell,
    number_text,
    unit_text,
)
from lm_eval_bias.results.transcripts import Transcript, transcript
from lm_eval_bias.show import exhibited, html, questions
from lm_eval_bias.show.exhibited import PaperRows, Rows, TaskInfo
from lm_eval_bias.show.folder import Folder
from lm_eval_bias.show.latex import latex
from lm_eval_bias.show.page import csv
from lm_eval_bias.show.page_figures import drawn, missing, source

ROWS = 400
"""Rows up to which a table stands on a page and is written in LaTeX."""
MANY = 5
"""Answers of a row outside of its fold."""
INTRO = (
    "Published tests of implicit bias: they do not ask a model for its opinion of a group, but "
    "look whether its answers differ where only the person or group that is named differs."
)
_CUT = 10
"""Percent of answers that seem cut off from which it is a warning."""
_IN_FORM = 80
"""Percent of answers in the form asked for below which it is one."""


@dataclass
class Block:
    """An exhibit, or another table. heading: of a test its verdict. counterpart: the table or
    figure of a paper. svg: as the drawing made it, trusted. missing: what a run lacks. source: of a
    caption. folded: why it is."""

    id: str
    topic: str
    heading: str
    caption: str = ""
    counterpart: str = ""
    how_to_read: str = ""
    caveat: str = ""
    svg: str = ""
    table: Table | None = None
    missing: str = ""
    notes: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    source: str = ""
    folded: str = ""


class Section(NamedTuple):
    """A task, of one run or of the models that were asked the same."""

    id: str
    title: str
    known: TaskInfo
    runs: Sequence[Run]
    blocks: list[Block]
    primaries: Table | None = None
    tables: Sequence[Block] = ()
    transcript: Transcript | None = None

    @property
    def figure(self) -> Block | None:
        """The first that is not folded."""
        return next((block for block in self.blocks if block.svg and not block.folded), None)


def write(
    finished: Runs,
    known: Mapping[str, TaskInfo],
    output: Path,
    drawing: Any,
    brief: bool = False,
    latex_papers: bool = False,
) -> list[verdict.Tested]:
    """Write the report; returns its tests.

    drawing: `figures.draw.files`. brief: whether with `brief.html`. UsageError for a folder that
    holds other things, or that cannot be written.
    """
    folder = Folder(output)
    transcripts = {files: transcript(files) for files in {run.samples for run in finished.runs}}
    runs = [
        run._replace(warnings=(*run.warnings, *_of_answers(run, transcripts[run.samples], known)))
        for run in sorted(
            finished.runs, key=lambda run: (run.model.casefold(), run.model, run.task)
        )
    ]
    pages = {name: f"{folder.stem(name)}.html" for name in dict.fromkeys(run.model for run in runs)}
    writer = _Writer(folder, known, transcripts, drawing, latex_papers, runs, pages)
    for name, file in pages.items():
        folder.write(file, writer.page(name))
    overview, first = writer.overview(finished)
    folder.write("index.html", overview)
    if brief:
        name = "brief.html"
        folder.write(name, _page("report_brief.html", page=name, known=known, **first))
    folder.finish()
    return verdict.judged(runs)


def _of_answers(run: Run, samples: Transcript, known: Mapping[str, TaskInfo]) -> Iterator[str]:
    """Warnings where many answers seem cut off, or few have the form that was asked for."""
    cut, answers = samples.cut, samples.answers
    if cut >= 2 and 100 * cut > _CUT * answers:
        yield (
            f"about {100 * cut / answers:.0f} % of the answers seem cut off, and may count as none "
            f"(estimated from {answers:,} answers: so many end within reasoning, or are as long as "
            "the limit allows and end within a sentence); --metadata reasoning=true or "
            "--gen_kwargs max_gen_toks=... gives more room"
        )
    share = run.number(IN_FORM.name).value
    if share < _IN_FORM:
        short = run.task.replace("_generate", "")
        by_likelihood = short if short != run.task else f"{run.task}_likelihood"
        more = f"; {by_likelihood} asks without answers to read" if by_likelihood in known else ""
        yield (
            f"{share:.0f} % of the answers have exactly the form that was asked for: the numbers "
            f"depend on how the others are read{more}"
        )


@dataclass
class _Writer:
    """runs: sorted by model. pages: model -> its file."""

    folder: Folder
    known: Mapping[str, TaskInfo]
    transcripts: Mapping[tuple[Path, ...], Transcript]
    drawing: Any
    latex_papers: bool
    runs: Sequence[Run]
    pages: Mapping[str, str]
    ids: set[str] = field(default_factory=set)

    def page(self, model: str) -> str:
        """The page of a model."""
        from tqdm import tqdm

        self.ids.clear()
        file, sections = self.pages[model], []
        stem, runs = Path(file).stem, [run for run in self.runs if run.model == model]
        for run in tqdm(runs, file, unit="task", file=sys.stderr, disable=None):
            known = self.known.get(run.task, TaskInfo())
            section = self.section([run], run.task, stem, known)
            section = section._replace(
                primaries=_primaries(run),
                tables=list(self.tables(run, known, f"{stem}-{run.task}", section.id)),
                transcript=self.transcripts[run.samples],
            )
            sections.append(section)
        opened: dict[str, str] = {}  # of each paper one task, which has a figure if any has
        for section in sorted(sections, key=lambda section: section.figure is None):
            opened.setdefault(section.known.paper or section.title, section.id)
        return _page(
            "report_model.html",
            page=file,
            model=model,
            sections=sections,
            opened=opened.values(),
            **self.first(runs, {section.title: f"#{section.id}" for section in sections}),
        )

    def overview(self, finished: Runs) -> tuple[str, dict[str, Any]]:
        """The first page, and what the first screen shows."""
        self.ids.clear()
        same = by_question(self.runs)
        sections, where = [], dict[str, str]()
        for asked in same:
            name = asked[0].task
            known = self.known.get(name, TaskInfo())
            exhibits = [
                exhibit
                for exhibit in known.exhibits
                if len(asked) > 1 and (exhibit.figure is None or exhibit.figure.model is not None)
            ]
            details = listed(distinguishing(asked[0], (others[0] for others in same)))
            title = f"{name} ({details})" if details else name
            known = known._replace(exhibits=exhibits)
            sections.append(self.section(asked, title, "all", known))
            where.setdefault(name, f"#{sections[-1].id}")
        first = self.first(self.runs, where)
        page = _page(
            "report_overview.html",
            page="index.html",
            sections=sections,
            others=finished.others and exhibited.others(finished.others),
            notes=[*finished.notes, *(missing() if self.drawing else [])],
            **first,
        )
        return page, first

    def first(self, runs: Sequence[Run], where: Mapping[str, str]) -> dict[str, Any]:
        """What the first screen shows of some runs. where: task -> its place on the page."""
        tests = verdict.judged(runs)
        rows, shared = questions.rows(tests)
        models = dict.fromkeys(run.model for run in runs)
        return {
            "pages": self.pages,
            "where": where,
            "series": {model: i for i, model in enumerate(models)},
            "rows": rows,
            "shared": shared,
            "sentences": verdict.sentences(tests),
            "asked": runs,
            "several": len(models) > 1,
            "commands": commands(runs),
        }

    def section(self, runs: Sequence[Run], title: str, stem: str, known: TaskInfo) -> Section:
        """A task of one run, or of the models that were asked the same. stem: of its files."""
        name = runs[0].task
        task = self._id(name)
        blocks = [self.exhibit(e, runs, f"{stem}-{name}", task, known) for e in known.exhibits]
        return Section(task, title, known, runs, blocks)

    def exhibit(
        self, exhibit: Exhibit, runs: Sequence[Run], stem: str, prefix: str, known: TaskInfo
    ) -> Block:
        """An exhibit of one run, or of several models."""
        counterpart = joined(", ", known.paper, exhibit.name)
        block = Block(
            self._id(f"{prefix}-{exhibit.name}"),
            exhibit.topic,
            exhibit.topic,
            exhibit.caption if exhibit.caption != exhibit.topic else "",
            counterpart if exhibit.numbered else "",
            exhibit.how_to_read,
            exhibit.caveat,
        )
        models = []
        for run in runs:
            try:
                if rows := exhibits.rows(exhibit, run.tables):
                    models.append((run, verdict.judged_rows(exhibit, run, rows)))
            except Exception as error:  # its own code may be a person's
                block.notes.append(
                    f"It could not be made of the run of {run.model}: {type(error).__name__}: "
                    f"{error}"
                )
        block.source = source([run for run, _ in models], block.counterpart)
        if len(models) < min(len(runs), 2):
            needs = f": it needs {exhibit.needs}" if exhibit.needs else ""
            block.missing = f"This run has no rows for it{needs}."
            return block
        rows = [
            {"model": run.model, "source": "this run", "comparable": None, **row}
            for run, own in models
            for row in own
        ]
        block.folded = exhibited.says_little(exhibit, rows)
        papers = exhibited.paper_rows(exhibit, runs[0], known)
        block.notes += _of_papers(papers)
        for paper in papers:
            comparable = paper.incomparable or "yes"
            start = {"model": paper.model, "source": paper.source, "comparable": comparable}
            for row in paper.rows:
                names = [key for key in row if not key.endswith("_printed")]
                rows.append(start | {k: row.get(f"{k}_printed") or row[k] for k in names})
        block.table = exhibited.table(exhibit, models, papers)
        written = papers if self.latex_papers else ()
        self._files(block, exhibit, models, rows, written, f"{stem}-{exhibit.name}")
        return block

    def _files(
        self,
        block: Block,
        exhibit: Exhibit,
        models: Sequence[tuple[Run, Rows]],
        rows: Rows,
        papers: Sequence[PaperRows],
        name: str,
    ) -> None:
        """The table of an exhibit and its figure. rows: what CSV has."""
        file = self.folder.stem(name)
        self._table_files(block, file, rows, exhibited.table(exhibit, models, papers))
        if exhibit.figure is None or self.drawing is None:
            return
        try:
            block.heading, files = drawn(
                exhibit, models, self.drawing, block.id, block.topic, block.source
            )
        except Exception as error:  # what a person's own rows may hold
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            block.notes.append(f"The figure could not be drawn: {kind}{error}")
            return
        for ending, content in files.items():
            kind = ending.rpartition(".")[2].upper()
            kind += " of one column" * ending.startswith("-")
            self._file(block, kind, f"figures/{file}{ending}", content)
        block.svg = str(files[".svg"])

    def tables(self, run: Run, known: TaskInfo, stem: str, prefix: str) -> Iterator[Block]:
        """All numbers of a run, and the tables that no exhibit shows whole."""
        shown = {
            e.source.table
            for e in known.exhibits
            if isinstance(e.source, exhibits.Rows) and not e.source.where and e.then is None
        }
        for name, rows in run.tables.items():
            if not rows or name in shown - {"numbers"}:
                continue
            title, make = f"Table {name}", exhibited.plain
            heading = f"{title}, {len(rows):,} row{'s' * (len(rows) != 1)}"
            if name == "numbers":
                title, make = "All numbers", exhibited.numbers
                heading = f"{title}, whole and by group: {len(rows)}"
            table = make(rows)
            block = Block(self._id(f"{prefix}-{name}"), title, heading, table=table)
            block.source = source([run])
            self._table_files(block, self.folder.stem(f"{stem}-{name}"), rows, table)
            yield block

    def _table_files(self, block: Block, file: str, rows: Rows, written: Table) -> None:
        """rows: what CSV has, and written LaTeX."""
        self._file(block, "CSV", f"tables/{file}.csv", csv(rows))
        if len(written.rows) <= ROWS:
            caption = f"{joined(': ', block.topic, block.caption)}. {block.source}"
            content = latex([written], caption, f"tab:{file}")
            self._file(block, "LaTeX", f"tables/{file}.tex", content)
            content = "\n".join([*markdown(apart(written)[0]), "\n\n", markdown_text(caption), ""])
            self._file(block, "Markdown", f"tables/{file}.md", content)
        if block.table and len(block.table.rows) > ROWS:
            block.notes.append("The table is too large for this page; it stands in the CSV file.")
            block.table = None

    def _file(self, block: Block, text: str, path: str, content: str | bytes) -> None:
        self.folder.write(path, content)
        block.links.append((text, path))

    def _id(self, name: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "x"
        plain = plain.removeprefix("s-")
        unique, i = f"s-{plain}", 2
        while unique in self.ids:
            unique, i = f"s-{plain}-{i}", i + 1
        self.ids.add(unique)
        return unique


def _of_papers(papers: Sequence[PaperRows]) -> list[str]:
    """Why the rows of papers do not compare, or what differs; each reason once."""
    sources: dict[tuple[str, str], dict[str, None]] = {}
    for paper in papers:
        word = "Not comparable" if paper.incomparable else "Comparable, and yet"
        if why := paper.incomparable or paper.differs:
            sources.setdefault((word, why), {})[paper.source] = None
    return [f"{word} ({'; '.join(names)}): {why}" for (word, why), names in sources.items()]


def _primaries(run: Run) -> Table:
    head = ("Number", "Value and 95 % interval", "n", "Without bias", "What it is")
    rows = []
    for metric, number in run.primaries:
        value = number_cell(number._replace(n=None), metric.unit)
        unit = "" if isnan(number.value) else unit_text(metric.unit)
        null = "" if metric.null_value is None else number_text(metric.null_value)
        better = f" {metric.better.capitalize()} is better." if metric.better else ""
        rows.append(
            [
                Cell(metric.name),
                value._replace(text=f"{value.text} {unit}".rstrip(), note=run.range_text(metric)),
                Cell("" if number.n is None else f"{number.n:,}"),
                Cell(null, note=verdict.kind(run, metric, number)),
                Cell(metric.description + better),
            ]
        )
    title = f"Primary numbers of {run.task}, {run.n:,} documents"
    return Table([*map(Cell, head)], rows, {0, 4}, title)


def _page(template: str, **what: Any) -> str:
    return html.page(
        template,
        script="report.js",
        rule=verdict.RULE,
        cannot=verdict.CANNOT,
        intro=INTRO,
        most=MANY,
        width=questions.WIDTH,
        colours=palette.COLOURS,
        version=__version__,
        **what,
    )


def commands(runs: Sequence[Run]) -> dict[str, list[str]]:
    """The command that asked, as its run recorded it -> its tasks; "" where it is not known."""
    tasks = defaultdict[str, list[str]](list)
    for run in chain.from_iterable(run.variants for run in runs):
        command = run.recorded.get("command")
        if run.parts or not isinstance(command, str):
            command = ""
        tasks[command].append(run.task)
    return tasks
