"""The command `lm-eval-bias`."""

import argparse
import errno
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper

from lm_eval_bias import __version__
from lm_eval_bias.commands import examples, filled, formatter, tell
from lm_eval_bias.usage import UsageError, nearest

COMMANDS = {
    "tasks": ("list the tasks, or describe a task or a number", "tasks\ntasks hbb"),
    "check": (
        "check files of items or groups of your own",
        "check groups.yaml --for mist_wabt\ncheck items.tsv groups.yaml --for bistereo_pairs",
    ),
    "data": ("fetch the data that authors released", "data fetch\ndata fetch hbb"),
    "items": (
        "generate new items with a model",
        "items hbb --from stereotypes.csv --out items.jsonl --model hf --model_args "
        "pretrained=MODEL\nitems hbb --from rows.csv --out items.jsonl --model "
        "openai-chat-completions --model_args model=NAME",
    ),
    "model": ("make a small real model to try things with", "model .model\nmodel models/small"),
    "merge": (
        "merge the samples of several runs of a task",
        "merge hbb first/samples_hbb_*.jsonl second/samples_hbb_*.jsonl\n"
        "merge hbb shards/*/samples_hbb_*.jsonl --output hbb.json",
    ),
    "report": (
        "web pages of finished runs: answers, the papers' tables and figures",
        "report results\nreport results --tasks hbb --output report_hbb --brief",
    ),
    "compare": (
        "compare two models, or two versions of one",
        "compare results/before results/after\n"
        "compare results --models org/base org/tuned --output change.html",
    ),
    "leaderboard": (
        "rank models by finished runs",
        "leaderboard results\n"
        "leaderboard base=results/a tuned=results/b --tasks hbb --output board.html",
    ),
    "plan": (
        "find the number of documents for an interval of a given width",
        "plan --pilot results --width 5\nplan --pilot results --tasks hbb --width bias_score=4",
    ),
    "gate": (
        "check finished runs against rules, for CI",
        "gate results --init --rules bias.yaml\n"
        "gate results --rules bias.yaml --baseline older --junit bias.xml",
    ),
    "export": (
        "convert numbers of finished runs to third-party formats",
        "export results --to hub --dataset_id org/bench --model org/model\n"
        "export results --to every-eval-ever --output eee",
    ),
    "reasons": (
        "print key phrases of a model's reasons for its ratings",
        "reasons results/*/samples_stereomap_structure_*.jsonl\n"
        "reasons results/*/samples_stereomap_extended_*.jsonl --diversity",
    ),
}
"""Help and two examples of each command, which is the module of its name in `commands`, imported
only where it runs."""

UNPRINTED = 74
"""The exit status where standard output is closed or full: no verdict of a command has it."""
# What a file that can be read never answers.
_UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def parser(options_of: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The parser of the command line, with the options of some commands."""
    top = argparse.ArgumentParser(
        prog="lm-eval-bias",
        description=filled(
            "Implicit social bias benchmarks for lm-evaluation-harness. The benchmarks themselves "
            "run with `lm_eval --tasks ...`."
        ),
        epilog=examples("tasks\nreport results"),
        formatter_class=formatter,
    )
    top.add_argument("--version", action="store_true", help="show the versions and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, (help_text, epilog) in COMMANDS.items():
        command = commands.add_parser(
            name, help=help_text, epilog=examples(epilog), formatter_class=formatter
        )
        if name in options_of:
            module = import_module(f"lm_eval_bias.commands.{name}")
            command.description = filled(module.DESCRIPTION)
            module.add(command)
            command.set_defaults(run=module.run)
    return top


def run(argv: Sequence[str]) -> int:
    top = parser(argv[:1])
    arguments = top.parse_args(argv)
    if arguments.version:
        from importlib.metadata import version

        print(f"lm-eval-bias {__version__}, lm_eval {version('lm_eval')}")
        return 0
    if arguments.command is None:
        top.error(f"no command; {nearest('', COMMANDS)}")
    return arguments.run(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a console that knows no arrow shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.stdout is None:
            raise BrokenPipeError(errno.EPIPE, "it is closed")
        try:
            return run(argv)
        finally:
            sys.stdout.flush()
    except UsageError as error:
        tell(error)
        return 1
    except MemoryError:
        tell(UsageError("out of memory: raise its limit, such as that of `ulimit -v`"))
        return 1
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        with suppress(OSError, AttributeError):
            sys.stdout.close()  # or Python tries once more at its end
        if not isinstance(error, BrokenPipeError) or sys.stdout is None:  # but `| head`
            tell(UsageError(f"cannot write to standard output: {error.strerror}"))
        return UNPRINTED
