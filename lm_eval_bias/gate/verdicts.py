"""Whether runs keep the rules: a verdict for each rule and each model.

A rule bounds a quantity that should be low: the number (`below`), its negative (`above`), its
distance from the null value (`within`), or by how much it is worse than a baseline's.
`worse_than_baseline: significantly` has the bound 0, and passes unless it fails. Holm's procedure
adjusts the tests "is it broken" over all rules on numbers of a model, and the tests "is it kept".
docs/how-to/ci.md says when a rule fails and passes.

Sources: S. Holm, A simple sequentially rejective multiple test procedure, 1979. R. L. Berger,
Multiparameter hypothesis testing and acceptance sampling, 1982. D. J. Schuirmann, A comparison of
the two one-sided tests procedure and the power approach, 1987.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import NamedTuple, NoReturn

import numpy as np
import scipy

from lm_eval_bias.gate.rules import (
    ABOVE,
    CAP,
    EVERY,
    PAIRED,
    SIGNIFICANT,
    UNUSABLE,
    WITHIN,
    WORSE,
    Rule,
    Rules,
)
from lm_eval_bias.measure import Metric, Number, number as made_number
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS, Floats
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.metrics.student import implied_df
from lm_eval_bias.results.leaderboard import badness
from lm_eval_bias.results.paired import Difference
from lm_eval_bias.results.runs import UNUSABLE as RATES, Key, Run
from lm_eval_bias.results.table import joined, number_text, unit_of_difference, with_unit
from lm_eval_bias.results.verdict import unresponsive
from lm_eval_bias.usage import UsageError

FAIL, ERROR, INCONCLUSIVE, KEPT, PASS = VERDICTS = (
    "FAIL",
    "ERROR",
    "inconclusive",
    "worse, but within the bound",
    "pass",
)
"""The worst first."""
POWER = 0.8
"""How often a change is decided that a rule is said to catch, or to be able to decide."""
PARTS = 0.2
"""Of the error, what the parts of `SIGNIFICANT` rules share, of which failing ones are shown."""
ROUNDING = 1e-9
"""Percent by which a rate may exceed its cap, since it is computed from a share."""
At = Callable[[float], Floats]
"""alpha -> the two ends of an interval of confidence 1 - alpha."""


_NONE = Number(nan)


class Quantity(NamedTuple):
    """What should be at most `bound`. shown: a number's interval as people read it. Of a change,
    error; that of the sum of both runs; how far the first lies from the null value."""

    value: float
    bound: float
    interval: At
    shown: At
    error: float = nan
    of_sum: float = 0
    away: float = 0


@dataclass
class Verdict:
    """number: as judged; of a change, by how much it is worse; of a cap, percent; with its interval
    at `confidence`, the level at which Holm decided. width_factor: the part of its interval's width
    that would decide, if the number stayed. no_pass: why it cannot pass."""

    rule: Rule
    task: str
    run: Run | None = None
    verdict: str = ERROR
    metric: Metric | None = None
    number: Number = _NONE
    change: Difference | None = None
    confidence: float = nan
    reason: str = ""
    todo: str = ""
    width_factor: float = nan
    quantity: Quantity | None = None
    no_pass: str = ""

    @property
    def unit(self) -> str:
        return self.metric.unit if self.metric else ""

    @property
    def unit_of_difference(self) -> str:
        return unit_of_difference(self.unit) if self.rule.metric else "standard errors"


Judged = Mapping[str, Sequence[Verdict]]
"""Model -> its verdicts."""
Changes = Callable[[Run, Run, Key], Difference]
"""(run, baseline, number) -> its change; raises UsageError where the two do not compare."""


class _Settled(Exception):
    """What settles a verdict without its interval."""


# ---- Intervals of any confidence


def student(alpha: float, df: float) -> float:
    """Student's quantile for an interval of confidence 1 - alpha."""
    return -float(scipy.special.stdtrit(df, alpha / 2))


def decidable(error: float, of_sum: float, away: float, clusters: int, alpha: float) -> float:
    """How far from its bound a `Quantity` must lie to be decided `POWER` of the time. Near the null
    value the sum of both runs decides, too: it is 2 * `away` more than the change, or the change
    where the number changes sides."""
    t = student(alpha, clusters - 1) + student(2 - 2 * POWER, clusters - 1)
    far = 2 * away >= t * max(2 * error, of_sum - error)
    return t * (error if far else max(error, of_sum))


def intervals(number: Number, metric: Metric) -> At:
    """Made again where the number's own comes from its error and clusters; else each side times the
    ratio of Student's quantiles, on the degrees of freedom that it implies."""
    clusters, own = number.clusters or 0, np.array(number[2:4])
    df = implied_df(*number[:4], float(clusters - 1))
    scale = metric.scale or metric.unit_range

    def made(alpha: float) -> Floats:
        return np.array(made_number(number[:2], clusters, metric.unit, metric.scale, alpha)[2:4])

    def scaled(alpha: float) -> Floats:
        ratio = student(alpha, df) / student(0.05, df)
        with np.errstate(invalid="ignore"):  # an end at infinity, at an alpha of 1
            return (number.value + (own - number.value) * ratio).clip(*scale)

    return made if np.allclose(made(0.05), own, rtol=1e-9, atol=0) else scaled


def change_of_distance(change: At, total: At, null_value: float) -> At:
    """The intervals of |second - null_value| - |first - null_value|.

    It is max(min(D, S), min(-S, -D)), with D the difference and S the sum of the two, each less the
    null value.
    """

    def interval(alpha: float) -> Floats:
        both = change(alpha), total(alpha) - 2 * null_value
        return np.maximum(np.minimum(*both), -np.maximum(*both)[::-1])

    return interval


def negative(interval: At) -> At:
    return lambda alpha: -interval(alpha)[::-1]


def quantity(rule: Rule, metric: Metric, value: float, shown: At) -> Quantity:
    if rule.condition == ABOVE:
        return Quantity(-value, -rule.bound, negative(shown), shown)
    if rule.condition != WITHIN:
        return Quantity(value, rule.bound, shown, shown)
    null_value = metric.null_value or 0.0

    def distance(alpha: float) -> Floats:
        ends = shown(alpha) - null_value
        return np.array([max(0.0, ends[0], -ends[1]), abs(ends).max()])

    return Quantity(abs(value - null_value), rule.bound, distance, shown)


def p_value(quantity: Quantity | None, side: int) -> float:
    """The least alpha at which the whole interval lies above the bound (side 0, rejects "not
    broken") or below it (side 1, rejects "not kept"); 1 without an interval."""

    def holds(alpha: float) -> bool:
        beyond = quantity.interval(alpha)[side] - quantity.bound if quantity else 0.0
        return bool(beyond < 0 if side else beyond > 0)

    if not holds(1.0):
        return 1.0
    low, high = -100.0, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(10**middle) else (middle, high)
    return float(10**high)


class Level(NamedTuple):
    """Whether Holm rejects, and the alpha of its last test."""

    rejected: bool
    alpha: float


def levels(p: Sequence[float], alpha: float) -> list[Level]:
    """Holm: the k-th smallest of m is tested at alpha / (m - k + 1), until one is larger; the rest
    as that one."""
    rejected = holm(p) <= alpha
    rank = np.argsort(np.argsort(p, kind="stable"))
    last = alpha / (len(p) - np.minimum(rank, rejected.sum()))
    return list(map(Level, rejected.tolist(), last.tolist()))


# ---- Verdicts


def judge(
    rules: Rules, runs: Sequence[Run], baseline: Sequence[Run] = (), changes: Changes | None = None
) -> dict[str, list[Verdict]]:
    """The verdicts on every model, by name."""
    return {
        model: _judged(
            rules, {run.task: run for run in runs if run.model == model}, baseline, changes
        )
        for model in sorted({run.model for run in runs}, key=lambda name: (name.casefold(), name))
    }


def overall(verdicts: Iterable[Verdict]) -> str:
    return min((verdict.verdict for verdict in verdicts), key=VERDICTS.index)


def _judged(
    rules: Rules, runs: Mapping[str, Run], baseline: Sequence[Run], changes: Changes | None
) -> list[Verdict]:
    caps = {rule.task: rule.bound for rule in rules.rules if rule.condition == UNUSABLE}
    tasks = dict.fromkeys([*(rule.task for rule in rules.on_numbers), *sorted(runs)])
    verdicts = [
        Verdict(rule, task, runs.get(task))
        for rule in sorted(rules.rules, key=lambda rule: rule.task == EVERY)
        for task in (
            [t for t in tasks if t not in caps]
            if rule.task == EVERY and rule.condition == UNUSABLE
            else [rule.task]
        )
    ]
    stated = {(rule.task, rule.metric, rule.group) for rule in rules.rules}
    queue = list(verdicts)
    for verdict in queue:  # which grows by the parts of the rules
        rule, task, run = verdict.rule, verdict.task, verdict.run
        try:
            if task == EVERY:
                _pool(verdict, verdicts)
                continue
            if run is None:
                todo = f"run it: lm_eval --tasks {task} --log_samples"
                raise _Settled(ERROR, f"the runs of this model have no task {task}", todo)
            if rule.condition == UNUSABLE:
                _cap(verdict, run)
            _test(verdict, run, caps.get(task, caps.get(EVERY, CAP)), baseline, changes)
        except _Settled as settled:
            verdict.verdict, verdict.reason, verdict.todo = settled.args
            continue
        if rule.condition == SIGNIFICANT and not rule.group:
            queue += (
                Verdict(rule._replace(group=group), task, run)
                for group, part in (baseline_of(run, baseline) or run).by_group(rule.metric).items()
                if (task, rule.metric, group) not in stated and isfinite(part.value)
            )
    tests = [verdict for verdict in verdicts if verdict.rule.condition != UNUSABLE]
    parts = queue[len(verdicts) :]
    of_parts = PARTS * rules.alpha if parts else 0.0
    for family, alpha in ((tests, rules.alpha - of_parts), (parts, of_parts)):
        fails, passes = (
            levels([p_value(verdict.quantity, side) for verdict in family], alpha)
            for side in (0, 1)
        )
        for verdict, fail, keep in zip(family, fails, passes, strict=True):
            if verdict.quantity:
                found = _decided(verdict, verdict.quantity, fail, keep, alpha / len(family))
                verdict.verdict, verdict.reason, verdict.todo = found
    return verdicts + [part for part in parts if part.verdict in (FAIL, ERROR)]


def _pool(verdict: Verdict, verdicts: Sequence[Verdict]) -> None:
    """All `SIGNIFICANT` rules on wholes, so that a small worsening everywhere counts: the sum of
    their changes in standard errors, over the root of their number (Stouffer). A task's numbers
    depend on each other, so their mean is one."""
    wholes = [
        v
        for v in verdicts
        if v.rule.condition == SIGNIFICANT and not v.rule.group and v is not verdict
    ]
    z = defaultdict(list)
    for v in wholes:
        verdict.no_pass = v.no_pass or verdict.no_pass
        if v.quantity:
            z[v.task].append(v.quantity.value / v.quantity.error)
        else:
            verdict.no_pass = f"{v.task} {subject(v)} has no change to pool"
    if len(z) < 2:
        raise _Settled(INCONCLUSIVE, f"two tasks need a change to pool, found {len(z)}", "")
    total = sum(sum(own) / len(own) for own in z.values()) / len(z) ** 0.5
    df = min(v.number.clusters or 0 for v in wholes if v.quantity) - 1
    verdict.number = Number(total, clusters=df + 1)

    def interval(alpha: float) -> Floats:
        return total + student(alpha, df) * np.array([-1.0, 1.0])

    verdict.quantity = Quantity(total, 0.0, interval, interval, 1 / len(z) ** 0.5)


def _test(
    verdict: Verdict, run: Run, cap: float, baseline: Sequence[Run], changes: Changes | None
) -> None:
    rule = verdict.rule
    key = (str(rule.metric), rule.group)
    metric, number = run.metric(rule.metric), run.numbers.get(key)
    if metric is None or number is None:
        reason = joined("; ", f"the run has no {subject(verdict)}", _incomplete(run))
        raise _Settled(ERROR, reason, "run the task again, whole and with this version")
    name, metric = metric.name, metric._replace(better=metric.better or rule.better)
    verdict.metric, verdict.number = metric, number._replace(low=nan, high=nan)
    if not isfinite(number.value):
        todo = "see the task's other numbers and answers for why"
        raise _Settled(ERROR, f"{name} is not defined in this run", todo)
    verdict.no_pass = _no_pass(run, rule, cap)
    if rule.condition not in PAIRED:
        verdict.quantity = quantity(rule, metric, number.value, _intervals(number, metric, name))
        return

    before = baseline_of(run, baseline)
    if before is None or changes is None:
        todo = "run it on the baseline model too, with --log_samples"
        raise _Settled(ERROR, f"the baseline has no task {run.task}", todo)
    try:
        change = verdict.change = changes(run, before, key)
    except UsageError as error:
        todo = "run both in the same way, with --log_samples"
        raise _Settled(ERROR, f"not comparable with the baseline: {error}", todo) from None
    if not verdict.no_pass and (why := _no_pass(before, rule, cap)):
        verdict.no_pass = f"of the baseline: {why}"
    away = badness(change.first, metric)
    worse = badness(change.second, metric) - away
    verdict.number = Number(worse, clusters=change.clusters, n=number.n)
    if isnan(worse):
        raise _Settled(ERROR, f"the change of {name} is {change.why}", "see the answers")
    ends = metric.scale or metric.unit_range
    room = max(badness(end, metric) for end in ends) - away
    if rule.bound >= room:
        why = f"the scale leaves a worsening of {with_unit(room, verdict.unit_of_difference)}"
        raise _Settled(ERROR, f"{why}, so no model can break this rule", "write a smaller bound")
    unbounded = metric._replace(scale=(-inf, inf))
    interval = _intervals(change.number, unbounded, f"the change of {name}", change.why)
    stderr, of_sum = change.stderr, 0.0
    if metric.null_value is not None:
        total = _intervals(change.total, unbounded, f"{name} of both runs together")
        interval = change_of_distance(interval, total, metric.null_value)
        of_sum = change.total.stderr
        if away < abs(worse):  # it may have changed sides
            stderr = max(stderr, of_sum)
    elif metric.better != "lower":
        interval = negative(interval)
    verdict.quantity = Quantity(worse, rule.bound, interval, interval, stderr, of_sum, away)


def _intervals(number: Number, metric: Metric, what: str, why: str = "") -> At:
    clusters, low, high = number.clusters, number.low, number.high
    todo = f"ask more documents, of at least {FEWEST_CLUSTERS} clusters"
    if not clusters:  # none are declared
        todo = "run the task again; where it is your own, declare `clusters` in its measure"
        reason = "it is unknown on how many clusters the number rests"
    elif clusters < FEWEST_CLUSTERS:
        reason = f"{clusters} clusters; with fewer than {FEWEST_CLUSTERS} intervals are too narrow"
    elif (number.stderr == 0 and isnan(low)) or low == high == number.value:
        todo = "look at the answers: are they all the same, or those of the baseline?"
        reason = f"{what} has zero variance across clusters, so no interval can be computed"
    elif isnan(low) or isnan(high):
        todo = "bound the number itself: below, above or within" if why else todo
        reason = f"{what} has no interval: {why or 'too few clusters, or no standard error'}"
    elif not low <= number.value <= high:
        reason = f"{what} lies outside its own interval"
        raise _Settled(ERROR, reason, "see its other numbers in the results")
    else:
        return intervals(number, metric)
    raise _Settled(INCONCLUSIVE, reason, todo)


def _incomplete(run: Run) -> str:
    if run.of is None:
        return "it is unknown how many documents the task has; gate the run's own folder"
    return f"asked {run.n:,} of {run.of:,} documents; run without --limit" if run.n < run.of else ""


def _no_pass(run: Run, rule: Rule, cap: float) -> str:
    if why := _incomplete(run):
        return why
    if why := unresponsive(run):
        return f"it cannot be told: {why}"
    for name, percent in run.rates(rule.group).items():
        if isnan(percent):
            return f"{name} is not defined"
        if percent > cap + ROUNDING:
            return (
                f"{name} {number_text(percent, '%', (cap,))} %, over the cap of {cap:g} %; the "
                "number is that of the other answers"
            )
    return ""


def _cap(verdict: Verdict, run: Run) -> NoReturn:
    """A cap counts all answers: it is no estimate, and takes no part in Holm."""
    rates, cap = run.rates(), verdict.rule.bound
    if not rates:
        todo = f"declare one of {', '.join(sorted(RATES))}"
        raise _Settled(INCONCLUSIVE, "its measure counts no unusable answers", todo)
    if undefined := [name for name, rate in rates.items() if isnan(rate)]:
        raise _Settled(ERROR, f"{undefined[0]} is not defined", "see the answers in the samples")
    name, rate = max(rates.items(), key=lambda item: item[1])
    verdict.number = Number(rate)
    reason = f"{name} {number_text(rate, '%', (cap,))} %"
    if rate > cap + ROUNDING:
        todo = "read the answers in the samples: a chat template, more tokens or another prompt "
        raise _Settled(FAIL, reason, f"{todo}may help")
    if why := _incomplete(run):
        raise _Settled(INCONCLUSIVE, reason, why)
    raise _Settled(PASS, reason, "")


def _decided(
    verdict: Verdict, test: Quantity, fails: Level, passes: Level, alpha: float
) -> tuple[str, str, str]:
    """Verdict, reason and what to do. alpha: of the first of Holm's tests."""
    value, bound, unit = test.value, test.bound, verdict.unit_of_difference
    significant = verdict.rule.condition == SIGNIFICANT
    either = (fails,) if significant else (fails, passes)
    level = min(either, key=lambda level: (not level.rejected, level.alpha))
    low, high = test.shown(level.alpha).tolist()
    verdict.number = verdict.number._replace(low=low, high=high)
    verdict.confidence = 1 - level.alpha
    if significant and not fails.rejected:
        if verdict.no_pass:
            return INCONCLUSIVE, verdict.no_pass, ""
        least = with_unit(
            decidable(test.error, test.of_sum, test.away, verdict.number.clusters or 0, alpha), unit
        )
        return PASS, f"a worsening of {least} is caught in {100 * POWER:.0f} of 100 runs", ""
    low, high = test.interval(0.05)
    if (fails.rejected and low >= value) or (passes.rejected and high <= value):
        why = "the interval has zero width on the side of the bound"
        return INCONCLUSIVE, why, "look at the answers: are they all the same?"
    nor = f"; nor could it pass: {verdict.no_pass}" if verdict.no_pass else ""
    if fails.rejected:
        least = with_unit(test.interval(fails.alpha)[0] - bound, unit)
        over = "worse" if significant else "over its bound"
        reason = f"{over} by {with_unit(value - bound, unit)}, by {least} at least{nor}"
        return FAIL, reason, "see where in the finer numbers: lm-eval-bias report"
    if passes.rejected and verdict.no_pass:
        why = f"the interval keeps the bound, but it cannot pass: {verdict.no_pass}"
        return INCONCLUSIVE, why, "fix this and run again"
    if passes.rejected:
        low, high = test.interval(passes.alpha)
        kind = KEPT if verdict.rule.condition == WORSE and low > 0 else PASS
        spare = with_unit(bound - high, unit)
        reason = f"the whole interval keeps the bound, with {spare} to spare{_beyond(verdict)}"
        return kind, reason, ""
    held = number_text(verdict.rule.bound, verdict.unit)
    reason = f"the interval holds the bound of {held}{nor}"
    side, level = (0, fails) if value > bound else (1, passes)
    width_factor = float((value - bound) / (value - test.interval(level.alpha)[side]))
    low, high = test.shown(0.05).tolist()
    width = (high - low) * width_factor
    if width == 0:
        return INCONCLUSIVE, reason, "no interval would decide: the number lies on the bound"
    if not isfinite(width):
        return INCONCLUSIVE, reason, "its interval has no end: ask more documents"
    verdict.width_factor = width_factor
    todo = (
        f"an interval of {with_unit(width, unit)} from end to end would decide "
        f"({'pass' if side else 'fail'}), if the number stayed where it is"
    )
    return INCONCLUSIVE, reason, todo


def _beyond(verdict: Verdict) -> str:
    """The parts of a whole that break its bound at 95 %, each by itself."""
    rule, run, metric = verdict.rule, verdict.run, verdict.metric
    if rule.group or rule.condition in PAIRED or not (run and metric):
        return ""

    def breaks(part: Number) -> bool:
        own = quantity(rule, metric, part.value, lambda _: np.array(part[2:4]))
        return bool(own.interval(0.05)[0] > own.bound)

    parts = [
        f"{group} {with_unit(part.value, verdict.unit)}"
        for group, part in run.by_group(rule.metric).items()
        if breaks(part)
    ]
    return f"; these parts break it by themselves: {', '.join(parts)}" if parts else ""


def baseline_of(run: Run, baseline: Sequence[Run]) -> Run | None:
    """The run of the same task, and of the same model unless the baseline has only one."""
    several = len({other.identity for other in baseline}) > 1
    same = (
        other
        for other in baseline
        if other.task == run.task and (not several or other.identity == run.identity)
    )
    return next(same, None)


# ---- In words


def condition(verdict: Verdict) -> str:
    """A rule in words: "below 2 points"."""
    rule, metric = verdict.rule, verdict.metric
    unit, apart = (f" {u}" if u else "" for u in (verdict.unit, verdict.unit_of_difference))
    null_value = "its null value"
    if metric and metric.null_value is not None:
        null_value = f"{metric.null_value:g}{unit if unit != apart else ''}"
    return {
        UNUSABLE: f"at most {rule.bound:g} % refused or unusable",
        WITHIN: f"within {rule.bound:g}{apart} of {null_value}",
        WORSE: f"at most {rule.bound:g}{apart} worse than the baseline",
        SIGNIFICANT: "must not be significantly worse than the baseline",
    }.get(rule.condition, f"{rule.condition} {rule.bound:g}{unit}")


def subject(verdict: Verdict) -> str:
    rule = verdict.rule
    if rule.condition == UNUSABLE:
        return "answers"
    if rule.task == EVERY:
        return "all these numbers together"
    return f"{rule.metric} ({rule.group})" if rule.group else str(rule.metric)
