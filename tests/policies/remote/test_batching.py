"""Requests from several workers that are sent as one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from assay.episodes import Instruction
from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.batching import Relay
from assay.policies.remote.client import load_client
from assay.policies.remote.transport import ServerError
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.local import _open_relay
from assay.sim import Observation

from .conftest import SPEC, Stub
from .test_other_servers import zmq_server  # noqa: F401 - a fixture

WORDS = ("one", "three", "eleven", "seventeen")


def counting(seen: list[int]) -> Callable[[ServerConnection], None]:
    """Return a starVLA server whose actions are the lengths of the instructions, and which rejects one instruction."""

    def handle(connection: ServerConnection) -> None:
        connection.send(codec.encode_openpi({"model": "counting"}))
        while True:
            examples = codec.decode(connection.recv(), max_bytes=2**26)["payload"]["examples"]  # type: ignore[arg-type]
            seen.append(len(examples))
            if any(each["lang"] == "unbearable" for each in examples):
                connection.send(codec.encode_openpi({"ok": False, "error": {"message": "not that one"}}))
                continue
            actions = np.array([np.full((2, 7), len(each["lang"]) / 100) for each in examples])
            connection.send(codec.encode_openpi({"ok": True, "data": {"actions": actions}}))

    return handle


def played(address: str, socket: str, words: str, observation: Observation) -> float | str:
    """Return the first number of the first action for an instruction, or the error message."""
    policy = load_client(address)
    policy.use_relay(socket)
    try:
        policy.reset(Instruction(words), SPEC)
        return float(policy.act(observation)[0, 0])
    except ServerError as error:
        return str(error)
    finally:
        policy.close()


def all_played(
    address: str, observation: Observation, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> list[float | str]:
    """Return the result of each of several clients."""
    monkeypatch.setattr("assay.policies.remote.batching.BATCH_WINDOW_S", 0.5)  # nobody is too late
    policy = load_client(address)
    policy.convention.images(observation)  # drawn in this thread, as GL wants it
    relay = Relay(policy, len(words))
    with relay as socket, ThreadPoolExecutor(len(words)) as pool:
        return list(pool.map(lambda each: played(address, socket, each, observation), words))


def test_a_joined_reply_is_split(stub: Stub, observation: Observation, monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    address = f"starvla://{stub(counting(seen))}?batch=4&timeout=5&connect=2"
    found = all_played(address, observation, WORDS, monkeypatch)
    assert found == [pytest.approx(len(each) / 100) for each in WORDS]
    assert seen == [4]


def test_a_failing_request_does_not_affect_others(
    stub: Stub, observation: Observation, monkeypatch: pytest.MonkeyPatch
):
    seen: list[int] = []
    address = f"starvla://{stub(counting(seen))}?batch=2&timeout=5&connect=2"
    found = all_played(address, observation, ("one", "unbearable"), monkeypatch)
    assert found[0] == pytest.approx(0.03) and str(found[1]).endswith("the server failed: not that one")
    assert seen == [2, 1, 1]


@pytest.mark.parametrize("nested", [0, 1])
def test_gr00t_arrays_are_joined_along_the_batch_axis(
    nested: int,
    zmq_server: Callable[..., str],  # noqa: F811
    observation: Observation,
    monkeypatch: pytest.MonkeyPatch,
):
    seen: list[int] = []

    def answer(request: dict[str, Any]) -> object:
        if request["endpoint"] != "get_action":
            return {"status": "ok"}
        said = request["data"]["observation"]
        words = (
            [each for [each] in said["language"]["annotation.human.action.task_description"]]
            if nested
            else said["annotation.human.action.task_description"]
        )
        image = said["video"]["image"] if nested else said["video.image"]
        assert len(image) == len(words)
        seen.append(len(words))
        axes = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
        part = np.array([np.full((8, 1), len(each) / 100, np.float32) for each in words])
        return [{name if nested else f"action.{name}": part for name in axes}, {}]

    address = f"gr00t://{zmq_server(answer)}?batch=4&timeout=5&connect=2&nested={nested}"
    found = all_played(address, observation, WORDS, monkeypatch)
    assert found == [pytest.approx(len(each) / 100) for each in WORDS] and seen == [4]


def test_an_unreachable_server_is_reported_through_the_relay():
    config = WorkerConfig("starvla://127.0.0.1:9?batch=2&connect=0.2&timeout=1")
    with _open_relay(config) as socket:
        for relay, reason in (
            (socket, "Connection refused; tried for 0.2 s"),
            (f"{socket}-2", "the run's relay does not answer"),
        ):
            policy = EpisodeRunner(replace(config, relay=relay))._policy
            with pytest.raises(PolicyError, match=f"^starvla://127.0.0.1:9: {reason}"):
                policy.reset(Instruction("go"), SPEC)


def test_an_invalid_batch_size_is_rejected():
    for address, said in (
        ("openpi://a:1?batch=4", "only starvla:// and gr00t:// servers"),
        ("starvla://a:1?batch=0", "batch=0: expected a number >= 1"),
        ("starvla://a:1?batch=many", "batch=many: expected an integer"),
    ):
        with pytest.raises(PolicyError, match=said):
            load_client(address)
