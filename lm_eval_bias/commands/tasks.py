"""`lm-eval-bias tasks`: list the tasks, and describe a task or a number."""

import argparse
import re
from collections import defaultdict
from collections.abc import Mapping

from lm_eval_bias import catalogue
from lm_eval_bias.commands import finished
from lm_eval_bias.data import model_files
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.measure import UNITS, Metric
from lm_eval_bias.results.leaderboard import direction
from lm_eval_bias.results.table import columns
from lm_eval_bias.usage import UsageError, nearest

DESCRIPTION = """List every task with its paper, request type, number of documents and what it
asks. With the name of a task: its numbers and options for --metadata. With the name of a number:
what it says."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="a task or a metric, such as hbb or biased_share")
    finished.add_include_path(parser)
    add(
        "--for",
        metavar="MODEL_ARGS",
        dest="model_args",
        help="print commands for a model in a folder or the hub's cache: pretrained=org/model",
    )
    add(
        "--path",
        action="store_true",
        help="print the folder of the tasks, for `lm_eval --include_path`",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.path:
        print(catalogue.tasks_folder())
        return 0
    if given := arguments.model_args:
        model = [*re.findall("pretrained=([^,]+)", given), None][0]
        text = f"{model_files.content(model, 'config.json')}\f{model_files.chat_template(model)}"
        lines = next(
            kind["lines"]
            for kind in lexicon("models")["kinds"]
            if re.search(kind["pattern"], text, re.DOTALL)
        )
        print(*(line.format(given) for line in lines), sep="\n  ")
        return 0
    name, known = arguments.name, catalogue.measured(arguments.include_path)
    if name is None:
        head = ("TASK", "PAPER", "REQUEST", "DOCUMENTS", "WHAT IT ASKS")
        # a dash where only a run can tell, which fetches the documents
        rows = [
            (t.name, t.paper, t.request, f"{t.documents:,}" if t.documents else "—", t.about)
            for t in known.values()
            if not t.is_of_harness
        ]
        print(columns([head, *rows], right={3}))
    elif name in known:
        _describe_task(known[name])
    else:
        _describe_metric(name, known)
    return 0


def _describe_task(task: catalogue.Task) -> None:
    if task.measure is None:
        raise UsageError(
            f"{task.name} declares no measure; its numbers are those of its own YAML, {task.path}"
        )
    print(f"{task.name}: {task.about}" if task.about else task.name)
    head = ("METRIC", "UNIT", "BETTER", "NO BIAS", "PAPER", "WHAT IT SAYS")
    print(columns([head, *map(row, task.measure.metrics)]))
    if task.options:
        print()
        print(columns([("OPTION", "DEFAULT", "WHAT IT SETS"), *task.options.rows()]))


def _describe_metric(name: str, known: Mapping[str, catalogue.Task]) -> None:
    tasks = defaultdict(list)
    for task in known.values():
        for metric in task.measure.metrics if task.measure else ():
            tasks[metric._replace(systematic=())].append(task.name)
    names = {metric.name for metric in tasks}
    if name not in names:
        near = nearest(name, known.keys() | names, "see lm-eval-bias tasks")
        raise UsageError(f"no task or metric {name!r}; {near}")
    for metric, asked in tasks.items():
        if metric.name != name:
            continue
        _, unit, better, null_value, cell, about = row(metric)
        by = f", by {metric.by}" if metric.by else ""
        shown = "yes" if metric.primary else "no, in the cells of the results file"
        print(f"{name}: {about}")
        print(f"  unit: {unit}, {UNITS[unit]}")
        print(f"  without bias: {null_value or 'unknown'}; better: {better or 'neither'}")
        print(f"  in the paper: {cell or 'no; ours'}")
        print(f"  shown in the table: {shown}{by}")
        print(f"  tasks: {', '.join(asked)}")
        if metric.question:
            print(f"  tests: {metric.question}")


def row(metric: Metric) -> tuple[str, ...]:
    null_value = "" if metric.null_value is None else f"{metric.null_value:g}"
    better, cell = direction(metric) or "", metric.cell or ""
    return metric.name, metric.unit, better, null_value, cell, metric.description
