"""What a person may set with `--metadata`, and how a mistake is told to them."""

from __future__ import annotations

import difflib
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

logger = logging.getLogger(__name__)

# Keys of a task's `metadata` that are not options: written in the YAML, or added by the harness.
DESCRIPTIVE = frozenset({"version", "paper", "about", "config_source"})


class UsageError(ValueError, SystemExit):
    """A mistake of the person at the keyboard.

    `except ValueError` catches it; at the command line only its text is shown, and the exit status is 1.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = f"lm-eval-bias: {message}"


def read_options(
    task: str,
    metadata: Mapping[str, Any],
    options: Callable[..., dict[str, Any]] | None,
    elsewhere: Iterable[str] = (),
) -> dict[str, Any]:
    """The options of a task, out of the metadata that the harness hands over.

    metadata: what `--metadata` set, merged by the harness with the model's arguments and with the task's own metadata.
    options: checks the options, which are its parameters, and returns them all; None for a task without options.
    elsewhere: options of other tasks of this project, which may be set in a run of several tasks.
    Raises UsageError for a value that `options` refuses and for a key that nobody knows.
    """
    known = list(inspect.signature(options).parameters) if options else []
    chosen = options(**{k: metadata[k] for k in known if k in metadata}) if options else {}
    model_args, tasks = _run()
    for key in metadata:
        if key in known or key in DESCRIPTIVE or key in (model_args or ()):
            continue
        if key in elsewhere:
            if tasks is not None and len(tasks) == 1:
                logger.warning("%s has no option '%s'; it changes nothing in this run.", task, key)
            continue
        guesses = difflib.get_close_matches(str(key), [*known, *elsewhere], n=1, cutoff=0.7)
        if model_args is None and not guesses:
            continue  # outside a run of the harness nobody can tell a model argument from a mistake
        hint = f" Did you mean '{guesses[0]}'?" if guesses else ""
        takes = f"takes {' and '.join(known)}" if known else "takes no options"
        raise UsageError(f"unknown option '{key}' in --metadata: {task} {takes}.{hint}")
    return chosen


def _run() -> tuple[Mapping[str, Any] | None, list[Any] | None]:
    """The model arguments and tasks of the `simple_evaluate` that is loading the task, None and None outside of one.

    The harness merges model arguments into the metadata before a task sees it; only the caller's frame still tells the two apart.
    """
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "simple_evaluate" and frame.f_globals.get("__name__") == "lm_eval.evaluator":
            model_args, tasks = frame.f_locals.get("model_args"), frame.f_locals.get("tasks")
            if isinstance(model_args, str):
                from lm_eval.utils import simple_parse_args_string

                model_args = simple_parse_args_string(model_args)
            return model_args or {}, tasks
        frame = frame.f_back
    return None, None
