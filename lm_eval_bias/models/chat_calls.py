"""Calls to a chat server: side by side, paced, asked again, and within a budget."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import textwrap
from dataclasses import dataclass
from time import monotonic
from typing import Any

from lm_eval_bias.data.bounds import Json
from lm_eval_bias.usage import UsageError

from .replies import COST, FIRST_CHOICE, TOKENS_READ, TOKENS_WRITTEN

try:
    from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
except ModuleNotFoundError as error:
    raise UsageError(
        f"the package {error.name} is missing; run: pip install 'lm-eval[api]'"
    ) from error

logger = logging.getLogger(__name__)

KEY = "OPENAI_API_KEY"
AGAIN = frozenset({408, 409, 425, 429})
"""The statuses below 500 after which a request is sent again."""
LONGEST = 60.0
"""Seconds between two tries, if the server names no time."""


class Refused(UsageError):
    """The server will not answer this request. is_of_request: because of what it holds. reply: its
    whole text."""

    def __init__(self, text: str, status: int, reply: str) -> None:
        super().__init__(text)
        self.is_of_request, self.reply = status in (400, 422), reply


class Fault(Exception):
    """Another try may help. after: seconds that the server named."""

    def __init__(self, text: str, after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


@dataclass
class Server:
    """Answers calls inside `async with`. at_once: how many side by side. per_minute: the most
    requests and tokens; None: any. prices: dollars for a million tokens read and written. most:
    dollars. calls, tokens, cost: what calls took. The key, from the environment, is in no text."""

    url: str
    at_once: int
    tries: int
    timeout: float
    verify: bool
    per_minute: tuple[float | None, float | None]
    prices: tuple[float | None, float | None]
    most: float | None
    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0

    async def __aenter__(self) -> None:
        self._gate, self._free = asyncio.Semaphore(self.at_once), 0.0
        self._key = os.environ.get(KEY, "")
        headers = {"Authorization": f"Bearer {self._key}"}
        if ".azure." in self.url:
            headers = {"api-key": self._key}
        self._session = ClientSession(
            connector=TCPConnector(limit=self.at_once, ssl=self.verify),
            timeout=ClientTimeout(total=self.timeout),
            headers=headers if self._key else {},
        )

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def __call__(self, payload: Json) -> dict[str, Any]:
        """The reply. Raises Refused, and UsageError after the last try."""
        async with self._gate:
            for tried in range(self.tries):
                try:
                    reply = await self._once(payload)
                    break
                except Fault as fault:
                    last = fault
                logger.info("%s: %s", self.url, last)
                if tried + 1 < self.tries:
                    await asyncio.sleep(_pause(tried) if last.after is None else last.after)
            else:
                raise UsageError(
                    f"{self.url}: asked {self.tries} times in vain: {last}. With --use_cache the "
                    "same command goes on from here"
                )
        self._add(reply)
        return reply

    async def _once(self, payload: Json) -> dict[str, Any]:
        # about four characters are a token
        await self._turn(len(json.dumps(payload.get("messages"))) / 4)
        try:
            async with self._session.post(self.url, json=payload) as response:
                status, headers = response.status, response.headers
                text = (await response.read()).decode(errors="replace")
        except TimeoutError:
            raise Fault("no answer in time (timeout=SECONDS in --model_args)") from None
        except ClientError as error:  # its repr has the headers, and so the key
            raise Fault(self._brief(f"{type(error).__name__}: {error}")) from None
        if status in AGAIN or status >= 500:
            after = _seconds(headers.get("Retry-After"))
            self._free = max(self._free, monotonic() + (after or 0.0))
            raise Fault(f"status {status}: {self._brief(text)}", after)
        if status >= 400:
            raise Refused(f"{self.url}: status {status}: {self._brief(text)}", status, text)
        try:
            reply = json.loads(text)
        except ValueError:
            raise Fault(f"no whole JSON: {self._brief(text)}") from None
        if FIRST_CHOICE.read(reply) is None:
            raise Fault(f"no chat completion: {self._brief(text)}")
        return reply

    async def _turn(self, tokens: float) -> None:
        """Wait until the limits allow a request of so many tokens."""
        needs = [n * 60 / m for n, m in zip((1, tokens), self.per_minute, strict=True) if m]
        start = max(self._free, monotonic())
        self._free = start + max(needs, default=0.0)
        await asyncio.sleep(start - monotonic())

    def _brief(self, text: str) -> str:
        text = text.replace(self._key, "***") if self._key else text
        return textwrap.shorten(text, 300, placeholder=" ...")

    # ---- The budget

    def _add(self, reply: Json) -> None:
        counts = [field.read(reply) or 0 for field in (TOKENS_READ, TOKENS_WRITTEN)]
        self.calls += 1
        self.tokens += sum(counts)
        cost = COST.read(reply)
        if cost is None and any(counts) and None not in self.prices:
            cost = sum(n * (p or 0) for n, p in zip(counts, self.prices, strict=True)) / 1e6
        self.cost = None if cost is None or self.cost is None else self.cost + cost
        if self.cost is None and self.most is not None:
            raise UsageError(
                "max_cost in --model_args: the server names no cost of a call; add input_price and "
                "output_price, in dollars for a million tokens"
            )

    @property
    def is_over(self) -> bool:
        return self.most is not None and (self.cost or 0.0) >= self.most

    @property
    def spent(self) -> str:
        cost = f", ${self.cost:.4f}" if self.cost else ""
        return f"{self.calls:,} calls, {self.tokens:,} tokens{cost}"


def _pause(tried: int) -> float:
    """Seconds before the next try, at random, so that calls that failed together part."""
    return random.uniform(0, min(LONGEST, 2**tried))


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:  # absent, or a date
        return None
