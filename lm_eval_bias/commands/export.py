"""`lm-eval-bias export`: convert the numbers of finished runs to third-party formats."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from lm_eval_bias.commands import filled, finished
from lm_eval_bias.export import card, numbers, records
from lm_eval_bias.export.numbers import Result, Source
from lm_eval_bias.results.escape import shortened, visible
from lm_eval_bias.results.runs import Run, find
from lm_eval_bias.usage import UsageError, nearest

FORMATS = ("model-index", "every-eval-ever")
_ID = r"[\w.-]+/[\w.-]+"


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = filled(
        "Read the results that `lm_eval --output_path` wrote, and write their primary numbers in a "
        "third-party format: `model-index`, results in a model card; `every-eval-ever`, a record "
        "for each number in its schema 0.3.0. What stands in a card already stays, except older "
        "numbers of the same task. A signed number has no direction: the first leaves it out, the "
        "last has its distance from the null value. A line says what is left out. Without --output "
        "or --card the result is printed."
    )
    finished.add_runs(parser)
    parser.add_argument("--to", choices=FORMATS, required=True, help="the format")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="for every-eval-ever: the folder that holds data/",
    )
    parser.add_argument(
        "--card", metavar="FILE", type=Path, help="for model-index: the README.md that is changed"
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="this model only; model-index needs one where the runs have several",
    )
    parser.add_argument(
        "--model_id",
        metavar="OWNER/NAME",
        help="what the model is called on the hub, where it ran under another name",
    )
    finished.add_metrics(parser)
    parser.add_argument(
        "--dataset_id", metavar="OWNER/NAME", help="the benchmark's data set on the hub"
    )
    parser.add_argument("--dataset_revision", metavar="SHA", help="its commit")
    parser.add_argument(
        "--source_url", metavar="URL", help="where the outputs or this report of them can be seen"
    )
    parser.add_argument("--source_name", metavar="NAME", help="what that is called")
    parser.add_argument(
        "--organization", metavar="NAME", help="for every-eval-ever: who asked the model"
    )
    parser.add_argument(
        "--relationship",
        choices=records.RELATIONSHIPS,
        help="for every-eval-ever: of those to the model's developer; default other",
    )
    finished.add_tasks(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    source = _source(arguments)
    known = finished.known_tasks(arguments.include_path)
    finished_runs = find(arguments.runs, known, arguments.tasks)
    results, left = numbers.chosen(_of_model(finished_runs.runs, arguments), arguments.metrics)
    write = {"model-index": _card, "every-eval-ever": _records}[arguments.to]
    written, more = write(results, source, arguments)
    for line in [*finished_runs.notes, *left, *more, *numbers.warnings(results)]:
        print(visible(line), file=sys.stderr)
    if not written:
        raise UsageError(f"nothing to export to {arguments.to}: no number of these runs can be")
    for line in written:
        print(line.removesuffix("\n"))
    return 0


Written = tuple[list[str], list[str]]
"""What is printed, and what was left out."""
_PATTERNS = {
    "dataset_id": (_ID, "OWNER/NAME, as on the hub"),
    "model_id": (_ID, "OWNER/NAME, as on the hub"),
    "dataset_revision": (r"[0-9a-f]{7,40}", "a commit, 7 to 40 of the signs 0-9 and a-f"),
    "source_url": (r"https?://[^\s/]+\S*", "an address that begins with https://"),
}
_NOT_FOR = {"model-index": ("output", "organization", "relationship"), "every-eval-ever": ("card",)}


def _source(arguments: argparse.Namespace) -> Source:
    """What the options say of the data set and of the outputs, checked."""
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    for name, (pattern, expected) in _PATTERNS.items():
        if name in given and not re.fullmatch(pattern, given[name], re.ASCII):
            raise UsageError(f"--{name} {visible(given[name])}: expected {expected}")
    if "dataset_revision" in given and "dataset_id" not in given:
        raise UsageError("--dataset_revision: of which data set? Name it with --dataset_id")
    if "source_name" in given and "source_url" not in given:
        raise UsageError(
            "--source_name: the formats take it with an address only; add --source_url"
        )
    for name in _NOT_FOR[arguments.to]:
        if name in given:
            raise UsageError(f"--{name} is not for --to {arguments.to}")
    if "output" in given and not arguments.output.is_dir():
        raise UsageError(f"--output {arguments.output}: expected a folder that is there")
    outputs = (visible(given[k]) if k in given else None for k in ("source_url", "source_name"))
    return Source(arguments.dataset_id, arguments.dataset_revision, *outputs)


def _of_model(runs: Sequence[Run], arguments: argparse.Namespace) -> list[Run]:
    """The runs of --model. UsageError where the format takes one model alone."""
    name = arguments.model
    chosen = [run for run in runs if name in (None, run.model, run.identity)]
    if not chosen:
        near = nearest(visible(name), sorted({visible(run.model) for run in runs}))
        raise UsageError(f"--model {visible(name)}: no run is of that model; {near}")
    models = sorted({run.model for run in chosen})
    if len(models) > 1 and (arguments.to == "model-index" or arguments.model_id is not None):
        of_one = "--to model-index" if arguments.to == "model-index" else "--model_id"
        raise UsageError(
            f"{of_one} is of one model, and there are {len(models)}; choose with --model: "
            f"{', '.join(map(shortened, models))}"
        )
    return chosen


def _card(results: Sequence[Result], source: Source, arguments: argparse.Namespace) -> Written:
    made, left = card.eval_results(results, source)
    if not made:
        return [], left
    name = arguments.model_id or visible(results[0].run.model)
    if arguments.card is None:
        return [card.text(name, made)], left
    left += card.change(arguments.card, name, made)
    return [f"wrote {arguments.card}"], left


def _records(results: Sequence[Result], source: Source, arguments: argparse.Namespace) -> Written:
    organization = visible(arguments.organization or records.UNKNOWN)
    who = records.Evaluator(organization, arguments.relationship or "other")
    # an export can be repeated with SOURCE_DATE_EPOCH
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = int(given) if given.isdecimal() else int(time.time())
    exporter = f"lm-eval-bias {version('lm-eval-bias')}"
    made, left = records.records(results, source, who, now, exporter, arguments.model_id)
    if arguments.output is None or not made:
        return [json.dumps(content, allow_nan=False) for _, content in made], left
    for path, content in made:
        finished.write(arguments.output / path, records.text(content))
    folder = arguments.output / "data" / records.COLLECTION
    return [f"wrote {len(made)} record{'s' * (len(made) != 1)} below {folder}"], left
