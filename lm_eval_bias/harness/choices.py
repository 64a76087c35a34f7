"""Choices that begin alike: the probability of each alone, without that of the longer ones that
begin with it.

A model that is going to write 85 gives all its probability to the continuation "8" too, if its
tokenizer splits numbers into digits, and none if 85 is one token. So which choices hold one another
is a question to the tokenizer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

logger = logging.getLogger(__name__)


def extensions(encoded: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each choice, which others are its next longer ones.

    encoded: the tokens of each choice, all behind the same prompt. A choice stands under the
    longest of those that its tokens begin with.
    """
    # choices of the same tokens are one event, which longer ones take from once each
    place: dict[tuple[int, ...], list[int]] = {}
    for i, tokens in enumerate(encoded):
        place.setdefault(tuple(tokens), []).append(i)
    longer: list[list[int]] = [[] for _ in encoded]
    for tokens, same in place.items():
        shorter = next(
            (
                place[tokens[:length]]
                for length in range(len(tokens) - 1, 0, -1)
                if tokens[:length] in place
            ),
            [],
        )
        for i in shorter:
            longer[i].append(same[0])
    return longer


class Nesting:
    """Which choices hold one another, behind a prompt, for one model; asked of its tokenizer once
    for each end of a prompt."""

    def __init__(self, lm: Any) -> None:
        self._encode_pair = getattr(lm, "_encode_pair", None)
        self._known: dict[tuple[str, tuple[str, ...]], list[list[int]]] = {}

    def __call__(self, prompt: str, choices: Sequence[str]) -> list[list[int]]:
        key = (prompt[-32:], tuple(choices))
        if key not in self._known:
            if self._encode_pair is None:
                logger.warning(
                    "The model has no tokenizer to ask which choices begin alike; each is taken as it is."
                )
                self._known[key] = [[] for _ in choices]
            else:
                pairs = [self._encode_pair(prompt, choice) for choice in choices]
                self._known[key] = extensions(
                    [[*context, *continuation] for context, continuation in pairs]
                )
        return self._known[key]
