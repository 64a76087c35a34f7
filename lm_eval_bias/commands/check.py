"""`lm-eval-bias check`: check a person's own files before a model is asked."""

import argparse
from pathlib import Path

from lm_eval_bias import catalogue
from lm_eval_bias.commands import finished
from lm_eval_bias.data import schema
from lm_eval_bias.data.content import read
from lm_eval_bias.usage import UsageError

DESCRIPTION = """List what is wrong with files that replace a task's items, groups or data: file,
line, field and cause. A table (.tsv, .csv, .jsonl or a list in .yaml) holds items, names in
.yaml hold groups. Give both if one refers to the other. A run makes the same checks."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument(
        "--for", dest="task", metavar="TASK", required=True, help="the task that uses them"
    )
    finished.add_include_path(parser)


def run(arguments: argparse.Namespace) -> int:
    task, files = catalogue.task(arguments.task, arguments.include_path), arguments.files
    known = task.options.files if task.options else {}
    if task.builder is None and "data" in task.option_names:
        if len(files) > 1:
            raise UsageError(
                f"{task.name} takes one file in place of its data set, found {len(files)}"
            )
        print(f"{files[0]}: data of {task.name}: {len(task.documents_of(files[0])):,} documents")
        return 0
    if not known:
        raise UsageError(f"{task.name} takes no file of items or groups")
    paths = schema.with_resolved_paths(task.metadata, task.path)
    own = {option: paths[option] for option in known if option in paths}
    given = {option_of(path, known, task.name): path for path in files}
    if len(given) < len(files):
        raise UsageError(
            f"{' and '.join(files)} stand for the same option; give one file for each of "
            f"{', '.join(known)}"
        )
    loaded = schema.load(known, **{**own, **given})
    documents = task.count(**given)
    for option, path in given.items():
        counts = known[option].holds(loaded[option]).items()
        listed = ", ".join(f"{n:,} {name}" for name, n in counts)
        print(f"{path}: {option} of {task.name}: {listed}")
    others = (option for option in known if option not in given)
    rest = [f"{name} of {own[name]}" if name in own else f"our {name}" for name in others]
    print(f"{documents:,} documents" + (f", with {' and '.join(rest)}" if rest else ""))
    return 0


def option_of(path: str, known: dict[str, schema.ItemFile], task: str) -> str:
    """The option that a file is for, a table or names. UsageError if there is none."""
    content = read(Path(path))
    if content.data is None:
        causes = [content.message(*problem) for problem in content.problems]
        raise UsageError(causes[0] if causes else f"{path} is empty")
    is_table = isinstance(content.data, tuple)
    for option, file in known.items():
        if file.is_table is is_table:
            return option
    kinds = ("names in YAML", "a table")
    raise UsageError(
        f"{path} holds {kinds[is_table]}, but {task} takes {' and '.join(known)}, "
        f"{kinds[not is_table]}"
    )
