"""A report: an overview of finished runs and a page for each model, with figures and tables as
files beside them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias import exhibit as exhibits
from lm_eval_bias.exhibit import Exhibit
from lm_eval_bias.exhibit import Rows as RowsOf
from lm_eval_bias.figures import palette
from lm_eval_bias.measure import IN_FORM
from lm_eval_bias.results import verdict
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.latex import latex
from lm_eval_bias.results.leaderboard import about
from lm_eval_bias.results.runs import (
    FinishedRuns,
    Question,
    Run,
    by_question,
    distinguishing,
    listed,
)
from lm_eval_bias.results.table import Cell, Table, csv_text, number_cell, number_text, unit_text
from lm_eval_bias.results.transcripts import Transcript, transcript
from lm_eval_bias.show import exhibited, html, questions, repeat
from lm_eval_bias.show.exhibited import MODEL, PaperRows, Place, Rows, TaskInfo
from lm_eval_bias.show.folder import Folder
from lm_eval_bias.show.page_figures import source
from lm_eval_bias.usage import UsageError

BUDGET = 1_500_000
"""Bytes of figures and tables on a page, which has about a fifth more; what is above it stands in
files alone."""
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
    figure of a paper. svg: as the drawing made it, trusted. fold: the title of the fold of the
    tables. missing: what a run lacks. same: an earlier exhibit with the same explanation."""

    id: str
    topic: str
    caption: str = ""
    heading: str = ""
    counterpart: str = ""
    svg: str = ""
    tables: list[Table] = field(default_factory=list)
    fold: str | None = None
    how_to_read: str = ""
    caveat: str = ""
    missing: str = ""
    notes: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    same: Block | None = None

    def __post_init__(self) -> None:
        self.heading = self.topic

    def without_tables(self, why: str) -> None:
        self.tables, self.fold = [], None
        self.notes.append(why)

    @property
    def table_size(self) -> int:
        """About its bytes: a cell has 30 of markup and value, its interval 15."""
        return sum(
            len(cell.text.encode()) + 30 + (len(cell.interval) + 15 if cell.interval else 0)
            for table in self.tables
            for row in table.rows
            for cell in row
        )


class Section(NamedTuple):
    """A task, of one run or of the models that were asked the same. open: expanded on the page (one
    task per paper)."""

    id: str
    title: str
    known: TaskInfo
    primaries: Table
    blocks: list[Block]
    tables: Sequence[Block] = ()
    run: Run | None = None
    transcript: Transcript | None = None
    open: bool = False


class ModelPage(NamedTuple):
    """A model. file: of its page."""

    name: str
    file: str
    runs: list[Run]
    tests: list[verdict.Tested]


def write(
    finished: FinishedRuns,
    known: Mapping[str, TaskInfo],
    paper_values: Callable[[str], Iterable[Place]],
    expected: Sequence[str],
    output: Path,
    drawing: Any,
    brief: Callable[[Path], bytes | None] | None = None,
    latex_papers: bool = False,
) -> list[verdict.Tested]:
    """Write the report; returns its tests.

    paper_values: a task -> all that papers print of it. expected: tasks that the overview lists
    where no run has them. drawing: `figures.draw.files`. brief: a page -> its PDF, for
    `brief.html`. UsageError for a folder that holds other things, or that cannot be written.
    """
    from tqdm import tqdm

    transcripts = {files: transcript(files) for files in {run.samples for run in finished.runs}}
    by_model: dict[str, list[Run]] = {}
    for run in sorted(finished.runs, key=lambda run: (run.model.casefold(), run.model, run.task)):
        warnings = (*run.warnings, *_of_answers(run, transcripts[run.samples], known))
        by_model.setdefault(run.model, []).append(run._replace(warnings=warnings))
    runs = [run for of_model in by_model.values() for run in of_model]
    questions = sorted(by_question(runs).items(), key=lambda item: (item[0][0], -len(item[1])))
    total = len(runs) + len(questions)
    bar = tqdm(total=total, desc="report", unit="task", file=sys.stderr, disable=None)
    models = []
    with bar, Folder(output) as folder:
        files = {name: f"{folder.stem(name)}.html" for name in by_model}
        writer = _Writer(
            folder, known, paper_values, transcripts, drawing, latex_papers, bar, files
        )
        for name, of_model in by_model.items():
            model = ModelPage(name, files[name], of_model, verdict.judged(of_model))
            models.append(model)
            folder.write(model.file, writer.page(model))
        writer.ids.clear()
        tasks = [writer.overview(question, same, questions) for question, same in questions]
        _fit([block for task in tasks for block in task.blocks])
        tests = [test for model in models for test in model.tests]
        pairs = zip(tasks[::-1], questions[::-1], strict=True)
        where = {name: f"#{task.id}" for task, ((name, _), _) in pairs}
        first = {**writer.first(runs, tests, where), "models": models}
        folder.write("index.html", _overview(tasks, finished.notes, expected, known, first))
        if brief is not None:
            first["where"] = {task: f"index.html{id}" for task, id in where.items()}
            folder.write("brief.html", _brief(runs, known, first))
            if pdf := brief(folder.new / "brief.html"):
                folder.write("brief.pdf", pdf)
    return tests


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
    folder: Folder
    known: Mapping[str, TaskInfo]
    paper_values: Callable[[str], Iterable[Place]]
    transcripts: Mapping[tuple[Path, ...], Transcript]
    drawing: Any
    latex_papers: bool
    bar: Any
    files: Mapping[str, str]
    ids: set[str] = field(default_factory=set)

    def page(self, model: ModelPage) -> str:
        self.ids.clear()
        sections = [self.section(run, Path(model.file).stem) for run in model.runs]
        _fit(
            [block for section in sections for block in section.blocks],
            [block for section in sections for block in section.tables],
        )
        drawn = [section for section in sections if any(block.svg for block in section.blocks)]
        first: dict[str, str] = {}
        for section in (*drawn, *sections):
            first.setdefault(section.known.paper or section.title, section.id)
        sections = [section._replace(open=section.id in first.values()) for section in sections]
        where = {section.title: f"#{section.id}" for section in sections}
        contents = [
            (section.id, section.title, [b for b in section.blocks if not b.missing])
            for section in sections
        ]
        return _page(
            "report_model.html",
            page=model.file,
            model=model,
            sections=sections,
            listed=[("found", "What was found", []), *contents],
            **self.first(model.runs, model.tests, where),
        )

    def first(
        self, runs: Sequence[Run], tests: Sequence[verdict.Tested], where: Mapping[str, str]
    ) -> dict[str, Any]:
        """What the first screen shows of some runs. where: task -> what its name leads to."""
        series = {name: i for i, name in enumerate(dict.fromkeys(run.model for run in runs))}
        rows, shared = questions.rows(tests)
        return {
            "pages": self.files,
            "where": where,
            "series": series,
            "rows": rows,
            "shared": shared,
            "sentences": verdict.sentences(tests),
            "asked": runs,
            "several": len(series) > 1,
            "commands": repeat.commands(runs, self.known),
        }

    def section(self, run: Run, page: str) -> Section:
        known, task = self.known.get(run.task, TaskInfo()), self._id(run.task)
        stem = f"{page}-{run.task}"
        blocks = [self.exhibit(exhibit, [run], stem, task) for exhibit in known.exhibits]
        _explain_once(blocks)
        tables = list(self.tables(run, known, stem, task))
        self.bar.update(1)
        samples = self.transcripts[run.samples]
        return Section(task, run.task, known, _primaries(run), blocks, tables, run, samples)

    def overview(
        self, question: Question, runs: Sequence[Run], questions: Iterable[tuple[Question, Any]]
    ) -> Section:
        name = runs[0].task
        known, task = self.known.get(name, TaskInfo()), self._id(name)
        exhibits = [
            exhibit
            for exhibit in known.exhibits
            if len(runs) > 1 and (exhibit.figure is None or exhibit.figure.model is not None)
        ]
        blocks = [self.exhibit(exhibit, runs, f"all-{name}", task) for exhibit in exhibits]
        blocks = [block for block in blocks if not block.missing]
        _explain_once(blocks)
        self.bar.update(1)
        metrics = {metric.name: metric for run in runs for metric, _ in run.primaries}
        head = [Cell("Model"), *(Cell(m.name, note=about(m)) for m in metrics.values())]
        rows = []
        for run in runs:
            cells = {
                metric.name: number_cell(number, metric.unit, verdict.kind(run, metric, number))
                for metric, number in run.primaries
            }
            model = Cell(run.model, link=self.files[run.model])
            rows.append([model, *(cells.get(metric, Cell("")) for metric in metrics)])
        details = listed(distinguishing(question, (other for other, _ in questions)))
        title = f"{name} ({details})" if details else name
        table = Table(head, rows, title=shortened(listed(dict(question[1])), 300))
        return Section(task, title, known, table, blocks)

    def exhibit(self, exhibit: Exhibit, runs: Sequence[Run], stem: str, prefix: str) -> Block:
        """An exhibit of one run, or of several models."""
        first = runs[0]
        known = self.known.get(first.task, TaskInfo())
        block = Block(
            self._id(f"{prefix}-{exhibit.name}"),
            exhibit.topic,
            exhibit.caption if exhibit.caption != exhibit.topic else "",
            counterpart=", ".join(filter(None, (known.paper, exhibit.name)))
            if exhibit.numbered
            else "",
            how_to_read=exhibit.how_to_read,
            caveat=exhibit.caveat,
        )
        models: list[tuple[Run, Rows]] = []
        for run in runs:
            try:
                if rows := exhibits.rows(exhibit, run.tables):
                    models.append((run, rows))
            except Exception as error:  # its own code may be a person's
                why = f"{type(error).__name__}: {error}"
                block.notes.append(f"It could not be made of the run of {run.model}: {why}")
        if len(models) < min(len(runs), 2):
            needs = f": it needs {exhibit.needs}" if exhibit.needs else ""
            block.missing = f"This run has no rows for it{needs}."
            return block
        named = [(run.model, rows) for run, rows in models]
        papers = exhibited.paper_rows(exhibit, first, self.paper_values(first.task), known)
        block.notes += _of_papers(papers)
        file = self.folder.stem(f"{stem}-{exhibit.name}")
        try:
            block.tables = [exhibited.table(exhibit, named, papers)]
        except Exception as error:  # what a person's own rows may hold
            block.notes.append(f"Its table could not be made: {type(error).__name__}: {error}")
        all_rows: list[Any] = [
            (model, "this run", None, row) for model, rows in named for row in rows
        ]
        for paper in papers:
            start = (paper.model, paper.source, paper.incomparable or "yes")
            all_rows += [(*start, row) for row in paper.rows]
        keys = exhibited.csv_keys(exhibit.columns, [row for *_, row in all_rows])
        lines = [
            [*start, *(exhibited.csv_value(row, key) for key in keys)] for *start, row in all_rows
        ]
        written = block.tables
        if written and not self.latex_papers:
            written = [exhibited.table(exhibit, named, ())]
        self._csv(block, file, ["model", "source", "comparable", *keys], lines, written)
        if exhibit.figure is not None and self.drawing is not None:
            self._figure(block, exhibit, models, file)
        if block.svg:
            block.fold = "The figure's numbers"
        _limit_rows(block, sum(len(table.rows) for table in block.tables))
        return block

    def _figure(
        self, block: Block, exhibit: Exhibit, models: Sequence[tuple[Run, Rows]], file: str
    ) -> None:
        key = MODEL
        while any(key in row for _, rows in models for row in rows):
            key += "_"
        rows = [{**row, key: run.model} for run, of_model in models for row in of_model]
        model = key if len(models) > 1 else None
        try:
            heading = verdict.heading(exhibit, models) or block.topic
            files = self.drawing(
                exhibit,
                rows,
                name=block.id,
                description=f"{exhibit.caption} {exhibit.how_to_read}".strip(),
                heading=heading,
                source=source([run for run, _ in models], block.counterpart),
                n=exhibited.sizes(exhibit, rows),
                model=model,
            )
            for ending, content in files.items():
                kind = ending.rpartition(".")[2].upper()
                column = " of one column" if ending.startswith("-") else ""
                self._file(block, kind + column, f"figures/{file}{ending}", content)
            block.heading, block.svg = heading, files[".svg"]
        except UsageError:  # a full disk
            raise
        except Exception as error:  # what a person's own rows may hold
            why = (
                str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            )
            block.notes.append(f"The figure could not be drawn: {why}")

    def tables(self, run: Run, known: TaskInfo, stem: str, prefix: str) -> Iterator[Block]:
        """All numbers of a run, and the tables that no exhibit shows whole."""
        whole = {
            e.source.table
            for e in known.exhibits
            if isinstance(e.source, RowsOf) and not e.source.where and e.then is None
        }
        for name, rows in run.tables.items():
            if not rows or (name in whole and name != "numbers"):
                continue
            title, make = f"Table {name}", exhibited.plain
            fold = f"{title}, {len(rows):,} row{'s' * (len(rows) != 1)}"
            if name == "numbers":
                title, make = "All numbers", exhibited.numbers
                fold = f"{title}, whole and by group: {len(rows)}"
            block = Block(self._id(f"{prefix}-{name}"), title, fold=fold)
            if len(rows) <= ROWS:
                block.tables = [make(rows)]
            keys = list(rows[0])
            lines = ([row.get(key) for key in keys] for row in rows)
            self._csv(block, self.folder.stem(f"{stem}-{name}"), keys, lines, block.tables)
            _limit_rows(block, len(rows))
            yield block

    def _csv(
        self,
        block: Block,
        file: str,
        head: Sequence[str],
        lines: Iterable[Sequence[Any]],
        tables: Sequence[Table],
    ) -> None:
        """tables: what LaTeX has."""
        self._file(block, "CSV", f"tables/{file}.csv", csv_text(head, lines))
        if tables and sum(len(table.rows) for table in tables) <= ROWS:
            caption = f"{block.topic}: {block.caption}" if block.caption else block.topic
            counterpart = f" ({block.counterpart})" * bool(block.counterpart)
            content = latex(tables, caption + counterpart, f"tab:{file}")
            self._file(block, "LaTeX", f"tables/{file}.tex", content)

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


def _explain_once(blocks: Sequence[Block]) -> None:
    """Exhibits that are read in the same way refer to the first of them."""
    first: dict[tuple[str, str], Block] = {}
    for block in blocks:
        if not block.missing and (block.how_to_read or block.caveat):
            earlier = first.setdefault((block.how_to_read, block.caveat), block)
            block.same = earlier if earlier is not block else None


def _limit_rows(block: Block, rows: int) -> None:
    if rows > ROWS:
        block.without_tables(f"Its table has {rows:,} rows, and stands in the CSV file alone.")


def _of_papers(papers: Sequence[PaperRows]) -> list[str]:
    """Why the rows of papers do not compare, or what differs; each reason once."""
    sources: dict[str, dict[str, None]] = {}
    for paper in papers:
        if paper.incomparable:
            sources.setdefault(f"Not comparable (%s): {paper.incomparable}", {})[paper.source] = (
                None
            )
        elif paper.differs:
            reason = f"Comparable, and yet (%s): {paper.differs}"
            sources.setdefault(reason, {})[paper.source] = None
    return [reason.replace("%s", "; ".join(papers), 1) for reason, papers in sources.items()]


def _fit(exhibits: Sequence[Block], others: Sequence[Block] = ()) -> None:
    """Take tables and figures off a page until the rest fits, the largest first."""
    sizes = [(0, block.table_size, block) for block in others]
    sizes += [(1 if block.svg else 2, block.table_size, block) for block in exhibits]
    sizes += [(3, len(block.svg), block) for block in exhibits]
    total = sum(size for _, size, _ in sizes)
    for kind, size, block in sorted(sizes, key=lambda item: (item[0], -item[1])):
        if total <= BUDGET:
            return
        total -= size
        if kind == 3 and block.svg:
            block.svg = ""
            block.notes.append("The figure is too large for this page; it stands in its file.")
        elif kind < 3 and block.tables:
            block.without_tables("The table is too large for this page; it stands in the CSV file.")


def _primaries(run: Run) -> Table:
    head = ("Number", "Value and 95 % interval", "n", "Without bias", "What it is")
    rows = []
    for metric, number in run.primaries:
        value = number_cell(number._replace(n=None), metric.unit)
        unit = "" if isnan(number.value) else unit_text(metric.unit)
        better = f" {metric.better.capitalize()} is better." if metric.better else ""
        rows.append(
            [
                Cell(metric.name),
                value._replace(
                    text=" ".join([value.text, *([unit] if unit else [])]),
                    note=run.range_text(metric),
                ),
                Cell("" if number.n is None else f"{number.n:,}"),
                Cell(
                    "" if metric.null_value is None else number_text(metric.null_value),
                    note=verdict.kind(run, metric, number),
                ),
                Cell(metric.description + better),
            ]
        )
    title = f"Primary numbers of {run.task}, {run.n:,} documents"
    return Table([Cell(text) for text in head], rows, frozenset({0, 4}), title)


# ---- Pages


def _page(template: str, **what: Any) -> str:
    constants = {
        "rule": verdict.RULE,
        "cannot": verdict.CANNOT,
        "intro": INTRO,
        "most": MANY,
        "width": questions.WIDTH,
    }
    constants |= {"colours": palette.COLOURS, "version": version("lm-eval-bias")}
    return html.page(template, script="report.js", **constants, **what)


def _brief(runs: Sequence[Run], known: Mapping[str, TaskInfo], first: dict[str, Any]) -> str:
    tasks = dict.fromkeys(run.task for run in runs)
    infos = {task: known.get(task, TaskInfo()) for task in tasks}
    abouts = {task: ": ".join(filter(None, (k.paper, k.about))) for task, k in infos.items()}
    more = {"names": list(first["series"]), "abouts": abouts, "listed": []}
    return _page("report_brief.html", page="brief.html", **more, **first)


def _overview(
    tasks: Sequence[Section],
    notes: Sequence[str],
    expected: Sequence[str],
    known: Mapping[str, TaskInfo],
    first: dict[str, Any],
) -> str:
    there = sorted({run.task for run in first["asked"]})
    missing = [
        (
            task,
            known[task].about if task in known else "",
            [name for name in there if name.startswith(f"{task}_")],
        )
        for task in expected
        if task not in there
    ]
    contents = [(task.id, task.title, task.blocks) for task in tasks]
    contents += [("left", "Left out", [])] if notes else []
    return _page(
        "report_overview.html",
        page="index.html",
        listed=[("found", "What was found", []), *contents],
        tasks=tasks,
        missing=missing,
        expected=expected,
        warnings=list(_warnings(first["models"])),
        notes=notes,
        **first,
    )


def _warnings(models: Sequence[ModelPage]) -> Iterator[tuple[ModelPage, str, list[str]]]:
    """(model, warning, the tasks that have it), of tasks that answer no question."""
    for model in models:
        tasks: dict[str, list[str]] = {}
        for run in model.runs:
            if any(test.run is run for test in model.tests):
                continue
            for warning in run.warnings:
                tasks.setdefault(warning, []).append(run.task)
        yield from ((model, warning, warned) for warning, warned in tasks.items())
