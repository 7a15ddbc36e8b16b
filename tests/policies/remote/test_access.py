"""Paths, encryption, keys, and several copies of one server."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection, serve

from assay.policies.remote import codec
from assay.policies.remote.client import load_client
from assay.policies.remote.openpi import OpenPI
from assay.policies.remote.transport import RemoteError, UnreachableError
from assay.sim import Observation

from .conftest import SPEC, TASK, Play, Stub
from .test_other_servers import http, replying  # noqa: F401 - a fixture


def answer(connection: ServerConnection) -> None:
    connection.send(codec.encode_openpi({}))
    for _ in connection:
        timing = {"infer_ms": 12.5}
        connection.send(codec.encode_openpi({"actions": np.zeros((5, 7)), "server_timing": timing}))


@pytest.fixture
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-keyout", made[1], "-out", made[0], "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return made


@pytest.fixture
def encrypted(certificate: tuple[Path, Path]) -> Iterator[str]:
    """Host and port of a server with TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serve(answer, "127.0.0.1", 0, ssl=context, compression=None) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join(5)


def test_tls_encrypts_the_connection_and_needs_a_trusted_certificate(
    encrypted: str, certificate: tuple[Path, Path], observation: Observation, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(UnreachableError, match="has no trusted certificate"):
        OpenPI(f"openpi://{encrypted}?tls=1&connect=1").connect()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    policy = OpenPI(f"openpi://{encrypted}?tls=1&timeout=5")
    policy.reset(TASK.instruction, SPEC)
    assert policy.act(observation).shape == (5, 7)
    policy.close()


@contextmanager
def rejecting(status: int) -> Iterator[str]:
    """Run a server that answers every request with an HTTP status; yield its host and port."""

    def respond(connection: ServerConnection, request: object) -> object:
        return connection.respond(status, "no")

    with serve(answer, "127.0.0.1", 0, process_request=respond) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()


def test_key_and_path_are_sent_and_a_wrong_key_is_reported(stub: Stub, monkeypatch: pytest.MonkeyPatch):
    seen: list[tuple[str, str | None]] = []

    def listening(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.append((connection.request.path, connection.request.headers.get("Authorization")))
        answer(connection)

    monkeypatch.setenv("ROBOT_KEY", "s3cret")
    policy = OpenPI(f"openpi://{stub(listening)}/v1/robot?key=ROBOT_KEY")
    policy.connect()
    policy.close()
    assert seen == [("/v1/robot", "Api-Key s3cret")]
    with rejecting(401) as place:
        with pytest.raises(UnreachableError, match=r"HTTP 401: wrong or missing key") as caught:
            OpenPI(f"openpi://{place}?key=ROBOT_KEY").connect()
        assert "s3cret" not in str(caught.value)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Key for a server, in the environment variable ROBOT_KEY."""
    key = f"S3CRET-of-a-robot-{'0' * 34}"
    monkeypatch.setenv("ROBOT_KEY", key)
    return key


def test_a_key_that_a_server_repeats_is_in_no_file_and_not_on_the_terminal(
    stub: Stub, key: str, assay: Callable[..., Any], drawing: str, tmp_path: Path
):
    def repeat(connection: ServerConnection) -> None:
        assert connection.request is not None
        sent = connection.request.headers["Authorization"]
        connection.send(codec.encode_openpi({"model": f"for {sent}", "raw": [{sent: sent.encode()}]}))
        connection.recv()
        connection.send(f"Traceback:\nPermissionError: {'x' * 200} {sent}")

    policy = f"openpi://{stub(repeat)}?key=ROBOT_KEY&wait=0"
    run = ("run", "libero", "--policy", policy, "--tasks", "libero_goal/7", "--seeds", "1", "--steps", "1")
    ended = assay(*run, "--workers", "0", "--out", tmp_path / "r.assay")
    shown = assay("runs", "show", tmp_path / "r.assay")
    page = assay("report", tmp_path / "r.assay", "--out", tmp_path / "report")
    texts = [text for said in (ended, shown, page) for text in (said.out, said.err)]
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert any(b"Api-Key [key]" in content for content in files) and "the server failed: Permission" in str(
        texts
    )
    assert all(key[:6] not in text for text in texts) and all(key[:6].encode() not in file for file in files)


def test_a_key_that_a_server_repeats_is_masked_in_every_error(
    tcp: Callable[..., str],
    http: Callable[..., str],  # noqa: F811
    stub: Stub,
    key: str,
    observation: Observation,
):
    def closing(connection: ServerConnection) -> None:
        connection.send(codec.encode_openpi({}))
        connection.recv()
        connection.close(1011, f"{'x' * 60} {key}")

    def odd(connection: ServerConnection) -> None:
        hello = codec.decode(connection.recv())
        connection.send(codec.encode_vla_eval({"type": "x" * 30 + key, "payload": {}, "seq": hello["seq"]}))

    def mistyped(connection: ServerConnection) -> None:
        array = {b"__ndarray__": True, b"data": b"", b"dtype": key, b"shape": [0]}
        connection.send(codec.encode_openpi({"actions": array}))

    def redirect(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(f"HTTP/1.1 302 No\r\nLocation: ws://h/?{key}\r\nContent-Length: 0\r\n\r\n".encode())

    for scheme, place, shown in (
        ("openpi", stub(closing), "[key"),
        ("vla-eval", stub(odd), "[key"),
        ("openvla-oft", http(replying(f"{'x' * 190}{key}".encode(), status=500)), "[key"),
        ("openpi", tcp(redirect), "[key"),
        ("openpi", stub(mistyped), "text of 52 characters"),
    ):
        policy = load_client(f"{scheme}://{place}?key=ROBOT_KEY&wait=0&connect=0.3&timeout=5")
        with pytest.raises(RemoteError) as caught:
            policy.reset(TASK.instruction, SPEC)
            policy.act(observation)
        policy.close()
        assert shown in str(caught.value) and key[:6] not in str(caught.value)


def test_the_episode_determines_the_copy_of_the_server(stub: Stub):
    played: dict[int, list[int]] = {0: [], 1: [], 2: []}
    now: list[int] = []

    def copy(number: int) -> Callable[[ServerConnection], None]:
        def handle(connection: ServerConnection) -> None:
            played[number].append(now[-1])
            answer(connection)

        return handle

    address = f"openpi://{','.join(stub(copy(number)) for number in played)}"
    for worker in ((range(0, 12)), (range(11, -1, -1))):
        policy = OpenPI(address)
        for seed in worker:
            now.append(seed)
            policy.reset(TASK.instruction, replace(SPEC, seed=seed))
        policy.close()
    assert sorted(chain.from_iterable(played.values())) == sorted([*range(12)] * 2)
    assert all(len(seeds) == 2 * len(set(seeds)) >= 4 for seeds in played.values()), (
        "the same copy both times"
    )


def test_a_copy_that_rejects_connections_is_skipped(stub: Stub):
    with rejecting(404) as place:
        policy = OpenPI(f"openpi://{place},{stub(answer)}?connect=3")
        for seed in range(6):
            policy.reset(TASK.instruction, replace(SPEC, seed=seed))
        policy.close()


def test_reported_inference_times_are_recorded(stub: Stub, play: Play):
    policy = OpenPI(f"openpi://{stub(answer)}?wait=0")
    episode, _ = play(policy, 10)
    policy.close()
    assert episode.decisions == 2 and episode.inference == (12.5, 12.5)
