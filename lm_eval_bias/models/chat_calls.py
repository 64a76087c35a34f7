"""Calls to a chat server: side by side, paced, asked again, and within a budget."""

import asyncio
import json
import logging
import os
import random
import re
import textwrap
import zlib
from asyncio import sleep
from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any
from urllib.parse import urlsplit

import tenacity  # noqa: F401 (what the harness's class asks for only when it is made)
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector

from lm_eval_bias.data.bounds import Json
from lm_eval_bias.usage import UsageError

from .replies import Reply

logger = logging.getLogger(__name__)

KEY = "OPENAI_API_KEY"
AGAIN = frozenset({408, 409, 425, 429})
"""The statuses below 500 after which a request is sent again."""
LONGEST = 60.0
"""Seconds between two tries, if the server names no time."""
LARGEST = 16 * 2**20
"""Bytes of a reply, uncompressed. With the likelihoods of a prompt of 10,000 tokens it has two
megabytes."""
SPENT = "what calls took"
"""The key in the harness's cache of what calls took, in all runs with it."""
GOES_ON = "With --use_cache the same command goes on from here"


class Refused(UsageError):
    """The server will not answer this request. is_of_request: because of what it holds. reply: its
    whole text."""

    def __init__(self, text: str, status: int, reply: str):
        super().__init__(text)
        self.is_of_request, self.reply = status in (400, 422), reply


class Fault(Exception):
    """Another try may help. after: seconds that the server named."""

    def __init__(self, text: str, after: float = 0.0):
        super().__init__(text)
        self.after = after


class Spent(UsageError):
    """A call was not sent, since it may cost more than is left of the budget."""


@dataclass
class Server:
    """Answers calls inside `async with`. at_once: how many side by side. timeout, longest_wait:
    seconds for a whole reply, and those that a server may ask to wait. per_minute: the most
    requests and tokens; None: any. prices: dollars for a million tokens read and written. most:
    dollars. used, earlier: what this run took, and others with its cache, the `ledger`: calls,
    failed_calls beside them, unpriced_calls among them, tokens, dollars. The key, from the
    environment, is in no text."""

    url: str
    at_once: int
    tries: int
    timeout: float
    longest_wait: float
    verify: bool
    per_minute: tuple[float | None, float | None]
    prices: tuple[float | None, float | None]
    most: float | None
    used: Any = field(default_factory=Counter)
    earlier: Any = field(default_factory=Counter)
    ledger: MutableMapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._key, host = os.environ.get(KEY, ""), _host(self.url)
        self._rate, self._under_way = 0.0, 0  # dollars a byte; bytes of calls without a reply
        if not (self._key.isascii() and self._key.isprintable()) or " " in self._key:
            raise UsageError(f"{KEY}: a key has no blank, no line break and no letter like ä")
        self._headers = {"Accept-Encoding": "gzip"}
        if self._key and re.search(r"\.azure\.(com|us|cn)$", host):
            self._headers["api-key"] = self._key
        elif self._key:
            self._headers["Authorization"] = f"Bearer {self._key}"

    def keep_in(self, cache: MutableMapping[str, Any]) -> None:
        """Add up what calls take over all runs with a cache."""
        self.ledger, self.earlier = cache, Counter(cache.get(SPENT, {}))
        if self.earlier["unpriced_calls"]:
            self.earlier["dollars"] = self._price(self.earlier) or 0

    async def __aenter__(self) -> None:
        self._gate, self._free = asyncio.Semaphore(self.at_once), 0.0
        self._session = ClientSession(
            connector=TCPConnector(limit=self.at_once, ssl=self.verify),
            timeout=ClientTimeout(total=self.timeout),
            headers=self._headers,
            auto_decompress=False,
        )

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def __call__(self, payload: Json) -> Reply:
        """The reply. Raises Refused, Spent, and UsageError after the last try."""
        size = len(json.dumps(payload))
        async with self._gate:
            with self._within_budget(size):
                reply = await self._in_some_try(payload)
                self._add(reply, size)
        return reply

    async def _in_some_try(self, payload: Json) -> Reply:
        for tried in range(self.tries):
            try:
                return await self._once(payload)
            except Fault as fault:
                last = fault
            self.used["failed_calls"] += 1
            logger.info("%s: %s", self.url, last)
            if last.after > self.longest_wait:
                raise UsageError(
                    f"{self.url}: {last}; it asks to wait for {last.after:,.0f} seconds, more "
                    f"than longest_wait={self.longest_wait:g} in --model_args. {GOES_ON}"
                )
            if tried + 1 < self.tries:
                await sleep(max(_pause(tried), last.after))
        raise UsageError(f"{self.url}: asked {self.tries} times in vain: {last}. {GOES_ON}")

    async def _once(self, payload: Json) -> Reply:
        # about four characters are a token
        await self._turn(len(json.dumps(payload.get("messages"))) / 4)
        call = self._session.post(self.url, json=payload, allow_redirects=False)
        try:
            async with call as response:
                status, headers, text = response.status, response.headers, await _text(response)
        except TimeoutError:
            raise Fault("no whole answer in time (timeout=SECONDS in --model_args)") from None
        except (ClientError, zlib.error) as error:  # its repr has the headers, and so the key
            raise Fault(self._brief(f"{type(error).__name__}: {error}")) from None
        if status in AGAIN or status >= 500:
            after = _seconds(headers.get("Retry-After", ""))
            self._free = max(self._free, monotonic() + min(after, self.longest_wait))
            raise Fault(f"status {status}: {self._brief(text)}", after)
        if 300 <= status < 400:
            place = headers.get("Location")
            text = f"it sends to {place}, where your key does not go; if you trust it, name it"
        if status >= 300:
            raise Refused(f"{self.url}: status {status}: {self._brief(text)}", status, text)
        try:
            return Reply.read(text)
        except ValueError as error:
            raise Fault(f"no chat completion: {self._brief(f'{error}: {text}')}") from None

    async def _turn(self, tokens: float) -> None:
        """Wait until the limits allow a request of so many tokens."""
        needs = [n * 60 / m for n, m in zip((1, tokens), self.per_minute, strict=True) if m]
        start = max(self._free, monotonic())
        self._free = start + max(needs, default=0.0)
        await sleep(start - monotonic())

    def _brief(self, text: str) -> str:
        text = text.replace(self._key, "***") if self._key else text
        return textwrap.shorten(text[:3000], 300, placeholder=" ...")

    # ---- The budget

    @contextmanager
    def _within_budget(self, size: int) -> Iterator[None]:
        """Reserve what a call of so many bytes may cost: by the dearest of this run for its bytes,
        and no less than the mean of others. Raises Spent."""
        spent = self.used["dollars"] + self.earlier["dollars"]
        mean = self.earlier["dollars"] / max(self.earlier["calls"], 1)
        reserved = max((self._under_way + size) * self._rate, mean)
        after = round(spent + reserved, 6)
        if self.most is not None and (spent >= self.most or after > self.most):
            raise Spent(f"max_cost is reached ({self.spent})")
        self._under_way += size
        try:
            yield
        finally:
            self._under_way -= size

    def _add(self, reply: Reply, size: int) -> None:
        took = Counter(calls=1, tokens_read=reply.tokens_read, tokens_written=reply.tokens_written)
        dollars = self._price(took) if reply.dollars is None else reply.dollars
        if dollars is None and self.most is not None:
            raise UsageError(
                "max_cost in --model_args: the server names no cost of a call; add input_price and "
                "output_price, in dollars for a million tokens"
            )
        self._rate = max(self._rate, (dollars or 0) / size)
        self.used.update(took, dollars=dollars or 0, unpriced_calls=dollars is None)
        self.ledger[SPENT] = dict(self.used + self.earlier)

    def _price(self, took: Any) -> float | None:
        """In dollars; None if unknown."""
        tokens = took["tokens_read"], took["tokens_written"]
        if None in self.prices or not any(tokens):
            return None
        return sum(n * (p or 0) for n, p in zip(tokens, self.prices, strict=True)) / 1e6

    @property
    def spent(self) -> str:
        more = f"; earlier runs with this cache: {_shown(self.earlier)}" if self.earlier else ""
        return f"{_shown(self.used)}{more}"


def _shown(used: Any) -> str:
    dollars = f", ${used['dollars']:.4f}" if used["dollars"] else ""
    return (
        f"{used['calls']:,} calls, {used['tokens_read'] + used['tokens_written']:,} tokens{dollars}"
    )


def _host(url: str) -> str:
    """Of an address; UsageError for one that is none, or that holds a secret."""
    try:
        address = urlsplit(url)
        host = address.hostname if address.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not host:
        raise UsageError(f"base_url in --model_args: {url!r} is no address of a server")
    if "@" in address.netloc:
        raise UsageError(
            "base_url in --model_args holds a name or a password, which would stand in the "
            f"results; put the key into the environment variable {KEY}"
        )
    return host


async def _text(response: ClientResponse) -> str:
    """Raises Fault for more than LARGEST."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            break
    content = b"".join(parts)
    if response.headers.get("Content-Encoding", "").lower() in ("gzip", "deflate"):
        content = zlib.decompressobj(47).decompress(content, LARGEST + 1)
    if len(content) > LARGEST:
        raise Fault(f"an answer of more than {LARGEST >> 20} MB")
    return content.decode(errors="replace")


def _pause(tried: int) -> float:
    """Seconds before the next try, at random, so that calls that failed together part."""
    return random.uniform(0, min(LONGEST, 2**tried))


def _seconds(retry_after: str) -> float:
    """0 if it is neither a number nor a date."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    except ValueError:
        return 0.0
