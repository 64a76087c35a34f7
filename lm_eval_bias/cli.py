"""The command `lm-eval-bias`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from lm_eval_bias.commands import (
    check,
    compare,
    data,
    export,
    formatter,
    gate,
    items,
    leaderboard,
    merge,
    model,
    plan,
    reasons,
    report,
    tasks,
    tell,
)
from lm_eval_bias.usage import UsageError

COMMANDS = (
    tasks,
    check,
    data,
    items,
    model,
    merge,
    report,
    compare,
    leaderboard,
    plan,
    gate,
    export,
    reasons,
)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; its help texts stand in docs/cli.md."""
    top = argparse.ArgumentParser(
        prog="lm-eval-bias",
        description="Implicit social bias benchmarks for lm-evaluation-harness. The benchmarks "
        "themselves run with `lm_eval --tasks ...`.",
        formatter_class=formatter,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a console that knows no arrow shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        return arguments.run(arguments)
    except UsageError as error:
        tell(error)
        return 1
    except BrokenPipeError:  # `lm-eval-bias tasks | head`
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
