"""What a person may set with `--metadata`, and how a mistake is told to them."""

import difflib
import inspect
import re
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

Options = Mapping[str, Any]
"""Names and plain values, such as the options of a task."""
# Keys of a task's `metadata` that are not options: written in the YAML, or added by the harness,
# such as a model's argument that is nearly one of our options ("reader").
DESCRIPTIVE = frozenset({"version", "paper", "about", "config_source", "header"})
SHARD = "shard"
"""The option that all tasks take: "2/4" asks the second of four parts of the documents."""
WORDING, PAPER = "wording", "paper"
"""The option of tasks with `wordings` in their YAML, and the name of the wording that is theirs
without it: 1 and 2 are other ways to put the question, `all` asks each document in every one."""
# A name this near to one of our own options, and not the same, is a slip of the finger.
NEAR = 0.8


class UsageError(ValueError):
    """A mistake of the person at the keyboard. At the command line only its text is shown."""


def read_options(
    task: str,
    metadata: Options,
    options: Callable[..., Options] | None,
    wordings: Sequence[Any] = (),
) -> dict[str, Any]:
    """The options of a task, out of the metadata that the harness hands over.

    metadata: `--metadata`, merged with the model's arguments and the task's own. An unknown key is
    somebody else's, unless it is nearly one of this task's. options: checks its parameters, and
    returns them all. Raises UsageError, which names the task, for a wrong value and for a near
    miss.
    """
    known = list(inspect.signature(options).parameters) if options else []
    names = [*known, *[WORDING] * bool(wordings), SHARD]
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
        asked_in(metadata, wordings)
        return (
            dict(options(**{key: metadata[key] for key in known if key in metadata}))
            if options
            else {}
        )
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


def asked_in(metadata: Options, wordings: Sequence[Any]) -> list[str]:
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
    """The error for an option's value."""
    return UsageError(f"{name}={reprlib.repr(value)} in --metadata: expected {expected}")


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """`value`, if it is one of the choices; UsageError else. name: of the option."""
    if not isinstance(value, str) or value not in choices:
        raise wrong(name, value, f"one of {', '.join(choices)}")
    return value


def whole_number(name: str, value: Any, least: int, most: int, otherwise: str = "") -> int:
    """`value`, if it is a whole number within the bounds; UsageError else. otherwise: what else is
    allowed.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        other = f", or {otherwise}" if otherwise else ""
        raise wrong(name, value, f"a whole number from {least} to {most}{other}")
    return value


def number(name: str, value: Any, least: float, most: float) -> float:
    """`value` as a float, if it is a number within the bounds; UsageError else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise wrong(name, value, f"a number from {least:g} to {most:g}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """`value`, if it is true or false; UsageError else."""
    if not isinstance(value, bool):
        raise wrong(name, value, "true or false")
    return value


def nearest(name: str, known: Collection[str]) -> str:
    """The end of a message: the known name that is most like theirs, or all of them."""
    guesses = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {guesses[0]}?" if guesses else f"expected one of {', '.join(known)}"
