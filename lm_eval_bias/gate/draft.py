"""The first rules of a team: bounds from the sample size, the null band or the team, never from the
run's own result."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, log10, sqrt

from lm_eval_bias.data.null_bands import band, families
from lm_eval_bias.gate.rules import BELOW, CAP, LEAST_CONFIDENCE, SIGNIFICANT, WITHIN, WORSE
from lm_eval_bias.gate.verdicts import POWER, Changes, baseline_of, decidable, student
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.table import unit_of_difference, with_unit
from lm_eval_bias.usage import UsageError

NULL_BAND = "null_band"
_STEPS = (1, 1.5, 2, 3, 4, 5, 7, 10)
Numbers = Sequence[tuple[Run, Number]]


class _NoRule(ValueError):
    """Why there is no rule."""


def draft(
    runs: Sequence[Run], baseline: Sequence[Run], changes: Changes, kind: str | float | None
) -> str:
    """A file with a rule for each number that tests a question; the widest interval counts.
    UsageError where there is none.

    kind: None for "not significantly worse", of people alone where placebos are taken off; a number
    for a change in percent and points; NULL_BAND for the values of models without meaning.
    """
    tests: dict[tuple[str, Metric], list[tuple[Run, Number]]] = {}
    for run in runs:
        for metric, number in run.tested:
            if kind is None and (raw := run.metric(metric.raw)):
                metric, number = raw, run.number(raw.name)
            tests.setdefault((run.task, metric), []).append((run, number))
    pooled = kind is None and len(tests) > 1
    alpha = (1 - LEAST_CONFIDENCE) / max(len(tests) + pooled, 1)
    lines, left = [], []
    for (task, metric), numbers in tests.items():
        errors = [_error(metric, *of_run, baseline, changes, kind) for of_run in numbers]
        documents = f"{min(run.n for run, _ in numbers):,} documents"
        sample = f"{documents}, {min(n.clusters or 0 for _, n in numbers)} clusters"
        try:
            condition, bound = WORSE, 0.0
            if kind == NULL_BAND:
                condition, bound = _band(task, metric, numbers, errors, alpha)
                reason = f"{sample}."
            elif isinstance(kind, float) and metric.unit in ("%", "points"):
                bound, reason = _own_bound(kind, metric, errors, alpha), "Your bound."
            else:
                bound = _decidable(errors, alpha)
                if kind is None:
                    condition = SIGNIFICANT
                else:
                    bound = _nice(bound)
                least = with_unit(bound, unit_of_difference(metric.unit))
                paired = "" if baseline else ", or a smaller one: no older run was given"
                reason = f"{sample}; catches a worsening of {least}{paired}."
        except _NoRule as why:
            left.append(f"{task} {metric.name}: {why}")
            lines.append(f"  # {task} {metric.name}: no rule. {why}")
            continue
        unit = f', unit: "{metric.unit}"' if metric.unit else ""
        limit = "significantly" if condition == SIGNIFICANT else f"{bound:g}{unit}"
        rule = f"task: {task}, metric: {metric.name}, {condition}: {limit}"
        lines.append(f"  - {{{rule}}}  # {reason}")
    if len(left) == len(tests):
        reasons = "\n".join(left or ["no number tests a question"])
        raise UsageError(f"these runs give no rule:\n{reasons}")
    about: dict[str | float | None, str] = {
        None: "A rule fails if the model is significantly worse than the baseline; it catches what "
        f"it says in {100 * POWER:.0f} of 100 runs.",
        NULL_BAND: "Models without meaning reach no further than these bounds.",
    }
    unchanged = f"A model that has not changed keeps a rule in {100 * POWER:.0f} of 100 runs."
    together = f'  - {{task: "*", {SIGNIFICANT}: significantly}}  # all of these together'
    return "\n".join(
        [
            "# Written by `lm-eval-bias gate --init` from runs of "
            f"{', '.join(dict.fromkeys(run.model for run in runs))}.",
            f"# {about.get(kind, unchanged)}",
            "# Change a rule before you ask the next model, not after.",
            f"confidence: {LEAST_CONFIDENCE:g}",
            "rules:",
            *lines,
            *[together] * pooled,
            *(
                f"  # {task}: no rule. It describes, and tests no question."
                for task in sorted({run.task for run in runs} - {task for task, _ in tests})
            ),
            "  # Refusals and answers that cannot be read, in percent of each task.",
            f'  - {{task: "*", unusable: {CAP:g}}}',
            "",
        ]
    )


Error = tuple[float, int]
"""A standard error, and its clusters."""


def _error(
    metric: Metric,
    run: Run,
    number: Number,
    baseline: Sequence[Run],
    changes: Changes,
    kind: str | float | None,
) -> Error:
    """Of what a rule bounds: the number, its paired change, or that of two independent runs."""
    clusters = number.clusters or 0
    # the standard error that its interval implies
    own = (number.high - number.low) / (2 * student(0.05, max(clusters - 1, 1)))
    if kind == NULL_BAND:
        return own, clusters
    if before := baseline_of(run, baseline):
        change = changes(run, before, (metric.name, None))
        if change.stderr > 0:
            return change.stderr, change.clusters
    return sqrt(2) * own, clusters


def _decidable(errors: Sequence[Error], alpha: float) -> float:
    """The least bound that a number at zero keeps with its whole interval `POWER` of the time."""
    bounds, why = [], ""
    for error, clusters in errors:
        if clusters < FEWEST_CLUSTERS:
            why = f"It rests on {clusters} clusters, and {FEWEST_CLUSTERS} are needed."
        elif not 0 < error < inf:
            why = why or "It has no standard error here."
        else:
            bounds.append(decidable(error, clusters, alpha))
    if not bounds:
        raise _NoRule(why)
    return max(bounds)


def _own_bound(bound: float, metric: Metric, errors: Sequence[Error], alpha: float) -> float:
    least, unit = _decidable(errors, alpha), unit_of_difference(metric.unit)
    if bound < least:
        raise _NoRule(
            f"{with_unit(bound, unit)} cannot be decided with these documents; "
            f"{with_unit(_nice(least), unit)} can."
        )
    return bound


def _band(
    task: str, metric: Metric, numbers: Numbers, errors: Sequence[Error], alpha: float
) -> tuple[str, float]:
    """The condition, and how far models without meaning reach."""
    null, unit = metric.null_value or 0.0, unit_of_difference(metric.unit)
    one_sided = metric.better == "lower"
    bands = [band(families(task, metric.name, run.options)) for run, _ in numbers]
    ends = None if None in bands else bands[0]
    if ends is None:
        raise _NoRule("No null band has been simulated for this number.")
    least = _decidable(errors, alpha)
    bound = _nice(ends[1] - null if one_sided else max(ends[1] - null, null - ends[0]))
    if bound < least:
        raise _NoRule(
            f"The null band ends at {with_unit(bound, unit)}, but this sample can only "
            f"detect {with_unit(_nice(least), unit)}."
        )
    for run, number in numbers:
        far = number.high - null if one_sided else max(number.high - null, null - number.low)
        if 0 <= bound - far < (number.high - number.low) / 2:
            raise _NoRule(
                f"{run.model} would only just keep {with_unit(bound, unit)}, the most that "
                "models without meaning reach."
            )
    return (BELOW, null + bound) if one_sided else (WITHIN, bound)


def _nice(bound: float) -> float:
    """Rounded up to a number that people choose."""
    power = 10.0 ** floor(log10(bound))
    return float(f"{power * next(s for s in _STEPS if s * power >= bound * (1 - 1e-9)):.3g}")
