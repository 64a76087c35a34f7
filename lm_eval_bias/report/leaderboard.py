"""Runs of several models -> a table: a row for each model, a column for each number, with intervals
and the ranks that these leave open.

No score over all: numbers of different benchmarks have no common unit. A column holds only models
that were asked the same (version, options, number of documents); others have a column of their own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import inf, isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.measure import Measure, Metric, Number, Record
from lm_eval_bias.metrics.ranks import Ranks, ranks, ranks_of_tests
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.results.paired import Plan, Replicates, measured, pair_p
from lm_eval_bias.results.runs import Foreign, Found, Run
from lm_eval_bias.usage import UsageError, nearest


class Asked(NamedTuple):
    """A document of a run: the checksum of what was asked of it, None where the samples do not say,
    its records, and how answers were to be generated, None where none were or the samples do not
    say."""

    prompt: str | None
    records: list[Record]
    settings: str | None = None


class Answers(NamedTuple):
    """What the samples of a run hold. documents: checksum of the document -> what was asked.
    options: of the measure's summary."""

    measure: Measure
    documents: Mapping[str, Asked]
    options: Mapping[str, Any]


class Entry(NamedTuple):
    """One number of one model. rank: least and greatest; None where it has no interval, or its
    column no direction. ties: a letter for each set of models that are not told apart."""

    number: Number
    n: int
    rank: tuple[int, int] | None = None
    ties: str = ""


class Column(NamedTuple):
    """ranked: how many models have ranks. pairs: how many tests Holm's adjustment counts. paired:
    whether these are on the same documents."""

    task: str
    metric: Metric
    entries: Mapping[str, Entry]
    ranked: int = 0
    pairs: int = 0
    paired: bool = False

    @property
    def name(self) -> str:
        return f"{self.task}/{self.metric.name}"


class Section(NamedTuple):
    """The columns of one task. asked: what its runs have in common, name and value; distinct: those
    of them in which it differs from another section of the same task."""

    task: str
    asked: Mapping[str, str]
    distinct: Mapping[str, str]
    columns: Sequence[Column]

    @property
    def title(self) -> str:
        return self.task + (
            f" ({', '.join(f'{key} {value}' for key, value in self.distinct.items())})"
            if self.distinct
            else ""
        )


class Model(NamedTuple):
    """tasks: those that it was asked. warnings: task and what must be known of it."""

    name: str
    tasks: Sequence[str]
    warnings: Sequence[tuple[str, str]]


class Board(NamedTuple):
    """models: the rows, in order. tasks: all that any of them was asked. sorted_by: the name of the
    column, None for the models' names."""

    models: Sequence[Model]
    tasks: Sequence[str]
    sections: Sequence[Section]
    others: Sequence[Foreign]
    notes: Sequence[str]
    sorted_by: str | None


def board(
    found: Found,
    metrics: Sequence[str] | None = None,
    sort: str | None = None,
    answers: Callable[[Run], Answers | None] | None = None,
) -> Board:
    """metrics: names, or TASK/NAME, of what is shown in place of the primary numbers. sort: one of
    them; best first where the number says what is good, else the greatest. answers: what the
    samples of a run hold, so that ranks are paired; None where the task is not known here; left
    out, ranks are from the intervals alone. Raises UsageError for a name that no run has, and for a
    sort that names several columns."""
    if metrics is not None:
        _check(metrics, found.runs)
    questions: dict[tuple[str, tuple[tuple[str, str], ...]], list[Run]] = {}
    for run in sorted(found.runs, key=lambda run: (run.task, run.model)):
        questions.setdefault((run.task, run.asked), []).append(run)
    sections, notes = [], list(found.notes)
    paired: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, Replicates]] = {}
    if answers is not None:
        questions, paired, said = _on_the_same(questions, answers)
        notes += said
    for (task, asked), runs in sorted(
        questions.items(), key=lambda item: (item[0][0], -len(item[1]))
    ):
        columns = [
            _column(task, metric, runs, paired.get((task, asked), {}))
            for metric in _shown(runs, metrics)
        ]
        if columns:
            others = [dict(other) for name, other in questions if name == task and other != asked]
            keys = {
                key
                for other in others
                for key in {**other, **dict(asked)}
                if other.get(key) != dict(asked).get(key)
            }
            distinct = {key: dict(asked).get(key, "default") for key in sorted(keys)}
            sections.append(Section(task, dict(asked), distinct, columns))
    models: dict[str, Model] = {}
    for run in sorted(found.runs, key=lambda run: (run.model.casefold(), run.model, run.task)):
        one = models.get(run.model, Model(run.model, (), ()))
        models[run.model] = Model(
            run.model,
            (*one.tasks, run.task),
            (*one.warnings, *((run.task, said) for said in run.warnings)),
        )
    by = _sorted_by(sort, sections)
    order = list(models)
    if by:
        # stable: what has no number keeps the order of names, at the end
        order.sort(key=lambda name: _order(by, name))
    tasks = sorted({run.task for run in found.runs})
    return Board(
        [models[name] for name in order], tasks, sections, found.others, notes, by and by.name
    )


Questions = dict[tuple[str, tuple[tuple[str, str], ...]], list[Run]]


def _on_the_same(
    questions: Questions, answers: Callable[[Run], Answers | None]
) -> tuple[
    Questions, dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, Replicates]], list[str]
]:
    """Runs put together by the documents that they were asked, where samples tell; for those that
    can be compared on them, model -> its numbers without each group of clusters; and what is to be
    said. A task that one model alone was asked has nothing to compare."""
    found: Questions = {}
    paired: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, Replicates]] = {}
    notes = []
    for (task, asked), runs in questions.items():
        if len(runs) < 2:
            found[task, asked] = runs
            continue
        told: dict[str, Answers | None] = {}
        for run in runs:
            try:
                told[run.model] = answers(run) if run.samples else None
            except UsageError as error:
                notes.append(
                    f"{run.results}: the samples of {task} are not read, so its ranks are unpaired: {error}"
                )
                told[run.model] = None
        kinds = {model: None if each is None else _checksum(each) for model, each in told.items()}
        several = len(set(kinds.values()) - {None}) > 1
        # Models with a chat template of their own each are asked in other words, which is no other
        # question; with the same one it is.
        worded = {
            (kinds[run.model], run.template, _prompts(each))
            for run in runs
            if (each := told[run.model]) is not None
        }
        otherwise = [
            place
            for place, n in Counter(place[:2] for place in worded if place[2] is not None).items()
            if n > 1
        ]
        for run in runs:
            # What has no samples is not known to be another question.
            kind, each = kinds[run.model] if several else None, told[run.model]
            more = (("which documents", kind or "not known"),) if several else ()
            if each is not None and (kinds[run.model], run.template) in otherwise:
                more = (*more, ("which prompts", _prompts(each) or "not known"))
            found.setdefault((task, (*asked, *more)), []).append(run)
        if several:
            notes.append(
                f"{task}: models were asked other documents, as many as each other, and stand in tables of their own"
            )
        if otherwise:
            notes.append(
                f"{task}: models were asked the same documents in other words, and stand in tables of their own"
            )
        for place in [
            place for place in found if place[0] == task and place[1][: len(asked)] == asked
        ]:
            said = {run.model: told.get(run.model) for run in found[place]}
            try:
                if len(said) > 1 and place not in paired:
                    paired[place] = _replicates(said)
            except UsageError as error:
                notes.append(f"{task}: ranks are unpaired: {error}")
    return found, paired, notes


def _checksum(answers: Answers) -> str:
    """Of which documents were asked."""
    return hashlib.sha256("".join(sorted(answers.documents)).encode()).hexdigest()[:12]


def _prompts(answers: Answers) -> str | None:
    """Of what was asked of all documents; None where the samples do not say."""
    prompts = [answers.documents[name].prompt for name in sorted(answers.documents)]
    return (
        None
        if None in prompts
        else hashlib.sha256("".join(map(str, prompts)).encode()).hexdigest()[:12]
    )


def _replicates(said: Mapping[str, Answers | None]) -> dict[str, Replicates]:
    """None where a model has no answers, or they cannot be compared. UsageError says why."""
    known = {model: each for model, each in said.items() if each is not None}
    if len(known) < len(said) or not all(each.measure.clusters for each in known.values()):
        return {}
    first = next(iter(known.values()))
    if any(each.options != first.options for each in known.values()):
        return {}
    records = {
        model: [record for name in first.documents for record in each.documents[name].records]
        for model, each in known.items()
    }
    plan = Plan(first.measure, list(records.values()))
    return {model: Replicates(plan, each, first.options) for model, each in records.items()}


def _named(metric: str, task: str, wanted: Iterable[str]) -> bool:
    return metric in wanted or f"{task}/{metric}" in wanted


def _check(metrics: Sequence[str], runs: Sequence[Run]) -> None:
    known = {name for run in runs for m in run.metrics for name in (m.name, f"{run.task}/{m.name}")}
    for name in metrics:
        if name not in known:
            raise UsageError(f"--metrics {name}: no run has that number; {_guess(name, known)}")


def _guess(name: str, known: Iterable[str]) -> str:
    """The nearest name, or the short ones: all of them with their tasks would fill the screen."""
    known = sorted(known)
    said = nearest(name, known)
    return (
        said
        if said.startswith("did")
        else nearest(name, [each for each in known if "/" not in each])
    )


def _shown(runs: Sequence[Run], metrics: Sequence[str] | None) -> list[Metric]:
    """The metrics of a task's columns, in the order of their declaration."""
    found: dict[str, Metric] = {}
    for run in runs:
        for metric in run.metrics:
            wanted = metric.primary if metrics is None else _named(metric.name, run.task, metrics)
            if wanted and (metric.name, None) in run.numbers:
                found.setdefault(metric.name, metric)
    return list(found.values())


def _column(
    task: str, metric: Metric, runs: Sequence[Run], paired: Mapping[str, Replicates]
) -> Column:
    key = (metric.name, None)
    entries = {run.model: Entry(run.numbers[key], run.n) for run in runs if key in run.numbers}
    column = Column(task, metric, entries)
    return _ranked(column, paired) if direction(metric) else column


def direction(metric: Metric) -> str | None:
    """Which is better: "near" its null value, "lower", "higher", or None. A signed number is
    judged by its distance alone."""
    return "near" if metric.null_value is not None else metric.better


def _ranked(column: Column, paired: Mapping[str, Replicates]) -> Column:
    names = list(column.entries)
    numbers = [column.entries[name].number for name in names]
    values, lows, highs = ([getattr(n, end) for n in numbers] for end in ("value", "low", "high"))
    on_the_same = _paired_ranks(column, paired)
    found = _ranks(column.metric, values, lows, highs) if on_the_same is None else on_the_same
    ranked = sum(not isnan(low) for low, _ in found.ranks.tolist())
    if ranked < 2:
        return column
    entries = {}
    for i, name in enumerate(names):
        low, high = found.ranks[i].tolist()
        rank = None if isnan(low) else (int(low), int(high))
        letters = "".join(letter(k) for k, tie in enumerate(found.ties) if i in tie)
        entries[name] = column.entries[name]._replace(rank=rank, ties=letters)
    return column._replace(
        entries=entries, ranked=ranked, pairs=found.pairs, paired=on_the_same is not None
    )


def _paired_ranks(column: Column, paired: Mapping[str, Replicates]) -> Ranks | None:
    """Of the models that have an interval, from their differences on the same documents; None where
    these have no error."""
    metric, key = column.metric, (column.metric.name, None)
    if not paired or not column.entries.keys() <= paired.keys():
        return None
    runs = {name: paired[name] for name in column.entries}
    measure = next(iter(runs.values())).measure
    if metric.name not in {m.name for m in measure.metrics} or not measured(
        measure.metric(metric.name)
    ):
        return None
    if min(run.clusters(key) for run in runs.values()) < FEWEST_CLUSTERS:
        return None
    numbers = [entry.number for entry in column.entries.values()]
    values = np.array([n.value if n.low < n.high else nan for n in numbers])
    if metric.null_value is not None:
        values = abs(values - metric.null_value)
    elif metric.better == "higher":
        values = -values
    p = np.full((len(runs), len(runs)), nan)
    for (i, one), (j, two) in combinations(enumerate(runs.values()), 2):
        if isfinite(values[i]) and isfinite(values[j]):
            p[i, j] = pair_p(one, two, key, metric.null_value)
    return ranks_of_tests(values, p)


def _ranks(
    metric: Metric, values: Sequence[float], lows: Sequence[float], highs: Sequence[float]
) -> Ranks:
    """Rank 1 is the best."""
    if metric.null_value is not None:
        values, lows, highs = (
            [x - metric.null_value for x in each] for each in (values, lows, highs)
        )
        return ranks(values, lows, highs, distances=True)
    if metric.better == "higher":
        values, lows, highs = ([-x for x in each] for each in (values, highs, lows))
    return ranks(values, lows, highs)


def letter(k: int) -> str:
    """a to z, then a1, b1 and so on."""
    return chr(ord("a") + k % 26) + (str(k // 26) if k >= 26 else "")


def _sorted_by(sort: str | None, sections: Sequence[Section]) -> Column | None:
    if sort is None:
        return None
    columns = [
        column
        for section in sections
        for column in section.columns
        if sort in (column.metric.name, column.name)
    ]
    names = list(dict.fromkeys(column.name for column in columns))
    if not columns:
        known = {
            name
            for section in sections
            for column in section.columns
            for name in (column.metric.name, column.name)
        }
        raise UsageError(f"--sort {sort}: there is no such column; {_guess(sort, known)}")
    if len(names) > 1:
        raise UsageError(
            f"--sort {sort}: several tasks have that number; say which: {', '.join(names)}"
        )
    return max(columns, key=lambda column: len(column.entries))


def _order(column: Column, model: str) -> float:
    entry = column.entries.get(model)
    if entry is None or isnan(entry.number.value):
        return inf
    value, way = entry.number.value, direction(column.metric)
    if way == "near" and column.metric.null_value is not None:
        return abs(value - column.metric.null_value)
    return value if way == "lower" else -value


# ---- How a number is written


def decimals(unit: str) -> int:
    """So many that a reader sees what an interval allows to see."""
    return {"count": 0, "%": 1, "points": 1, "p": 3, "t": 2, "SD": 2}.get(unit, 3)


def written(value: float, unit: str) -> str:
    """A number as it is shown; a dash for one that does not exist."""
    if isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e9:
        return f"{value:.3g}"
    text = f"{value:,.{decimals(unit)}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text  # no -0.0


def interval(number: Number, unit: str) -> str:
    """[low, high]; empty where there is none, or it has no width."""
    if isnan(number.low) or isnan(number.high) or number.low == number.high:
        return ""
    return f"[{written(number.low, unit)}, {written(number.high, unit)}]"


def place(entry: Entry) -> str:
    """Its ranks: 2, or 1–3; empty where it has none."""
    if entry.rank is None:
        return ""
    low, high = entry.rank
    return str(low) if low == high else f"{low}–{high}"


def goal(metric: Metric) -> str:
    """What is good, in a few words."""
    way = direction(metric)
    return (
        f"best near {metric.null_value:g}"
        if way == "near"
        else f"{way} is better"
        if way
        else "no direction"
    )


LEGEND = (
    "Each number stands with its 95 % interval, the one that its task computes.",
    "Ranks: 1 is best. Where a number has a null value, the smaller distance from it is better, whatever the sign. 1–3 "
    "says that the data leave ranks 1 to 3 open. Models that share a letter are not told apart.",
    "Two models are told apart by the difference of their numbers, at 5 % after Holm over all pairs of the column. Where a "
    "column is marked paired, it is that on the same documents, with the error of a jackknife over what these have in common; "
    "in the others standard errors are taken for independent, as if each model had been asked other questions, which hides "
    "differences (run with --log_samples).",
    "A number without an interval has no rank; an interval of no width is none, since it says that all clusters agree, not "
    "that the number is certain. Models that were asked otherwise (version, options, number of documents) stand in a table of "
    "their own. There is no score over all: the numbers have no common unit.",
)
