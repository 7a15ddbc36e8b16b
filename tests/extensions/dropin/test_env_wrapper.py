from __future__ import annotations

import gc
import pickle
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from assay.extensions.dropin import MissingError
from assay.extensions.dropin.benchmark import get_benchmark
from assay.extensions.dropin.domain import SensorClock
from assay.extensions.dropin.env_wrapper import OffScreenRenderEnv, SegmentationRenderEnv
from assay.extensions.dropin.venv import BaseVectorEnv, DummyVectorEnv, EnvWorker
from assay.sim.simulation import OBSERVED_SUBSTEP

STILL = [0.0] * 6 + [-1.0]


@pytest.fixture
def file() -> str:
    path: str = get_benchmark("libero_goal")().get_task_bddl_file_path(7)
    return path


@pytest.fixture
def env(file: str) -> Iterator[OffScreenRenderEnv]:
    made = OffScreenRenderEnv(bddl_file_name=file, camera_heights=32, camera_widths=48)
    made.seed(0)
    made.reset()
    yield made
    made.close()


def test_observations_have_liberos_keys_and_are_writable(env: OffScreenRenderEnv):
    seen, reward, done, info = env.step(STILL)
    assert (reward, done, info) == (0.0, False, {})
    joints = ["robot0_joint_pos", "robot0_joint_pos_cos", "robot0_joint_pos_sin", "robot0_joint_vel"]
    assert list(seen)[:5] == [*joints, "robot0_eef_pos"]
    assert seen["robot0_proprio-state"].shape == (39,) and seen["object-state"].shape == (56,)
    assert seen["robot0_eef_quat"] == pytest.approx([1, 0, 0, 0], abs=0.1), "x, y, z, w"
    seen["robot0_eef_quat"][3] = 1.0
    seen["mine"] = 1
    assert "mine" in seen and seen.get("yours", 2) == 2


@pytest.mark.usefixtures("drawing")
def test_images_are_rendered_on_access(env: OffScreenRenderEnv):
    renderer = env.env._play.simulation.renderer
    seen = env.step(STILL)[0]
    assert renderer.count == 0 and "agentview_image" in seen
    image = seen["agentview_image"]
    assert renderer.count == 1 and image.shape == (32, 48, 3) and image.dtype == np.uint8
    assert np.array_equal(image[::-1], env.env._latest.image("agentview", 32, 48)), "the bottom row first"
    copy = pickle.loads(pickle.dumps(seen))
    assert type(copy) is OrderedDict and np.array_equal(copy["agentview_image"], image)
    assert dict(seen)["agentview_image"] is image and {**seen}["agentview_image"] is image
    assert isinstance(dict(seen.items())["robot0_eye_in_hand_image"], np.ndarray)


def test_initial_states_may_include_fixtures(env: OffScreenRenderEnv):
    simulation = env.env._play.simulation
    state = simulation.sample(5)
    env.set_init_state(state.flat())
    assert np.array_equal(simulation.state().fixtures, state.fixtures)
    env.set_init_state(state.vector.astype(np.float32))
    assert env.get_sim_state() == pytest.approx(state.vector, abs=1e-6)


def test_a_state_set_midway_keeps_the_controller(env: OffScreenRenderEnv):
    for _ in range(3):
        env.step([0.0] * 6 + [1.0])
    state, command = env.sim.get_state().flatten(), env.env._play.simulation.controller.drive().grip
    env.step([0.5] * 7)
    env.set_init_state(state)
    assert np.array_equal(env.get_sim_state(), state)
    assert env.env._play.simulation.controller.drive().grip <= command < 0


def test_actions_are_absolute_until_the_next_reset(env: OffScreenRenderEnv):
    controller = env.robots[0].controller
    assert controller.ee_ori_mat.shape == (3, 3)
    controller.use_delta = False
    env.step([-0.1, 0.05, 1.1, 3.1, 0.0, 0.0, -1.0])
    assert env.env.robots[0].controller.goal_pos == pytest.approx([-0.1, 0.05, 1.1])
    env.reset()
    assert env.robots[0].controller.use_delta


def test_the_horizon_ends_an_episode_unless_ignored(file: str):
    for ignore in (False, True):
        env = OffScreenRenderEnv(bddl_file_name=file, horizon=1, ignore_done=ignore)
        env.reset()
        env.step(STILL)
        if ignore:
            env.step(STILL)
        else:
            with pytest.raises(ValueError, match="terminated episode"):
                env.step(STILL)


def test_missing_attributes_are_named_on_use(env: OffScreenRenderEnv):
    for use, words in (
        (lambda: env.get_observation(), "OffScreenRenderEnv.get_observation .* '_get_observations'"),
        (lambda: env.sim.get_stat(), "sim.get_stat .*get_state"),
        (lambda: env.robots[0].controler, r"robots\[0\].controler .*controller"),
        (lambda: env.env.reset_from_xml_string(""), "env.reset_from_xml_string"),
        (lambda: env.sim.model.body_poss, "sim.model.body_poss .*body_pos"),
    ):
        with pytest.raises(MissingError, match=words):
            use()


def test_mujocos_names_and_states_are_available(env: OffScreenRenderEnv):
    sim = env.sim
    body = sim.model.body_name2id("plate_1_main")
    assert sim.model.body_id2name(body) == "plate_1_main" and "agentview" in sim.model.camera_names
    assert np.array_equal(sim.data.body_xpos[body], sim.data.get_body_xpos("plate_1_main"))
    joint = env.env.objects_dict["plate_1"].joints[-1]
    sim.data.set_joint_qpos(joint, [0.1, 0.2, 1.5, 1, 0, 0, 0])
    sim.forward()
    assert sim.data.body_xpos[body] == pytest.approx([0.1, 0.2, 1.5])
    with pytest.raises(ValueError, match="plate_1_main"):
        sim.model.body_name2id("plate_9")


@pytest.mark.usefixtures("drawing")
def test_a_moved_fixture_is_rendered_elsewhere(env: OffScreenRenderEnv):
    before = env.step(STILL)[0]["agentview_image"]
    body = env.sim.model.body_name2id("wooden_cabinet_1_main")
    env.sim.model.body_pos[body] += [0.2, 0.0, 0.0]
    after = env.step(STILL)[0]["agentview_image"]
    env.sim.forward()
    assert (before != after).any(axis=-1).sum() > 20
    assert env.sim.render(camera_name="agentview", width=48, height=32).shape == (32, 48, 3)


@pytest.mark.usefixtures("drawing")
def test_segmentations_identify_objects(file: str):
    env = SegmentationRenderEnv(bddl_file_name=file, camera_heights=64, camera_widths=64)
    seen = env.reset()["agentview_segmentation_instance"]
    assert seen.shape == (64, 64, 1) and seen.dtype == np.int32
    assert env.instance_to_id["flat_stove_1"] in np.unique(seen)
    wanted = env.get_segmentation_of_interest(seen)
    assert (wanted == 1).sum() == (seen == env.instance_to_id["flat_stove_1"]).sum() > 0


def test_environments_are_freed_without_garbage_collection(file: str):
    gc.collect()
    gc.disable()
    try:
        env = OffScreenRenderEnv(bddl_file_name=file)
        env.reset()
        simulation = weakref.ref(env.env._play.simulation)
        seen = env.step(STILL)[0]
        del env
        assert simulation() is None, "without a search for cycles"
        assert seen["robot0_eef_pos"].shape == (3,)
    finally:
        gc.enable()


def test_a_vector_environment_steps_all(file: str):
    envs = DummyVectorEnv([lambda: OffScreenRenderEnv(bddl_file_name=file)] * 2)
    envs.seed([3, 4])
    assert envs.reset().shape == (2,)
    seen, reward, done, info = envs.step([STILL, STILL])
    assert seen[0]["robot0_eef_pos"].shape == (3,) and reward.shape == done.shape == info.shape == (2,)
    assert envs.check_success() == [False, False] and len(envs.get_sim_state()) == 2
    assert envs.step([STILL], id=1)[0].shape == (1,)
    envs.close()


class Piped(EnvWorker):
    """Its answers wait until they are heard, as those of a process do."""

    def __init__(self, make: Any) -> None:
        self._step = make()
        self._answers: deque[Any] = deque()

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        try:
            self._answers.append(self._step(*arguments))
        except ValueError as error:
            self._answers.append(error)

    def recv(self) -> Any:
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


def _step(action: float) -> tuple[dict[str, float], float, bool, dict[str, Any]]:
    if action < 0:
        raise ValueError("refused")
    return {"seen": action}, 0.0, False, {}


def test_no_stale_result_remains_after_an_error():
    envs = BaseVectorEnv([lambda: _step] * 3, Piped)
    with pytest.raises(ValueError, match="refused"):
        envs.step([1.0, -1.0, 1.0])
    seen = envs.step([2.0, 3.0, 4.0])[0]
    assert [each["seen"] for each in seen] == [2.0, 3.0, 4.0]


def test_sensors_are_read_as_in_the_engine_and_a_forced_reading_advances_the_clock():
    clock = SensorClock()
    clock.force()
    assert clock.step() == OBSERVED_SUBSTEP + 1
    clock = SensorClock()
    clock.force()
    clock.force()
    assert [clock.step() for _ in range(400)] == [OBSERVED_SUBSTEP] * 400
