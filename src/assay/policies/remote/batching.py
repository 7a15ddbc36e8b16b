"""Batching: requests from several workers that reach one server at nearly the same time are sent as one.

Each worker is a process. With ``?batch=8`` the main process opens a `Relay`, and the workers' clients send their
messages to it, unchanged, over a local socket. A request waits for other requests for a few milliseconds at most.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import one_line
from assay.policies.remote import codec
from assay.policies.remote.address import Address
from assay.policies.remote.transport import RemoteError, Transport, UnreachableError
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.policies.remote.client import RemotePolicy

BATCH_WINDOW_S = 0.005
"""Time, in seconds, for which a request waits for other requests."""
MAX_REQUEST_BYTES = 64 * 2**20
"""Maximum size of a request; two images of 1024 x 1024 take 6 MiB."""


@dataclass(frozen=True)
class BatchCodec:
    """Joins requests of one protocol and splits the reply; observations and actions have a leading batch axis."""

    encode: codec.Encoder
    marker: tuple[str, str]
    """Key and value that mark a request for actions."""
    observations: tuple[str, str]
    """Keys under which a request contains its observations."""
    actions: tuple[str | int, ...]
    """Keys and indices under which a reply contains its actions."""

    def parse(self, message: bytes) -> dict[str, Any] | None:
        """Decode a message if it requests actions; return None for other messages."""
        request = codec.decode(message, max_bytes=MAX_REQUEST_BYTES) if message else {}
        key, value = self.marker
        return request if request.get(key) == value else None

    def join(self, requests: Sequence[dict[str, Any]]) -> bytes:
        """Join requests into one; the requests of a run differ only in their observations."""
        outer, inner = self.observations
        first = requests[0]
        observations = _concatenate([request[outer][inner] for request in requests])
        return self.encode({**first, outer: {**first[outer], inner: observations}})

    def split(self, reply: bytes | str, count: int) -> list[bytes] | None:
        """Split a reply into ``count`` replies; return None if it is an error or contains a different number."""
        *path, last = self.actions
        if isinstance(reply, str):
            return None
        try:
            content = container = codec.decode(reply)
            for key in path:
                container = container[key]
            actions = container[last]
        except (codec.CodecError, LookupError, TypeError):
            return None
        arrays = actions if isinstance(actions, dict) else {"": actions}
        if not all(
            isinstance(array, np.ndarray) and array.shape[:1] == (count,) for array in arrays.values()
        ):
            return None
        parts = []
        for index in range(count):
            rows = {name: array[index : index + 1] for name, array in arrays.items()}
            container[last] = rows if isinstance(actions, dict) else rows[""]
            parts.append(self.encode(content))
        return parts


def _concatenate(values: Sequence[Any]) -> Any:
    """Join nested maps of arrays or lists along their first axis."""
    first = values[0]
    if isinstance(first, dict):
        return {name: _concatenate([value[name] for value in values]) for name in first}
    return np.concatenate(values) if isinstance(first, np.ndarray) else list(chain.from_iterable(values))


class RelayTransport(Transport):
    """A worker's connection to the relay of its run, which in turn connects to the server."""

    _connection: Connection

    def __init__(self, address: Address, socket: str) -> None:
        super().__init__(address)
        self._socket = socket
        self._greeting: bytes | str = b""
        # A request may wait for another one, be sent as part of a batch, and then be sent alone.
        self._reply_timeout = address.options.connect + 3 * address.options.timeout

    def open(self, turn: int = 0, hello: bytes | None = None) -> bytes | str:
        """Open a new connection; the relay connects to copy number ``turn`` of the server."""
        self.close()
        self._connect(self._socket, 0.0)
        self._greeting = self.ask(str(turn).encode())
        return b"" if hello is None else self.ask(hello)

    def receive(self) -> bytes | str:
        """Return the message that the server sent on connection."""
        return self._greeting

    def _connect(self, url: str, seconds: float) -> None:
        try:
            self._connection = Client(url, "AF_UNIX")
        except OSError as error:
            reason = f"the run's relay does not answer ({error})"
            raise UnreachableError(self.address, reason) from None
        self._connected = True

    def _send(self, message: bytes, seconds: float) -> None:
        self._connection.send_bytes(message)

    def _receive(self, seconds: float) -> bytes | str:
        """Receive the server's reply. Re-raises a RemoteError that occurred in the relay."""
        if not self._connection.poll(seconds):
            raise TimeoutError
        answer: bytes | str | tuple[type[RemoteError], str] = self._connection.recv()
        if isinstance(answer, tuple):
            error, reason = answer
            raise error(self.address, reason)
        return answer

    def _abort(self) -> None:
        self._connection.close()


class Relay:
    """The relay in the main process, open for the duration of a run: ``with Relay(policy, batch) as socket``."""

    def __init__(self, policy: RemotePolicy, batch: int) -> None:
        self._policy, self._batch = policy, batch
        self._lines: dict[int, _ServerLine] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> str:
        self._closing = contextlib.ExitStack()
        folder = Path(self._closing.enter_context(scratch_folder(prefix="assay-relay-")))
        folder.chmod(0o700)
        self._listener = self._closing.enter_context(Listener(str(folder / "socket"), "AF_UNIX"))
        threading.Thread(target=self._accept, daemon=True).start()
        return str(folder / "socket")

    def __exit__(self, *error: object) -> None:
        for line in self._lines.values():
            line.queue.put(None)
        self._closing.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # raised when the listener is closed
            while True:
                connection = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        """Serve one worker until it disconnects."""
        with contextlib.suppress(OSError, EOFError), connection:
            turn = int(connection.recv_bytes())
            with self._lock:
                if turn not in self._lines:
                    self._lines[turn] = _ServerLine(self._policy, turn, self._batch)
                line = self._lines[turn]
            message = b""
            while True:
                pending = _PendingMessage(message, line.codec.parse(message))
                line.queue.put(pending)
                try:
                    connection.send(pending.answer.result())
                except RemoteError as error:
                    connection.send((type(error), error.reason))
                message = connection.recv_bytes()


@dataclass
class _PendingMessage:
    """A message whose sender waits for the answer. If empty, it connects and requests the server's greeting."""

    message: bytes
    request: dict[str, Any] | None
    """Decoded message if it requests actions, otherwise None."""
    answer: Future[bytes | str] = field(default_factory=Future)


class _ServerLine:
    """The connection to one copy of the server, and the thread that uses it until the queue yields None."""

    def __init__(self, policy: RemotePolicy, turn: int, batch: int) -> None:
        assert policy.batches is not None
        self.codec = policy.batches
        self.queue: queue.SimpleQueue[_PendingMessage | None] = queue.SimpleQueue()
        self._transport = policy.transport(policy.address)
        self._greets, self._turn, self._batch = policy.greets, turn, batch
        self._greeting: bytes | str = b""
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while (first := self.queue.get()) is not None:
            group, until = [first], time.monotonic() + BATCH_WINDOW_S
            while first.request is not None and len(group) < self._batch:
                try:
                    pending = self.queue.get(timeout=max(until - time.monotonic(), 0))
                except queue.Empty:
                    break
                if pending is None:
                    self.queue.put(None)
                    break
                if pending.request is None:
                    self._answer([pending])
                else:
                    group.append(pending)
            self._answer(group)
        self._transport.close()

    def _answer(self, group: Sequence[_PendingMessage]) -> None:
        """Send messages as one and answer each of them; if the reply cannot be split, send them one by one."""
        try:
            if len(group) == 1:
                group[0].answer.set_result(self._exchange(group[0].message))
                return
            requests = [pending.request for pending in group if pending.request is not None]
            replies = self.codec.split(self._exchange(self.codec.join(requests)), len(group))
        except Exception as error:  # a reply may be anything, and the senders wait for an answer
            reason = f"the requests could not be sent as one batch: {one_line(error, 200)}"
            for pending in group:
                failure = (
                    error if isinstance(error, RemoteError) else RemoteError(self._transport.address, reason)
                )
                pending.answer.set_exception(failure)
            return
        for index, pending in enumerate(group):
            if replies is None:
                self._answer([pending])
            else:
                pending.answer.set_result(replies[index])

    def _exchange(self, message: bytes) -> bytes | str:
        if not self._transport.is_open:
            self._transport.open(self._turn)
            if self._greets:
                self._greeting = self._transport.receive()
        return self._transport.ask(message) if message else self._greeting
