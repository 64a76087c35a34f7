"""Whether runs keep the rules: a verdict for each rule and each model.

A rule bounds a quantity that should be low: the number (`below`), its negative (`above`), its
distance from the null value (`within`), or by how much it is worse than a baseline's. It fails if
its whole interval breaks the bound, passes if the whole interval keeps it, and is inconclusive
otherwise. Holm's procedure adjusts the tests "is it broken" over all rules on numbers of a model,
and the tests "is it kept". docs/how-to/ci.md gives the reasons.

Sources: S. Holm, A simple sequentially rejective multiple test procedure, 1979. R. L. Berger,
Multiparameter hypothesis testing and acceptance sampling, 1982. D. J. Schuirmann, A comparison of
the two one-sided tests procedure and the power approach, 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import NamedTuple

import numpy as np
import scipy

from lm_eval_bias.gate.rules import ABOVE, BELOW, CAP, EVERY, UNUSABLE, WITHIN, WORSE, Rule, Rules
from lm_eval_bias.measure import RANGE, Metric, Number
from lm_eval_bias.measure import number as made_number
from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.metrics.student import implied_df
from lm_eval_bias.results.leaderboard import badness
from lm_eval_bias.results.paired import Difference
from lm_eval_bias.results.runs import UNUSABLE as RATES
from lm_eval_bias.results.runs import Key, Run
from lm_eval_bias.results.table import number_text, with_unit
from lm_eval_bias.usage import UsageError

FAIL, ERROR, INCONCLUSIVE, PASS = VERDICTS = ("fail", "error", "inconclusive", "pass")
"""The worst first."""
Interval = tuple[float, float]
ROUNDING = 1e-9
"""Percent by which a rate may exceed its cap, since it is computed from a share."""


@dataclass
class Verdict:
    """value: the number; of a change, by how much it is worse; of a cap, percent. low, high: its
    interval at `confidence`, the level at which Holm decided. narrower: the part of its interval's
    width that would decide, if the number stayed where it is. n: of the number. n_documents: asked;
    of_documents: of the task. before, now: the two numbers of a change."""

    rule: Rule
    model: str
    task: str
    verdict: str = ERROR
    metric: Metric | None = None
    value: float = nan
    low: float = nan
    high: float = nan
    confidence: float = nan
    clusters: int | None = None
    n: int | None = None
    n_documents: int | None = None
    of_documents: int | None = None
    before: float = nan
    now: float = nan
    reason: str = ""
    todo: str = ""
    narrower: float = nan

    @property
    def unit(self) -> str:
        return self.metric.unit if self.metric else ""

    def settle(self, verdict: str, reason: str, todo: str = "") -> Verdict:
        self.verdict, self.reason, self.todo = verdict, reason, todo
        return self


class Judged(NamedTuple):
    """A model. verdict: the worst of its rules. family: how many rules Holm counts."""

    model: str
    verdict: str
    verdicts: Sequence[Verdict]
    family: int


Changes = Callable[[Run, Run, Key], Difference]
"""(run, baseline, number) -> its change; raises UsageError where the two do not compare."""


class _Settled(Exception):
    """What settles a verdict without its interval: verdict, reason, todo."""


# ---- Numbers and intervals


At = Callable[[float], Interval]
"""alpha -> an interval of confidence 1 - alpha."""


class Quantity(NamedTuple):
    """What should be at most `bound`. shown: the interval of the number that a person reads."""

    value: float
    bound: float
    interval: At
    shown: At


def student(alpha: float, df: float) -> float:
    """Student's quantile at which an interval of confidence 1 - alpha ends."""
    return -float(scipy.special.stdtrit(df, alpha / 2))


def intervals(number: Number, metric: Metric) -> At:
    """Made again where the number's own is made of its error and its clusters; else each side times
    the ratio of Student's quantiles, on the degrees of freedom that it implies."""
    clusters = number.clusters or 0
    df = implied_df(*number[:4], float(clusters - 1))
    least, most = metric.scale or RANGE.get(metric.unit, (-inf, inf))

    def made(alpha: float) -> Interval:
        return made_number(number[:2], clusters, metric.unit, metric.scale, alpha)[2:4]

    def scaled(alpha: float) -> Interval:
        ratio = student(alpha, df) / student(0.05, df)
        low = number.value - (number.value - number.low) * ratio
        high = number.value + (number.high - number.value) * ratio
        return max(low, least), min(high, most)

    return made if np.allclose(made(0.05), number[2:4], rtol=1e-9, atol=0) else scaled


def change_of_distance(change: At, first: At, second: At, null_value: float) -> At:
    """The intervals of |second - null_value| - |first - null_value|.

    It is max(min(D, S), min(-S, -D)), with D the difference and S the sum of the two, each less the
    null value. The ends of S are sums of theirs, which is the widest that it can be.
    """

    def interval(alpha: float) -> Interval:
        low, high = change(alpha)
        ends = zip(first(alpha), second(alpha), strict=True)
        down, up = (sum(end) - 2 * null_value for end in ends)
        return max(min(low, down), min(-up, -high)), max(min(high, up), min(-down, -low))

    return interval


def quantity(rule: Rule, metric: Metric, value: float, shown: At) -> Quantity:
    if rule.condition == BELOW:
        return Quantity(value, rule.bound, shown, shown)
    if rule.condition == ABOVE:
        return Quantity(-value, -rule.bound, _negative(shown), shown)
    null_value = metric.null_value or 0.0

    def distance(alpha: float) -> Interval:
        low, high = (end - null_value for end in shown(alpha))
        return max(0.0, low, -high), max(abs(low), abs(high))

    return Quantity(abs(value - null_value), rule.bound, distance, shown)


def _negative(interval: At) -> At:
    def turned(alpha: float) -> Interval:
        low, high = interval(alpha)
        return -high, -low

    return turned


def p_values(quantity: Quantity) -> tuple[float, float]:
    """p of "not broken" and of "not kept"."""
    return (
        _smallest(lambda alpha: quantity.interval(alpha)[0] > quantity.bound),
        _smallest(lambda alpha: quantity.interval(alpha)[1] < quantity.bound),
    )


def _smallest(holds: Callable[[float], bool]) -> float:
    if not holds(1.0):
        return 1.0
    low, high = -100.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(10**middle) else (middle, high)
    return float(10**high)


# ---- Holm


class Level(NamedTuple):
    """A test: whether Holm rejects, and the alpha of its last test."""

    rejected: bool
    alpha: float


def levels(p: Sequence[float], alpha: float) -> list[Level]:
    """Holm: the k-th smallest of m is tested at alpha / (m - k + 1), until one is larger; the rest
    as that one."""
    if not p:
        return []
    adjusted = holm(p).tolist()
    rejected = sum(value <= alpha for value in adjusted)
    result = {}
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        at = alpha / (len(p) - min(rank, rejected))
        result[i] = Level(adjusted[i] <= alpha, at)
    return [result[i] for i in range(len(p))]


# ---- Verdicts


def judge(
    rules: Rules, runs: Sequence[Run], baseline: Sequence[Run] = (), changes: Changes | None = None
) -> list[Judged]:
    """Every model of the runs, in the order of their names."""
    judged = []
    for model in sorted({run.model for run in runs}, key=lambda name: (name.casefold(), name)):
        of_model = {run.task: run for run in runs if run.model == model}
        judged.append(_judged(rules, model, of_model, baseline, changes))
    return judged


def overall(verdicts: Sequence[str]) -> str:
    return min(verdicts, key=VERDICTS.index)


def _judged(
    rules: Rules,
    model: str,
    runs: Mapping[str, Run],
    baseline: Sequence[Run],
    changes: Changes | None,
) -> Judged:
    caps = {rule.task: rule.bound for rule in rules.rules if rule.condition == UNUSABLE}
    on_numbers = [rule for rule in rules.rules if rule.condition != UNUSABLE]
    tests: list[tuple[Verdict, _Test | None]] = []
    for rule in on_numbers:
        cap = caps.get(rule.task, caps.get(EVERY, CAP))
        verdict = Verdict(rule, model, rule.task)
        try:
            test = _test(verdict, _run(verdict, runs), cap, baseline, changes)
            tests.append((verdict, test))
        except _Settled as settled:
            tests.append((verdict.settle(*settled.args), None))
    p = [p_values(test.quantity) if test else (1.0, 1.0) for _, test in tests]
    fails, passes = (levels([pair[side] for pair in p], rules.alpha) for side in (0, 1))
    decided = {
        verdict.rule: _decided(verdict, test, fail, pass_) if test else verdict
        for (verdict, test), fail, pass_ in zip(tests, fails, passes, strict=True)
    }
    tasks = dict.fromkeys([*(rule.task for rule in on_numbers), *sorted(runs)])
    verdicts = []
    for rule in sorted(rules.rules, key=lambda rule: rule.task == EVERY):
        chosen = [task for task in tasks if task not in caps] if rule.task == EVERY else [rule.task]
        verdicts += [decided.get(rule) or _capped(rule, model, task, runs) for task in chosen]
    worst = overall([verdict.verdict for verdict in verdicts])
    return Judged(model, worst, verdicts, len(on_numbers))


def _run(verdict: Verdict, runs: Mapping[str, Run]) -> Run:
    task, run = verdict.task, runs.get(verdict.task)
    if run is None:
        todo = f"run it: lm_eval --tasks {task} --log_samples"
        raise _Settled(ERROR, f"the runs of this model have no task {task}", todo)
    verdict.n_documents, verdict.of_documents = run.n, run.of
    return run


class _Test(NamedTuple):
    """no_pass: why the rule cannot pass."""

    quantity: Quantity
    no_pass: str = ""


def _test(
    verdict: Verdict, run: Run, cap: float, baseline: Sequence[Run], changes: Changes | None
) -> _Test:
    rule = verdict.rule
    key = (str(rule.metric), rule.group)
    metric = run.metric(rule.metric)
    if metric is None or key not in run.numbers:
        group = f" of {rule.group}" if rule.group else ""
        part = f" ({_part(run)})" if run.of and run.n < run.of else ""
        todo = "run the task again, whole and with this version"
        raise _Settled(ERROR, f"the run has no {rule.metric}{group}{part}", todo)
    number, name = run.numbers[key], metric.name
    verdict.metric, verdict.value, verdict.n = metric, number.value, number.n
    if not isfinite(number.value):
        todo = "see the task's other numbers and answers for why"
        raise _Settled(ERROR, f"{name} is not defined in this run", todo)
    no_pass = _no_pass(run, rule, cap)
    if rule.condition != WORSE:
        _check_clusters(verdict, number.clusters)
        shown = _intervals(number, metric, name)
        return _Test(quantity(rule, metric, number.value, shown), no_pass)

    before = baseline_of(run, baseline)
    if before is None or changes is None:
        todo = "run it on the baseline model too, with --log_samples"
        raise _Settled(ERROR, f"the baseline has no task {run.task}", todo)
    try:
        change = changes(run, before, key)
    except UsageError as error:
        todo = "run it again as this model was run, with --log_samples"
        raise _Settled(ERROR, f"the baseline does not compare: {error}", todo) from None
    if not no_pass and (why := _no_pass(before, rule, cap)):
        no_pass = f"of the baseline: {why}"
    verdict.value, verdict.before, verdict.now = nan, change.first, change.second
    _check_clusters(verdict, change.clusters)
    for value, where in ((change.first, "the baseline"), (change.second, "this run")):
        if isnan(value):
            raise _Settled(ERROR, f"{name} is not defined in {where}", "see its answers")
    verdict.value = badness(change.second, metric) - badness(change.first, metric)
    if isnan(change.stderr):
        todo = "bound the number itself: below, above or within"
        raise _Settled(INCONCLUSIVE, f"a change of {name} has no error: {change.why}", todo)
    unbounded = metric._replace(scale=(-inf, inf))
    interval = _intervals(change.number, unbounded, f"the change of {name}")
    if metric.null_value is not None:
        first = _intervals(before.numbers[key], metric, f"{name} of the baseline")
        second = _intervals(number, metric, name)
        interval = change_of_distance(interval, first, second, metric.null_value)
    elif metric.better != "lower":
        interval = _negative(interval)
    return _Test(Quantity(verdict.value, rule.bound, interval, interval), no_pass)


def _check_clusters(verdict: Verdict, clusters: int | None) -> None:
    verdict.clusters = clusters
    if clusters is None:
        todo = "run the task again; where it is your own, declare `clusters` in its measure"
        raise _Settled(INCONCLUSIVE, "it is unknown on how many clusters the number rests", todo)
    if clusters < FEWEST_CLUSTERS:
        why = f"{clusters} clusters; with fewer than {FEWEST_CLUSTERS} intervals are too narrow"
        todo = f"ask more documents, of at least {FEWEST_CLUSTERS} clusters"
        raise _Settled(INCONCLUSIVE, why, todo)


def _intervals(number: Number, metric: Metric, what: str) -> At:
    low, high = number.low, number.high
    if (number.stderr == 0 and isnan(low)) or low == high == number.value:
        why = f"{what} has zero variance across clusters, so no interval can be computed"
        todo = "look at the answers: are they all the same, or those of the baseline?"
        raise _Settled(INCONCLUSIVE, why, todo)
    if isnan(low) or isnan(high):
        why = f"{what} has no interval: too few clusters of equal size, or no standard error"
        todo = "ask more documents of other clusters; see its standard error in the results"
        raise _Settled(INCONCLUSIVE, why, todo)
    if not low <= number.value <= high:
        why = f"{what} lies outside its own interval"
        raise _Settled(ERROR, why, "see its other numbers in the results")
    return intervals(number, metric)


def _part(run: Run) -> str:
    return f"asked {run.n:,} of {run.of or 0:,} documents"


def _no_pass(run: Run, rule: Rule, cap: float) -> str:
    if run.of is None:
        return "it is unknown how many documents the task has; gate the run's own folder"
    if run.n < run.of:
        return f"{_part(run)}; run without --limit"
    for name, percent in unusable(run, rule.group).items():
        if isnan(percent):
            return f"{name} is not defined"
        if percent > cap + ROUNDING:
            return (
                f"{name} {_percent(percent, cap)} %, over the cap of {cap:g} %; the number is that "
                "of the other answers"
            )
    return ""


def unusable(run: Run, group: str | None = None) -> dict[str, float]:
    """In percent, of the whole run and of a group. `refused` and `unparsed` exclude each other, and
    are added."""
    rates = run.rates()  # a declared rate that is missing may be high
    if group:
        rates |= {f"{name} of {group}": rate for name, rate in run.rates(group).items()}
    if {"refused", "unparsed"} <= rates.keys():
        rates["refused and unparsed"] = rates["refused"] + rates["unparsed"]
    return rates


def _percent(rate: float, cap: float) -> str:
    text = f"{rate:.1f}"
    return text if (rate > cap + ROUNDING) == (float(text) > cap) else f"{rate:.6g}"


def _capped(rule: Rule, model: str, task: str, runs: Mapping[str, Run]) -> Verdict:
    """A cap counts all of this run's answers: it is no estimate, and takes no part in Holm."""
    verdict = Verdict(rule, model, task)
    try:
        run = _run(verdict, runs)
    except _Settled as settled:
        return verdict.settle(*settled.args)
    rates = unusable(run)
    if not rates:
        todo = f"declare one of {', '.join(sorted(RATES))}"
        return verdict.settle(INCONCLUSIVE, "its measure counts no unusable answers", todo)
    for name, rate in rates.items():
        if isnan(rate):
            return verdict.settle(ERROR, f"{name} is not defined", "see the answers in the samples")
    name, verdict.value = max(rates.items(), key=lambda item: item[1])
    reason = f"{name} {_percent(verdict.value, rule.bound)} % of {run.n:,} documents' answers"
    if verdict.value > rule.bound + ROUNDING:
        todo = "read the answers in the samples: a chat template, more tokens or another prompt "
        return verdict.settle(FAIL, reason, f"{todo}may help")
    if run.of is None:
        reason += "; it is unknown how many the task has"
        return verdict.settle(INCONCLUSIVE, reason, "gate the run's own folder")
    if run.n < run.of:
        return verdict.settle(INCONCLUSIVE, f"{reason}; {_part(run)}", "run without --limit")
    return verdict.settle(PASS, reason)


def _decided(verdict: Verdict, test: _Test, fails: Level, passes: Level) -> Verdict:
    quantity, apart = test.quantity, unit_of_difference(verdict.unit)
    beyond = quantity.value > quantity.bound
    level = min(fails, passes, key=lambda level: (not level.rejected, level.alpha))
    verdict.low, verdict.high = quantity.shown(level.alpha)
    verdict.confidence = 1 - level.alpha
    low, high = quantity.interval(0.05)
    if (fails.rejected and not low < quantity.value) or (
        passes.rejected and not high > quantity.value
    ):
        why = "the interval has zero width on the side of the bound"
        return verdict.settle(INCONCLUSIVE, why, "look at the answers: are they all the same?")
    if fails.rejected:
        over = with_unit(quantity.value - quantity.bound, apart)
        least = with_unit(quantity.interval(fails.alpha)[0] - quantity.bound, apart)
        todo = "see where in the finer numbers: lm-eval-bias report"
        return verdict.settle(FAIL, f"over its bound by {over}, by {least} at least", todo)
    if passes.rejected and test.no_pass:
        why = f"the interval keeps the bound, but it cannot pass: {test.no_pass}"
        return verdict.settle(INCONCLUSIVE, why, "fix this and run again")
    if passes.rejected:
        spare = with_unit(quantity.bound - quantity.interval(passes.alpha)[1], apart)
        return verdict.settle(PASS, f"the whole interval keeps the bound, with {spare} to spare")
    low, high = quantity.interval((fails if beyond else passes).alpha)
    narrower = abs(quantity.value - quantity.bound) / (
        quantity.value - low if beyond else high - quantity.value
    )
    reason = f"the interval holds the bound of {number_text(verdict.rule.bound, verdict.unit)}"
    if test.no_pass:
        reason += f"; nor could it pass: {test.no_pass}"
    low, high = quantity.shown(0.05)
    width = (high - low) * narrower
    if width == 0:
        todo = "no interval would decide: the number lies on the bound"
    elif not isfinite(width):
        todo = "its interval has no end: ask more documents"
    else:
        todo = (
            f"an interval of {with_unit(width, apart)} from end to end would decide "
            f"({FAIL if beyond else PASS}), if the number stayed where it is"
        )
        verdict.narrower = narrower
    return verdict.settle(INCONCLUSIVE, reason, todo)


def baseline_of(run: Run, baseline: Sequence[Run]) -> Run | None:
    """The run of the same task, and of the same model unless the baseline has only one."""
    same = [other for other in baseline if other.task == run.task]
    if len({other.identity for other in baseline}) > 1:
        same = [other for other in same if other.identity == run.identity]
    return same[0] if same else None


# ---- In words


def condition(rule: Rule, metric: Metric | None = None) -> str:
    """A rule in words: "below 2 points"."""
    unit = f" {metric.unit}" if metric and metric.unit else ""
    apart = f" {unit_of_difference(metric.unit)}" if metric and metric.unit else ""
    if rule.condition == UNUSABLE:
        return f"at most {rule.bound:g} % refused or unusable"
    if rule.condition == WITHIN:
        null_value = "its null value"
        if metric and metric.null_value is not None:
            null_value = f"{metric.null_value:g}{unit if unit != apart else ''}"
        return f"within {rule.bound:g}{apart} of {null_value}"
    if rule.condition == WORSE:
        return f"at most {rule.bound:g}{apart} worse than the baseline"
    return f"{rule.condition} {rule.bound:g}{unit}"


def unit_of_difference(unit: str) -> str:
    return "points" if unit == "%" else unit


def subject(verdict: Verdict) -> str:
    rule = verdict.rule
    if rule.condition == UNUSABLE:
        return "answers"
    return f"{rule.metric} ({rule.group})" if rule.group else str(rule.metric)
