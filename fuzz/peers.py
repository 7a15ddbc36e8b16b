"""Hostile servers of policies and language models, which reply with anything, in any portions, or never."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import hashlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import AssayError
from assay.policies.remote import codec
from assay.policies.remote.client import load_client
from assay.sim.world import LIBERO_WORLD
from assay.support.llm import client
from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import PROTOCOLS, Endpoint, ModelPrompt
from assay.tasks import Instruction
from fuzz.mutations import HOSTILE_TEXTS, Rng, pick, spoiled_bytes, spoiled_json

PATIENCE = 0.4
"""Time limits for a reply and for a connection, seconds."""
SLACK = 15.0
"""Additional seconds within which a case must end, for a busy machine."""
DRIP = 0.2
"""Seconds between the bytes of a slow reply; the whole reply would take minutes."""
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


KEY = "sesame-sesame"
"""Key that is sent to each peer, which may repeat it."""
KEY_VARIABLE = "FUZZ_PEER_KEY"
FLOOD, MAX_PARTS = 40, 10
"""Number of parts of 3 MB in a flood, and number that may be sent: the system's buffers hold some."""


class SlowError(Exception):
    """A client waited for a reply for longer than its time limit."""


class LeakError(Exception):
    """A key was repeated in an error or metadata, or a client followed a redirect."""


class FloodError(Exception):
    """A client went on receiving a reply that was larger than its limit."""


@contextlib.contextmanager
def no_leak() -> Iterator[None]:
    """Raise LeakError if the block raises an error that contains the key."""
    try:
        yield
    except AssayError as error:
        if KEY in str(error):
            raise LeakError(str(error)) from error
        raise


class Peer:
    """A local server that handles each connection with a given function."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.serve: Callable[[socket.socket], None] = lambda connection: None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, IndexError, KeyError):
            connection.settimeout(5)
            self.serve(connection)


def say(connection: socket.socket, content: bytes, manner: str) -> None:
    """Send bytes at once, slowly, partially, or never."""
    if manner == "drip":
        for place in range(len(content)):
            connection.sendall(content[place : place + 1])
            time.sleep(DRIP)
    elif manner == "part":
        connection.sendall(content[: len(content) // 2])
        time.sleep(4 * PATIENCE)
    elif manner == "silence":
        time.sleep(4 * PATIENCE)
    else:
        connection.sendall(content)


def frame(content: bytes, kind: int = 2, *, final: bool = True, length: int | None = None) -> bytes:
    """Return a server's websocket frame; ``length`` is its declared length."""
    size = len(content) if length is None else length
    first = bytes([(0x80 if final else 0) | kind])
    if size < 126:
        return first + bytes([size]) + content
    if size < 2**16:
        return first + bytes([126]) + struct.pack(">H", size) + content
    return first + bytes([127]) + struct.pack(">Q", size & (2**63 - 1)) + content


def until_blank(connection: socket.socket) -> bytes:
    """Read the head of an HTTP request and the data that came with it."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(65536)
        if not more:
            raise OSError
        got += more
    return got


def request(connection: socket.socket) -> bytes:
    """Read a complete HTTP request and return its head."""
    head, _, begun = until_blank(connection).partition(b"\r\n\r\n")
    lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    exactly(connection, max(0, sum(lengths) - len(begun)))
    return head


def handshake(connection: socket.socket) -> None:
    """Complete a websocket handshake."""
    head = until_blank(connection).decode(errors="replace")
    key = next(
        line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key")
    )
    accepted = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
    connection.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + f"Sec-WebSocket-Accept: {accepted}\r\n\r\n".encode()
    )


def received(connection: socket.socket) -> bytes:
    """Read a client's next frame, unmasked."""
    head = exactly(connection, 2)
    size = head[1] & 127
    if size >= 126:
        size = int.from_bytes(exactly(connection, 2 if size == 126 else 8), "big")
    mask, content = exactly(connection, 4), exactly(connection, size)
    return bytes(np.frombuffer(content, np.uint8) ^ np.resize(np.frombuffer(mask, np.uint8), size))


def exactly(connection: socket.socket, count: int) -> bytes:
    """Read a number of bytes."""
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise OSError
        got += more
    return got


def reply_value(rng: Rng) -> Any:
    """Return the content of a reply: valid actions, invalid ones, or anything else."""
    shape = pick(rng, [(5, 7), (1, 7), (7,), (3, 6), (0, 7), (1000, 7), (5, 8), (5, 20)])
    good = np.full(
        shape, pick(rng, (0.1, float("nan"), 1e300, -1.0)), dtype=pick(rng, ("f8", "f4", "i8", "b"))
    )
    return pick(
        rng,
        (good, good.tolist() if good.size < 100 else good, pick(rng, HOSTILE_TEXTS), None, {"a": good}, -1),
    )


def message(rng: Rng, scheme: str, seq: object = 1) -> bytes:
    """Return a protocol message with one invalid part, or a damaged one."""
    actions, text = reply_value(rng), pick(rng, HOSTILE_TEXTS)
    text = text.encode(errors="replace").decode()
    actions = text if isinstance(actions, str) else actions
    if scheme == "vla-eval":
        whole: Any = pick(rng, (
            {"type": "action", "payload": {"actions": actions}, "seq": seq},
            {"type": "error", "payload": {"error": text}, "seq": seq},
            {"type": "hello", "payload": {"protocol_version": pick(rng, (1, 2, text))}, "seq": seq},
            {"type": text, "payload": actions, "seq": text},
        ))  # fmt: skip
    else:
        whole = pick(
            rng,
            (
                {"actions": actions},
                {"actions": actions, "server_timing": {"infer_ms": text}},
                {text: text},
                [actions],
            ),
        )
    try:
        packed = codec.encode_vla_eval(whole) if scheme == "vla-eval" else codec.encode_openpi(whole)
    except Exception:  # what cannot be packed is sent as it is
        packed = repr(whole)[:1000].encode()
    return spoiled_bytes(rng, packed) if rng.random() < 0.4 else packed


def seen() -> Any:
    """Return an observation."""
    env = LIBERO_WORLD.open()
    spec = EpisodeSpec("libero_goal/7", 0)
    observation = env.reset(spec)
    for camera in ("agentview", "robot0_eye_in_hand"):
        observation.image(camera)
    return observation


@contextlib.contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Raise SlowError if the block takes too long."""
    begun = time.monotonic()
    try:
        yield
    finally:
        if (took := time.monotonic() - begun) > seconds + SLACK:
            raise SlowError(f"{took:.1f} s, but {seconds:g} s are allowed")


class Servers:
    """Hostile policy servers for one transport: a client resets and acts."""

    schemes: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self._peer, self._other, self._seen = Peer(), Peer(), seen()
        self._other.serve = self._reach
        self._reached: list[object] = []
        os.environ[KEY_VARIABLE] = KEY

    def known(self) -> int:
        """Return 0, because there is no corpus."""
        return 0

    def case(self, number: int, rng: Rng) -> int:
        """Run one server and one episode."""
        scheme = pick(rng, self.schemes)
        self._peer.serve = self.behaviour(rng, scheme)
        self.play(f"{scheme}://127.0.0.1:{self._peer.port}")
        return 1

    def play(self, address: str) -> None:
        """Reset a client and act once; the key must not come back, and no redirect may be followed."""
        policy = load_client(f"{address}?timeout={PATIENCE}&connect={PATIENCE}&wait=0&key={KEY_VARIABLE}")
        try:
            with in_time(6 * PATIENCE), no_leak():
                policy.reset(Instruction("turn on the stove"), EpisodeSpec("libero_goal/7", 0))
                actions = policy.act(self._seen)
                assert actions.ndim == 2 and actions.shape[1] == 7 and np.isfinite(actions).all()
        finally:
            policy.close()
            if KEY in str(policy.metadata) or self._reached:
                raise LeakError(f"metadata: {policy.metadata}; redirects followed: {len(self._reached)}")

    def _reach(self, connection: socket.socket) -> None:
        self._reached.append(connection)

    def elsewhere(self, protocol: str) -> bytes:
        """Return the response that redirects to a server which must not be reached, with the key in its address."""
        place = f"{protocol}://127.0.0.1:{self._other.port}/{KEY}"
        return f"HTTP/1.1 307 x\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()

    def behaviour(self, rng: Rng, scheme: str) -> Callable[[socket.socket], None]:
        """Handle a connection."""
        raise NotImplementedError


MANNERS = ("at once", "at once", "at once", "drip", "part", "silence")


class Websockets(Servers):
    """Servers of openpi, vla-eval, starVLA and RoboArena."""

    schemes = ("openpi", "vla-eval", "starvla", "roboarena")

    def behaviour(self, rng: Rng, scheme: str) -> Callable[[socket.socket], None]:
        """Damage the handshake, the greeting, or a reply."""
        seed, act, manner = int(rng.integers(2**31)), int(rng.integers(8)), pick(rng, MANNERS)

        def serve(connection: socket.socket) -> None:
            own = np.random.default_rng(seed)
            if act == 0:  # no websocket server at all
                say(
                    connection,
                    spoiled_bytes(own, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
                    manner,
                )
                return
            if act == 1:
                until_blank(connection)
                if own.random() < 0.3:
                    connection.sendall(self.elsewhere("ws"))
                    return
                status = pick(own, (200, 301, 401, 404, 500, 999))
                say(connection, f"HTTP/1.1 {status} x\r\nLocation: /\r\n\r\n".encode() + b"y" * 100, manner)
                return
            handshake(connection)
            if scheme != "vla-eval":
                good = codec.encode_openpi({"key": KEY, KEY: [KEY.encode()]})
                greeting = good if act != 2 else message(own, scheme)
                say(connection, frame(greeting), manner if act == 2 else "at once")
            for _ in range(20):
                asked = received(connection)
                seq: object = 1
                if scheme == "vla-eval":
                    said = codec.decode(asked, max_bytes=2**24)
                    seq = said.get("seq")
                    if said.get("type") == "hello" and act != 2:
                        hello = {"type": "hello", "payload": {"protocol_version": 1}, "seq": seq}
                        connection.sendall(frame(codec.encode_vla_eval(hello)))
                        continue
                    if said.get("type") == "episode_start":
                        continue
                say(connection, framed(own, message(own, scheme, seq)), manner)

        return serve


def framed(rng: Rng, content: bytes) -> bytes:
    """Return a message as a frame, valid or not."""
    pieces = [content[place : place + 3] for place in range(0, min(len(content), 90), 3)]
    return bytes(pick(rng, (
        frame(content),
        frame(content, 1),
        frame(content, length=len(content) + 50),
        frame(b"x", length=2**62),
        b"".join(frame(piece, 0 if place else 2, final=False) for place, piece in enumerate(pieces)),
        frame(b"", 9) * 1000 + frame(content),
        frame(struct.pack(">H", int(rng.integers(0, 5000))) + b"why", 8),
        spoiled_bytes(rng, frame(content)),
        frame(content) * 3,
        frame(b"", final=False) + frame(b"", 0, final=False) * 20_000,
        frame(f"PermissionError: {'x' * int(rng.integers(250))}{KEY}".encode(), 1),
        frame(struct.pack(">H", 1011) + b"why " + KEY.encode(), 8),
        frame(b"\x91" * 3000 + b"\x90"),
    )))  # fmt: skip


class Https(Servers):
    """Servers of OpenVLA-OFT."""

    schemes = ("openvla-oft",)

    def behaviour(self, rng: Rng, scheme: str) -> Callable[[socket.socket], None]:
        """Damage the first response, or a reply: its status, head or body."""
        seed, act, manner = int(rng.integers(2**31)), int(rng.integers(6)), pick(rng, MANNERS)

        def serve(connection: socket.socket) -> None:
            own = np.random.default_rng(seed)
            for _ in range(20):
                head = request(connection)
                if head.startswith(b"GET") and act != 0:
                    connection.sendall(b"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n")
                    continue
                if own.random() < 0.15:
                    connection.sendall(self.elsewhere("http"))
                    return
                say(connection, http_answer(own, json.dumps(_listed(reply_value(own)))), manner)

        return serve


def _listed(content: Any) -> Any:
    if isinstance(content, np.ndarray):
        return content.tolist()
    return {"a": content["a"].tolist()} if isinstance(content, dict) else content


BOMB = gzip.compress(bytes(5 * 10**7), 1)
"""Reply of 50 MB, compressed."""


def http_answer(rng: Rng, body: str) -> bytes:
    """Return an HTTP response, valid or with an invalid head or body."""
    content = body.encode("utf-8", "replace")
    content = spoiled_bytes(rng, content) if rng.random() < 0.4 else content
    status = pick(rng, (200, 200, 200, 204, 302, 401, 429, 500))
    echo = "x" * int(rng.integers(250)) + KEY
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\n".encode()
    ways = (
        head + f"Content-Length: {len(content)}\r\n\r\n".encode() + content,
        head + f"Content-Length: {len(content) + 9}\r\n\r\n".encode() + content,
        head + b"Content-Length: -1\r\n\r\n" + content,
        head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + content,
        head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200 + b"0\r\n\r\n",
        head + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
        head + f"Content-Encoding: gzip\r\nContent-Length: {len(BOMB)}\r\n\r\n".encode() + BOMB,
        f"HTTP/1.1 500 x\r\nContent-Length: {len(echo)}\r\n\r\n{echo}".encode(),
        head + b"".join(f"X-{i}: {'y' * 50}\r\n".encode() for i in range(2000)) + b"\r\n",
        head + b"Location: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n",
        head + b"Retry-After: -5\r\nContent-Length: 2\r\n\r\n{}",
        spoiled_bytes(rng, head + b"Content-Length: 2\r\n\r\n{}"),
        b"",
        b"\x00" * 500,
        head + f"Content-Length: {6_000_000}\r\n\r\n".encode() + b"[" * 6_000_000,
    )  # fmt: skip
    return bytes(pick(rng, ways))


class Zmq(Servers):
    """Servers of GR00T."""

    schemes = ("gr00t",)

    def __init__(self, folder: Path) -> None:
        import zmq

        super().__init__(folder)
        self._context, self._parts = zmq.Context(), 0

    def case(self, number: int, rng: Rng) -> int:
        """Run a ZeroMQ server with arbitrary replies, sometimes one that does not speak ZeroMQ."""
        if rng.random() < 0.25:
            try:
                return super().case(number, rng)
            finally:
                if self._parts > MAX_PARTS:
                    raise FloodError(f"a client received {self._parts} parts of 3 MB")
        import zmq

        server = self._context.socket(zmq.ROUTER)
        port = server.bind_to_random_port("tcp://127.0.0.1")
        ended = threading.Event()
        thread = threading.Thread(target=self._answer, args=(server, rng, ended), daemon=True)
        thread.start()
        try:
            self.play(f"gr00t://127.0.0.1:{port}")
        finally:
            ended.set()
            thread.join()
            server.close(linger=0)
        return 1

    def _answer(self, server: Any, rng: Rng, ended: threading.Event) -> None:
        honest = int(rng.integers(0, 3))
        while not ended.is_set():
            if not server.poll(20):
                continue
            parts = server.recv_multipart()
            if honest > 0:
                honest -= 1
                content = [codec.encode_msgpack_numpy({"status": "ok"})]
            elif rng.random() < 0.15:
                continue
            else:
                part = np.full(pick(rng, ((1, 8, 1), (8, 1), (1, 0, 1), (2, 8, 1))), 0.1)
                named = {
                    f"action.{each}": part for each in ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
                }
                good: list[Any] = [named, {}]
                whole = pick(rng, (good, named, {"error": "\x1b[31m"}, [], "x", [[]], {"action.x": "y"}))
                packed = codec.encode_msgpack_numpy(whole)
                content = [spoiled_bytes(rng, packed) if rng.random() < 0.5 else packed]
                content *= int(pick(rng, (1, 1, 1, 2)))
            server.send_multipart([*parts[:-1], *content])

    def behaviour(self, rng: Rng, scheme: str) -> Callable[[socket.socket], None]:
        """Send bytes that are not ZeroMQ, or a reply without end."""
        greeting, size = b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + bytes(48), 3 * 10**6
        content, manner = spoiled_bytes(rng, greeting), pick(rng, MANNERS)
        self._parts = 0
        part = b"\x03" + pick(rng, (size, size, 2**62)).to_bytes(8, "big") + bytes(size)
        start = pick(rng, (b"\1\0", b"\1\0", b"", b"\4\1x" * 10_000))

        def flood(connection: socket.socket) -> None:
            connection.sendall(greeting + b"\4\x19\5READY\x0bSocket-Type\0\0\0\3REP")
            exactly(connection, 110)  # the handshake, and the beginning of a request
            connection.sendall(start)
            for _ in range(FLOOD):
                connection.sendall(part)
                self._parts += 1

        return flood if rng.random() < 0.5 else lambda connection: say(connection, content, manner)


class Endpoints:
    """Language-model endpoints with three protocols."""

    def __init__(self, folder: Path) -> None:
        self._peer, self._folder = Peer(), folder
        client.LONGEST_WAIT = client.LONGEST_HELD = PATIENCE  # who is told to wait, does so for minutes

    def known(self) -> int:
        """Return 0, because there is no corpus."""
        return 0

    def case(self, number: int, rng: Rng) -> int:
        """Ask one question; the key must not appear in any message or be sent to another host."""
        name = pick(rng, tuple(PROTOCOLS))
        seed, manner = int(rng.integers(2**31)), pick(rng, MANNERS)

        def serve(connection: socket.socket) -> None:
            own = np.random.default_rng(seed)
            request(connection)
            answer = spoiled_json(own, _ANSWERS[name]) if own.random() < 0.7 else _ANSWERS[name]
            say(connection, http_answer(own, json.dumps(answer)), manner)

        self._peer.serve = serve
        endpoint = Endpoint(
            f"http://127.0.0.1:{self._peer.port}/v1", "m", key=KEY, protocol=name, timeout=PATIENCE,
            attempts=2, first_wait=0.01, per_minute=1e6,
        )  # fmt: skip
        with in_time(4 * PATIENCE), no_leak():
            reply = asyncio.run(self._asked(endpoint, number))
        assert reply is None or KEY not in reply.text
        return 1

    async def _asked(self, endpoint: Endpoint, number: int) -> Any:
        with contextlib.closing(Cache(self._folder / "answers.sqlite")) as cache:
            async with Client(endpoint, cache, Ledger()) as asking:
                return await asking.ask(ModelPrompt("be brief", f"what is {number}?"))


_ANSWERS: dict[str, Any] = {
    "openai": {
        "choices": [{"message": {"content": "a bowl"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
    "anthropic": {
        "content": [{"type": "text", "text": "a bowl"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": "a bowl"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    },
}
TARGETS: dict[str, Any] = {"websockets": Websockets, "http": Https, "endpoints": Endpoints}
try:
    import zmq as _zmq  # noqa: F401

    TARGETS["zmq"] = Zmq
except ImportError:  # an extra
    pass
