"""Log-likelihoods of answers -> probabilities. NaN or plus infinity: there is no answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isnan, log, nan

Likelihood = tuple[float, bool]
"""A log-likelihood, and whether the answer is the greedy continuation."""


def usable(values: Sequence[float]) -> bool:
    """Whether these log-likelihoods can be compared: all below plus infinity and numbers, one
    finite."""
    return all(value < inf for value in values) and any(value > -inf for value in values)


def probabilities(values: Sequence[float]) -> list[float] | None:
    """The probability of each answer among all; None if they are not `usable`."""
    if not usable(values):
        return None
    best = max(values)
    # Relative to the best one, since all of them may be too small for a float.
    weights = [exp(value - best) for value in values]
    total = sum(weights)
    return [weight / total for weight in weights]


def likeliest(values: Sequence[float]) -> int | None:
    """The index of the likeliest answer, the first of equals; None if they are not `usable`."""
    return max(range(len(values)), key=lambda i: values[i]) if usable(values) else None


def mass(values: Sequence[float]) -> float | None:
    """The probability of all answers together, which exclude one another; None if one is no
    number."""
    return sum(map(exp, values)) if all(value < inf for value in values) else None


def apart(likelihoods: Sequence[Likelihood], longer: Sequence[Sequence[int]]) -> list[Likelihood]:
    """The likelihoods of choices as events that exclude one another.

    longer: for each choice its next longer ones, whose probability is taken from its own. Minus
    infinity where nothing remains, NaN where one is no number. A choice is greedy only if no longer
    one is.
    """
    result = []
    for (value, greedy), others in zip(likelihoods, longer, strict=True):
        if others and value != -inf:
            rest = 1 - sum(exp(min(likelihoods[i][0] - value, 700.0)) for i in others)
            value = nan if isnan(rest) else value + log(rest) if rest > 0 else -inf
        result.append((value, greedy and not any(likelihoods[i][1] for i in others)))
    return result
