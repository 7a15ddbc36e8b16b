from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.errors import ActionError, AssayError, StateError, TaskError
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, SUBSTEPS, Simulation
from assay.sim.states import InitialState, from_flat
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


@pytest.mark.parametrize("pack", PACKS)
def test_two_worlds_do_the_same(pack: str, request: pytest.FixtureRequest, world_of: SimulationOf):
    scene = request.getfixturevalue(pack)(TASK)
    one, other = world_of(scene), world_of(scene)
    state = one.sample(0)
    assert rollout(one, state, actions(15)) == rollout(other, state, actions(15))


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


@pytest.mark.parametrize("pack", PACKS)
def test_an_episode_does_not_depend_on_one_that_was_left_early(
    pack: str, request: pytest.FixtureRequest, world_of: SimulationOf
):
    world = world_of(request.getfixturevalue(pack)(TASK))
    state = world.sample(0)
    first = rollout(world, state, actions(8))
    world.reset(world.sample(1))  # and no step
    assert rollout(world, state, actions(8)) == first
    world.reset(world.sample(1))
    with pytest.raises(ActionError):
        world.step(np.zeros(3))
    assert rollout(world, state, actions(8)) == first


def test_worlds_on_one_scene_do_not_disturb_each_other(primitives: AssetPack, world_of: SimulationOf):
    scene = compile_scene(tasks.load(TASK).scene, primitives)
    one, other = world_of(scene), world_of(scene)
    state, elsewhere = one.sample(0), one.sample(1)
    one.reset(state)
    other.reset(elsewhere)
    one.step(np.zeros(7))
    place = one.data.xpos[scene.entities["wooden_cabinet_1"].body]
    assert place == pytest.approx(state.fixtures[0, :3], abs=1e-9)


def test_sampling_during_an_episode_does_not_disturb_it(primitives: AssetPack, world_of: SimulationOf):
    world = world_of(compile_scene(tasks.load(TASK).scene, primitives))
    state = world.sample(0)
    world.reset(state)
    world.sample(1)
    world.step(np.zeros(7))
    place = world.data.xpos[world.compiled.entities["wooden_cabinet_1"].body]
    assert place == pytest.approx(state.fixtures[0, :3], abs=1e-9)


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


def test_a_step_is_a_twentieth_of_a_second(world: Simulation):
    world.reset(world.sample(0))
    assert CONTROL_HZ * SUBSTEPS * world.compiled.model.opt.timestep == pytest.approx(1.0)
    for count in range(1, 4):
        seen = world.step(np.zeros(7))
        assert (world.steps, seen.step) == (count, count)
        assert world.data.time == pytest.approx(0.05 * count)


def test_a_reset_starts_counting_again(world: Simulation):
    state = world.sample(0)
    world.reset(state)
    world.step(np.zeros(7))
    assert world.reset(state).step == world.steps == 0


# -- states


def test_the_first_observation_is_the_state(world: Simulation):
    state = world.sample(0)
    seen = world.reset(state)
    assert np.array_equal(seen.moment.qpos, state.vector[1 : 1 + world.compiled.model.nq])
    assert np.array_equal(seen.joints, state.vector[1:8])
    assert np.array_equal(seen.gripper, state.vector[8:10])
    assert np.array_equal(seen.moment.fixtures, state.fixtures)


def test_the_state_after_a_reset_is_the_one_given(world: Simulation):
    state = world.sample(0)
    world.reset(state)
    assert world.state() == state


def test_a_state_taken_midway_can_be_gone_back_to(world: Simulation):
    world.reset(world.sample(0))
    for move in actions(5):
        world.step(move)
    midway = world.state()
    kept = InitialState(midway.vector.copy(), midway.fixtures.copy(), midway.drive)
    world.step(np.ones(7))
    assert midway == kept, "what was taken stays as it was"
    seen = world.reset(midway)
    assert world.state() == midway
    assert world.data.time == pytest.approx(0.25) and seen.step == 0
    world.step(np.zeros(7))
    assert np.abs(world.data.qpos[:7] - midway.vector[1:8]).max() < 0.1


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_a_state_taken_midway_goes_on_exactly(pack: str, request: pytest.FixtureRequest):
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
    assert from_flat(world.compiled, state.flat()) == state
    plain = from_flat(world.compiled, state.vector)
    assert np.array_equal(plain.vector, state.vector) and not np.array_equal(plain.fixtures, state.fixtures)
    with pytest.raises(StateError, match="needs"):
        from_flat(world.compiled, state.vector[:-1])


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
    assert world.controller.seen_rotation == pytest.approx(np.diag([1.0, -1.0, -1.0]), abs=0.2)


def test_a_state_cannot_be_changed_from_outside(world: Simulation):
    vector, fixtures = world.sample(0).vector.copy(), world.sample(0).fixtures.copy()
    state = InitialState(vector, fixtures)
    world.reset(state)
    vector[:], fixtures[:] = 0, 0
    assert world.state() == state == world.sample(0)
    for kept in (state.vector, state.fixtures):
        with pytest.raises(ValueError, match="read-only"):
            kept[:] = 0


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


def test_fixtures_are_solid_where_the_state_says(world: Simulation):
    # A bowl above the cabinet falls onto it, and past it once the cabinet stands elsewhere.
    state = world.sample(0)
    bowl = world.compiled.entities["akita_black_bowl_1"]
    first = 1 + int(world.compiled.model.jnt_qposadr[bowl.joints[-1]])
    vector = state.vector.copy()
    vector[first : first + 3] = state.fixtures[0, :3] + (0, 0, 0.3)
    heights = []
    for shift in (0.0, 0.4):
        fixtures = state.fixtures.copy()
        fixtures[0, 0] += shift
        world.reset(InitialState(vector, fixtures))
        for _ in range(20):
            world.step(np.zeros(7))
        heights.append(float(world.data.xpos[bowl.body][2]))
    assert heights[0] > 1.1 and heights[1] < 1.0


# -- bad actions


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(np.zeros(6), id="six"),
        pytest.param(np.zeros(8), id="eight"),
        pytest.param(np.zeros((1, 7)), id="a chunk of one"),
        pytest.param(np.zeros((8, 7)), id="a chunk"),
        pytest.param(np.zeros(()), id="a number"),
        pytest.param(0.0, id="a plain number"),
        pytest.param([], id="empty"),
        pytest.param(None, id="none"),
        pytest.param([None] * 7, id="nones"),
        pytest.param("forward", id="a word"),
        pytest.param({}, id="a dictionary"),
        pytest.param([[1, 2], 3], id="ragged"),
        pytest.param([1j] * 7, id="a list of complex numbers"),
        pytest.param([0, 0, 0, 0, 0, 0, np.nan], id="nan"),
        pytest.param([np.inf, 0, 0, 0, 0, 0, 0], id="infinity"),
        pytest.param([0, -np.inf, 0, 0, 0, 0, 0], id="minus infinity"),
        pytest.param(
            np.zeros(7, dtype=complex) + 1j,
            id="an array of complex numbers",
        ),
        pytest.param(
            ["0.1"] * 7,
            id="strings",
        ),
        pytest.param(
            [10**400] * 7,
            id="beyond float",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_bad_action_names_the_step_and_changes_nothing(world: Simulation, action: object):
    state = world.sample(0)
    world.reset(state)
    for move in actions(2):
        world.step(move)
    before = world.state()
    with pytest.raises(ActionError, match=r"^step 2: ") as caught:
        world.step(action)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert world.state() == before and world.steps == 2
    world.step(actions(3)[2])
    finished = world.state()
    rollout(world, state, actions(3))
    assert world.state() == finished


def test_the_valid_shape_is_told(world: Simulation):
    world.reset(world.sample(0))
    with pytest.raises(ActionError, match=r"\(1, 7\); valid: \(7,\)"):
        world.step(np.zeros((1, 7)))


def test_a_bad_action_is_one_line_however_long(world: Simulation):
    world.reset(world.sample(0))
    with pytest.raises(ActionError) as caught:
        world.step(np.array([["x"] * 40] * 40))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, bool, list, tuple])
def test_numbers_of_any_kind_are_actions(world: Simulation, kind: type):
    state = world.sample(0)
    values = np.array([1, 0, 0, 0, 0, 0, 1])
    world.reset(state)
    world.step(values.astype(float))
    expected = world.state()
    world.reset(state)
    world.step(kind(values) if kind in (list, tuple) else values.astype(kind))
    assert world.state() == expected


def test_an_action_is_left_as_it_was(world: Simulation):
    world.reset(world.sample(0))
    move = np.full(7, 3.0)
    move.flags.writeable = False
    world.step(move)
    assert (move == 3.0).all()


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


def test_a_goal_that_can_never_hold_is_refused(world: Simulation):
    world.reset(world.sample(0))
    with pytest.raises(TaskError, match="has no such mechanism"):
        world.is_satisfied(Goal((Atom(Predicate.OPEN, ("plate_1",)),)))


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


def test_an_unknown_name_has_no_pose(world: Simulation):
    world.reset(world.sample(0))
    with pytest.raises(TaskError, match=r"did you mean 'plate_1'\?"):
        world.pose("plate_2")


@pytest.mark.parametrize("seed", [1.5, "x", None])
def test_a_seed_is_a_whole_number(world: Simulation, seed: object):
    with pytest.raises(TypeError):
        world.sample(seed)  # type: ignore[arg-type]


def test_a_seed_may_come_from_an_array(world: Simulation):
    assert world.sample(np.int64(3)) == world.sample(3)  # type: ignore[arg-type]


def broken(world: Simulation) -> InitialState:
    """A state in which a plate flies off faster than physics can follow."""
    state = world.sample(0)
    vector = state.vector.copy()
    vector[1 + world.model.nq + int(world.model.joint("plate_1_joint0").dofadr[0])] = 1e12
    return InitialState(vector, state.fixtures)


def test_physics_that_breaks_is_an_error_and_no_failure(world: Simulation):
    world.reset(broken(world))
    with pytest.raises(AssayError, match="step"):
        for _ in range(3):
            world.step(np.zeros(7))


def test_physics_that_breaks_writes_no_file_and_nothing_to_standard_output(
    world: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    world.reset(broken(world))
    with contextlib.suppress(AssayError):
        world.step(np.zeros(7))
    assert capfd.readouterr().out == "" and list(tmp_path.iterdir()) == []
    assert world.reset(world.sample(0)).step == 0, "and the world is as good as new"
