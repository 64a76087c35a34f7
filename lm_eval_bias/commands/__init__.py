"""The subcommands of `lm-eval-bias`: each file has `add`, which declares its options, and what it
does."""

from __future__ import annotations

import argparse
import sys
import textwrap

from lm_eval_bias.usage import UsageError

WIDTH = 100
"""Columns of the help texts, fixed so that they can stand in the docs."""


def filled(description: str) -> str:
    """A description's paragraphs, filled but for indented lists."""
    return "\n\n".join(
        paragraph if "\n  " in paragraph else textwrap.fill(" ".join(paragraph.split()), WIDTH)
        for paragraph in description.split("\n\n")
    )


def formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, width=WIDTH)


def tell(error: UsageError) -> None:
    """Print a mistake. It may hold names out of files, so nothing in it may steer the terminal."""
    from lm_eval_bias.results.escape import visible

    print("\n".join(map(visible, str(error.code).split("\n"))), file=sys.stderr)
