"""Entries of `.eval_results/*.yaml` in a model's repository, by huggingface_hub's own classes.

Everything else in a file stays as it is, letter for letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml, parse_eval_result_entries
from huggingface_hub.utils import yaml_dump

from lm_eval_bias.data.content import plain
from lm_eval_bias.export.numbers import (
    CannotMerge,
    Result,
    Source,
    about,
    circumstances,
    directed,
    left_out,
)
from lm_eval_bias.results.escape import shortened, visible

FOLDER, FILE = ".eval_results", "lm-eval-bias.yaml"
# What may stand between the dash and its entry.
_BEHIND_DASH = re.compile(r"-(\s|#[^\n]*\n)*")
LONGEST_NOTE = 1000
_NO_DASHES = "its list is not written as lines that begin with a dash, an entry each"
Key = tuple[str, str]
"""The data set's id, and the task's."""


def entries(results: Sequence[Result], source: Source) -> tuple[list[EvalResultEntry], list[str]]:
    """An entry TASK.METRIC for each number with a direction, and what was left out."""
    if source.dataset is None:
        raise ValueError("the format needs the id of a data set on the hub")
    made: dict[str, EvalResultEntry] = {}
    with_direction, left = directed(results)
    for result, way in with_direction:
        run = result.run
        task = visible(f"{run.task}.{result.metric.name}")
        if task in made:
            left.append(left_out(result, f"another number is called {shortened(task)} there"))
            continue
        name = f"{shortened(result.metric.name)} of {shortened(run.task)} by lm-eval-bias"
        note = f"{name}: {about(result, f'{way} is better')} documents; {circumstances(run)}"
        made[task] = EvalResultEntry(
            dataset_id=source.dataset,
            task_id=task,
            value=result.number.value,
            dataset_revision=source.revision,
            date=run.date.date().isoformat() if run.date else None,
            source_url=source.url,
            source_name=source.name,
            notes=shortened(note, LONGEST_NOTE),
        )
    return list(made.values()), left


def text(made: Sequence[EvalResultEntry], indent: int = 0) -> str:
    """Entries as YAML; a date is quoted, so that it stays a text."""
    if not made:
        return ""
    dumped = yaml_dump(eval_result_entries_to_yaml(list(made)), sort_keys=False)
    return "".join(f"{' ' * indent}{line}" for line in dumped.splitlines(keepends=True))


def key_of(entry: Any) -> Key | None:
    """The key of an entry as YAML has it; None if it is no entry."""
    dataset = entry.get("dataset") if isinstance(entry, dict) else None
    if not isinstance(dataset, dict):
        return None
    return str(dataset.get("id")), str(dataset.get("task_id"))


def standing(content: str) -> list[Any]:
    entries = loaded(content, "it")
    if not isinstance(entries, (list, type(None))):
        raise CannotMerge("it is no list of entries")
    return entries or []


def loaded(content: str, what: str) -> Any:
    try:
        return plain(content)
    except ValueError as error:
        raise CannotMerge(f"{what} is no YAML ({first_line(error)})") from None


def first_line(error: Exception) -> str:
    return shortened((str(error) or type(error).__name__).splitlines()[0])


def keeps(old: Mapping[str, Any], new: EvalResultEntry) -> str:
    """Why an entry that stands there is not replaced; "" if it is."""
    if old.get("verifyToken"):
        return "the entry that stands there is signed (verifyToken)"
    date = str(old.get("date") or "")[:10]
    if new.date and date > new.date and re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        return f"the entry that stands there is newer ({date})"
    return ""


def merged(content: str, made: Sequence[EvalResultEntry]) -> str:
    """A file with entries replaced, or added at its end. Raises CannotMerge where that cannot be
    done line by line."""
    old = standing(content)
    keys = [key_of(entry) for entry in old]
    new = {(entry.dataset_id, entry.task_id): entry for entry in made}
    for key in new:
        if (n := keys.count(key)) > 1:
            raise CannotMerge(f"it has {n} entries of {', '.join(map(shortened, key))}; leave one")
    expected = [
        _plain(new[key]) if key in new else entry for key, entry in zip(keys, old, strict=True)
    ]
    added = [entry for key, entry in new.items() if key not in keys]
    expected += [_plain(entry) for entry in added]
    node = yaml.compose(content, yaml.SafeLoader)
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    dashes = [_dash(content, item.start_mark.index) for item in items]
    changed = content
    for item, key, dash in reversed(list(zip(items, keys, dashes, strict=True))):
        if key in new:
            changed = (
                changed[: dash[0]]
                + text([new[key]], dash[1])
                + changed[end_of_lines(content, item) :]
            )
    if added:
        if changed and not changed.endswith("\n"):
            changed += "\n"
        changed += text(added, dashes[0][1] if dashes else 0)
    if "\r\n" in content:
        changed = re.sub(r"(?<!\r)\n", "\r\n", changed)
    try:
        same = repr(standing(changed)) == repr(expected)
    except CannotMerge:
        same = False
    if not same:
        raise CannotMerge(_NO_DASHES)
    parse_eval_result_entries([_plain(entry) for entry in made])
    return changed


def _plain(entry: EvalResultEntry) -> dict[str, Any]:
    return eval_result_entries_to_yaml([entry])[0]


def _dash(content: str, index: int) -> tuple[int, int]:
    dash = content.rfind("-", 0, index)
    while dash >= 0:
        line = content.rfind("\n", 0, dash) + 1
        if not content[line:dash].strip(" ") and _BEHIND_DASH.fullmatch(content, dash, index):
            return line, dash - line
        dash = content.rfind("-", 0, dash)
    raise CannotMerge(_NO_DASHES)


def end_of_lines(content: str, node: yaml.Node) -> int:
    """Where the last line of a node ends. A mapping's own mark is behind the comments that follow
    it."""
    last = node
    while (
        isinstance(last, (yaml.MappingNode, yaml.SequenceNode))
        and not last.flow_style
        and last.value
    ):
        last = last.value[-1][1] if isinstance(last, yaml.MappingNode) else last.value[-1]
    end = last.end_mark.index
    if end and content[end - 1] == "\n":
        return end
    line = content.find("\n", end)
    return len(content) if line < 0 else line + 1
