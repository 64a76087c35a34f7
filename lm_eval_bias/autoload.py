"""Lets a plain `lm_eval` find the tasks of this project, without `--include_path`.

A `.pth` file in site-packages imports this module whenever Python starts, so it must cost next to nothing and touch no
other program: it puts a finder on `sys.meta_path` and is done. Only when the harness's task index is imported does the finder act: it lets the
index be loaded as usual and then makes `TaskIndex.build` add our folder to the harness's own.
The harness (0.4.13) has no entry points for tasks; once it finds the tasks by itself, nothing is added. LM_EVAL_BIAS_AUTOLOAD=0 turns all of it off.
"""

import os
import sys

_INDEX = "lm_eval.tasks._index"


class _Finder:
    """Finds nothing; notices that the harness's task index is about to be imported."""

    def find_spec(self, name, path=None, target=None):
        if name != _INDEX:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _extend(module)

            spec.loader.exec_module = exec_module
        return spec


def _extend(index_module):
    """Wrap `TaskIndex.build` so that an index with the harness's own tasks holds ours too."""
    from pathlib import Path

    task_index = getattr(index_module, "TaskIndex", None)
    build = getattr(task_index, "build", None)
    if build is None:
        from lm_eval_bias.cli import tasks_folder

        print(
            "lm-eval-bias: this version of lm_eval keeps its task index elsewhere; the bias tasks are found only with "
            f"--include_path {tasks_folder()}",
            file=sys.stderr,
        )
        return
    defaults = Path(index_module.__file__).parent

    def build_with_bias_tasks(paths, **options):
        from lm_eval_bias.cli import tasks_folder

        paths = list(paths)
        found = build(paths, **options)
        if not any(Path(p) == defaults for p in paths):  # include_defaults=False
            return found
        ours = build([Path(tasks_folder())], **options)
        for name, entry in ours.items():
            if name not in found:
                found[name] = entry
            elif entry.kind is index_module.Kind.TAG and found[name].kind is entry.kind:
                found[name].tags |= entry.tags
        return found

    task_index.build = staticmethod(build_with_bias_tasks)


if os.environ.get("LM_EVAL_BIAS_AUTOLOAD") != "0" and _INDEX not in sys.modules:
    sys.meta_path.insert(0, _Finder())
