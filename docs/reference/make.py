"""Writes what follows from declarations: tasks.md and the functions of python.md.

    python docs/reference/make.py

A test fails where a page differs from what this would write.
"""

from __future__ import annotations

import os
import pydoc
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from lm_eval_bias import api, catalogue
from lm_eval_bias.results.runs import Runs

HERE = Path(__file__).parent
os.environ["NO_COLOR"] = "1"


def pages() -> dict[str, str]:
    """File name to text."""
    by_folder = groupby(catalogue.tasks(), lambda task: task.path.parent.name)
    folders = {folder: list(tasks) for folder, tasks in by_folder}
    return {"tasks.md": _tasks(folders), "python.md": _python()}


def _python() -> str:
    page = (HERE / "python.md").read_text(encoding="utf-8")
    parts = [page[: page.index("## `")]]
    for function in (api.read, Runs.numbers, Runs.records, api.compare, api.figure, api.evaluate):
        text = pydoc.plaintext.document(function)
        parts.append(f"## `{function.__qualname__}`\n\n```text\n{text}```\n\n")
    return "".join(parts).rstrip() + "\n"


def _tasks(folders: dict[str, list[catalogue.Task]]) -> str:
    lines = [
        "# Tasks",
        "",
        "Each benchmark has a table of its tasks and one of their options. Documents are those of "
        "a whole run; a dash means that only a run can count them. No name in the last column "
        "means all tasks, `*_sg*` those with this part. `groups=FILE` and `items=FILE` take "
        "[files of your own]"
        "(../how-to/own_benchmark.md#ask-about-your-own-groups-or-items). "
        "`lm-eval-bias tasks TASK` lists the numbers of a task, each with its unit, its value "
        "without bias, its place in the paper and what it says; `lm-eval-bias tasks NUMBER` "
        "explains one.",
    ]
    for folder, tasks in folders.items():
        lines += ["", f"## {folder}", "", f"[README](../../tasks/{folder}/README.md)", ""]
        lines += ["task | documents | what it asks", "---|---:|---"]
        rows: dict[tuple[str, str], list[catalogue.Task]] = {}
        for task in tasks:
            about = re.sub(r"^[\w ]+ only, and", "one category, and", task.about)
            rows.setdefault((task.request, about), []).append(task)
        for (_, about), alike in rows.items():
            names = _listed(task.name for task in alike)
            counts = dict.fromkeys(
                "—" if task.documents is None else f"{task.documents:,}" for task in alike
            )
            lines.append(f"{names} | {'; '.join(counts)} | {about}")
        takes: dict[tuple[str, ...], list[str]] = {}
        for task in tasks:
            for option in task.options.rows():
                if hasattr(task.options, option[0]):  # the head of the page has plain files
                    takes.setdefault(option, []).append(task.name)
        everything = [task.name for task in tasks]
        if takes:
            lines += ["", "option for `--metadata` | default | what it sets | tasks"]
            lines += ["---|---|---|---"]
        lines += [" | ".join([*option, _part(n, everything)]) for option, n in takes.items()]
    lines += ["", "## Groups and tags", "", "name | tasks", "---|---"]
    for path in sorted(Path(catalogue.tasks_folder()).rglob("*.yaml")):
        config = catalogue.read(path)
        if "group" in config:
            members = [
                m if isinstance(m, str) else m.get("task", m.get("group")) for m in config["task"]
            ]
            lines.append(f"`{config['group']}` | {_listed(members)}")
    tagged = [t.name for tasks in folders.values() for t in tasks if t.config.get("tag")]
    lines.append(f"tag `implicit_social_bias` | {_listed(tagged)}")
    return "\n".join([*map(str.rstrip, lines), ""])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _part(names: list[str], everything: list[str]) -> str:
    """The part of a name that these tasks have and no others, or have not; else their names. Empty
    for all of them."""
    others = [name for name in everything if name not in names]
    if not others:
        return ""
    for which, chosen in (("", names), ("all but ", others)):
        for part in chosen[0].split("_")[1:]:
            if [name for name in everything if part in name.split("_")] == chosen:
                return f"{which}`*_{part}*`"
    return _listed(names)


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
