"""Clients of GR00T, OpenVLA-OFT, starVLA and RoboArena against stub servers; see also test_real_servers.py."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

import msgpack
import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from assay.errors import PolicyError
from assay.policies.remote import codec, gr00t, openvla_oft
from assay.policies.remote.client import load_client
from assay.policies.remote.openpi import STARVLA_CONVENTION
from assay.policies.remote.transport import (
    RemoteError,
    ReplyError,
    ServerError,
    StalledError,
    UnreachableError,
)
from assay.sim import Observation

from .conftest import SPEC, TASK, Stub

RAMP = np.tile(np.linspace(0.0, 1.0, 10)[:, None], (1, 7))


def asked(address: str, observation: Observation, **options: object) -> np.ndarray:
    given = {"timeout": 5, "connect": 2} | options
    policy = load_client(f"{address}?{'&'.join(f'{name}={value}' for name, value in given.items())}")
    try:
        policy.reset(TASK.instruction, SPEC)
        return policy.act(observation)
    finally:
        policy.close()


# -- OpenVLA-OFT


Respond = Callable[[BaseHTTPRequestHandler, Any], None]


@pytest.fixture
def http() -> Iterator[Callable[[Respond], str]]:
    """Return a function that starts an HTTP server and returns its host and port."""
    servers: list[ThreadingHTTPServer] = []

    def start(respond: Respond) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(405)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                respond(self, json.loads(body))

            def log_message(self, *words: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(
            target=servers[-1].serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return f"127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def replying(
    body: object,
    seen: list[Any] | None = None,
    status: int = 200,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Respond:
    def respond(handler: BaseHTTPRequestHandler, request: Any) -> None:
        if seen is not None:
            seen.append((handler.path, dict(handler.headers), request))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return respond


def test_openvla_oft_gets_json_and_its_actions_are_decoded(
    http: Callable[[Respond], str], observation: Observation
):
    for twice in (False, True):
        seen: list[Any] = []
        listed = json.loads(codec.encode_json(list(RAMP)))
        place = http(replying(json.dumps(listed) if twice else listed, seen))
        actions = asked(f"openvla-oft://{place}", observation)
        path, _, request = seen[0]
        assert path == "/act" and request["instruction"] == TASK.instruction.text
        state = np.frombuffer(base64.b64decode(request["state"]["__numpy__"]), request["state"]["dtype"])
        assert np.array_equal(state, openvla_oft.CONVENTION.state_vector(observation))
        assert request["full_image"]["shape"] == [256, 256, 3]
        assert np.array_equal(actions[:, 0], RAMP[:8, 0])
        assert actions[:, 6].tolist() == [1.0] * 5 + [-1.0] * 3, "0 closes, 1 opens"


def test_invalid_replies_of_openvla_oft_are_reported(
    http: Callable[[Respond], str], observation: Observation
):
    for respond, kind, words in (
        (replying("error"), ServerError, "see the server's log"),
        (replying(b"oops"), ReplyError, "not JSON"),
        (replying([{"__numpy__": "!", "dtype": "<f8", "shape": [1]}]), ReplyError, "not base64"),
        (replying([{"__numpy__": "AAAA", "dtype": "|O", "shape": [1]}]), ReplyError, "only numbers"),
        (replying([], status=500), ServerError, "HTTP 500"),
        (replying(b"0" * 5_000_000), ReplyError, "more than 4,194,304 bytes"),
    ):
        with pytest.raises(kind, match=re.escape(words)):
            asked(f"openvla-oft://{http(respond)}", observation)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_a_reply_that_arrives_byte_by_byte_times_out(
    head: bytes, http: Callable[[Respond], str], observation: Observation
):
    def drip(handler: BaseHTTPRequestHandler, request: Any) -> None:
        handler.wfile.write(head)
        for _ in range(1000):
            handler.wfile.write(b"H")
            time.sleep(0.05)

    start = time.monotonic()
    with pytest.raises(StalledError, match=r"no answer within 0\.5 s"):
        asked(f"openvla-oft://{http(drip)}", observation, timeout=0.5)
    assert time.monotonic() - start < 10


# -- starVLA


def star(reply: object, seen: list[Any]) -> Callable[[ServerConnection], None]:
    def handle(connection: ServerConnection) -> None:
        connection.send(codec.encode_openpi({"available_unnorm_keys": ["franka", "bridge"]}))
        for message in connection:
            seen.append(codec.decode(message, max_bytes=2**24))
            connection.send(codec.encode_openpi(reply))

    return handle


def test_starvla_gets_examples_and_its_actions_are_decoded(stub: Stub, observation: Observation):
    seen: list[Any] = []
    place = stub(star({"ok": True, "data": {"actions": RAMP[None]}}, seen))
    actions = asked(f"starvla://{place}", observation, layout="hand", unnorm_key="franka")
    (request,) = seen
    (example,) = request["payload"]["examples"]
    assert request["type"] == "infer" and request["payload"]["unnorm_key"] == "franka"
    assert [each.shape for each in example["image"]] == [(224, 224, 3)] * 2
    pictures = STARVLA_CONVENTION.images(observation).values()
    assert all(np.array_equal(*pair) for pair in zip(example["image"], pictures, strict=True))
    assert example["lang"] == TASK.instruction.text and example["state"].shape == (1, 8)
    assert len(actions) == 10 and actions[:, 6].tolist() == [1.0] * 5 + [-1.0] * 5


def test_invalid_replies_of_starvla_are_reported(stub: Stub, observation: Observation):
    for reply, options, words in (
        ({"ok": False, "error": {"message": "no such key"}}, {}, "the server failed: no such key"),
        ({"ok": True, "data": {"actions": RAMP}}, {}, "should have shape (1, k, 7), not float64 (10, 7)"),
        ({"ok": True}, {"unnorm_key": "frank"}, "did you mean 'franka'?"),
    ):
        with pytest.raises(RemoteError, match=re.escape(words)):
            asked(f"starvla://{stub(star(reply, []))}", observation, **options)


# -- RoboArena and vLLM-Omni


def arena(config: dict[str, object], reply: object, seen: list[Any]) -> Callable[[ServerConnection], None]:
    def handle(connection: ServerConnection) -> None:
        connection.send(codec.encode_openpi(config))
        for message in connection:
            request = codec.decode(message, max_bytes=2**24)
            seen.append((connection.request.path, dict(connection.request.headers), request))
            ending = request["endpoint"] == "reset"
            connection.send("reset successful" if ending else codec.encode_openpi(reply))

    return handle


CARTESIAN = {"action_space": "cartesian_velocity", "needs_wrist_camera": True, "n_external_cameras": 1}


def test_roboarena_gets_what_its_config_declares(stub: Stub, observation: Observation, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "s3cret")
    seen: list[Any] = []
    own = {"needs_wrist_camera": False, "image_resolution": [128, 128], "needs_session_id": True}
    config = CARTESIAN | own
    place = stub(arena(config, RAMP, seen))  # vLLM-Omni replies with the array alone
    actions = asked(f"roboarena://{place}/v1/realtime/robot/openpi", observation, bearer="VLLM_API_KEY")
    path, headers, request = seen[1]
    assert [each["endpoint"] for _, _, each in seen] == ["reset", "infer"]
    assert path == "/v1/realtime/robot/openpi" and headers["authorization"] == "Bearer s3cret"
    assert request["observation/exterior_image_0_left"].shape == (128, 128, 3)
    assert "observation/wrist_image_left" not in request and request["session_id"] == seen[0][2]["session_id"]
    assert request["observation/cartesian_position"].shape == (6,)
    assert 0.0 <= request["observation/gripper_position"][0] <= 1.0
    assert np.allclose(actions[:, 6], np.linspace(-1.0, 1.0, 10)), "1 closes"


def test_unsupported_requirements_of_roboarena_are_reported(stub: Stub, observation: Observation):
    for config, words in (
        ({"action_space": "joint_position"}, "only cartesian_velocity can be executed"),
        ({**CARTESIAN, "needs_stereo_camera": True}, "stereo cameras"),
        ({**CARTESIAN, "n_external_cameras": 2}, "2 external cameras; LIBERO has one"),
    ):
        with pytest.raises(ReplyError, match=re.escape(words)):
            asked(f"roboarena://{stub(arena(config, RAMP, []))}", observation)


# -- GR00T


def spell(value: object) -> object:
    assert isinstance(value, np.ndarray)
    parts = {b"type": value.dtype.str, b"shape": value.shape, b"data": value.tobytes()}
    return {b"nd": True, b"kind": b"", **parts}


@pytest.fixture
def zmq_server(zmq_installed: None) -> Iterator[Callable[..., str]]:
    """Return a function that serves a ZeroMQ REP socket with a given handler and returns its host and port."""
    import zmq

    ended = threading.Event()
    threads: list[threading.Thread] = []

    def start(answer: Callable[[dict[str, Any]], object]) -> str:
        socket: Any = zmq.Context.instance().socket(zmq.REP)
        socket.setsockopt(zmq.LINGER, 0)
        port = socket.bind_to_random_port("tcp://127.0.0.1")

        def serve() -> None:
            while not ended.is_set():
                if socket.poll(50):
                    reply = answer(codec.decode(socket.recv(), max_bytes=2**24))
                    socket.send(reply if isinstance(reply, bytes) else msgpack.packb(reply, default=spell))
            socket.close()

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        return f"127.0.0.1:{port}"

    yield start
    ended.set()
    for thread in threads:
        thread.join(5)


def grooting(seen: list[Any], action: object = None) -> Callable[[dict[str, Any]], object]:
    ramp = {f"action.{name}": RAMP[None, :, :1].astype(np.float32) for name in (*gr00t.AXES, "gripper")}

    def answer(request: dict[str, Any]) -> object:
        seen.append(request)
        is_action = request["endpoint"] == "get_action"
        return [ramp if action is None else action, {}] if is_action else {"status": "ok"}

    return answer


def test_gr00t_gets_ping_reset_and_observations(
    zmq_server: Callable[..., str], observation: Observation, monkeypatch: pytest.MonkeyPatch
):
    for nested in (0, 1):
        monkeypatch.setenv("GROOT_TOKEN", "s3cret")
        seen: list[Any] = []
        actions = asked(
            f"gr00t://{zmq_server(grooting(seen))}", observation, nested=nested, key="GROOT_TOKEN"
        )
        assert [each["endpoint"] for each in seen] == ["ping", "reset", "get_action"]
        assert {each["api_token"] for each in seen} == {"s3cret"}
        given = seen[2]["data"]["observation"]
        video, state = (given["video"], given["state"]) if nested else (given, given)
        prefix = ("", "") if nested else ("video.", "state.")
        assert video[f"{prefix[0]}wrist_image"].shape == (1, 1, 256, 256, 3)
        expected = gr00t.CONVENTION.state_vector(observation).astype(np.float32)
        rotation = [state[f"{prefix[1]}{name}"].item() for name in ("roll", "pitch", "yaw")]
        assert np.array_equal(rotation, expected[3:6]) and state[f"{prefix[1]}gripper"].shape == (1, 1, 2)
        assert actions.shape == (8, 7) and actions[:, 6].tolist() == [1.0] * 5 + [-1.0] * 3


def test_invalid_replies_of_gr00t_are_reported(zmq_server: Callable[..., str], observation: Observation):
    for answer, words in (
        (lambda request: {"error": "Unknown endpoint"}, "the server failed: Unknown endpoint"),
        (lambda request: b"\xc1", "not msgpack"),
        (grooting([], {"x": 1}), "the action's x should have shape (1, k, 1), not an int"),
        (
            lambda request: {b"nd": True, b"kind": b"O", b"type": "|O", b"data": b""},
            "only numbers are supported",
        ),
    ):
        with pytest.raises(RemoteError, match=re.escape(words)):
            asked(f"gr00t://{zmq_server(answer)}", observation)


def test_an_unreachable_gr00t_server_is_reported_in_time(observation: Observation):
    with pytest.raises(UnreachableError, match=r"Connection refused; tried for 0\.2 s"):
        asked("gr00t://127.0.0.1:9", observation, connect=0.2)


def test_unsupported_options_are_rejected():
    for options in ("layout=joints", "layout=fingers-first", "rotation=xyzw"):
        for scheme in ("gr00t", "roboarena"):
            with pytest.raises(PolicyError, match=f"{options} is not supported; choose one of (hand|robo)"):
                load_client(f"{scheme}://h:1?{options}")
    for options in ("nested=2", "tls=1", "bearer=HOME"):
        with pytest.raises(PolicyError, match=options.partition("=")[0]):
            load_client(f"gr00t://h:1?{options}")
