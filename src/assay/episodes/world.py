"""The interface of a world: a family of tasks and the simulator that runs them.

A `World` is stateless: its tasks, its action size, its assets. Its `Env` holds a simulation and runs one episode after
the other. LIBERO, the tabletop and third-party worlds derive from the same two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from assay.episodes.conduct import Aftermath, SideEffects, Stages
from assay.episodes.episode import Intervals, Position, Trajectory
from assay.episodes.instruction import Instruction
from assay.episodes.perturbation import apply_perturbations
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssetError, TaskError, WorldError, did_you_mean
from assay.support.plugins import PYTHON, Registry, registered_addresses


class WorldTask(Protocol):
    """The members that tasks of every world have."""

    @property
    def id(self) -> str:
        """A stable name."""
        ...

    @property
    def instruction(self) -> Instruction:
        """The instruction given to the policy."""
        ...


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a world that measures and reports need; stored with a run."""

    name: str
    """Name of the world; task ids begin with it and a slash."""
    continuous: bool = True
    """Whether the trajectory is a path through space, sampled at every control step. Otherwise each action is a whole
    motion, and distances between trajectories are meaningless."""
    start_columns: tuple[str, ...] = ()
    """Labels and columns determined by the start (task and seed), such as an instruction that names a sampled object:
    they do not distinguish variants of a task."""
    demonstrator: str | None = None
    """The policy that certifies perturbed scenes as solvable; None if scenes are not certified."""
    clips: int = 0
    """Leading numbers of an action that are clipped to [-1, 1]."""
    auditors: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Built-in policies used to audit experiments, with the input each lacks: ``words``, ``sight`` or ``memory``
    (it has memory alone); empty if it lacks none. Not stored."""

    def as_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {name: value for name, value in asdict(self).items() if name != "auditors"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Traits:
        """Read the object that `as_json` returned."""
        names = ("name", "continuous", "demonstrator", "clips")
        fields = {name: value[name] for name in names if name in value}
        return cls(**fields, start_columns=tuple(value.get("start_columns", ())))


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What a world knows about an episode once it has ended. None: the world does not know."""

    trajectory: Trajectory | None = None
    """The path of the end effector; its ``actions`` are filled in by the rollout."""
    touched: str | None = None
    """The first object touched by the robot."""
    moved: str | None = None
    """The first object that moved."""
    truth: Mapping[str, Intervals] | None = None
    """When each atom of the goal was true."""
    initial_positions: Mapping[str, Position] | None = None
    """Positions of the task's objects at the start."""
    contacts: Mapping[str, Intervals] | None = None
    """When the robot touched each object, ordered by first contact."""
    note: str = ""
    """Why the episode failed."""
    stages: Mapping[str, Stages] | None = None
    """Progress of each atom of the goal that did not hold at the start."""
    side_effects: SideEffects | None = None
    """Unrequested changes to the scene."""
    aftermath: Aftermath | None = None
    """Whether a reached goal still holds after the robot lets go."""


class Env:
    """Runs episodes one after the other and caches expensive resources (compiled models) between them.

    Derive from it: `reset`, `step` and `succeeded` are required, everything else has a default. `reset` sets `task`.
    """

    world: World
    """The world it belongs to."""
    task: Any
    """The task of the current episode with its perturbations applied, as `World.task` returns it."""
    simulation: Any = None
    """The simulator, for policies that may read its state."""

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def images(self) -> int:
        """Number of images rendered since the reset."""
        return 0

    def reset(self, spec: EpisodeSpec) -> Any:
        """Start an episode and return its first observation. Raises AssayError if it cannot be started.

        Draw random numbers from ``stream(spec.world_seed, ...)``: ``spec.seed`` may belong to the policy alone.
        """
        raise WorldError(f"{type(self).__name__} has no method reset(spec)")

    def step(self, action: np.ndarray) -> Any:
        """Execute one action, (action size,), and return the observation after it."""
        raise WorldError(f"{type(self).__name__} has no method step(action)")

    def succeeded(self) -> bool:
        """Whether the goal holds now."""
        raise WorldError(f"{type(self).__name__} has no method succeeded()")

    def record(self) -> Record:
        """What happened since the reset; the rollout adds the actions."""
        return Record()

    def frame(self, observation: Any) -> np.ndarray:
        """An image of an observation for videos: uint8, (height, width, 3)."""
        raise WorldError(
            f"the world '{self.world.traits.name}' has no videos: {type(self).__name__} has no frame()"
        )

    def watch(self, trigger: Any) -> Callable[[], bool]:
        """A function that tells after each step whether a `Trigger` holds.

        Raises PerturbationError if it never can in this task, and WorldError if the world has no such triggers.
        """
        raise self._static()

    def prepare(self, change: Any, rng: np.random.Generator) -> Callable[[], bool]:
        """A function that applies a perturbation to the running episode; it returns False to be called again later.

        Raises AssayError if the change is impossible, and WorldError if the world is fixed during an episode.
        """
        raise self._static()

    def observe(self) -> Any:
        """The current observation, after a change during the episode."""
        raise self._static()

    def close(self) -> None:
        """Release resources."""

    def _static(self) -> WorldError:
        return WorldError(
            f"the world '{self.world.traits.name}' can be changed before an episode only; valid there: perturbations "
            "of the senses, at a step or a share of the demonstrator's time"
        )


class World:
    """A family of tasks and the simulator that runs them; cheap to create and without state.

    Derive from it: `traits`, `action_size`, `tasks` and `open` are required, everything else has a default.
    `assay.check_world` reports what is missing or wrong.
    """

    traits: Traits
    """Name and properties; ``Traits("maze")`` suffices."""
    action_size: int
    """Numbers in an action."""
    max_steps: int = 300
    """Control steps of an episode, unless `horizon` or the spec says otherwise."""
    cameras: Sequence[str] = ()
    """Names of the cameras that policies receive images from."""
    frame_seconds: float = 0.1
    """Duration of each step in a video."""
    step_seconds: float | None = None
    """Duration of a control step, if the world continues while a policy computes; needed for ``--latency``."""
    has_stored_states: bool = False
    """Whether episodes can start from files of initial states (``--states``)."""

    @property
    def packs(self) -> Sequence[str]:
        """Asset packs it can be built from; the first is the default."""
        return ("none",)

    def tasks(self) -> Sequence[Any]:
        """All tasks, each with an ``id`` (``maze/3``) and an ``instruction``."""
        raise WorldError(f"the world '{self.traits.name}' has no method tasks()")

    def select(self, selection: str) -> Sequence[Any]:
        """The tasks of a selection: ``all``, or ids separated by commas. Raises TaskError with the valid names."""
        tasks = {task.id: task for task in self.tasks()}
        prefix = f"{self.traits.name}/"
        chosen: dict[str, Any] = {}
        for name in filter(None, (part.strip() for part in selection.split(","))):
            if name in ("all", self.traits.name):
                chosen |= tasks
                continue
            task = tasks.get(name) or tasks.get(prefix + name)
            if task is None:
                raise TaskError(f"there is no task '{name}': {did_you_mean(name, ('all', *tasks))}")
            chosen[task.id] = task
        return list(chosen.values())

    def task(self, spec: EpisodeSpec) -> Any:
        """The task of an episode with its perturbations applied."""
        (task,) = self.select(spec.task)
        return apply_perturbations(task, spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """The maximum number of control steps of an episode."""
        return self.max_steps if spec.steps is None else spec.steps

    def open(self, states: Path | None = None) -> Env:
        """A new environment; ``states`` is a folder of stored initial states."""
        raise WorldError(f"the world '{self.traits.name}' has no method open(states)")

    def holding(self, last: np.ndarray | None) -> np.ndarray:
        """The action, (action size,), that keeps the robot still after the action ``last``, if any."""
        return np.zeros(self.action_size, np.float32)

    def pack_source(self, pack: str) -> object:
        """The object that builds an asset pack; a run records the plugin it comes from.

        Raises AssetError with the valid names.
        """
        if pack not in self.packs:
            raise AssetError(
                f"--assets {pack}: valid in the world '{self.traits.name}': {', '.join(self.packs)}"
            )
        return None

    def digest(self, pack: str) -> str:
        """A hash of the content of an asset pack; empty without assets. Raises AssetError."""
        return ""

    def check_states(self, specs: Iterable[EpisodeSpec], folder: Path) -> None:
        """Raise AssayError if a folder lacks initial states that episodes start from."""


TASK_FILE_SUFFIXES = (".bddl", ".json")
LIBERO = "libero"
"""Name of LIBERO's world, the default for task ids without the name of another."""
WORLDS: Registry[World] = Registry("world", WorldError)


def world_of(task: str) -> World:
    """The world of a task id: the one named before the first slash, or else LIBERO's."""
    return WORLDS[world_name(task)]


def horizon(spec: EpisodeSpec) -> int:
    """The maximum number of control steps of an episode."""
    return world_of(spec.task).horizon(spec)


def task_of(spec: EpisodeSpec) -> Any:
    """The task of an episode with its perturbations applied."""
    return world_of(spec.task).task(spec)


def world_name(task: str) -> str:
    """The name of the world of a task id. Task files belong to LIBERO, even in a folder with another name."""
    name = task.partition("/")[0]
    if name.startswith(f"{LIBERO}_") or task.partition("@")[0].endswith(TASK_FILE_SUFFIXES):
        return LIBERO  # decided without importing plugins, which can be slow
    return name if name in WORLDS else LIBERO


def world_policies(world: str) -> dict[str, str]:
    """Policies registered for a world: name -> ``module:object``."""
    return _provided_for(world, "policy")


def world_servers(world: str) -> dict[str, str]:
    """Clients for policy servers registered for a world: scheme of the address -> ``module:class``."""
    return _provided_for(world, "policy server")


def _provided_for(world: str, kind: str) -> dict[str, str]:
    prefix = f"{WORLDS[world].traits.name}/"
    return {
        name.removeprefix(prefix): address
        for name, address in registered_addresses(kind).items()
        if name.startswith(prefix)
    }


def load_world(address: str) -> World:
    """The world of a name or of ``python:module:object``, which is registered under its own name."""
    world = WORLDS[address]
    if not isinstance(world, World) or not hasattr(world, "traits"):
        raise WorldError(
            f"'{address}' is not a complete World; `assay check {address}` lists what is missing"
        )
    if address.startswith(PYTHON) and world.traits.name not in WORLDS:
        WORLDS.register(world.traits.name, world)
    return world
