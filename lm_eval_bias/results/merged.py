"""The samples of several runs of a task as one run."""

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lm_eval_bias.catalogue import Task
from lm_eval_bias.measure import summed_up, tables
from lm_eval_bias.results.runs import Run, different, without_numbers
from lm_eval_bias.results.samples import (
    PARTS,
    date_of,
    in_order,
    measure_of,
    of_tasks,
    part_of,
    results_of,
)
from lm_eval_bias.usage import Options, UsageError, read_options


def merged(
    task: Task, files: Sequence[Path], options: Options = MappingProxyType({})
) -> dict[str, Any]:
    """The samples of several runs as one results file, else as that of the first. options: those of
    the task, where no results file has them. UsageError for files that do not belong together."""
    contents = {
        path: content for path in files if (content := results_of(task.name, path)) is not None
    }
    runs = [without_numbers(task, path, content) for path, content in contents.items()]
    for run in runs[1:]:
        for key, value, other in different(_asked(run), _asked(runs[0])):
            raise UsageError(
                f"{task.name}: these runs do not belong together: {key} is {value} in "
                f"{run.results} and {other} in {runs[0].results}"
            )
    first = of_tasks(next(iter(contents.values()), {}), [task.name])
    config = first["configs"].get(task.name, {})
    written = config.get("metadata") or {}
    for key in options.keys() & written.keys():
        if options[key] != written[key]:
            raise UsageError(
                f"{key}={options[key]!r} in --metadata, but the runs had {written[key]!r}"
            )
    # What a run wrote was checked there, with files that may be elsewhere now.
    used = read_options(task.name, options, task.options)
    used |= {key: value for key, value in written.items() if key in task.option_names}
    measure, of_files = measure_of(task), in_order(task, files)
    records = [record for document in of_files for record in document.records]
    try:
        cells = tables(measure, summed_up(measure, records, used))
    except ValueError as error:  # a table that is none, too
        raise UsageError(f"{task.name}: {error}") from error
    metadata = {key: value for key, value in {**options, **written}.items() if key not in PARTS}
    config = {key: value for key, value in config.items() if key != "error"}
    # missing parts count as the others
    parts = {part_of(run.options) or (1, 1): run.of for run in runs}
    original = None
    if len(runs) == len(files) and (sizes := [n for n in parts.values() if n]) == [*parts.values()]:
        (of_parts,) = {count for _, count in parts}
        original = ceil(sum(sizes) * of_parts / len(parts))
    return {
        "task": task.name,
        "files": list(map(str, files)),
        **first,
        "date": max(map(date_of, contents), default=None),
        "configs": {task.name: {**config, "metadata": metadata, "cells": cells}},
        "n-samples": {task.name: {"original": original, "effective": len(of_files)}},
    }


def _asked(run: Run) -> dict[str, str]:
    return {
        "model": run.identity,
        "chat template": str(run.template),
        **{key: value for key, value in run.settings if key != "documents"},
        "generation": str(run.generation),
        "number of parts": str((part_of(run.options) or (1, 1))[1]),
    }


def missing_parts(runs: Iterable[Options]) -> list[str]:
    """The parts that other parts are of, and that no run asked. runs: the options of each."""
    there = {part for part in map(part_of, runs) if part}
    sizes = {parts for _, parts in there}
    return [f"{i}/{n}" for n in sizes for i in range(1, n + 1) if (i, n) not in there]
