"""Whether runs keep the rules: of each rule one of four verdicts, for each model by itself.

What is judged of a number is one quantity that should be low: the number itself (`below`), its
negative (`above`), its distance from the null value (`within`), or by how much worse it is than
a baseline's (`worse_than_baseline_by`). It violates its rule if its whole interval is beyond the
bound, keeps it if its whole interval is on the right side, and is inconclusive else.

Each rule is two tests: is it violated, is it kept. Of a rule one of the two is true, so that both
cannot be wrong at once; which one is unknown. All tests of violation of a model are one family, and
all tests of keeping another. Within each, p is that of the two-sided interval, and Holm's procedure
rejects at most a false one with probability 1 - confidence, however the rules depend on each other:
a model that keeps its rules is failed by any of them in at most 5 of 100 runs, and one that breaks
them passes any in at most 5. A family counts every rule on a number that the file has, also one
that could not be judged, so that its size does not depend on the answers.

A bound on one side uses but half of that (2.5 %); the rest is for rules that can be violated on two
sides. A change of a distance is max(min(D, S), min(-S, -D)), with D the difference of the two
numbers and S their sum, each less the null value: intervals of D and S bound it, two at a time,
for which the other half is spent.

Sources: S. Holm, A simple sequentially rejective multiple test procedure. Scandinavian Journal of
Statistics, 1979. R. L. Berger, Multiparameter hypothesis testing and acceptance sampling.
Technometrics, 1982. D. J. Schuirmann, A comparison of the two one-sided tests procedure and the
power approach for assessing the equivalence of average bioavailability. Journal of
Pharmacokinetics, 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil, floor, isfinite, isnan, log10, nan, sqrt
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import stdtrit

from lm_eval_bias.gate.rules import ABOVE, BELOW, CAP, EVERY, UNUSABLE, WITHIN, WORSE, Rule, Rules
from lm_eval_bias.measure import Metric
from lm_eval_bias.metrics.holm import holm
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS
from lm_eval_bias.report.leaderboard import written
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.runs import UNUSABLE as RATES
from lm_eval_bias.results.runs import Key, Run

PASS, FAIL, INCONCLUSIVE, ERROR = VERDICTS = ("pass", "fail", "inconclusive", "error")
Interval = tuple[float, float]
ROUNDING = 1e-9
"""Percent by which a rate may be over its cap for being made of a share."""


class Verdict(NamedTuple):
    """What a rule says of a model.

    of: the task, which of a cap for all is no part of the rule. verdict: one of `VERDICTS`. metric:
    None where it is not known, and for a cap. value: the number; of a paired change by how much
    worse it is than the baseline's, before and now being the two; of a cap percent. low, high: its
    interval of that confidence, at which Holm decided; NaN where there is none. p: of the test that
    it comes nearest to, adjusted. clusters, n, has: clusters that the number rests on, documents
    asked, documents that the task has; None where not known. needed: documents that would decide,
    if the number stays where it is, the fewest where that is not known; None where none would, or
    the verdict does not hang on them. reason: what was found, a sentence. todo: what to do, a
    sentence; empty for a pass.
    """

    rule: Rule
    model: str
    task: str
    verdict: str
    metric: Metric | None = None
    value: float = nan
    low: float = nan
    high: float = nan
    confidence: float = nan
    p: float = nan
    clusters: int | None = None
    n: int | None = None
    has: int | None = None
    needed: int | None = None
    before: float = nan
    now: float = nan
    reason: str = ""
    todo: str = ""


class Judged(NamedTuple):
    """One model. verdict: the worst of its rules': fail, error, inconclusive, pass. family: how
    many rules Holm counts."""

    model: str
    verdict: str
    verdicts: Sequence[Verdict]
    family: int


class Change(NamedTuple):
    """A number of a run less that of its baseline, paired; low and high end the interval of 95 %.
    Errors are two standard errors, of each run's own number. why: where there is none though both
    numbers exist, why not."""

    first: float
    second: float
    stderr: float
    low: float
    high: float
    clusters: int | None
    why: str = ""


class Incomparable(Exception):
    """Why a run and its baseline do not compare, and what to do."""

    def __init__(self, reason: str, todo: str) -> None:
        super().__init__(reason)
        self.reason, self.todo = reason, todo


class Needed(NamedTuple):
    """The fewest and the most documents that make an interval so narrow, None where the task has
    not so many; the task that asks them, and how many it has."""

    fewest: int | None
    most: int | None
    task: str
    has: int


Narrowing = Callable[[Rule, Run, float], Needed | None]
"""Rule, run, the share of its width that the interval of the rule's number may have -> documents
for that; None where it is not known how clusters grow with documents."""
Changes = Callable[[Run, Run, Key], Change]
"""Run, baseline, number -> its change; raises Incomparable."""


class Estimate(NamedTuple):
    """A number with its interval of 95 %, and the degrees of freedom with which the interval of
    another confidence is made of that."""

    value: float
    low: float
    high: float
    df: float

    def interval(self, alpha: float) -> Interval:
        """Of confidence 1 - alpha: each side by itself times the ratio of Student's quantiles."""
        ratio = student(alpha, self.df) / student(0.05, self.df)
        return self.value - (self.value - self.low) * ratio, self.value + (
            self.high - self.value
        ) * ratio

    @property
    def stderr(self) -> float:
        """The longer side in standard errors."""
        return max(self.value - self.low, self.high - self.value) / student(0.05, self.df)


class Quantity(NamedTuple):
    """What should be at most `bound`. interval: alpha -> its interval of confidence 1 - alpha;
    these lie within each other. shown: the same of the number that a person reads."""

    value: float
    bound: float
    interval: Callable[[float], Interval]
    shown: Callable[[float], Interval]


class _Unjudged(Exception):
    """A rule that is settled without a test."""

    def __init__(self, verdict: str, reason: str, todo: str, **more: object) -> None:
        super().__init__(reason)
        self.verdict, self.reason, self.todo, self.more = verdict, reason, todo, more


# ---- Numbers and intervals


def student(alpha: float, df: float) -> float:
    """The quantile of Student's t that a two-sided interval of confidence 1 - alpha reaches to."""
    return -float(stdtrit(df, alpha / 2))


def estimate(run: Run, key: Key, clusters: int) -> Estimate:
    """A number of a run with its interval of 95 %: its own where the task declares one, else value
    ± t √(k / (k - 1)) standard errors, with t of k - 1 degrees of freedom for k clusters
    (docs/statistics.md). NaN where there is none."""
    number, group = run.numbers[key], key[1]
    ends = {
        metric.name.rpartition("_")[2]: metric.name
        for metric in run.metrics
        if metric.bounds == key[0]
    }
    if ends:
        low, high = (
            run.numbers[ends[end], group].value if (ends.get(end), group) in run.numbers else nan
            for end in ("low", "high")
        )
    else:
        half = student(0.05, clusters - 1) * sqrt(clusters / (clusters - 1)) * number.stderr
        return Estimate(number.value, number.value - half, number.value + half, clusters - 1)
    return _estimate(number.value, low, high, number.stderr, clusters)


def _estimate(value: float, low: float, high: float, stderr: float, clusters: int) -> Estimate:
    """Degrees of freedom: those that the half interval over the standard error tells, where it is
    symmetric, but no more than k - 1."""
    df = float(clusters - 1)
    half = high - value
    if stderr > 0 and isfinite(half) and abs(half - (value - low)) <= 1e-6 * half:
        told = half / stderr
        if told >= student(0.05, 1):
            df = 1.0
        elif told > student(0.05, df):
            df = float(brentq(lambda x: student(0.05, x) - told, 1, df))
    return Estimate(value, low, high, df)


def change_of_distance(
    change: Estimate, first: Estimate, second: Estimate, null_value: float
) -> Callable[[float], Interval]:
    """|second - unbiased| - |first - unbiased|, as the module says; alpha -> its interval. S is
    given the largest standard error that two dependent numbers can have."""
    middle = first.value + second.value - 2 * null_value
    error, df = first.stderr + second.stderr, min(first.df, second.df)

    def interval(alpha: float) -> Interval:
        low, high = change.interval(alpha)
        half = student(alpha, df) * error
        down, up = middle - half, middle + half
        return max(min(low, down), min(-up, -high)), max(min(high, up), min(-down, -low))

    return interval


def quantity(
    rule: Rule,
    metric: Metric,
    now: Estimate,
    before: Estimate | None = None,
    change: Estimate | None = None,
) -> Quantity:
    """What a rule judges."""
    if rule.condition == BELOW:
        return Quantity(now.value, rule.bound, now.interval, now.interval)
    if rule.condition == ABOVE:
        return Quantity(
            -now.value, -rule.bound, lambda alpha: _negative(now.interval(alpha)), now.interval
        )
    if rule.condition == WITHIN:
        middle = metric.null_value or 0.0
        return Quantity(
            abs(now.value - middle),
            rule.bound,
            lambda alpha: _distance(now.interval(alpha), middle),
            now.interval,
        )
    if before is None or change is None:
        raise ValueError("a paired change needs a baseline")
    if metric.null_value is not None:
        interval = change_of_distance(change, before, now, metric.null_value)
        worse = abs(now.value - metric.null_value) - abs(before.value - metric.null_value)
    elif metric.better == "lower":
        interval, worse = change.interval, change.value
    else:
        interval, worse = (lambda alpha: _negative(change.interval(alpha))), -change.value
    return Quantity(worse, rule.bound, interval, interval)


def _negative(interval: Interval) -> Interval:
    return -interval[1], -interval[0]


def _distance(interval: Interval, middle: float) -> Interval:
    low, high = interval[0] - middle, interval[1] - middle
    return max(0.0, low, -high), max(abs(low), abs(high))


def p_values(of: Quantity) -> tuple[float, float]:
    """p of "it is not violated" and of "it is not kept": one less the largest confidence at which
    the interval says otherwise."""
    return _smallest(lambda alpha: of.interval(alpha)[0] > of.bound), _smallest(
        lambda alpha: of.interval(alpha)[1] < of.bound
    )


def _smallest(holds: Callable[[float], bool]) -> float:
    """The least alpha of which that holds; it holds of each larger one too. 1 if it holds of none."""
    if not holds(1.0):
        return 1.0
    low, high = -100.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(10**middle) else (middle, high)
    return float(10**high)


# ---- Verdicts


def judge(
    rules: Rules,
    runs: Sequence[Run],
    baseline: Sequence[Run] = (),
    changes: Changes | None = None,
    narrowing: Narrowing | None = None,
) -> list[Judged]:
    """Every model of the runs, in the order of their names. baseline: see `baseline_of`. narrowing:
    None for the square root of the number of documents alone, which is too few where new documents
    bring no new clusters."""
    models = sorted({run.model for run in runs}, key=lambda name: (name.casefold(), name))
    return [
        _model(
            rules,
            model,
            {run.task: run for run in runs if run.model == model},
            baseline,
            changes,
            narrowing,
        )
        for model in models
    ]


def overall(verdicts: Sequence[str]) -> str:
    """The worst of several."""
    return next(verdict for verdict in (FAIL, ERROR, INCONCLUSIVE, PASS) if verdict in verdicts)


def _model(
    rules: Rules,
    model: str,
    runs: Mapping[str, Run],
    baseline: Sequence[Run],
    changes: Changes | None,
    narrowing: Narrowing | None,
) -> Judged:
    alpha = 1 - rules.confidence
    caps = {rule.task: rule.bound for rule in rules.rules if rule.condition == UNUSABLE}
    on_numbers = [rule for rule in rules.rules if rule.condition != UNUSABLE]
    found: list[tuple[Verdict, Quantity | None, str]] = []
    for rule in on_numbers:
        run = runs.get(rule.task)
        blank = Verdict(rule, model, rule.task, ERROR, n=run and run.n, has=run and run.of)
        try:
            if run is None:
                raise _Unjudged(ERROR, *_no_task(rule.task))
            cap = caps.get(rule.task, caps.get(EVERY, CAP))
            found.append(_prepared(blank, run, cap, baseline, changes))
        except _Unjudged as settled:
            found.append(
                (
                    blank._replace(
                        verdict=settled.verdict,
                        reason=settled.reason,
                        todo=settled.todo,
                        **settled.more,
                    ),
                    None,
                    "",
                )
            )
    p = [(1.0, 1.0) if of is None else p_values(of) for _, of, _ in found]
    fails, passes = (_levels([each[side] for each in p], alpha) for side in (0, 1))
    verdicts = {}
    for i, (blank, of, why_no_pass) in enumerate(found):
        verdicts[blank.rule] = (
            blank
            if of is None
            else _decided(
                blank,
                of,
                why_no_pass,
                fails[i],
                passes[i],
                partial(narrowing, blank.rule, runs[blank.task]) if narrowing else None,
            )
        )
    for rule in rules.rules:
        if rule.condition == UNUSABLE and rule.task != EVERY:
            verdicts[rule] = _cap(rule, model, rule.task, runs.get(rule.task))
    every = [rule for rule in rules.rules if rule.task == EVERY]
    tasks = list(dict.fromkeys([*(rule.task for rule in on_numbers), *sorted(runs)]))
    of_every = [
        _cap(rule, model, task, runs.get(task))
        for rule in every
        for task in tasks
        if task not in caps
    ]
    ordered = [verdicts[rule] for rule in rules.rules if rule in verdicts]
    everything = [*ordered, *of_every]
    return Judged(
        model, overall([each.verdict for each in everything]), everything, len(on_numbers)
    )


class _Level(NamedTuple):
    """Of a test in its family: whether Holm rejects, the adjusted p, and the alpha at which it was
    tested last."""

    rejected: bool
    p: float
    alpha: float


def _levels(p: Sequence[float], alpha: float) -> list[_Level]:
    """Holm's step-down: the k-th smallest p is tested at alpha / (m - k + 1), until one is larger,
    and the rest with that one."""
    if not p:
        return []
    adjusted = holm(p).tolist()
    order = sorted(range(len(p)), key=lambda i: p[i])
    rejected = sum(value <= alpha for value in adjusted)
    found = {}
    for rank, i in enumerate(order):
        found[i] = _Level(adjusted[i] <= alpha, adjusted[i], alpha / (len(p) - min(rank, rejected)))
    return [found[i] for i in range(len(p))]


def _prepared(
    blank: Verdict, run: Run, cap: float, baseline: Sequence[Run], changes: Changes | None
) -> tuple[Verdict, Quantity, str]:
    """What is tested of a rule, and why it may not pass; "" if it may. Raises _Unjudged."""
    rule = blank.rule
    key = (str(rule.metric), rule.group)
    metric = next((each for each in run.metrics if each.name == rule.metric), None)
    if metric is None or key not in run.numbers:
        where = f" of {shortened(rule.group)}" if rule.group else ""
        of = f", which asked {run.n:,} of {run.of:,} documents" if run.of and run.n < run.of else ""
        raise _Unjudged(
            ERROR,
            f"the run has no {shortened(rule.metric)}{where}{of}",
            "run the task again, whole and with this version",
        )
    name, value = shortened(metric.name), run.numbers[key].value
    blank = blank._replace(metric=metric, value=value)
    more: dict[str, object] = {"metric": metric, "value": value}
    if not isfinite(value):
        raise _Unjudged(
            ERROR,
            f"{name} is not defined in this run",
            "see the task's other numbers and answers for why",
            **more,
        )
    clusters = run.clusters(key)
    why = _why_no_pass(run, rule, cap)
    if rule.condition == WORSE:
        before = baseline_of(run, baseline)
        try:
            if before is None:
                again = "run it on the baseline model too, with --log_samples"
                raise Incomparable(f"the baseline has no task {shortened(run.task)}", again)
            if changes is None:
                raise ValueError("no way to compare with a baseline")
            found = changes(run, before, key)
        except Incomparable as error:
            raise _Unjudged(ERROR, error.reason, error.todo, **more) from None
        clusters = found.clusters
        more |= {"value": nan, "before": found.first, "now": found.second, "clusters": clusters}
        _enough(clusters, run, more)
        if isnan(found.first) or isnan(found.second):
            where = "the baseline" if isnan(found.first) else "this run"
            raise _Unjudged(ERROR, f"{name} is not defined in {where}", "see its answers", **more)
        change = _estimate(
            found.second - found.first, found.low, found.high, found.stderr, int(clusters or 0)
        )
        more |= {"value": _worse(metric, found.first, found.second)}
        if found.why:
            raise _Unjudged(
                INCONCLUSIVE, found.why, "bound the number itself: below, above or within", **more
            )
        _width(change, f"the change of {name}", more)
        if not why and (of := _why_no_pass(before, rule, cap)):
            why = f"of the baseline: {of}"
        for each in (run, before) if metric.null_value is not None else ():
            _ends(each, key, more)
        now, then = (estimate(each, key, int(clusters or 0)) for each in (run, before))
        if metric.null_value is not None:
            for each, what in ((now, name), (then, f"{name} of the baseline")):
                _width(each, what, more)
        of = quantity(
            rule, metric, now._replace(value=found.second), then._replace(value=found.first), change
        )
        return (
            blank._replace(value=of.value, before=found.first, now=found.second, clusters=clusters),
            of,
            why,
        )
    more["clusters"] = clusters
    _enough(clusters, run, more)
    _ends(run, key, more)
    now = estimate(run, key, int(clusters or 0))
    _width(now, name, more)
    return blank._replace(clusters=clusters), quantity(rule, metric, now), why


def _no_task(task: str) -> tuple[str, str]:
    return (
        f"the runs of this model have no task {shortened(task)}",
        f"run it: lm_eval --tasks {shortened(task)} --log_samples",
    )


def _worse(metric: Metric, first: float, second: float) -> float:
    if metric.null_value is not None:
        return abs(second - metric.null_value) - abs(first - metric.null_value)
    return second - first if metric.better == "lower" else first - second


def _enough(clusters: int | None, run: Run, more: dict[str, object]) -> None:
    if clusters is None:
        todo = "run the task again with this version; where the task is your own, declare `clusters` in its measure"
        raise _Unjudged(
            INCONCLUSIVE, "how many clusters the number rests on is not known", todo, **more
        )
    if clusters < FEWEST_CLUSTERS:
        if run.n and clusters:
            more["needed"] = ceil(run.n * FEWEST_CLUSTERS / clusters)
        todo = f"ask more documents, of at least {FEWEST_CLUSTERS} clusters{_has(run, more.get('needed'))}"
        few = (
            f"{clusters} clusters: with fewer than {FEWEST_CLUSTERS} no interval holds what it says"
        )
        raise _Unjudged(INCONCLUSIVE, few, todo, **more)


def _ends(run: Run, key: Key, more: dict[str, object]) -> None:
    """Raises _Unjudged where the interval that a number declares is not in the file, rather than
    not defined."""
    if any(
        metric.bounds == key[0] and (metric.name, key[1]) not in run.numbers
        for metric in run.metrics
    ):
        of = f"{shortened(key[0])}{f' of {shortened(key[1])}' if key[1] else ''}"
        why = f"the run has no interval of {of}, as one of an older version"
        raise _Unjudged(ERROR, why, "run the task again with this version", **more)


def _width(of: Estimate, what: str, more: dict[str, object]) -> None:
    if isnan(of.low) or isnan(of.high):
        raise _Unjudged(
            ERROR,
            f"the interval of {what} is not defined",
            "see its standard error and answers in the results",
            **more,
        )
    if of.low == of.high == of.value:
        more |= {"low": of.low, "high": of.high}
        same = "all clusters agree, which says nothing of how far others would move it"
        todo = "look at the answers: are they all the same, or those of the baseline?"
        raise _Unjudged(INCONCLUSIVE, f"no variance in {what}: {same}", todo, **more)
    if not of.low <= of.value <= of.high:
        raise _Unjudged(
            ERROR,
            f"{what} lies outside its own interval",
            "see its other numbers in the results",
            **more,
        )


def _why_no_pass(run: Run, rule: Rule, cap: float) -> str:
    if run.of is None:
        return "how many documents the task has is not known; gate the run's own folder"
    if run.n < run.of:
        return f"asked {run.n:,} of {run.of:,} documents; run without --limit"
    for name, percent in unusable(run, rule.group).items():
        if isnan(percent):
            return f"{name} is not defined"
        if percent > cap + ROUNDING:
            return f"{name} {_percent(percent, cap)} %, over the cap of {cap:g} %; the number is that of the other answers"
    return ""


def unusable(run: Run, group: str | None = None) -> dict[str, float]:
    """Rates of refusals and unusable answers in percent, of the whole and, where they are split so,
    of a group. Answers that decline and those of no readable form exclude each other where both are
    counted, and are added."""
    units = {metric.name: metric.unit for metric in run.metrics if metric.name in RATES}
    rates = {}
    for name, unit in sorted(units.items()):
        rates[name] = nan  # a rate that is declared and not told is not known to be low
        for key in ((name, None), *([(name, group)] if group else [])):
            if key in run.numbers:
                said = name if key[1] is None else f"{name} of {shortened(group)}"
                rates[said] = (100 if unit == "share" else 1) * run.numbers[key].value
    if {"refused", "unparsed"} <= rates.keys():
        rates["refused and unparsed"] = rates["refused"] + rates["unparsed"]
    return rates


def _percent(rate: float, cap: float) -> str:
    """With as many digits as show on which side of a cap it is."""
    return (
        f"{rate:.1f}" if (rate > cap + ROUNDING) == (float(f"{rate:.1f}") > cap) else f"{rate:.6g}"
    )


def _cap(rule: Rule, model: str, task: str, run: Run | None) -> Verdict:
    """A cap is on this run's answers, all of which are counted: no estimate, so no interval, no
    test and no share in Holm."""
    blank = Verdict(rule, model, task, ERROR, n=run and run.n, has=run and run.of)
    if run is None:
        reason, todo = _no_task(task)
        return blank._replace(reason=reason, todo=todo)
    rates = unusable(run)
    if not rates:
        todo = f"declare one of {', '.join(sorted(RATES))}"
        return blank._replace(
            verdict=INCONCLUSIVE, reason="its measure counts no unusable answers", todo=todo
        )
    if any(isnan(rate) for rate in rates.values()):
        name = next(name for name, rate in rates.items() if isnan(rate))
        return blank._replace(
            reason=f"{name} is not defined", todo="see the answers in the samples"
        )
    name, rate = max(rates.items(), key=lambda item: item[1])
    said = f"{name} {_percent(rate, rule.bound)} % of {run.n:,} documents' answers"
    if rate > rule.bound + ROUNDING:
        todo = "read the answers in the samples: a chat template, more tokens or another prompt may mend it"
        return blank._replace(verdict=FAIL, value=rate, reason=said, todo=todo)
    if run.of is None or run.n < run.of:
        of = (
            "how many the task has is not known"
            if run.of is None
            else f"asked {run.n:,} of {run.of:,} documents"
        )
        todo = "gate the run's own folder" if run.of is None else "run without --limit"
        return blank._replace(verdict=INCONCLUSIVE, value=rate, reason=f"{said}; {of}", todo=todo)
    return blank._replace(verdict=PASS, value=rate, reason=said)


def _decided(
    blank: Verdict,
    of: Quantity,
    why_no_pass: str,
    fails: _Level,
    passes: _Level,
    narrowing: Callable[[float], Needed | None] | None = None,
) -> Verdict:
    unit = blank.metric.unit if blank.metric else ""
    apart = unit_of_difference(unit)
    level = (
        fails
        if fails.rejected
        else passes
        if passes.rejected
        else min(fails, passes, key=lambda each: each.alpha)
    )
    low, high = of.shown(level.alpha)
    nearest = fails if of.value > of.bound else passes
    blank = blank._replace(low=low, high=high, confidence=1 - level.alpha, p=nearest.p)
    ends = of.interval(0.05)
    if (fails.rejected and not ends[0] < of.value) or (passes.rejected and not ends[1] > of.value):
        reason = "its interval has no width towards the bound, which is no evidence that others would not move it there"
        return blank._replace(
            verdict=INCONCLUSIVE, reason=reason, todo="look at the answers: are they all the same?"
        )
    if fails.rejected:
        least = of.interval(fails.alpha)[0] - of.bound
        said = f"over its bound by {_with_unit(of.value - of.bound, apart)}, by {_with_unit(least, apart)} at least"
        todo = "the model breaks the rule, not this sample alone: its finer numbers (lm-eval-bias report) show where"
        return blank._replace(verdict=FAIL, reason=said, todo=todo)
    if passes.rejected:
        spare = of.bound - of.interval(passes.alpha)[1]
        if not why_no_pass:
            return blank._replace(
                verdict=PASS,
                reason=f"the whole interval keeps the bound, with {_with_unit(spare, apart)} to spare",
            )
        but = f"the interval keeps the bound, but it cannot pass: {why_no_pass}"
        return blank._replace(verdict=INCONCLUSIVE, reason=but, todo="mend that, and run again")
    family = fails if of.value > of.bound else passes
    ends = of.interval(family.alpha)
    half = of.value - ends[0] if of.value > of.bound else ends[1] - of.value
    gap = abs(of.value - of.bound)
    would = "fail" if of.value > of.bound else "pass"
    reason = f"the interval holds the bound of {written(blank.rule.bound, unit)}"
    if why_no_pass:
        reason += f"; nor could it pass: {why_no_pass}"
    if not isfinite(half) or gap == 0 or not blank.n:
        on_it = "no number of documents would decide: the number lies on the bound"
        todo = on_it if gap == 0 else "its interval has no end on that side: ask more documents"
        return blank._replace(verdict=INCONCLUSIVE, reason=reason, todo=todo)
    needed, todo = _documents(
        blank, half / gap, would, narrowing(gap / half) if narrowing else None
    )
    if would == "pass" and blank.n == blank.has:
        todo += f"; with those of this run, `{_bound(blank.rule, ends[1], unit)}` is the tightest bound that passes"
    return blank._replace(verdict=INCONCLUSIVE, needed=needed, reason=reason, todo=todo)


def _documents(
    blank: Verdict, too_wide: float, would: str, found: Needed | None
) -> tuple[int | None, str]:
    """The documents that would decide, and a sentence on them. too_wide: how many times the
    interval is as long as it may be."""
    decide = f"would decide ({would}), if the number stays where it is"
    if found is None:
        needed = rounded_up((blank.n or 0) * too_wide**2)
        said = f"at least {needed:,} documents {decide} and new documents bring new clusters as these did"
        if blank.has is not None:
            said += (
                f": more than the {blank.has:,} that the task has"
                if needed > blank.has
                else f"; the task has {blank.has:,}"
            )
        return needed, said
    task, has = shortened(found.task), f"{found.has:,}"
    if found.fewest is None:
        return None, f"not even the {has} documents of {task} {decide}"
    fewest = min(rounded_up(found.fewest), found.has)
    if found.fewest == found.most:
        return fewest, f"about {fewest:,} documents {decide}; {task} has {has}"
    most = (
        f"or more than the {has} that {task} has"
        if found.most is None
        else f"to {min(rounded_up(found.most), found.has):,} of {task}"
    )
    return (
        fewest,
        f"{fewest:,} documents {most} {decide}: how far they share clusters, this run does not tell",
    )


def _with_unit(value: float, unit: str) -> str:
    return f"{written(value, unit)} {unit}".rstrip()


def _bound(rule: Rule, end: float, unit: str) -> str:
    """A bound that the interval would keep, as the rule has it: rounded away from the interval."""
    digits = {"%": 1, "points": 1, "count": 0, "SD": 2, "t": 2}.get(unit, 3)
    value = ceil(end * 10**digits + 1e-9) / 10**digits
    return f"{rule.condition}: {-value if rule.condition == ABOVE else value:g}"


def _has(run: Run, needed: object) -> str:
    return f"; it has {run.of:,}" if run.of is not None and isinstance(needed, int) else ""


def rounded_up(documents: float) -> int:
    """To two digits: a plan is no more exact."""
    if not documents < 1e15:
        return 10**15
    step = 10 ** max(0, floor(log10(max(1.0, documents))) - 1)
    return ceil(documents / step - 1e-9) * step


def baseline_of(run: Run, baseline: Sequence[Run]) -> Run | None:
    """The run that one is compared with: of the same task, of the only model of the baseline, else
    of the same one."""
    same = [other for other in baseline if other.task == run.task]
    if len({other.identity for other in baseline}) > 1:
        same = [other for other in same if other.identity == run.identity]
    return same[0] if same else None


def condition(rule: Rule, metric: Metric | None = None) -> str:
    """A rule in words: "below 2 points"."""
    unit = f" {metric.unit}" if metric and metric.unit else ""
    apart = f" {unit_of_difference(metric.unit)}" if metric and metric.unit else ""
    if rule.condition == UNUSABLE:
        return f"at most {rule.bound:g} % refused or unusable"
    if rule.condition == WITHIN:
        if metric is None or metric.null_value is None:
            return f"within {rule.bound:g}{apart} of its null value"
        return (
            f"within {rule.bound:g}{apart} of {metric.null_value:g}{unit if unit != apart else ''}"
        )
    if rule.condition == WORSE:
        return f"at most {rule.bound:g}{apart} worse than the baseline"
    return f"{rule.condition} {rule.bound:g}{unit}"


def unit_of_difference(unit: str) -> str:
    """In which the difference of two such numbers is: of percentages it is percentage points."""
    return "points" if unit == "%" else unit


def subject(verdict: Verdict) -> str:
    """What a rule is about: the number, and its group."""
    rule = verdict.rule
    if rule.condition == UNUSABLE:
        return "answers"
    return shortened(rule.metric) + (f" ({shortened(rule.group)})" if rule.group else "")
