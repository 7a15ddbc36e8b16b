"""A relay between workers and their server: requests that come at nearly the same time are sent as one.

Each worker is a process of its own. With ``?batch=8`` the driver opens a relay, and the workers' clients send their
messages to it, as they are, over a socket of this machine. A request waits at most for a few milliseconds for others.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import one_line
from assay.policies.remote import errors
from assay.policies.remote.address import Address
from assay.policies.remote.errors import LostError, RemoteError, StalledError, UnreachableError
from assay.policies.remote.joining import JOINERS, Joiner, Request
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.policies.remote.client import Carrier, RemotePolicy

WINDOW = 0.005
"""Seconds that a request waits for others."""
_BYTES, _TEXT, _ERROR = b"b", b"t", b"e"
"""How messages of the relay begin."""


class RelayWire:
    """A worker's end: carries messages to the relay of this run, which asks the server."""

    def __init__(self, address: Address, socket: str) -> None:
        self.address, self._socket = address, socket
        self._connection: Connection | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a connection to the relay."""
        return self._connection is not None

    def open(self, turn: int = 0) -> None:
        """Connect anew; the relay connects to the copy of the server whose turn it is."""
        self.close()
        try:
            self._connection = Client(self._socket, "AF_UNIX")
            self._connection.send_bytes(str(turn).encode())
        except OSError as error:
            self.close()
            raise UnreachableError(self.address.text, f"the run's relay is gone ({error})") from None
        self._answer(self.address.patience.connect + self.address.patience.timeout)  # it is connected

    def receive(self) -> bytes | str:
        """What the server said on connecting."""
        return self.ask(b"")

    def ask(self, message: bytes) -> bytes | str:
        """Send a message; return the reply."""
        connection = self._connection
        if connection is None:
            raise LostError(self.address.text, "there is no connection")
        try:
            connection.send_bytes(message)
        except OSError as error:
            self.close()
            raise LostError(self.address.text, f"the run's relay is gone ({error})") from None
        return self._answer(3 * self.address.patience.timeout)  # behind another request, and then alone

    def greet(self, message: bytes) -> bytes:
        """Ask for the first time."""
        reply = self.ask(message)
        return reply.encode() if isinstance(reply, str) else reply

    def close(self) -> None:
        """End it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _answer(self, seconds: float) -> bytes | str:
        assert self._connection is not None
        try:
            if not self._connection.poll(seconds):
                self.close()
                raise StalledError(self.address.text, f"no answer within {seconds:g} s")
            said = self._connection.recv_bytes()
        except (OSError, EOFError) as error:
            self.close()
            raise LostError(self.address.text, f"the run's relay is gone ({error!r})") from None
        kind, content = said[:1], said[1:]
        if kind == _ERROR:
            self.close()
            name, _, reason = content.decode().partition(" ")
            raise getattr(errors, name, RemoteError)(self.address.text, reason)
        return content.decode() if kind == _TEXT else content


@dataclass
class _Waiting:
    """A request and who waits for its answer."""

    message: bytes
    request: Request | None
    answer: queue.SimpleQueue[bytes | str | RemoteError] = field(default_factory=queue.SimpleQueue)


class Relay:
    """The driver's end; ``with Relay(policy, most) as socket`` until the run is over."""

    def __init__(self, policy: RemotePolicy, most: int) -> None:
        self._policy, self._most = policy, most
        self._lines: dict[int, _Line] = {}
        self._lock = threading.Lock()
        self.sent: list[int] = []
        """How many requests were sent as one, each time."""

    def __enter__(self) -> str:
        self._closing = contextlib.ExitStack()
        folder = Path(self._closing.enter_context(scratch_folder(prefix="assay-relay-")))
        folder.chmod(0o700)
        self._listener = self._closing.enter_context(Listener(str(folder / "socket"), "AF_UNIX"))
        threading.Thread(target=self._accept, daemon=True).start()
        return str(folder / "socket")

    def __exit__(self, *error: object) -> None:
        for line in self._lines.values():
            line.end()
        self._closing.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return  # it is closed
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        """One worker, until it is gone."""
        with contextlib.suppress(OSError, EOFError), connection:
            line = self._line(int(connection.recv_bytes()))
            connection.send_bytes(_told(line.opened()))
            while True:
                message = connection.recv_bytes()
                connection.send_bytes(_told(line.ask(message) if message else line.greeting))

    def _line(self, turn: int) -> _Line:
        with self._lock:
            if turn not in self._lines:
                joiner = JOINERS[self._policy.scheme]
                self._lines[turn] = _Line(self._policy.carrier(), joiner, turn, self._most, self.sent)
            return self._lines[turn]


class _Line:
    """The connection to one copy of the server, and the thread that asks it."""

    def __init__(self, wire: Carrier, joiner: Joiner, turn: int, most: int, sent: list[int]) -> None:
        self._wire, self._joiner, self._turn, self._most, self._sent = wire, joiner, turn, most, sent
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self.greeting: bytes | str = b""
        threading.Thread(target=self._work, daemon=True).start()

    def opened(self) -> bytes | str | RemoteError:
        """Nothing, once the server is connected; or why it is not."""
        return self.ask(b"")

    def ask(self, message: bytes) -> bytes | str | RemoteError:
        """What the server says to a message, sent with others or alone."""
        waiting = _Waiting(message, self._joiner.request(message) if message else None)
        self._waiting.put(waiting)
        return waiting.answer.get()

    def end(self) -> None:
        """Ask nothing more."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            if first.request is None:
                first.answer.put(self._asked(first.message))
                continue
            alike: dict[bytes, list[_Waiting]] = {}
            for each, request in self._gathered(first, first.request):
                alike.setdefault(request.rest, []).append(each)
            for some in alike.values():
                for each, answer in zip(some, self._answers(some), strict=True):
                    each.answer.put(answer)
        self._wire.close()

    def _gathered(self, first: _Waiting, request: Request) -> list[tuple[_Waiting, Request]]:
        """A request and those that came within the window after it; other messages are answered meanwhile."""
        found, until = [(first, request)], time.monotonic() + WINDOW
        while len(found) < self._most:
            try:
                item = self._waiting.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                break
            if item is None:
                self._waiting.put(None)
                break
            if item.request is None:
                item.answer.put(self._asked(item.message))
            else:
                found.append((item, item.request))
        return found

    def _answers(self, some: Sequence[_Waiting]) -> Sequence[bytes | str | RemoteError]:
        """The answer to each; where they cannot be answered together, each is asked alone."""
        if len(some) > 1:
            requests = [each.request for each in some if each.request is not None]
            self._sent.append(len(some))
            try:
                reply = self._asked(self._joiner.joined(requests))
                if isinstance(reply, RemoteError):
                    return [reply] * len(some)
                if (parted := self._joiner.parted(reply, len(some))) is not None:
                    return parted
            except (
                Exception
            ) as error:  # of a server's reply nobody knows what it is; whoever waits must be told
                return [RemoteError("the relay", f"of joined requests: {one_line(error, 200)}")] * len(some)
        self._sent.extend([1] * len(some))
        return [self._asked(each.message) for each in some]

    def _asked(self, message: bytes) -> bytes | str | RemoteError:
        try:
            if not self._wire.is_open:
                self._wire.open(self._turn)
                if self._joiner.speaks_first:
                    self.greeting = self._wire.receive()  # type: ignore[attr-defined]
            return self._wire.ask(message) if message else b""
        except RemoteError as error:
            return error


def _told(answer: bytes | str | RemoteError) -> bytes:
    if isinstance(answer, RemoteError):
        return _ERROR + f"{type(answer).__name__} {answer.reason}".encode()
    return _TEXT + answer.encode() if isinstance(answer, str) else _BYTES + answer


@contextlib.contextmanager
def relayed(address: str) -> Iterator[str]:
    """An address for workers: with a relay in between where it has ``batch=``. Raises PolicyError."""
    from assay.policies.remote.registry import SCHEMES, load_remote

    if address.partition("://")[0] not in SCHEMES or "batch=" not in address:
        yield address
        return
    policy = load_remote(address)
    with Relay(policy, policy.batch) as socket:
        yield f"{address}&relay={socket}"
