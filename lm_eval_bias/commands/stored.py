"""What the samples of finished runs hold, for the commands that compare them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_bias import catalogue, samples
from lm_eval_bias.usage import read_options


def answers_of(task: catalogue.Task, files: Sequence[Path]) -> Any:
    """What the samples of a run hold. UsageError for files that are no samples of the task, or of another version of it."""
    from lm_eval_bias.report.leaderboard import Answers, Asked

    known = list(inspect.signature(task.options).parameters) if task.options else []
    written = samples.common_options(task.name, files, known)
    # What a run wrote was checked there, with files that may be elsewhere now.
    options = {**read_options(task.name, {}, task.options), **{key: value for key, value in written.items() if key in known}}
    documents = {found.hash: Asked(found.prompt, found.records) for found in samples.documents(task, files)}
    return Answers(task.measure, documents, options)
