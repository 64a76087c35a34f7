"""`lm-eval-bias merge`: the numbers of a task over the samples of several runs, or of one run whose
numbers could not be computed."""

import argparse
import json
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from lm_eval_bias import catalogue, writing
from lm_eval_bias.commands import filled, finished
from lm_eval_bias.data.bounds import plain_name
from lm_eval_bias.data.content import plain
from lm_eval_bias.results import samples
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.table import text
from lm_eval_bias.show import exhibited
from lm_eval_bias.usage import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = filled(
        "Read the sample files of several runs of one task, which `lm_eval --log_samples` wrote "
        "for different documents (shards, or --samples), and print the task's numbers over all of "
        "them. The task's options are taken from the results files beside the samples; runs that "
        "differ in them, in the model or in its prompts are refused."
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
    finished.add_include_path(parser)
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write the numbers and the finer tables there, as JSON",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    writing.check("--output", arguments.output)
    task = catalogue.task(arguments.task, arguments.include_path)
    merged = samples.merged(task, arguments.files, dict(map(_option, arguments.metadata)))
    files = len(arguments.files)
    print(f"{task.name}: {merged.documents:,} documents of {files} file{'s' * (files > 1)}")
    runs = [run for file in arguments.files if (run := samples.run(task.name, file))]
    if missing := samples.missing_parts([run.metadata for run in runs]):
        print(f"These are not all parts: {shortened(', '.join(missing))} missing.")
    print(text(exhibited.numbers(merged.tables["numbers"])))
    if arguments.output:
        content = {
            "task": task.name,
            **(origin(runs, len(runs) == files) if runs else {}),
            "options": merged.options,
            "documents": merged.documents,
            "records": merged.records,
            "files": [str(file) for file in arguments.files],
            "cells": merged.tables,
        }
        numbers = json.dumps(defined(content), indent=1, allow_nan=False) + "\n"
        writing.whole(arguments.output, numbers)
    return 0


def _option(pair: str) -> tuple[str, Any]:
    key, _, value = pair.partition("=")
    try:
        return key, plain(value)
    except ValueError as error:
        raise UsageError(f"--metadata {shortened(pair)}: {error}") from None


def origin(runs: Sequence[samples.TaskSettings], complete: bool) -> dict[str, Any]:
    """What the results files beside the samples say of the model, the task and the latest date.
    complete: whether each sample file has one."""
    dates = sorted(Path(plain_name(run.path)).stem.partition("_")[2] for run in runs)
    known = [(run.metadata, run.documents) for run in runs]
    of = samples.documents_of_all(known) if complete else None
    return {**runs[0].other, "version": runs[0].version, "of": of, "date": dates[-1]}


def defined(value: Any) -> Any:
    """Plain data with None for NaN and infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: defined(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [defined(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value
