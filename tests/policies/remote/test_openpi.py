from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from assay.episodes import Outcome
from assay.policies.remote import codec
from assay.policies.remote.openpi import CONVENTION, OpenPI
from assay.policies.remote.transport import RemoteError, ReplyError, ServerError
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.tasks import Instruction

from .conftest import SPEC, TASK, Play, Stub, saved


def answering(
    *replies: object, seen: list[Any] | None = None, metadata: object = {"model": "pi"}
) -> Callable[[ServerConnection], None]:
    """A server that gives these replies, the last of them again and again."""

    def handle(connection: ServerConnection) -> None:
        connection.send(codec.encode_openpi(metadata))
        for number, message in enumerate(connection):
            if seen is not None:
                seen.append(codec.decode(message, max_bytes=2**24))
            reply = replies[min(number, len(replies) - 1)]
            connection.send(reply if isinstance(reply, str | bytes) else codec.encode_openpi(reply))

    return handle


def client(place: str, **options: object) -> OpenPI:
    query = "&".join(f"{name}={value}" for name, value in ({"timeout": 5, "connect": 1} | options).items())
    return OpenPI(f"openpi://{place}?{query}")


def test_a_request_is_what_openpis_libero_example_sends(stub: Stub, observation: Observation):
    seen: list[Any] = []
    policy = client(stub(answering({"actions": np.zeros((10, 7))}, seen=seen)))
    policy.reset(TASK.instruction, SPEC)
    assert policy.metadata == {"model": "pi"}
    assert policy.act(observation).shape == (5, 7)
    policy.instruct(Instruction("stop"))
    policy.act(observation)
    policy.close()
    request, next_request = seen
    assert next_request["prompt"] == "stop", "a changed instruction is sent with the next request"
    assert set(request) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    assert request["prompt"] == TASK.instruction.text
    assert request["observation/state"].dtype == np.float64
    assert np.array_equal(request["observation/state"], CONVENTION.state_vector(observation))
    for wire, picture in CONVENTION.images(observation).items():
        assert np.array_equal(request[wire], picture) and picture.shape == (224, 224, 3)


def test_images_are_rendered_only_for_requests(stub: Stub, play: Play):
    seen: list[Any] = []
    chunk = np.zeros((16, 7))
    chunk[:, 0] = np.linspace(0.0, 1.0, 16)
    chunk[:, 6] = -1.0
    policy = client(stub(answering({"actions": chunk}, seen=seen)), replan=4)
    result, world = play(policy, 11)
    assert (result.outcome, result.steps) == (Outcome.FAILURE, 21)
    assert np.array_equal(result.trajectory.actions[:10], np.tile(STILL, (10, 1)))
    assert np.array_equal(result.trajectory.actions[10:18], np.tile(chunk[:4], (2, 1)).astype(np.float32))
    assert len(seen) == 3, "after step 10, 14 and 18"
    assert world.renderer.count == 2 * 3
    policy.close()


TRACEBACK = 'Traceback (most recent call last):\n  File "serve.py", line 3\nKeyError: "observation/wrist"\n'


def test_a_bad_reply_is_an_error_with_address_and_reason(stub: Stub, observation: Observation):
    for reply, kind, words in (
        (TRACEBACK, ServerError, 'the server failed: KeyError: "observation/wrist"'),
        ({"action": np.zeros((5, 7))}, ReplyError, "has no 'actions', only ['action']"),
        ({"actions": np.zeros((5, 32))}, ReplyError, "shape (5, 32)"),
        ({"actions": np.full((5, 7), np.nan)}, ReplyError, "not finite"),
        (b"\xc1garbage", ReplyError, "not msgpack"),
    ):
        place = stub(answering(reply))
        policy = client(place)
        policy.reset(TASK.instruction, SPEC)
        with pytest.raises(kind) as caught:
            policy.act(observation)
        assert words in str(caught.value)
        assert str(caught.value).startswith(f"openpi://{place}: ") and not caught.value.transient
        with pytest.raises(RemoteError, match="no connection"):
            policy.act(observation)


def test_a_failing_server_makes_error_episodes_until_it_recovers(stub: Stub, play: Play):
    episodes: list[int] = []
    good = answering({"actions": np.zeros((5, 7))})

    def sick(connection: ServerConnection) -> None:
        episodes.append(1)
        if len(episodes) == 2:
            connection.send(codec.encode_openpi({}))
            connection.recv()
            connection.send(codec.encode_openpi({"actions": np.zeros((5, 7))}))
            connection.recv()
            connection.socket.shutdown(2)  # as a process that is killed does
        elif len(episodes) == 3:
            connection.send(codec.encode_openpi({}))
            for _ in connection:
                pass
        else:
            good(connection)

    policy = client(stub(sick), timeout=0.5)
    results = [play(policy, 8)[0] for _ in range(4)]
    policy.close()
    assert [each.outcome.value for each in results] == ["failure", "error", "error", "failure"]
    assert [each.steps for each in results] == [18, 15, 10, 18]
    assert "the connection ended" in results[1].error and "no answer within 0.5 s" in results[2].error
    assert all("openpi://127.0.0.1:" in each.error and each.transient for each in results[1:3])


def test_the_real_openpi_client_is_served(
    openpi_python: Path,
    peer: Callable[..., str],
    served: Callable[..., str],
    observation: Observation,
    tmp_path: Path,
):
    port = served("random", "openpi").rpartition(":")[2]
    file = saved(CONVENTION, observation, tmp_path)
    request = (openpi_python, "openpi_peer.py", "infer", port, file, "stack,stack,sort")
    first, second = (peer(*request).splitlines() for _ in range(2))
    metadata, *replies = map(json.loads, first)
    assert metadata == {"server": "assay", "policy": "random"}
    assert [np.shape(each["actions"]) for each in replies] == [(5, 7)] * 3
    assert {each["dtype"] for each in replies} == {"float64"}
    assert replies[0] != replies[1] != replies[2]
    assert first == second, "the same episode is played the same way again"


def test_several_clients_are_served_at_once(served: Callable[..., str], observation: Observation):
    address = served("random", "openpi")
    policies = [OpenPI(address) for _ in range(4)]
    for policy in policies:
        policy.reset(TASK.instruction, SPEC)

    def play(policy: OpenPI) -> list[np.ndarray]:
        return [policy.act(observation) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(play, policies))
    for policy in policies:
        policy.close()
    assert all(np.array_equal(replies[0], others) for others in replies)
    assert not np.array_equal(replies[0][0], replies[0][1])
