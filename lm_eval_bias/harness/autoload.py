"""Make the tasks and model types of this project visible to a plain `lm_eval`, whose task index is
extended when it is imported."""

import sys
from importlib.machinery import ModuleSpec
from importlib.metadata import distribution
from importlib.util import find_spec
from types import ModuleType

from lm_eval_bias import __version__
from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.harness import compat


def models() -> dict[str, str]:
    installed = distribution("lm-eval-bias")
    if installed.version != __version__:
        print(
            f"lm-eval-bias: version {__version__} runs, and version {installed.version}, which is "
            "installed, names the model types; install the one that shall run",
            file=sys.stderr,
        )
    return {
        point.name: point.value
        for point in installed.entry_points
        if point.group == "lm_eval.models"
    }


def extended_spec(name: str) -> ModuleSpec | None:
    """The spec of the harness's task index, whose loader also runs our extensions."""
    spec = find_spec(name)
    if spec and spec.loader:
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            compat.add_tasks(module, tasks_folder())
            compat.add_models(models)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec
