"""One connection to a policy server: opened with patience, and given up when it does not answer in time."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect

from assay.policies.remote.address import Address
from assay.policies.remote.errors import LostError, RemoteError, ReplyError, StalledError, UnreachableError

LARGEST_REPLY = 4 * 2**20
"""Bytes; a thousand actions are 56,000."""
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
"""Seconds between attempts to connect; each is twice the last."""
GOODBYE = 1.0
"""Seconds for a server to agree that a connection is over."""
UNAUTHORISED = (401, 403)
_TOO_BIG = 1009
_SILENT = logging.getLogger(f"{__name__}.websockets")
"""What goes wrong is raised, and need not be logged as well."""
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class Wire:
    """A connection, one request and one reply at a time. Whatever fails also closes it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._urls = address.urls("ws")
        self._connection: ClientConnection | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a connection that neither side has closed."""
        return self._connection is not None and self._connection.state is State.OPEN

    def open(self, turn: int = 0) -> None:
        """Connect anew, to the copy of the server whose ``turn`` it is; one that is not there is tried again, with
        growing pauses, and so are the other copies; one that refuses is not.

        Raises UnreachableError.
        """
        self.close()
        headers = self.address.access.headers(self.address.text)
        deadline = time.monotonic() + self.address.patience.connect
        delay = FIRST_DELAY
        copies, told = deque(self._urls), dict[str, str]()
        copies.rotate(-turn)
        while True:
            try:
                self._connection = self._attempt(
                    copies[0], headers, max(deadline - time.monotonic(), FIRST_DELAY)
                )
                return
            except InvalidStatus as error:
                status = error.response.status_code
                hint = (
                    ": it wants another key (?key=VARIABLE or ?bearer=VARIABLE)"
                    if status in UNAUTHORISED
                    else ""
                )
                reason, hopeless = f"answers HTTP {status}{hint}", status < 500
            except ssl.SSLError as error:
                reason, hopeless = f"cannot be trusted: {error.reason or error}", True
            except WebSocketException as error:
                reason, hopeless = f"is no websocket server: {error}", False
            except TimeoutError:
                reason, hopeless = "does not answer", False
            except Exception as error:  # OSErrors; UnicodeErrors for host names; what the library trips over
                reason, hopeless = (
                    getattr(error, "strerror", None) or f"cannot be talked to: {error!r}",
                    False,
                )
            told[copies[0].partition("://")[2]] = reason
            if len(self._urls) > 1:  # which of them, and what of each
                reason = ", ".join(f"{place}: {why}" for place, why in told.items())
            if hopeless:
                copies.popleft()
                if not copies:
                    raise UnreachableError(self.address.text, reason)
                continue
            copies.rotate(-1)
            if (left := deadline - time.monotonic()) <= 0:
                seconds = self.address.patience.connect
                raise UnreachableError(self.address.text, f"{reason}; tried for {seconds:g} s")
            time.sleep(min(delay, left))
            delay = min(2 * delay, LONGEST_DELAY)

    def send(self, message: bytes) -> None:
        """Send a message that needs no reply."""
        with self._in_time() as connection:
            connection.send(message)

    def receive(self) -> bytes | str:
        """The next message, text or binary, which the server sends of its own accord."""
        with self._in_time() as connection:
            return connection.recv()

    def ask(self, message: bytes) -> bytes | str:
        """Send a message; return the reply. What the server said unasked before that is an error."""
        with self._in_time() as connection:
            with contextlib.suppress(TimeoutError):
                unasked = connection.recv(timeout=0)
                if isinstance(unasked, str):
                    return unasked
                raise ReplyError(self.address.text, "the server spoke when nothing had been asked")
            connection.send(message)
            return connection.recv()

    def close(self) -> None:
        """Say goodbye, if there is somebody to say it to."""
        if self.is_open:
            with contextlib.suppress(RemoteError), self._in_time() as connection:
                connection.close()
        self._drop()

    def _attempt(self, url: str, headers: Mapping[str, str], seconds: float) -> ClientConnection:
        connection = connect(
            url,
            additional_headers=headers,
            open_timeout=min(seconds, self.address.patience.timeout),
            close_timeout=GOODBYE,
            ping_interval=None,  # a server that compiles its model can be deaf for minutes
            compression=None,
            max_size=LARGEST_REPLY,
            proxy=None,
            logger=_SILENT,
        )
        return connection.__enter__()  # it is left by closing it, here and in the library

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[ClientConnection]:
        """The connection, for as long as patience lasts; then it is cut, whatever it is in the middle of.

        A timer does that, because a server that does not read blocks a send for ever.
        """
        text, seconds = self.address.text, self.address.patience.timeout
        connection = self._connection
        if connection is None:
            raise LostError(text, "there is no connection")
        expired = threading.Event()
        timer = threading.Timer(seconds, _cut, (connection, expired))
        timer.daemon = True
        timer.start()
        try:
            yield connection
        except BaseException as error:
            self._drop()
            if expired.is_set() and isinstance(error, Exception):
                raise StalledError(text, f"no answer within {seconds:g} s") from None
            if isinstance(error, ConnectionClosed):
                if error.sent is not None and error.sent.code == _TOO_BIG:
                    raise ReplyError(text, f"a reply of more than {LARGEST_REPLY:,} bytes") from None
                raise LostError(text, f"the connection ended ({error})") from None
            if isinstance(error, Exception) and not isinstance(error, RemoteError):
                raise LostError(text, f"the connection broke ({error!r})") from error
            raise
        finally:
            timer.cancel()

    def _drop(self) -> None:
        """Forget the connection without a word."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _cut(connection)
            with contextlib.suppress(Exception):
                connection.close()


def _cut(connection: ClientConnection, expired: threading.Event | None = None) -> None:
    if expired is not None:
        expired.set()
    with contextlib.suppress(OSError):
        connection.socket.shutdown(socket.SHUT_RDWR)
