"""`lm-eval-bias compare`: two models, or one before and after, on the questions that both were
asked."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lm_eval_bias import catalogue
from lm_eval_bias.commands import finished
from lm_eval_bias.results import any_task, comparison, runs
from lm_eval_bias.show import comparison as shown
from lm_eval_bias.usage import UsageError, nearest

NOTHING = 2
"""The exit status where no task can be compared."""


DESCRIPTION = """Compare two finished runs on the same documents (--log_samples): each primary
number of both, and the second minus the first with a 95 % interval and Holm's p. The largest
difference in standard errors comes first. Tasks that were run in different conditions are left out
with a note; the exit status is 2 if none is left."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    finished.add_named_runs(parser, "two folders or files of runs, A and B, or one with --models")
    add("--models", metavar="NAME", nargs=2, help="a model of A and one of B, or two of one folder")
    finished.add_tasks(parser)
    finished.add_metrics(parser)
    add(
        "--metric",
        metavar="METRIC",
        help="with --task: a metric of the harness, NAME or NAME,FILTER",
    )
    add(
        "--task",
        dest="any_tasks",
        metavar="TASK",
        action="append",
        default=[],
        help="any task with samples: compare the mean of --metric over documents",
    )
    add(
        "--cluster",
        metavar="COLUMN",
        help="with --task: the column with a document's cluster; default: one per document",
    )
    add("--groups", action="store_true", help="also compare numbers of groups, such as categories")
    add("--common", action="store_true", help="only the documents that both runs have")
    finished.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    finished.check_output(output)
    paths, across = [place.path for place in arguments.runs], arguments.across
    if len(paths) > 2:
        raise UsageError(f"expected two folders or files, found {len(paths)}")
    if len(paths) == 1 and not arguments.models:
        raise UsageError(
            f"two models are compared: give a second folder or file beside {paths[0]}, "
            "or --models NAME NAME"
        )
    known = catalogue.measured(arguments.include_path)
    made = _any_tasks(arguments, paths)
    known |= made
    tasks = [*(arguments.tasks or ()), *made] or None
    found = [runs.find([place], known, tasks, across) for place in arguments.runs]
    first, second = (
        runs.of_model(found[i].runs, name, "--models", f"each side ({paths[i]})")
        for i, name in zip((0, -1), arguments.models or (None, None), strict=True)
    )
    names = (first[0].model, second[0].model)
    if names[0] == names[1]:
        names = (f"{names[0]} ({paths[0]})", f"{names[1]} ({paths[-1]})")
    with finished.reader(found[0].answers, len(first) + len(second)) as answers:
        result = comparison.comparison(
            first,
            second,
            names,
            answers,
            arguments.metrics,
            arguments.groups,
            arguments.common,
            [note for side in found for note in side.notes]
            + [f"{name}: {task.about}" for name, task in made.items()],
            [*across, *found[0].across],
        )
    finished.show(shown.page(result), output, shown.summary(result))
    return 0 if result.pairs else NOTHING


def _any_tasks(arguments: argparse.Namespace, paths: Sequence[Path]) -> dict[str, catalogue.Task]:
    """Those of --task, by name."""
    metric, wanted = arguments.metric, arguments.any_tasks
    if bool(metric) != bool(wanted) or (arguments.cluster and not metric):
        raise UsageError("--metric METRIC and --task TASK go together, with or without --cluster")
    below = any_task.samples_below(paths) if wanted else {}
    for name in wanted:
        if name not in below:
            near = nearest(name, sorted(below), "" if below else "there are none at all")
            raise UsageError(f"--task {name}: it has no samples there (--log_samples); {near}")
    return {
        name: any_task.task_of(name, [metric], arguments.cluster, below[name]) for name in wanted
    }
