"""What our tasks need around a whole run: say which options change nothing, try the output path
before the first request, and read back what was saved."""

import json
import logging
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.templates import CompiledTask, Config
from lm_eval_bias.usage import DESCRIPTIVE, Options, UsageError

logger = logging.getLogger(__name__)


def check(evaluation: Options, arguments: Options) -> None:
    """Gets the arguments of `evaluate` and of `simple_evaluate`. Raises UsageError if the model
    cannot be asked a task, or the output path cannot be written.
    """
    lm, tasks = evaluation["lm"], evaluation["task_dict"]["tasks"]
    if lm.rank or not any(isinstance(t, CompiledTask) for t in tasks.values()):
        return
    refusal = getattr(lm, "refusal", lambda task: None)
    reasons = {name: why for name, task in tasks.items() if (why := refusal(task))}
    if reasons:
        others = ",".join(name for name in tasks if name not in reasons)
        raise UsageError(
            f"--model {lm.NAME} cannot be asked {'; '.join(': '.join(r) for r in reasons.items())}."
            f" Ask {'--tasks ' + others if others else 'a task with written answers'}"
        )
    for sentence in ignored(tasks, arguments):
        logger.warning("lm-eval-bias: %s", sentence)
    tracker: Any = arguments.get("evaluation_tracker")
    if tracker is None or not tracker.output_path:
        return
    folder = compat.saved_file(tracker).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            probe.write(bytes(4096))
    except OSError as error:
        raise UsageError(
            f"cannot write to {folder}: {error.strerror}. Nothing was computed; give another "
            "--output_path"
        ) from error
    if "save_results_samples" not in vars(tracker):  # of an earlier run
        Saving(tracker)


def ignored(tasks: Options, arguments: Options) -> list[str]:
    """A sentence for each kind of option that changes nothing in our tasks."""
    sentences = []
    if shots := arguments.get("num_fewshot"):
        sentences.append(
            f"--num_fewshot {shots} changes nothing in the tasks of lm-eval-bias: their questions "
            "are asked without examples"
        )
    given = [n for n in ("system_instruction", "apply_chat_template") if arguments.get(n)]
    plain = [n for n, task in tasks.items() if isinstance(task, CompiledTask) and task.PLAIN]
    if given and plain:
        sentences.append(
            f"{', '.join(plain)}: sentences are scored as they stand, without "
            f"--{' and --'.join(given)}"
        )
    takes: list[Any] = [getattr(task, "takes", None) for task in tasks.values()]
    if None not in takes:
        of_model = arguments.get("model_args") or ()
        names = re.split("[,=]", of_model) if isinstance(of_model, str) else of_model
        known = set().union(DESCRIPTIVE, names, *takes)
        sentences += [
            f"{name!r} in --metadata changes nothing: no task of this run takes it"
            for name in arguments.get("metadata") or ()
            if name not in known
        ]
    return sentences


class Saving:
    """Reads back what a tracker saves. If a file is not whole, all files of the run are saved
    elsewhere, and the status is 1."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._calls: list[tuple[Callable[..., None], Config]] = []
        self._files: list[Path] = []
        for name in ("save_results_aggregated", "save_results_samples"):
            setattr(tracker, name, partial(self._save, getattr(tracker, name)))

    def _save(self, method: Callable[..., None], *arguments: Any, **named: Any) -> None:
        call = signature(method).bind(*arguments, **named).arguments
        if "results" in call:  # the first call of a run
            self._calls, self._files = [], []
        self._calls.append((method, call))
        if self._whole(method, call):
            return
        wanted, files = self._tracker.output_path, self._files
        for place in (Path.cwd, partial(tempfile.mkdtemp, prefix="lm-eval-bias-")):
            self._files = []
            with suppress(OSError):  # no temporary folder
                self._tracker.output_path = str(place())
                if all(self._whole(*call) for call in self._calls):
                    remove(files)
                    outcome = f"; all files of this run are in {self._files[0].parent} instead"
                    break
            remove(self._files)
        else:
            self._tracker.output_path, self._files = wanted, files
            outcome = (
                ", nor in the working directory or the temporary folder. Make room and run again"
            )
        sentence = f"{files[-1]} could not be saved whole{outcome}"
        logger.error("lm-eval-bias: %s", sentence)
        compat.fail_at_end(sentence)

    def _whole(self, method: Callable[..., None], call: Config) -> bool:
        task = call.get("task_name")
        if task is not None:  # copies: the harness changes them
            call = {**call, "samples": [dict(sample) for sample in call["samples"]]}
        method(**call)
        self._files.append(compat.saved_file(self._tracker, task))
        try:
            with self._files[-1].open(encoding="utf-8") as file:
                if task is None:
                    return bool(json.load(file))
                return sum(bool(json.loads(line)) for line in file) == len(call["samples"])
        except (OSError, ValueError):
            return False


def remove(files: list[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink()
            file.parent.rmdir()  # if it is empty
