"""The interface of a world: a family of tasks and the simulator that runs them.

A `World` is stateless: it provides the tasks, the action size and the assets. Its `Env` holds a simulation and runs
one episode after another. LIBERO, the tabletop and third-party worlds derive from the same two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes.episode import Aftermath, Intervals, Position, SideEffects, Stages, Trajectory
from assay.episodes.perturbation import apply_perturbations
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssetError, TaskError, WorldError, did_you_mean
from assay.support.plugins import Registry, registered_addresses
from assay.support.trust import PYTHON


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a world that measures and reports need; stored with each run."""

    name: str
    """Name of the world; task ids begin with this name and a slash."""
    continuous: bool = True
    """Whether the trajectory is a path through space, sampled at every control step. If not, each action is a
    complete motion, and distances between trajectories are meaningless.
    """
    start_columns: tuple[str, ...] = ()
    """Labels and columns determined by the initial state (task and seed), for example an instruction that names a
    sampled object. They do not distinguish variants of a task.
    """
    demonstrator: str | None = None
    """The policy that certifies perturbed scenes as solvable; None if scenes are not certified."""
    clips: int = 0
    """Number of leading components of an action that are clipped to [-1, 1]."""
    auditors: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Built-in policies used to audit experiments, each with the input that it lacks: ``words`` or ``sight``;
    ``memory`` if it has nothing but its memory; empty if it lacks no input. Not stored.
    """

    def as_json(self) -> dict[str, Any]:
        """Return the traits as a JSON object."""
        return {name: value for name, value in asdict(self).items() if name != "auditors"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Traits:
        """Create traits from an object returned by `as_json`."""
        names = ("name", "continuous", "demonstrator", "clips")
        fields = {name: value[name] for name in names if name in value}
        return cls(**fields, start_columns=tuple(value.get("start_columns", ())))


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A world's record of a finished episode. Values that the world does not record are None."""

    trajectory: Trajectory | None = None
    """Path of the end effector; the rollout fills in its ``actions``."""
    touched: str | None = None
    """The first object that the robot touched."""
    moved: str | None = None
    """The first object that moved."""
    truth: Mapping[str, Intervals] | None = None
    """Intervals during which each goal atom was true."""
    initial_positions: Mapping[str, Position] | None = None
    """Positions of the task's objects at the start."""
    contacts: Mapping[str, Intervals] | None = None
    """Intervals during which the robot touched each object, ordered by first contact."""
    note: str = ""
    """Reason why the episode failed."""
    stages: Mapping[str, Stages] | None = None
    """Progress of each goal atom that did not hold at the start."""
    side_effects: SideEffects | None = None
    """Unrequested changes to the scene."""
    aftermath: Aftermath | None = None
    """Whether an achieved goal still holds after the gripper has opened."""


class Env:
    """Runs episodes one after another and caches expensive resources (compiled models) between them.

    Subclasses must define `reset`, which sets `task`, `step` and `succeeded`; all other methods have defaults.
    """

    world: World
    """The world that created this environment."""
    task: Any
    """The task of the current episode with its perturbations applied, as returned by `World.task`."""
    simulation: Any = None
    """The simulator, for policies with access to its state."""

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def images(self) -> int:
        """Number of images rendered since the reset."""
        return 0

    def reset(self, spec: EpisodeSpec) -> Any:
        """Start an episode and return its first observation. Raises AssayError if it cannot be started.

        Draw random numbers from ``stream(spec.world_seed, ...)``, because ``spec.seed`` may apply to the policy only.
        """
        raise WorldError(f"{type(self).__name__} has no method reset(spec)")

    def step(self, action: np.ndarray) -> Any:
        """Execute one action, (action size,), and return the observation after it."""
        raise WorldError(f"{type(self).__name__} has no method step(action)")

    def succeeded(self) -> bool:
        """Return whether the goal holds now."""
        raise WorldError(f"{type(self).__name__} has no method succeeded()")

    def record(self) -> Record:
        """Return the record since the last reset; the rollout adds the actions."""
        return Record()

    def frame(self, observation: Any) -> np.ndarray:
        """Return an image of an observation for videos: uint8, (height, width, 3)."""
        raise WorldError(
            f"the world '{self.world.traits.name}' does not support videos: {type(self).__name__} has no frame()"
        )

    def watch(self, trigger: Any) -> Callable[[], bool]:
        """Return a function that evaluates a `Trigger` after each step.

        Raises PerturbationError if the trigger can never hold in this task, and WorldError if the world does not
        support it.
        """
        raise self._static()

    def prepare(self, change: Any, rng: np.random.Generator) -> Callable[[], bool]:
        """Return a function that applies a perturbation to the running episode.

        The function returns False if it must be called again later. Raises AssayError if the change is impossible, and
        WorldError if the world does not support changes during an episode.
        """
        raise self._static()

    def observe(self) -> Any:
        """Return the current observation, after a change during the episode."""
        raise self._static()

    def close(self) -> None:
        """Release resources."""

    def _static(self) -> WorldError:
        return WorldError(
            f"the world '{self.world.traits.name}' supports changes during an episode only for perturbations of the "
            "senses, triggered by at_step(...) or share(...)"
        )


class World:
    """A family of tasks and the simulator that runs them; cheap to create and stateless.

    Subclasses must define `traits`, `action_size`, `tasks` and `open`; all other members have defaults.
    `assay.check_world` reports what is missing or wrong.
    """

    traits: Traits
    """Name and properties; ``Traits("maze")`` is sufficient."""
    action_size: int
    """Number of components of an action."""
    max_steps: int = 300
    """Maximum number of control steps in an episode, unless `horizon` or the spec overrides it."""
    cameras: Sequence[str] = ()
    """Names of the cameras whose images policies receive."""
    frame_seconds: float = 0.1
    """Duration of each step in a video, in seconds."""
    step_seconds: float | None = None
    """Duration of a control step in seconds, if the world continues to run while a policy computes; required for
    ``--latency``.
    """
    has_stored_states: bool = False
    """Whether episodes can start from files of initial states (``--states``)."""

    @property
    def packs(self) -> Sequence[str]:
        """Names of the supported asset packs; the first is the default."""
        return ("none",)

    def tasks(self) -> Sequence[Any]:
        """Return all tasks, each with an ``id`` (``maze/3``) and an ``instruction``."""
        raise WorldError(f"the world '{self.traits.name}' has no method tasks()")

    def select(self, selection: str) -> Sequence[Any]:
        """Return the tasks in a selection: ``all``, or ids separated by commas.

        Raises TaskError, listing the valid names.
        """
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
        """Return the task of an episode with its perturbations applied."""
        (task,) = self.select(spec.task)
        return apply_perturbations(task, spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """Return the maximum number of control steps in an episode."""
        return self.max_steps if spec.steps is None else spec.steps

    def open(self, states: Path | None = None) -> Env:
        """Return a new environment; ``states`` is a folder of stored initial states."""
        raise WorldError(f"the world '{self.traits.name}' has no method open(states)")

    def holding(self, last: np.ndarray | None) -> np.ndarray:
        """Return the action, (action size,), that holds the robot still; ``last`` is the previous action, if
        any."""
        return np.zeros(self.action_size, np.float32)

    def pack_source(self, pack: str) -> object:
        """Return the object that builds an asset pack; a run records the plugin that defines it.

        Raises AssetError, listing the valid names.
        """
        if pack not in self.packs:
            packs = ", ".join(self.packs)
            raise AssetError(
                f"--assets {pack}: the world '{self.traits.name}' supports only the asset packs {packs}"
            )
        return None

    def digest(self, pack: str) -> str:
        """Return a hash of the content of an asset pack; empty if the world has no assets. Raises AssetError."""
        return ""

    def check_states(self, specs: Iterable[EpisodeSpec], folder: Path) -> None:
        """Raise AssayError if a folder lacks an initial state from which one of the episodes starts."""


TASK_FILE_SUFFIXES = (".bddl", ".json")
LIBERO = "libero"
"""Name of LIBERO's world, the default for task ids that do not name another world."""
WORLDS: Registry[World] = Registry("world", WorldError)


def world_of(task: str) -> World:
    """Return the world of a task id: the world named before the first slash, or LIBERO's by default."""
    return WORLDS[world_name(task)]


def horizon(spec: EpisodeSpec) -> int:
    """Return the maximum number of control steps in an episode."""
    return world_of(spec.task).horizon(spec)


def task_of(spec: EpisodeSpec) -> Any:
    """Return the task of an episode with its perturbations applied."""
    return world_of(spec.task).task(spec)


def world_name(task: str) -> str:
    """Return the name of the world that a task id belongs to.

    Task files belong to LIBERO, even in a folder named after another world.
    """
    name = task.partition("/")[0]
    if name.startswith(f"{LIBERO}_") or task.partition("@")[0].endswith(TASK_FILE_SUFFIXES):
        return LIBERO  # decided without importing plugins, which can be slow
    return name if name in WORLDS else LIBERO


def world_policies(world: str, kind: str = "policy") -> dict[str, str]:
    """Return the policies of a world, or its registered objects of another ``kind``: name -> ``module:object``."""
    prefix = f"{WORLDS[world].traits.name}/"
    return {
        name.removeprefix(prefix): address
        for name, address in registered_addresses(kind).items()
        if name.startswith(prefix)
    }


def world_servers(world: str) -> dict[str, str]:
    """Return the policy-server clients registered for a world: address scheme -> ``module:class``."""
    return world_policies(world, "policy server")


def load_world(address: str) -> World:
    """Load a world by name or as ``python:module:object``, which is registered under the name in its traits."""
    world = WORLDS.load(address)
    if not isinstance(world, World) or not hasattr(world, "traits"):
        raise WorldError(
            f"'{address}' is not a complete World; `assay check {address}` lists what is missing"
        )
    if address.startswith(PYTHON) and world.traits.name not in WORLDS:
        WORLDS.register(world.traits.name, world)
    return world
