"""LIBERO's world: its tasks, and environments that run them on MuJoCo."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import mujoco
import numpy as np

from assay import tasks
from assay.episodes import (
    Env,
    EpisodeSpec,
    MidEpisodeChange,
    Perturbation,
    Record,
    Traits,
    Trigger,
    World,
    apply_perturbations,
)
from assay.errors import PerturbationError, SpecError, StateError, TaskError
from assay.sim.compile import EntityIndex, compile_scene, live_fixtures
from assay.sim.observation import Observation
from assay.sim.packs.locate import locate_states
from assay.sim.packs.registry import PACKS, load_pack, planned_on
from assay.sim.render import CAMERAS
from assay.sim.robot_contacts import Fingers
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, Simulation
from assay.sim.states import InitialState
from assay.sim.trace import Trace
from assay.sim.triggers import SafeStop, watch
from assay.tasks import Scene, Task
from assay.tasks.files import horizon
from assay.tasks.formats.init_files import read_states

MAX_SIMULATIONS = 2
"""Maximum number of cached compiled scenes; a scene that has rendered an image takes about 100 MB."""
VIDEO_PIXELS = 256
"""Height and width of each camera's image in a video, in pixels."""
MOVED = 0.002
"""Minimum distance between an object's positions before and after a change for it to count as moved, in metres."""
DROP_HEIGHT = 0.02
"""Height above its planned position from which a new object is dropped, in metres."""
MAX_OVERLAP = 0.001
"""Maximum interpenetration of a moved object with others, in metres."""


class LiberoWorld(World):
    """LIBERO's tasks, with LIBERO's assets or those of another pack."""

    traits = Traits(
        "libero",
        demonstrator="oracle",
        clips=6,  # only the sign of the gripper's value matters
        auditors=(("oracle", ""), ("blind", "words"), ("unseeing", "sight"), ("replay", "memory")),
    )
    action_size = ACTION_SIZE
    cameras = CAMERAS
    frame_seconds = 1 / CONTROL_HZ
    step_seconds = 1 / CONTROL_HZ
    has_stored_states = True

    @property
    def packs(self) -> Sequence[str]:
        """Names of the asset packs; the first is the default."""
        return tuple(PACKS)

    def select(self, selection: str) -> tuple[Task, ...]:
        """Return the tasks in a selection such as ``libero_goal/1``. Raises TaskError, listing the valid names."""
        return tasks.resolve(selection)

    def task(self, spec: EpisodeSpec) -> Task:
        """Return the task of an episode with its perturbations applied."""
        with planned_on(spec.pack):
            return apply_perturbations(tasks.load(spec.task), spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """Return the maximum number of control steps in an episode."""
        return horizon(spec.task) if spec.steps is None else spec.steps

    def pack_source(self, pack: str) -> object:
        """Return the class or function that creates an asset pack."""
        return PACKS.load(pack)

    def digest(self, pack: str) -> str:
        """Return a hash of the content of an asset pack. Raises AssetError."""
        return load_pack(pack).digest()

    def holding(self, last: np.ndarray | None) -> np.ndarray:
        """Return the action (7,) that holds the arm still and repeats the gripper component of ``last``."""
        still = np.zeros(self.action_size, np.float32)
        still[-1] = 0.0 if last is None else last[-1]
        return still

    def check_states(self, specs: Iterable[EpisodeSpec], folder: Path) -> None:
        """Raise StateError if ``folder`` lacks the stored initial states for any of the episodes."""
        for layout in dict.fromkeys(map(_layout, specs)):
            file = _states_file(layout, folder)
            if not file.is_file():
                raise StateError(
                    f"--states {folder} lacks {file.relative_to(folder)}, which {layout} needs; expected LIBERO's "
                    "folder init_files"
                )

    def open(self, states: Path | None = None) -> LiberoEnv:
        """Create an environment; ``states`` overrides the folder of LIBERO's stored initial states."""
        return LiberoEnv(states)


LIBERO_WORLD = LiberoWorld()


class SceneEnv(Env):
    """Runs one task in a given simulation from a given initial state."""

    states: Path | None = None
    """The folder of stored initial states."""
    world = LIBERO_WORLD
    simulation: Simulation
    task: Task
    happened = 0
    """Number of changes to the task or scene since the reset; a planner replans when it increases."""

    def __init__(self, simulation: Simulation, task: Task, state: InitialState) -> None:
        self.simulation, self.task, self.state = simulation, task, state

    @property
    def steps(self) -> int:
        """Number of control steps since the reset."""
        return self.simulation.steps

    @property
    def images(self) -> int:
        """Number of images rendered since the reset."""
        return self.simulation.renderer.count - self._rendered

    def reset(self, spec: EpisodeSpec) -> Observation:
        """Restore the initial state."""
        self.happened = 0
        self.ending: Callable[[], bool] | None = None
        """Success criterion that replaces the goal, evaluated after every step."""
        observation = self.simulation.reset(self.state)
        self._rendered = self.simulation.renderer.count
        self._trace = Trace(self.simulation, self.task)
        self._trace(observation)
        return observation

    def step(self, action: np.ndarray, *, absolute: bool = False) -> Observation:
        """Advance by one control step of 50 ms with an action (7,): in [-1, 1], or an ``absolute`` goal pose."""
        observation = self.simulation.step(action, absolute=absolute)
        self._trace(observation)
        return observation

    def succeeded(self) -> bool:
        """Return whether the goal currently holds."""
        return self.simulation.is_satisfied(self.task.goal) if self.ending is None else self.ending()

    def become(self, task: Task, simulation: Simulation | None = None) -> None:
        """Continue with another task, and in another simulation if one has taken over the state of the current one."""
        if simulation is not None and simulation is not self.simulation:
            self._rendered -= self.simulation.renderer.count - simulation.renderer.count
            self.simulation = simulation
            if isinstance(self.ending, SafeStop):
                self.ending = self.ending.transfer(simulation)
        self.task = task
        if task.goal.atoms:
            self.ending = None  # the new request has a goal again
        self.happened += 1
        self._trace.follow(self.simulation, task)

    def observe(self) -> Observation:
        """Observe the current state."""
        return self.simulation.observe()

    def record(self) -> Record:
        """Return the trajectory, contacts, progress and side effects; after success, also whether the goal persists."""
        return self._trace.record(is_withdrawn=self.ending is not None)

    def frame(self, observation: Observation) -> np.ndarray:
        """Return the images of both cameras side by side, (256, 512, 3)."""
        return np.hstack([observation.image(camera, VIDEO_PIXELS) for camera in CAMERAS])

    def close(self) -> None:
        """Release the simulation's GL resources."""
        self.simulation.close()


class LiberoEnv(SceneEnv):
    """Runs any episode of LIBERO's world and caches the most recent compiled scenes."""

    def __init__(self, states: Path | None = None) -> None:
        self.states = states
        self._simulations: OrderedDict[tuple[Scene, str], Simulation] = OrderedDict()
        self._used: set[tuple[Scene, str]] = set()

    def reset(self, spec: EpisodeSpec) -> Observation:
        """Start an episode, compiling its scene unless it is cached."""
        self._used.clear()
        self._pack, self._seed = spec.pack, spec.world_seed
        self.task = LIBERO_WORLD.task(spec)
        self.simulation = self._simulate(self.task.scene, spec.pack)
        self.state = initial_state(self.simulation, spec, self.states)
        return super().reset(spec)

    def watch(self, trigger: Trigger) -> Callable[[], bool]:
        """Return a function that evaluates a trigger. Raises PerturbationError if it can never hold in this task."""
        return watch(self.simulation, self.task, trigger)

    def prepare(self, change: Perturbation, rng: np.random.Generator) -> Callable[[], bool]:
        """Return a function that applies a change once; it returns False while the change cannot be applied yet.

        Raises AssayError if the change can never be applied. A changed scene is compiled immediately, into another
        model that takes over the state when the change is applied.
        """
        if change.world not in ("", LIBERO_WORLD.traits.name):
            raise PerturbationError(f"{change.kind} applies only to tasks of the world '{change.world}'")
        if isinstance(change, MidEpisodeChange):
            return lambda: change.happen(self, rng)
        with planned_on(self._pack):
            task: Task = change.apply(self.task, rng)
        simulation = replacement = None
        if task.scene != self.task.scene:
            simulation = self._simulate(task.scene, self._pack)
            replacement = Replacement(self.simulation, simulation, self.state, self._seed)

        def apply() -> bool:
            if replacement is not None and not replacement():
                return False
            self.become(task, simulation)
            return True

        return apply

    def close(self) -> None:
        """Release the GL resources of all cached simulations."""
        while self._simulations:
            self._simulations.popitem()[1].close()

    def _simulate(self, scene: Scene, pack: str) -> Simulation:
        key = (scene, pack)
        if key not in self._simulations:
            for idle in [simulation for simulation in self._simulations if simulation not in self._used]:
                if len(self._simulations) >= MAX_SIMULATIONS:
                    self._simulations.pop(idle).close()
            self._simulations[key] = Simulation(compile_scene(scene, load_pack(pack)))
        self._used.add(key)  # never evict a simulation of the running episode
        self._simulations.move_to_end(key)
        return self._simulations[key]


class Replacement:
    """Transfers an episode to another simulation once nothing touches changed objects and new places are vacant.

    The robot, its controller and all objects that the new scene does not change continue exactly as before.
    Objects that the new scene moves are put at their new positions; resized objects keep their position if they
    fit; new objects drop from a small height.
    """

    def __init__(self, old: Simulation, new: Simulation, initial: InitialState, seed: int) -> None:
        """Plan a replacement of ``old`` by ``new``, given the episode's initial state and the seed of its layout.

        Raises PlacementError if the new scene has no valid layout, and PerturbationError if the room or robot changes.
        """
        before, after = old.compiled, new.compiled
        if before.layout != after.layout or before.home != after.home:
            raise PerturbationError("neither the room nor the robot's pose can change during an episode")
        self._old, self.simulation = old, new
        original, changed = old.sample(seed), new.sample(seed)
        self._vector, self._fixtures = changed.vector.copy(), changed.fixtures.copy()
        self._fingers = Fingers(new)
        self._fingers_before = Fingers(old)
        kinds_before, kinds = (
            {entity.name: (entity.category, entity.size) for entity in compiled.scene.entities}
            for compiled in (before, after)
        )
        self._resized: list[tuple[EntityIndex, float]] = []
        """Resized objects, each with its change in height, in metres."""
        self._new_places: list[EntityIndex] = []
        """Moved and added entities."""
        for name, entity in after.entities.items():
            previous = before.entities.get(name)
            if previous is None:
                self._new_places.append(entity)
                if entity.movable:
                    self._vector[_place(new, entity)][2] += DROP_HEIGHT
            elif entity.movable and previous.movable:
                place = _place(old, previous)
                here, there = original.vector[place], changed.vector[_place(new, entity)]
                if kinds[name] != kinds_before[name] and kinds[name][0] == kinds_before[name][0]:
                    self._resized.append((entity, float(there[2] - here[2])))
                elif np.linalg.norm(there - here) > MOVED:
                    self._new_places.append(entity)
                    self._vector[_place(new, entity)] = there + initial.vector[place] - here
        self._standing: list[tuple[int, int]] = []
        """Indices of each fixture that does not move: in the new scene and in the old scene."""
        self._shifted: list[EntityIndex] = []
        fixtures = {fixture.name: index for index, fixture in enumerate(before.scene.fixtures)}
        for index, fixture in enumerate(after.scene.fixtures):
            if fixture.name in fixtures:
                old_index = fixtures[fixture.name]
                way = changed.fixtures[index, :3] - original.fixtures[old_index, :3]
                if np.linalg.norm(way) <= MOVED:
                    self._standing.append((index, old_index))
                else:
                    self._shifted.append(after.entities[fixture.name])
        changed_names = {entity.name for entity in (*self._new_places, *self._shifted)}
        changed_names |= {name for name, kind in kinds_before.items() if kinds.get(name) != kind}
        self._changed = [entity for name, entity in before.entities.items() if name in changed_names]

    def __call__(self) -> bool:
        """Transfer the state if nothing touches changed objects and new places are free; ``old`` is unchanged."""
        if any(map(self._fingers_before.touch, self._changed)):
            return False
        old, new = self._old, self.simulation
        before, after = old.state(), self._vector.copy()
        assert before.drive is not None
        after[0] = before.vector[0]
        after[1 + new.model.nq :] = 0.0
        warm = np.zeros(new.model.nv)
        placed = {joint for entity in self._new_places for joint in entity.joints}
        for joint in set(range(new.model.njnt)) - placed:
            previous = mujoco.mj_name2id(old.model, mujoco.mjtObj.mjOBJ_JOINT, new.model.joint(joint).name)
            is_free = new.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
            positions, velocities = np.arange(7 if is_free else 1), np.arange(6 if is_free else 1)
            if previous >= 0:
                (place, dof), (old_place, old_dof) = (
                    (model.jnt_qposadr[number] + positions, model.jnt_dofadr[number] + velocities)
                    for model, number in ((new.model, joint), (old.model, previous))
                )
                after[1 + place] = before.vector[1 + old_place]
                after[1 + new.model.nq + dof] = before.vector[1 + old.model.nq + old_dof]
                warm[dof] = before.drive.warm_start[old_dof]
        for entity, lift in self._resized:
            after[_place(new, entity)][2] += lift
        fixtures = self._fixtures.copy()
        live = live_fixtures(old.model, old.compiled)
        for number, there in self._standing:
            fixtures[number] = live[there]
        new.reset(InitialState(after, fixtures, replace(before.drive, warm_start=warm)), old.steps)
        fitted = (*self._new_places, *(entity for entity, _ in self._resized))
        pairs, depth = new.data.contact.geom[: new.data.ncon], new.data.contact.dist[: new.data.ncon]
        for entity in fitted:
            mine = np.isin(pairs, list(entity.geoms))
            if (depth[mine[:, 0] != mine[:, 1]] < -MAX_OVERLAP).any():  # overlaps with another object
                return False
        return not any(map(self._fingers.touch, (*fitted, *self._shifted)))


def _place(simulation: Simulation, entity: EntityIndex) -> slice:
    """Return the slice of the state vector that holds the position (3,) of a movable object."""
    first = 1 + int(simulation.model.jnt_qposadr[entity.joints[-1]])
    return slice(first, first + 3)


def initial_state(simulation: Simulation, spec: EpisodeSpec, states: Path | None = None) -> InitialState:
    """Return the initial state of an episode, sampled from its seed or stored with the seed as its number."""
    if spec.initial == "sampled":
        return simulation.sample(spec.world_seed)
    file, number = _states_file(_layout(spec), states), spec.world_seed
    stored = _read_vectors(file)
    if not 0 <= number < len(stored):
        raise StateError(f"{spec.task} has only the stored states 0 to {len(stored) - 1}, not {number}")
    try:
        return InitialState.parse(simulation.compiled, stored[number])
    except StateError as error:
        raise StateError(f"{file}: {error}") from None


def _states_file(layout: str, states: Path | None) -> Path:
    """Return the file of a task's stored initial states. Raises TaskError if none exists."""
    if tasks.names_file(layout):
        if (stored := tasks.states_file(layout)) is not None:
            return stored
    elif (name := tasks.entry(layout).file) is not None:
        file = locate_states(states) / layout.split("/")[0] / f"{name}.pruned_init"
        plain = file.with_name(f"{file.name}.npz")
        return plain if plain.is_file() and not file.is_file() else file
    raise TaskError(f"{layout} has no stored initial states")


def _layout(spec: EpisodeSpec) -> str:
    """Return the task whose stored states apply to an episode: its own, or that of a perturbation's scene file."""
    layout = spec.task
    for perturbation in spec.perturbations:
        if perturbation.scene_file is not None:
            layout = perturbation.scene_file
        elif perturbation.rebuilds:
            raise SpecError(
                f"{spec.condition}: a changed scene cannot start from a stored state of the original scene; "
                "omit --states, or use perturbations that leave the scene unchanged"
            )
    return layout


_read_vectors = lru_cache(maxsize=4)(read_states)
