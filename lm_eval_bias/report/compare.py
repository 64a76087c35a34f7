"""Two runs of a task, or one before and after: which of their numbers differ, by how much, and how
sure that is.

Runs that were asked the same documents are compared on them (`paired`); those without samples by
their own intervals, as if each had been asked others, and so marked. What was asked otherwise is
not compared, and it is said why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import hypot, inf, isfinite, isnan, nan
from typing import Any, NamedTuple

from scipy import stats

from lm_eval_bias.measure import Measure, Metric
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.report.leaderboard import Answers, direction
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.paired import (
    Difference,
    Key,
    Plan,
    Replicates,
    at_an_end,
    difference,
    lacks_error,
    measured,
)
from lm_eval_bias.results.runs import Run
from lm_eval_bias.usage import UsageError, nearest

LEVEL = 0.05


class Line(NamedTuple):
    """One number of both runs. paired: whether they were compared on the same documents. p: after
    Holm; NaN where no test was made. why: why there is none. towards: of numbers that are told
    apart, whether the second is better, worse, nearer, farther or across."""

    task: str
    metric: Metric
    group: str | None
    found: Difference
    paired: bool
    p: float
    why: str
    towards: str

    @property
    def name(self) -> str:
        return self.metric.name + (f" ({self.group})" if self.group is not None else "")

    @property
    def distance(self) -> float:
        """In standard errors; -1 for what has none, so that it stands last."""
        error = self.found.stderr
        return (
            abs(self.found.difference) / error
            if error > 0 and isfinite(self.found.difference)
            else -1.0
        )


class Refusal(NamedTuple):
    """A task that is not compared, and why."""

    task: str
    why: str


class Comparison(NamedTuple):
    """first, second: what the runs are called. tests: that Holm counts. documents: task -> how many
    both were asked. lines: largest difference first, in standard errors. warnings: (model, task,
    what must be known)."""

    first: str
    second: str
    lines: Sequence[Line]
    refusals: Sequence[Refusal]
    documents: Mapping[str, int]
    tests: int
    warnings: Sequence[tuple[str, str, str]]
    notes: Sequence[str]


class _Wanted(NamedTuple):
    metrics: Sequence[str] | None
    groups: bool


def comparison(
    first: Sequence[Run],
    second: Sequence[Run],
    names: tuple[str, str],
    answers: Callable[[Run], Answers | None],
    metrics: Sequence[str] | None = None,
    groups: bool = False,
    common: bool = False,
    notes: Sequence[str] = (),
) -> Comparison:
    """Every task that both have.

    first, second: of one model each, a run for each task. answers: what the samples of a run hold;
    None where the task is not known here or has no samples. metrics: names, or TASK/NAME, in place
    of the primary numbers. groups: the numbers of each group too. common: compare the documents
    that both were asked, if they are not the same. Raises UsageError for a name that no run has.
    """
    if metrics is not None:
        known = {
            name
            for run in (*first, *second)
            for m in run.metrics
            for name in (m.name, f"{run.task}/{m.name}")
        }
        for name in metrics:
            if name not in known:
                raise UsageError(
                    f"--metrics {name}: no run has that number; {nearest(name, sorted(known))}"
                )
    wanted = _Wanted(metrics, groups)
    of_first, of_second = ({run.task: run for run in runs} for runs in (first, second))
    lines: list[Line] = []
    refusals: list[Refusal] = []
    documents: dict[str, int] = {}
    said = list(notes)
    for task in sorted(of_first.keys() | of_second.keys()):
        one, two = of_first.get(task), of_second.get(task)
        if one is None or two is None:
            refusals.append(
                Refusal(
                    task, f"only {shortened(names[0] if two is None else names[1])} was asked it"
                )
            )
            continue
        try:
            found, n, told = _compared(one, two, answers, wanted, common)
        except UsageError as error:
            refusals.append(Refusal(task, str(error)))
            continue
        lines += found
        documents[task] = n
        said += told
    # answers that are the same need no test
    adjusted = holm([nan if line.why else line.found.p for line in lines])
    lines = [
        line._replace(p=float(p), towards=_towards(line, float(p)))
        for line, p in zip(lines, adjusted, strict=True)
    ]
    lines.sort(key=lambda line: (-line.distance, isnan(line.found.difference), line.task))
    warnings = []
    for task in documents:
        mine, theirs = of_first[task].warnings, of_second[task].warnings
        warnings += [("both" if line in theirs else names[0], task, line) for line in mine]
        warnings += [(names[1], task, line) for line in theirs if line not in mine]
    return Comparison(
        *names,
        lines,
        refusals,
        documents,
        int(sum(not isnan(p) for p in adjusted)),
        warnings,
        list(dict.fromkeys(said)),
    )


def _compared(
    one: Run, two: Run, answers: Callable[[Run], Answers | None], wanted: _Wanted, common: bool
) -> tuple[list[Line], int, list[str]]:
    """The lines of a task, how many documents they are of, and what is to be said. UsageError says
    why there are none."""
    said = []
    _same_question(one, two)
    if one.template != two.template:
        said.append(
            f"{one.task}: each model was asked with a chat template of its own, so a difference may be the template's"
        )
    if not one.samples or not two.samples:
        lacking = " and ".join(shortened(str(run.results)) for run in (one, two) if not run.samples)
        if common:
            raise UsageError(
                f"--common needs samples, which {lacking} lacks; run it again with --log_samples"
            )
        if one.n != two.n:
            raise UsageError(
                f"{one.n:,} documents against {two.n:,}; --log_samples and --common compare those that both were asked"
            )
        said.append(
            f"{one.task}: unpaired, since {lacking} has no samples beside it: each number is taken as if its model had been asked other "
            "questions, and that the documents were the same is not checked; run with --log_samples"
        )
        return _unpaired(one, two, wanted), one.n, said
    mine, theirs = answers(one), answers(two)
    if mine is None or theirs is None:
        said.append(
            f"{one.task}: unpaired, since its measure is not known here; name its folder with --include_path"
        )
        return _unpaired(one, two, wanted), one.n, said
    both = mine.documents.keys() & theirs.documents.keys()
    if len(both) < max(len(mine.documents), len(theirs.documents)):
        which = f"other documents: {len(mine.documents):,} against {len(theirs.documents):,}, of which {len(both):,} are the same"
        if not common:
            raise UsageError(f"{which}; --common compares these" if both else which)
        if not both:
            raise UsageError(which)
        said.append(
            f"{one.task}: the {len(both):,} documents that both were asked, of {len(mine.documents):,} and {len(theirs.documents):,}"
        )
    if one.template == two.template and (other := other_prompts(mine, theirs, both)):
        raise UsageError(f"other prompts, in {other:,} of {len(both):,} documents")
    if other := _other_settings(mine, theirs, both):
        said.append(
            f"{one.task}: answers were generated with other settings ({other}), so a difference may be theirs"
        )
    # In one order, that of the first run: what a summary makes of records may not depend on who was
    # asked when.
    order = [name for name in mine.documents if name in both]
    records = [
        [record for name in order for record in run.documents[name].records]
        for run in (mine, theirs)
    ]
    if not mine.measure.clusters:
        said.append(f"{one.task}: unpaired, since its measure declares no clusters")
        if len(both) < max(len(mine.documents), len(theirs.documents)):
            raise UsageError(
                "its measure declares no clusters, so its numbers cannot be compared on a part of the documents"
            )
        return _unpaired(one, two, wanted), one.n, said
    if mine.options != theirs.options:
        changed = [
            key
            for key in {**mine.options, **theirs.options}
            if mine.options.get(key) != theirs.options.get(key)
        ]
        raise UsageError(f"other options: {', '.join(sorted(changed))}")
    plan = Plan(mine.measure, records)
    runs = [Replicates(plan, each, mine.options) for each in records]
    if runs[0].answers == runs[1].answers:
        said.append(f"{one.task}: all answers are the same in both runs")
    return _paired(one.task, runs, wanted), len(both), said


def _same_question(one: Run, two: Run) -> None:
    """UsageError where two runs were asked otherwise; documents are looked at later."""
    a, b = (dict(run.asked) for run in (one, two))
    wrong = [
        f"{key} {shortened(a.get(key, 'default'), 40)} against {shortened(b.get(key, 'default'), 40)}"
        for key in {**a, **b}
        if key != "documents" and a.get(key) != b.get(key)
    ]
    if (one.template is None) != (two.template is None):
        wrong.append(
            f"a chat template {'in the second' if one.template is None else 'in the first'} run alone"
        )
    elif one.template != two.template and one.identity == two.identity:
        wrong.append("another chat template, of the same model")
    if wrong:
        raise UsageError("asked otherwise: " + "; ".join(wrong))


def other_prompts(mine: Answers, theirs: Answers, both: Iterable[str]) -> int:
    """How many of some documents, by their hashes, were asked in other words."""
    pairs = [(mine.documents[name].prompt, theirs.documents[name].prompt) for name in both]
    return sum(a is not None and b is not None and a != b for a, b in pairs)


def _other_settings(mine: Answers, theirs: Answers, both: Iterable[str]) -> str:
    """In what the settings differ with which answers to the same documents were generated; empty
    where they do not."""
    pairs = {(mine.documents[name].settings, theirs.documents[name].settings) for name in both}
    found: dict[str, tuple[Any, Any]] = {}
    for a, b in sorted((a, b) for a, b in pairs if a is not None and b is not None and a != b):
        for one, two in zip(json.loads(a), json.loads(b), strict=False):
            for key in {**one, **two}:
                if one.get(key) != two.get(key):
                    found.setdefault(key, (one.get(key, "default"), two.get(key, "default")))
    return ", ".join(
        f"{shortened(key, 40)} {shortened(str(a), 40)} against {shortened(str(b), 40)}"
        for key, (a, b) in found.items()
    )


def _keys(
    task: str, metrics: Sequence[Metric], present: Sequence[Key], wanted: _Wanted
) -> list[tuple[Metric, Key]]:
    """The numbers that are compared, in the order of their declaration; of each, the whole first."""
    found = []
    for metric in metrics:
        if metric.unit in ("p", "t"):
            continue
        if not (
            metric.primary
            if wanted.metrics is None
            else metric.name in wanted.metrics or f"{task}/{metric.name}" in wanted.metrics
        ):
            continue
        found += [
            (metric, key)
            for key in present
            if key[0] == metric.name and (key[1] is None or wanted.groups)
        ]
    return found


def _paired(task: str, runs: Sequence[Replicates], wanted: _Wanted) -> list[Line]:
    measure, summary = runs[0].measure, runs[0].whole
    present: list[Key] = [(name, None) for name in summary.values]
    present += [(name, group) for name, of in summary.groups.items() for group in of]
    lines = []
    for metric, key in _keys(task, measure.metrics, present, wanted):
        found = difference(*runs, key)
        why = _why(
            measure,
            metric,
            found,
            any(at_an_end(run, key) for run in runs),
            [lacks_error(run, key) for run in runs],
        )
        lines.append(Line(task, metric, key[1], found, True, nan, why, ""))
    return lines


def _why(
    measure: Measure, metric: Metric, found: Difference, at_end: bool, lacking: Sequence[bool]
) -> str:
    """Why a difference has no error."""
    if not isnan(found.p):
        return "the answers are the same" if not found.stderr else ""
    if isnan(found.first) or isnan(found.second):
        return "not defined in " + " and ".join(
            name
            for name, value in (("the first", found.first), ("the second", found.second))
            if isnan(value)
        )
    if not measured(metric):
        return "a number without an error that clusters tell"
    if found.clusters < FEWEST_CLUSTERS:
        return f"{found.clusters} clusters, of which {FEWEST_CLUSTERS} are needed"
    if at_end:
        return f"one of them cannot be told from {metric.null_value:g}, beyond which it cannot lie"
    if any(lacking):
        which = "both" if all(lacking) else "the first" if lacking[0] else "the second"
        return f"too few answers are left in {which} for an error of its own, or all that are left agree"
    if found.stderr == 0:
        return "no cluster differs from the others, which is no certainty"
    return "not defined without some of its clusters"


def _unpaired(one: Run, two: Run, wanted: _Wanted) -> list[Line]:
    """From the two intervals: what they reach towards each other and away from each other (Zou and
    Donner 2008), as `metrics.ranks` has it, with the degrees of freedom of the fewer clusters."""
    lines = []
    for metric, key in _keys(one.task, one.metrics, list(one.numbers), wanted):
        if key not in two.numbers:
            continue
        first, second = one.numbers[key], two.numbers[key]
        change = second.value - first.value
        fewest = min((n for n in (first.clusters, second.clusters) if n is not None), default=None)
        found = Difference(first.value, second.value, change, nan, nan, nan, nan, fewest or 0)
        down = hypot(second.value - second.low, first.high - first.value)
        up = hypot(second.high - second.value, first.value - first.low)
        towards = down if change >= 0 else up
        why = ""
        if isnan(change):
            why = "not defined in one of them"
        elif fewest is not None and fewest < FEWEST_CLUSTERS:
            why = f"{fewest} clusters, of which {FEWEST_CLUSTERS} are needed"
        elif isnan(down) or isnan(up) or not 0 < towards < inf:
            why = "an interval is lacking, without end, or of no width"
        else:
            df = inf if fewest is None else fewest - 1
            quantile = float(stats.t.ppf(0.975, df))
            p = float(2 * stats.t.sf(quantile * abs(change) / towards, df))
            found = found._replace(
                stderr=towards / quantile, low=change - down, high=change + up, p=p
            )
        lines.append(Line(one.task, metric, key[1], found, False, nan, why, ""))
    return lines


def _towards(line: Line, p: float) -> str:
    """In which direction the second of two numbers lies that are told apart."""
    if isnan(p) or p > LEVEL:
        return ""
    way, found = direction(line.metric), line.found
    if way == "near" and line.metric.null_value is not None:
        one, two = found.first - line.metric.null_value, found.second - line.metric.null_value
        return "across" if one * two < 0 else "nearer" if abs(two) < abs(one) else "farther"
    if way is None:
        return "higher" if found.difference > 0 else "lower"
    return "better" if (found.difference > 0) == (way == "higher") else "worse"


LEGEND = (
    "Each line is a number of both runs and the second less the first, with its 95 % interval; the largest difference, in "
    "standard errors, stands first. p is after Holm over all tests of this comparison: with p at most 0.05 the two are told "
    "apart, and a false alarm anywhere among them comes in at most 5 of 100 comparisons, as far as the intervals hold.",
    "Paired: both were asked the same documents, and what a question does to both is no part of the difference. The error is "
    "that of a jackknife: the task's own numbers, computed again without the same clusters of both runs. unpaired: as if each "
    "had been asked other questions, which hides differences.",
    "nearer, farther: to or from the number of a model without bias. across: on the other side of it, which says nothing of "
    "which is nearer. A dash stands where a difference has no error, and beside it why.",
    "The intervals are those of the questions. Prompts, words and events of others, and what a sampled model would answer "
    "another time, are covered only as far as questions stray in the same way (docs/statistics.md).",
)
