"""`lm-eval-bias leaderboard`: the models of finished runs beside each other, with intervals and the
ranks that these leave open."""

import argparse

from lm_eval_bias.commands import finished
from lm_eval_bias.results import leaderboard
from lm_eval_bias.show import leaderboard as shown

DESCRIPTION = """Print a row for each model of finished runs and a column for each primary
number: its 95 % interval and, if all models have samples (--log_samples), its possible ranks by
Holm's tests of all pairs on the same documents. If a model has several runs of a task, the newest
counts, unless an older one has more documents. Each condition has its own table."""


def add(parser: argparse.ArgumentParser) -> None:
    finished.add_named_runs(parser, "folders or files of results")
    finished.add_metrics(parser)
    finished.add_tasks(parser)
    finished.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    finished.check_output(output)
    finished_runs = finished.found(arguments)
    asked = sum(len(run.variants) for run in finished_runs.runs)
    with finished.reader(finished_runs.answers, asked) as answers:
        board = leaderboard.board(finished_runs, answers, arguments.metrics)
    finished.show(shown.page(board), output, shown.summary(board))
    return 0
