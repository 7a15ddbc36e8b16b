from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import re
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection

from assay.policies.remote import transport
from assay.policies.remote.address import Address
from assay.policies.remote.client import load_client
from assay.policies.remote.codec import MAX_REPLY_BYTES
from assay.policies.remote.transport import (
    HttpTransport,
    LostError,
    RemoteError,
    ReplyError,
    StalledError,
    Transport,
    UnreachableError,
    WebsocketTransport,
    ZmqTransport,
)

from .conftest import Stub
from .test_other_servers import http, replying  # noqa: F401 - a fixture

Tcp = Callable[[Callable[[socket.socket], None]], str]


def wire_to(place: str, timeout: float = 0.4, connect: float = 0.3) -> Transport:
    address = Address.parse(f"openpi://{place}?timeout={timeout}&connect={connect}", "openpi")
    return WebsocketTransport(address)


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


def shake_hands(client: socket.socket) -> None:
    """Perform the handshake of a websocket server, and nothing else."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += client.recv(4096)
    key = re.search(rb"Sec-WebSocket-Key: (\S+)", request, re.IGNORECASE)
    assert key is not None
    accept = base64.b64encode(hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    client.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


def test_connecting_is_retried_until_the_server_starts():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
    wire = wire_to(place, connect=5)

    def start_late() -> None:
        from websockets.sync.server import serve

        time.sleep(0.5)
        with serve(echo, "127.0.0.1", int(place.split(":")[1])) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            done.wait(10)
            server.shutdown()

    done = threading.Event()
    thread = threading.Thread(target=start_late)
    thread.start()
    wire.open()
    assert wire.ask(b"hello") == b"hello"
    wire.close()
    done.set()
    thread.join(10)


def reply_with(reply: bytes) -> Callable[[socket.socket], None]:
    """Return a handler that answers any request with these bytes and closes the connection."""

    def handle(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(reply)
        client.close()

    return handle


def hang_up(client: socket.socket) -> None:
    client.sendall(b"421 no\r\n")
    client.close()


def say_nothing(client: socket.socket) -> None:
    threading.Event().wait(5)


def test_servers_without_websockets_are_reported(tcp: Tcp):
    for handler, words in (
        (reply_with(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), "replied with HTTP 404"),
        (
            reply_with(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
            "replied with HTTP 503; tried for 0.3 s",
        ),
        (reply_with(b"220 mail.example.org ESMTP\r\n"), "is not a websocket server"),
        (say_nothing, "does not answer; tried for 0.3 s"),
        (hang_up, "tried for 0.3 s"),  # before or after our question: there are many ways to fail
    ):
        wire = wire_to(tcp(handler))
        began = time.monotonic()
        with pytest.raises(UnreachableError) as caught:
            wire.open()
        assert words in str(caught.value) and str(caught.value).startswith("openpi://127.0.0.1:")
        assert time.monotonic() - began < 2


def dribble(client: socket.socket) -> None:
    """Send a frame of 100 bytes, one byte every 0.1 s."""
    shake_hands(client)
    client.sendall(b"\x82\x64")
    for _ in range(100):
        time.sleep(0.1)
        client.sendall(b"x")


def fragments(client: socket.socket) -> None:
    """Send a fragmented message that never ends."""
    shake_hands(client)
    client.sendall(b"\x02\x01x")
    while True:
        time.sleep(0.02)
        client.sendall(b"\x00\x01x")


def pings(client: socket.socket) -> None:
    shake_hands(client)
    while True:
        time.sleep(0.01)
        client.sendall(b"\x89\x00")


def deaf(client: socket.socket) -> None:
    """Never read from the connection."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    shake_hands(client)
    threading.Event().wait(5)


@pytest.mark.parametrize("handler", [dribble, fragments, pings, deaf])
def test_every_kind_of_stalling_is_limited(tcp: Tcp, handler):
    def quiet(client: socket.socket) -> None:
        try:
            handler(client)
        except OSError:
            client.close()

    wire = wire_to(tcp(quiet))
    wire.open()
    began = time.monotonic()
    with pytest.raises(StalledError):
        wire.ask(bytes(30_000_000))
    assert time.monotonic() - began < 2.5


def test_a_client_reconnects_after_a_lost_connection(stub: Stub):
    def mortal(connection: ServerConnection) -> None:
        connection.recv()
        connection.socket.shutdown(socket.SHUT_RDWR)

    wire = wire_to(stub(mortal))
    for _ in range(2):
        wire.open()
        with pytest.raises(LostError) as caught:
            wire.ask(b"hello")
        assert "the connection ended" in str(caught.value) and not wire.is_open
    with pytest.raises(LostError):
        wire.ask(b"hello")


def test_a_reply_above_the_size_limit_is_rejected(stub: Stub):
    def huge(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(bytes(MAX_REPLY_BYTES + 1))

    wire = wire_to(stub(huge), timeout=5)
    wire.open()
    with pytest.raises(ReplyError, match="more than 4,194,304 bytes"):
        wire.ask(b"hello")


def test_a_reply_of_countless_empty_parts_is_rejected(tcp: Tcp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport, "CLOSE_TIMEOUT_S", 0.1)

    def countless(client: socket.socket) -> None:
        shake_hands(client)
        with contextlib.suppress(OSError):
            client.recv(4096)
            client.sendall(b"\x02\x00")
            while True:
                client.sendall(b"\x00\x00" * 1000)

    wire = wire_to(tcp(countless), timeout=20)
    wire.open()
    with pytest.raises(ReplyError, match="more than 4,096 parts"):
        wire.ask(b"hello")


def zmq_wire_to(place: str) -> Transport:
    return ZmqTransport(Address.parse(f"gr00t://{place}?timeout=20&connect=5", "gr00t"))


def flood(start: bytes, sent: list[int]) -> Callable[[socket.socket], None]:
    """Return a ZeroMQ server that answers with ``start`` and then with endless parts of 3 MB."""

    def handle(client: socket.socket) -> None:
        client.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 32))
        client.sendall(b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REP")
        part = b"\x03" + (3 * 10**6).to_bytes(8, "big") + bytes(3 * 10**6)
        with contextlib.suppress(OSError):
            client.recv(64 + 27, socket.MSG_WAITALL)
            client.recv(4096)
            client.sendall(start)
            while True:
                client.sendall(part)
                sent.append(len(part))

    return handle


def test_a_zeromq_reply_is_limited_in_parts_and_size(tcp: Tcp):
    for start, words in (
        (b"\x01\x00", "an empty part and one with the message"),
        (b"", "an empty part and one with the message"),
        (b"\x01\x00\x02" + (2**40).to_bytes(8, "big"), "more than 4,194,304 bytes"),
    ):
        sent: list[int] = []
        wire = zmq_wire_to(tcp(flood(start, sent)))
        wire.open()
        with pytest.raises(ReplyError, match=words):
            wire.ask(b"hello")
        assert len(sent) < 6, "parts are not read in advance"


def test_servers_without_zeromq_are_reported(tcp: Tcp):
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00"
    for reply, words in (
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is not a ZeroMQ server"),
        (greeting[:10] + b"\x01\x00", "is not a ZeroMQ server of version 4"),
        (greeting + b"CURVE" + bytes(47), "requires the security mechanism b'CURVE'"),
        (greeting + b"NULL" + bytes(48) + b"\x04\x08\x05ERROR\x01x", "not for requests and replies"),
        (b"\xff", "the server closed the connection"),
    ):
        with pytest.raises(UnreachableError, match=words):
            ZmqTransport(Address.parse(f"gr00t://{tcp(reply_with(reply))}?connect=0.2", "gr00t")).open()


def test_a_zeromq_server_that_was_restarted_is_connected_again(zmq_installed: None):
    import zmq

    wire, port = None, 0
    for _ in range(2):
        with zmq.Context() as context, context.socket(zmq.REP) as server:
            server.linger = 0
            if wire is None:
                port = server.bind_to_random_port("tcp://127.0.0.1")
                wire = zmq_wire_to(f"127.0.0.1:{port}")
            else:
                server.bind(f"tcp://127.0.0.1:{port}")
            wire.open()
            thread = threading.Thread(target=lambda server=server: server.send(server.recv() * 300))
            thread.start()
            assert wire.is_open and wire.ask(b"hello") == b"hello" * 300
            thread.join()
        time.sleep(0.05)
        assert not wire.is_open


@pytest.mark.parametrize("scheme", ["openpi", "openvla-oft"])
def test_a_redirect_is_reported_and_not_followed(tcp: Tcp, scheme: str):
    reached: list[bool] = []

    def elsewhere(client: socket.socket) -> None:
        reached.append(True)
        client.close()

    other = tcp(elsewhere)
    target = f"{'ws' if scheme == 'openpi' else 'http'}://{other}/"
    reply = f"HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
    with pytest.raises(
        UnreachableError, match=f": redirects to {target}; redirects are not followed, so use"
    ):
        load_client(f"{scheme}://{tcp(reply_with(reply))}?connect=0.3").connect()
    assert not reached


def test_a_compressed_or_large_http_reply_is_rejected(http: Callable[..., str]):  # noqa: F811
    for encoding, body, words in (
        ("gzip", gzip.compress(bytes(10**8), 1), "the reply is compressed (gzip)"),
        ("identity", bytes(MAX_REPLY_BYTES + 1), "more than 4,194,304 bytes"),
    ):
        headers = {"Content-Encoding": encoding}
        address = Address.parse(
            f"openvla-oft://{http(replying(body, headers=headers))}?timeout=5", "openvla-oft"
        )
        wire = HttpTransport(address)
        wire.open()
        with pytest.raises(ReplyError, match=re.escape(words)):
            wire.ask(b"{}")


def test_an_unsolicited_reply_is_rejected(stub: Stub):
    sent = threading.Event()

    def hasty(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(b"first")
        connection.send(b"too much")
        sent.set()
        connection.recv()

    wire = wire_to(stub(hasty))
    wire.open()
    assert wire.ask(b"hello") == b"first"
    sent.wait(5)
    time.sleep(0.05)
    with pytest.raises(ReplyError, match="that was not requested"):
        wire.ask(b"hello again")


def test_failed_connections_leak_no_files_or_threads(stub: Stub):
    place = stub(lambda connection: connection.close(1011))
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("needs /proc to count open files")
    wire = wire_to(place)
    counts = []
    for _ in range(2):
        for _ in range(15):
            wire.open()
            with pytest.raises(RemoteError):
                wire.ask(b"hello")
        time.sleep(0.2)
        counts.append((len(list(descriptors.iterdir())), threading.active_count()))
    assert counts[1][0] <= counts[0][0] + 2 and counts[1][1] <= counts[0][1] + 2
