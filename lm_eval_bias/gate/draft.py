"""The first rules of a team: bounds from the sample size or the team, never from the run's own
result."""

from collections import defaultdict
from collections.abc import Sequence
from math import floor, inf, log10, sqrt

from lm_eval_bias.gate.rules import CAP, LEAST_CONFIDENCE, SIGNIFICANT, WORSE
from lm_eval_bias.gate.verdicts import POWER, Changes, baseline_of, decidable, student, unusable
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.table import unit_of_difference, with_unit
from lm_eval_bias.results.verdict import unresponsive
from lm_eval_bias.usage import UsageError

_STEPS = (1, 1.5, 2, 3, 4, 5, 7, 10)


class _NoRule(ValueError):
    """Why there is no rule."""


def draft(
    runs: Sequence[Run], baseline: Sequence[Run], changes: Changes, wanted: float | None
) -> str:
    """A file with a rule for each number that tests a question; the widest interval counts.
    UsageError where there is none.

    wanted: the most that percent and points may get worse; None for "not significantly worse", of
    people alone where placebos are taken off.
    """
    tests = defaultdict(list)
    for run in runs:
        for metric, number in run.tested:
            if wanted is None and (raw := run.metric(metric.between_models or metric.raw)):
                metric, number = raw, run.number(raw.name)
            tests[run.task, metric].append((run, number))
    pooled = wanted is None and len(tests) > 1
    alpha = (1 - LEAST_CONFIDENCE) / max(len(tests) + pooled, 1)
    lines, left = [], []
    for (task, metric), numbers in tests.items():
        errors = [_error(metric, *of_run, baseline, changes) for of_run in numbers]
        sample = (
            f"{min(run.n for run, _ in numbers):,} documents, "
            f"{min(n.clusters or 0 for _, n in numbers)} clusters"
        )
        try:
            condition, apart = WORSE if wanted else SIGNIFICANT, unit_of_difference(metric.unit)
            if why := next(filter(None, (unresponsive(run) for run, _ in numbers)), ""):
                raise _NoRule(f"{why[0].upper()}{why[1:]}.")
            least = _decidable(errors, alpha)
            bound = _nice(least) if wanted else least
            paired = "" if baseline else ", or a smaller one: no older run was given"
            reason = f"{sample}; catches a worsening of {with_unit(bound, apart)}{paired}."
            if wanted and apart == "points":
                if wanted < least:
                    raise _NoRule(
                        f"{with_unit(wanted, apart)} cannot be decided with these documents; "
                        f"{with_unit(bound, apart)} can."
                    )
                bound, reason = wanted, "Your bound."
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
    about = f"A model that has not changed keeps a rule in {100 * POWER:.0f} of 100 runs."
    if wanted is None:
        about = (
            "A rule fails if the model is significantly worse than the baseline; it catches what "
            f"it says in {100 * POWER:.0f} of 100 runs."
        )
    tasks = {run.task for run in runs}
    capped = {run.task for run in runs if unusable(run)}
    together = f'  - {{task: "*", {SIGNIFICANT}: significantly}}  # all of these together'
    return "\n".join(
        [
            "# Written by `lm-eval-bias gate --init` from runs of "
            f"{', '.join(dict.fromkeys(run.model for run in runs))}.",
            f"# {about}",
            "# Change a rule before you ask the next model, not after.",
            f"confidence: {LEAST_CONFIDENCE:g}",
            "rules:",
            *lines,
            *[together] * (pooled and len(tests) - len(left) > 1),
            *(
                f"  # {task}: no rule. It describes, and tests no question."
                for task in sorted(tasks - {task for task, _ in tests})
            ),
            "  # Refusals and answers that cannot be read, in percent of each task.",
            *(
                f"  # {task}: no cap. Its measure counts no such answers."
                for task in sorted(tasks - capped)
            ),
            *(
                f"  - {{task: {task}, unusable: {CAP:g}}}"
                for task in (['"*"'] if capped == tasks else sorted(capped))
            ),
            "",
        ]
    )


Error = tuple[float, int]
"""A standard error, and its clusters."""


def _error(
    metric: Metric, run: Run, number: Number, baseline: Sequence[Run], changes: Changes
) -> Error:
    """Of what a rule bounds: the number, its paired change, or that of independent runs."""
    clusters = number.clusters or 0
    # the standard error that its interval implies
    own = (number.high - number.low) / (2 * student(0.05, max(clusters - 1, 1)))
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


def _nice(bound: float) -> float:
    power = 10.0 ** floor(log10(bound))
    return float(f"{power * next(s for s in _STEPS if s * power >= bound * (1 - 1e-9)):.3g}")
