"""The likeliest tokens that a server shows at a position -> which choices they begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import Any, NamedTuple

NOT_A_VALUE = -9999.0
"""What OpenAI writes in place of a very small log-probability."""
ROUNDING = 1e-4
"""By how much the sum of probabilities may be wrong: 1e-5 in float32."""


class Top(NamedTuple):
    """tokens: the bytes of each and its probability, likeliest first. all_known: whether the server
    gave each token's."""

    tokens: Sequence[tuple[bytes, float]]
    all_known: bool = True

    @classmethod
    def of(cls, reply: Mapping[str, Any]) -> Top | None:
        """Of the first position of a chat completion; None if the reply has no such list."""
        try:
            logprobs, drawn = reply["choices"][0]["logprobs"], None
            if "content" in logprobs:
                first = logprobs["content"][0]
                shown = [(_bytes(token), token.get("logprob")) for token in first["top_logprobs"]]
                drawn = _bytes(first) if "token" in first else None
            else:  # Together
                shown = [(t.encode(), value) for t, value in logprobs["top_logprobs"][0].items()]
            known = [(token, value) for token, value in shown if value is not None]
            tokens = [(token, exp(value)) for token, value in known if value > NOT_A_VALUE]
        except (LookupError, TypeError, AttributeError):
            return None
        tokens.sort(key=lambda token: -token[1])
        if len(tokens) > 1 and tokens[-1][0] == drawn:
            tokens.pop()  # vLLM shows the answer's token also where others have more
        return cls(tokens, len(known) == len(shown)) if tokens else None

    @property
    def mass(self) -> float:
        return sum(p for _, p in self.tokens)

    @property
    def bound(self) -> float:
        """The most that an unseen choice has: the rest, and no more than the last token shown."""
        rest = max(1 - self.mass, 0) + ROUNDING
        return min(self.tokens[-1][1], rest) if self.all_known else rest


def _bytes(token: Mapping[str, Any]) -> bytes:
    return bytes(token["bytes"]) if token.get("bytes") else token["token"].encode()


class Beginning(NamedTuple):
    """A token that begins a part of a choice. text: as the server wrote it. size: bytes of the part
    that it covers; whole: all. likeliest: no token has more."""

    text: bytes
    size: int
    probability: float
    whole: bool
    likeliest: bool


def beginnings(
    top: Top, parts: Iterable[bytes], first: bool, ignore_case: bool
) -> dict[bytes, Beginning]:
    """The longest token that begins each part of a choice, where there is one.

    Probabilities of spellings add up: with a blank at the `first` position, and other capitals if
    ignore_case. A token such as "a)" is the whole part "a".
    """
    spelled = []
    for text, probability in top.tokens:
        token = text.lstrip(b" ") if first else text
        if token:
            spelled.append((token.lower() if ignore_case else token, text, probability))
    found: dict[bytes, Beginning] = {}
    for part in parts:
        wanted = part.lower() if ignore_case else part
        begin: dict[int, list[tuple[bytes, float]]] = {}
        for token, text, probability in spelled:
            if wanted.startswith(token) or _is_whole(token, wanted):
                size = min(len(token), len(wanted))
                begin.setdefault(size, []).append((text, probability))
        if begin:
            size = max(begin)
            text = begin[size][0][0]
            probability = sum(p for _, p in begin[size])
            likeliest = text == top.tokens[0][0]
            found[part] = Beginning(text, size, probability, size == len(part), likeliest)
    return found


class Written(NamedTuple):
    """A token of a turn that was asked with the question."""

    text: bytes
    log_p: float
    likeliest: bool


def turn(reply: Mapping[str, Any], question: Mapping[str, Any]) -> list[Written]:
    """The tokens of an assistant's turn, as vLLM gives them; empty if it does not. question: the
    reply to the messages without this turn."""
    try:
        rows = reply["prompt_logprobs"][prompt_tokens(question) :]
        tokens = [token for row in rows for token in row.values()]  # one each
        return [
            Written(t["decoded_token"].encode(), float(t["logprob"]), t["rank"] == 1)
            for t in tokens
        ]
    except (LookupError, TypeError, AttributeError):
        return []


def prompt_tokens(reply: Mapping[str, Any]) -> int:
    return int((reply.get("usage") or {}).get("prompt_tokens") or 0)


def _is_whole(token: bytes, part: bytes) -> bool:
    after = token[len(part) : len(part) + 1]
    return token.startswith(part) and not (after.isalnum() or after >= b"\x80")


def steps(choices: Iterable[str]) -> int:
    """The characters of all choices, those of shared beginnings once."""
    return len({choice[:end] for choice in choices for end in range(1, len(choice) + 1)})
