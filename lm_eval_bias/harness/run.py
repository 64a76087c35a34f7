"""What our tasks need around a whole run: say which options change nothing, try the output path
before the first request, and read back what was saved, since the harness swallows an error there.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.templates import CompiledTask
from lm_eval_bias.usage import DESCRIPTIVE, UsageError

logger = logging.getLogger(__name__)


def check(lm: Any, tasks: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Before the first request. arguments: see `compat.before_requests`. Raises UsageError if the
    output path cannot be written.
    """
    if lm.rank or not any(isinstance(task, CompiledTask) for task in tasks.values()):
        return
    for sentence in ignored(tasks, arguments):
        logger.warning("lm-eval-bias: %s", sentence)
    tracker: Any = arguments.get("evaluation_tracker")
    if tracker is not None and tracker.output_path:
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
        if not isinstance(getattr(tracker.save_results_samples, "__self__", None), Saving):
            Saving(tracker)


def ignored(tasks: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
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
    sentences += [
        f"--samples names {name}, which is no task of this run"
        for name in arguments.get("samples") or ()
        if name not in tasks
    ]
    takes: list[Any] = [getattr(task, "takes", None) for task in tasks.values()]
    if None not in takes:
        known = set().union(DESCRIPTIVE, arguments.get("model_args") or (), *takes)
        sentences += [
            f"{name!r} in --metadata changes nothing: no task of this run takes it"
            for name in arguments.get("metadata") or ()
            if name not in known
        ]
    return sentences


class Saving:
    """Reads back what a tracker saves. If a file is not whole, all files of the run are saved in
    the working directory or the system's temporary folder instead, and the status is 1.
    """

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._of_results, self._of_samples = (
            tracker.save_results_aggregated,
            tracker.save_results_samples,
        )
        tracker.save_results_aggregated, tracker.save_results_samples = self.results, self.samples

    def results(self, results: dict[str, Any], samples: Any = None) -> None:
        """Begins the files of a run."""
        self._saves: list[Callable[[], bool]] = []
        self._files: list[Path] = []
        self._lost = False

        def save() -> bool:
            self._of_results(results=results, samples=samples)
            return self._whole(compat.saved_file(self._tracker))

        self._save(save)

    def samples(self, task_name: str, samples: list[dict[str, Any]]) -> None:
        def save() -> bool:
            # Copies: the harness changes them.
            self._of_samples(task_name=task_name, samples=[dict(sample) for sample in samples])
            return self._whole(compat.saved_file(self._tracker, task_name), len(samples))

        self._save(save)

    def _whole(self, path: Path, lines: int | None = None) -> bool:
        """Whether the file that was just saved is whole. lines: of samples."""
        self._files.append(path)
        try:
            with path.open(encoding="utf-8") as file:
                if lines is None:
                    return bool(json.load(file))
                return sum(1 for line in file if json.loads(line)) == lines
        except (OSError, ValueError):
            return False

    def _save(self, save: Callable[[], bool]) -> None:
        self._saves.append(save)
        if save() or self._lost:
            return
        wanted, files = self._tracker.output_path, self._files
        for place in (Path.cwd, partial(tempfile.mkdtemp, prefix="lm-eval-bias-")):
            self._files = []
            with suppress(OSError):  # no temporary folder
                self._tracker.output_path = str(place())
                if all(again() for again in self._saves):
                    remove(files)
                    outcome = f"; all files of this run are in {self._files[0].parent} instead"
                    break
            remove(self._files)
        else:
            self._tracker.output_path, self._files, self._lost = wanted, files, True
            outcome = (
                ", nor in the working directory or the temporary folder. Make room and run again"
            )
        sentence = f"{files[-1]} could not be saved whole{outcome}"
        logger.error("lm-eval-bias: %s", sentence)
        compat.fail_at_end(sentence)


def remove(files: list[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink()
            file.parent.rmdir()  # if it is empty
