from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn
from websockets.sync.server import ServerConnection

from assay.episodes import Outcome, rollout
from assay.policies.registry import load_policy
from assay.policies.remote import codec
from assay.policies.remote.convention import Rotation
from assay.policies.remote.transport import ReplyError, ServerError
from assay.policies.remote.vla_eval import CONVENTION, VlaEval
from assay.sim import CompiledScene, InitialState, Observation, Simulation
from assay.sim.world import SceneEnv
from assay.tasks import Instruction, Task

from .conftest import SPEC, TASK, Play, Stub, saved

HELLO = {"protocol_version": 1, "model_server": "stub", "capabilities": {}}
EVERYTHING = {"send_wrist_image": True, "send_state": True, "quat_no_antipodal": True}


def eventually(true: Callable[[], bool]) -> bool:
    for _ in range(100):
        if true():
            return True
        time.sleep(0.02)
    return False


# ---------------------------------------------------------------- our client, their server


def test_a_real_server_gets_what_vla_evals_libero_sends(notary: Callable[..., Any], observation: Observation):
    server = notary(EVERYTHING)
    policy = VlaEval(f"{server.address}?timeout=20")
    policy.reset(TASK.instruction, SPEC)
    assert policy.metadata["model_server"] == "Notary" and policy.metadata["protocol_version"] == 1
    first, second = policy.act(observation), policy.act(observation)
    assert first.tolist() == [[0, 0, 0, 0, 0, 0, 1]], "the gripper is made binary"
    assert second[0, 0] == np.float32(0.01), "the server counts the episode's observations"
    policy.reset(Instruction("another"), replace(SPEC, start=9))
    policy.act(observation)
    policy.close()
    seen = server.look(0)
    robosuite = CONVENTION.adjusted({"rotation": Rotation.ROBOSUITE})
    assert np.array_equal(seen["states"], robosuite.state_vector(observation))
    for wire, picture in CONVENTION.images(observation).items():
        assert np.array_equal(seen[f"image_{wire}"], picture) and picture.shape == (256, 256, 3)
    assert eventually(lambda: len(server.events) == 7)
    numbers = {"suite": "libero_goal", "task_id": 7, "episode_idx": SPEC.seed}
    start = {"task": {"name": TASK.instruction.text, **numbers}}
    keys = ["controller_states", "images", "states", "task_description"]
    assert server.events == [
        ["start", start],
        ["look", 0, TASK.instruction.text, keys],
        ["look", 1, TASK.instruction.text, keys],
        ["end", {}],
        ["start", {"task": start["task"] | {"name": "another", "episode_idx": 9, "seed": SPEC.seed}}],
        ["look", 0, "another", keys],
        ["end", {}],
    ]


def test_a_real_server_gets_the_observations_that_it_declares(
    notary: Callable[..., Any], observation: Observation
):
    for params, images, state in (
        ({}, {"image_agentview", "image_wrist"}, Rotation.SHORTEST),
        ({"send_state": True}, {"image_agentview"}, Rotation.SHORTEST),
        ({"send_wrist_image": True, "env_seed": 0}, {"image_agentview", "image_wrist"}, None),
    ):
        server = notary(params)
        policy = VlaEval(f"{server.address}?timeout=20")
        policy.reset(TASK.instruction, SPEC)
        policy.act(observation)
        policy.close()
        seen = server.look(0)
        assert {name for name in seen if name.startswith("image")} == images
        assert ("states" in seen) == (state is not None)
        if state is not None:
            expected = CONVENTION.adjusted({"rotation": state}).state_vector(observation)
            assert np.array_equal(seen["states"], expected)


def test_a_real_server_with_its_own_chunks_is_queried_every_step(notary: Callable[..., Any], play: Play):
    server = notary(EVERYTHING, chunk_size=3)
    policy = VlaEval(f"{server.address}?timeout=20")
    result, world = play(policy, 6, "chunk three")
    policy.close()
    assert result.outcome is Outcome.FAILURE
    assert result.trajectory.actions[10:16, 6].tolist() == [1, -1, 1] * 2
    assert [event[1] for event in server.events if event[0] == "look"] == [0, 3]
    assert world.renderer.count == 2 * 6


def test_only_episodes_with_a_failing_server_are_errors(notary: Callable[..., Any], play: Play):
    server = notary()
    policy = VlaEval(f"{server.address}?timeout=20&connect=0.3")
    episodes = [play(policy, 2, text)[0] for text in ("go", "break it", "nan it", "go")]
    assert [episode.outcome.value for episode in episodes] == ["failure", "error", "error", "failure"]
    broken, absurd = episodes[1:3]
    assert "the server failed: observation_failed: RuntimeError: no weights left" in broken.error
    assert "not finite" in absurd.error and "\n" not in broken.error
    server.process.kill()
    server.process.wait()
    dead, _ = play(policy, 2, "go")
    assert dead.outcome is Outcome.ERROR and "vla-eval://127.0.0.1:" in dead.error


# ---------------------------------------------------------------- their client, our server


SPYING = """
import numpy as np
class Spy:
    def reset(self, instruction, spec):
        self.told, self.spec, self.looks = instruction.text, spec, 0
    def act(self, observation):
        assert observation.step == self.looks
        self.looks += 1
        np.savez({file!r}, agentview=observation.image(), wrist=observation.image("robot0_eye_in_hand"),
                 position=observation.eef_position, quaternion=observation.eef_quaternion,
                 gripper=observation.gripper, told=self.told, task=self.spec.task, seed=self.spec.seed)
        if self.told == "break":
            raise ValueError("bad\\nday")
        return np.full((3, 7), self.looks / 10.0)
"""


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File to which the policy python:spying_policies:Spy writes its observations."""
    seen = tmp_path / "seen.npz"
    (tmp_path / "spying_policies.py").write_text(SPYING.format(file=str(seen)))
    monkeypatch.syspath_prepend(tmp_path)
    return seen


def test_the_real_vla_eval_runner_is_served(
    vla_eval_python: Path,
    peer: Callable[..., str],
    served: Callable[..., str],
    spy: Path,
    observation: Observation,
    tmp_path: Path,
):
    port = served("python:spying_policies:Spy", "vla-eval", replan=2).rpartition(":")[2]
    told = [
        {"name": "break", "steps": 1},
        {"name": "stack", "suite": "libero_goal", "task_id": 4, "episode_idx": 11, "steps": 5},
        {"name": "stack", "suite": "libero_goal", "task_id": 4, "episode_idx": 12, "steps": 1},
    ]
    file = saved(CONVENTION.adjusted({"rotation": Rotation.ROBOSUITE}), observation, tmp_path)
    out = peer(vla_eval_python, "vla_eval_client.py", "play", port, file, json.dumps(told))
    hello, broken, first, second = map(json.loads, out.splitlines())
    assert hello["protocol_version"] == 1 and hello["observation_params"] == EVERYTHING
    assert "ValueError: bad day" in broken["error"]
    looks = [row[0] for row in first["actions"]]
    assert np.allclose(looks, [0.1, 0.1, 0.2, 0.2, 0.3]), "two actions of each chunk of three"
    assert np.allclose(second["actions"], 0.1), "a new episode begins with a reset"
    seen = np.load(spy)
    assert (str(seen["told"]), str(seen["task"]), int(seen["seed"])) == ("stack", "libero_goal/4", 12)
    assert np.array_equal(seen["agentview"], observation.image("agentview", 256)), "upright again"
    assert np.array_equal(seen["wrist"], observation.image("robot0_eye_in_hand", 256))
    assert np.array_equal(seen["position"], observation.eef_position)
    assert np.array_equal(seen["gripper"], observation.gripper)
    assert np.abs(seen["quaternion"] - observation.eef_quaternion).max() < 1e-9


def test_a_served_policy_acts_as_in_process(served: Callable[..., str], play: Play):
    at_home, _ = play(load_policy("random"), 6)
    policy = VlaEval(served("random", "vla-eval"))
    away, _ = play(policy, 6)
    policy.close()
    assert away.outcome is Outcome.FAILURE
    assert np.array_equal(away.trajectory.actions[10:, :6], at_home.trajectory.actions[:6, :6])
    assert np.array_equal(away.trajectory.actions[10:, 6], np.sign(at_home.trajectory.actions[:6, 6]))


# ---------------------------------------------------------------- servers that break the rules


def answering(reply: Callable[[dict[str, Any]], object]) -> Callable[[ServerConnection], None]:
    """Return a server whose reply to each message is chosen by a function; None for no reply."""

    def handle(connection: ServerConnection) -> None:
        for message in connection:
            said = codec.decode(message, max_bytes=2**24)
            chosen = reply(said)
            if isinstance(chosen, str | bytes):
                connection.send(chosen)
            elif chosen is not None:
                connection.send(codec.encode_vla_eval(chosen))

    return handle


def polite(**changes: object) -> Callable[[dict[str, Any]], object]:
    """Return a valid reply to hello, and replies to observations with these fields changed."""

    def reply(said: dict[str, Any]) -> object:
        if said["type"] == "hello":
            return {"type": "hello", "payload": HELLO, "seq": said["seq"], "timestamp": 0.0}
        if said["type"] == "observation":
            good = {"type": "action", "payload": {"actions": np.zeros(7)}, "seq": said["seq"]}
            return good | changes
        return None

    return reply


def test_a_bad_answer_is_an_error_with_address_and_reason(stub: Stub, observation: Observation):
    for changes, kind, words in (
        ({"type": "hello"}, ReplyError, "'observation' was answered with type 'hello'"),
        ({"payload": [1]}, ReplyError, "and a list"),
        ({"payload": {}}, ReplyError, "has no 'actions'"),
        ({"seq": 99}, ReplyError, "was answered with seq 99"),
        (
            {"type": "error", "payload": {"error": "cuda\nis sad"}},
            ServerError,
            "the server failed: cuda is sad",
        ),
    ):
        place = stub(answering(polite(**changes)))
        policy = VlaEval(f"vla-eval://{place}?timeout=5")
        policy.reset(TASK.instruction, SPEC)
        with pytest.raises(kind) as caught:
            policy.act(observation)
        assert words in str(caught.value)
        assert str(caught.value).startswith(f"vla-eval://{place}: ")
        policy.close()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (HELLO | {"protocol_version": 2}, "uses protocol version 2; expected 1"),
        ({}, "uses protocol version None; expected 1"),
        ("hi", "and a str"),
    ],
)
def test_an_unsupported_protocol_version_is_rejected(stub: Stub, payload: object, words: str):
    def reply(said: dict[str, Any]) -> object:
        return {"type": "hello", "payload": payload, "seq": said["seq"]}

    policy = VlaEval(f"vla-eval://{stub(answering(reply))}?timeout=5")
    with pytest.raises(ReplyError, match=words):
        policy.reset(TASK.instruction, SPEC)


class Noting(SceneEnv):
    """An environment that records which steps are absolute but does not move."""

    def __init__(self, simulation: Simulation, task: Task, state: InitialState) -> None:
        super().__init__(simulation, task, state)
        self.absolute: list[bool] = []

    def step(self, action: np.ndarray, *, absolute: bool = False) -> Observation:
        self.absolute.append(absolute)
        return super().step(action * 0.0)


def test_absolute_actions_come_with_controller_states_and_the_outcome_is_sent(
    stub: Stub, compiled: Callable[[str], CompiledScene], world_of: Callable[..., Simulation]
):
    """As with vla-eval's X-VLA server, waiting steps are relative actions, and later actions are absolute poses."""
    seen: list[Any] = []

    def handle(connection: ServerConnection) -> None:
        for message in connection:
            said = codec.decode(message, max_bytes=2**24)
            seen.append(said)
            params = {"send_state": True, "absolute_action": True}
            replies = {"hello": HELLO | {"observation_params": params}, "observation": {"actions": [1.9] * 7}}
            if said["type"] in replies:
                kind = "action" if said["type"] == "observation" else "hello"
                reply = {"type": kind, "payload": replies[said["type"]], "seq": said["seq"], "timestamp": 0.0}
                connection.send(codec.encode_vla_eval(reply))

    world = world_of(compiled(TASK.id))
    env = Noting(world, TASK, world.sample(3))
    policy = VlaEval(f"vla-eval://{stub(handle)}?timeout=5&wait=2")
    episode = rollout(env, policy, replace(SPEC, steps=3))
    assert env.absolute == [False, False, True, True, True]
    assert episode.clipped is None, "metres and radians are not cut"
    assert eventually(lambda: seen[-1]["type"] == "episode_end")
    end = seen[-1]["payload"]
    assert (end["metrics"], end["steps"]) == ({"success": False}, 5) and end["elapsed_sec"] > 0
    look = next(each["payload"] for each in seen if each["type"] == "observation")
    hand, site = look["states"].copy(), look["controller_states"].copy()
    assert site.dtype == np.float32 and np.allclose(hand[:3], site[:3]) and np.allclose(hand[6:], site[6:])
    between = Turn.from_rotvec(hand[3:6]).inv() * Turn.from_rotvec(site[3:6])
    assert np.allclose(between.as_rotvec(), [0, 0, -np.pi / 2], atol=1e-5)
    policy.close()
