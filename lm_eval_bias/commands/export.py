"""`lm-eval-bias export`: numbers of finished runs in the formats of others, with their intervals."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_bias.commands import declare, finished
from lm_eval_bias.usage import UsageError, nearest

if TYPE_CHECKING:
    from lm_eval_bias.export.export import Result
    from lm_eval_bias.export.hub import Source

FORMATS = ("hub", "model-index", "every-eval-ever")
_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "export",
        "numbers of finished runs in the formats of others",
        "Read the results that `lm_eval --output_path` wrote, and write their primary numbers in a format of others: `hub`, entries\n"
        "for .eval_results/ of a model's repository; `model-index`, results in a model card; `every-eval-ever`, a record for each\n"
        "number in its schema 0.3.0. What stands in these files already stays, but for older numbers of the same task. The formats\n"
        "know a number, and the last whether lower is better: a signed number has no direction, so the first two leave it out, and\n"
        "the last has its distance from the null value. What is left out is told. Without --output or --card it is printed.",
    )
    parser.add_argument(
        "runs",
        metavar="RUNS",
        nargs="+",
        type=Path,
        help="folders or files that lm_eval or `lm-eval-bias merge` wrote",
    )
    parser.add_argument("--to", choices=FORMATS, required=True, help="the format")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="write below this folder: for hub, the model's repository; for every-eval-ever, the folder that holds data/",
    )
    parser.add_argument(
        "--card", metavar="FILE", type=Path, help="for model-index: the README.md that is changed"
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="this model only; hub and model-index need one where the runs have several",
    )
    _option(
        parser,
        "--model_id",
        metavar="OWNER/NAME",
        help="what the model is called on the hub, where it ran under another name",
    )
    parser.add_argument("--tasks", metavar="TASK", nargs="+", help="these tasks only")
    parser.add_argument(
        "--metrics",
        metavar="METRIC",
        nargs="+",
        help="these numbers, METRIC or TASK/METRIC, in place of the primary ones",
    )
    _option(
        parser,
        "--dataset_id",
        metavar="OWNER/NAME",
        help="the benchmark's data set on the hub; hub needs it",
    )
    _option(parser, "--dataset_revision", metavar="SHA", help="its commit")
    _option(
        parser,
        "--source_url",
        metavar="URL",
        help="where the outputs or this report of them can be seen",
    )
    _option(parser, "--source_name", metavar="NAME", help="what that is called")
    parser.add_argument(
        "--organization", metavar="NAME", help="for every-eval-ever: who asked the model"
    )
    parser.add_argument(
        "--relationship",
        choices=("first_party", "third_party", "collaborative", "other"),
        help="for every-eval-ever: of those to the model's developer; default other",
    )
    _option(
        parser,
        "--include_path",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="tasks of your own too, as for lm_eval",
    )
    parser.set_defaults(run=run)


def _option(parser: argparse.ArgumentParser, name: str, help: str, **more: Any) -> None:
    """An option that may be written with hyphens, too."""
    parser.add_argument(name, help=help, **more)
    parser.add_argument(
        name.replace("_", "-"),
        dest=name[2:],
        help=argparse.SUPPRESS,
        **{**more, "default": argparse.SUPPRESS},
    )


def run(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.export import export
    from lm_eval_bias.results.escape import visible

    source = _source(arguments)
    found = finished.find(
        arguments.runs, finished.known_tasks(arguments.include_path), arguments.tasks, to="export"
    )
    found = found._replace(runs=_of_model(found.runs, arguments))
    results, left = export.chosen(found, arguments.metrics)
    write = {"hub": _hub, "model-index": _card, "every-eval-ever": _records}[arguments.to]
    written, more = write(results, source, arguments)
    for line in [*found.notes, *finished.not_ours(found), *left, *more, *export.warnings(results)]:
        print(visible(line), file=sys.stderr)
    if not written:
        raise UsageError(f"nothing to export to {arguments.to}: no number of these runs can be")
    for line in written:
        print(line, end="" if line.endswith("\n") else "\n")
    return 0


Written = tuple[list[str], list[str]]
"""What is printed, and what was left out."""


def _source(arguments: argparse.Namespace) -> Source:
    """What the options say of the data and of who asked, checked."""
    from lm_eval_bias.results.escape import visible

    try:
        from lm_eval_bias.export.hub import Source
    except ImportError as error:
        raise UsageError(
            f"export needs a newer huggingface_hub ({error}): pip install -U 'huggingface_hub>=1.33'"
        ) from error
    to = arguments.to
    for name in ("dataset_id", "model_id"):
        value = getattr(arguments, name)
        if value is not None and not _ID.fullmatch(value):
            raise UsageError(f"--{name} {visible(value)}: expected OWNER/NAME, as on the hub")
    if arguments.dataset_revision is not None and not re.fullmatch(
        r"[0-9a-f]{7,40}", arguments.dataset_revision
    ):
        raise UsageError(
            f"--dataset_revision {visible(arguments.dataset_revision)}: expected a commit, 7 to 40 of the signs 0-9 and a-f"
        )
    if arguments.dataset_revision is not None and arguments.dataset_id is None:
        raise UsageError("--dataset_revision: of which data set? Name it with --dataset_id")
    if arguments.source_url is not None and not re.fullmatch(
        r"https?://[^\s/]+\S*", arguments.source_url
    ):
        raise UsageError(
            f"--source_url {visible(arguments.source_url)}: expected an address that begins with https://"
        )
    if arguments.source_name is not None and arguments.source_url is None:
        raise UsageError(
            "--source_name: the formats take it with an address only; add --source_url"
        )
    if to == "hub" and arguments.dataset_id is None:
        what = "an entry belongs to a data set on the hub that is registered as a benchmark, and no task of this project has one of its own"
        raise UsageError(f"--to hub needs --dataset_id OWNER/NAME: {what}")
    for name, formats in (("output", ("hub", "every-eval-ever")), ("card", ("model-index",))):
        if getattr(arguments, name) is not None and to not in formats:
            other = (
                "--card FILE, the README.md that is changed"
                if to == "model-index"
                else "--output DIR"
            )
            raise UsageError(f"--{name} is not for --to {to}, which takes {other}")
    for name in ("organization", "relationship"):
        if getattr(arguments, name) is not None and to != "every-eval-ever":
            raise UsageError(f"--{name} is not for --to {to}, which has no place for it")
    if arguments.output is not None and not arguments.output.is_dir():
        raise UsageError(f"--output {arguments.output}: expected a folder that is there")
    url, name = arguments.source_url, arguments.source_name
    return Source(
        arguments.dataset_id,
        arguments.dataset_revision,
        visible(url) if url else None,
        visible(name) if name else None,
    )


def _of_model(found: Sequence[Any], arguments: argparse.Namespace) -> list[Any]:
    from lm_eval_bias.results.escape import shortened, visible

    names = sorted({run.model for run in found})
    wanted = arguments.model
    if wanted is not None:
        chosen = [run for run in found if wanted in (run.model, run.identity)]
        if not chosen:
            raise UsageError(
                f"--model {visible(wanted)}: no run is of that model; {nearest(visible(wanted), list(map(visible, names)))}"
            )
        names = sorted({run.model for run in chosen})
        found = chosen
    if len(names) > 1 and (arguments.to != "every-eval-ever" or arguments.model_id is not None):
        what = (
            f"--to {arguments.to} is of one model"
            if arguments.to != "every-eval-ever"
            else "--model_id is of one model"
        )
        raise UsageError(
            f"{what}, and there are {len(names)}; choose with --model: {', '.join(map(shortened, names))}"
        )
    return list(found)


# ---- The formats


def _hub(results: Sequence[Result], source: Source, arguments: argparse.Namespace) -> Written:
    from lm_eval_bias.export import hub

    entries, left = hub.entries(results, source)
    if not entries or arguments.output is None:
        return [hub.text(entries)] if entries else [], left
    folder = arguments.output / hub.FOLDER
    files = sorted({*folder.glob("*.yaml"), *folder.glob("*.yml"), folder / hub.FILE})
    texts = {}
    for path in files:
        try:
            content = _read(path)
            hub.standing(content)
            texts[path] = content
        except (hub.CannotMerge, UsageError) as error:
            if path.name == hub.FILE:
                raise UsageError(f"{path}: {error}; mend or move it") from error
            left.append(f"{path} is left alone: {error}")
    remaining = {(entry.dataset_id, entry.task_id): entry for entry in entries}
    plan: dict[Path, list[Any]] = {}
    for path, content in texts.items():
        for old in hub.standing(content):
            key = hub.key_of(old)
            if key in remaining:
                entry = remaining.pop(key)
                if why := hub.keeps(old, entry):
                    left.append(f"{entry.task_id} is left out: {why}, in {path}")
                else:
                    plan.setdefault(path, []).append(entry)
    if remaining:
        plan.setdefault(folder / hub.FILE, []).extend(remaining.values())
    return _changed(
        {
            path: lambda path=path, new=new: hub.merged(texts[path], new)
            for path, new in plan.items()
        },
        texts,
    ), left


def _card(results: Sequence[Result], source: Source, arguments: argparse.Namespace) -> Written:
    from lm_eval_bias.export import card as cards
    from lm_eval_bias.results.escape import shortened, visible

    made, left = cards.eval_results(results, source)
    name = arguments.model_id or (visible(results[0].run.model) if results else "")
    if not made or arguments.card is None:
        return [cards.text(name, made)] if made else [], left
    path = arguments.card
    if not path.is_file():
        raise UsageError(f"--card {path}: expected a README.md that is there")
    content = _read(path)
    try:
        kept = cards.kept(content, made)
    except cards.CannotMerge as error:
        raise UsageError(
            f"{path}: {error}; mend it, or leave --card out and put what is printed there by hand"
        ) from error
    left += [
        f"{shortened(one.metric_type)} of {shortened(one.dataset_name)} is left out: a verified result stands there"
        for one in kept
    ]
    made = [one for one in made if one not in kept]
    return _changed(
        {path: lambda: cards.merged(content, name, made)}, {path: content}
    ) if made else [], left


def _changed(files: dict[Path, Callable[[], str]], old: dict[Path, str]) -> list[str]:
    """All files, or none: each is made before the first is written."""
    from lm_eval_bias.export.hub import CannotMerge

    texts = {}
    for path, make in files.items():
        try:
            texts[path] = make()
        except CannotMerge as error:
            what = "nothing was changed. What is printed without --output and --card can be put there by hand"
            raise UsageError(f"{path}: {error}; {what}") from error
    for path, content in texts.items():
        if content != old.get(path):
            _write(path, content)
    return [
        f"wrote {path}" if content != old.get(path) else f"{path} is as it was"
        for path, content in texts.items()
    ]


def _records(results: Sequence[Result], source: Source, arguments: argparse.Namespace) -> Written:
    from lm_eval_bias.export import records as export_records
    from lm_eval_bias.results.escape import visible

    evaluator = export_records.Evaluator()
    if arguments.organization is not None:
        evaluator = evaluator._replace(organization=visible(arguments.organization))
    if arguments.relationship is not None:
        evaluator = evaluator._replace(relationship=arguments.relationship)
    made, left = export_records.records(
        results, source, evaluator, _now(), _exporter(), arguments.model_id
    )
    if arguments.output is None:
        return [export_records.line(record.content) for record in made], left
    files = {}
    same = 0
    for path, content in made:
        file = arguments.output / path
        if file.exists() or file.is_symlink():
            old = _record_at(file)
            if old is None or old.get("evaluation_id") != content["evaluation_id"]:
                raise UsageError(
                    f"{file} is there, and is no record of {content['evaluation_id']}; move it"
                )
            if {**old, "retrieved_timestamp": ""} == {
                **json.loads(json.dumps(content)),
                "retrieved_timestamp": "",
            }:
                same += 1
                continue
        files[file] = export_records.text(content)
    for file, text in files.items():
        _write(file, text)
    said = f"wrote {len(files)} record{'s' * (len(files) != 1)} below {arguments.output / 'data' / export_records.COLLECTION}"
    return [said + (f"; {same} stood there already" if same else "")] if made else [], left


def _record_at(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(_read(path))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _now() -> int:
    """Seconds since 1970; SOURCE_DATE_EPOCH in their place, so that an export can be repeated."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(given) if given.isdecimal() else int(time.time())


def _exporter() -> str:
    try:
        return f"lm-eval-bias {version('lm-eval-bias')}"
    except PackageNotFoundError:
        return "lm-eval-bias"


# ---- Files


def _read(path: Path) -> str:
    """A file with its line breaks; "" for one that is not there. UsageError for a link, as in the
    hub's cache, and for no text."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link, as in the hub's cache; name a copy of your own")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error


def _write(path: Path, content: str) -> None:
    """The whole file or nothing of it."""
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.write(content)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
