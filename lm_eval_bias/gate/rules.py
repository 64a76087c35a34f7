"""The rules of a gate, read from a YAML file and checked with the line of every mistake.

    confidence: 0.95
    rules:
      - {task: TASK, metric: METRIC, below: 2}
      - {task: TASK, metric: METRIC, group: GROUP, within: 0.1}
      - {task: TASK, metric: METRIC, worse_than_baseline: significantly}
      - {task: "*", worse_than_baseline: significantly}
      - {task: TASK, metric: METRIC, worse_than_baseline_by: 1, unit: points}
      - {task: "*", unusable: 10}
      - {task: ANY, metric: acc, cluster: COLUMN, better: higher, worse_than_baseline_by: 1}

A rule that bounds nothing would let everything pass, so all is checked before a run is judged.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lm_eval_bias.catalogue import Task
from lm_eval_bias.data.content import Content, read as read_content
from lm_eval_bias.data.schema import Fields, Figure, Rows, Text
from lm_eval_bias.measure import UNITS, Metric
from lm_eval_bias.results.any_task import samples_below, task_of
from lm_eval_bias.results.leaderboard import about, direction
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.samples import mapping
from lm_eval_bias.usage import UsageError, nearest

BELOW, ABOVE, WITHIN, WORSE, SIGNIFICANT, UNUSABLE = CONDITIONS = (
    "below",
    "above",
    "within",
    "worse_than_baseline_by",
    "worse_than_baseline",
    "unusable",
)
PAIRED = (WORSE, SIGNIFICANT)
EVERY = "*"
"""Every task of the runs."""
CAP = 10.0
"""Percent of refusals and unusable answers above which no rule of a task passes by default."""
LEAST_CONFIDENCE = 0.95
_OF_NUMBER = ("metric", "group", "unit", "cluster", "better")
"""Keys of rules that are no caps."""
_FILE = Fields(
    {"confidence": Figure()},
    rules=Rows(
        Fields(
            {
                **dict.fromkeys(_OF_NUMBER, Text()),
                "unit": Text(tuple(UNITS)),
                "better": Text(("lower", "higher")),
                **dict.fromkeys(CONDITIONS, Figure()),
                SIGNIFICANT: Text(("significantly",)),
            },
            task=Text(),
        )
    ),
)
_EXAMPLE = (
    "write `rules:` and below it a list, such as `- {task: TASK, metric: METRIC, below: 2}` or "
    '`- {task: "*", unusable: 10}`'
)


class Rule(NamedTuple):
    """task: `EVERY` for a cap on all, and for all `SIGNIFICANT` rules together. bound: in the
    metric's unit, of a cap in percent. group: None for the whole. cluster, better: of a metric of
    the harness."""

    line: int
    task: str
    condition: str
    bound: float
    metric: str | None = None
    group: str | None = None
    unit: str | None = None
    cluster: str | None = None
    better: Literal["lower", "higher"] | None = None


class Rules(NamedTuple):
    """confidence: of all verdicts together on the planned runs, one a night."""

    file: str
    confidence: float
    rules: Sequence[Rule]
    nights: int = 1

    @property
    def on_numbers(self) -> list[Rule]:
        """All but caps."""
        return [rule for rule in self.rules if rule.condition != UNUSABLE]

    @property
    def alpha(self) -> float:
        """Of a test of one night, before Holm."""
        return (1 - self.confidence) / self.nights


def read(path: Path) -> Rules:
    """The rules of a file. UsageError with a line for each mistake, which names file and line."""
    return parsed(read_content(path, kind="yaml"))


def parsed(content: Content) -> Rules:
    data = content.data
    problems = list(content.problems) or list(_FILE.problems(data, ()))
    rules: dict[tuple[Any, ...], Rule] = {}
    confidence = LEAST_CONFIDENCE
    if not problems:
        confidence = data.get("confidence", LEAST_CONFIDENCE)
        if not LEAST_CONFIDENCE <= confidence < 1:
            cause = f"{confidence:g}; expected a number from {LEAST_CONFIDENCE:g} to below 1"
            problems.append((("confidence",), cause))
        for i, row in enumerate(data["rules"]):
            place = ("rules", i)
            if mistakes := [((*place, key), cause) for key, cause in _mistakes(row)]:
                problems += mistakes
                continue
            (condition,) = (name for name in CONDITIONS if name in row)
            names = [row.get(key) for key in _OF_NUMBER]
            bound = 0.0 if condition == SIGNIFICANT else float(row[condition])
            rule = Rule(content.line(place), row["task"], condition, bound, *names)
            first = rules.setdefault((rule.task, condition, *names[:2]), rule)
            if first is not rule:
                twice = f"the same number and condition as in line {first.line}; keep one of them"
                problems.append(((*place, condition), twice))
    if problems:
        problems.sort(key=lambda problem: content.line(problem[0]))
        raise UsageError(
            "\n".join(
                content.message(place, cause if place else f"{cause}; {_EXAMPLE}")
                for place, cause in problems
            )
        )
    return Rules(content.name, confidence, list(rules.values()))


def _mistakes(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    conditions = [name for name in CONDITIONS if name in row]
    if len(conditions) != 1:
        there = " and ".join(conditions) or "none"
        yield "task", f"a rule has exactly one of {', '.join(CONDITIONS)}; found {there}"
        return
    (condition,) = conditions
    bound = row[condition]
    if condition == UNUSABLE:
        cause = "a cap on unusable answers is on the whole task, in percent; leave it out"
        yield from ((key, cause) for key in _OF_NUMBER if key in row)
        if not 0 <= bound <= 100:
            yield condition, f"{bound:g} is no percentage; expected a number from 0 to 100"
        return
    if row["task"] == EVERY:
        if condition == SIGNIFICANT and not {*_OF_NUMBER} & row.keys():
            return
        yield "task", f"`{EVERY}` is for a cap (`unusable`) alone; name the task of the number"
    if "metric" not in row:
        yield condition, "a bound on which number? Add `metric: NAME`"


# ---- Against what is known of the tasks


def any_tasks(rules: Rules, known: Mapping[str, Task], paths: Iterable[Path]) -> dict[str, Task]:
    """The tasks that `any_task` makes for rules on metrics of the harness, by name. UsageError with
    the line of a rule."""
    wanted = defaultdict(list)
    for rule in rules.rules:
        task = known.get(rule.task)
        own = (
            task
            and task.measure
            and (not task.is_of_harness or rule.metric in [m.name for m in task.measure.metrics])
        )
        if rule.metric and not own:
            wanted[rule.task].append(rule)
        elif rule.cluster:
            cause = f"{rule.task} has clusters of its own; leave `cluster` out"
            raise UsageError(f"{rules.file}, line {rule.line}: {cause}")
    made = {}
    below = samples_below(paths) if wanted else {}
    for name, of_task in wanted.items():
        samples, first = below.get(name, ()), of_task[0]
        # a task with a measure that is not known here has cells
        if not samples or any("cells" in mapping(of, "configs", name) for _, of in samples):
            continue
        try:
            for rule in rules.on_numbers:
                if rule.task == name and (rule not in of_task or rule.cluster != first.cluster):
                    raise UsageError(
                        f"one cluster and one kind of number for all rules on {name}; line "
                        f"{rule.line} has another"
                    )
            metrics = [str(rule.metric) for rule in of_task]
            made[name] = task_of(name, metrics, first.cluster, samples)
        except UsageError as error:
            raise UsageError(f"{rules.file}, line {first.line}: {error}") from error
    return made


def check(
    rules: Rules, runs: Sequence[Run], known: Mapping[str, Task], baseline: Collection[Run]
) -> None:
    """UsageError with a line for each name, unit or bound that does not fit. known: the tasks by
    name."""
    problems = []
    pooled = {rule.task for rule in rules.rules if rule.condition == SIGNIFICANT}
    for rule in rules.rules:
        of_task = [run for run in runs if run.task == rule.task]
        cause = ""
        if rule.task not in (EVERY, *known) and not of_task:
            cause = f"no task {rule.task!r}, neither here nor in the runs (--log_samples); "
            cause += nearest(
                rule.task,
                [*known, *(run.task for run in runs)],
                "see `lm-eval-bias tasks`, and name the folder of your own with --include_path",
            )
        elif rule.metric:
            measure = None if of_task else known[rule.task].measure
            metrics = of_task[-1].metrics if of_task else measure.metrics if measure else ()
            cause = _mistake(rule, metrics, of_task)
        elif rule.condition == SIGNIFICANT and len(pooled) < 3:
            cause = "`*` takes the rules `significantly` of two tasks at least together; add them"
        if not cause and rule.condition in PAIRED and not baseline:
            cause = (
                f"`{rule.condition}` compares with an older run; add --baseline with its folder or "
                "a file of --save"
            )
        if cause:
            problems.append(f"{rules.file}, line {rule.line}: {cause}")
    if problems:
        raise UsageError("\n".join(problems))


def _mistake(rule: Rule, metrics: Sequence[Metric], runs: Sequence[Run]) -> str:
    judged = [metric.name for metric in metrics if metric.stderr]
    metric = next((metric for metric in metrics if metric.name == rule.metric), None)
    if metric is None:
        names = judged or [metric.name for metric in metrics]
        return f"{rule.task} has no number {rule.metric!r}; {nearest(str(rule.metric), names)}"
    number = f"{metric.name} of {rule.task}"
    if metric.name not in judged:
        return (
            f"{number} has no interval, so no rule can bound it; a rule can bound "
            f"{', '.join(judged) or 'none'}"
        )
    if rule.unit and rule.unit != metric.unit:
        unit = metric.unit or "no unit"
        return f"unit: {rule.unit}, but {number} is in {unit}; correct the unit and the bound"
    if rule.condition == WITHIN and metric.null_value is None:
        return f"{number} has no null value to be within a distance of; use below or above"
    way = direction(metric)
    if rule.better and way and way != rule.better:
        return f"better: {rule.better} would turn it round; {number}: {about(metric)}"
    if rule.condition in PAIRED and not (way or rule.better):
        return (
            f"{number} has no direction that is worse; say `better: lower` or `better: higher`, or "
            "use below or above"
        )
    low, high = metric.scale or metric.unit_range
    if rule.condition in (WITHIN, *PAIRED):
        low, high = 0.0, high - low
    at_end = rule.condition not in PAIRED and rule.bound in (low, high)
    if at_end or not low <= rule.bound <= high:
        return (
            f"{rule.condition}: {rule.bound:g} can never be met or never be missed; expected a "
            f"number between {low:g} and {high:g} (unit: {metric.unit or 'none'})"
        )
    groups = [group for run in runs for group in run.by_group(metric.name)]
    if rule.group and runs and rule.group not in groups:
        if not groups:
            return f"{number} is not split into groups; leave `group` out"
        return f"{number} has no group {rule.group!r}; {nearest(rule.group, groups)}"
    return ""
