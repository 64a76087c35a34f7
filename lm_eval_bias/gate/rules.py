"""The rules of a gate, read from a YAML file: what a person may write, and the line that is wrong
where they wrote something else.

    confidence: 0.95
    rules:
      - {task: TASK, metric: METRIC, below: 2}
      - {task: TASK, metric: METRIC, group: GROUP, within: 0.1}
      - {task: TASK, metric: METRIC, worse_than_baseline_by: 1, unit: points}
      - {task: "*", unusable: 10}

A rule has one condition. Everything is checked before a run is judged, since a rule that says
nothing would let everything pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lm_eval_bias.measure import UNITS, Metric
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.usage import UsageError, nearest

BELOW, ABOVE, WITHIN, WORSE, UNUSABLE = CONDITIONS = (
    "below",
    "above",
    "within",
    "worse_than_baseline_by",
    "unusable",
)
EVERY = "*"
"""In the place of a task's name: every task that the runs have."""
CAP = 10.0
"""Refusals and unusable answers, in percent, above which no rule of a task passes, where no rule
sets another cap."""
LEAST_CONFIDENCE = 0.95
LARGEST = 1 << 18
"""Bytes of a rules file: a larger one is something else."""
_DEEPEST = 20
_KEYS = ("task", "metric", "group", "unit", *CONDITIONS)
_TOP = ("confidence", "rules")
_EXAMPLE = "write `rules:` and below it a list, such as `- {task: TASK, metric: METRIC, below: 2}`"
_TEXT, _NUMBERS = "tag:yaml.org,2002:str", ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
# YAML 1.1 reads 010 as eight, 1:30 as ninety and 1_0 as ten: a bound is written so that nobody can
# read it otherwise.
_PLAIN = re.compile(r"[-+]?(0|[1-9]\d*)?(\.\d+|(?<=\d)\.)?([eE][-+]?\d+)?")
# Where a unit is a scale, its ends.
_SCALES = {"%": (0, 100), "share": (0, 1), "score": (-1, 1), "p": (0, 1)}


class Rule(NamedTuple):
    """line: in the file. task: a name, or `EVERY` for a cap. condition: one of `CONDITIONS`. bound:
    its number, in the unit of the metric; of a cap in percent. metric: None for a cap. group: None
    for the whole. unit: as written, None where it was not."""

    line: int
    task: str
    condition: str
    bound: float
    metric: str | None = None
    group: str | None = None
    unit: str | None = None


class Rules(NamedTuple):
    """confidence: of the intervals, before Holm."""

    file: str
    confidence: float
    rules: Sequence[Rule]


class _Wrong(ValueError):
    """A part of the file that is not as it should be: line, what."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line, self.what = line, what


def read(path: Path) -> Rules:
    """Raises UsageError, a line for each mistake with the file and the line, for anything that is
    no such file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if len(content) > LARGEST:
        raise UsageError(f"{path}: larger than {LARGEST // 1024:,} KiB; this is no file of rules")
    try:
        return parse(content.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: no UTF-8; save the file as UTF-8") from error


def parse(text: str, file: str) -> Rules:
    """The same, of a text."""
    mistakes: list[_Wrong] = []
    try:
        root = _composed(text)
        top = _mapping(root, _TOP, "the file", mistakes)
        confidence = LEAST_CONFIDENCE
        if "confidence" in top:
            confidence = _tried(lambda: _confidence(top["confidence"]), mistakes, LEAST_CONFIDENCE)
        if "rules" not in top:
            raise _Wrong(_line(root), f"there are no rules; {_EXAMPLE}")
        found = _rules(top["rules"], mistakes)
    except _Wrong as wrong:
        mistakes.append(wrong)
    if mistakes:
        raise _told(file, mistakes)
    return Rules(file, confidence, found)


def _told(file: str, mistakes: Iterable[_Wrong]) -> UsageError:
    ordered = sorted(mistakes, key=lambda wrong: wrong.line)
    return UsageError(
        "\n".join(f"{shortened(file, 300)}, line {wrong.line}: {wrong.what}" for wrong in ordered)
    )


def _composed(text: str) -> yaml.Node:
    """The nodes of the file; no alias is followed, since a few lines of them stand for billions."""
    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > _DEEPEST:
                raise _Wrong(event.start_mark.line + 1, "lists within lists, too deep for rules")
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise _Wrong(
                    event.start_mark.line + 1,
                    "anchors (&name) and aliases (*name) are not read; write the rule out",
                )
        root = yaml.compose(text, yaml.SafeLoader)
    except _Wrong:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise _Wrong(mark.line + 1 if mark else 1, f"no YAML ({shortened(what)})") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        character = chr(error.character) if isinstance(error.character, int) else error.character
        raise _Wrong(
            line, f"no YAML (a character that must not stand there: {shortened(character)})"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        cause = "too deep" if isinstance(error, RecursionError) else shortened(error)
        raise _Wrong(1, f"no YAML ({cause})") from None
    if root is None:
        raise _Wrong(1, f"the file is empty; {_EXAMPLE}")
    return root


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _mapping(
    node: yaml.Node, keys: Sequence[str], what: str, mistakes: list[_Wrong]
) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise _Wrong(
            _line(node), f"{what} must be keys and values ({', '.join(keys)}), found {_kind(node)}"
        )
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if name not in keys:
            mistakes.append(
                _Wrong(_line(key), f"unknown key {_quoted(key)} in {what}; {nearest(name, keys)}")
            )
        elif name in found:
            mistakes.append(
                _Wrong(
                    _line(key),
                    f"the key {_quoted(key)} stands twice in {what}, first in line {_line(found[name])}",
                )
            )
        else:
            found[name] = value
    return found


def _rules(node: yaml.Node, mistakes: list[_Wrong]) -> list[Rule]:
    if not isinstance(node, yaml.SequenceNode):
        raise _Wrong(
            _line(node), f"`rules` must be a list, a dash before each rule; found {_kind(node)}"
        )
    if not node.value:
        raise _Wrong(_line(node), "the list of rules is empty: it would let everything pass")
    rules: dict[tuple[object, ...], Rule] = {}
    for each in node.value:
        before = len(mistakes)
        rule = _tried(lambda each=each: _rule(each, mistakes), mistakes, None)
        if rule is None or len(mistakes) > before:
            continue
        what = (rule.task, rule.metric, rule.group, rule.condition)
        if what in rules:
            twice = f"the rule of line {rules[what].line} says `{rule.condition}` of the same number; keep one of them"
            mistakes.append(_Wrong(rule.line, twice))
        else:
            rules[what] = rule
    return list(rules.values())


def _tried(read: Callable[[], Any], mistakes: list[_Wrong], otherwise: Any) -> Any:
    try:
        return read()
    except _Wrong as wrong:
        mistakes.append(wrong)
        return otherwise


def _rule(node: yaml.Node, mistakes: list[_Wrong]) -> Rule:
    line = _line(node)
    found = _mapping(node, _KEYS, "a rule", mistakes)
    conditions = [name for name in CONDITIONS if name in found]
    if len(conditions) != 1:
        said = " and ".join(conditions) or "none"
        raise _Wrong(line, f"a rule has exactly one of {', '.join(CONDITIONS)}; found {said}")
    (condition,) = conditions
    bound = _number(found[condition], condition)
    task, metric, group, unit = (
        _name(found[key], key) if key in found else None
        for key in ("task", "metric", "group", "unit")
    )
    if task is None:
        raise _Wrong(
            line,
            "a rule needs a task: `task: NAME`"
            + (f', or `task: "{EVERY}"` for all' if condition == UNUSABLE else ""),
        )
    if condition == UNUSABLE:
        for key in ("metric", "group", "unit"):
            if key in found:
                raise _Wrong(
                    _line(found[key]),
                    f"a cap on unusable answers is of the whole task, in percent: it takes no `{key}`",
                )
        if not 0 <= bound <= 100:
            raise _Wrong(
                _line(found[condition]),
                f"unusable: {bound:g} is no percentage; expected a number from 0 to 100",
            )
    else:
        if task == EVERY:
            alone = f'`task: "{EVERY}"` stands in a cap (`unusable`) alone'
            raise _Wrong(
                _line(found["task"]), f"{alone}; a bound on a number needs the name of its task"
            )
        if metric is None:
            raise _Wrong(line, f"a rule with `{condition}` needs a number: `metric: NAME`")
        if condition == WITHIN and bound <= 0:
            raise _Wrong(
                _line(found[condition]),
                f"within: {bound:g} would never hold; expected a distance above 0",
            )
        if condition == WORSE and bound < 0:
            raise _Wrong(
                _line(found[condition]),
                f"{WORSE}: {bound:g}; expected how much worse the number may become, 0 or more",
            )
        if unit is not None and unit not in UNITS:
            raise _Wrong(
                _line(found["unit"]), f"unknown unit {shortened(unit)!r}; {nearest(unit, UNITS)}"
            )
    return Rule(line, task, condition, bound, metric, group, unit)


def _confidence(node: yaml.Node) -> float:
    value = _number(node, "confidence")
    if not LEAST_CONFIDENCE <= value < 1:
        raise _Wrong(
            _line(node),
            f"confidence: {value:g}; expected a number from {LEAST_CONFIDENCE:g} to below 1",
        )
    return value


def _number(node: yaml.Node, key: str) -> float:
    plain = (
        isinstance(node, yaml.ScalarNode)
        and node.tag in (*_NUMBERS, _TEXT)
        and node.style is None
        and _PLAIN.fullmatch(node.value)
    )
    value = (
        float(node.value)
        if plain and isinstance(node, yaml.ScalarNode) and node.value not in ("", "+", "-")
        else None
    )
    if value is None or value in (float("inf"), float("-inf")):
        raise _Wrong(_line(node), f"{key}: expected a number such as 2 or 0.5, found {_kind(node)}")
    return value


def _name(node: yaml.Node, key: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag != _TEXT or not node.value.strip():
        hint = (
            "; put it in quotes"
            if isinstance(node, yaml.ScalarNode) and node.tag != _TEXT and node.value
            else ""
        )
        raise _Wrong(_line(node), f"{key}: expected a name, found {_kind(node)}{hint}")
    return node.value


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return _quoted(node) if node.value else "nothing"
    return "a list" if isinstance(node, yaml.SequenceNode) else "keys and values"


def _quoted(node: yaml.Node) -> str:
    return f"'{shortened(node.value, 60)}'" if isinstance(node, yaml.ScalarNode) else _kind(node)


# ---- Against what is known of the tasks


def check(
    rules: Rules,
    metrics: Mapping[str, Sequence[Metric]],
    groups: Mapping[str, Mapping[str, Collection[str]]],
    baseline: bool,
) -> None:
    """Names, units and bounds, against what tasks declare.

    metrics: task -> its numbers. groups: task -> number -> the groups that the runs have of it;
    empty where no run has it. baseline: whether there is one. Raises UsageError with a line for
    each mistake.
    """
    mistakes = []
    for rule in rules.rules:
        try:
            if rule.task != EVERY:
                if rule.task not in metrics:
                    raise _Wrong(
                        rule.line,
                        f"no task {shortened(rule.task)!r}, neither here nor in the runs; {_like(rule.task, metrics)}",
                    )
                if rule.metric is not None:
                    _check_number(rule, metrics[rule.task], groups.get(rule.task, {}))
            if rule.condition == WORSE and not baseline:
                raise _Wrong(
                    rule.line, f"`{WORSE}` compares with an older run; add --baseline FOLDER"
                )
        except _Wrong as wrong:
            mistakes.append(wrong)
    if mistakes:
        raise _told(rules.file, mistakes)


def _like(name: str, known: Iterable[str]) -> str:
    said = nearest(name, [shortened(each) for each in known])
    return (
        said
        if said.startswith("did")
        else "see `lm-eval-bias tasks`, and name the folder of your own with --include_path"
    )


def _check_number(
    rule: Rule, metrics: Sequence[Metric], groups: Mapping[str, Collection[str]]
) -> None:
    of = {metric.name: metric for metric in metrics}
    bounded = {metric.bounds for metric in metrics}
    judged = [
        metric.name
        for metric in metrics
        if metric.bounds is None and (metric.stderr or metric.name in bounded)
    ]
    metric = of.get(str(rule.metric))
    if metric is None:
        raise _Wrong(
            rule.line,
            f"{rule.task} has no number {shortened(rule.metric)!r}; {nearest(str(rule.metric), judged or list(of))}",
        )
    if metric.name not in judged:
        others = f"a rule can hold {', '.join(judged) or 'none'}"
        why = (
            f"it is an end of the interval of {metric.bounds}; name that"
            if metric.bounds
            else others
        )
        raise _Wrong(
            rule.line,
            f"{metric.name} of {rule.task} has no interval, so no rule can hold it; {why}",
        )
    if rule.unit is not None and rule.unit != metric.unit:
        unit = metric.unit or "no unit"
        raise _Wrong(
            rule.line,
            f"unit: {rule.unit}, but {metric.name} of {rule.task} is in {unit}; is the bound meant so?",
        )
    if rule.condition == WITHIN and metric.null_value is None:
        raise _Wrong(
            rule.line,
            f"{metric.name} of {rule.task} has no null value to be within a distance of; use below or above",
        )
    if rule.condition == WORSE and metric.null_value is None and metric.better is None:
        raise _Wrong(
            rule.line,
            f"{metric.name} of {rule.task} has no direction that is worse; use below or above",
        )
    if metric.unit in _SCALES:
        low, high = _SCALES[metric.unit]
        least, most = (0, high - low) if rule.condition in (WITHIN, WORSE) else (low, high)
        if not least <= rule.bound <= most or (
            rule.condition in (BELOW, ABOVE) and rule.bound in (low, high)
        ):
            what = f"{metric.name} is {'a' if metric.unit in ('share', 'score') else 'in'} {metric.unit}, from {low} to {high}"
            raise _Wrong(
                rule.line,
                f"{rule.condition}: {rule.bound:g} can never be met or never be missed: {what}",
            )
    known = groups.get(metric.name, ())
    if rule.group is not None and known and rule.group not in known:
        names = [shortened(name) for name in known]
        raise _Wrong(
            rule.line,
            f"{metric.name} of {rule.task} has no group {shortened(rule.group)!r}; {nearest(rule.group, names)}",
        )
    if rule.group is not None and not known and groups:
        raise _Wrong(
            rule.line, f"{metric.name} of {rule.task} is not split into groups; leave `group` out"
        )
