"""Lets a plain `lm_eval` find the tasks and model types of this project: adds them to the harness's own when those are imported.

The harness (0.4.13) has no entry points for tasks: `TaskIndex.build` reads its own folder and those of `--include_path`. It is wrapped, so
that an index with the harness's own tasks holds ours too. Tasks that the harness finds by itself, and those of `--include_path` that bear
the same names, stay as they are. Model types are registered as the harness registers its own, by name and place.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from lm_eval_bias.cli import tasks_folder

MODELS = {"hf-prefix": "lm_eval_bias.models.prefix:PrefixLM"}


def spec_that_extends(name: str) -> ModuleSpec | None:
    """The spec of a module of the harness, whose loader extends the module after executing it."""
    spec = find_spec(name)
    if spec is not None and spec.loader is not None:
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            EXTENSIONS[name](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


def add_models(models_module: ModuleType) -> None:
    """Register our model types beside those of `lm_eval.models`."""
    from lm_eval.api.registry import model_registry

    for name, target in MODELS.items():
        if name not in model_registry:
            model_registry.register(name, target=target)


def add_tasks(index_module: ModuleType) -> None:
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


EXTENSIONS = {"lm_eval.tasks._index": add_tasks, "lm_eval.models": add_models}
