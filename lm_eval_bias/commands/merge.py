"""`lm-eval-bias merge`: the numbers of a task over the samples of several runs, or of one run whose
numbers could not be computed."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from lm_eval_bias import catalogue
from lm_eval_bias.commands import declare
from lm_eval_bias.measure import summed_up, tables
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError, read_options


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "merge",
        "put the samples of several runs of a task together",
        "Read the sample files of several runs of one task, which `lm_eval --log_samples` wrote for different documents\n"
        "(shards, or --samples), and print the task's numbers over all of them. The task's options are taken from the\n"
        "results files beside the samples; runs that differ in them, in the model or in its prompts are refused.",
    )
    parser.add_argument("task", metavar="TASK")
    parser.add_argument(
        "files", metavar="SAMPLES", nargs="+", type=Path, help="samples_TASK_*.jsonl"
    )
    parser.add_argument(
        "--metadata",
        metavar="KEY=VALUE",
        nargs="+",
        default=[],
        help="the task's options, where no results file tells them",
    )
    parser.add_argument(
        "--include_path",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="tasks of your own too, as for lm_eval",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write the numbers and the finer tables there, as JSON",
    )
    parser.set_defaults(run=run)


class Merged(NamedTuple):
    """options: with which the numbers were computed. documents: one or more records each. cells: as
    in the results file of one run."""

    options: dict[str, Any]
    documents: int
    records: int
    cells: dict[str, list[dict[str, Any]]]


def run(arguments: argparse.Namespace) -> int:
    task = catalogue.task(arguments.task, arguments.include_path)
    given = {
        key: yaml.safe_load(value)
        for key, _, value in (pair.partition("=") for pair in arguments.metadata)
    }
    merged = put_together(task, arguments.files, given)
    files = len(arguments.files)
    print(f"{task.name}: {merged.records:,} documents of {files} file{'s' if files > 1 else ''}")
    rows = [
        (f"{n['metric']} ({n['group']})" if n["group"] else n["metric"], n)
        for n in merged.cells["numbers"]
    ]
    width = max(len(name) for name, _ in rows)
    for name, number in rows:
        error = number["stderr"]
        print(
            f"{name:{width}}  {number['value']:12.4f} {number['unit']:6}"
            + (f"  ± {error:.4f}" if error is not None and error == error else "")
        )
    if arguments.output:
        content = {
            "task": task.name,
            **origin(task.name, arguments.files),
            "options": merged.options,
            "documents": merged.documents,
            "records": merged.records,
            "files": [str(file) for file in arguments.files],
            "cells": merged.cells,
        }
        arguments.output.write_text(json.dumps(defined(content), indent=1, allow_nan=False) + "\n")
    return 0


def put_together(
    task: catalogue.Task, files: Sequence[Path], given: Mapping[str, Any] = MappingProxyType({})
) -> Merged:
    """The numbers of a task over the samples of several runs. given: options, where no results file
    tells them. UsageError for files that do not belong together, or are none of the task's."""
    if task.measure is None:
        raise UsageError(f"{task.name} declares no measure, so there is nothing to compute")
    known = list(inspect.signature(task.options).parameters) if task.options else []
    written = samples.common_options(task.name, files, known)
    for key in given.keys() & written.keys():
        if given[key] != written[key]:
            raise UsageError(
                f"{key}={given[key]!r} in --metadata, but the runs had {written[key]!r}"
            )
    # What a run wrote was checked there, with files that may be elsewhere now.
    options = {**read_options(task.name, given, task.options), **written}
    records = list(samples.records(task, files))
    try:
        cells = tables(task.measure, summed_up(task.measure, records, options))
    except ValueError as error:  # a table that is none, too
        raise UsageError(f"{task.name}: {error}") from error
    return Merged(options, sum(map(lines, files)), len(records), cells)


def lines(file: Path) -> int:
    """Of a file: a sample each."""
    with file.open("rb") as content:
        return sum(1 for _ in content)


def origin(task: str, files: Sequence[Path]) -> dict[str, Any]:
    """The model, what shaped its prompts, the task's version, how many documents it has and the
    latest date, from the results files beside the samples; nothing without them."""
    runs = [found for found in (samples.run(task, file) for file in files) if found is not None]
    if not runs:
        return {}
    dates = sorted(found.path.stem.partition("_")[2] for found in runs)
    of = (
        samples.documents_of_all([(found.metadata, found.documents) for found in runs])
        if len(runs) == len(files)
        else None
    )
    return {**runs[0].other, "version": runs[0].version, "of": of, "date": dates[-1]}


def defined(value: Any) -> Any:
    """Plain data with None for the numbers that do not exist: JSON knows neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: defined(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [defined(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
