"""`lm-eval-bias plan`: how many documents make the intervals of a task as narrow as wanted."""

import argparse
import sys
import textwrap
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from math import inf, nan, sqrt
from pathlib import Path
from typing import Any

from lm_eval_bias import catalogue
from lm_eval_bias.commands import finished
from lm_eval_bias.harness.dataset import FIRST
from lm_eval_bias.measure import CHECK, RESPONDS, Metric, clusters_of, explained
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.results import runs, sample_size as plan, samples, table
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.table import number_text, with_unit
from lm_eval_bias.usage import UsageError

BARE = ("%", "points")
"""The units that a width without a name is for."""
WIDTH = 120

LEGEND = {
    "WIDTH": "from the lower to the upper end of the 95 % interval, in the number's own unit.",
    "DOCUMENTS": "needed for that width, if the pilot's width is right. The width falls with the "
    "square root of the number of clusters (templates, words, events, themes), except for the part "
    "from groups, placebos and systematic errors. If more documents reuse clusters, fewer may do. "
    "Too few: all documents of the task may not suffice. The command also asks the attention "
    "checks, without which no test has an answer.",
}


DESCRIPTION = """Say how many documents give a task's primary numbers 95 % intervals of this
width, from a pilot run on some of the documents with --log_samples."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pilot",
        dest="runs",
        metavar="RUNS",
        nargs="+",
        type=Path,
        required=True,
        help="folders or files of results",
    )
    parser.add_argument(
        "--width",
        metavar="WIDTH",
        nargs="+",
        required=True,
        help="width of the whole interval, in %% or points, or [TASK/]METRIC=VALUE",
    )
    finished.add_tasks(parser)


def run(arguments: argparse.Namespace) -> int:
    wanted = widths(arguments.width)
    pilots = finished.found(arguments)
    for note in pilots.notes:
        print(note, file=sys.stderr)
    check(wanted, pilots.runs)
    blocks = [pilot_table(one, pilots.known, wanted) for one in pilots.runs]
    if any("DOCUMENTS" in text for text in blocks):
        filled = (
            textwrap.fill(f"{name:11}{meaning}", WIDTH, subsequent_indent=" " * 11)
            for name, meaning in LEGEND.items()
        )
        blocks.append("\n".join(filled))
    print("\n\n".join(blocks))
    return 0


# ---- What is wanted


def widths(given: Sequence[str]) -> dict[str, float]:
    """METRIC or TASK/METRIC -> width; "" -> that of all numbers in percent or points."""
    wanted = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = nan
        if not 0 < number < inf:
            raise UsageError(
                f"--width {text}: expected a number above 0, METRIC=VALUE or TASK/METRIC=VALUE"
            )
        if name in wanted:
            raise UsageError(f"--width {text}: another width of it was given before")
        wanted[name] = number
    return wanted


def check(wanted: Mapping[str, float], pilots: Sequence[Run]) -> None:
    """UsageError for a name that no run has, or that several have in other units."""
    numbers = [(f"{run.task}/{m.name}", m) for run in pilots for m in run.metrics]
    names = list(filter(None, wanted))
    runs.check_metrics(names, pilots, "--width")
    for name in names:
        units_of = {m.unit: full for full, m in numbers if m.name == name and full not in wanted}
        if len(units_of) > 1:
            units = ", ".join(f"{full} in {unit or 'no unit'}" for unit, full in units_of.items())
            raise UsageError(
                f"--width {name}: one width for numbers in several units ({units}); "
                f"name the task: TASK/{name}=VALUE"
            )


def width_of(metric: Metric, task: str, wanted: Mapping[str, float]) -> float | None:
    """The width that is wanted of a number: in this task, else in any, else of all."""
    bare = metric.primary and metric.unit in BARE and metric.name != RESPONDS.name
    return wanted.get(
        f"{task}/{metric.name}", wanted.get(metric.name, wanted.get("") if bare else None)
    )


# ---- One run of the pilot


class Pilot:
    """A run, and its clusters.

    labels: the cluster of each document of the task, in the first clustering; ends: their
    `boundaries`; grown: clusters of the first n documents, shape (clusterings, documents + 1).
    checks: the places of attention checks. records: of each document of the run. by_clusters:
    numbers whose intervals are of clusters alone. UsageError without samples, and where the
    documents cannot be made.
    """

    def __init__(self, run: Run, tasks: Mapping[str, catalogue.Task]):
        task = tasks.get(run.task)
        if task is None or task.measure is None:
            raise UsageError("it is not known here; name its folder with --include_path")
        if not task.measure.clusters:
            raise UsageError("its measure declares no clusters")
        self.run, self.task = run, task
        documents = samples.documents(task, run.samples)
        self.records = [document.records for document in documents if document.records]
        if len(self.records) != run.n:
            raise UsageError(
                f"it has samples of {len(self.records):,} of its {run.n:,} documents, by which "
                "clusters are counted; run it again with --log_samples"
            )
        all_of = self._documents()
        clusters = [[clusters_of(d, columns) for d in all_of] for columns in task.measure.clusters]
        self.checks = [n for n, document in enumerate(all_of, 1) if document.get(CHECK)]
        self.labels: list[Hashable] = [tuple(names) for names in clusters[0]]
        self.ends, self.grown = plan.boundaries(self.labels), plan.growth(clusters)
        self.clusters = plan.clusters_in(task.measure, self.records)
        measure = task.measure._replace(
            metrics=[metric._replace(systematic=()) for metric in task.measure.metrics],
            counted=task.measure.counted._replace(widened={}, tables=None),
        )
        records = [record for of_document in self.records for record in of_document]
        options = samples.run_options(task, run.options)
        with explained():
            self.by_clusters = measure.summary(records, **options).values

    def _documents(self) -> Sequence[Any]:
        """All documents of the task, with the options of the run and without a fixed size."""
        run, task = self.run, self.task
        if task.builder is None:
            if run.n != run.of:
                raise UsageError(
                    f"it asked {run.n:,} of {run.of or 'more'} documents, and the clusters of "
                    "the others stand in the harness's data set alone; run the pilot without "
                    "--limit"
                )
            return [first for first, *_ in self.records]
        try:
            given = task.arguments(run.options)
            whole = {key: given[key] for key in given if key not in {FIRST, *samples.PARTS}}
            return task.builder(**whole)[task.config.get("test_split", "test")]
        except (UsageError, OSError, KeyError, TypeError) as error:
            raise UsageError(
                f"the task's documents cannot be made here ({type(error).__name__}: {error})"
            ) from error

    def sized(self, metric: str, width: float) -> plan.SizePlan:
        """How many documents make the interval of a number so wide."""
        now = plan.width_of(self.run.numbers[metric, None])
        if metric == RESPONDS.name:
            return plan.SizePlan(now, cannot="every size asks the same attention checks")
        falls = plan.width_of(self.by_clusters[metric])
        stays = sqrt(max(0, now**2 - falls**2))
        return plan.plan(now, width, self.run.n, self.clusters, self.grown, self.ends, stays)


def whole_task(task: catalogue.Task, tasks: Mapping[str, catalogue.Task]) -> str:
    """The name of the task of which NAME_SIZE is a fixed size, or its own."""
    name = task.name.rpartition("_")[0]
    return name if FIRST in task.dataset_kwargs and name in tasks else task.name


def to_decide(
    pilot: Pilot, metric: Metric, width_factor: float, tasks: Mapping[str, catalogue.Task]
) -> str:
    """How many documents make an interval so much narrower, in one line; empty where that cannot be
    planned."""
    now = plan.width_of(pilot.run.numbers[metric.name, None])
    made = pilot.sized(metric.name, now * width_factor)
    if made.cannot:
        return ""
    whole, total = whole_task(pilot.task, tasks), len(pilot.labels)
    if made.documents is None:
        width = with_unit(made.at_full, table.unit_of_difference(metric.unit))
        return (
            f"perhaps not with this benchmark: with all {total:,} documents of {whole} its "
            f"interval may stay at {width}"
        )
    sizes = [
        (task.dataset_kwargs[FIRST], name)
        for name, task in tasks.items()
        if name.startswith(f"{whole}_") and task.dataset_kwargs.get(FIRST, 0) >= made.documents
    ]
    _, size = min(sizes, default=(total, whole))  # a gate passes no part of a task
    return f"at most about {made.documents:,} documents, so ask {size} in its place"


# ---- Its table


def pilot_table(run: Run, tasks: Mapping[str, catalogue.Task], wanted: Mapping[str, float]) -> str:
    title = f"{run.task}, {run.model}"
    chosen = [
        (metric, width)
        for metric in run.metrics
        if (metric.name, None) in run.numbers
        and metric.stderr
        and (width := width_of(metric, run.task, wanted))
    ]
    try:
        if not chosen:
            raise UsageError("no width was given for a number with an interval")
        pilot = Pilot(run, tasks)
    except UsageError as error:
        return f"{title}\n{_filled(f'Nothing can be planned from it: {error}')}"
    total, clusters = len(pilot.labels), min(pilot.clusters, default=0)
    rows, needed, cannot = [], list[Any](), defaultdict(list)
    for metric, width in chosen:
        made = pilot.sized(metric.name, width)
        if made.cannot:
            cannot[made.cannot].append(metric.name)
        else:
            needed.append(made.documents)
            rows.append((metric.name, metric.unit, *_row(made, width, total, metric.unit)))
    whole = whole_task(pilot.task, tasks)
    share = f" of {total:,} documents" + (f" of {whole}" if whole != run.task else "")
    lines = [f"{title}: {run.n:,}{share}, {clusters:,} cluster{'s' * (clusters != 1)}"]
    if rows:
        head = ("NUMBER", "UNIT", "WIDTH NOW", "WANTED", "DOCUMENTS", "")
        lines.append(textwrap.indent(table.columns([head, *rows], right={2, 3, 4}), "  "))
    for cause, names in cannot.items():
        lines.append(_filled(f"{', '.join(names)}: cannot be planned, since {cause}."))
    enough = [n for n in pilot.ends if pilot.grown[:, n].min() >= FEWEST_CLUSTERS]
    if clusters < FEWEST_CLUSTERS and enough:
        lines.append(
            f"  A pilot of {enough[0]:,} documents has them: lm_eval --tasks {whole} --limit "
            f"{enough[0]} --log_samples"
        )
    if None in needed:
        lines.append(
            "  It is not certain that all of these can be reached with the "
            f"{total:,} documents of {whole}."
        )
    elif needed:
        most = max(needed + pilot.checks)
        lines.append(
            f"  For all of this table: {most:,} documents: lm_eval --tasks {whole} --limit {most}"
        )
    return "\n".join(lines)


def _filled(note: str) -> str:
    return textwrap.fill(note, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _row(made: plan.SizePlan, wanted: float, total: int, unit: str) -> tuple[str, ...]:
    """The cells from WIDTH NOW on. total: documents."""
    beside = [made.at_full - wanted]  # so that these two are told apart
    widths = made.width, wanted, made.at_full
    now, wide, least = (number_text(width, unit, beside) for width in widths)
    if made.documents:
        return now, wide, f"{made.documents:,}", ""
    return now, wide, "too few", f"with all {total:,} the width is {least} or less"
