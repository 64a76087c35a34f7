"""`lm-eval-bias history`: numbers of a model over time."""

import argparse

from lm_eval_bias import writing
from lm_eval_bias.commands import filled, finished
from lm_eval_bias.report import history
from lm_eval_bias.results import runs, table
from lm_eval_bias.usage import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = filled(
        "The primary numbers of a model over time, with intervals: what changed from one point to "
        "the next (model, items, version, template), and which points left the limits of a control "
        "chart. Each RUNS is one point: a folder that lm_eval wrote, or a baseline that "
        "`lm-eval-bias gate --save` wrote."
    )
    finished.add_runs(parser)
    finished.add_tasks(parser)
    finished.add_output(parser, history.WRITERS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    finished.check_output(output, history.WRITERS)
    known = finished.known_tasks(arguments.include_path)
    found = [runs.find([path], known, arguments.tasks) for path in arguments.runs]
    for path, of in zip(arguments.runs, found, strict=True):
        if len({one.key for one in of.runs}) > 1:
            raise UsageError(f"{path} has several models; a point is one model at one time")
    lines = history.history([one for of in found for one in of.runs])
    if output:
        writing.whole(output, history.WRITERS[output.suffix](lines))
        print(f"{history.summary(lines)}\nwrote {output}")
        return 0
    width = finished.width()
    blocks = [[of.title, table.text(of, width)] for of in history.tables(lines)]
    print(finished.printed([*blocks, [history.summary(lines)]], {}, history.LEGEND, width))
    return 0
