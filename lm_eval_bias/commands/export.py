"""`lm-eval-bias export`: convert the numbers of finished runs to third-party formats."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.commands import finished
from lm_eval_bias.data.bounds import Unreadable, content_of
from lm_eval_bias.export import numbers, records
from lm_eval_bias.export.numbers import Result
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.runs import of_model
from lm_eval_bias.usage import UsageError

FORMATS = ("hub", "every-eval-ever")
_ID = r"[\w.-]+/[\w.-]+"


DESCRIPTION = """Convert the primary numbers of finished runs: `hub` makes entries for
.eval_results/ of a model's repository, `every-eval-ever` a record for each number in its schema
0.3.0. In existing files, only older numbers of the same task are replaced."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    finished.add_runs(parser)
    add("--to", choices=FORMATS, required=True, help="the format")
    add(
        "--output",
        metavar="DIR",
        type=Path,
        help="for hub, the model's repository; for every-eval-ever, the folder of data/",
    )
    add("--model", metavar="NAME", help="only this model; needed for hub if there are several")
    add("--model_id", metavar="OWNER/NAME", help="the model's name on the hub, if it differs")
    finished.add_tasks(parser)
    finished.add_metrics(parser)
    add(
        "--dataset_id", metavar="OWNER/NAME", help="for hub, needed: the benchmark's data set there"
    )
    add(
        "--organization",
        metavar="NAME",
        default=records.UNKNOWN,
        help="for every-eval-ever: who ran the model",
    )
    add(
        "--relationship",
        choices=records.RELATIONSHIPS,
        default=records.OTHER,
        help="for every-eval-ever: NAME's relationship to the model's developer; default: other",
    )


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    finished_runs = finished.found(arguments)
    single = "--to hub" if arguments.to == "hub" else "--model_id" * bool(arguments.model_id)
    chosen = of_model(finished_runs.runs, arguments.model, "--model", single)
    results, left = numbers.chosen(chosen, arguments.metrics)
    write = _hub if arguments.to == "hub" else _records
    written, more = write(results, arguments)
    for line in [*finished_runs.notes, *left, *more, *numbers.warnings(results)]:
        print(line, file=sys.stderr)
    if not written:
        raise UsageError(f"nothing to export to {arguments.to}: no number of these runs can be")
    print(*written, sep="\n")
    return 0


Written = tuple[list[str], list[str]]
"""What is printed, and what was left out."""


def _check(arguments: argparse.Namespace) -> None:
    for name in ("dataset_id", "model_id"):
        value = getattr(arguments, name)
        if value is not None and not re.fullmatch(_ID, value, re.ASCII):
            raise UsageError(f"--{name} {visible(value)}: expected OWNER/NAME, as on the hub")
    if arguments.to == "hub" and not arguments.dataset_id:
        raise UsageError(
            "--to hub needs --dataset_id OWNER/NAME: an entry belongs to a data set on the hub "
            "that is registered as a benchmark, and no task of this project has one of its own"
        )
    if arguments.output and not arguments.output.is_dir():
        raise UsageError(f"--output {arguments.output}: expected a folder that is there")


# ---- The formats


def _hub(results: Sequence[Result], arguments: argparse.Namespace) -> Written:
    try:
        from lm_eval_bias.export import hub  # imports huggingface_hub, which takes a while
    except ImportError as error:
        raise UsageError(
            f"export needs a newer huggingface_hub ({error}): "
            "pip install -U 'huggingface_hub>=1.33'"
        ) from error
    new, left = hub.entries(results, arguments.dataset_id)
    if not new or arguments.output is None:
        return [hub.text(new).rstrip("\n")] * bool(new), left
    own = arguments.output / hub.FOLDER / hub.FILE
    of_own: list[Any] = []
    for path in sorted({*own.parent.glob("*.yaml"), *own.parent.glob("*.yml")}):
        try:
            standing = hub.standing(_read(path))
        except UsageError as error:
            if path == own:
                raise UsageError(f"{path}: {error}; mend or move it") from error
            left.append(f"{path} is left alone: {error}")
            continue
        of_own = standing if path == own else of_own
        for there in standing:
            key, why = hub.key_of(there), "the entry that stands there is of another file"
            if key in new and (path != own or (why := hub.keeps(there, new[key]))):
                task = new.pop(key)["dataset"]["task_id"]
                left.append(f"{task} is left out: {why}, {path}")
    if not new:
        return [], left
    writing.whole(own, hub.text(new, of_own))
    return [f"wrote {own}"], left


def _records(results: Sequence[Result], arguments: argparse.Namespace) -> Written:
    made, left = records.records(
        results,
        visible(arguments.organization),
        arguments.relationship,
        arguments.model_id,
        arguments.dataset_id,
    )
    if arguments.output is None:
        return [json.dumps(content, allow_nan=False) for content in made.values()], left
    files = {}
    for path, content in made.items():
        file = arguments.output / path
        _refuse_link(file)
        files[file] = f"{json.dumps(content, indent=2, allow_nan=False)}\n"
    writing.together(files)
    folder = arguments.output / "data" / records.COLLECTION
    line = f"wrote {len(files)} record{'s' * (len(files) != 1)} below {folder}"
    return [line] * bool(made), left


def _read(path: Path) -> str:
    """A file with its line breaks; "" for one that is not there. UsageError for a link."""
    _refuse_link(path)
    if not path.exists():
        return ""
    try:
        return content_of(path).decode()
    except UnicodeDecodeError as error:
        raise Unreadable(path, str(error)) from error


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise UsageError(f"{path} is a link, as in the hub's cache; name a copy of your own")
