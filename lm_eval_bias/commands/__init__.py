"""The subcommands of `lm-eval-bias`: each file has `add`, which declares it, and what it does."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lm_eval_bias.usage import UsageError


def declare(commands: Any, name: str, help: str, description: str) -> argparse.ArgumentParser:
    """A subcommand's parser, formatted as all of them are."""
    return commands.add_parser(name, help=help, description=description, formatter_class=formatter)


def formatter(prog: str) -> argparse.HelpFormatter:
    """Of fixed width, so that the help texts are the same everywhere and can stand in the docs."""
    return argparse.RawDescriptionHelpFormatter(prog, width=100)


def tell(error: UsageError) -> None:
    """Print what was wrong. Names out of files stand in it, so nothing of it may steer the
    terminal."""
    from lm_eval_bias.results.escape import visible

    print("\n".join(map(visible, error.code.split("\n"))), file=sys.stderr)
