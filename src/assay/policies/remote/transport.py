"""One transport for all policy servers: connect with retries, exchange messages within a time limit, close.

`Transport` connects to one of several copies of a server, with retries, time limits and one-line errors. Its
subclasses implement the connection: a websocket, an HTTP client or a ZeroMQ socket.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import httpx2
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect

from assay.errors import PolicyError
from assay.policies.remote.address import Address
from assay.policies.remote.codec import MAX_REPLY_BYTES

MAX_REASON_LENGTH = 240
"""Maximum number of characters of a server's error that a message quotes."""
FIRST_DELAY_S, MAX_DELAY_S = 0.1, 5.0
"""First and longest pause between connection attempts, in seconds; pauses double until they reach the longest."""
CLOSE_TIMEOUT_S = 1.0
_UNAUTHORISED = (401, 403)
_MESSAGE_TOO_BIG = 1009
MUTED = logging.getLogger(f"{__name__}.websockets")
"""Muted logger for websockets: failures are raised and need not be logged as well."""
MUTED.addHandler(logging.NullHandler())
MUTED.propagate = False


class RemoteError(PolicyError):
    """Raised when a policy server cannot be used. Transient errors may disappear once the server is available again."""

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        self.reason = " ".join(reason.split())[:MAX_REASON_LENGTH]
        super().__init__(f"{address}: {self.reason}")


class UnreachableError(RemoteError):
    """Raised when no policy server answers at the address."""

    transient = True


class StalledError(RemoteError):
    """Raised when a server does not answer in time."""

    transient = True


class LostError(RemoteError):
    """Raised when the connection has ended."""

    transient = True


class ServerError(RemoteError):
    """Raised when the server reports a failure."""


class ReplyError(RemoteError):
    """Raised when the reply is invalid."""


class ConnectError(Exception):
    """Raised when a connection attempt fails. ``final``: whether another attempt would fail as well."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


class Transport(ABC):
    """Connection to one of several copies of a server, for one request at a time; a failure closes it."""

    protocol: ClassVar[str] = ""
    """URL protocol: ``ws``, ``http`` or ``tcp``."""

    def __init__(self, address: Address) -> None:
        self.address = address
        scheme = f"{self.protocol}s" if address.options.tls else self.protocol
        self._urls = tuple(f"{scheme}://{place}" for place in address.places)
        self._connected = False
        self._reply_timeout = address.options.timeout
        """Time limit for one exchange, in seconds."""

    @property
    def is_open(self) -> bool:
        """Whether the connection is open on both sides, as far as the protocol can tell."""
        return self._connected

    @abstractmethod
    def _connect(self, url: str, seconds: float) -> None:
        """Connect to one copy of the server. Raises ConnectError."""

    @abstractmethod
    def _send(self, message: bytes, seconds: float) -> None:
        """Send a message. Raises TimeoutError or RemoteError."""

    @abstractmethod
    def _receive(self, seconds: float) -> bytes | str:
        """Receive the next message, either text or binary. Raises TimeoutError or RemoteError."""

    def _read_unsolicited(self) -> bytes | str | None:
        """Return a message that arrived without a request, or None."""
        return None

    @abstractmethod
    def _abort(self) -> None:
        """Release the connection immediately."""

    def open(self, turn: int = 0, hello: bytes | None = None) -> bytes | str:
        """Open a new connection to copy number ``turn`` of the server, or to the next copy that answers.

        A copy that does not answer is tried again, with increasing pauses; a copy that refuses the connection is not.
        With ``hello``, a server counts as reached once it has replied to this message; the reply is returned. Raises
        UnreachableError.
        """
        self.close()
        patience = self.address.options.connect
        deadline, delay = time.monotonic() + patience, FIRST_DELAY_S
        copies, untried = deque(self._urls), set(self._urls)
        copies.rotate(-turn)
        reasons: dict[str, str] = {}
        while True:
            url = copies[0]
            remaining = patience if url in untried else deadline - time.monotonic()
            untried.discard(url)
            try:
                reply = self._attempt(url, hello, max(remaining, FIRST_DELAY_S))
                self._connected = True
                return reply
            except ConnectError as error:
                reasons[url.partition("://")[2]] = reason = str(error)
                if len(self._urls) > 1:
                    reason = ", ".join(f"{place}: {why}" for place, why in reasons.items())
                if error.final:
                    copies.popleft()
                    if not copies:
                        raise UnreachableError(self.address.text, reason) from None
                    continue
            copies.rotate(-1)
            if (remaining := deadline - time.monotonic()) <= 0 and not untried:
                raise UnreachableError(self.address.text, f"{reason}; tried for {patience:g} s")
            time.sleep(max(min(delay, remaining), 0.0))
            delay = min(2 * delay, MAX_DELAY_S)

    def _attempt(self, url: str, hello: bytes | None, seconds: float) -> bytes | str:
        self._connect(url, min(seconds, self.address.options.timeout))
        if hello is None:
            return b""
        try:
            self._send(hello, seconds)
            return self._receive(seconds)
        except BaseException as error:
            self._abort()
            if isinstance(error, TimeoutError):
                raise ConnectError(f"no answer within {seconds:g} s") from None
            if isinstance(error, LostError):
                raise ConnectError(error.reason) from None
            raise

    def send(self, message: bytes) -> None:
        """Send a message that has no reply."""
        with self._exchange() as remaining:
            self._send(message, remaining())

    def receive(self) -> bytes | str:
        """Receive the next message, either text or binary, that the server sends without a request."""
        with self._exchange() as remaining:
            return self._receive(remaining())

    def ask(self, message: bytes) -> bytes | str:
        """Send a message and return the reply, or an earlier unsolicited text, which is a server's traceback."""
        with self._exchange() as remaining:
            unsolicited = self._read_unsolicited()
            if isinstance(unsolicited, str):
                return unsolicited
            if unsolicited is not None:
                raise ReplyError(self.address.text, "the server sent a message that was not requested")
            self._send(message, remaining())
            return self._receive(remaining())

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connected:
            self._connected = False
            with contextlib.suppress(Exception):
                self._abort()

    @contextlib.contextmanager
    def _exchange(self) -> Iterator[Callable[[], float]]:
        """Yield a function that returns the seconds left; any failure in the context closes the connection."""
        text, seconds = self.address.text, self._reply_timeout
        if not self._connected:
            raise LostError(text, "there is no connection")
        deadline = time.monotonic() + seconds
        try:
            yield lambda: max(deadline - time.monotonic(), 0.001)
        except BaseException as error:
            Transport.close(self)  # at once, without the handshake of a websocket
            if isinstance(error, TimeoutError):
                raise StalledError(text, f"no answer within {seconds:g} s") from None
            if isinstance(error, RemoteError) or not isinstance(error, Exception):
                raise
            raise LostError(text, f"the connection was lost ({error!r})") from error

    def _size_error(self) -> ReplyError:
        return ReplyError(self.address.text, f"the reply has more than {MAX_REPLY_BYTES:,} bytes")


@contextlib.contextmanager
def _limit(seconds: float, cut: Callable[[], None]) -> Iterator[None]:
    """Call ``cut``, which closes the connection, if the operation exceeds the time limit. Raises TimeoutError.

    The libraries limit only the time between two bytes, not the time spent sending to a server that does not read.
    """
    deadline = time.monotonic() + seconds
    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if time.monotonic() >= deadline:
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()


class WebsocketTransport(Transport):
    """A websocket connection."""

    protocol = "ws"
    _connection: ClientConnection

    def _connect(self, url: str, seconds: float) -> None:
        try:
            # Newer versions connect on entering the context; closing the connection leaves it.
            self._connection = connect(
                url,
                additional_headers=self.address.headers(),
                open_timeout=seconds,
                close_timeout=CLOSE_TIMEOUT_S,
                ping_interval=None,  # a server that compiles its model may not answer for minutes
                compression=None,
                max_size=MAX_REPLY_BYTES,
                proxy=None,
                logger=MUTED,
            ).__enter__()
        except PolicyError:
            raise
        except InvalidStatus as error:
            status = error.response.status_code
            hint = ": wrong or missing key (?key=VARIABLE or ?bearer=VARIABLE)"
            raise ConnectError(
                f"replied with HTTP {status}{hint if status in _UNAUTHORISED else ''}", final=status < 500
            ) from None
        except ssl.SSLError as error:
            raise ConnectError(f"has no trusted certificate: {error.reason or error}", final=True) from None
        except WebSocketException as error:
            raise ConnectError(f"is not a websocket server: {error}") from None
        except TimeoutError:
            raise ConnectError("does not answer") from None
        except Exception as error:  # OSErrors; UnicodeErrors for host names; bugs of the library
            raise ConnectError(getattr(error, "strerror", None) or f"cannot connect: {error!r}") from None

    @property
    def is_open(self) -> bool:
        """Whether the connection is open on both sides."""
        return self._connected and self._connection.state is State.OPEN

    def _send(self, message: bytes, seconds: float) -> None:
        with self._operation(seconds):
            self._connection.send(message)

    def _receive(self, seconds: float) -> bytes | str:
        with self._operation(seconds):
            return self._connection.recv()

    def _read_unsolicited(self) -> bytes | str | None:
        with self._operation(CLOSE_TIMEOUT_S):
            try:
                return self._connection.recv(timeout=0)
            except TimeoutError:
                return None

    def close(self) -> None:
        """Close the connection with a handshake."""
        if self._connected:
            with contextlib.suppress(Exception), self._operation(self.address.options.timeout):
                self._connection.close()
        super().close()

    def _abort(self) -> None:
        self._shut_down()
        with contextlib.suppress(Exception):
            self._connection.close()

    def _shut_down(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.socket.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _operation(self, seconds: float) -> Iterator[None]:
        """Limit the duration of an operation, and report it if the connection ends."""
        try:
            with _limit(seconds, self._shut_down):
                yield
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == _MESSAGE_TOO_BIG:
                raise self._size_error() from None
            raise LostError(self.address.text, f"the connection ended ({error})") from None


class HttpTransport(Transport):
    """JSON sent by POST to one URL; a message is not sent until its reply is requested."""

    protocol = "http"
    _client: httpx2.Client
    _url = ""
    _message = b""

    def _connect(self, url: str, seconds: float) -> None:
        self._url = url
        headers = {**self.address.headers(), "Content-Type": "application/json"}
        self._client = client = httpx2.Client(headers=headers, trust_env=False)
        try:
            with _limit(seconds, client.close), client.stream("GET", url, timeout=seconds):
                pass  # any answer shows that a server is there
        except (httpx2.HTTPError, TimeoutError) as error:
            self._abort()
            late = isinstance(error, httpx2.TimeoutException | TimeoutError)
            raise ConnectError("does not answer" if late else str(error) or type(error).__name__) from None

    def _send(self, message: bytes, seconds: float) -> None:
        self._message = message

    def _receive(self, seconds: float) -> bytes:
        body, client = bytearray(), self._client
        try:
            with (
                _limit(seconds, client.close),
                client.stream("POST", self._url, content=self._message, timeout=seconds) as reply,
            ):
                for part in reply.iter_bytes():
                    body += part
                    if len(body) > MAX_REPLY_BYTES:
                        raise self._size_error()
        except httpx2.TimeoutException:
            raise TimeoutError from None
        except httpx2.HTTPError as error:
            raise LostError(self.address.text, f"the connection was lost ({error})") from None
        if reply.status_code != httpx2.codes.OK:
            hint = ": wrong or missing key" if reply.status_code in _UNAUTHORISED else ""
            start = body[:200].decode(errors="replace")
            raise ServerError(self.address.text, f"the server failed: HTTP {reply.status_code}{hint} {start}")
        return bytes(body)

    def _abort(self) -> None:
        self._client.close()


class ZmqTransport(Transport):
    """A ZeroMQ REQ socket, which does not show whether the server exists; send a hello message to find out."""

    protocol = "tcp"
    _socket: Any

    def _connect(self, url: str, seconds: float) -> None:
        import zmq

        self._socket = zmq.Context.instance().socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_REPLY_BYTES)
        try:
            self._socket.connect(url)
        except zmq.ZMQError as error:
            self._abort()
            raise ConnectError(str(error), final=True) from None

    def _send(self, message: bytes, seconds: float) -> None:
        with self._operation(seconds):
            self._socket.send(message)

    def _receive(self, seconds: float) -> bytes:
        """Receive the reply, which ZeroMQ delivers only when it is complete."""
        with self._operation(seconds):
            parts = self._socket.recv_multipart()
        if len(parts) != 1:
            raise ReplyError(self.address.text, f"the reply has {len(parts)} parts; expected one")
        return bytes(parts[0])

    def _abort(self) -> None:
        self._socket.close(linger=0)

    @contextlib.contextmanager
    def _operation(self, seconds: float) -> Iterator[None]:
        import zmq

        try:
            for option in (zmq.SNDTIMEO, zmq.RCVTIMEO):
                self._socket.setsockopt(option, max(int(1000 * seconds), 1))
            yield
        except zmq.Again:
            raise TimeoutError from None
        except zmq.ZMQError as error:
            raise LostError(self.address.text, f"the connection was lost ({error})") from None
