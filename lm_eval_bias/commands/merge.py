"""`lm-eval-bias merge`: the numbers of a task over the samples of several runs, or of one run whose numbers could not be computed."""

from __future__ import annotations

import argparse
import inspect
import json
from pathlib import Path
from typing import Any

import yaml

from lm_eval_bias import catalogue, samples
from lm_eval_bias.commands import declare
from lm_eval_bias.measure import tables
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
    parser.add_argument("files", metavar="SAMPLES", nargs="+", type=Path, help="samples_TASK_*.jsonl")
    parser.add_argument(
        "--metadata", metavar="KEY=VALUE", nargs="+", default=[], help="the task's options, where no results file tells them"
    )
    parser.add_argument(
        "--include_path", metavar="DIR", type=Path, action="append", default=[], help="tasks of your own too, as for lm_eval"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the numbers and the finer tables there, as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    task = catalogue.task(arguments.task, arguments.include_path)
    if task.measure is None:
        raise UsageError(f"{task.name} declares no measure, so there is nothing to compute")
    given = {key: yaml.safe_load(value) for key, _, value in (pair.partition("=") for pair in arguments.metadata)}
    known = list(inspect.signature(task.options).parameters) if task.options else []
    written = samples.common_options(task.name, arguments.files, known)
    for key in given.keys() & written.keys():
        if given[key] != written[key]:
            raise UsageError(f"{key}={given[key]!r} in --metadata, but the runs had {written[key]!r}")
    options = read_options(task.name, {**written, **given}, task.options)
    records = list(samples.records(task, arguments.files))
    try:
        summary = task.measure.summary(records, **options)
        cells = tables(task.measure, summary)
    except (KeyError, TypeError, StopIteration) as error:
        raise UsageError(
            f"the samples are not those of {task.name}, or of another version of it: {type(error).__name__} {error}"
        ) from error
    files = len(arguments.files)
    print(f"{task.name}: {len(records):,} documents of {files} file{'s' if files > 1 else ''}")
    rows = [(f"{n['metric']} ({n['group']})" if n["group"] else n["metric"], n) for n in cells["numbers"]]
    width = max(len(name) for name, _ in rows)
    for name, number in rows:
        error = number["stderr"]
        print(
            f"{name:{width}}  {number['value']:12.4f} {number['unit']:6}"
            + (f"  ± {error:.4f}" if error is not None and error == error else "")
        )
    if arguments.output:
        content = {"task": task.name, "options": options, "records": len(records), "cells": cells}
        arguments.output.write_text(json.dumps(content, indent=1) + "\n")
    return 0
