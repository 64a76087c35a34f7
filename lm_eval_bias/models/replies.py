"""What a chat server's reply says: its fields, and which choices the likeliest tokens begin."""

from __future__ import annotations

import re
import reprlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, inf, log
from typing import Any, NamedTuple

from lm_eval_bias.data.bounds import Json, loads

ROUNDING = 1e-4
"""By how much the sum of probabilities may be wrong: 1e-5 in float32."""
SUM = 1.01
"""The most that the likeliest tokens have together: some servers round their probabilities."""


class Malformed(ValueError):
    """A reply with a value that it cannot have."""


class Field(NamedTuple):
    """A value of a reply: keys and places that lead to it, its type, and a number's range."""

    path: tuple[str | int, ...]
    kind: Any
    range: tuple[float, float] = (-inf, inf)

    def read(self, reply: Any) -> Any:
        """None if it is absent, null, of another type or out of range."""
        try:
            return self.checked(reply)
        except Malformed:
            return None

    def checked(self, reply: Any) -> Any:
        """None if it is absent or null. Raises Malformed."""
        try:
            for key in self.path:
                reply = reply[key]
        except (LookupError, TypeError):
            return None
        number, (least, most) = isinstance(reply, int | float), self.range
        fits = isinstance(reply, self.kind) and (not number or least <= reply <= most)
        if reply is not None and (not fits or isinstance(reply, bool)):
            raise Malformed(f"{'.'.join(map(str, self.path))} is {reprlib.repr(reply)}")
        return reply


NUMBER, COUNT = int | float, (0, 1e12)
MODEL = Field(("model",), str)
FIRST_CHOICE = Field(("choices", 0), dict)
TEXT, PART = Field(("choices", 0, "message", "content"), str | list), Field(("text",), str)
"""Some servers write an answer in parts, those of a thought without a text."""
THOUGHTS = [
    Field(("choices", 0, "message", name), str) for name in ("reasoning_content", "reasoning")
]
TOKENS_READ = Field(("usage", "prompt_tokens"), int, COUNT)
TOKENS_WRITTEN = Field(("usage", "completion_tokens"), int, COUNT)
COST = Field(("usage", "cost"), NUMBER, (0, 1e9))
POSITION = Field(("choices", 0, "logprobs", "content", 0), dict)
TOP = Field(("top_logprobs",), list)
TOP_OF_TOGETHER = Field(("choices", 0, "logprobs", "top_logprobs", 0), dict)
PROMPT = Field(("prompt_logprobs",), list)
"""vLLM's rows of the prompt: each maps the number of a token to what is known of it."""
TOKEN, BYTES = Field(("token",), str), Field(("bytes",), list)
LOG_P = Field(("logprob",), NUMBER, (-inf, ROUNDING))
OF_PROMPT = Field(("decoded_token",), str), LOG_P, Field(("rank",), int, (1, inf))


class Top(NamedTuple):
    """tokens: the bytes of each and its probability, likeliest first. all_known: whether the server
    gave each token's."""

    tokens: Sequence[tuple[bytes, float]]
    all_known: bool

    @classmethod
    def read(cls, reply: Json) -> Top | None:
        """Of the first position of a chat completion; None if the reply has no such list. Raises
        Malformed."""
        position = POSITION.checked(reply)
        rows = TOP.checked(position) or [
            {"token": token, "logprob": log_p}
            for token, log_p in (TOP_OF_TOGETHER.checked(reply) or {}).items()
        ]
        shown = [(_bytes(row), LOG_P.checked(row)) for row in rows]
        known = [(token, exp(log_p)) for token, log_p in shown if token and log_p is not None]
        # OpenAI writes -9999 for a very small one
        tokens = sorted((row for row in known if row[1] > 0), key=lambda row: -row[1])
        if len(tokens) > 1 and tokens[-1][0] == _bytes(position):
            tokens.pop()  # vLLM shows the answer's token also where others have more
        top = cls(tokens, len(known) == len(shown))
        if top.mass > SUM:
            raise Malformed(f"the probabilities of {len(tokens)} tokens add up to {top.mass:.4g}")
        return top if tokens else None

    @property
    def mass(self) -> float:
        return sum(p for _, p in self.tokens)

    @property
    def bound(self) -> float:
        """The most that an unseen choice has: the rest, and no more than the last token shown."""
        rest = max(1 - self.mass, 0) + ROUNDING
        return min(self.tokens[-1][1], rest) if self.all_known else rest


def _bytes(token: Any) -> bytes:
    numbers, text = BYTES.checked(token), TOKEN.checked(token) or ""
    try:
        # LMDeploy writes the blanks of a token as its vocabulary does
        return re.sub("Ġ|▁".encode(), b" ", bytes(numbers or text.encode()))
    except (TypeError, ValueError):  # not whole numbers from 0 to 255
        raise Malformed(f"bytes is {reprlib.repr(numbers)}") from None


class Reply(NamedTuple):
    """A chat completion. model: that answers. text, top: the answer and the likeliest tokens of its
    beginning. thought: kept apart from it. tokens_read, tokens_written, dollars: what it took,
    tokens 0 if unknown. prompt: `PROMPT`. None: the server does not say."""

    model: str | None
    text: str | None
    thought: str | None
    top: Top | None
    tokens_read: int
    tokens_written: int
    dollars: float | None
    prompt: Sequence[Any]

    @classmethod
    def read(cls, text: str) -> Reply:
        """Raises ValueError that says what is wrong, Malformed among them. What the answer takes
        counts as unsaid where it cannot be."""
        reply = loads(text)
        choice = FIRST_CHOICE.checked(reply)
        if not choice or choice.get("error"):  # OpenRouter's, of a model that broke off
            raise Malformed("no choices")
        answer = TEXT.checked(reply)
        if isinstance(answer, list):
            answer = "".join(PART.read(part) or "" for part in answer)
        return cls(
            MODEL.read(reply),
            answer,
            THOUGHTS[0].read(reply) or THOUGHTS[1].read(reply),
            Top.read(reply),
            TOKENS_READ.read(reply) or 0,
            TOKENS_WRITTEN.read(reply) or 0,
            COST.read(reply),
            PROMPT.read(reply) or (),
        )


class Beginning(NamedTuple):
    """A token that begins a part of a choice. text: as the server wrote it. size: bytes of the part
    that it covers. likeliest: no token has more."""

    text: bytes
    size: int
    probability: float
    likeliest: bool


def beginning(top: Top, part: bytes, first: bool, ignore_case: bool) -> Beginning | None:
    """The longest token that begins a part of a choice.

    Probabilities of spellings add up: with a blank at the `first` position, and other capitals if
    ignore_case. A token such as "a)" is the whole part "a".
    """
    wanted = part.lower() if ignore_case else part
    by_size = defaultdict(list)
    for text, probability in top.tokens:
        token = text.lstrip(b" ") if first else text
        token = token.lower() if ignore_case else token
        if token and (wanted.startswith(token) or _is_whole(token, wanted)):
            by_size[min(len(token), len(wanted))].append((text, probability))
    if not by_size:
        return None
    size, spellings = max(by_size.items())
    text = spellings[0][0]
    total = sum(probability for _, probability in spellings)
    return Beginning(text, size, total, text == top.tokens[0][0])


def _is_whole(token: bytes, part: bytes) -> bool:
    after = token[len(part) : len(part) + 1]
    return token.startswith(part) and not (after.isalnum() or after >= b"\x80")


class Begun(NamedTuple):
    """The beginning of an answer. tokens: as choices spell them. text: as the server wrote it.
    greedy: whether each token is the likeliest."""

    tokens: tuple[bytes, ...] = ()
    text: bytes = b""
    log_p: float = 0.0
    greedy: bool = True

    def then(self, token: Beginning, part: bytes) -> Begun:
        return Begun(
            (*self.tokens, part[: token.size]),
            self.text + token.text,
            self.log_p + log(token.probability),
            self.greedy and token.likeliest,
        )


def turn(reply: Reply, question: Reply) -> Begun:
    """An assistant's turn, as vLLM gives its tokens; empty if it does not. question: the reply to
    the messages without this turn."""
    tokens = [
        [field.read(token) for field in OF_PROMPT]
        for row in reply.prompt[question.tokens_read :]
        for token in (row.values() if isinstance(row, dict) else [None])  # one each
    ]
    if not tokens or any(None in token for token in tokens):
        return Begun()
    texts, values, ranks = zip(*tokens, strict=True)
    return Begun(tuple(map(str.encode, texts)), b"", sum(values), set(ranks) == {1})


def steps(choices: Iterable[str]) -> int:
    """The characters of all choices, those of shared beginnings once."""
    return len({choice[:end] for choice in choices for end in range(1, len(choice) + 1)})
