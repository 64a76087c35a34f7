"""The subcommands of `lm-eval-bias`: each file has `DESCRIPTION`, for its help text, `add`, which
declares its options, and `run`."""

import argparse
import sys
import textwrap
from functools import partial
from typing import NoReturn

from lm_eval_bias.usage import UsageError, nearest

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


class Parser(argparse.ArgumentParser):
    """A mistyped command, option or choice is answered with the nearest there is."""

    def parse_known_args(self, args, namespace=None):  # type: ignore[no-untyped-def, override]
        self.words = args
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        known = self._option_string_actions
        for word in self.words if "invalid choice" not in message else ():
            option = word.partition("=")[0]
            if option.startswith("--") and not any(name.startswith(option) for name in known):
                message = f"no option {option!r}; {nearest(option, known)}"
        super().error(message)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            guess = nearest(str(value), list(action.choices))
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {guess}")


formatter = partial(argparse.RawDescriptionHelpFormatter, width=WIDTH)


def tell(error: UsageError) -> None:
    """Print a mistake. It may hold names out of files, so nothing in it may steer the terminal."""
    from lm_eval_bias.results.escape import visible

    print("\n".join(map(visible, f"lm-eval-bias: {error}".split("\n"))), file=sys.stderr)
