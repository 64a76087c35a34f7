"""The subcommands of `lm-eval-bias`: each file has `DESCRIPTION`, for its help text, `add`, which
declares its options, and `run`."""

import argparse
import sys
import textwrap
from functools import partial

from lm_eval_bias.usage import UsageError

WIDTH = 100
"""Columns of the help texts, fixed so that they can stand in the docs."""


def filled(description: str) -> str:
    """A description's paragraphs, filled but for indented lists."""
    return "\n\n".join(
        paragraph
        if "\n  " in paragraph
        else textwrap.fill(" ".join(paragraph.split()), WIDTH, break_on_hyphens=False)
        for paragraph in description.split("\n\n")
    )


def examples(commands: str) -> str:
    """For the end of a help text: a command a line."""
    return "examples:\n" + textwrap.indent(commands, "  lm-eval-bias ")


formatter = partial(argparse.RawDescriptionHelpFormatter, width=WIDTH)


def tell(error: UsageError) -> None:
    """Print a mistake. It may hold names out of files, so nothing in it may steer the terminal."""
    from lm_eval_bias.results.escape import visible

    print("\n".join(map(visible, f"lm-eval-bias: {error}".split("\n"))), file=sys.stderr)
