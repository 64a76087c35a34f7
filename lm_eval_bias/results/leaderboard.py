"""Runs of several models -> a table for each task, a row for each model, a column a number."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import isnan, nan
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.metrics.ranks import ranks
from lm_eval_bias.results.paired import Reader, Replicates, measured, pair_p, replicated
from lm_eval_bias.results.runs import (
    CHAT_TEMPLATE,
    Run,
    Runs,
    by_question,
    check_metrics,
    distinguishing,
    listed,
)
from lm_eval_bias.results.samples import template_name
from lm_eval_bias.results.table import joined, unit_text
from lm_eval_bias.results.verdict import QUOTED, kind, unanswered, unresponsive, unusable
from lm_eval_bias.usage import UsageError

Replicated = Mapping[str, Replicates]
"""Model -> its numbers without each group of clusters."""


class Entry(NamedTuple):
    """One number of one model. rank: least and greatest, if any. ties: a letter for each set of
    models that do not differ significantly. range: its `Run.range_text`."""

    number: Number
    range: str
    verdict: str
    rank: tuple[int, int] | None = None
    ties: str = ""


class Column(NamedTuple):
    """One number of all models. ranked: how many have ranks."""

    metric: Metric
    entries: Mapping[str, Entry]
    ranked: int = 0


class Section(NamedTuple):
    """The columns of one task. runs: of models that were asked the same. distinct: the settings in
    which other sections of the task differ."""

    task: str
    settings: Mapping[str, str]
    distinct: Mapping[str, str]
    columns: Sequence[Column]
    runs: Sequence[Run]

    @property
    def title(self) -> str:
        return f"{self.task} ({listed(self.distinct)})" if self.distinct else self.task


class Board(NamedTuple):
    """models: their names, in order. others: `Runs.others`."""

    models: Sequence[str]
    sections: Sequence[Section]
    notes: Sequence[str]
    others: Sequence[Run] = ()

    @property
    def tasks(self) -> list[str]:
        return sorted({section.task for section in self.sections})


def conditions(finished: Runs) -> Iterator[Run]:
    """The runs and their `others`, each with its chat template among its settings unless that is
    compared."""
    for run in finished.runs:
        own = next((variant.template for variant in run.variants if variant.template), None)
        for variant in run.variants:
            template = template_name(variant.template)
            if variant.template and variant.template != own:
                template = variant.template[:12]
            more = {} if CHAT_TEMPLATE in finished.across else {CHAT_TEMPLATE: template}
            yield variant._replace(model=run.model, settings={**variant.settings, **more})


def board(finished: Runs, answers: Reader, metrics: Sequence[str] | None = None) -> Board:
    """metrics: NAME or TASK/NAME, in place of the primary numbers. UsageError for a name that no
    run has."""
    check_metrics(metrics or (), finished.runs)
    notes = list(finished.notes)
    asked = by_question(conditions(finished))
    groups = [group for runs in asked for group in _by_documents(runs, answers, notes)]
    groups.sort(key=lambda group: (group[0][0].task, -len(group[0])))
    sections = []
    for runs, paired in groups:
        shown = {metric.name: metric for run in runs[::-1] for metric, _ in run.shown(metrics)}
        columns = [_column(metric, runs, paired) for metric in shown.values()]
        notes += (
            f"{run.task}: {run.model} has no rank: {why}"
            for run in runs
            if (why := unanswered(run) or unresponsive(run))
        )
        distinct = distinguishing(runs[0], (others[0] for others, _ in groups))
        sections.append(Section(runs[0].task, runs[0].settings, distinct, columns, runs))
    models = sorted({run.model for run in finished.runs}, key=lambda name: (name.casefold(), name))
    return Board(models, sections, notes, finished.others)


# ---- Who was asked the same documents


def _by_documents(
    asked: Sequence[Run], answers: Reader, notes: list[str]
) -> Iterator[tuple[list[Run], Replicated]]:
    """Runs that were asked the same, by the documents that their samples show, with what paired
    tests need."""
    read = {}
    for run in asked if len(asked) > 1 else ():
        try:
            if run.samples and (held := answers(run)):
                read[run.model] = held
        except UsageError as error:
            notes.append(f"{run.results}: the samples of {run.task} are not read: {error}")
    # Models with a chat template of their own each are asked in other words, which is no other
    # question; with the same one it is.
    prompts = defaultdict(set)
    for run in asked:
        if (held := read.get(run.model)) and held.prompts:
            prompts[held.which, run.words].add(held.prompts)
    several = len({held.which for held in read.values()}) > 1
    split = []
    for run in asked:
        held, settings = read.get(run.model), {**run.settings}
        if several:  # what has no samples is not known to be another question
            settings["which documents"] = held.which if held else "not known"
        if held and len(prompts[held.which, run.words]) > 1:
            settings["which prompts"] = held.prompts or "not known"
        split.append(run._replace(settings=settings))
    groups, task = by_question(split), asked[0].task
    if len(groups) > 1:
        other = "other documents, as many as each other"
        other = other if several else "the same documents in other words"
        notes.append(f"{task}: models were asked {other}, and stand in tables of their own")
    for runs in groups:
        those = [read[run.model] for run in runs if run.model in read]
        paired = {}
        if len(those) < len(runs) > 1:
            names = ", ".join(run.model for run in runs if run.model not in read)
            notes.append(f"{task}: no ranks without the samples of {names} (--log_samples)")
        elif len(runs) > 1 and not those[0].measure.clusters:
            notes.append(f"{task}: no ranks, since its measure declares no clusters")
        elif len(runs) > 1:
            try:
                replicates = replicated(those, list(those[0].documents))
                paired = {run.model: own for run, own in zip(runs, replicates, strict=True)}
            except UsageError as error:
                notes.append(f"{task}: no ranks: {error}")
        yield runs, paired


# ---- Columns


def _column(metric: Metric, runs: Sequence[Run], replicated: Replicated) -> Column:
    key = metric.name, None
    those = [run for run in runs if key in run.numbers]
    entries = {
        run.model: Entry(own := run.numbers[key], run.range_text(metric), kind(run, metric, own))
        for run in those
    }
    column = Column(metric, entries)
    if not replicated or direction(metric) is None or not measured(metric):
        return column
    runs_of = [replicated[run.model] for run in those]
    values = np.array(
        [
            nan
            if unusable(run, number._replace(clusters=own.number(key).clusters))
            else badness(number.value, metric)
            for run, own, (number, *_) in zip(those, runs_of, entries.values(), strict=True)
        ]
    )
    ranked = np.flatnonzero(np.isfinite(values))
    if len(ranked) < 2:
        return column
    p = np.full((len(values), len(values)), nan)
    for i, j in combinations(ranked.tolist(), 2):
        p[i, j] = pair_p(runs_of[i], runs_of[j], key, metric.null_value)
    result = ranks(values, p)
    for i, (model, entry) in enumerate(entries.items()):
        low, high = result.ranks[i]
        rank = None if isnan(low) else (int(low), int(high))
        ties = "".join(letter(k) for k, tie in enumerate(result.ties) if i in tie)
        entries[model] = entry._replace(rank=rank, ties=ties)
    return column._replace(ranked=len(ranked))


def direction(metric: Metric) -> str | None:
    """Which is better: "near" its null value, "lower", "higher", or None."""
    return "near" if metric.null_value is not None else metric.better


def about(metric: Metric) -> str:
    """Its unit, and which is better: "points, best near 0"."""
    way = direction(metric)
    better = f"best near {metric.null_value:g}" if way == "near" else f"{way} is better"
    return joined(", ", unit_text(metric.unit), way and better)


def declared(metric: Metric) -> dict[str, Any]:
    """What a flat row has of a metric."""
    return {
        "metric": metric.name,
        "unit": metric.unit,
        "better": direction(metric),
        "null_value": metric.null_value,
    }


def badness(value: float, metric: Metric) -> float:
    """Less is better; of what has no direction, more."""
    if metric.null_value is not None:
        return abs(value - metric.null_value)
    return value if metric.better == "lower" else -value


def letter(k: int) -> str:
    """a to z, then a1, b1 and so on."""
    return ascii_lowercase[k % 26] + str(k // 26 or "")


LEGEND = (
    "Each number has its 95 % interval, if there is one. A number without an interval has no rank, "
    "nor has a model that does not respond to the attention checks, or more than half of whose "
    "answers are unusable. Ranks need the samples of all models of a table (--log_samples) and at "
    "least ten clusters.",
    "Rank 1 is best. Where a number has a null value (that of a model without bias), the smaller "
    "distance from it is better, whatever the sign. 1–3 means that ranks 1 to 3 are possible. "
    "Models that share a letter do not differ significantly.",
    "Two models differ significantly if their distances from the null value do, at 5 % after Holm "
    "over all pairs of the column. As -1 and 1 are equally far, both the difference and the sum of "
    "their numbers on the same documents must exclude it, with a jackknife's standard error. "
    "Without a null value only the difference counts.",
    "A table holds one condition: version, options, wording, system message, a chat template (the "
    "model's own) or none, thinking, number of documents. Runs of one model in several conditions "
    "have several tables, whose titles name the difference; models of different tables are not "
    "ranked together, unless --across names the difference. A model with and without thinking has "
    "two rows in one table. There is no overall score: the numbers have no common unit.",
    QUOTED,
)
