"""One request after the other to a policy server that speaks HTTP; given up when it does not answer in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import httpx2

from assay.policies.remote.address import Address
from assay.policies.remote.errors import LostError, ReplyError, ServerError, StalledError, UnreachableError
from assay.policies.remote.wire import FIRST_DELAY, LARGEST_REPLY, LONGEST_DELAY, UNAUTHORISED

T = TypeVar("T")


class Http:
    """A client of one URL. Whatever fails also closes it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._urls = address.urls("http")
        self._client: httpx2.Client | None = None
        self._url = self._urls[0]

    @property
    def is_open(self) -> bool:
        """Whether a server was found."""
        return self._client is not None

    def open(self, turn: int = 0) -> None:
        """Find the server: any answer will do. One that is not there is tried again, and so are its other copies.

        Raises UnreachableError.
        """
        self.close()
        headers = self.address.access.headers(self.address.text)
        patience = self.address.patience
        client = httpx2.Client(headers=headers, timeout=patience.timeout, trust_env=False)
        deadline = time.monotonic() + patience.connect
        delay = FIRST_DELAY
        while True:
            self._url = self._urls[turn % len(self._urls)]
            try:
                seconds = min(patience.timeout, max(deadline - time.monotonic(), FIRST_DELAY))
                _within(seconds, partial(self._greet, client, seconds))
                self._client = client
                return
            except httpx2.HTTPError as error:
                reason = str(error) or type(error).__name__
            except TimeoutError:
                reason = "does not answer"
            if (left := deadline - time.monotonic()) <= 0:
                client.close()
                raise UnreachableError(self.address.text, f"{reason}; tried for {patience.connect:g} s")
            time.sleep(min(delay, left))
            delay, turn = min(2 * delay, LONGEST_DELAY), turn + 1

    def ask(self, message: bytes) -> bytes:
        """Post JSON; return the body of the reply. The time is that of all of it, however slowly it drips."""
        text, seconds, client = self.address.text, self.address.patience.timeout, self._client
        if client is None:
            raise LostError(text, "there is no connection")
        try:
            status, body = _within(seconds, lambda: self._posted(client, message))
        except (TimeoutError, httpx2.TimeoutException):
            self.close()
            raise StalledError(text, f"no answer within {seconds:g} s") from None
        except httpx2.HTTPError as error:
            self.close()
            raise LostError(text, f"the connection broke ({error})") from None
        except ReplyError:
            self.close()
            raise
        if status != httpx2.codes.OK:
            self.close()
            hint = ": it wants another key" if status in UNAUTHORISED else ""
            said = bytes(body[:200]).decode(errors="replace")
            raise ServerError(text, f"the server failed: HTTP {status}{hint} {said}")
        return body

    def _posted(self, client: httpx2.Client, message: bytes) -> tuple[int, bytes]:
        """The status and the body of a reply."""
        body = bytearray()
        headers = {"Content-Type": "application/json"}
        with client.stream("POST", self._url, content=message, headers=headers) as reply:
            for part in reply.iter_bytes():
                body += part
                if len(body) > LARGEST_REPLY:
                    raise ReplyError(self.address.text, f"a reply of more than {LARGEST_REPLY:,} bytes")
            return reply.status_code, bytes(body)

    def _greet(self, client: httpx2.Client, seconds: float) -> None:
        """Have any answer; what it says does not matter."""
        with client.stream("GET", self._url, timeout=seconds):
            pass

    def close(self) -> None:
        """Let go of the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _within(seconds: float, ask: Callable[[], T]) -> T:
    """What ``ask`` gives or raises, if it does so in time; raises TimeoutError else.

    httpx limits the time between bytes alone. Whoever asks is left behind, and ends with the client's connection.
    """
    given: list[T] = []
    raised: list[BaseException] = []

    def asking() -> None:
        try:
            given.append(ask())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=asking, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not given:
        raise TimeoutError
    return given[0]
