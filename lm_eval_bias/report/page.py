"""A report: an overview of finished runs and a page for each model, with figures and tables as
files beside them.

Everything that a page shows is put together here as plain named tuples; the templates escape every
text. Models are done one after the other, so that the pages of five do not lie in memory at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lm_eval_bias.data.published import Cell, Comparison, Table
from lm_eval_bias.exhibit import Exhibit, Rows
from lm_eval_bias.report import exhibited, findings, html, table_files
from lm_eval_bias.report.exhibited import MODEL, Beside, Broken, Grid
from lm_eval_bias.report.folder import Folder
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.runs import PART, Found, Run
from lm_eval_bias.results.transcripts import Asked, Cut, Question, asked

BUDGET = 1_600_000
"""Bytes of figures and tables on a page, which has about a fifth more; what is above it stands in
files alone."""
ROWS, OTHER_ROWS = 400, 200
"""Rows of an exhibit's table, and of one that no exhibit shows, up to which it stands on a page."""
STRONGEST = 3
"""Tests that stand with what they are on the first screen."""
LATEX_ROWS = 500
"""Rows up to which a table is written in LaTeX."""
_CUT = 10
"""Percent of answers that seem cut off from which it is a warning."""


class Known(NamedTuple):
    """What a task's YAML and its measure say, of a task that is known here."""

    about: str = ""
    paper: str = ""
    version: str = ""
    exhibits: Sequence[Exhibit] = ()
    defaults: Mapping[str, Any] = {}


class Drawing(Protocol):
    """What draws: the module `figures`."""

    def svg(
        self,
        exhibit: Exhibit,
        rows: Sequence[Mapping[str, Any]],
        *,
        name: str,
        title: str,
        description: str,
        model: str | None = None,
    ) -> str: ...
    def png(
        self,
        exhibit: Exhibit,
        rows: Sequence[Mapping[str, Any]],
        *,
        title: str,
        model: str | None = None,
        scale: float = 2,
    ) -> bytes: ...
    def drawable(
        self, exhibit: Exhibit, rows: Sequence[Mapping[str, Any]], model: str | None = None
    ) -> str | None: ...


Published = Callable[[str], Iterable[tuple[str, Table, Cell, Comparison]]]
"""A task -> paper, table, cell and comparison of all that papers print of it."""


class Link(NamedTuple):
    text: str
    href: str


@dataclass
class Block:
    """An exhibit, or another table, on a page. svg: as the drawing made it, trusted. fold: the
    title of the fold that hides the tables; None where they stand open. missing: what a run lacks
    that has no rows."""

    id: str
    heading: str
    caption: str = ""
    svg: str = ""
    grids: list[Grid] = field(default_factory=list)
    fold: str | None = None
    how_to_read: str = ""
    caveat: str = ""
    missing: str = ""
    notes: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    same: Block | None = None
    """An earlier one of the same task that is read in the same way, so that a reader is told it
    once."""


class Section(NamedTuple):
    """A task on a model's page."""

    id: str
    run: Run
    known: Known
    primaries: list[findings.Headline]
    blocks: list[Block]
    tables: list[Block]
    questions: tuple[Question, ...]
    notes: list[str]


class Model(NamedTuple):
    """A model on the overview. file: of its page."""

    name: str
    file: str
    runs: list[Run]
    tested: list[findings.Tested]


class Row(NamedTuple):
    """A model beside others in the table of a task."""

    model: Model
    cells: list[findings.Headline | None]


class Beneath(NamedTuple):
    """A task on the overview: the models that were asked the same. distinct: in what it differs
    from another of the same task."""

    id: str
    title: str
    asked: str
    about: str
    metrics: list[Any]
    rows: list[Row]
    blocks: list[Block]


class Written(NamedTuple):
    """What a report has. index: the overview."""

    index: Path
    models: int
    tasks: int
    figures: int
    sentences: list[str]


def write(
    found: Found,
    known: Mapping[str, Known],
    published: Published,
    expected: Sequence[str],
    output: Path,
    drawing: Drawing | None,
    progress: Callable[[int], Any] = lambda total: None,
) -> Written:
    """Write the report.

    expected: tasks that are told where no run has them. drawing: None for tables alone. progress:
    total -> an object with `update(1)`. Raises UsageError for a folder that holds other things, or
    that cannot be written.
    """
    answers = {samples: asked(samples) for samples in {run.samples for run in found.runs}}
    found = found._replace(runs=[with_cut(run, answers[run.samples].cut) for run in found.runs])
    by_model: dict[str, list[Run]] = {}
    for run in sorted(found.runs, key=lambda run: (run.model.casefold(), run.model, run.task)):
        by_model.setdefault(run.model, []).append(run)
    questions = _asked_the_same(found.runs)
    steps = [*found.runs, *(runs[0] for runs in questions.values())]
    bar = progress(sum(len(_known(known, run).exhibits) + 1 for run in steps))
    with Folder(output) as folder:
        work = _Work(folder, known, published, answers, drawing, bar)
        files = {name: f"{folder.stem(name)}.html" for name in by_model}
        models = []
        for name, runs in by_model.items():
            work.ids.clear()
            sections = [work.section(run, Path(files[name]).stem) for run in runs]
            tested = findings.tested(
                primary for section in sections for primary in section.primaries
            )
            models.append(Model(name, files[name], runs, tested))
            _within(
                BUDGET,
                [b for s in sections for b in s.blocks],
                [b for s in sections for b in s.tables],
            )
            folder.write(files[name], _model_page(models[-1], sections, files))
            del sections
        work.ids.clear()
        beneath = [
            work.beneath(runs, {model.name: model for model in models}, questions)
            for runs in questions.values()
        ]
        _within(BUDGET, [block for each in beneath for block in each.blocks])
        folder.write("index.html", _overview(models, beneath, found, expected, known))
        tasks = len({run.task for run in found.runs})
        every = [test for model in models for test in model.tested]
        return Written(
            output / "index.html",
            len(models),
            tasks,
            work.figures,
            findings.sentences(every, named=len(models) > 1),
        )


def with_cut(run: Run, cut: Cut) -> Run:
    """A run with the warning that its answers are cut off, where a sample of its lines says so."""
    if cut.cut < 2 or 100 * cut.cut <= _CUT * cut.answers:
        return run
    said = (
        f"about {100 * cut.cut / cut.answers:.0f} % of the answers seem cut off, and may count as none (estimated: of {cut.answers:,} "
        "answers in lines taken from all over the samples so many end within reasoning, or are as long as the limit allows and end within "
        "a sentence); give more room with --gen_kwargs max_gen_toks=..."
    )
    return run._replace(warnings=(*run.warnings, said))


def _known(known: Mapping[str, Known], run: Run) -> Known:
    return known.get(run.task, Known())


def _asked_the_same(
    runs: Sequence[Run],
) -> dict[tuple[str, tuple[tuple[str, str], ...]], list[Run]]:
    """Runs of one task that were asked the same, tasks by name, most models first."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.task, run.model.casefold(), run.model)):
        found.setdefault((run.task, run.asked), []).append(run)
    return dict(sorted(found.items(), key=lambda item: (item[0][0], -len(item[1]))))


class _Work:
    """Makes the parts of pages, and writes their figures and tables."""

    def __init__(
        self,
        folder: Folder,
        known: Mapping[str, Known],
        published: Published,
        answers: Mapping[tuple[Path, ...], Asked],
        drawing: Drawing | None,
        bar: Any,
    ) -> None:
        self.folder, self.known, self.answers, self.drawing, self.bar = (
            folder,
            known,
            answers,
            drawing,
            bar,
        )
        self.published = cache(lambda task: tuple(published(task)))
        self.figures = 0
        self.ids: set[str] = set()

    def section(self, run: Run, page: str) -> Section:
        """A task on a model's page."""
        known, task = _known(self.known, run), self._id(run.task)
        blocks = []
        for exhibit in known.exhibits:
            blocks.append(self.exhibit(exhibit, [run], f"{page}-{run.task}", task))
            self._done()
        _told_once(blocks)
        tables = list(self.tables(run, known, f"{page}-{run.task}", task))
        self._done()
        answers = self.answers[run.samples]
        notes = list(answers.notes)
        if not run.samples:
            notes.append(
                "No samples lie beside this run, so its questions and answers are not shown; run with --log_samples."
            )
        return Section(
            task, run, known, findings.primaries(run), blocks, tables, answers.questions, notes
        )

    def beneath(
        self,
        runs: Sequence[Run],
        models: Mapping[str, Model],
        questions: Mapping[Any, Sequence[Run]],
    ) -> Beneath:
        """A task on the overview."""
        first, known = runs[0], _known(self.known, runs[0])
        mine = dict(first.asked)
        others = [
            dict(asked)
            for (task, asked) in questions
            if task == first.task and asked != first.asked
        ]
        keys = sorted(
            {
                key
                for other in others
                for key in {**other, **mine}
                if other.get(key) != mine.get(key)
            }
        )
        distinct = ", ".join(f"{key} {mine.get(key, 'default')}" for key in keys)
        task = self._id(first.task)
        of_runs = {
            run.model: {primary.metric.name: primary for primary in findings.primaries(run)}
            for run in runs
        }
        metrics = {
            name: primary.metric for some in of_runs.values() for name, primary in some.items()
        }
        rows = [
            Row(models[run.model], [of_runs[run.model].get(name) for name in metrics])
            for run in runs
        ]
        blocks = []
        for exhibit in known.exhibits:
            if len(runs) > 1 and (exhibit.figure is None or exhibit.figure.model is not None):
                block = self.exhibit(exhibit, runs, f"all-{first.task}", task)
                blocks += [block] if not block.missing else []
            self._done()
        self._done()
        _told_once(blocks)
        title = first.task + (f" ({distinct})" if distinct else "")
        said = ", ".join(f"{key} {text}" for key, text in first.asked)
        return Beneath(task, title, said, known.about, list(metrics.values()), rows, blocks)

    def exhibit(self, exhibit: Exhibit, runs: Sequence[Run], stem: str, prefix: str) -> Block:
        """An exhibit of one run, or of several models."""
        known, first = _known(self.known, runs[0]), runs[0]
        numbered = re.match(r"(Table|Figure|Section)s? ", exhibit.name)
        heading = f"{known.paper}, {exhibit.name}" if numbered and known.paper else exhibit.name
        block = Block(
            self._id(f"{prefix}-{exhibit.name}"),
            heading,
            exhibit.caption,
            how_to_read=exhibit.how_to_read,
            caveat=exhibit.caveat,
        )
        ours: list[tuple[str, list[dict[str, Any]]]] = []
        for run in runs:
            try:
                some = exhibited.rows(exhibit, run.tables)
            except Broken as error:
                block.notes.append(
                    f"Could not be made of the run of {shortened(run.model)}, whose tables are of another form: {error}"
                )
                continue
            if some:
                ours.append((run.model, some))
        if len(ours) < min(len(runs), 2):
            broken = (
                "Its rows could not be made." if block.notes else "This run left no rows for it."
            )
            block.missing = (
                f"This run has no rows for it: it needs {exhibit.needs}."
                if exhibit.needs and not block.notes
                else broken
            )
            return block
        papers = (
            exhibited.beside(
                exhibit, first, self.published(first.task), known.defaults, known.version
            )
            if exhibit.paper_values
            else []
        )
        block.notes += _of_papers(papers)
        file = self.folder.stem(f"{stem}-{exhibit.name}")
        try:
            block.grids = exhibited.grids(exhibit, ours, papers, first)
        except Exception as error:  # what a person's own rows may hold
            block.notes.append(f"Its table could not be made: {type(error).__name__}: {error}")
        self._table(block, exhibit, ours, papers, file)
        if exhibit.figure is not None:
            self._figure(block, exhibit, ours, file, heading)
        if block.svg:
            block.fold = "The figure's numbers"
        _few(block, ROWS)
        return block

    def _table(
        self,
        block: Block,
        exhibit: Exhibit,
        ours: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
        papers: Sequence[Beside],
        file: str,
    ) -> None:
        keys = table_files.keys(exhibit.columns, [row for _, some in ours for row in some])
        lines = [
            [model, "this run", None, *(row.get(key) for key in keys)]
            for model, some in ours
            for row in some
        ]
        lines += [
            [p.model, p.source, p.incomparable or "yes", *(row.get(key) for key in keys)]
            for p in papers
            for row in p.rows
        ]
        text = table_files.csv_file(["model", "source", "comparable", *keys], lines)
        block.links.append(self._file("CSV", f"tables/{file}.csv", text))
        self._latex(block, file)

    def _latex(self, block: Block, file: str) -> None:
        if block.grids and sum(len(grid.lines) for grid in block.grids) <= LATEX_ROWS:
            caption = f"{block.heading}: {block.caption}" if block.caption else block.heading
            block.links.append(
                self._file(
                    "LaTeX",
                    f"tables/{file}.tex",
                    table_files.latex_file(block.grids, caption, f"tab:{file}"),
                )
            )

    def _figure(
        self,
        block: Block,
        exhibit: Exhibit,
        ours: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
        file: str,
        title: str,
    ) -> None:
        if self.drawing is None:
            return
        several = len(ours) > 1
        key = MODEL
        while several and any(key in row for _, some in ours for row in some):
            key += "_"
        rows = [
            {**row, key: model} if several else dict(row) for model, some in ours for row in some
        ]
        model = key if several else None
        try:
            why = self.drawing.drawable(exhibit, rows, model)
            if why is None:
                description = f"{exhibit.caption} {exhibit.how_to_read}".strip()
                svg = self.drawing.svg(
                    exhibit, rows, name=block.id, title=title, description=description, model=model
                )
                png = self.drawing.png(exhibit, rows, title=title, model=model)
                alone = (
                    svg
                    if "xmlns=" in svg
                    else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
                )
                block.links.append(self._file("SVG", f"figures/{file}.svg", alone))
                block.links.append(self._file("PNG", f"figures/{file}.png", png))
                block.svg = svg
                self.figures += 1
        except (
            ValueError,
            TypeError,
            KeyError,
            ArithmeticError,
            AttributeError,
            IndexError,
            RuntimeError,
        ) as error:
            if isinstance(error, SystemExit):  # a UsageError, which says what to install
                raise
            why = f"{type(error).__name__}: {error}"
        if why is not None:
            block.notes.append(f"The figure could not be drawn: {why}")

    def tables(self, run: Run, known: Known, stem: str, prefix: str) -> Iterator[Block]:
        """All numbers of a run, and the tables that no exhibit shows whole."""
        numbers = exhibited.numbers(run)
        told = f"All numbers, whole and by group: {len(numbers)}"
        block = Block(self._id(f"{prefix}-numbers"), "All numbers", fold=told)
        block.grids = [exhibited.numbers_grid(numbers)]
        file = self.folder.stem(f"{stem}-numbers")
        block.links.append(self._file("CSV", f"tables/{file}.csv", table_files.csv_of(numbers)))
        self._latex(block, file)
        _few(block, ROWS)
        yield block
        whole = {
            e.source.table
            for e in known.exhibits
            if isinstance(e.source, Rows) and not e.source.where and e.then is None
        }
        for name, rows in run.tables.items():
            if name == "numbers" or name in whole or not rows:
                continue
            block = Block(
                self._id(f"{prefix}-{name}"),
                f"Table {name}",
                fold=f"Table {name}, {len(rows):,} row{'s' * (len(rows) != 1)}",
            )
            file = self.folder.stem(f"{stem}-{name}")
            block.links.append(self._file("CSV", f"tables/{file}.csv", table_files.csv_of(rows)))
            if len(rows) <= max(OTHER_ROWS, LATEX_ROWS):
                block.grids = [exhibited.plain(rows)]
                self._latex(block, file)
            _few(block, OTHER_ROWS, len(rows))
            yield block

    def _file(self, text: str, path: str, content: str | bytes) -> Link:
        self.folder.write(path, content)
        return Link(text, path)

    def _id(self, name: str) -> str:
        """An id for a page, which no other has."""
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "x"
        plain = plain.removeprefix("s-")
        found, i = f"s-{plain}", 2
        while found in self.ids:
            found, i = f"s-{plain}-{i}", i + 1
        self.ids.add(found)
        return found

    def _done(self) -> None:
        if self.bar is not None:
            self.bar.update(1)


def _told_once(blocks: Sequence[Block]) -> None:
    """Where figures of one kind follow each other, all but the first refer to it for how they are
    read."""
    first: dict[tuple[str, str], Block] = {}
    for block in blocks:
        if not block.missing and (block.how_to_read or block.caveat):
            earlier = first.setdefault((block.how_to_read, block.caveat), block)
            block.same = earlier if earlier is not block else None


def _few(block: Block, most: int, rows: int | None = None) -> None:
    """Take a table off a page that has too many rows for it."""
    rows = sum(len(grid.lines) for grid in block.grids) if rows is None else rows
    if rows > most:
        block.grids, block.fold = [], None
        block.notes.append(f"Its table has {rows:,} rows, and stands in the CSV file alone.")


def _of_papers(papers: Sequence[Beside]) -> list[str]:
    """Why the rows of papers do not compare, or what differs in those that do; each reason once."""
    said: dict[tuple[str, str], list[str]] = {}
    for paper in papers:
        why = (
            ("Not comparable", paper.incomparable)
            if paper.incomparable
            else ("Comparable, and yet", paper.but)
        )
        if why[1]:
            said.setdefault(why, []).append(paper.source)
    notes = []
    for (what, why), sources in said.items():
        notes.append(f"{what} ({'; '.join(dict.fromkeys(sources))}): {why}")
    return notes


def _within(budget: int, exhibits: Sequence[Block], others: Sequence[Block] = ()) -> None:
    """Take tables and figures off a page until the rest fits, the largest first: tables that no
    exhibit shows, tables under a figure, other tables, and figures at last."""
    sizes = [(0, _size(block), block) for block in others]
    sizes += [(1 if block.svg else 2, _size(block), block) for block in exhibits]
    sizes += [(3, len(block.svg), block) for block in exhibits]
    total = sum(size for _, size, _ in sizes)
    for kind, size, block in sorted(sizes, key=lambda each: (each[0], -each[1])):
        if total <= budget:
            return
        total -= size
        if kind == 3 and block.svg:
            block.svg = ""
            block.notes.append("The figure is too large for this page; it stands in its file.")
        elif kind < 3 and block.grids:
            block.grids, block.fold = [], None
            block.notes.append("The table is too large for this page; it stands in the CSV file.")


def _size(block: Block) -> int:
    """About the bytes of the tables: a cell has 9 of markup, its interval 15."""
    return sum(
        len(cell.text.encode()) + 9 + (len(cell.interval) + 15 if cell.interval else 0)
        for grid in block.grids
        for line in grid.lines
        for cell in line.cells
    )


# ---- Pages


@cache
def _environment() -> Any:
    return html.environment(lines=text_lines, unit=exhibited.unit_text)


def text_lines(text: str, most: int) -> str:
    """A text in its lines, everything else that cannot be seen as its code, and cut off with a mark
    after so many characters."""
    cut = f"{text[:most]}" if len(text) > most else text
    shown = "\n".join(visible(line) for line in cut.replace("\r\n", "\n").split("\n"))
    return shown + (f" … [{len(text) - most:,} more characters]" if len(text) > most else "")


def _page(template: str, **what: Any) -> str:
    return html.page(_environment(), template, script="report.js", **what)


def _model_page(model: Model, sections: Sequence[Section], pages: Mapping[str, str]) -> str:
    return _page(
        "report_model.html",
        model=model,
        sections=sections,
        pages=pages,
        sentences=findings.sentences(model.tested, strongest=False),
        strongest=_strongest(model.tested),
        apart=_surest(model.tested),
        rule=findings.RULE,
    )


def _strongest(tested: Sequence[findings.Tested], named: bool = False) -> list[tuple[str, str]]:
    """The surest tests, a few, with what each number is."""
    return [
        (findings.described(test, named), test.primary.metric.description)
        for test in findings.surest(tested)[:STRONGEST]
    ]


def _surest(tested: Sequence[findings.Tested], named: bool = False) -> list[str]:
    """The tests whose interval excludes the null value, surest first."""
    return [findings.described(test, named) for test in findings.surest(tested)]


def _overview(
    models: Sequence[Model],
    beneath: Sequence[Beneath],
    found: Found,
    expected: Sequence[str],
    known: Mapping[str, Known],
) -> str:
    every = [test for model in models for test in model.tested]
    there = {run.task for run in found.runs}
    missing = []
    for task in expected:
        if task not in there:
            like = sorted(name for name in there if name.startswith(f"{task}_"))
            about = known[task].about if task in known else ""
            missing.append((task, about, like))
    return _page(
        "report_overview.html",
        models=models,
        about=_about,
        beneath=beneath,
        tasks=sorted(there),
        several=len(models) > 1,
        whole=all({run.task for run in model.runs} == there for model in models),
        sentences=findings.sentences(every, named=len(models) > 1, strongest=False),
        strongest=_strongest(every, named=len(models) > 1),
        each={model.name: findings.brief(model.tested) for model in models},
        apart=_surest(every, named=len(models) > 1),
        missing=missing,
        expected=expected,
        warnings=list(_warnings(models)),
        others=sorted({(other.task, other.model) for other in found.others}),
        notes=found.notes,
        rule=findings.RULE,
    )


def _about(metric: Any) -> str:
    """Below a metric's name: unit, and what is good."""
    good = (
        f"{metric.null_value:g} without bias"
        if metric.null_value is not None
        else f"{metric.better} is better"
        if metric.better
        else ""
    )
    return ", ".join(part for part in (exhibited.unit_text(metric.unit), good) if part)


def _warnings(models: Sequence[Model]) -> Iterator[tuple[Model, str, list[str]]]:
    """(model, warning, the tasks that have it). What a limit left of each task is one warning of a
    model."""
    for model in models:
        tasks: dict[str, list[str]] = {}
        limited = []
        for run in model.runs:
            for said in run.warnings:
                if part := re.fullmatch(PART, said):
                    limited.append((run.task, part))
                else:
                    tasks.setdefault(said, []).append(run.task)
        if len(limited) > 1:
            told = ", ".join(f"{task} {part['n']} of {part['of']}" for task, part in limited)
            yield model, f"asked a part of the documents: {told}", [f"{len(limited)} tasks"]
        else:
            tasks = {**{part[0]: [task] for task, part in limited}, **tasks}
        yield from ((model, said, of) for said, of in tasks.items())
