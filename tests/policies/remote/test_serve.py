from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.openpi import CONVENTION
from assay.policies.remote.serve import PolicyServer, ReceivedObservation

PICTURE = np.arange(27, dtype=np.uint8).reshape(3, 3, 3)
GOOD = {"observation/image": PICTURE, "observation/state": np.zeros(8), "prompt": "stack"}


def url(address: str) -> str:
    return f"ws://{address.rpartition('/')[2]}"


def asked(connection: ClientConnection, message: object) -> Any:
    connection.send(message if isinstance(message, str | bytes) else codec.encode_openpi(message))
    reply = connection.recv(timeout=5)
    return reply if isinstance(reply, str) else codec.decode(reply, max_bytes=2**20)


def test_a_privileged_policy_cannot_be_served():
    for name in ("oracle", "replay", "keyword"):
        with pytest.raises(PolicyError, match=f"'{name}' needs the simulator's state"):
            PolicyServer(name, "openpi")


def test_health_checks_are_answered(served: Callable[..., str]):
    for path in ("/healthz", "/health"):
        with urllib.request.urlopen(f"http://{served('idle', 'openpi').rpartition('/')[2]}{path}") as answer:
            assert answer.status == 200


def test_web_pages_and_rebound_names_are_refused(served: Callable[..., str]):
    evil = "evil.example:8000"
    for listening, host, origin, is_answered in (
        ("127.0.0.1", "127.0.0.1:8000", None, True),
        ("127.0.0.1", "localhost:8000", None, True),
        (
            "127.0.0.1",
            "127.0.0.1:8000",
            "http://127.0.0.1:8000",
            True,
        ),  # some clients send the server's own address
        ("127.0.0.1", "127.0.0.1:8000", "http://evil.example", False),
        ("127.0.0.1", "127.0.0.1:8000", "http://127.0.0.1:3000", False),
        ("127.0.0.1", "127.0.0.1:8000", "null", False),
        ("127.0.0.1", "127.0.0.1:8000", "http://[", False),
        ("127.0.0.1", evil, f"http://{evil}", False),
        ("127.0.0.1", evil, None, False),
        ("0.0.0.0", "gpu-box:8000", None, True),
        ("0.0.0.0", "10.0.0.5:8000", "http://10.0.0.5:8000", True),
        ("0.0.0.0", evil, f"http://{evil}", False),
    ):
        port = int(served("idle", "openpi", host=listening).rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            head = f"GET /health HTTP/1.1\r\nHost: {host}\r\n" + (f"Origin: {origin}\r\n" if origin else "")
            client.sendall(f"{head}\r\n".encode())
            assert client.recv(12) == (b"HTTP/1.1 200" if is_answered else b"HTTP/1.1 403"), (host, origin)
    with pytest.raises(InvalidStatus, match="HTTP 403"):
        connect(url(served("idle", "openpi")), origin="http://evil.example").__enter__()


def test_an_invalid_request_is_answered_by_an_error_and_the_next_client_is_served(served: Callable[..., str]):
    for message, words in (
        ("hello", "should be binary"),
        (b"\xc1", "not msgpack"),
        ({}, "'prompt' should be text, not a NoneType"),
        (GOOD | {"observation/state": np.zeros(7)}, "the state should be 8 finite numbers"),
        (GOOD | {"observation/state": np.full(8, np.nan)}, "the state should be 8 finite numbers"),
    ):
        address = served("idle", "openpi")
        with connect(url(address)) as connection:
            connection.recv(timeout=5)
            said = asked(connection, message)
            assert isinstance(said, str) and words in said and "\n" not in said
            with pytest.raises(ConnectionClosed):
                connection.recv(timeout=5)
        with connect(url(address)) as connection:
            connection.recv(timeout=5)
            assert asked(connection, GOOD)["actions"].shape == (5, 7)


def test_a_vla_eval_client_may_continue_after_an_invalid_request(served: Callable[..., str]):
    for message, words in (
        ({"type": "dance", "payload": {}, "seq": 4}, "unknown message type 'dance'"),
        ({"type": "observation", "payload": {}, "seq": "4"}, "seq should be a number, not a str"),
        ({"type": "observation", "payload": {}, "seq": 4}, "'task_description' should be text"),
    ):
        with connect(url(served("idle", "vla-eval"))) as connection:
            said = asked(connection, message)
            assert said["type"] == "error" and words in said["payload"]["error"]
            assert said["seq"] == (4 if isinstance(message, dict) and message["seq"] == 4 else 0)
            good = {"type": "observation", "payload": {"task_description": "stack"}, "seq": 5}
            said = asked(connection, good)
            assert (said["type"], said["seq"]) == ("action", 5) and said["payload"]["actions"].shape == (7,)


def test_replan_limits_chunks_and_policies_are_reused_for_consecutive_clients(
    served: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = tmp_path / "made"
    (tmp_path / "chunking_policies.py").write_text(
        "import numpy as np\n"
        "class Chunks:\n"
        f"    def __init__(self): open({str(made)!r}, 'a').write('x')\n"
        "    def reset(self, instruction, spec): ...\n"
        "    def act(self, observation): return np.zeros((3, 7))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    policy = "python:chunking_policies:Chunks"
    for replan, count in ((None, 6), (2, 2), (8, 8)):  # openpi's example needs at least five actions
        with connect(url(served(policy, "openpi", replan))) as connection:
            connection.recv(timeout=5)
            assert len(asked(connection, GOOD)["actions"]) == count
    made.unlink()
    address = served(policy, "openpi")
    for _ in range(3):
        with connect(url(address)) as connection:
            connection.recv(timeout=5)
            asked(connection, GOOD)
    with connect(url(address)) as one, connect(url(address)) as other:
        for connection in (one, other):
            connection.recv(timeout=5)
            asked(connection, GOOD)
    assert 1 <= len(made.read_text()) <= 2


def test_a_served_policy_observes_only_what_was_sent():
    state = np.array([0.1, 0.2, 0.3, np.pi, 0.0, 0.0, 0.04, -0.04])
    received = ReceivedObservation(CONVENTION, {"observation/image": PICTURE}, state, 2)
    assert received.step == 2 and received.eef_position.tolist() == [0.1, 0.2, 0.3]
    assert np.allclose(received.eef_quaternion, [0, 1, 0, 0]) and received.gripper.tolist() == [0.04, -0.04]
    assert np.array_equal(received.image("agentview", 3), PICTURE[:, ::-1])
    assert received.image("agentview", 6, 9).shape == (6, 9, 3)
    for look, words in (
        (lambda: received.joints, "the arm's joint angles"),
        (lambda: received.moment, "the simulator's state"),
        (lambda: received.depth(), "depth"),
        (lambda: received.segmentation(), "segmentation"),
        (
            lambda: received.image("robot0_eye_in_hand"),
            "the client does not send the image 'observation/wrist_image'",
        ),
        (lambda: received.image("agentveiw"), "did you mean 'agentview'?"),
        (
            lambda: ReceivedObservation(CONVENTION, {}, None, 0).gripper,
            "the client does not send the state 'observation/state'",
        ),
        (
            lambda: ReceivedObservation(CONVENTION, {"observation/image": 5}, None, 0).image(),
            "an image should be",
        ),
    ):
        with pytest.raises(PolicyError, match=re.escape(words)):
            look()
