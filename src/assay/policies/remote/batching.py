"""Batching: requests from several workers that reach one server at nearly the same time are sent as one.

Each worker is a process. With ``?batch=8`` the main process opens a `Relay`, and the workers' clients send their
messages to it, unchanged, over a local socket. A request waits at most a few milliseconds for others. Requests that
differ in anything but their observations (options, scales, names and shapes of arrays) are sent separately.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import one_line
from assay.policies.remote import codec
from assay.policies.remote.address import Address
from assay.policies.remote.transport import MAX_REPLY_BYTES, RemoteError, Transport, UnreachableError
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.policies.remote.client import RemotePolicy

BATCH_WINDOW_S = 0.005
"""Time, in seconds, for which a request waits for others."""
MAX_REQUEST_BYTES = 64 * 2**20
"""Maximum size of a request; two images of 1024 x 1024 take 6 MiB."""
_BYTES, _TEXT, _ERROR = b"b", b"t", b"e"
"""First byte of a relay message: binary, text or error."""


@dataclass
class PendingMessage:
    """A message and the queue on which its sender waits for the answer."""

    message: bytes
    request: Any = None
    """Decoded message if it requests actions, else None."""
    signature: bytes = b""
    """Encoded request, with shapes in place of observations; requests with the same signature can be sent as one."""
    answer: queue.SimpleQueue[bytes | str | RemoteError] = field(default_factory=queue.SimpleQueue)


@dataclass(frozen=True)
class BatchCodec:
    """Joins requests of a protocol and splits the reply; observations and actions have a leading batch axis."""

    encode: codec.Encoder
    kind: tuple[str, str]
    """Key and value that mark a request for actions."""
    request: tuple[str, str]
    """Path of keys to the observations in a request."""
    reply: tuple[str | int, ...]
    """Path of keys and indices to the actions in a reply."""

    def parse(self, message: bytes) -> PendingMessage:
        """Decode a message if it requests actions."""
        request = _decode_or_none(message, MAX_REQUEST_BYTES)
        key, value = self.kind
        if not isinstance(request, dict) or request.get(key) != value or not _at(request, self.request):
            return PendingMessage(message)
        shapes = _map_arrays(_at(request, self.request), lambda array: str(getattr(array, "shape", "")))
        return PendingMessage(message, request, self.encode(_replaced(request, self.request, shapes)))

    def join(self, group: Sequence[PendingMessage]) -> bytes:
        """Join requests with the same signature into one."""
        observations = _concatenate([_at(pending.request, self.request) for pending in group])
        return self.encode(_replaced(group[0].request, self.request, observations))

    def split(self, reply: bytes | str, count: int) -> list[bytes] | None:
        """Split a reply into ``count`` replies; return None if it is an error or holds another number of replies."""
        content = _decode_or_none(reply)
        actions = _at(content, self.reply)
        arrays = list(actions.values()) if isinstance(actions, dict) else [actions]
        if not all(isinstance(array, np.ndarray) and len(array) == count for array in arrays):
            return None

        def part(index: int) -> Any:
            return _map_arrays(actions, lambda array: array[index : index + 1])

        return [self.encode(_replaced(content, self.reply, part(index))) for index in range(count)]


def _decode_or_none(message: bytes | str, max_bytes: int = MAX_REPLY_BYTES) -> Any:
    if isinstance(message, str):
        return None
    try:
        return codec.decode(message, max_bytes=max_bytes)
    except codec.CodecError:
        return None


def _at(content: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path through nested maps and lists, or None if the path does not exist."""
    for key in path:
        try:
            content = content[key]
        except (KeyError, IndexError, TypeError):
            return None
    return content


def _replaced(content: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of nested maps and lists with the value at a path replaced."""
    if not path:
        return value
    copy = content.copy()
    copy[path[0]] = _replaced(content[path[0]], path[1:], value)
    return copy


def _map_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to all leaves of nested maps and lists."""
    if isinstance(value, dict):
        return {name: _map_arrays(item, change) for name, item in value.items()}
    return [_map_arrays(item, change) for item in value] if isinstance(value, list) else change(value)


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
        timeouts = address.timeouts  # a request is sent after another one, joined, and then alone
        self._reply_timeout = timeouts.connect + 3 * timeouts.timeout

    def open(self, turn: int = 0, hello: bytes | None = None) -> bytes | str:
        """Open a new connection; the relay connects to copy number ``turn`` of the server."""
        self.close()
        self._connect(self._socket, 0.0)
        self.ask(str(turn).encode())
        return b"" if hello is None else self.ask(hello)

    def receive(self) -> bytes | str:
        """Receive the message that the server sent on connecting."""
        return self.ask(b"")

    def _connect(self, url: str, seconds: float) -> None:
        try:
            self._connection = Client(url, "AF_UNIX")
        except OSError as error:
            reason = f"the run's relay does not answer ({error})"
            raise UnreachableError(self.address.text, reason) from None
        self._connected = True

    def _send(self, message: bytes, seconds: float) -> None:
        self._connection.send_bytes(message)

    def _receive(self, seconds: float) -> bytes | str:
        """Receive the server's reply. Raises any RemoteError that occurred in the relay."""
        if not self._connection.poll(seconds):
            raise TimeoutError
        reply = self._connection.recv_bytes()
        kind, content = reply[:1], reply[1:]
        if kind == _ERROR:
            name, _, reason = content.decode().partition(" ")
            kinds = {kind.__name__: kind for kind in RemoteError.__subclasses__()}
            raise kinds.get(name, RemoteError)(self.address.text, reason)
        return content.decode() if kind == _TEXT else content

    def _abort(self) -> None:
        self._connection.close()


class Relay:
    """The relay in the main process, open for the duration of a run: ``with Relay(policy, batch) as socket``."""

    def __init__(self, policy: RemotePolicy, batch: int) -> None:
        self._policy, self._batch = policy, batch
        self._lines: dict[int, _ServerLine] = {}
        self._lock = threading.Lock()
        self.sent: list[int] = []
        """Sizes of the batches sent so far."""

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
                return  # the listener is closed
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        """Serve one worker until it disconnects."""
        with contextlib.suppress(OSError, EOFError), connection:
            turn = int(connection.recv_bytes())
            with self._lock:
                if turn not in self._lines:
                    self._lines[turn] = _ServerLine(self._policy, turn, self._batch, self.sent)
                line = self._lines[turn]
            connection.send_bytes(_frame(line.ask(b"")))
            while True:
                message = connection.recv_bytes()
                connection.send_bytes(_frame(line.ask(message) if message else line.greeting))


class _ServerLine:
    """The connection to one copy of the server, and the thread that uses it."""

    def __init__(self, policy: RemotePolicy, turn: int, batch: int, sent: list[int]) -> None:
        assert policy.batches is not None
        self._transport = policy.transport(policy.address)
        self._codec, self._greets, self._turn = policy.batches, policy.greets, turn
        self._batch, self._sent = batch, sent
        self._queue: queue.SimpleQueue[PendingMessage | None] = queue.SimpleQueue()
        self.greeting: bytes | str = b""
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, message: bytes) -> bytes | str | RemoteError:
        """Return the server's reply to a message, sent in a batch or separately; an empty message only connects."""
        pending = self._codec.parse(message)
        self._queue.put(pending)
        return pending.answer.get()

    def end(self) -> None:
        """Stop after the queued messages have been answered."""
        self._queue.put(None)

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            if first.request is None:
                first.answer.put(self._exchange(first.message))
                continue
            groups: dict[bytes, list[PendingMessage]] = {}
            for pending in self._gather(first):
                groups.setdefault(pending.signature, []).append(pending)
            for group in groups.values():
                for pending, answer in zip(group, self._answers(group), strict=True):
                    pending.answer.put(answer)
        self._transport.close()

    def _gather(self, first: PendingMessage) -> list[PendingMessage]:
        """Collect the requests that arrive within the window after the first one; meanwhile answer other messages."""
        gathered, until = [first], time.monotonic() + BATCH_WINDOW_S
        while len(gathered) < self._batch:
            try:
                pending = self._queue.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                break
            if pending is None:
                self._queue.put(None)
                break
            if pending.request is None:
                pending.answer.put(self._exchange(pending.message))
            else:
                gathered.append(pending)
        return gathered

    def _answers(self, group: Sequence[PendingMessage]) -> Sequence[bytes | str | RemoteError]:
        """Send requests as one and return the answer to each; if the reply cannot be split, send each separately."""
        if len(group) > 1:
            self._sent.append(len(group))
            try:
                reply = self._exchange(self._codec.join(group))
                if isinstance(reply, RemoteError):
                    return [reply] * len(group)
                if (parts := self._codec.split(reply, len(group))) is not None:
                    return parts
            except Exception as error:  # a reply may be anything, and the senders wait for an answer
                return [RemoteError("the relay", f"joined requests failed: {one_line(error, 200)}")] * len(
                    group
                )
        self._sent.extend([1] * len(group))
        return [self._exchange(pending.message) for pending in group]

    def _exchange(self, message: bytes) -> bytes | str | RemoteError:
        try:
            if not self._transport.is_open:
                self._transport.open(self._turn)
                if self._greets:
                    self.greeting = self._transport.receive()
            return self._transport.ask(message) if message else b""
        except RemoteError as error:
            return error


def _frame(answer: bytes | str | RemoteError) -> bytes:
    if isinstance(answer, RemoteError):
        return _ERROR + f"{type(answer).__name__} {answer.reason}".encode()
    return _TEXT + answer.encode() if isinstance(answer, str) else _BYTES + answer
