"""LIBERO's world: its tasks, and episodes of them on MuJoCo."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from assay import tasks
from assay.episodes import (
    Env,
    EpisodeSpec,
    MidEpisodeChange,
    Perturbation,
    Record,
    Traits,
    Trajectory,
    Trigger,
    World,
    apply_perturbations,
)
from assay.errors import PerturbationError, SpecError, StateError, TaskError
from assay.sim.compile import compile_scene
from assay.sim.observation import Observation
from assay.sim.packs.locate import locate_states
from assay.sim.packs.registry import PACKS, load_pack, planned_on
from assay.sim.render import CAMERAS
from assay.sim.replacement import Replacement
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, Simulation
from assay.sim.states import InitialState, stored_state
from assay.sim.stopping import Stop
from assay.sim.trace import Trace
from assay.sim.triggers import watch
from assay.tasks import Scene, Task
from assay.tasks.files import horizon
from assay.tasks.formats.init_files import read_states

SIMULATIONS = 2
"""How many compiled scenes an environment keeps; each that has rendered an image holds about 100 MB."""
FRAME = 256
"""Height and width of each camera's image in a video, pixels."""


class LiberoWorld(World):
    """LIBERO's tasks, on its own assets or on ours."""

    traits = Traits(
        "libero",
        demonstrator="oracle",
        clips=6,  # the gripper's number counts by its sign
        auditors=(("oracle", ""), ("blind", "words"), ("unseeing", "sight"), ("replay", "memory")),
    )
    action_size = ACTION_SIZE
    cameras = CAMERAS
    frame_seconds = 1 / CONTROL_HZ
    step_seconds = 1 / CONTROL_HZ
    has_stored_states = True

    @property
    def packs(self) -> Sequence[str]:
        """Asset packs that it can be built from; the first is the usual one."""
        return PACKS.names()

    def select(self, selection: str) -> tuple[Task, ...]:
        """The tasks that a selection names. Raises TaskError that says what is valid."""
        return tasks.resolve(selection)

    def task(self, spec: EpisodeSpec) -> Task:
        """The task of an episode as the policy is given it."""
        with planned_on(spec.pack):
            return apply_perturbations(tasks.load(spec.task), spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """The most control steps of an episode."""
        return horizon(spec.task) if spec.steps is None else spec.steps

    def pack_source(self, pack: str) -> object:
        """What makes an asset pack."""
        return PACKS[pack]

    def digest(self, pack: str) -> str:
        """Stands for the content of an asset pack. Raises AssetError."""
        return load_pack(pack).digest()

    def holding(self, last: np.ndarray | None) -> np.ndarray:
        """The action (7,) that moves nothing and asks the same of the gripper as ``last`` did; before any, nothing."""
        still = np.zeros(self.action_size, np.float32)
        still[-1] = 0.0 if last is None else last[-1]
        return still

    def check_states(self, specs: Iterable[EpisodeSpec], folder: Path) -> None:
        """Raise AssayError if a folder lacks the stored initial states that episodes start from."""
        for layout in dict.fromkeys(map(_layout, specs)):
            file = _file(layout, folder)
            if not file.is_file():
                raise StateError(
                    f"--states {folder}: there is no {file.relative_to(folder)} in it, which {layout} needs; valid: "
                    "LIBERO's folder init_files"
                )

    def open(self, states: Path | None = None) -> LiberoEnv:
        """An environment; ``states``: LIBERO's folder of initial states, where that is not the usual one."""
        return LiberoEnv(states)


LIBERO_WORLD = LiberoWorld()


class SceneEnv(Env):
    """Plays one task in a simulation of its scene, from one initial state."""

    states: Path | None = None
    """The folder of stored initial states."""
    world = LIBERO_WORLD
    simulation: Simulation
    task: Task

    def __init__(self, simulation: Simulation, task: Task, state: InitialState) -> None:
        self.simulation, self.task, self.state = simulation, task, state
        self._trace: Trace | None = None
        self._rendered = 0
        self.happened = 0
        self.ending: Callable[[], bool] | None = None

    @property
    def steps(self) -> int:
        """Control steps since the reset."""
        return self.simulation.steps

    @property
    def images(self) -> int:
        """How many images were rendered since the reset."""
        return self.simulation.renderer.count - self._rendered

    def reset(self, spec: EpisodeSpec) -> Observation:
        """Restore the initial state."""
        self.happened = 0
        """How many events have changed the world or the words since the reset: who plans should plan anew."""
        self.ending = None
        """What counts as success where that is no goal: says so after every step."""
        observation = self.simulation.reset(self.state)
        self._rendered = self.simulation.renderer.count
        self._trace = Trace(self.simulation, self.task)
        self._trace(observation)
        return observation

    def step(self, action: np.ndarray, *, absolute: bool = False) -> Observation:
        """Do one control step of 50 ms with an action (7,) in [-1, 1], or the pose to go to."""
        observation = self.simulation.step(action, absolute=absolute)
        assert self._trace is not None
        self._trace(observation)
        return observation

    def succeeded(self) -> bool:
        """Whether the goal is reached now."""
        return self.simulation.satisfied(self.task.goal) if self.ending is None else self.ending()

    def become(self, task: Task, simulation: Simulation | None = None) -> None:
        """Go on with another task, in another simulation if one is given, which has taken over the state."""
        if simulation is not None and simulation is not self.simulation:
            self._rendered -= self.simulation.renderer.count - simulation.renderer.count
            self.simulation = simulation
            if isinstance(self.ending, Stop):
                self.ending = self.ending.within(simulation)
        self.task = task
        if task.goal.atoms:
            self.ending = None  # a new request, and with it a goal
        self.happened += 1
        assert self._trace is not None
        self._trace.follow(self.simulation, task)

    def observe(self) -> Observation:
        """What is to be seen now."""
        return self.simulation.observe()

    def record(self) -> Record:
        """Where the end effector went, what was touched and moved, how far each atom came, and what else was done.

        Where the goal holds now, also whether it still does when the hand lets go: on a copy, which costs nobody's
        episode anything. A request that was taken back has no atoms that could come far.
        """
        trace = self._trace
        assert trace is not None
        path = Trajectory(trace.end_effector, trace.gripper, np.zeros((0, ACTION_SIZE), np.float32))
        taken_back = self.ending is not None
        after = trace.afterwards() if self.simulation.runs and trace.holds and not taken_back else None
        return Record(
            path,
            trace.touched,
            trace.moved,
            trace.truth,
            trace.initial_positions,
            trace.contacts,
            stages={} if taken_back else trace.stages,
            side_effects=trace.side_effects,
            aftermath=after,
        )

    def frame(self, observation: Observation) -> np.ndarray:
        """Both cameras side by side, (FRAME, 2 FRAME, 3)."""
        return np.hstack([observation.image(camera, FRAME) for camera in CAMERAS])

    def video_frame(self, observation: Observation) -> np.ndarray:
        """The same, drawn in half the time, with edges that are not smoothed."""
        return np.hstack([observation.sketch(camera, FRAME) for camera in CAMERAS])

    def close(self) -> None:
        """Give back what the simulation holds."""
        self.simulation.close()


class LiberoEnv(SceneEnv):
    """Plays any episode of LIBERO's world; the latest compiled scenes are kept."""

    def __init__(self, states: Path | None = None) -> None:
        self.states = states
        self._simulations: OrderedDict[tuple[Scene, str], Simulation] = OrderedDict()
        self._used: set[tuple[Scene, str]] = set()

    def reset(self, spec: EpisodeSpec) -> Observation:
        """Begin an episode: its scene is compiled unless it is at hand, its initial state restored."""
        self._used.clear()
        self._pack, self._seed = spec.pack, spec.world_seed
        self.task = LIBERO_WORLD.task(spec)
        self.simulation = self._compiled(self.task.scene, spec.pack)
        self.state = initial_state(self.simulation, spec, self.states)
        return super().reset(spec)

    def watch(self, trigger: Trigger) -> Callable[[], bool]:
        """Says of every state whether a trigger holds. Raises PerturbationError where it never can in this task."""
        return watch(self.simulation, self.task, trigger)

    def prepare(self, change: Perturbation, rng: np.random.Generator) -> Callable[[], bool]:
        """What lets a change happen, once; False where it cannot yet. Raises AssayError where it never can.

        Of a changed scene another model is compiled, now, and takes over the state when it happens: the one that
        is played in stays as it is.
        """
        if change.world not in ("", LIBERO_WORLD.traits.name):
            raise PerturbationError(f"{change.kind} is for tasks of the world '{change.world}'")
        if isinstance(change, MidEpisodeChange):
            return lambda: change.happen(self, rng)
        with planned_on(self._pack):
            task: Task = change.apply(self.task, rng)
        if task.scene == self.task.scene:
            return lambda: self._told(task)
        taking_over = Replacement(
            self.simulation, self._compiled(task.scene, self._pack), self.state, self._seed
        )
        return lambda: self._replaced(task, taking_over)

    def _told(self, task: Task) -> bool:
        self.become(task)
        return True

    def _replaced(self, task: Task, taking_over: Replacement) -> bool:
        done = taking_over()
        if done:
            self.become(task, taking_over.simulation)
        return done

    def close(self) -> None:
        """Give back what the simulations hold."""
        while self._simulations:
            self._simulations.popitem()[1].close()

    def _compiled(self, scene: Scene, pack: str) -> Simulation:
        key = (scene, pack)
        if key not in self._simulations:
            for idle in [simulation for simulation in self._simulations if simulation not in self._used]:
                if len(self._simulations) >= SIMULATIONS:
                    self._simulations.pop(idle).close()
            self._simulations[key] = Simulation(compile_scene(scene, load_pack(pack)))
        self._used.add(key)  # what this episode plays in stays, whatever events bring
        self._simulations.move_to_end(key)
        return self._simulations[key]


def initial_state(simulation: Simulation, spec: EpisodeSpec, states: Path | None = None) -> InitialState:
    """Where an episode starts: drawn by its seed or held start, or that one's place in LIBERO's file of the task."""
    if spec.initial == "sampled":
        return simulation.sample(spec.world_seed)
    file, number = _file(_layout(spec), states), spec.world_seed
    stored = _vectors(file)
    if not 0 <= number < len(stored):
        raise StateError(f"{spec.task} has stored states 0 to {len(stored) - 1}, not {number}")
    return stored_state(simulation.compiled, stored[number], file)


def _file(layout: str, states: Path | None) -> Path:
    """The stored initial states of a task."""
    file = tasks.states_file(layout) if tasks.names_file(layout) else _of_libero(layout, states)
    if file is None:
        raise TaskError(f"{layout} has no stored initial states")
    return file


def _layout(spec: EpisodeSpec) -> str:
    """The id of the task whose scene an episode has: its own, or the one that a perturbation brings."""
    layout = spec.task
    for perturbation in spec.perturbations:
        if perturbation.scene_file is not None:
            layout = perturbation.scene_file
        elif perturbation.rebuilds:
            raise SpecError(
                f"{spec.condition}: a changed scene cannot start from a stored state of the original: "
                "leave --states out, or change what is no part of the scene"
            )
    return layout


@lru_cache(maxsize=4)
def _vectors(file: Path) -> np.ndarray:
    """The states in a file, (count, 1 + nq + nv)."""
    return read_states(file)


def _of_libero(task: str, states: Path | None) -> Path | None:
    """LIBERO's file of a built-in task's initial states, or the ``.npz`` that takes its place."""
    name = tasks.entry(task).file
    if name is None:
        return None
    file = locate_states(states) / task.split("/")[0] / f"{name}.pruned_init"
    plain = file.with_name(f"{file.name}.npz")
    return plain if plain.is_file() and not file.is_file() else file
