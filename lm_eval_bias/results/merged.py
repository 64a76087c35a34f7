"""The samples of several runs of a task as one run."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from lm_eval_bias.catalogue import Task
from lm_eval_bias.results.runs import Run, different, run_of
from lm_eval_bias.results.samples import (
    PARTS,
    at,
    date_of,
    in_order,
    mapping,
    numbers_of,
    of_tasks,
    part_of,
    results_of,
    run_options,
)
from lm_eval_bias.usage import UsageError


def merged(task: Task, files: Sequence[Path]) -> dict[str, Any]:
    """The samples of several runs as one results file, else as that of the first.

    Under "missing" stand the parts that no run asked. UsageError for files that do not belong
    together.
    """
    contents = {path: content for path in files if (content := results_of(path, task.name))}
    for content in contents.values():
        if stopped := at(content, "configs", task.name, "stopped"):
            raise UsageError(stopped)
    runs = [run_of(path, task.name, content, task, (path,)) for path, content in contents.items()]
    for run in runs[1:]:
        for key, value, other in different(_asked(run), _asked(runs[0])):
            raise UsageError(
                f"{task.name}: these runs do not belong together: {key} is {value} in "
                f"{run.results} and {other} in {runs[0].results}"
            )
    first = of_tasks(next(iter(contents.values()), {}), [task.name])
    config = dict(mapping(first, "configs", task.name))
    written = mapping(config, "metadata")
    used, documents = run_options(task, written), in_order(task, files)
    try:
        cells = numbers_of(task, documents, used)
    except ValueError as error:  # a table that is none, too
        raise UsageError(f"{task.name}: {error}") from error
    metadata = {key: value for key, value in written.items() if key not in PARTS}
    config.pop("error", None)
    sizes = {part_of(run.options) or (1, 1): run.of or 0 for run in runs}
    of_parts = max((count for _, count in sizes), default=0)
    original = None
    if len(runs) == len(files) and all(sizes.values()):
        # missing parts count as the others, but for the checks, which stand in the first part
        given = {**used, **task.dataset_kwargs}
        checks = len(task.builder.checks(given)) if hasattr(task.builder, "checks") else 0
        asked = sum(sizes.values()) - checks * ((1, of_parts) in sizes)
        original = ceil(asked * of_parts / len(sizes)) + checks
    return {
        "task": task.name,
        "files": list(map(str, files)),
        "missing": [
            f"{i + 1}/{of_parts}" for i in range(of_parts) if (i + 1, of_parts) not in sizes
        ],
        **first,
        "date": max(map(date_of, contents), default=None),
        "configs": {task.name: {**config, "metadata": metadata, "cells": cells}},
        "n-samples": {task.name: {"original": original, "effective": len(documents)}},
    }


def _asked(run: Run) -> dict[str, str]:
    return {
        "model": run.identity,
        "chat template": str(run.template),
        **run.settings_but("documents"),
        "generation": str(run.generation),
        "number of parts": str((part_of(run.options) or (1, 1))[1]),
    }
