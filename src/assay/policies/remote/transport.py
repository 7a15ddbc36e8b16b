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
from urllib.parse import urlsplit

import httpx2
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect

from assay.errors import PolicyError
from assay.policies.remote.address import Address
from assay.policies.remote.codec import MAX_REPLY_BYTES
from assay.support.peers import describe_redirect

MAX_REASON_LENGTH = 240
"""Maximum number of characters of a server's error that a message quotes."""
FIRST_DELAY_S, MAX_DELAY_S = 0.1, 5.0
"""First and longest pause between connection attempts, in seconds; pauses double until they reach the longest."""
CLOSE_TIMEOUT_S = 1.0
MAX_PARTS = 4096
"""Maximum number of fragments of a websocket message."""
_UNAUTHORISED = (401, 403)
_REDIRECTING = range(300, 400)
_MESSAGE_TOO_BIG = 1009
MUTED = logging.getLogger(f"{__name__}.websockets")
"""Muted logger for websockets: failures are raised and need not be logged as well."""
MUTED.addHandler(logging.NullHandler())
MUTED.propagate = False


class RemoteError(PolicyError):
    """Raised when a policy server cannot be used. Transient errors may disappear once the server is available again."""

    def __init__(self, address: Address, reason: str) -> None:
        # The reason may quote the server, which may repeat the key; a shortened key could not be recognised.
        self.reason = " ".join(address.mask(reason).split())[:MAX_REASON_LENGTH]
        super().__init__(f"{address.text}: {self.reason}")


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
                        raise UnreachableError(self.address, reason) from None
                    continue
            copies.rotate(-1)
            if (remaining := deadline - time.monotonic()) <= 0 and not untried:
                raise UnreachableError(self.address, f"{reason}; tried for {patience:g} s")
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
                raise ReplyError(self.address, "the server sent a message that was not requested")
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
        seconds = self._reply_timeout
        if not self._connected:
            raise LostError(self.address, "there is no connection")
        deadline = time.monotonic() + seconds
        try:
            yield lambda: max(deadline - time.monotonic(), 0.001)
        except BaseException as error:
            Transport.close(self)  # at once, without the handshake of a websocket
            if isinstance(error, TimeoutError):
                raise StalledError(self.address, f"no answer within {seconds:g} s") from None
            if isinstance(error, RemoteError) or not isinstance(error, Exception):
                raise
            raise LostError(self.address, f"the connection was lost ({error!r})") from error

    def _size_error(self) -> ReplyError:
        return ReplyError(self.address, f"the reply has more than {MAX_REPLY_BYTES:,} bytes")


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


class _Connection(ClientConnection):
    """A websocket connection that follows no redirects: they are reported before `connect` handles them."""

    def handshake(self, *options: Any, **named: Any) -> None:
        """Perform the opening handshake. Raises ConnectError if the server replies with an HTTP status."""
        try:
            super().handshake(*options, **named)
        except InvalidStatus as error:
            status, headers = error.response.status_code, error.response.headers
            reason = f"replied with HTTP {status}"
            if status in _REDIRECTING and "Location" in headers:
                reason = describe_redirect(headers["Location"])
            elif status in _UNAUTHORISED:
                reason += ": wrong or missing key (?key=VARIABLE or ?bearer=VARIABLE)"
            raise ConnectError(reason, final=status < 500) from None


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
                create_connection=_Connection,
            ).__enter__()
        except (PolicyError, ConnectError):
            raise
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
            parts: list[
                Any
            ] = []  # all text or all bytes; they may be empty, so that their sizes are no limit
            for part in self._connection.recv_streaming():
                parts.append(part)
                if len(parts) > MAX_PARTS:
                    raise ReplyError(self.address, f"the reply has more than {MAX_PARTS:,} parts")
            whole: bytes | str = parts[0][:0].join(parts)
            return whole

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
            raise LostError(self.address, f"the connection ended ({error})") from None


class HttpTransport(Transport):
    """JSON sent by POST to one URL; a message is not sent until its reply is requested."""

    protocol = "http"
    _client: httpx2.Client
    _url = ""
    _message = b""

    def _connect(self, url: str, seconds: float) -> None:
        self._url = url
        headers = {
            **self.address.headers(),
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # a small compressed reply may be large in memory
        }
        self._client = client = httpx2.Client(headers=headers, trust_env=False)
        try:
            with _limit(seconds, client.close), client.stream("GET", url, timeout=seconds) as reply:
                # Any other answer shows that a server is there.
                if reply.has_redirect_location:
                    raise ConnectError(describe_redirect(reply.headers["Location"]), final=True)
        except (httpx2.HTTPError, TimeoutError, ConnectError) as error:
            self._abort()
            if isinstance(error, ConnectError):
                raise
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
                if reply.has_redirect_location:
                    raise ReplyError(self.address, describe_redirect(reply.headers["Location"]))
                if encoding := reply.headers.get("Content-Encoding", "").replace("identity", ""):
                    raise ReplyError(
                        self.address, f"the reply is compressed ({encoding}), but this was not requested"
                    )
                for part in reply.iter_raw():
                    body += part
                    if len(body) > MAX_REPLY_BYTES:
                        raise self._size_error()
        except httpx2.TimeoutException:
            raise TimeoutError from None
        except httpx2.HTTPError as error:
            raise LostError(self.address, f"the connection was lost ({error})") from None
        if reply.status_code != httpx2.codes.OK:
            hint = ": wrong or missing key" if reply.status_code in _UNAUTHORISED else ""
            start = self.address.mask(body.decode(errors="replace"))[:200]
            raise ServerError(self.address, f"the server failed: HTTP {reply.status_code}{hint} {start}")
        return bytes(body)

    def _abort(self) -> None:
        self._client.close()


class ZmqTransport(Transport):
    """A ZeroMQ REQ socket: version 3.0 of ZeroMQ's wire protocol (ZMTP), without its security mechanisms.

    ZeroMQ's own library limits each part of a message but not their number, and holds all of them in memory before it
    delivers the first. Here a reply has one part, and is rejected at the first byte that exceeds this.
    """

    protocol = "tcp"
    _socket: socket.socket

    def _connect(self, url: str, seconds: float) -> None:
        place = urlsplit(url)
        try:
            self._socket = socket.create_connection((place.hostname, place.port), seconds)
        except (OSError, UnicodeError) as error:
            reason = (
                "does not answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", None)
            )
            raise ConnectError(reason or str(error)) from None
        try:
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._operation(seconds):
                self._shake_hands()
        except BaseException as error:
            self._abort()
            if isinstance(error, TimeoutError | RemoteError):
                raise ConnectError(getattr(error, "reason", "does not answer")) from None
            raise

    def _shake_hands(self) -> None:
        self._socket.sendall(_ZMTP_GREETING)
        start = self._read(
            _ZMTP_VERSION_AT + 1
        )  # an older server does not send more before it has read an answer
        if start[0] != _ZMTP_GREETING[0] or start[_ZMTP_VERSION_AT] < _ZMTP_GREETING[_ZMTP_VERSION_AT]:
            raise ConnectError("is not a ZeroMQ server of version 4 or newer")
        rest = self._read(len(_ZMTP_GREETING) - len(start))
        mechanism = rest[1:21].rstrip(b"\0")
        if mechanism != b"NULL":
            raise ConnectError(f"requires the security mechanism {mechanism!r:.30}", final=True)
        self._socket.sendall(_encode_frame(_COMMAND, _ZMTP_READY))
        _, command = self._read_frame()
        if not command.startswith(_ZMTP_READY[:6]):
            raise ConnectError("is a ZeroMQ server, but not for requests and replies", final=True)

    @property
    def is_open(self) -> bool:
        """Whether the connection is open on both sides."""
        return self._connected and self._peek() != b""

    def _peek(self) -> bytes | None:
        """Return the first unread byte, nothing if the server closed the connection, or None if it is silent."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _read_unsolicited(self) -> bytes | None:
        return self._peek() or None

    def _send(self, message: bytes, seconds: float) -> None:
        with self._operation(seconds):
            self._socket.sendall(_encode_frame(_MORE, b"") + _encode_frame(0, message))

    def _receive(self, seconds: float) -> bytes:
        """Receive the reply: an empty part, and one that contains the message."""
        with self._operation(seconds):
            for more in (_MORE, 0):
                flags, part = self._read_frame()
                while flags & _COMMAND:  # of the connection, such as a heartbeat
                    flags, part = self._read_frame()
                if flags & _MORE != more or (more and part):
                    raise ReplyError(
                        self.address, "the reply should be an empty part and one with the message"
                    )
            return part

    def _read_frame(self) -> tuple[int, bytes]:
        """Read one part of a message, or a command, with its flags."""
        flags = self._read(1)[0]
        size = int.from_bytes(self._read(8 if flags & _LONG else 1), "big")
        if size > MAX_REPLY_BYTES:
            raise self._size_error()
        return flags, self._read(size)

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._socket.recv(min(count - len(data), _RECEIVED_BYTES))
            if not part:
                raise LostError(self.address, "the server closed the connection")
            data += part
        return bytes(data)

    def _abort(self) -> None:
        self._socket.close()

    def _shut_down(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _operation(self, seconds: float) -> Iterator[None]:
        """Limit the duration of an operation, and report it if the connection ends."""
        try:
            with _limit(seconds, self._shut_down):
                yield
        except TimeoutError:
            raise
        except OSError as error:
            raise LostError(self.address, f"the connection was lost ({error.strerror})") from None


_ZMTP_GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
"""Signature, version, security mechanism, role and filler: 64 bytes."""
_ZMTP_VERSION_AT = 10
_ZMTP_READY = b"\x05READY" + b"\x0bSocket-Type" + (3).to_bytes(4, "big") + b"REQ"
_MORE, _LONG, _COMMAND = 1, 2, 4
"""Flags of a frame: another part follows, its size has eight bytes, it is a command of the protocol."""
_RECEIVED_BYTES = 2**16
"""Maximum number of bytes read at once: memory is used only for what arrived."""


def _encode_frame(flags: int, content: bytes) -> bytes:
    size = len(content)
    head = bytes((flags, size)) if size < 256 else bytes((flags | _LONG,)) + size.to_bytes(8, "big")
    return head + content
