"""What the harness saves of a run is read back: it logs an error of the disk, and goes on."""

import json
import logging
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial, partialmethod
from inspect import signature
from pathlib import Path
from typing import Any

from lm_eval_bias.harness import compat
from lm_eval_bias.usage import Options, without_secrets

logger = logging.getLogger(__name__)


RECORDS = "records"
"""The key of a document's record, and of their number in the harness's table."""
_tasks: set[str] = set()


def check_files(task: str) -> None:
    """Read back the files of each run of this process that asks a task, and go on without a cache
    that cannot be written."""
    from lm_eval.loggers import EvaluationTracker

    if not _tasks:
        compat.survive_full_caches()
        _warn_of_what_is_not_saved(sys.argv[1:])
        for name in ("save_results_aggregated", "save_results_samples"):
            own = partialmethod(_save, getattr(EvaluationTracker, name))
            setattr(EvaluationTracker, name, own)
    _tasks.add(task)


def _warn_of_what_is_not_saved(arguments: list[str]) -> None:
    """Of a command line; a file of --config may name a folder."""
    if not compat.is_command() or any(re.match("-C|--config", a) for a in arguments):
        return
    if not any(argument.startswith(("-o", "--o")) for argument in arguments):
        logger.warning(
            "without --output_path nothing is saved: report, compare, gate and all other commands "
            "read the files of a run"
        )
    if not any(re.match("-s$|-x|--log|--predict", argument) for argument in arguments):
        logger.warning(
            "without --log_samples the answers are not saved: compare, merge, reasons, "
            "ranks and gate --baseline need them, and report shows no answers"
        )


def _save(tracker: Any, method: Callable[..., None], *arguments: Any, **named: Any) -> None:
    """If a file of a run with our tasks is not whole, save all elsewhere, and end with status 1."""
    call = signature(method).bind(tracker, *arguments, **named).arguments
    del call["self"]
    if "results" in call:  # the first call of a run
        tracker.calls = []
        tracker.is_ours = not _tasks.isdisjoint(call["results"].get("configs", ()))
        if tracker.is_ours:
            _tidy(tracker.general_config_tracker, call["results"]["results"])
            if compat.is_command():
                words = map(without_secrets, sys.argv[1:])
                call["results"]["command"] = shlex.join(["lm_eval", *words])
    if not getattr(tracker, "is_ours", False) or tracker.output_path is None:
        method(tracker, **call)
        return
    tracker.calls.append((method, call))
    if _is_whole(tracker, method, call):
        return
    wanted, files = tracker.output_path, _files(tracker)
    outcome = ", nor in the working directory or the temporary folder. Make room and run again"
    for place in (Path.cwd, partial(tempfile.mkdtemp, prefix="lm-eval-bias-")):
        with suppress(OSError):  # no temporary folder
            tracker.output_path = str(place())
            if all(_is_whole(tracker, *earlier) for earlier in tracker.calls):
                _remove(files)
                outcome = f"; all files of this run are in {_files(tracker)[0].parent} instead"
                break
            _remove(_files(tracker))
        tracker.output_path = wanted
    sentence = f"{files[-1]} could not be saved whole{outcome}"
    logger.error("lm-eval-bias: %s", sentence)
    compat.fail_at_end(sentence)


def _tidy(general: Any, results: dict[str, Any]) -> None:
    """No hidden folder, and no error of what is no number or an error itself."""
    if hidden := re.match(r"\.[._]*", general.model_name_sanitized or ""):
        general.model_name_sanitized = general.model_name_sanitized[hidden.end() :] or "model"
    for task in _tasks & results.keys():
        for name in [*results[task]]:
            if re.match(rf"({RECORDS}|.*_stderr)_stderr,", name):
                del results[task][name]


def _files(tracker: Any) -> list[Path]:
    return [compat.saved_file(tracker, call.get("task_name")) for _, call in tracker.calls]


def _is_whole(tracker: Any, method: Callable[..., None], call: Options) -> bool:
    task = call.get("task_name")
    if task:  # copies: the harness changes them
        call = {**call, "samples": [_without_nothing(task, sample) for sample in call["samples"]]}
    method(tracker, **call)
    try:
        with compat.saved_file(tracker, task).open(encoding="utf-8") as file:
            if task is None:
                return bool(json.load(file))
            return sum(bool(json.loads(line)) for line in file) == len(call["samples"])
    except (OSError, ValueError):
        return False


def _without_nothing(task: str, sample: dict[str, Any]) -> dict[str, Any]:
    """Our metrics belong to no document: only their names are there."""
    names = sample.get("metrics", ()) if task in _tasks else ()
    return {k: value for k, value in sample.items() if value is not None or k not in names}


def _remove(files: list[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink()
            file.parent.rmdir()  # if it is empty
