from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.errors import ActionError, AssayError, StateError
from assay.sim.compile import CompiledScene
from assay.sim.simulation import ACTION_SIZE, Simulation
from assay.sim.states import InitialState
from assay.tasks import Atom, Goal, Predicate

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]

TASK = "libero_goal/0"
PACKS = ["compiled", "compiled_libero"]


def actions(count: int, seed: int = 0) -> np.ndarray:
    """Actions that move the arm about and work the gripper, (count, 7)."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(0, 0.7, (count, ACTION_SIZE)), -1, 1)


def rollout(world: Simulation, state: InitialState, moves: np.ndarray) -> list[bytes]:
    """Everything that can be told of an episode without pictures, step by step."""
    told = []
    observations = [world.reset(state), *(world.step(move) for move in moves)]
    for each in observations:
        parts = (each.joints, each.eef_position, each.eef_quaternion, each.gripper, each.moment.qpos)
        told.append(b"".join(part.tobytes() for part in parts))
    told.append(world.state().vector.tobytes())
    return told


@pytest.fixture
def world(compiled: Compiled, world_of: SimulationOf) -> Simulation:
    return world_of(compiled(TASK))


# -- sameness


def test_another_process_does_the_same(world: Simulation):
    script = """
import hashlib, numpy as np
from assay import tasks
from assay.sim.compile import compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation
world = Simulation(compile_scene(tasks.load("libero_goal/0").scene, AssetPack()))
world.reset(world.sample(3))
for move in np.clip(np.random.default_rng(0).normal(0, 0.7, (15, 7)), -1, 1):
    world.step(move)
print(hashlib.sha256(world.state().vector.tobytes()).hexdigest())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    rollout(world, world.sample(3), actions(15))
    assert run.stdout.strip() == hashlib.sha256(world.state().vector.tobytes()).hexdigest()


@pytest.mark.parametrize("pack", PACKS)
def test_an_episode_does_not_depend_on_the_ones_before(
    pack: str, request: pytest.FixtureRequest, world_of: SimulationOf
):
    world = world_of(request.getfixturevalue(pack)(TASK))
    a, b = world.sample(0), world.sample(1)
    first = rollout(world, a, actions(15, seed=0))
    other = rollout(world, b, actions(25, seed=1))
    assert rollout(world, a, actions(15, seed=0)) == first
    assert rollout(world, b, actions(25, seed=1)) == other
    fresh = world_of(world.compiled)
    assert rollout(fresh, a, actions(15, seed=0)) == first
    assert first != other


# -- against LIBERO


@pytest.mark.parametrize("name", ["libero_goal_00", "libero_10_02"])
def test_ten_steps_are_those_of_libero(
    name: str, reference: Path, compiled_libero: Compiled, world_of: SimulationOf
):
    record = np.load(reference / "trajectories" / f"{name}_00_traj.npz")
    task = tasks.load(f"{record['suite']}/{record['task']}")
    world = world_of(compiled_libero(task.id))
    roots = record["root_bodies"].tolist()
    rows = [roots.index(f"{fixture.name}_main") for fixture in task.scene.fixtures]
    poses = np.hstack([record["root_pos"], record["root_quat_wxyz"]])[rows].reshape(-1, 7)
    world.reset(InitialState(record["states"][0], poses))
    for step in range(10):
        seen = world.step(record["actions"][step])
        assert world.state().vector == pytest.approx(record["states"][step + 1], abs=1e-7)
        assert seen.eef_position == pytest.approx(record["eef_pos"][step], abs=1e-8)
        assert np.roll(seen.eef_quaternion, -1) == pytest.approx(record["eef_quat_xyzw"][step], abs=1e-7)
        assert seen.gripper == pytest.approx(record["gripper_qpos"][step], abs=1e-8)
        assert world.is_satisfied(task.goal) == bool(record["success"][step])


# -- time


# -- states


def test_the_first_observation_is_the_state(world: Simulation):
    state = world.sample(0)
    seen = world.reset(state)
    assert np.array_equal(seen.moment.qpos, state.vector[1 : 1 + world.compiled.model.nq])
    assert np.array_equal(seen.joints, state.vector[1:8])
    assert np.array_equal(seen.gripper, state.vector[8:10])
    assert np.array_equal(seen.moment.fixtures, state.fixtures)


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_a_state_taken_midway_continues_exactly(pack: str, request: pytest.FixtureRequest):
    world = Simulation(request.getfixturevalue(pack)("libero_goal/0"))
    world.reset(world.sample(0))
    moves = actions(12)
    moves[:, 6] = 1.0  # the gripper closes: its command takes many substeps
    for move in moves[:6]:
        world.step(move)
    midway = world.state()
    for move in moves[6:]:
        world.step(move)
    end = world.state()
    world.reset(midway)
    for move in moves[6:]:
        world.step(move)
    assert np.array_equal(world.state().vector[1:], end.vector[1:])
    world.reset(InitialState(midway.vector, midway.fixtures))
    for move in moves[6:]:
        world.step(move)
    assert not np.allclose(world.state().vector[8:10], end.vector[8:10], atol=1e-3), (
        "without its drive it does not"
    )


def test_only_what_is_put_changes(world: Simulation):
    world.reset(world.sample(0))
    world.step(np.array([0, 0, 0, 0, 0, 0, 1.0]))
    before, command = world.state(), world.controller.drive()
    world.step(np.ones(7))
    world.overwrite(before.vector)
    assert np.array_equal(world.state().vector, before.vector) and world.steps == 2
    assert world.controller.drive().grip < command.grip, "the controller goes on"


def test_a_flat_state_may_have_the_fixtures(world: Simulation):
    state = world.sample(0)
    assert np.array_equal(InitialState.parse(world.compiled, state.flat()).flat(), state.flat())
    plain = InitialState.parse(world.compiled, state.vector)
    assert np.array_equal(plain.vector, state.vector) and not np.array_equal(plain.fixtures, state.fixtures)
    with pytest.raises(StateError, match="requires"):
        InitialState.parse(world.compiled, state.vector[:-1])


def test_a_fixture_moved_in_the_model_is_seen_and_belongs_to_the_state(world: Simulation):
    state = world.sample(0)
    before = world.reset(state)
    body = world.compiled.fixture_bodies[0]
    world.model.body_pos[body] += (0.0, 0.0, 0.1)
    seen = world.step(np.zeros(7))
    assert seen.moment.fixtures[0, 2] == pytest.approx(before.moment.fixtures[0, 2] + 0.1)
    assert world.state().fixtures[0, 2] == pytest.approx(state.fixtures[0, 2] + 0.1)


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_an_absolute_action_is_the_pose_to_go_to(pack: str, request: pytest.FixtureRequest):
    world = Simulation(request.getfixturevalue(pack)("libero_goal/0"))
    seen = world.reset(world.sample(0))
    world.step(np.zeros(7))
    aim = seen.eef_position + (0.03, -0.04, -0.05)
    turn = np.array([np.pi, 0.0, 0.0])
    for _ in range(25):
        seen = world.step(np.concatenate([aim, turn, [-1.0]]), absolute=True)
    assert seen.eef_position == pytest.approx(aim, abs=6e-3)
    assert world.controller.drive().goal_position == pytest.approx(aim)
    assert world.controller.last_pose[1] == pytest.approx(np.diag([1.0, -1.0, -1.0]), abs=0.2)


def test_fixtures_stand_where_the_state_says(world: Simulation):
    state = world.sample(0)
    shifted = InitialState(state.vector, state.fixtures + (0.05, -0.02, 0, 0, 0, 0, 0))
    world.reset(shifted)
    for fixture, pose in zip(world.compiled.scene.fixtures, shifted.fixtures, strict=True):
        body = world.compiled.entities[fixture.name].body
        assert world.data.xpos[body] == pytest.approx(pose[:3])
        assert abs(world.data.xquat[body] @ pose[3:]) == pytest.approx(1)
    region = world.compiled.regions["wooden_cabinet_1_top_side"]
    moved = world.data.site_xpos[region.site].copy()
    world.reset(state)
    assert moved - world.data.site_xpos[region.site] == pytest.approx((0.05, -0.02, 0))


# -- bad actions


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_invalid_actions_name_the_step_and_change_nothing(world: Simulation):
    invalid: tuple[object, ...] = (
        np.zeros(6), np.zeros((1, 7)), np.zeros(()), 0.0, [], None, [None] * 7, "forward", {}, [[1, 2], 3], [1j] * 7,
        [0, 0, 0, 0, 0, 0, np.nan], [np.inf, 0, 0, 0, 0, 0, 0], ["0.1"] * 7, [10**400] * 7, np.array([["x"] * 40] * 40),
    )  # fmt: skip
    world.reset(world.sample(0))
    for move in actions(2):
        world.step(move)
    before = world.state().flat()
    for action in invalid:
        with pytest.raises(ActionError, match=r"^step 2: ") as caught:
            world.step(action)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
        assert np.array_equal(world.state().flat(), before) and world.steps == 2
    with pytest.raises(ActionError, match=r"\(1, 7\); expected \(7,\)"):
        world.step(np.zeros((1, 7)))


def test_actions_may_have_any_numeric_type(world: Simulation):
    values, state = np.array([1, 0, 0, 0, 0, 0, 1]), world.sample(0)
    states = []
    for action in (values, *(values.astype(kind) for kind in (float, np.float32, bool)), values.tolist()):
        world.reset(state)
        world.step(action)  # type: ignore[arg-type]
        states.append(world.state().flat())
    assert np.ptp(states, axis=0).max() == 0


# -- before the start, and when physics breaks


def test_a_world_without_a_state_says_so(world: Simulation):
    atom = Atom(Predicate.UP, ("plate_1",))
    for ask in (
        lambda: world.step(np.zeros(7)),
        lambda: world.holds(atom),
        lambda: world.is_satisfied(Goal((atom,))),
        lambda: world.pose("plate_1"),
    ):
        with pytest.raises(StateError, match="reset"):
            ask()
    world.reset(world.sample(0))
    assert world.step(np.zeros(7)).step == 1


def test_poses_are_those_of_the_simulation(world: Simulation):
    world.reset(world.sample(0))
    for name, entity in world.compiled.entities.items():
        position, rotation = world.pose(name)
        assert np.array_equal(position, world.data.xpos[entity.body])
        assert np.array_equal(rotation.ravel(), world.data.xmat[entity.body])
    for name, region in world.compiled.regions.items():
        position, rotation = world.pose(name)
        assert np.array_equal(position, world.data.site_xpos[region.site])
        assert np.array_equal(rotation.ravel(), world.data.site_xmat[region.site])
    before = world.pose("plate_1")[0].copy()
    world.pose("plate_1")[0][:] = 9
    assert np.array_equal(world.pose("plate_1")[0], before), "what is handed out is a copy"


def test_diverging_physics_is_an_error_that_leaves_no_file_output_or_state_behind(
    world: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    state = world.sample(0)
    vector = state.vector.copy()
    vector[1 + world.model.nq + int(world.model.joint("plate_1_joint0").dofadr[0])] = 1e12
    world.reset(InitialState(vector, state.fixtures))
    with pytest.raises(AssayError, match="step"):
        for _ in range(3):
            world.step(np.zeros(7))
    assert capfd.readouterr().out == "" and list(tmp_path.iterdir()) == []
    assert world.reset(state).step == 0
