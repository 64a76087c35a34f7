"""Lets a plain `lm_eval` find the tasks of this project: adds them to the harness's task index when that is imported.

The harness (0.4.13) has no entry points for tasks: `TaskIndex.build` reads its own folder and those of `--include_path`. It is wrapped, so
that an index with the harness's own tasks holds ours too. Tasks that the harness finds by itself, and those of `--include_path` that bear
the same names, stay as they are.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from lm_eval_bias.cli import tasks_folder


def spec_that_extends(name: str) -> ModuleSpec | None:
    """The spec of the task index's module, whose loader extends the module after executing it."""
    spec = find_spec(name)
    if spec is not None and spec.loader is not None:
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            extend(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


def extend(index_module: ModuleType) -> None:
    """Wrap `TaskIndex.build` of `lm_eval.tasks._index`."""
    build = getattr(getattr(index_module, "TaskIndex", None), "build", None)
    if build is None:
        print(
            "lm-eval-bias: this version of lm_eval builds its task index in another way; "
            f"the bias tasks are found only with --include_path {tasks_folder()}",
            file=sys.stderr,
        )
        return
    defaults = Path(index_module.__file__ or "").parent

    def build_with_bias_tasks(paths, **options):
        paths = list(paths)
        found = build(paths, **options)
        if not any(Path(p) == defaults for p in paths):  # include_defaults=False
            return found
        for name, entry in build([Path(tasks_folder())], **options).items():
            if name not in found:
                found[name] = entry
            elif entry.kind is index_module.Kind.TAG and found[name].kind is entry.kind:
                found[name].tags |= entry.tags
        return found

    index_module.TaskIndex.build = staticmethod(build_with_bias_tasks)
