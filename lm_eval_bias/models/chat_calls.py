"""Calls to a chat server: side by side, paced, asked again, and within a budget."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import textwrap
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any

from lm_eval_bias.usage import UsageError

try:
    from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
    from tenacity import (
        AsyncRetrying,
        RetryCallState,
        before_sleep_log,
        retry_if_exception_type,
        stop_after_attempt,
        wait_random_exponential,
    )
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
        self.is_of_request = status in (400, 422)
        self._reply = reply

    def names(self, fields: Iterable[str]) -> bool:
        """Whether the server found fault with one of these fields."""
        return self.is_of_request and any(field in self._reply for field in fields)


class Fault(Exception):
    """Another try may help. after: seconds that the server named."""

    def __init__(self, text: str, after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


class Spending:
    """What calls took. prices: dollars for a million tokens read and written. most: dollars."""

    def __init__(self, prices: tuple[float | None, float | None], most: float | None) -> None:
        self.calls = self.tokens = 0
        self.cost: float | None = 0.0
        self._prices, self._most = prices, most

    def add(self, reply: Mapping[str, Any]) -> None:
        usage = reply.get("usage") or {}
        counts = [usage.get(name) or 0 for name in ("prompt_tokens", "completion_tokens")]
        self.calls += 1
        self.tokens += sum(counts)
        cost = usage.get("cost")
        if cost is None and any(counts) and None not in self._prices:
            cost = (
                sum(n * (price or 0) for n, price in zip(counts, self._prices, strict=True)) / 1e6
            )
        self.cost = None if cost is None or self.cost is None else self.cost + cost
        if self.cost is None and self._most is not None:
            raise UsageError(
                "max_cost in --model_args: the server names no cost of a call; add input_price and "
                "output_price, in dollars for a million tokens"
            )

    @property
    def is_over(self) -> bool:
        return self._most is not None and (self.cost or 0.0) >= self._most

    def __str__(self) -> str:
        cost = "" if not self.cost else f", ${self.cost:.4f}"
        return f"{self.calls:,} calls, {self.tokens:,} tokens{cost}"


class Caller:
    """Calls while it is open. at_once: how many side by side. per_minute: the most requests and
    tokens, None for any. The key, from the environment, is in no text."""

    def __init__(
        self,
        url: str,
        spending: Spending,
        *,
        at_once: int,
        tries: int,
        timeout: float,
        verify: bool,
        per_minute: tuple[float | None, float | None],
    ) -> None:
        self.url, self.spending = url, spending
        self._tries, self._per_minute = tries, per_minute
        self._gate = asyncio.Semaphore(at_once)
        self._free = 0.0
        self._key = os.environ.get(KEY, "")
        name = "api-key" if ".azure." in url else "Authorization"
        value = self._key if name == "api-key" else f"Bearer {self._key}"
        self._session = ClientSession(
            connector=TCPConnector(limit=at_once, ssl=verify),
            timeout=ClientTimeout(total=timeout),
            headers={name: value} if self._key else {},
        )

    async def __aenter__(self) -> Caller:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def __call__(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The reply. Raises Refused, and UsageError after the last try."""
        tries = AsyncRetrying(
            stop=stop_after_attempt(self._tries),
            retry=retry_if_exception_type(Fault),
            wait=_wait,
            before_sleep=before_sleep_log(logger, logging.INFO),
            reraise=True,
        )
        async with self._gate:
            try:
                reply: dict[str, Any] = await tries(self._once, payload)
            except Fault as fault:
                raise UsageError(
                    f"{self.url}: asked {self._tries} times in vain: {fault}. With --use_cache the "
                    "same command goes on from here"
                ) from None
        self.spending.add(reply)
        return reply

    async def _once(self, payload: Mapping[str, Any]) -> dict[str, Any]:
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
        if not isinstance(reply, dict) or not reply.get("choices"):
            raise Fault(f"no chat completion: {self._brief(text)}")
        return reply

    async def _turn(self, tokens: float) -> None:
        """Wait until the limits allow a request of so many tokens."""
        needs = [n * 60 / m for n, m in zip((1, tokens), self._per_minute, strict=True) if m]
        start = max(self._free, monotonic())
        self._free = start + max(needs, default=0.0)
        await asyncio.sleep(start - monotonic())

    def _brief(self, text: str) -> str:
        text = text.replace(self._key, "***") if self._key else text
        return textwrap.shorten(text, 300, placeholder=" ...")


_backoff = wait_random_exponential(multiplier=1, max=LONGEST)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    after = getattr(error, "after", None)
    return _backoff(state) if after is None else after


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:  # absent, or a date
        return None
