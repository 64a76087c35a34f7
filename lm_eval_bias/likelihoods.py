"""Log-likelihoods of answers -> probabilities. If one is NaN or infinite, there is no answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import exp, inf, nan
from typing import Any

logger = logging.getLogger(__name__)

HIDDEN, THOUGHT = "hidden", "thought"
Likelihood = tuple[float, bool]
"""A log-likelihood, and whether the answer is the greedy continuation."""


# A float: the harness and its cache hand on pairs of a number and a truth value alone.
class Read(float):
    """A log-likelihood from the likeliest tokens that a server showed.

    shown: the probability of all of them. how: "unseen" if none was the answer's, so this is the
    most that it can be; "first token" if the others were not asked; HIDDEN if no answer was shown;
    THOUGHT if a thought comes first; or "".
    """

    shown: float
    how: str

    def __new__(cls, value: float, shown: float = nan, how: str = "") -> Read:
        read = super().__new__(cls, value)
        read.shown, read.how = shown, how
        return read

    @classmethod
    def all_in(cls, results: Any) -> list[Read]:
        """Those in nested results."""
        if isinstance(results, (list, tuple)):
            return [read for part in results for read in cls.all_in(part)]
        return [results] if isinstance(results, cls) else []

    @classmethod
    def without_unseen(cls, results: Any) -> Any:
        """Nested results in which unseen answers have no probability."""
        if isinstance(results, (list, tuple)):
            return [cls.without_unseen(part) for part in results]
        if not isinstance(results, cls):
            return results
        return -inf if results.how == "unseen" else results


# A text: the harness writes it to the samples as one, and its cache keeps what it carries.
class Thought(str):
    """What a model wrote before its choices were scored. tokens: of the thought, None if unknown, 0
    without one. closed: whether that has an end."""

    tokens: int | None
    closed: bool


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
    """The number of tokens of a prompt, if known. results: of `loglikelihood_and_tokens`."""
    return results[0][3] if results and len(results[0]) > 3 else None


def lengths(results: Sequence[Any], choices: Sequence[str]) -> tuple[list[int], str]:
    """The length of each choice and their unit: "tokens", or "bytes" (UTF-8) if the number of
    tokens of one is unknown. results: of `loglikelihood_and_tokens`."""
    tokens = [count for _, _, count, *_ in results if count]
    if len(tokens) == len(choices):
        return tokens, "tokens"
    return [len(choice.encode()) for choice in choices], "bytes"


def warn_of_bytes(units: Any) -> None:
    """Warn if some records' units of `lengths` are bytes: their scores compare less well."""
    if by_bytes := (units == "bytes").sum():
        logger.warning(
            "The model gives no numbers of tokens for %d of %d documents; scores are per UTF-8 "
            "byte there.",
            by_bytes,
            len(units),
        )
