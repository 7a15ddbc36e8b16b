"""Requests to an endpoint, with an on-disk cache and a ledger of requests and tokens.

Everything is bounded: the size and duration of a reply, and the number and rate of attempts. Replies are cached by a
hash of the request as soon as they arrive, so that no reply is paid for twice after a run is killed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self

import httpx2

from assay.support.files import KeyValues
from assay.support.llm.protocols import (
    PROTOCOLS,
    Endpoint,
    LLMError,
    ModelPrompt,
    NonsenseError,
    RefusedError,
    Reply,
    UnansweredError,
)
from assay.support.peers import describe_redirect, mask_key


@dataclass(slots=True)
class Ledger:
    """Counts of requests, replies and tokens in one run."""

    requests: int = 0
    """Number of requests sent, including retries."""
    retries: int = 0
    """Number of retries."""
    cached: int = 0
    """Number of replies from the cache."""
    prompt_tokens: int = 0
    """Number of tokens sent, as counted by the endpoint."""
    answer_tokens: int = 0
    """Number of tokens received, as counted by the endpoint."""
    uncounted: int = 0
    """Number of replies for which the endpoint did not report token counts."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of invalid replies, or invalid lines of replies, by reason."""

    def drop(self, reason: str, count: int = 1) -> None:
        """Count invalid replies or invalid lines of replies."""
        if count:
            self.dropped[reason] += count

    def summary(self) -> str:
        """Describe the requests and tokens in one line."""
        uncounted = f"; {self.uncounted:,} replies without a token count" if self.uncounted else ""
        return (
            f"{self.requests:,} requests ({self.retries:,} retries), {self.cached:,} cached replies; "
            f"{self.prompt_tokens:,} input tokens, {self.answer_tokens:,} output tokens{uncounted}"
        )


class Cache:
    """A cache of replies in one SQLite file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._replies = KeyValues(file, "replies", ("key",), ("text", "cut_off"))
            self._about = KeyValues(file, "about", ("key",), ("told",))
        except (sqlite3.Error, OSError) as error:
            raise LLMError(
                f"{file} is not a cache of answers ({error}); delete the file, or choose another one"
            ) from None

    def get(self, request: Mapping[str, object]) -> Reply | None:
        """Return the reply to a request, or None if it is not cached."""
        with self._mark_used():
            key = key_of(request)
            row, about = self._replies.get(key), self._about.get(key)
        if row is None:
            return None
        return Reply(row[0], bool(row[1]), **(json.loads(about[0]) if about else {}))

    def put(self, request: Mapping[str, object], reply: Reply) -> None:
        """Store a reply."""
        with self._mark_used():
            key, about = key_of(request), asdict(reply)
            row = about.pop("text"), about.pop("cut_off")
            self._about.put(key, json.dumps(about, ensure_ascii=False))
            self._replies.put(key, *row)

    def close(self) -> None:
        """Close the file."""
        self._replies.close()
        self._about.close()

    @contextmanager
    def _mark_used(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LLMError(f"the cache of answers {self._file} cannot be used: {error}") from None


def key_of(request: Mapping[str, object]) -> str:
    """Return the hash of a request as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


MOST_BYTES = 1_000_000
"""Maximum size of a reply, in bytes."""
LONGEST_WAIT = 60.0
"""Maximum delay between two attempts, in seconds, even if the endpoint requests a longer one."""
LONGEST_HELD = 600.0
"""Seconds for which responses with status 429 may delay a request before the attempt counts as failed."""
_TOO_MANY = 429
_BLOCKING = (400, 422, 451)
_BLOCKED = re.compile(
    r"content[ _-]?(policy|filter|management)|responsible ?ai|safety (system|settings)|moderation", re.I
)
"""Pattern of responses to requests that are rejected because of their content."""
_FORM = re.compile(
    r"\b(unknown|unrecogni[sz]ed|unsupported|unexpected|invalid|extra) (\w+ )?"
    r"(parameter|argument|field|key|property|name|input)s?\b",
    re.I,
)
"""Pattern of messages about a malformed request, whichever field it names: ``unknown parameter moderation``."""
_PASSING = (408, 425, 429)
"""Temporary HTTP statuses, in addition to 500 and above."""


class Client:
    """A client that sends requests, caches replies, and counts both."""

    def __init__(
        self,
        endpoint: Endpoint,
        cache: Cache,
        ledger: Ledger,
        on_wait: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """``on_wait`` is called with the delay in seconds whenever a rate limit delays all requests."""
        self._endpoint, self._cache, self._ledger, self._on_wait = endpoint, cache, ledger, on_wait
        timeout = httpx2.Timeout(endpoint.timeout, connect=10.0)
        self._http = httpx2.AsyncClient(headers=endpoint.headers, timeout=timeout)
        self._url = endpoint.address
        self._places = asyncio.Semaphore(endpoint.at_once)
        self._next = 0.0

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._http.__aexit__(*error)

    async def ask(self, prompt: ModelPrompt, round: int = 0) -> Reply | None:
        """Return the result of `reply`, or None for an invalid reply, which is counted."""
        try:
            return await self.reply(prompt, round)
        except NonsenseError as error:
            self._ledger.drop(f"answer: {error}")
            return None

    async def reply(self, prompt: ModelPrompt, round: int = 0) -> Reply:
        """Return the reply to a prompt, from the cache if possible; each round has its own cached replies.

        Raises RefusedError, UnansweredError, or, if all of the endpoint's replies are invalid, NonsenseError. Failed
        requests are not cached.
        """
        question = {"url": self._url, "round": round} | self._endpoint.body(prompt, lambda image: image.name)
        cached_reply = self._cache.get(question)
        if cached_reply is not None:
            self._ledger.cached += 1
            return cached_reply
        async with self._places:
            reply = await self._request(
                self._endpoint.body(prompt, lambda image: b64encode(image.path.read_bytes()).decode())
            )
        self._cache.put(question, reply)
        return reply

    async def _request(self, request: dict[str, object]) -> Reply:
        clock = asyncio.get_running_loop().time
        wait, attempts, held_since = self._endpoint.first_wait, 0, None
        while True:
            await self._turn()
            self._ledger.requests += 1
            self._ledger.retries += attempts > 0 or held_since is not None
            try:
                return await self._send(request)
            except _BlockedError as error:
                return Reply("", False, blocked=str(error), at=_now())
            except _TroubleError as error:
                trouble = error
            pause = min(LONGEST_WAIT, wait if trouble.wait is None else trouble.wait)
            wait = min(LONGEST_WAIT, 2 * wait)
            if trouble.too_many:
                held_since = clock() if held_since is None else held_since
                if clock() + pause - held_since <= LONGEST_HELD:
                    # A rate limit holds for the whole endpoint, so all requests wait, not only this one.
                    seconds = max(pause, self._endpoint.first_wait)
                    if clock() + seconds > self._next:
                        self._on_wait(seconds)
                        self._next = clock() + seconds
                    continue
            attempts += 1
            if attempts >= self._endpoint.attempts:
                break
            await asyncio.sleep(pause)
        if trouble.nonsense:
            raise NonsenseError(str(trouble))
        raise UnansweredError(
            f"{self._url}: {trouble} (attempts: {attempts}); replies so far are cached, "
            "so run the same command again later"
        )

    async def _send(self, request: dict[str, object]) -> Reply:
        """Send a request once, count its tokens, and return the reply."""
        data = bytearray()
        try:
            async with (
                asyncio.timeout(self._endpoint.timeout),
                self._http.stream("POST", self._url, json=request) as response,
            ):
                async for chunk in response.aiter_raw():
                    data += chunk
                    if len(data) > MOST_BYTES:
                        raise _TroubleError(f"the reply has more than {MOST_BYTES:,} bytes", nonsense=True)
        except (TimeoutError, httpx2.TimeoutException):
            raise _TroubleError(f"no answer within {self._endpoint.timeout:g} s") from None
        except httpx2.HTTPError as error:
            raise _TroubleError(self._report(str(error) or type(error).__name__)) from None
        if response.has_redirect_location:
            reason = self._report(describe_redirect(response.headers["Location"]))
            raise RefusedError(f"{self._url} {reason}", response.status_code)
        if response.status_code == 200:
            return self._parse(bytes(data))
        report = f"status {response.status_code}: {self._report(data.decode('utf-8', 'replace'))}".rstrip(
            ": "
        )
        if response.status_code in _PASSING or response.status_code >= 500:
            wait = _seconds(response.headers.get("Retry-After"))
            raise _TroubleError(report, wait=wait, too_many=response.status_code == _TOO_MANY)
        if response.status_code in _BLOCKING and _BLOCKED.search(report) and not _FORM.search(report):
            raise _BlockedError(report)
        raise RefusedError(f"{self._url} rejected the request: {report}", response.status_code)

    def _parse(self, data: bytes) -> Reply:
        try:
            content: Any = json.loads(data)
            reply = PROTOCOLS[self._endpoint.protocol].read(content)
            text, thoughts = (
                mask_key(
                    part.encode("utf-8", "replace").decode(), self._endpoint.key
                )  # half a pair is no text
                for part in (reply.text, reply.thoughts)
            )
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise _TroubleError("the reply is not a chat completion", nonsense=True) from None
        reply = replace(reply, text=text, thoughts=thoughts, blocked=self._report(reply.blocked), at=_now())
        sent, received = reply.sent, reply.received
        if isinstance(sent, int) and isinstance(received, int) and 0 <= min(sent, received) <= 10**7:
            self._ledger.prompt_tokens += sent
            self._ledger.answer_tokens += received
            return reply
        self._ledger.uncounted += 1
        return replace(reply, sent=None, received=None)

    async def _turn(self) -> None:
        """Wait for the next slot in a sequence of evenly spaced requests."""
        now = asyncio.get_running_loop().time()
        place = max(now, self._next)
        self._next = place + 60.0 / self._endpoint.per_minute
        await asyncio.sleep(place - now)

    def _report(self, text: str) -> str:
        """Return an endpoint's message on one line, shortened and without the key."""
        text = mask_key(text, self._endpoint.key)[:1000]
        return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:200]


class _BlockedError(Exception):
    """Raised when a request is rejected because of its content."""


class _TroubleError(Exception):
    """Raised when an attempt fails and may be repeated."""

    def __init__(
        self, reason: str, *, nonsense: bool = False, wait: float | None = None, too_many: bool = False
    ) -> None:
        super().__init__(reason)
        self.nonsense, self.wait, self.too_many = nonsense, wait, too_many


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _seconds(header: str | None) -> float | None:
    """Return the delay in seconds that a Retry-After header (a number or a date) requests; None if invalid."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            left = parsedate_to_datetime(header) - datetime.now(UTC)
        except (ValueError, TypeError):  # no date, or one without a zone
            return None
        seconds = max(0.0, left.total_seconds())
    return seconds if 0.0 <= seconds < float("inf") else None
