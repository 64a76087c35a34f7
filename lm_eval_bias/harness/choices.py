"""Find choices whose tokens begin with another choice's tokens.

The continuation "8" includes the probability of "85" if the tokenizer splits numbers into digits.
"""

import logging
from collections.abc import Sequence
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


class Nesting:
    """`extensions` for one model, cached by the end of the prompt."""

    def __init__(self, lm: Any) -> None:
        self._encode_pair = getattr(lm, "_encode_pair", None)
        self._known: dict[tuple[str, tuple[str, ...]], list[list[int]]] = {}

    def __call__(self, prompt: str, choices: Sequence[str]) -> list[list[int]]:
        key = (prompt[-32:], tuple(choices))
        if key not in self._known:
            if self._encode_pair is None:
                logger.warning(
                    "The model has no tokenizer to find choices that begin with others; "
                    "likelihoods are not corrected for them."
                )
                self._known[key] = [[] for _ in choices]
            else:
                pairs = [self._encode_pair(prompt, choice) for choice in choices]
                self._known[key] = extensions([[*head, *tail] for head, tail in pairs])
        return self._known[key]
