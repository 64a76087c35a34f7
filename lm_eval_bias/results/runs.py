"""Finished runs: what lies below a folder, read into one `Run` for each model and task.

The harness writes `results_DATE.json` and `samples_TASK_DATE.jsonl`, which may be compressed to
.gz; `merge` a results file of one task, `reasons` a table of the samples that it names.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from lm_eval_bias.catalogue import Task
from lm_eval_bias.data.bounds import GZ, Json, Unreadable, content_of, json_of, opened, plain_name
from lm_eval_bias.exhibit import Row, Table, known as finite_number
from lm_eval_bias.measure import FIRST_TOKEN, SEEN, UNITS, WITHOUT_UNSEEN, WORDINGS, Metric, Number
from lm_eval_bias.results import baseline
from lm_eval_bias.results.escape import clean, shortened
from lm_eval_bias.results.samples import (
    DATED,
    PARTS,
    RECORDED,
    Answers,
    answers,
    at,
    chat_template,
    date_of,
    dtype,
    in_order,
    is_tracked,
    mapping,
    measure_of,
    model_arguments,
    model_name,
    numbers_of,
    part_of,
    results_file,
    template_name,
    thinking,
)
from lm_eval_bias.results.table import number_text
from lm_eval_bias.usage import DESCRIPTIVE, PAPER, WORDING, Options, UsageError, nearest

if TYPE_CHECKING:
    from pandas import DataFrame

Key = tuple[str, str | None]
"""A metric, and the group that it is of; None for the whole."""
_OURS = re.compile(rb'\s*\{\s*"(?:task|reasons_of|results)"\s*:')
"""How files of `merge` and `reasons` begin, and results that Python saved."""
UNUSABLE, _MANY = frozenset({"refused", "refuse_rate", "unanswered", "unparsed", "invalid"}), 10
"""Numbers of unusable answers; above so many percent, the others are another sample."""
SYSTEM = "system instruction"
"""The setting that has the checksum of the system message."""
CHAT_TEMPLATE = "chat template"
THINKING = "thinking"
ACROSS = {
    CHAT_TEMPLATE: "chat_template",
    SYSTEM: "system",
    THINKING: THINKING,
    WORDING: WORDING,
    "dtype": "dtype",
    "revision": "revision",
}
"""The keys of `Run.condition`, and how `--across` calls them."""
NOTE = 1000
"""Characters of a note or warning, at most."""
_MASS, _LITTLE = "_mass", 50
"""Below so many percent, most of the probability lies on other words than the answers."""
_ANY_MODEL = re.compile(r"hf|models?|snapshots?|checkpoint-\d+", re.I)
"""A folder whose name says nothing of the model in it."""
_CACHED = re.compile(r"models--(.+?)[/\\]snapshots[/\\](\w+)")
"""A model of the hub in its cache."""


NAME = "name.txt"
"""A file that a person puts into a folder of runs, with the name of their model."""


class Place(NamedTuple):
    """A folder or file of runs. name: of their model, if a person named it."""

    path: Path = Path()
    name: str = ""

    @classmethod
    def of(cls, text: str) -> Place:
        """NAME=PATH, or a path."""
        name, _, path = text.partition("=")
        return cls(Path(text)) if os.path.exists(text) or not path else cls(Path(path), name)


class Run(NamedTuple):
    """One task, asked of one model. None is what no file says.

    model: as shown. identity: as the harness was given it. settings: what must be equal for two
    runs to have asked the same. condition: what `--across` knows of how it was asked. template:
    `samples.chat_template`. n: documents asked; of: how many the task has. place: where its files
    lie. parts: whether `merge` put it together. recorded: `samples.RECORDED` as the file has it.
    others: runs that differ in wording, chat template or system message alone.
    """

    model: str
    identity: str
    task: str
    version: str
    date: datetime | None
    options: Options
    template: str | None
    n: int
    metrics: Sequence[Metric]
    numbers: Mapping[Key, Number]
    tables: Mapping[str, Table]
    warnings: tuple[str, ...]
    settings: Mapping[str, str]
    results: Path
    samples: tuple[Path, ...] = ()
    parts: bool = False
    of: int | None = None
    others: Sequence[Run] = ()
    generation: Options = MappingProxyType({})
    condition: Mapping[str, str] = {}
    recorded: Json = MappingProxyType({})
    place: Place = Place()

    @property
    def key(self) -> str:
        """The same for runs of the same model."""
        return self.place.name or self.identity

    @property
    def wording(self) -> str:
        """The wording that its numbers were asked in."""
        return self.condition.get(WORDING, PAPER)

    @property
    def asked(self) -> dict[str, str]:
        """Its settings and its condition."""
        return {**self.settings, **self.condition}

    def settings_but(self, *left_out: str) -> dict[str, str]:
        return {key: value for key, value in self.settings.items() if key not in left_out}

    @property
    def variants(self) -> tuple[Run, ...]:
        """It and its others."""
        return self, *self.others

    @property
    def worded(self) -> list[Run]:
        """It and its others, each again in all wordings that it asked, with their primary
        numbers."""
        runs = []
        for run in self.variants:
            numbers = defaultdict[str, dict[Key, Number]](dict)
            for row in run.tables.get(WORDINGS, ()):
                numbers[str(row.get("wording"))][row.get("metric", ""), None] = number_of(row)
            runs.append(run)
            for wording, own in numbers.items():
                condition = {**run.condition, WORDING: wording}
                runs.append(run._replace(condition=condition, numbers={**run.numbers, **own}))
        return runs

    @property
    def words(self) -> tuple[str | None, ...]:
        """What shapes its prompts, beside the task's options."""
        return self.wording, self.template, *map(self.condition.get, (SYSTEM, THINKING))

    @property
    def conditions(self) -> dict[tuple[str | None, ...], dict[str, float]]:
        """The values of the primary numbers in each condition that it and its others asked:
        wording, chat template, system message and thinking."""
        conditions: dict[tuple[str | None, ...], dict[str, float]] = {}
        for run in reversed(self.worded):
            values = {metric.name: number.value for metric, number in run.primaries}
            conditions.setdefault(run.words, {}).update(values)
        return conditions

    def number(self, metric: str, group: str | None = None) -> Number:
        """NaN where there is none."""
        return self.numbers.get((metric, group), Number(math.nan))

    def by_group(self, metric: str | None) -> dict[str, Number]:
        """A number by group."""
        return {group: n for (name, group), n in self.numbers.items() if group and name == metric}

    def rates(self, group: str | None = None) -> dict[str, float]:
        """The declared rates of unusable answers of the run and of a group, in percent. `refused`
        and `unparsed` exclude each other, and are added."""
        rates = {
            f"{metric.name} of {of}" if of else metric.name: (
                self.number(metric.name, of).value * 100 ** (metric.unit == "share")
            )
            for of in (None, group)
            for metric in self.metrics
            if metric.name in UNUSABLE and (not of or (metric.name, of) in self.numbers)
        }
        for of_group in ("", f" of {group}"):
            both = [rates.get(f"{name}{of_group}", 0.0) for name in ("refused", "unparsed")]
            if min(both) > 0:
                rates[f"refused and unparsed{of_group}"] = sum(both)
        return rates

    def range_of(self, metric: str) -> tuple[float, float]:
        """The least and greatest value of a primary number over the conditions; NaN where one has
        no value."""
        values = [numbers.get(metric, math.nan) for numbers in self.conditions.values()]
        return (math.nan, math.nan) if any(map(math.isnan, values)) else (min(values), max(values))

    def range_text(self, metric: Metric) -> str:
        """`range_of` beside an interval; empty of one condition, or where all agree."""
        ends = self.range_of(metric.name)
        low, high = (number_text(end, metric.unit, ends) for end in ends)
        if not ends[0] < ends[1]:
            return ""
        return f"range {low} to {high} over {len(self.conditions)} conditions"

    def shown(self, names: Collection[str] | None) -> list[tuple[Metric, Number]]:
        """Its numbers METRIC or TASK/METRIC, by default the primary ones, in the order of their
        declaration."""
        return [
            (metric, self.numbers[metric.name, None])
            for metric in self.metrics
            if (metric.name, None) in self.numbers
            and (
                metric.primary
                if names is None
                else metric.name in names or f"{self.task}/{metric.name}" in names
            )
        ]

    @property
    def primaries(self) -> list[tuple[Metric, Number]]:
        return self.shown(None)

    @property
    def tested(self) -> list[tuple[Metric, Number]]:
        """Its primary numbers that test a question."""
        return [(m, n) for m, n in self.primaries if is_test(m)]

    def metric(self, name: str | None) -> Metric | None:
        return next((metric for metric in self.metrics if metric.name == name), None)


def is_test(metric: Metric) -> bool:
    """Whether a number tests a question."""
    return metric.question is not None and metric.null_value is not None


class Runs(NamedTuple):
    """notes: what was left out and why; unread: what could not be read; short: newer runs skipped
    because an older one covered more documents. across: the conditions that name models. others: of
    tasks without a measure, without metrics; their numbers are by the harness's name and filter.
    known: the tasks by name."""

    runs: list[Run]
    notes: list[str]
    unread: Sequence[str] = ()
    short: Sequence[str] = ()
    across: Collection[str] = ()
    others: Sequence[Run] = ()
    known: Mapping[str, Task] = {}

    def __repr__(self) -> str:
        return "\n".join([*(f"{run.model}: {run.task}" for run in self.runs), *self.notes])

    def numbers(self) -> DataFrame:
        """A row for each number of a run, of the whole and of each group.

        >>> runs.numbers().query("group.isna() and question.notna()")
        """
        from lm_eval_bias.results import frames

        return frames.numbers(self)

    def records(self, task: str) -> DataFrame:
        """A row for each answer, as the task's measure read it.

        Prompt and answer stand in the samples, which `pd.read_json(FILE, lines=True)` reads.

        >>> runs.records("hbb_ci")
        """
        from lm_eval_bias.results import frames

        return frames.records(self, task)

    def of_task(self, task: str) -> list[Run]:
        """Raises UsageError."""
        known = sorted({run.task for run in self.runs})
        if task not in known:
            raise UsageError(f"no run has the task {task!r}; {nearest(str(task), known)}")
        return [run for run in self.runs if run.task == task]

    def answers(self, run: Run) -> Answers | None:
        """None for a task that is unknown here."""
        task = self.known.get(run.task)
        return answers(task, run.samples, run.options) if task and task.measure else None


def find(
    paths: Sequence[Path | Place],
    known: Mapping[str, Task] = {},
    tasks: Collection[str] | None = None,
    across: Collection[str] = (),
) -> Runs:
    """All runs below some folders, or in some files, which may be a baseline.

    Of the same model and task the newest in the paper's wording counts, or an older one that asked
    more documents; a model with and without thinking is two. Parts count once `merge` has put them
    together. known: the tasks by name.
    across: values of `ACROSS`, which then name models. UsageError for a path or a task that is not
    there, without results, and for a name that is not of one model.
    """
    places = [path if isinstance(path, Place) else Place(path) for path in paths]
    places = [
        place._replace(path=baseline.unpacked(place.path))
        if place.path.name.endswith(baseline.SUFFIX) and place.path.is_file()
        else place
        for place in places
    ]
    read, unread, notes = _read(places, known)
    notes = [*unread, *notes]
    for place in dict.fromkeys([*places, *(run.place for run in read)]):
        models = len({run.identity for run in read if run.place == place})
        if place.name and models != 1:
            raise UsageError(
                f"{place.name}={place.path}: expected runs of one model that no path before has, "
                f"found {models} models"
            )
    there = sorted({run.task for run in read if run.metrics})
    for task in sorted(set(tasks or ()).difference(there)) if there else ():
        raise UsageError(f"--tasks {task}: no run has it; {nearest(task, there)}")
    wanted = [run for run in read if tasks is None or run.task in tasks]
    others = [run for run in wanted if not run.metrics]
    if others:
        notes.append(
            f"{', '.join(sorted({run.task for run in others}))}: without a measure of bias; "
            "lm-eval-bias compare --metric METRIC --task TASK compares any metric of samples"
        )
    # revisions are models already
    conditions = [key for key, name in ACROSS.items() if name in across and name != "revision"]
    apart = {(run.key, run.task, run.condition[THINKING]) for run in read if run.metrics}
    if THINKING not in conditions and len(apart) > len({where[:2] for where in apart}):
        conditions.append(THINKING)
    kept, left_out, short = _newest([run for run in wanted if run.metrics], conditions)
    notes, unread, short = (
        [shortened(note, NOTE) for note in dict.fromkeys(lines)]
        for lines in ([*notes, *left_out], unread, short)
    )
    if not kept:
        where = ", ".join(str(place.path) for place in places)
        if notes:
            raise UsageError("\n".join([f"no run below {where} has numbers", *notes]))
        raise UsageError(
            f"no results below {where}; run lm_eval with --output_path {places[0].path} "
            "--log_samples"
        )
    named = _named_apart([*kept, *_newest(others, conditions)[0]])
    shown = [_by_condition(run, conditions) for run in named]
    return Runs(shown[: len(kept)], notes, unread, short, conditions, shown[len(kept) :], known)


def _read(
    places: Sequence[Place], known: Mapping[str, Task]
) -> tuple[list[Run], list[str], list[str]]:
    """All runs; what could not be read, and other notes."""
    given = {place.path for place in places}
    runs, unread, notes = [], list[str](), []
    phrases: dict[str, Table] = {}
    for path, place in files(places, unread):
        name = DATED.match(path.name)
        if name and name["kind"] == "jsonl":
            notes += without_results(path)
            continue
        try:
            if not (name or path in given or _is_ours(path)):
                continue
            content = json_of(path)
            if "reasons_of" in mapping(content):
                phrases |= _phrases(clean(content))
                continue
            for run in _of_results(path, clean(content), known, unread):
                recorded = {key: at(content, key) for key in RECORDED}
                model = place.name or run.model
                runs.append(run._replace(place=place, model=model, recorded=recorded))
        except Unreadable as error:
            if not name or name["stem"] == "results" or path in given:
                again = "if it was cut off or changed, run again, or delete it"
                unread.append(f"{path}: cannot be read: {error.cause}; {again}")
    for i, run in enumerate(runs):
        for sample in map(plain_name, run.samples):
            if sample in phrases:
                runs[i] = run._replace(tables={**run.tables, "phrases": phrases[sample]})
    return runs, unread, notes


def check_metrics(names: Iterable[str], runs: Iterable[Run], option: str = "--metrics") -> None:
    """UsageError for a name that no run has."""
    known = {name for run in runs for m in run.metrics for name in (m.name, f"{run.task}/{m.name}")}
    for name in names:
        if name not in known:
            # NAME or TASK/NAME, as theirs is
            near = nearest(name, sorted(k for k in known if ("/" in k) == ("/" in name)))
            raise UsageError(f"{option} {name}: no run has that number; {near}")


def of_model(runs: Sequence[Run], name: str | None, option: str, single: str = "") -> list[Run]:
    """The runs of a model, by its name or as the harness was given it; of all without a name.
    single: what is of one model alone."""
    chosen = [run for run in runs if name in (None, run.model, run.identity)]
    if not chosen and name:
        near = nearest(name, sorted({run.model for run in runs}))
        raise UsageError(f"{option} {name}: no run is of that model; {near}")
    models = dict.fromkeys(run.model for run in chosen)
    if single and len(models) > 1:
        raise UsageError(
            f"{single} is of one model, and there are {len(models)}; choose with {option}: "
            f"{', '.join(models)}"
        )
    return chosen


# ---- What runs were asked


def by_question(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs that were asked the same, each by model; of a task the most first."""
    same = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.model.casefold(), run.model)):
        same[run.task, *sorted(run.settings.items())].append(run)
    return sorted(same.values(), key=lambda runs: (runs[0].task, -len(runs)))


def distinguishing(run: Run, others: Iterable[Run]) -> dict[str, str]:
    """Its settings that others of its task have otherwise."""
    settings = [other.settings for other in others if other.task == run.task]
    keys = {key for other in settings for key, *_ in different(run.settings, other)}
    return {key: run.settings.get(key, "default") for key in sorted(keys)}


def last_date(runs: Iterable[Run]) -> str:
    return max((f"{run.date:%Y-%m-%d}" for run in runs if run.date), default="")


def listed(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def different(first: Mapping[str, str], second: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The names, and both values, in which two runs were asked otherwise."""
    return [
        (key, first.get(key, "default"), second.get(key, "default"))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]


def against(key: str, first: str, second: str) -> str:
    return f"{key} {shortened(first, 40)} against {shortened(second, 40)}"


# ---- Files


def files(places: Sequence[Place], notes: list[str]) -> Iterator[tuple[Path, Place]]:
    seen = set()

    def unreadable(error: OSError) -> None:
        notes.append(f"{error.filename}: cannot be read: {error.strerror or error}")

    for place in places:
        path = place.path
        if not path.exists():
            raise UsageError(
                f"{path} is not there; give a folder or a file that `lm_eval --output_path` wrote"
            )
        # links to folders are not followed: they may lead round in circles
        folders = sorted(os.walk(path, onerror=unreadable)) if path.is_dir() else ()
        below = [Path(folder, name) for folder, _, names in folders for name in sorted(names)]
        for file in below if path.is_dir() else [path]:
            where = os.path.realpath(file)  # of a link in a circle, too
            if where not in seen and (file.is_file() or file.is_symlink()):
                seen.add(where)
                yield file, _named(file, place)


def _named(file: Path, place: Place) -> Place:
    """The place of a file: the nearest one above it with a name."""
    top = place.path if place.path.is_dir() else place.path.parent
    for path in () if place.name else file.parents:
        if (path / NAME).is_file():
            return Place(path, content_of(path / NAME).decode(errors="replace").strip())
        if path == top:
            break
    return place


def _is_ours(path: Path) -> bool:
    """Whether a file begins as `_OURS`: other files there may be large."""
    with suppress(Unreadable), opened(path) as file:
        return _OURS.match(file.read(200)) is not None
    return False


def _of_results(
    path: Path, content: Any, known_tasks: Mapping[str, Task], notes: list[str]
) -> Iterator[Run]:
    """Its runs, those of tasks without a measure, too. notes gets what is wrong with others. Raises
    Unreadable."""
    configs, results = mapping(content, "configs"), at(content, "results")
    if not (configs and isinstance(results, dict)):
        raise Unreadable(path, "no results file of lm_eval: it has no `configs` and `results`")
    if model_name(content) is None:
        raise Unreadable(path, "it names no model: neither `model_name` nor `model_args` is there")
    for task in configs:
        samples = samples_of(path, task, content)
        known = known_tasks.get(task)
        known = known if known and known.measure else None
        try:
            if known and known.is_of_harness and samples:
                content = _with_cells(content, known, samples)
            has_cells = "numbers" in mapping(content, "configs", task, "cells")
            if known and not has_cells:
                raise UsageError(_without_cells(task, configs[task], results.get(task), samples))
            run = run_of(path, task, content, known, samples)
            if not has_cells:
                run = run._replace(numbers=_of_harness(mapping(results, task), run.n))
            elif not run.numbers:
                raise UsageError("its table `numbers` is not one; run it again")
            yield run
        except UsageError as error:
            notes.append(f"{path}: {task} is left out: {error}")


def samples_of(path: Path, task: str, content: Json) -> tuple[Path, ...]:
    """The sample files of a task of a results file, as far as they are there."""
    date, named = date_of(path), content.get("files")
    if not date and isinstance(named, list):
        return tuple(map(Path, map(str, named)))
    beside = path.parent / f"samples_{task.replace(os.sep, '_')}_{date}.jsonl"
    # isfile answers for names that no file can have, too
    return tuple(filter(os.path.isfile, (beside, Path(f"{beside}{GZ}"))))[:1]


def _with_cells(content: Json, task: Task, samples: Sequence[Path]) -> Json:
    """The content of a results file with the numbers of a task of the harness, from its samples.
    Raises UsageError."""
    documents = in_order(task, samples)
    cells = clean(numbers_of(task, documents, {}))
    configs = content["configs"]
    configs = {**configs, task.name: {**configs[task.name], "cells": cells}}
    counts = {task.name: {"effective": len(documents)}, **mapping(content, "n-samples")}
    return {**content, "configs": configs, "n-samples": counts}


def _without_cells(task: str, config: Any, results: Any, samples: Sequence[Path]) -> str:
    if isinstance(stopped := at(config, "stopped"), str):
        return stopped
    again = "run it again with --log_samples"
    for file in samples:
        output = file.with_name(f"merged_{task}.json")
        again = (
            f"lm-eval-bias merge {task} '{file}' --output '{output}' makes them from its samples"
        )
    why = "it has no table of numbers"
    if any(name.startswith("bypass") for name in mapping(results)):
        why = "it ran with --predict_only, without numbers"
    elif isinstance(error := at(config, "error"), str):
        why = f"its numbers could not be computed ({error})"
    return f"{why}; {again}"


def run_of(
    path: Path, task: str, content: Json, known: Task | None, samples: tuple[Path, ...]
) -> Run:
    """A task's run. path: of its results, or of samples where these are merged."""
    config, date = content["configs"][task], date_of(path)
    tables = {name: table for name, table in mapping(config, "cells").items() if _is_table(table)}
    tables["numbers"] = rows = [
        {key: shortened(v) if key in ("metric", "group") and v else v for key, v in row.items()}
        for row in tables.get("numbers", [])
        if isinstance(row.get("metric"), str)
    ]
    metadata, versions = mapping(config, "metadata"), mapping(content, "versions")
    if known is None:  # the harness puts the model's arguments there too
        others = {*DESCRIPTIVE, *model_arguments(content)}
        options = {key: value for key, value in metadata.items() if key not in others}
    else:
        names = [*known.option_names, *(f"{option}_sha256" for option in known.option_names)]
        options = {key: metadata[key] for key in names if key in metadata}
    identity, template = str(model_name(content)), chat_template(content)
    changed, counts = at(content, "config", "gen_kwargs"), mapping(content, "n-samples", task)
    system = str(content.get("system_instruction_sha") or "")[:12]
    thinks, wording = thinking(content, task), str(options.get(WORDING, PAPER))
    wording = PAPER if wording == "all" else wording
    version = _plain(versions.get(task, metadata.get("version", "")))
    n = _count(counts.get("effective"))
    settings = {"version": version, "documents": f"{n:,}"}
    for key, value in options.items():
        # a file is known by its checksum
        if (
            key not in PARTS
            and f"{key}_sha256" not in options
            and (key, wording) != (WORDING, PAPER)
        ):
            settings[key] = _plain(str(value)[:12] if key.endswith("_sha256") else value)
    more = {"repeats": config.get("repeats"), SYSTEM: system, THINKING: thinks.removeprefix("no")}
    settings |= {key: _plain(value) for key, value in more.items() if value not in (None, "", 1)}
    run = Run(
        model=_short(identity),
        identity=identity,
        task=shortened(task),
        version=version,
        date=_date(date or content.get("date")),
        options=options,
        template=template,
        n=n,
        metrics=measure_of(known).metrics
        if known
        else _metrics(rows, mapping(content, "results", task)),
        numbers={(row["metric"], row.get("group")): number_of(row) for row in rows},
        tables=tables,
        warnings=(),
        settings=settings,
        results=path,
        samples=samples,
        parts=not date and "files" in content,
        of=_count(counts.get("original")) or None,
        generation={**mapping(config, "generation_kwargs"), **mapping(changed)},
        condition={
            "dtype": dtype(content),
            CHAT_TEMPLATE: template_name(template),
            SYSTEM: system
            or (
                "none" if "system_instruction_sha" in content and is_tracked(content) else "unknown"
            ),
            THINKING: thinks,
            "revision": identity.partition("@")[2] or "main",
            WORDING: wording,
        },
    )
    return run._replace(
        warnings=tuple(shortened(line, NOTE) for line in _warnings(run, config, changed))
    )


def without_results(samples: Path) -> list[str]:
    """A note of a sample file whose results are missing."""
    note = (
        f"{samples}: its results file is not beside it, so its model and options are not known; "
        "put both into one folder"
    )
    return [] if results_file(samples) else [note]


def _short(identity: str, depth: int = 1) -> str:
    """The last part of a local path that says something, and with more depth what stands behind
    and before it; a name of a hub whole, also from the path of its cache."""
    if cached := _CACHED.search(identity):
        return cached[1].replace("--", "/") + f"@{cached[2]}" * (depth > 1)
    local = identity.startswith(("/", ".", "~")) or identity.count("/") > 1 or "\\" in identity
    parts = [part for part in re.split(r"[/\\]+", identity) if part]
    if not (local and parts):
        return identity
    naming = (i for i, part in enumerate(parts) if not _ANY_MODEL.fullmatch(part))
    last = max(naming, default=len(parts) - 1)
    return "/".join(parts[max(last - max(depth - 2, 0), 0) : None if depth > 1 else last + 1])


def _named_apart(runs: Sequence[Run]) -> list[Run]:
    names = {run.key: run.model for run in runs}
    for depth in range(2, 50):
        shown = Counter(names.values())
        names |= {key: _short(key, depth) for key, name in names.items() if shown[name] > 1}
    names = {key: shortened(name) for key, name in names.items()}
    # "./a" and "a": no part of a path is left that differs, and no name may be what another model
    # is called in full.
    shown = Counter(names.values())
    names |= {key: key for key, name in names.items() if shown[name] > 1 or name in names}
    return [run._replace(model=names[run.key]) for run in runs]


def _by_condition(run: Run, across: Collection[str]) -> Run:
    """Its model named by these conditions, which are no settings any more."""
    condition = listed({key: run.condition[key] for key in across})
    model = f"{run.model} ({condition})" if condition else run.model
    return run._replace(model=model, settings=run.settings_but(*across))


def _warnings(run: Run, config: Json, changed: Any) -> Iterator[str]:
    if 0 < run.n < (run.of or 0):
        yield f"asked {run.n:,} of {run.of:,} documents"
    if isinstance(error := config.get("error"), str):
        yield f"an error: {error}"
    for name, percent in run.rates().items():
        if percent > _MANY:
            yield f"{name} {percent:.0f} %: the numbers are those of the other answers"
    events, unanswered = run.number("events"), run.number("unanswered").value
    for metric, number in run.tested:
        counted = number.n or events.value  # those alone where no placebos were asked
        if counted <= 0.75 * (events.n or 0) and 0 < unanswered < 50:
            yield (
                f"{metric.name} counts {counted:.0f} of {events.n} events, those with all answers, "
                f"and {unanswered:.1f} % of the answers are missing: --metadata missing=pairwise "
                "counts the others, too"
            )
    for metric in run.metrics:
        if is_test(metric) and run.numbers and (metric.name, None) not in run.numbers:
            yield f"version {run.version} had no {metric.name}: run it again for an answer"
        percent = run.number(metric.name).value
        if metric.name.endswith(_MASS) and percent < _LITTLE:
            yield (
                f"{metric.name} {percent:.0f} %: most of the probability lies on other words "
                "than the answers"
            )
    yield from _of_seen(run)
    if at(config, "metadata", "unused_chat_template"):
        yield (
            "its tokenizer has a chat template, which was not applied: right for a base model, not "
            "for an instruction-tuned one"
        )
    elif run.template == "":
        yield "unknown whether a chat template was applied: its results do not say"
    if changed:
        yield f"generation settings of its own: {_plain(changed)}"


def _of_seen(run: Run) -> Iterator[str]:
    """Lines of a run whose likelihoods were read from the likeliest tokens."""
    rows = run.tables.get(SEEN, [])
    unseen, first = (
        as_float(row.get(key)) for row in rows[:1] or [{}] for key in ("unseen", FIRST_TOKEN)
    )
    if unseen > 0:
        changed = []
        for row in rows:
            name = str(row.get("metric"))
            metric = run.metric(name)
            with_, without = (
                number_text(as_float(row.get(key)), metric.unit if metric else "")
                for key in ("value", WITHOUT_UNSEEN)
            )
            if with_ != without:
                changed.append(f"{name} {with_} or {without}")
        yield (
            f"{unseen:.0f} % of questions: an answer is not among the tokens that the server "
            "showed. Its probability is taken as the largest possible, and intervals cover 0, too; "
            + (f"with one or the other: {', '.join(changed)}" if changed else "no number changes")
        )
    if first > 0:
        yield f"{first:.0f} % of questions: an answer was read from its first token alone"


# ---- What a file may hold


def _plain(value: Any) -> str:
    """A version or an option in one line: 2 and 2.0 are the same."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _count(value: Any) -> int:
    return max(int(finite_number(value) or 0), 0)


def as_float(value: Any) -> float:
    """NaN for what is no number: None, a text, a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(value)


def _date(value: Any) -> datetime | None:
    """As in file names, which have dashes for colons, or as merge writes it."""
    try:
        if isinstance(value, float):
            return datetime.fromtimestamp(value)
        day, _, time = str(value).partition("T")
        return datetime.fromisoformat(f"{day}T{time.replace('-', ':')}").replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def _is_table(value: Any) -> TypeGuard[Table]:
    return isinstance(value, list) and all(
        isinstance(row, dict) and row.keys() == value[0].keys() for row in value
    )


def number_of(row: Row, name: str = "") -> Number:
    """The number of a row of the table `numbers`, or that in the columns NAME and NAME_PART."""
    keys = [name, *(f"{name}_{part}" for part in Number._fields[1:])] if name else Number._fields
    value, stderr, low, high, *counts = (as_float(row.get(key)) for key in keys)
    clusters, n = (int(count) if 0 <= count < math.inf else None for count in counts)
    return Number(value, stderr, low, high, clusters, n)


def _metrics(rows: Sequence[Row], results: Json) -> list[Metric]:
    """Metrics of a task that is not known here, from its numbers. Those of the harness's table are
    the primary ones."""
    shown = {name.partition(",")[0] for name in results}
    metrics: dict[str, Metric] = {}
    for row in rows:
        name, better, unit = row["metric"], row.get("better"), row.get("unit")
        null_value, question = as_float(row.get("null_value")), row.get("question")
        metrics.setdefault(
            name,
            Metric(
                name,
                unit if unit in list(UNITS) else "",
                "",
                better=better if better in ("lower", "higher") else None,
                null_value=null_value if math.isfinite(null_value) else None,
                primary=name in shown or not shown,
                stderr=row.get("stderr") is not None,
                question=str(question) if question else None,
            ),
        )
    return list(metrics.values())


def _phrases(content: Json) -> dict[str, Table]:
    """What `lm-eval-bias reasons` wrote: its table, by the names of the samples."""
    phrases, samples = content.get("phrases"), content.get("reasons_of")
    if not (isinstance(samples, list) and _is_table(phrases)):
        return {}
    return {plain_name(Path(str(name))): phrases for name in samples}


def _of_harness(results: Json, n: int) -> dict[Key, Number]:
    """(metric, filter) -> number, as the harness computed it, ± 1.96 of its standard errors."""
    numbers: dict[Key, Number] = {}
    for name, text in results.items():
        metric, _, filter_ = name.partition(",")
        value, stderr = (as_float(x) for x in (text, results.get(f"{metric}_stderr,{filter_}")))
        if filter_ and not metric.endswith("_stderr") and math.isfinite(value):
            low, high = value - 1.96 * stderr, value + 1.96 * stderr
            numbers[metric, filter_] = Number(value, stderr, low, high, n=n)
    return numbers


# ---- Several runs of the same model and task


def _newest(runs: Sequence[Run], across: Iterable[str]) -> tuple[list[Run], list[str], list[str]]:
    """One run for each model, task and condition; notes of those left out, and which of these are
    newer."""
    groups = defaultdict(list)
    for run in runs:
        if not part_of(run.options):
            condition = [run.condition[key] for key in across]
            groups[run.key, run.task, *condition].append(run)
    kept, notes, short = [], [], []
    for same in groups.values():
        same.sort(key=lambda run: (_when(run), run.parts, str(run.results)), reverse=True)
        paper = [run for run in same if run.wording == PAPER] or same
        first = next((run for run in paper if run.template == same[0].template), paper[0])
        asked = first.template, first.settings_but("documents")
        alike = [run for run in paper if (run.template, run.settings_but("documents")) == asked]
        newest = max(alike, key=lambda run: run.n)  # a short trial does not hide a whole run
        others: list[Run] = []
        for run in same:
            if CHAT_TEMPLATE in across and run.template != newest.template:
                continue
            known = newest._replace(others=others).conditions
            comparable = run.settings_but(WORDING, SYSTEM) == newest.settings_but(WORDING, SYSTEM)
            if comparable and run.conditions.keys() - known.keys():
                others.append(run)
        kept.append(newest._replace(others=tuple(others)))
        for run in same:
            if run in (newest, *others) or _is_in(run, newest):
                continue
            newer = _when(run) > _when(newest)
            notes.append(
                f"{run.results}: {run.task} of {run.model} is ignored: "
                f"{newest.results} "
                f"{'covers more documents, or the wording of the paper' if newer else 'is newer'}"
                f"{_differences(run, newest)}"
                + "; if they are two models: NAME=PATH, in place of a path, names the model of its "
                "runs" * run.identity.startswith(".")
            )
            if newer:
                short.append(notes[-1])
    for run in runs:
        if part_of(run.options) and not any(_is_in(run, whole) for whole in kept):
            notes.append(
                f"{run.results}: {run.task} of {run.model} is a part, "
                f"{run.options['shard']}; put the parts together: lm-eval-bias merge "
                f"{run.task} SAMPLES ... --output FILE"
            )
    return kept, notes, short


def _when(run: Run) -> datetime:
    return run.date or datetime.min


def _is_in(part: Run, run: Run) -> bool:
    """Whether `merge` made a run of this part, too; the names of samples hold the date."""
    return run.parts and not {*map(plain_name, run.samples)}.isdisjoint(
        map(plain_name, part.samples)
    )


def _differences(run: Run, other: Run) -> str:
    parts = [against(*pair) for pair in different(run.asked, other.asked)]
    if run.template and other.template and run.template != other.template:
        parts.append("another chat template")
    if run.identity != other.identity:
        parts.append(f"another model: {run.identity} in place of {other.identity}")
    return f" ({'; '.join(parts)})" if parts else ""
