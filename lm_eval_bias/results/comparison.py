"""Two runs of a task on the same documents: which of their numbers differ, and by how much."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from math import isfinite, isnan, nan
from typing import NamedTuple

import numpy as np

from lm_eval_bias.measure import Metric, Number, Record, Summary, logging_disabled
from lm_eval_bias.metrics.errors import Ints
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.results.leaderboard import badness
from lm_eval_bias.results.paired import Difference, Reader, Replicates, difference, replicated
from lm_eval_bias.results.runs import (
    ACROSS,
    CHAT_TEMPLATE,
    Key,
    Run,
    against,
    check_metrics,
    different,
)
from lm_eval_bias.results.verdict import (
    QUOTED,
    UNKNOWN,
    Verdict,
    kind,
    of_difference,
    with_response,
)
from lm_eval_bias.usage import UsageError


class ComparedNumber(NamedTuple):
    """One number of both runs. sides: of each the number, its verdict by itself and its
    `Run.range_text`. other_differences: what else than the model differs. p: after Holm."""

    task: str
    metric: Metric
    group: str | None
    difference: Difference
    sides: Sequence[tuple[Number, str, str]]
    other_differences: str
    p: float = nan
    verdict: Verdict = Verdict(UNKNOWN, "")

    @property
    def name(self) -> str:
        return self.metric.name + (f" ({self.group})" if self.group is not None else "")

    @property
    def distance(self) -> float:
        """In standard errors; -1 for what has none, so that it stands last."""
        change, error = self.difference.difference, self.difference.stderr
        return abs(change) / error if error > 0 and isfinite(change) else -1.0


class Comparison(NamedTuple):
    """names: of both. rows: largest difference first, in standard errors. refusals: task -> why.
    pairs: of the compared tasks."""

    names: tuple[str, str]
    rows: Sequence[ComparedNumber]
    refusals: Mapping[str, str]
    pairs: Mapping[str, Pair]
    notes: Sequence[str]

    @property
    def tests(self) -> int:
        """How many Holm counts."""
        return sum(not isnan(row.p) for row in self.rows)

    @property
    def warnings(self) -> list[str]:
        lines = []
        for task, pair in self.pairs.items():
            mine, theirs = with_response(pair.one), with_response(pair.two)
            for line in dict.fromkeys((*mine, *theirs)):
                name = self.names[line not in mine]
                both = line in mine and line in theirs
                lines.append(f"{'both' if both else name}, {task}: {line}")
        return lines


def comparison(
    first: Sequence[Run],
    second: Sequence[Run],
    names: tuple[str, str],
    answers: Reader,
    metrics: Sequence[str] | None = None,
    groups: bool = False,
    common: bool = False,
    notes: Sequence[str] = (),
    across: Collection[str] = (),
) -> Comparison:
    """Every task that both have.

    answers: None where the task is not known here. metrics: NAME or TASK/NAME, in place of the
    primary numbers. across: values of `ACROSS` in which the runs may differ. UsageError for a name
    that no run has, and for the same runs.
    """
    if first == second:
        raise UsageError(
            f"{first[0].model} would be compared with itself; give two models, or two folders"
        )
    check_metrics(metrics or (), [*first, *second])
    of_first, of_second = ({run.task: run for run in runs} for runs in (first, second))
    rows = []
    refusals = {}
    pairs = {}
    all_notes = list(notes)
    for task in sorted(of_first.keys() | of_second.keys()):
        if task not in of_first or task not in of_second:
            refusals[task] = f"only {names[task in of_second]} was asked it"
            continue
        try:
            pair = paired(of_first[task], of_second[task], answers, common, across)
            rows += pair.rows(metrics, groups)
            pairs[task] = pair
            if pair.runs[0].answers == pair.runs[1].answers:
                all_notes.append(f"{task}: all answers are the same in both runs")
            all_notes += pair.notes
        except UsageError as error:
            refusals[task] = str(error)
    return Comparison(names, _judged(rows), refusals, pairs, list(dict.fromkeys(all_notes)))


def _judged(rows: Sequence[ComparedNumber]) -> list[ComparedNumber]:
    """With p after Holm and verdict, the largest difference first."""
    # answers that are the same need no test
    adjusted = holm([nan if row.difference.why else row.difference.p for row in rows])
    judged = [
        row._replace(p=float(p), verdict=of_difference(row.metric, row.difference, p))
        for row, p in zip(rows, adjusted, strict=True)
    ]
    judged.sort(key=lambda row: (-row.distance, isnan(row.difference.difference), row.task))
    return judged


class Pair(NamedTuple):
    """Two runs of a task on the same documents. other_differences: besides the model."""

    one: Run
    two: Run
    other_differences: str
    documents: Sequence[str]
    runs: tuple[Replicates, Replicates]
    notes: Sequence[str]

    def rows(self, names: Sequence[str] | None, groups: bool) -> list[ComparedNumber]:
        """The chosen numbers in the order of their declaration; of each, the whole first."""
        first, second = self.runs
        split = first.summary.groups if groups else {}
        return [
            ComparedNumber(
                self.one.task,
                metric,
                group,
                difference(first, second, key),
                [
                    (
                        own.number(key),
                        kind(run, metric, own.number(key), group, own.number((metric.raw, group))),
                        "" if group or run.n > len(self.documents) else run.range_text(metric),
                    )
                    for run, own in ((self.one, first), (self.two, second))
                ],
                self.other_differences,
            )
            for metric, _ in self.one.shown(names)
            if metric.unit not in ("p", "t")
            for group in (None, *split.get(metric.name, ()))
            for key in [(metric.name, group)]
        ]

    def moved_most(self, keys: Collection[Key]) -> dict[Key, list[tuple[float, Record]]]:
        """Three answers that made each number of the second run worse: how much less bad it would
        be with the first run's answer, and the record. None of so many that it would take minutes.

        They are searched for: of parts of like records those that move it most are divided again.
        """
        old, new = (np.array(side.records, dtype=object) for side in self.runs)
        if len(new) > 10_000:
            return {}
        run, everything = self.runs[1], np.argsort([*map(str, new)])
        metrics = {name: run.measure.metric(name) for name, _ in keys}
        measure = run.measure._replace(metrics=[*metrics.values()], tabled=[])

        @cache  # the numbers have many parts in common
        def changed(*again: int) -> Summary:
            records = new.copy()
            records[[*again]] = old[[*again]]
            return measure.summary(records.tolist(), errors=False, **run.options)

        def of_number(key: Key) -> list[tuple[float, Record]]:
            def bad(again: Ints) -> float:
                return badness(changed(*again.tolist()).number(key).value, metrics[key[0]])

            parts = [everything]
            while max(map(len, parts)) > 1:
                cuts = [cut for part in parts for cut in np.array_split(part, 4) if cut.size]
                parts = sorted(cuts, key=bad)[:6]
            now = bad(everything[:0])
            return [(now - bad(part), new[part[0]]) for part in parts[:3]]

        with logging_disabled():
            return {key: of_number(key) for key in keys}


def paired(
    one: Run, two: Run, answers: Reader, common: bool = False, across: Collection[str] = ()
) -> Pair:
    """Two runs on their documents in common; these are fewer than a run's if `common` is true.
    UsageError says why they cannot be compared."""
    other_differences, notes = _other_differences(one, two, across), []
    if one.template != two.template and CHAT_TEMPLATE not in other_differences:
        notes.append(
            "each model was asked with a chat template of its own, so a difference may be the "
            "template's"
        )
    if lacking := " and ".join(str(run.results) for run in (one, two) if not run.samples):
        raise UsageError(f"{lacking} has no samples beside it; run it again with --log_samples")
    mine, theirs = answers(one), answers(two)
    if mine is None or theirs is None:
        raise UsageError("its measure is not known here; name its folder with --include_path")
    documents = [name for name in mine.documents if name in theirs.documents]
    first, second, n = len(mine.documents), len(theirs.documents), f"{len(documents):,}"
    if len(documents) < max(first, second):
        if not documents or not common:
            raise UsageError(
                f"other documents: {first:,} against {second:,}, of which {n} are the same"
                f"{'; compare --common takes these' if documents else ''}"
            )
        notes.append(f"the {n} documents that both were asked, of {first:,} and {second:,}")
    prompts = [(mine.documents[name].prompt, theirs.documents[name].prompt) for name in documents]
    other = sum(None not in (a, b) and a != b for a, b in prompts)
    if other and one.words == two.words:
        raise UsageError(f"other prompts, in {other:,} of {n} documents")
    settings = [  # choices alone are not generated; those behind a thought have its settings
        against(key, str(a), str(b))
        for key, a, b in different(one.generation, two.generation)
        if key != "seed" and one.generation and two.generation
    ]
    if settings:
        notes.append(
            f"answers were generated with other settings ({', '.join(settings)}), so a difference "
            "may be theirs"
        )
    a, b = replicated([mine, theirs], documents)
    return Pair(
        one, two, other_differences, documents, (a, b), [f"{one.task}: {note}" for note in notes]
    )


def _other_differences(one: Run, two: Run, across: Collection[str]) -> str:
    """What differs, other than the model. UsageError for what makes two runs incomparable."""
    asked = [one.asked, two.asked]
    if one.identity == two.identity and one.template and two.template:
        asked = [{**run.asked, CHAT_TEMPLATE: str(run.template)[:12]} for run in (one, two)]
    problems, flags, differ = [], [], []
    for key, first, second in different(*asked):
        text = against(key, first, second)
        flag = ACROSS.get(key, "")
        if flag in (*across, "dtype", "revision"):
            differ.append(text)
        elif key != "documents":
            problems.append(text)
            flags.append(flag)
    if problems:
        hint = f"; compare --across {' '.join(flags)} takes them together" if all(flags) else ""
        raise UsageError(f"asked otherwise: {'; '.join(problems)}{hint}")
    return ", ".join(differ)


LEGEND = (
    "Each line is a number of both runs, and the second minus the first with its 95 % interval. "
    "The largest difference, in standard errors, comes first. p is after Holm over all tests: "
    "differences with p at most 0.05 are significant, and at most 5 of 100 comparisons "
    "have a false one anywhere, as far as the intervals hold. Parts, such as an axis, can differ "
    "where the whole does not: --groups.",
    "Both runs have the same documents, so the effect of a question on both cancels. The error is "
    "a jackknife's: the task's own numbers, computed again without the same clusters of both runs.",
    "Nearer, farther: to or from the value without bias, by the two values; the leaderboard and "
    "the gate test this distance itself. Across: on the other side of that value, whichever is "
    "nearer. A difference without an error has a dash, and the reason.",
    "The intervals cover other questions. They cover other prompts, words and events, and another "
    "sample of a model's answers, only as far as questions vary in the same way "
    "(docs/explanation/statistics.md).",
    QUOTED,
)
