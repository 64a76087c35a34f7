"""Log-likelihoods of two answers -> a probability."""

from __future__ import annotations

from math import exp, isfinite


def probability(a: float, b: float) -> float | None:
    """exp(a) / (exp(a) + exp(b)): the probability of the first of two answers among the two.

    None if a log-likelihood is not a number or infinite, or if both are minus infinity: then there is no answer.
    """
    usable = a < float("inf") and b < float("inf") and (isfinite(a) or isfinite(b))
    return 1 / (1 + exp(max(min(b - a, 700.0), -700.0))) if usable else None
