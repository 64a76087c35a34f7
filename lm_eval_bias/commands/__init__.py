"""The subcommands of `lm-eval-bias`: each file has `add`, which declares it, and what it does."""

from __future__ import annotations

import argparse
from typing import Any


def declare(commands: Any, name: str, help: str, description: str) -> argparse.ArgumentParser:
    """A subcommand's parser, formatted as all of them are."""
    return commands.add_parser(name, help=help, description=description, formatter_class=formatter)


def formatter(prog: str) -> argparse.HelpFormatter:
    """Of fixed width, so that the help texts are the same everywhere and can stand in the docs."""
    return argparse.RawDescriptionHelpFormatter(prog, width=100)
