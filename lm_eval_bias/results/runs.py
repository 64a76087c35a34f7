"""Finished runs: what lies below a folder, read into one `Run` for each model and task.

The harness (0.4.13 and 0.5.0.dev1) writes `results_DATE.json` and, with --log_samples,
`samples_TASK_DATE.jsonl` beside it; a task that ran as part of a group is GROUP::TASK there in 0.5.
`lm-eval-bias merge --output` writes one task of one model, and `reasons --output` a table of the
samples that it names. What a file holds is checked before it is believed; what cannot be read is
told in a note, and the rest goes on.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from lm_eval_bias.catalogue import Task
from lm_eval_bias.measure import UNITS, Measure, Metric, Number
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.samples import (
    PARTS,
    chat_template,
    documents_of_all,
    merged,
    model_name,
    part_of,
)
from lm_eval_bias.usage import DESCRIPTIVE, UsageError, nearest

logger = logging.getLogger(__name__)

Key = tuple[str, str | None]
"""A metric, and the group that it is of; None for the whole."""
_DATED = re.compile(
    r"(?P<stem>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?)\.(?P<kind>jsonl?)$", re.S
)
_MERGED = re.compile(rb'\s*\{\s*"task"\s*:')
_REASONS = re.compile(rb'\s*\{\s*"reasons_of"\s*:')
# Numbers that count answers which tell nothing, and the share of them, in percent, from which what
# is left is another sample.
UNUSABLE, _MANY = frozenset({"refused", "refuse_rate", "unanswered", "unparsed", "invalid"}), 10
# Names of such numbers end so; below this, in percent, most of the model's probability lies on
# other words than the answers.
_MASS, _LITTLE = "_mass", 50
PART = re.compile(r"asked (?P<n>[\d,]+) of (?P<of>[\d,]+) documents")
"""The warning of a run that was not asked all."""
_CHAT = re.compile(r"(?<![a-z])(instruct|chat|it)(?![a-z])", re.I)


class Run(NamedTuple):
    """One task, asked of one model.

    model: as a person reads it. identity: as the harness was given it, which tells two models in
    folders of the same name apart. metrics: what the task declares; made from its numbers where the
    task is not known here. asked: what must be equal for two runs to have asked the same: version,
    options, number of documents. limit: how --limit had it, None without. template: the checksum of
    the chat template, `samples.OF_THE_SERVER` where a server applied its own, None if none was
    applied. n: documents asked. tables: the finer numbers, rows of equal columns. results: the
    file; samples: those of the task, none where they were not logged. parts: whether it was put
    together from several runs. counted: on how many clusters each number rests. of: how many
    documents the task has, None where no file tells.
    """

    model: str
    identity: str
    task: str
    version: str
    date: datetime | None
    options: Mapping[str, Any]
    limit: float | None
    template: str | None
    n: int
    metrics: Sequence[Metric]
    numbers: Mapping[Key, Number]
    tables: Mapping[str, list[dict[str, Any]]]
    warnings: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]
    results: Path
    samples: tuple[Path, ...] = ()
    parts: bool = False
    of: int | None = None

    @property
    def primaries(self) -> list[tuple[Metric, Number]]:
        """Its primary numbers, in the order of their declaration."""
        return [
            (metric, self.numbers[metric.name, None])
            for metric in self.metrics
            if metric.primary and (metric.name, None) in self.numbers
        ]


class OtherTask(NamedTuple):
    """A task of the harness that declares no measure: it is listed, and left alone."""

    model: str
    task: str
    results: Path


class FinishedRuns(NamedTuple):
    """notes: what was left out and why, a line each. unread: those of runs of ours without numbers,
    which may be newer than the others. short: newer runs that were skipped because an older run
    covered more documents."""

    runs: list[Run]
    others: list[OtherTask]
    notes: list[str]
    unread: Sequence[str] = ()
    short: Sequence[str] = ()


class _Unreadable(ValueError):
    """A file that is not what its name says; the text says how."""


def find(
    paths: Sequence[Path],
    known: Mapping[str, Task] = MappingProxyType({}),
    tasks: Iterable[str] | None = None,
) -> FinishedRuns:
    """All runs below some folders, or in some files. Of the same model and task the newest counts,
    or an older one that was asked the same but more documents; a note says so. Runs in parts
    (option `shard`) are put together from their samples.

    known: the tasks by name. tasks: only these. Raises UsageError for a path that is not there, for
    a task that no run has, and where no results file is found or none can be read.
    """
    read: list[Run] = []
    others: list[OtherTask] = []
    notes: list[str] = []
    samples, phrases = [], []
    has_results = False
    for path in _files(paths, notes):
        name = _DATED.match(path.name)
        is_results = name is not None and name["stem"] == "results"
        try:
            if name and name["kind"] == "jsonl":
                samples.append(path)
            elif name:  # also STEM_DATE.json of lm_eval --output_path STEM.json
                has_results |= is_results
                runs, foreign, problems = _of_results(path, name["date"], _content(path), known)
                has_results = True
                read += runs
                others += foreign
                notes += [f"{path}: {problem}" for problem in problems]
            elif path.suffix == ".json" and _begins(path, _REASONS):
                phrases.append(_content(path))
            elif path.suffix == ".json" and _begins(path, _MERGED):
                has_results = True
                read.append(_of_merged(path, _content(path), known))
            elif path in paths:
                raise _Unreadable(
                    "neither a results file of lm_eval nor of `lm-eval-bias merge --output`"
                )
        except _Unreadable as error:
            if not name or is_results or path in paths:
                notes.append(f"{path}: {error}")
    unread = tuple(notes)
    notes += _of_samples(samples)
    if not has_results or not (read or others):
        raise UsageError(_empty(paths, notes))
    if tasks is not None:
        there = sorted({run.task for run in read} | {other.task for other in others})
        for task in sorted(set(tasks).difference(there)):
            raise UsageError(
                f"--tasks {task}: no run has it; {nearest(task, [visible(t) for t in there])}"
            )
        read = [run for run in read if run.task in set(tasks)]
        others = [other for other in others if other.task in set(tasks)]
    kept, problems, short = _newest(read, known)
    return FinishedRuns(
        _named_apart([_with_phrases(run, phrases) for run in kept]),
        list(dict.fromkeys(others)),
        list(dict.fromkeys([*notes, *problems])),
        unread,
        short,
    )


# ---- What runs were asked

Question = tuple[str, tuple[tuple[str, str], ...]]
"""A task, and what its runs must have in common: `Run.asked`."""


def by_question(runs: Iterable[Run]) -> dict[Question, list[Run]]:
    """Runs that were asked the same, by task and model."""
    questions: dict[Question, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.task, run.model.casefold(), run.model)):
        questions.setdefault((run.task, run.asked), []).append(run)
    return questions


def distinguishing(question: Question, questions: Iterable[Question]) -> dict[str, str]:
    """In what a question differs from others of the same task."""
    task, asked = question
    others = [dict(other) for name, other in questions if name == task and other != asked]
    keys = {key for other in others for key, *_ in different(dict(asked), other)}
    return {key: dict(asked).get(key, "default") for key in sorted(keys)}


def different(first: Mapping[str, str], second: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The names, and both values, in which two runs were asked otherwise."""
    return [
        (key, first.get(key, "default"), second.get(key, "default"))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]


def _with_phrases(run: Run, files: Sequence[Mapping[str, Any]]) -> Run:
    """A run with the table `phrases`, where `lm-eval-bias reasons --output` found key phrases in
    its samples; of several files the last."""
    names = {path.name for path in run.samples}
    for content in files:
        phrases, of = content.get("phrases"), content.get("reasons_of")
        if not isinstance(of, list) or not isinstance(phrases, list) or not _is_table(phrases):
            continue
        if names.intersection(name for name in of if isinstance(name, str)):
            run = run._replace(tables={**run.tables, "phrases": phrases})
    return run


def _files(paths: Sequence[Path], notes: list[str]) -> Iterator[Path]:
    """Every file, in order, each once; links to folders are not followed, since they may lead round
    in circles. notes: gets a line for each folder that cannot be read, and for each link named as
    results that leads nowhere."""
    seen = set()

    def told(error: OSError) -> None:
        notes.append(f"{error.filename}: cannot be read: {error.strerror or error}")

    for path in paths:
        if path.is_dir():
            found = [
                Path(folder, name)
                for folder, _, names in sorted(os.walk(path, onerror=told))
                for name in sorted(names)
            ]
        elif path.exists():
            found = [path]
        else:
            raise UsageError(
                f"{path} is not there; give a folder or a file that `lm_eval --output_path` wrote"
            )
        for file in found:
            if file.is_file():
                if (where := file.resolve()) not in seen:
                    seen.add(where)
                    yield file
            elif (
                file.is_symlink()
                and (name := _DATED.match(file.name))
                and name["stem"] == "results"
            ):
                notes.append(
                    f"{file}: a link that leads to no file; copy the file itself there, or "
                    "delete it"
                )


def _empty(paths: Sequence[Path], notes: Sequence[str]) -> str:
    where = ", ".join(str(path) for path in paths)
    if not notes:
        return f"no results below {where}; run lm_eval with --output_path {paths[0]} --log_samples"
    return "\n".join([f"no results below {where} that can be read", *map(visible, notes)])


def _content(path: Path) -> dict[str, Any]:
    """A file of JSON as Python writes it, with NaN in it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _Unreadable(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        cause = "too deep" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        wrong = f"no whole JSON file ({shortened(cause)})"
        raise _Unreadable(
            f"{wrong}; it was cut off while it was written, or changed: run again, or delete it"
        ) from None
    if not isinstance(content, dict):
        raise _Unreadable("no results file of lm_eval: its JSON is no object")
    return content


def _begins(path: Path, kind: re.Pattern[bytes]) -> bool:
    """Whether a file is of a kind, by its first bytes: there may be large files of other kinds in
    the folder."""
    try:
        with path.open("rb") as file:
            return kind.match(file.read(200)) is not None
    except OSError:
        return False


# ---- One file


def _of_results(
    path: Path, date: str, content: dict[str, Any], known_tasks: Mapping[str, Task]
) -> tuple[list[Run], list[OtherTask], list[str]]:
    configs, results = content.get("configs"), content.get("results")
    if not isinstance(configs, dict) or not isinstance(results, dict):
        raise _Unreadable("no results file of lm_eval: it has no `configs` and `results`")
    general = _mapping(content.get("config"))
    identity = model_name(content)
    if identity is None:
        raise _Unreadable("it names no model: neither `model_name` nor `model_args` is there")
    runs, foreign, said = [], [], []
    for key, config in configs.items():
        task = key.rpartition("::")[2]
        config, known = _mapping(config), _declared(known_tasks, task)
        beside = path.parent / f"samples_{key.replace(os.sep, '_')}_{date}.jsonl"
        # which answers for names that no file can have, too
        samples = (beside,) if os.path.isfile(beside) else ()
        try:
            cells = config.get("cells")
            # older versions had other tables alone
            if not isinstance(cells, dict) or (known and "numbers" not in cells):
                if known is None:
                    foreign.append(OtherTask(_short(identity), task, path))
                else:
                    said.append(_without_cells(task, config, _mapping(results.get(key)), samples))
                continue
            numbers, rows = _numbers(cells)
            counts = _mapping(_mapping(content.get("n-samples")).get(key))
            n = _count(counts.get("effective"))
            metrics = known[0].metrics if known else _metrics(rows, _mapping(results.get(key)))
            metadata = _mapping(config.get("metadata"))
            version = _plain(
                _mapping(content.get("versions")).get(key, metadata.get("version", ""))
            )
            limit = as_float(general.get("limit"))
            run = Run(
                model=_short(identity),
                identity=identity,
                task=task,
                version=version,
                date=_date(date),
                options=_options(metadata, known, _mapping(general.get("model_args"))),
                limit=None if math.isnan(limit) else limit,
                template=chat_template(content),
                n=n,
                metrics=metrics,
                numbers=numbers,
                tables={name: table for name, table in cells.items() if _is_table(table)},
                warnings=(),
                asked=(),
                results=path,
                samples=samples,
                of=_count(counts.get("original")) or None,
            )
            more = {
                "repeats": config.get("repeats", 1),
                "system instruction": content.get("system_instruction_sha"),
            }
            runs.append(
                run._replace(
                    asked=_asked(run, more),
                    warnings=_warnings(run, _count(counts.get("original")), config, general),
                )
            )
        except _Unreadable as error:
            said.append(f"{shortened(task)} is left out: {error}")
    return runs, foreign, said


def _without_cells(
    task: str, config: Mapping[str, Any], results: Mapping[str, Any], samples: Sequence[Path]
) -> str:
    """Why a task of ours has no numbers, and what makes them."""
    again = "run it again with --log_samples"
    for file in samples:
        merged = file.with_name(f"merged_{task}.json")
        again = (
            f"lm-eval-bias merge {task} '{file}' --output '{merged}' makes them from its samples"
        )
    if any(name.startswith("bypass") for name in results):
        return f"{task} is left out: it ran with --predict_only, without numbers; {again}"
    if isinstance(config.get("error"), str):
        return (
            f"{task} is left out: its numbers could not be computed "
            f"({shortened(config['error'])}); {again}"
        )
    return f"{task} is left out: it has no table of numbers, as an older version wrote it; {again}"


def _of_merged(path: Path, content: dict[str, Any], known_tasks: Mapping[str, Task]) -> Run:
    task, cells, files = content.get("task"), content.get("cells"), content.get("files")
    if not isinstance(task, str) or not isinstance(cells, dict):
        raise _Unreadable("no file of `lm-eval-bias merge --output`: it has no `task` and `cells`")
    if not isinstance(content.get("model"), str):
        again = (
            "write it again with `lm-eval-bias merge --output`, where the results files stand "
            "beside the samples"
        )
        raise _Unreadable(f"it names no model; {again}")
    numbers, rows = _numbers(cells)
    known = _declared(known_tasks, task)
    run = Run(
        model=_short(content["model"]),
        identity=content["model"],
        task=task,
        version=_plain(content.get("version", "")),
        date=_date(content.get("date")),
        options=_options(_mapping(content.get("options")), known, {}),
        limit=None,
        template=_text(content.get("chat template")),
        n=_count(content.get("documents", content.get("records"))),
        metrics=known[0].metrics if known else _metrics(rows, {}),
        numbers=numbers,
        tables={name: table for name, table in cells.items() if _is_table(table)},
        warnings=(),
        asked=(),
        results=path,
        samples=tuple(Path(file) for file in files if isinstance(file, str))
        if isinstance(files, list)
        else (),
        parts=True,
        of=_count(content.get("of")) or None,
    )
    more = {
        "repeats": content.get("repeats", 1),
        "system instruction": content.get("system instruction"),
    }
    return run._replace(asked=_asked(run, more), warnings=_warnings(run, run.of or run.n, {}, {}))


def _of_samples(samples: Iterable[Path]) -> Iterator[str]:
    """Notes of sample files whose results are missing, and of those that end in the middle of a
    line."""
    for path in samples:
        name = _DATED.match(path.name)
        if name and not any(path.parent.glob(f"*_{name['date']}.json")):
            yield (
                f"{path}: its results file is not beside it, so its model and options are not "
                "known; put both into one folder"
            )
        elif _ends_early(path):
            yield f"{path}: its last line is cut off, or it is empty; run again with --log_samples"


def _ends_early(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:  # empty, too
        return True


def _parts_of_path(identity: str) -> list[str]:
    """A local path in its parts; a name of a hub, which has one slash at most, is one."""
    local = identity.startswith(("/", ".", "~")) or identity.count("/") > 1 or "\\" in identity
    return (
        [part for part in re.split(r"[/\\]+", identity) if part] or [identity]
        if local
        else [identity]
    )


def _short(identity: str, depth: int = 1) -> str:
    return "/".join(_parts_of_path(identity)[-depth:])


def _named_apart(runs: Sequence[Run]) -> list[Run]:
    """Models in folders of the same name get as much of their paths as tells them apart."""
    names = {run.identity: run.model for run in runs}
    depth = 1
    while len(set(names.values())) < len(names) and depth < 50:
        depth += 1
        twice = {name for name in names.values() if list(names.values()).count(name) > 1}
        names = {
            identity: _short(identity, depth) if name in twice else name
            for identity, name in names.items()
        }
    # "./a" and "a": no part of a path is left that differs, and no name may be what another model
    # is called in full.
    shown = list(names.values())
    names = {
        identity: identity if shown.count(name) > 1 or name in names else name
        for identity, name in names.items()
    }
    return [run._replace(model=names[run.identity]) for run in runs]


def _options(
    metadata: Mapping[str, Any], known: tuple[Measure, list[str]] | None, model: Mapping[str, Any]
) -> dict[str, Any]:
    """A task's options out of its metadata, in which the harness puts the model's arguments too."""
    if known is None:
        return {
            key: value
            for key, value in metadata.items()
            if key not in DESCRIPTIVE and key not in model
        }
    names = [*known[1], *(f"{option}_sha256" for option in known[1])]
    return {key: metadata[key] for key in names if key in metadata}


def _asked(run: Run, more: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What two runs must agree in. A file is known by the beginning of its checksum, since it may
    have been moved."""
    options = {
        k: v for k, v in run.options.items() if k not in PARTS and f"{k}_sha256" not in run.options
    }
    options |= {
        k: v[:12] for k, v in options.items() if k.endswith("_sha256") and isinstance(v, str)
    }
    kept = {
        "version": run.version,
        "documents": f"{run.n:,}",
        **options,
        **{k: v for k, v in more.items() if v not in (None, "", 1)},
    }
    return tuple((str(key), _plain(value)) for key, value in kept.items())


def _warnings(
    run: Run, of: int, config: Mapping[str, Any], general: Mapping[str, Any]
) -> tuple[str, ...]:
    """What a reader must know before the numbers: each names its consequence."""
    said = []
    shard = run.options.get("shard")
    if 0 < run.n < of and not (isinstance(shard, str) and not shard.endswith("/1")):
        said.append(f"asked {run.n:,} of {of:,} documents")
    if isinstance(config.get("error"), str):
        said.append(f"an error: {config['error']}")
    for metric in run.metrics:
        value = run.numbers.get((metric.name, None), Number(math.nan)).value
        percent = 100 * value if metric.unit == "share" else value
        if metric.name in UNUSABLE and percent > _MANY:
            said.append(
                f"{metric.name} {percent:.0f} %: the numbers are those of the other answers"
            )
        if metric.name.endswith(_MASS) and percent < _LITTLE:
            said.append(
                f"{metric.name} {percent:.0f} %: most of the probability lies on other words "
                "than the answers"
            )
    if run.template is None and _CHAT.search(run.model):
        said.append("by its name a chat model, asked without its chat template")
    if general.get("gen_kwargs"):
        said.append(f"generation settings of its own: {_plain(general['gen_kwargs'])}")
    return tuple(said)


# ---- What a file may hold


def _declared(known: Mapping[str, Task], name: str) -> tuple[Measure, list[str]] | None:
    """What a task that is known declares: its measure, and the names of its options."""
    task = known.get(name)
    return None if task is None or task.measure is None else (task.measure, task.option_names)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _plain(value: Any) -> str:
    """A version or an option in one line: 2 and 2.0 are the same."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _count(value: Any) -> int:
    number = as_float(value)
    return int(number) if math.isfinite(number) and number > 0 else 0


def as_float(value: Any) -> float:
    """NaN for what is no number: None, a text, a truth value."""
    try:
        return (
            float(value)
            if isinstance(value, (int, float)) and not isinstance(value, bool)
            else math.nan
        )
    except OverflowError:
        return math.nan


def _date(value: Any) -> datetime | None:
    """Of the harness's file names, which have dashes for colons, or as written by merge."""
    try:
        day, _, time = str(value).partition("T")
        return datetime.fromisoformat(f"{day}T{time.replace('-', ':')}").replace(tzinfo=None)
    except ValueError:
        return None


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, dict) and row.keys() == value[0].keys() for row in value
    )


def _numbers(cells: Mapping[str, Any]) -> tuple[dict[Key, Number], list[Mapping[str, Any]]]:
    rows = cells.get("numbers")
    if (
        not isinstance(rows, list)
        or not rows
        or not all(isinstance(r, dict) and isinstance(r.get("metric"), str) for r in rows)
    ):
        raise _Unreadable("its table `numbers` is not one; run it again")
    numbers = {}
    for row in rows:
        group = row.get("group")
        key = (row["metric"], None if group is None else str(group))
        value, stderr, low, high = (as_float(row.get(part)) for part in Number._fields[:4])
        clusters = as_float(row.get("clusters"))
        known = int(clusters) if 0 <= clusters < math.inf else None
        numbers[key] = Number(value, stderr, low, high, known)
    return numbers, rows


def _metrics(rows: Sequence[Mapping[str, Any]], results: Mapping[str, Any]) -> list[Metric]:
    """Metrics of a task that is not known here, as its own table of numbers has them. Those of the
    harness's table are the primary ones.
    """
    shown = {name.partition(",")[0] for name in results}
    found: dict[str, Metric] = {}
    for row in rows:
        name, better, null_value = row["metric"], row.get("better"), as_float(row.get("null_value"))
        unit = row.get("unit")
        found.setdefault(
            name,
            Metric(
                name,
                unit if isinstance(unit, str) and unit in UNITS else "",
                "",
                better=better if better in ("lower", "higher") else None,
                null_value=null_value if math.isfinite(null_value) else None,
                primary=name in shown or not shown,
                stderr=row.get("stderr") is not None,
            ),
        )
    return list(found.values())


# ---- Several runs of the same model and task


def _newest(
    runs: Sequence[Run], known: Mapping[str, Task]
) -> tuple[list[Run], list[str], list[str]]:
    """One run for each model and task: the newest, or its parts put together; notes of those left
    out, and which of these are newer."""
    of: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        of.setdefault((run.identity, run.task), []).append(run)
    kept, notes, short = [], [], []
    for same in of.values():
        same.sort(
            key=lambda run: (run.date or datetime.min, run.parts, str(run.results)), reverse=True
        )
        newest, older = same[0], same[1:]
        whole = [
            run
            for run in same
            if run.n > newest.n
            and not part_of(run.options)
            and _but_documents(run) == _but_documents(newest)
        ]
        # a short trial does not put a whole run in the shade
        if whole and not part_of(newest.options):
            newest = max(whole, key=lambda run: run.n)
            older = [run for run in same if run is not newest]
        # its own parts are no other runs; they are known by their names, which hold the date
        if newest.parts:
            older = [
                run
                for run in older
                if not {file.name for file in run.samples} & {file.name for file in newest.samples}
            ]
        if (part := part_of(newest.options)) and not newest.parts:
            parts: dict[int, Run] = {}
            for run in same:
                mine = part_of(run.options)
                if mine and mine[1] == part[1] and _but_documents(run) == _but_documents(newest):
                    parts.setdefault(mine[0], run)
            older = [run for run in same if run not in parts.values()]
            try:
                newest = _put_together(newest, [parts[i] for i in sorted(parts)], part[1], known)
            except UsageError as error:
                notes.append(str(error))
                continue
        kept.append(newest)
        for run in older:
            left_out = f"{shortened(run.task)} of {shortened(run.model)} is not shown"
            why = (
                "is newer"
                if (run.date or datetime.min) <= (newest.date or datetime.min)
                else "asked more documents"
            )
            notes.append(
                f"{run.results}: {left_out}, {newest.results} {why}{_differences(run, newest)}"
            )
            if why != "is newer":
                short.append(notes[-1])
    return kept, notes, short


def _but_documents(run: Run) -> tuple[Any, ...]:
    return (run.template, *(pair for pair in run.asked if pair[0] != "documents"))


def _put_together(newest: Run, parts: Sequence[Run], of: int, known: Mapping[str, Task]) -> Run:
    files = [file for run in parts for file in run.samples]
    for run in parts:
        if not run.samples:
            wrong = (
                f"a part of {run.task} has no samples beside it, so the parts cannot be put "
                "together"
            )
            raise UsageError(f"{run.results}: {wrong}; run it again with --log_samples")
    try:
        if newest.task not in known:
            raise UsageError(
                f"{newest.task}: its parts cannot be put together, since it is not known here; "
                "name "
                "its folder with --include_path"
            )
        logger.info("putting %d parts of %s together", len(files), visible(newest.task))
        together = merged(known[newest.task], files)
        numbers, _ = _numbers(together.tables)
    except _Unreadable as error:
        raise UsageError(f"{newest.results}: {error}") from error
    options = {key: value for key, value in newest.options.items() if key not in PARTS}
    run = newest._replace(
        options=options,
        n=together.documents,
        numbers=numbers,
        tables={name: table for name, table in together.tables.items() if _is_table(table)},
        samples=tuple(files),
        parts=True,
        of=documents_of_all([(run.options, run.of) for run in parts]),
    )
    # What the parts said is said of all of them anew, but for what only a run tells.
    said = [
        line for part in parts for line in part.warnings if line.startswith("generation settings")
    ]
    missing = sorted(
        set(range(1, of + 1)) - {mine[0] for run in parts if (mine := part_of(run.options))}
    )
    if missing:
        said.insert(
            0, f"{len(parts)} of {of} parts; missing: {', '.join(f'{i}/{of}' for i in missing)}"
        )
    asked = tuple(
        (key, f"{together.documents:,}" if key == "documents" else value)
        for key, value in newest.asked
    )
    return run._replace(
        asked=asked,
        warnings=(*dict.fromkeys([*said, *_warnings(run, together.documents, {}, {})]),),
    )


def _differences(run: Run, other: Run) -> str:
    """In what two runs differ, as the end of a note."""
    parts = [
        f"{key} {shortened(there, 40)} there, {shortened(here, 40)} here"
        for key, there, here in different(dict(run.asked), dict(other.asked))
    ]
    if run.template != other.template:
        both = run.template and other.template
        parts.append(
            f"{'another' if both else 'a'} chat template{'' if both else ' in one of them alone'}"
        )
    return f" ({'; '.join(parts)})" if parts else ""
