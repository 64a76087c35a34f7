"""`lm-eval-bias plan`: how many documents, and how long, until the intervals of a task are as
narrow as a person wants them."""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import textwrap
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias import catalogue
from lm_eval_bias.commands import declare, finished
from lm_eval_bias.data.schema import located
from lm_eval_bias.harness.dataset import FIRST
from lm_eval_bias.measure import Measure, Metric, clusters_of
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.results import runs, samples, table
from lm_eval_bias.results import sample_size as plan
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.sample_size import growth
from lm_eval_bias.usage import UsageError, nearest, read_options

BARE = ("%", "points")
"""The units that a width without a name is for; 2 of a share or of nats would be another thing."""
READ = 500
"""Samples of a file that are looked at to tell how long its prompts are."""
WIDTH = 120
_DOCUMENT = re.compile(r'\{"doc_id": (\d+)')

LEGEND = {
    "WIDTH": "from the lower to the upper end of the 95 % interval, in the number's own unit.",
    "DOCUMENTS": "that make it so narrow, by the clusters which they bring (templates, words, "
    "events, themes). At most: the worst case, where FLOOR is unknown. Too few: all documents of "
    "the task do not suffice.",
    "BETWEEN": "90 of 100 pilots have the true number there, fewer where a number rests on few "
    "answers, such as a rare label.",
    "TIME": "at the pilot's seconds for each document. A short pilot makes it too long, since its "
    "start is included.",
    "FLOOR": "the part of the variance that stays, however many documents are asked, since they "
    "use the same clusters again. Unknown where documents and clusters grow alike in the parts of "
    "the pilot; a larger pilot, with more of each cluster, tells it.",
}
ONE_OF_SEVERAL = "a pilot of one task tells it"


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "plan",
        "how many documents make an interval as narrow as you want",
        "From a pilot run, on a part of the documents, say how many documents it takes until the "
        "95 % intervals of a task's primary\n"
        "numbers are so narrow, and how long that takes at the pilot's speed. It counts "
        "clusters, never documents. With --log_samples\n"
        "in the pilot, its parts tell how much of the variance more documents leave as it is.",
    )
    parser.add_argument(
        "--pilot",
        metavar="RUNS",
        nargs="+",
        type=Path,
        required=True,
        help="folders or files that lm_eval wrote",
    )
    parser.add_argument(
        "--width",
        metavar="WIDTH",
        nargs="+",
        required=True,
        help="from the lower to the upper end of the interval: a number, for all primary numbers "
        "in %% or points, or METRIC=VALUE, or TASK/METRIC=VALUE, in the number's own unit",
    )
    parser.add_argument("--tasks", metavar="TASK", nargs="+", help="these tasks of the pilot only")
    finished.add_include_path(parser)
    parser.set_defaults(run=run)


class TaskDocuments(NamedTuple):
    """The documents of a task in order, as the pilot's options make them. labels: the cluster in
    the first clustering, of each. grown: how many clusters the first n have, shape (clusterings,
    documents + 1)."""

    labels: Sequence[Hashable]
    grown: Any


def run(arguments: argparse.Namespace) -> int:

    wanted = widths(arguments.width)
    known = finished.known_tasks(arguments.include_path)
    found = runs.find(arguments.pilot, known, arguments.tasks)
    for note in found.notes:
        print(visible(note), file=sys.stderr)
    if not found.runs:
        raise UsageError("no run of the pilot has numbers to plan with")
    check(wanted, found.runs)
    shared: dict[str, None] = {}
    tables = [pilot_table(one, known, wanted, shared) for one in found.runs]
    print(
        "\n\n".join(
            [
                *tables,
                *(textwrap.fill(each, WIDTH) for each in shared),
                *_legend(any("FLOOR" in each for each in tables)),
            ]
        )
    )
    return 0


# ---- What is wanted


def widths(given: Sequence[str]) -> dict[str | None, float]:
    """What --width says: METRIC or TASK/METRIC -> width; None -> that of all numbers in percent or
    points. UsageError for no width."""
    wanted: dict[str | None, float] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = nan
        if not isfinite(number) or number <= 0:
            raise UsageError(
                f"--width {text}: expected a number above 0, METRIC=VALUE or TASK/METRIC=VALUE"
            )
        key = name if equals else None
        if key in wanted:
            raise UsageError(f"--width {text}: another width of it was given before")
        wanted[key] = number
    return wanted


def check(wanted: Mapping[str | None, float], found: Sequence[Run]) -> None:
    """UsageError for a name that no run of the pilot has."""

    known = {
        name for run in found for m in run.metrics for name in (m.name, f"{run.task}/{m.name}")
    }
    for name in wanted:
        if name is not None and name not in known:
            near = (
                sorted(known) if "/" in name else sorted(each for each in known if "/" not in each)
            )
            raise UsageError(
                f"--width {visible(name)}: the pilot has no such number; "
                f"{nearest(name, [visible(each) for each in near])}"
            )
        of = {
            m.unit: f"{run.task}/{m.name}"
            for run in found
            for m in run.metrics
            if m.name == name and f"{run.task}/{name}" not in wanted
        }
        if len(of) > 1:
            units = ", ".join(
                f"{visible(each)} in {unit or 'no unit'}" for unit, each in of.items()
            )
            raise UsageError(
                f"--width {visible(name)}: one width for numbers in several units ({units}); "
                f"name the task: TASK/{visible(name)}=VALUE"
            )


def width_of(metric: Metric, task: str, wanted: Mapping[str | None, float]) -> float | None:
    """The width that is wanted of a number: what was given for it in this task, else what was given
    for it in any, else that for all."""
    for name in (f"{task}/{metric.name}", metric.name):
        if name in wanted:
            return wanted[name]
    return wanted.get(None) if metric.primary and metric.unit in BARE else None


# ---- One run of the pilot


def pilot_table(
    run: Run,
    tasks: Mapping[str, catalogue.Task],
    wanted: Mapping[str | None, float],
    shared: dict[str, None],
) -> str:
    """A table of the numbers of a run, and what follows from it. tasks: those that are known here,
    by name. shared: what is to be said once of several runs is put there."""

    task = tasks.get(run.task)
    title = f"{shortened(run.task)}, {shortened(run.model)}"
    if task is None or task.measure is None:
        return (
            f"{title}\n  It is not known here, and what depends on what neither: name its folder "
            "with --include_path."
        )
    if not task.measure.clusters:
        return (
            f"{title}\n  Its measure declares no clusters, without which nothing can be planned; "
            "see `Measure.clusters`."
        )
    chosen, aside = [], []
    for metric in run.metrics:
        if (metric.name, None) not in run.numbers or not (metric.stderr or metric.own_interval):
            continue
        now = plan.width_of(run.numbers[metric.name, None])
        width = width_of(metric, run.task, wanted)
        if width is not None:
            chosen.append((metric, now, width))
        elif metric.primary:
            aside.append(f"{metric.name} ({metric.unit}, now {_number(now)})")
    left = (
        f"No width was given for {', '.join(aside)}: --width {aside[0].partition(' ')[0]}=VALUE."
        if aside
        else ""
    )
    if not chosen:
        return f"{title}\n{_filled(left or 'None of its primary numbers has an interval.')}"
    documents, why = task_documents(run, task)
    records, lost = answered(run, task)
    counted = counted_clusters(run, task, documents, records)
    found = in_windows(run, task, records, [metric for metric, _, _ in chosen]) if records else {}
    seconds, how = speed(run)
    total = len(documents.labels) if documents else None
    if documents:
        grown, whole_clusters = documents.grown, ends(documents.labels)
    else:  # a dozen times the pilot, and not one cluster more than it had
        grown, whole_clusters = _standing(run.n, counted)
    rows = [("NUMBER", "UNIT", "WIDTH NOW", "WANTED", "DOCUMENTS", "BETWEEN", "TIME", "FLOOR", "")]
    needed: list[int | None] = []
    cannot: dict[str, list[str]] = {}
    unknown = 0
    for metric, now, width in chosen:
        pilot = plan.Window(run.n, counted, now)
        made = plan.plan(pilot, width, grown, found.get(metric.name, ()), whole_clusters)
        row = (metric.name, metric.unit, _number(made.width), _number(width))
        if made.cannot:
            cannot.setdefault(made.cannot, []).append(metric.name)
            continue
        known = made.share.known or not made.share.matters
        documents_needed = made.documents if known else made.most
        needed.append(documents_needed)
        unknown += not known
        time = _time(documents_needed * seconds) if documents_needed and isfinite(seconds) else ""
        floor = "unknown"
        if known:
            percent = [f"{100 * share:.0f}" for share in made.share[:3]]
            floor = "{} % ({} to {})".format(*percent) if made.share.matters else "none"
        more = ""
        if documents_needed is None:
            of = f"all {total:,}" if total else f"{whole_clusters[-1]:,}"
            low, middle, high = map(_number, made.at_full)
            about = f"{middle} ({low} to {high})" if known else f"{low} to {high}"
            more = f"with {of} the width is {about}"
        rows.append((*row, *_span(made, known), time, floor, more))
    asked_now = f"{run.n:,} of {total:,} documents" if total else f"{run.n:,} documents"
    whole = whole_task(task, tasks)
    if total and whole != task.name:
        asked_now += f" of {whole}"
    clusters = min(counted, default=0)
    lines = [f"{title}: {asked_now}, {clusters:,} cluster{'s' * (clusters != 1)}"]
    if needed:
        head, *body = ([table.Cell(cell) for cell in row] for row in rows)
        words = frozenset({0, 1, 5, 7, 8})
        lines += [f"  {line}" for line in table.text(table.Table(head, body, words)).splitlines()]
    lines += [
        _filled(f"{', '.join(names)}: cannot be planned, since {cause}.")
        for cause, names in cannot.items()
    ]
    if documents and clusters < FEWEST_CLUSTERS:
        pilots = [n for n in whole_clusters if documents.grown[:, n].min() >= FEWEST_CLUSTERS]
        if pilots:
            lines.append(
                f"  A pilot of {pilots[0]:,} documents has them: lm_eval --tasks {whole} --limit "
                f"{pilots[0]} --log_samples"
            )
    if needed:
        lines.append(f"  {_conclusion(whole, needed, total, seconds)}")
    if ONE_OF_SEVERAL in how and needed:
        shared[how] = None
    notes = ["" if ONE_OF_SEVERAL in how or not needed else how, why, lost, left]
    if unknown and not records:
        notes.append(
            "FLOOR is unknown: run the pilot again with --log_samples. BETWEEN goes from none of "
            "the variance to all of it."
        )
    return "\n".join([*lines, *(_filled(note) for note in notes if note)])


def _filled(note: str) -> str:
    return textwrap.fill(note, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _conclusion(task: str, needed: Sequence[int | None], total: int | None, seconds: float) -> str:
    """task: whose documents they are."""
    if None in needed:
        return (
            "It is not certain that all of these can be "
            f"reached{f' with the {total:,} documents of {task}' if total else ''}."
        )
    most = max(n for n in needed if n is not None)
    time = f", about {_time(most * seconds)}" if isfinite(seconds) else ""
    return f"For all of this table: {most:,} documents{time}: lm_eval --tasks {task} --limit {most}"


def _span(made: plan.SizePlan, known: bool) -> tuple[str, str]:
    """Documents, and between which numbers they may lie."""
    least, most = (f"{n:,}" if n else "" for n in (made.least, made.most))
    documents = made.documents if known else made.most
    said = (
        (f"{documents:,}" if known or least == most else f"{documents:,} at most")
        if documents
        else "too few"
        if known
        else "perhaps too few"
    )
    return (
        said,
        ""
        if least == most
        else f"{least} to {most}"
        if least and most
        else f"from {least}"
        if least
        else "",
    )


def _legend(any_table: bool) -> Iterator[str]:
    if any_table:
        indent = " " * (max(map(len, LEGEND)) + 2)
        yield "\n".join(
            textwrap.fill(f"{name:{len(indent)}}{said}", WIDTH, subsequent_indent=indent)
            for name, said in LEGEND.items()
        )


# ---- Documents and records


def task_documents(run: Run, task: catalogue.Task) -> tuple[TaskDocuments | None, str]:
    """All documents that the task would ask with the options of the run; None, and why, where they
    cannot be made here."""

    if task.builder is None:
        return None, "How many documents the task has is known in a run alone."
    options = {key: value for key, value in run.options.items() if key not in samples.PARTS}
    try:
        given = {**located(task.metadata, task.path), **options, **_kwargs(task)}
        documents = task.builder(**given)[task.config.get("test_split", "test")]
        clusters = [
            [clusters_of(document, columns) for document in documents]
            for columns in _measure(task).clusters
        ]
    except (UsageError, OSError) as error:
        return None, f"The task's documents cannot be made here: {visible(error)}"
    except (KeyError, TypeError) as error:
        return (
            None,
            "The clusters of the task's documents cannot be told before they are answered "
            f"({visible(error)}).",
        )
    return TaskDocuments([tuple(each) for each in clusters[0]], growth(clusters)), ""


def _measure(task: catalogue.Task) -> Measure:
    if task.measure is None:
        raise UsageError(f"{task.name} declares no measure, so there is nothing to plan")
    return task.measure


def _kwargs(task: catalogue.Task) -> dict[str, Any]:
    """What its YAML says of its documents, but for a fixed size: more than that can be asked of the
    whole task."""
    return {
        key: value
        for key, value in (task.config.get("dataset_kwargs") or {}).items()
        if key != FIRST
    }


def whole_task(task: catalogue.Task, tasks: Mapping[str, catalogue.Task]) -> str:
    """The name of the task that asks the same without a fixed size: itself, if it has none."""

    def same(other: catalogue.Task) -> tuple[Any, ...]:
        named = [
            getattr(other.config.get(key), "name", None) for key in ("custom_dataset", "measure")
        ]
        return (*named, _kwargs(other), other.config.get("doc_to_text"), other.config.get("turns"))

    if FIRST not in (task.config.get("dataset_kwargs") or {}):
        return task.name
    return next(
        (
            t.name
            for t in tasks.values()
            if FIRST not in (t.config.get("dataset_kwargs") or {}) and same(t) == same(task)
        ),
        task.name,
    )


def answered(run: Run, task: catalogue.Task) -> tuple[list[list[dict[str, Any]]], str]:
    """The records of each document of the pilot, in the order of the task; none, and why, where
    they cannot be read."""

    if not run.samples:
        return [], ""
    try:
        numbers = [number for file in run.samples for number in _documents(file)]
        records = list(samples.records(task, run.samples))
        for record in records:
            for columns in _measure(task).clusters:
                clusters_of(record, columns)
    except KeyError as error:
        return (
            [],
            f"The samples have no column {visible(error)}; clusters are counted in the documents.",
        )
    except (ValueError, OSError, TypeError, AttributeError) as error:
        return [], f"The samples are left aside: {visible(error)}"
    each, rest = divmod(len(records), max(len(numbers), 1))
    if rest or not each or len(numbers) != run.n:
        return (
            [],
            "The samples are left aside: they are not those of the run, or hold another number "
            "of answers for each document.",
        )
    of_documents = [records[i * each : (i + 1) * each] for i in range(len(numbers))]
    if len(run.samples) == 1:  # several processes write theirs one after the other
        of_documents = [
            of_documents[i] for i in sorted(range(len(numbers)), key=numbers.__getitem__)
        ]
    return of_documents, ""


def _documents(file: Path) -> list[int]:
    """The number of the document of each sample."""
    with file.open(encoding="utf-8") as lines:
        return [
            int(found[1]) if (found := _DOCUMENT.match(line)) else int(json.loads(line)["doc_id"])
            for line in lines
        ]


def counted_clusters(
    run: Run,
    task: catalogue.Task,
    documents: TaskDocuments | None,
    records: Sequence[Sequence[dict[str, Any]]],
) -> list[int]:
    """How many clusters a run has in each clustering, by its records, else by the documents; none
    where neither tells."""

    return plan.clusters_in(_measure(task), records) if records else _from_documents(run, documents)


def _from_documents(run: Run, documents: TaskDocuments | None) -> list[int]:
    """The same without samples: those of the first documents, unless the run asked others or says
    that they have another number."""
    part = run.options.get("shard") not in (None, "1/1")
    if documents is None or run.n >= documents.grown.shape[1] or run.parts or part:
        return []
    counted = [int(n) for n in documents.grown[:, run.n]]
    said = {number.clusters for (_, group), number in run.numbers.items() if group is None} - {None}
    return counted if not said or said == {min(counted)} else []


def ends(labels: Sequence[Hashable]) -> list[int]:
    """Numbers of documents that end where a cluster does."""
    return [i for i in range(1, len(labels) + 1) if i == len(labels) or labels[i] != labels[i - 1]]


def _standing(n: int, counted: Sequence[int]) -> tuple[Any, list[int]]:
    """What is taken where the documents are not known: a dozen times as many as the pilot had, of
    its clusters."""
    import numpy as np

    documents = np.arange(12 * n + 1)
    return np.array(
        [np.minimum(clusters, documents * clusters // max(n, 1)) for clusters in counted]
    ), list(range(1, 12 * n + 1))


def in_windows(
    run: Run,
    task: catalogue.Task,
    documents: Sequence[Sequence[dict[str, Any]]],
    metrics: Sequence[Metric],
) -> dict[str, list]:
    """The intervals in parts of the pilot: metric -> a window each. What a summary would log is of
    a part, which nobody reads."""

    known = {key: value for key, value in run.options.items() if not key.endswith("_sha256")}
    options = {**read_options(task.name, {}, task.options), **known}
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plan.in_windows(_measure(task), documents, options, metrics)
    finally:
        logging.disable(before)


# ---- Speed


def speed(run: Run) -> tuple[float, str]:
    """Seconds for each document of a run, NaN where they are not known; and what is taken for
    granted, in a sentence."""
    try:
        content = json.loads(run.results.read_text(encoding="utf-8"))
        seconds = float(content["total_evaluation_time_seconds"])
        counts = {key: int(content["n-samples"][key]["effective"]) for key in content["configs"]}
        mine = next(key for key in counts if key.rpartition("::")[2] == run.task)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return nan, "The pilot does not say how long it took."
    if run.parts or not isfinite(seconds) or seconds <= 0 or not counts[mine]:
        return nan, "How long all parts of the pilot took is not known."
    if len(counts) == 1:
        return seconds / counts[
            mine
        ], f"Speed: {_number(counts[mine] / seconds)} documents a second, those of the pilot."
    files = {
        key: run.results.with_name(run.results.name.replace("results_", f"samples_{key}_", 1) + "l")
        for key in counts
    }
    lengths = {key: _length(file) for key, file in files.items()}
    if all(length > 0 for length in lengths.values()):
        work, shared = (
            {key: lengths[key] * counts[key] for key in counts},
            "the length of their prompts and answers",
        )
    else:
        work, shared = dict(counts), "their numbers of documents"
    each = seconds * work[mine] / sum(work.values()) / counts[mine]
    return (
        each,
        f"Speed: the pilot took {_time(seconds)} for {len(counts)} tasks, shared out by "
        f"{shared}; {ONE_OF_SEVERAL}.",
    )


def _length(file: Path) -> float:
    """Characters of a document's prompts, each once, and of its answers, the mean over the first
    samples; NaN where they are not there."""
    lengths = []
    try:
        with file.open(encoding="utf-8") as lines:
            for line in islice(lines, READ):
                sample = json.loads(line)
                texts = {
                    text
                    for each in sample["arguments"].values()
                    for text in each.values()
                    if isinstance(text, str)
                }
                written = [
                    text for each in sample["resps"] for text in each if isinstance(text, str)
                ]
                lengths.append(sum(map(len, texts)) + sum(map(len, written)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return nan
    return sum(lengths) / len(lengths) if lengths else nan


def _number(value: float) -> str:
    """Three digits, as a person reads them."""
    return (
        f"{value:.3g}"
        if isfinite(value) and 1e-4 <= abs(value) < 1000
        else f"{value:,.0f}"
        if isfinite(value) and value
        else "–"
    )


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:,.1f} h"
