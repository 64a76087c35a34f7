"""Find choices whose tokens begin with another choice's tokens.

The continuation "8" includes the probability of "85" if the tokenizer splits numbers into digits.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

logger = logging.getLogger(__name__)


def extensions(encoded: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each choice, the indices of its next longer ones.

    encoded: the tokens of each choice after the same prompt. A choice belongs to the longest one
    that it extends.
    """
    places: dict[tuple[int, ...], list[int]] = {}
    for i, tokens in enumerate(encoded):
        places.setdefault(tuple(tokens), []).append(i)
    longer: list[list[int]] = [[] for _ in encoded]
    for tokens, same in places.items():
        heads = (tokens[:length] for length in range(len(tokens) - 1, 0, -1))
        shorter = next((places[head] for head in heads if head in places), [])
        for i in shorter:
            longer[i].append(same[0])
    return longer


def by_end_of_prompt(function: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """A function of a prompt and what follows it, whose values depend on the prompt's end and are
    kept."""
    known: dict[Any, Any] = {}

    def kept(prompt: str, rest: Any) -> Any:
        key = prompt[-32:], rest
        if key not in known:
            known[key] = function(prompt, rest)
        return known[key]

    return kept


def nesting(lm: Any) -> Callable[[str, Sequence[str]], list[list[int]]]:
    """`extensions` for one model."""
    encode_pair = getattr(lm, "_encode_pair", None)

    @by_end_of_prompt
    def longer(prompt: str, choices: Sequence[str]) -> list[list[int]]:
        if encode_pair is None:
            logger.warning(
                "The model has no tokenizer to find choices that begin with others; "
                "likelihoods are not corrected for them."
            )
            return [[] for _ in choices]
        pairs = [encode_pair(prompt, choice) for choice in choices]
        return extensions([[*head, *tail] for head, tail in pairs])

    return lambda prompt, choices: longer(prompt, tuple(choices))
