"""What a person may set with `--metadata`, and how a mistake is told to them."""

import difflib
import re
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

Options = Mapping[str, Any]
"""Names and plain values, such as the options of a task."""
Check = Callable[[str, Any], Any]
"""(name of an option, value) -> the value; raises UsageError for a wrong one."""
# Keys of a task's `metadata` that are not options: written in the YAML, or added by the harness,
# such as a model's argument that is nearly one of our options ("reader"); and what changes no
# question.
DESCRIPTIVE = frozenset(
    ["version", "paper", "about", "config_source", "header", "anyway", "unused_chat_template"]
)
SHARD = "shard"
"""The option that all tasks take: "2/4" asks the second of four parts of the documents."""
WORDING, PAPER = "wording", "paper"
"""The option of tasks with `wordings` in their YAML, and the name of the wording that is theirs
without it: 1 and 2 are other ways to put the question, `all` asks each document in every one."""
# A name this near to one of our own options, and not the same, is a slip of the finger.
NEAR = 0.8


# In the name of a secret; tokenizer, max_tokens, think_end_token and add_bos_token are none.
_NAMES = "(?:(?<!think_end_)(?<!add_bos_)token(?!s|iz)|key|secret|password|header|auth|credential)"
_SECRET = re.compile(
    rf"""(\b\w*{_NAMES}\w*=|"[^"]*{_NAMES}[^"]*"\s*:\s*)"""
    r"""(?:\{[^}]*\}?|"(?:[^"\\]|\\.)*"?|[^,}]*)""",
    re.I | re.S,
)


def without_secrets(arguments: str) -> str:
    """Arguments, as NAME=VALUE,... or JSON, with "..." for keys, tokens and passwords."""
    return _SECRET.sub(r"\1...", arguments)


class UsageError(ValueError):
    """A mistake of the person at the keyboard. At the command line only its text is shown."""


def option_names(options: Any, wordings: Any = ()) -> list[str]:
    """What `--metadata` may set. options: a `TaskOptions` or None. wordings: those of the YAML."""
    return [*(options.declared() if options else ()), *[WORDING] * bool(wordings), SHARD]


def read_options(
    task: str, metadata: Options, options: Any, wordings: Sequence[Any] = ()
) -> dict[str, Any]:
    """The options of a task, out of the harness's metadata.

    metadata: `--metadata`, merged with the model's arguments and the task's own. Unknown keys are
    ignored. options: a `TaskOptions` or None. Raises UsageError for a wrong value, and for a key
    that is nearly one of the task's.
    """
    names = option_names(options, wordings)
    for key in metadata:
        if key in names or key in DESCRIPTIVE:
            continue
        for guess in difflib.get_close_matches(str(key), names, n=1, cutoff=NEAR):
            raise UsageError(
                f"unknown option '{key}' in --metadata: {task} takes "
                f"{' and '.join(names)}. Did you mean '{guess}'?"
            )
    try:
        part(metadata)
        requested_wordings(metadata, wordings)
        return options.read(metadata) if options else {}
    except UsageError as error:
        raise UsageError(f"{task}: {error}") from error


def part(metadata: Options) -> tuple[int, int]:
    """The number of the part that `SHARD` asks for, from 1, and how many there are. UsageError for
    what is no part."""
    value = metadata.get(SHARD, "1/1")
    match = re.fullmatch("([0-9]{1,4})/([0-9]{1,4})", value) if isinstance(value, str) else None
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise wrong(SHARD, value, "a part and the number of parts, at most 9999, such as 3/10")
    return int(match[1]), int(match[2])


def requested_wordings(metadata: Options, wordings: Sequence[Any]) -> list[str]:
    """The names of the wordings that `WORDING` asks for; none without it, or if the task has none.
    UsageError for an unknown one."""
    if not wordings or WORDING not in metadata:
        return []
    value, ours = metadata[WORDING], [str(i + 1) for i in range(len(wordings))]
    if value == "all":
        return [PAPER, *ours]
    if str(value) not in ours:
        raise wrong(WORDING, value, f"{', '.join(ours)} or all; without it the paper's is asked")
    return [str(value)]


def wrong(name: str, value: Any, expected: str) -> UsageError:
    return UsageError(f"{name}={reprlib.repr(value)} in --metadata: expected {expected}")


def expecting(expected: str, fits: Callable[[Any], bool]) -> Check:
    """A check that returns the value. expected: what an error says."""

    def check(name: str, value: Any) -> Any:
        if not fits(value):
            raise wrong(name, value, expected)
        return value

    return check


def choice(choices: Collection[str]) -> Check:
    expected = f"one of {', '.join(choices)}"
    return expecting(expected, lambda value: isinstance(value, str) and value in choices)


def whole_number(least: int, most: int, otherwise: str = "") -> Check:
    """otherwise: a text that is allowed, too."""
    other = f", or {otherwise}" if otherwise else ""
    return expecting(
        f"a whole number from {least} to {most}{other}",
        lambda value: value == otherwise != "" or (type(value) is int and least <= value <= most),
    )


def number(least: float, most: float) -> Check:
    return expecting(
        f"a number from {least:g} to {most:g}",
        lambda value: type(value) in (int, float) and least <= value <= most,
    )


flag = expecting("true or false", lambda value: isinstance(value, bool))
path = expecting("the path of a file", lambda value: value is None or isinstance(value, str))


def nearest(name: str, known: Collection[str], otherwise: str = "") -> str:
    """The end of a message: the known name that is most like theirs, or all of them. otherwise: in
    place of all."""
    guesses = difflib.get_close_matches(name, known, n=1)
    every = otherwise or f"expected one of {', '.join(known)}"
    return f"did you mean {guesses[0]}?" if guesses else every
