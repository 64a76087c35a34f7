"""The command `lm-eval-bias`."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper

from lm_eval_bias.commands import formatter, tell
from lm_eval_bias.usage import UsageError

COMMANDS = {
    "tasks": "list the tasks, or describe a task or a number",
    "check": "check files of items or groups of your own",
    "data": "fetch or list the data that authors released",
    "items": "write new items with a model, and review them",
    "model": "make a small real model to try things with",
    "merge": "put the samples of several runs of a task together",
    "report": "pages with the papers' tables and figures, from finished runs",
    "compare": "two models, or one before and after, on the same questions",
    "leaderboard": "models beside each other, from finished runs",
    "history": "numbers of a model over time, and which left their limits",
    "plan": "how many documents make an interval as narrow as you want",
    "gate": "judge finished runs by rules: a verdict for a pipeline",
    "export": "convert numbers of finished runs to third-party formats",
    "reasons": "key phrases of the reasons that a model gives for its ratings",
}
"""Each is the module of its name in `commands`, which is imported only where it runs."""

UNPRINTED = 74
"""The exit status where standard output is closed or full: no verdict of a command has it."""
# What a file that can be read never answers.
_UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def parser(options_of: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The parser of the command line, with the options of some commands. Its help texts stand in
    docs/reference/cli.md.
    """
    top = argparse.ArgumentParser(
        prog="lm-eval-bias",
        description="Implicit social bias benchmarks for lm-evaluation-harness. The benchmarks "
        "themselves run with `lm_eval --tasks ...`.",
        formatter_class=formatter,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, help in COMMANDS.items():
        command = commands.add_parser(name, help=help, formatter_class=formatter)
        if name in options_of:
            import_module(f"lm_eval_bias.commands.{name}").add(command)
    return top


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
            arguments = parser(argv[:1]).parse_args(argv)
            return arguments.run(arguments)
        finally:
            sys.stdout.flush()
    except UsageError as error:
        tell(error)
        return 1
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        with suppress(OSError, AttributeError):
            sys.stdout.close()  # or Python tries once more at its end
        if not isinstance(error, BrokenPipeError) or sys.stdout is None:  # but `| head`
            tell(UsageError(f"cannot write to standard output: {error.strerror}"))
        return UNPRINTED


if __name__ == "__main__":
    sys.exit(main())
