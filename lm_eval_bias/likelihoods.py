"""Log-likelihoods of answers -> probabilities. If one is NaN or infinite, there is no answer."""

from collections.abc import Sequence
from math import exp, inf
from typing import Any, NamedTuple

HIDDEN, THOUGHT, UNSEEN = "hidden", "thought", "unseen"
JOINT, SHARED = "joint", "shared tokens"


class Likelihood(NamedTuple):
    """An answer's log-likelihood in nats. An answer of which no more is known has the first two.

    greedy: whether it is the greedy continuation. tokens, prompt_tokens: their numbers, if known.
    shown: the probability of all tokens that a server showed. how: `SHARED` if only such tokens of
    a sentence are scored; of a server `UNSEEN` if none of these was the answer's, so this is the
    most that it can be, "first token" if the others were not asked, `HIDDEN` if no answer was
    shown, `THOUGHT` if a thought comes first.
    """

    value: float
    greedy: bool
    tokens: int | None = None
    prompt_tokens: int | None = None
    shown: float | None = None
    how: str = ""


class Thought(NamedTuple):
    """What a model wrote before its choices were scored. tokens: None if unknown, 0 without one.
    closed: whether it has an end."""

    text: str
    tokens: int | None
    closed: bool


def of_server(results: Any) -> list[Likelihood]:
    """Those that a server showed, in nested results."""
    if isinstance(results, Likelihood):
        return [results] * (results.shown is not None)
    parts = results if isinstance(results, list | tuple) else ()
    return [answer for part in parts for answer in of_server(part)]


def without_unseen(results: Any) -> Any:
    """Nested results in which unseen answers have no probability."""
    if isinstance(results, Likelihood):
        return results._replace(value=-inf) if results.how == UNSEEN else results
    return [*map(without_unseen, results)] if isinstance(results, list | tuple) else results


def usable(values: Sequence[float]) -> bool:
    """Whether answers can be compared: each number is below infinity, and one finite."""
    return all(value < inf for value in values) and any(value > -inf for value in values)


def probabilities(values: Sequence[float]) -> list[float] | None:
    """The probability of each answer among all of them; None if they are not `usable`."""
    if not usable(values):
        return None
    best = max(values)
    # Relative to the best one, since all of them may be too small for a float.
    weights = [exp(value - best) for value in values]
    total = sum(weights)
    return [weight / total for weight in weights]


def likeliest(values: Sequence[float]) -> int | None:
    """The index of the likeliest answer, the first of equals; None if they are not `usable`."""
    return values.index(max(values)) if usable(values) else None


def mass(values: Sequence[float]) -> float | None:
    """The probability of exclusive answers together; None if one is not a number."""
    return sum(map(exp, values)) if all(value < inf for value in values) else None


def prompt_tokens(results: Sequence[Any]) -> int | None:
    """The number of tokens of a prompt, if known."""
    return Likelihood(*results[0]).prompt_tokens if results else None


def lengths(results: Sequence[Any], choices: Sequence[str]) -> tuple[list[int], str]:
    """The length of each choice and their unit: "tokens", or "bytes" (UTF-8) if the number of
    tokens of one is unknown."""
    tokens = [count for answer in results if (count := Likelihood(*answer).tokens)]
    if len(tokens) == len(choices):
        return tokens, "tokens"
    return [len(choice.encode()) for choice in choices], "bytes"
