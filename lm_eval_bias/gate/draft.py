"""The first rules of a team: bounds from the sample size, the null band or the team, never from the
run's own result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, inf, log10, sqrt
from typing import NamedTuple

from lm_eval_bias.data.null_bands import band, families
from lm_eval_bias.gate.rules import BELOW, CAP, LEAST_CONFIDENCE, WITHIN, WORSE
from lm_eval_bias.gate.verdicts import student, unit_of_difference
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.results.runs import Key, Run
from lm_eval_bias.results.table import with_unit

NULL_BAND = "null_band"
PASSES = 0.8
"""How often a model that has not changed, or has no bias, passes a proposed rule."""
_STEPS = (1, 1.5, 2, 3, 4, 5, 7, 10)


class Proposal(NamedTuple):
    """A rule, or why there is none. bound: None for none."""

    task: str
    metric: str
    unit: str
    condition: str
    bound: float | None
    reason: str

    @property
    def line(self) -> str:
        if self.bound is None:
            return f"  # {self.task} {self.metric}: no rule. {self.reason}"
        unit = f', unit: "{self.unit}"' if self.unit else ""
        rule = f"task: {self.task}, metric: {self.metric}, {self.condition}: {self.bound:g}{unit}"
        return f"  - {{{rule}}}  # {self.reason}"


class _NoRule(ValueError):
    """Why there is no rule."""


Errors = Callable[[Run, Key], tuple[float, int] | None]
"""(run, number) -> the standard error and the clusters of its paired change; None if unknown."""


def draft(runs: Sequence[Run], errors: Errors | None, kind: str | float | None) -> list[Proposal]:
    """A proposal for each number that tests a question; the widest interval counts.

    kind: None for a change that the documents can decide, a number for that change in percent and
    points, NULL_BAND for the values of models without meaning. errors: None without a baseline.
    """
    tests: dict[tuple[str, Metric], list[tuple[Run, Number]]] = {}
    for run in runs:
        for metric, number in run.tested:
            tests.setdefault((run.task, metric), []).append((run, number))
    alpha = (1 - LEAST_CONFIDENCE) / max(len(tests), 1)
    proposals = []
    for (task, metric), numbers in tests.items():
        condition = WORSE
        bound: float | None = None
        if kind == NULL_BAND:
            condition = BELOW if metric.better == "lower" else WITHIN
        try:
            if kind == NULL_BAND:
                bound, reason = _band(task, metric, numbers, alpha)
            else:
                least = _decidable(metric, numbers, errors or (lambda *_: None), alpha)
                bound, reason = _change(metric, numbers, least, kind, errors is not None)
        except _NoRule as why:
            reason = str(why)
        proposals.append(Proposal(task, metric.name, metric.unit, condition, bound, reason))
    return proposals


def rules_text(proposals: Sequence[Proposal], runs: Sequence[Run]) -> str:
    """The file of rules."""
    models = ", ".join(dict.fromkeys(run.model for run in runs))
    about = (
        "# Models without meaning reach no further than these bounds."
        if any(proposal.condition != WORSE for proposal in proposals)
        else "# A model that has not changed keeps a rule in "
        f"{100 * PASSES:.0f} of 100 runs; a smaller change these documents cannot decide."
    )
    untested = {run.task for run in runs} - {proposal.task for proposal in proposals}
    lines = [
        f"# Written by `lm-eval-bias gate --init` from runs of {models}.",
        about,
        "# Change a bound before you ask the next model, not after.",
        f"confidence: {LEAST_CONFIDENCE:g}",
        "rules:",
        *(proposal.line for proposal in proposals),
        *(
            f"  # {task}: no rule. It describes, and tests no question."
            for task in sorted(untested)
        ),
        "  # Refusals and answers that cannot be read, in percent of each task.",
        f'  - {{task: "*", unusable: {CAP:g}}}',
    ]
    return "\n".join([*lines, ""])


def _change(
    metric: Metric,
    numbers: Sequence[tuple[Run, Number]],
    least: float,
    kind: str | float | None,
    paired: bool,
) -> tuple[float, str]:
    apart, bound = unit_of_difference(metric.unit), _nice(least)
    if isinstance(kind, float) and metric.unit in ("%", "points"):
        if kind < least:
            raise _NoRule(
                f"{with_unit(kind, apart)} cannot be decided with these documents; "
                f"{with_unit(bound, apart)} can."
            )
        return kind, "Your bound."
    how = "paired with the baseline" if paired else "no older run was given, so perhaps too wide"
    return bound, f"{_of(numbers)}; {how}."


def _band(
    task: str, metric: Metric, numbers: Sequence[tuple[Run, Number]], alpha: float
) -> tuple[float, str]:
    null, apart = metric.null_value or 0.0, unit_of_difference(metric.unit)
    one_sided = metric.better == "lower"
    bands = [band(families(task, metric.name, run.options)) for run, _ in numbers]
    ends = None if None in bands else bands[0]
    if ends is None:
        raise _NoRule("No null band has been simulated for this number.")
    least = _decidable(metric, numbers, None, alpha)
    bound = _nice(ends[1] - null if one_sided else max(ends[1] - null, null - ends[0]))
    if bound < least:
        raise _NoRule(
            f"The null band ends at {with_unit(bound, apart)}, but this sample can only "
            f"detect {with_unit(_nice(least), apart)}."
        )
    for run, number in numbers:
        far = number.high - null if one_sided else max(number.high - null, null - number.low)
        if 0 <= bound - far < (number.high - number.low) / 2:
            raise _NoRule(
                f"{run.model} would only just keep {with_unit(bound, apart)}, the most that "
                "models without meaning reach."
            )
    return null + bound if one_sided else bound, f"{_of(numbers)}."


def _decidable(
    metric: Metric, numbers: Sequence[tuple[Run, Number]], errors: Errors | None, alpha: float
) -> float:
    """The least bound that a number at zero keeps with its whole interval `PASSES` of the time.
    errors: those of a change, by default of two independent runs; None for the number itself."""
    bounds, why = [], ""
    for run, number in numbers:
        clusters = number.clusters or 0
        # the standard error that its interval implies
        error = (number.high - number.low) / (2 * student(0.05, max(clusters - 1, 1)))
        if errors:
            error, clusters = errors(run, (metric.name, None)) or (sqrt(2) * error, clusters)
        if clusters < FEWEST_CLUSTERS:
            why = f"It rests on {clusters} clusters, and {FEWEST_CLUSTERS} are needed."
        elif not 0 < error < inf:
            why = why or "It has no standard error here."
        else:
            df = clusters - 1
            bounds.append((student(alpha, df) + student(2 - 2 * PASSES, df)) * error)
    if not bounds:
        raise _NoRule(why)
    return max(bounds)


def _nice(bound: float) -> float:
    """Rounded up to a number that people choose."""
    power = 10.0 ** floor(log10(bound))
    return float(f"{power * next(s for s in _STEPS if s * power >= bound * (1 - 1e-9)):.3g}")


def _of(numbers: Sequence[tuple[Run, Number]]) -> str:
    documents = min(run.n for run, _ in numbers)
    return f"{documents:,} documents, {min(n.clusters or 0 for _, n in numbers)} clusters"
