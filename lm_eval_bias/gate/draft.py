"""The first rules of a team: bounds from the sample size, never from the run's own result."""

from collections import defaultdict
from collections.abc import Sequence
from math import inf, sqrt

from lm_eval_bias.gate.rules import CAP, LEAST_CONFIDENCE, SIGNIFICANT
from lm_eval_bias.gate.verdicts import PARTS, POWER, Changes, baseline_of, decidable, student
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.table import unit_of_difference, with_unit
from lm_eval_bias.results.verdict import unresponsive
from lm_eval_bias.usage import UsageError


def draft(runs: Sequence[Run], baseline: Sequence[Run], changes: Changes) -> str:
    """A file with a rule for each number that tests a question, of people alone where placebos are
    taken off; the widest interval counts. UsageError where there is none."""
    tests = defaultdict(list)
    for run in runs:
        for metric, number in run.tested:
            if raw := run.metric(metric.between_models or metric.raw):
                metric, number = raw, run.number(raw.name)
            tests[run.task, metric].append((run, number))
    rules, left, lines = [], [], []
    for (task, metric), numbers in tests.items():
        of_runs, why = _errors(metric, numbers, baseline, changes)
        if of_runs:
            rules.append((task, metric, numbers, of_runs))
        else:
            left.append(f"{task} {metric.name}: no rule. {why}")
    if not rules:
        reasons = "\n".join(left or ["no number tests a question"])
        raise UsageError(f"these runs give no rule:\n{reasons}")
    ruled = {rule[0] for rule in rules}
    alpha = (1 - LEAST_CONFIDENCE) / (len(rules) + (len(ruled) > 1))
    if any(run.by_group(metric.name) for _, metric, numbers, _ in rules for run, _ in numbers):
        alpha *= 1 - PARTS
    for task, metric, numbers, of_runs in rules:
        least = max(decidable(*of_run, alpha) for of_run in of_runs)
        caught = with_unit(least, unit_of_difference(metric.unit))
        paired = "" if baseline else ", or a smaller one: no older run was given"
        lines.append(
            f"  - {{task: {task}, metric: {metric.name}, {SIGNIFICANT}: significantly}}"
            f"  # {min(run.n for run, _ in numbers):,} documents, "
            f"{min(number.clusters or 0 for _, number in numbers)} clusters; "
            f"catches a worsening of {caught}{paired}."
        )
    if len(ruled) > 1:
        lines.append(f'  - {{task: "*", {SIGNIFICANT}: significantly}}  # all of these together')
    tasks = {run.task for run in runs}
    capped = {run.task for run in runs if run.rates()}
    uncapped = sorted(tasks - capped)
    models = ", ".join(dict.fromkeys(run.model for run in runs))
    return "\n".join(
        [
            f"# Written by `lm-eval-bias gate --init` from runs of {models}.",
            "# A rule fails if the model is significantly worse than the baseline, or a part of it "
            f"is. As a whole it catches what it says in {100 * POWER:.0f} of 100 runs.",
            "# Change a rule before you ask the next model, not after.",
            f"confidence: {LEAST_CONFIDENCE:g}",
            "rules:",
            *lines,
            *(f"  # {line}" for line in left),
            *(
                f"  # {task}: no rule. It describes, and tests no question."
                for task in sorted(tasks.difference(task for task, _ in tests))
            ),
            "  # Refusals and answers that cannot be read, in percent of each task.",
            *(f"  # {task}: no cap. Its measure counts no such answers." for task in uncapped),
            *(
                f"  - {{task: {task}, unusable: {CAP:g}}}"
                for task in (sorted(capped) if uncapped else ['"*"'])
            ),
            "",
        ]
    )


def _errors(
    metric: Metric, numbers: Sequence[tuple[Run, Number]], baseline: Sequence[Run], changes: Changes
) -> tuple[list[tuple[float, float, float, int]], str]:
    """What `decidable` takes of each run, and why there is no rule if that is nothing. The errors
    are those of the paired change, or their largest for independent and equal runs."""
    found, why = [], "It has no standard error here."
    for run, number in numbers:
        if cause := unresponsive(run):
            return [], f"{cause[0].upper()}{cause[1:]}."
        clusters = number.clusters or 0
        # the standard error that its interval implies
        own = (number.high - number.low) / (2 * student(0.05, clusters - 1))
        error, of_sum = sqrt(2) * own, 2 * own
        if before := baseline_of(run, baseline):
            change = changes(run, before, (metric.name, None))
            if change.stderr > 0:
                error, of_sum, clusters = change.stderr, change.total.stderr, change.clusters
        if clusters < FEWEST_CLUSTERS:
            why = f"It rests on {clusters} clusters, and {FEWEST_CLUSTERS} are needed."
        elif 0 < error < inf:
            away = abs(number.value - (metric.null_value or 0.0))
            found.append((error, of_sum, away, clusters))
    return found, why
