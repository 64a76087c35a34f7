"""`lm-eval-bias merge`: the numbers of a task over the samples of several runs, or of one run whose
numbers could not be computed."""

import argparse
import json
import sys
from pathlib import Path

from lm_eval_bias import catalogue, writing
from lm_eval_bias.commands import finished
from lm_eval_bias.results import merged, table
from lm_eval_bias.results.escape import clean, shortened
from lm_eval_bias.results.runs import without_results
from lm_eval_bias.show import exhibited

DESCRIPTION = """Print a task's numbers over the samples of several runs (--log_samples) on
different documents, such as shards. The options come from the results files beside them. Runs
with another model, other prompts or options are refused."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK")
    parser.add_argument(
        "files", metavar="SAMPLES", nargs="+", type=Path, help="samples_TASK_*.jsonl"
    )
    finished.add_include_path(parser)
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write the numbers and finer tables to this file, as JSON",
    )


def run(arguments: argparse.Namespace) -> int:
    writing.check("--output", arguments.output)
    task = catalogue.task(arguments.task, arguments.include_path)
    files = arguments.files
    content = merged.merged(task, files)
    for file in files:
        for note in without_results(file):
            print(note, file=sys.stderr)
    documents = content["n-samples"][task.name]["effective"]
    print(f"{task.name}: {documents:,} documents of {len(files)} file{'s' * (len(files) > 1)}")
    if missing := content["missing"]:
        print(f"These are not all parts: {shortened(', '.join(missing))} missing.")
    numbers = content["configs"][task.name]["cells"]["numbers"]
    print(table.text(exhibited.numbers(clean(numbers))))
    if arguments.output:
        # JSON knows neither NaN nor infinity
        defined = json.loads(json.dumps(content), parse_constant=lambda _: None)
        writing.whole(arguments.output, f"{json.dumps(defined, indent=1)}\n")
    return 0
