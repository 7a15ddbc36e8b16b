"""What a world is: where tasks are played. LIBERO's, the tabletop and a user's all look like this from above.

A `World` is cheap and has no state: it knows its tasks, its policies and what may be asked of it. Its `Env` is a
process's worth of simulation, and plays one episode after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from assay.episodes.conduct import Aftermath, SideEffects, Stages
from assay.episodes.episode import Intervals, Position, Trajectory
from assay.episodes.instruction import Instruction
from assay.episodes.spec import EpisodeSpec
from assay.errors import WorldError
from assay.support.plugins import PYTHON, Registry, provided


class Task(Protocol):
    """What every world's tasks have."""

    @property
    def id(self) -> str:
        """A stable name."""
        ...

    @property
    def instruction(self) -> Instruction:
        """What the policy is told."""
        ...


@dataclass(frozen=True, slots=True)
class Traits:
    """What measures and reports must know of a world to read its episodes. A run keeps it."""

    name: str
    """Of the world."""
    continuous: bool = True
    """Whether an episode's trajectory is a path through space, sampled at every control step; otherwise each
    action is a whole motion, and distances between trajectories mean nothing."""
    start_columns: tuple[str, ...] = ()
    """Labels and columns that a start (task and seed) decides, as an instruction that names what was drawn:
    they do not tell variants of a task apart."""
    demonstrator: str | None = None
    """The policy that shows which perturbed scenes can be solved; None where that is not done."""
    clips: int = 0
    """How many numbers of an action, from the first on, are cut to [-1, 1]; 0 where none are."""
    auditors: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Built-in policies by which experiments are audited, and the input that each lacks: ``words``, ``sight`` or
    ``memory`` (it has memory alone); empty for one that lacks nothing. Not kept."""

    def as_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {name: value for name, value in asdict(self).items() if name != "auditors"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Traits:
        """What `as_json` gave."""
        known = {
            name: value[name] for name in ("name", "continuous", "demonstrator", "clips") if name in value
        }
        return cls(**known, start_columns=tuple(value.get("start_columns", ())))


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What a world knows of an episode when it is over, or broke."""

    trajectory: Trajectory
    touched: str | None = None
    """What the robot touched first."""
    moved: str | None = None
    """What moved first."""
    truth: Mapping[str, Intervals] | None = None
    """When each atom of the goal was true, where a world has such."""
    initial_positions: Mapping[str, Position] | None = None
    """Where the things that the task is about stood at the start, where a world knows that."""
    contacts: Mapping[str, Intervals] | None = None
    """When the robot touched each thing, in the order of the first touches, where a world knows that."""
    note: str = ""
    """What went wrong, where the world can tell."""
    stages: Mapping[str, Stages] | None = None
    """How far each atom of the goal came that did not hold at the start, where a world knows that."""
    side_effects: SideEffects | None = None
    """What was done besides what was asked for, where a world knows that."""
    aftermath: Aftermath | None = None
    """Whether a goal that was reached lasts, where a world looks."""


class Env(Protocol):
    """Plays episodes, one after the other; what is dear to make is kept between them."""

    @property
    def world(self) -> World:
        """The world it belongs to."""
        ...

    @property
    def task(self) -> Any:
        """The task of the present episode, as the policy is given it."""
        ...

    @property
    def simulation(self) -> Any:
        """The simulation behind it, for policies that may see it."""
        ...

    @property
    def steps(self) -> int:
        """Control steps since the reset."""
        ...

    @property
    def images(self) -> int:
        """How many images were rendered since the reset."""
        ...

    def reset(self, spec: EpisodeSpec) -> Any:
        """Begin an episode; returns its first observation. Raises AssayError where it cannot be begun.

        Whatever it draws, it draws by ``spec.world_seed``: ``spec.seed`` may be the policy's alone.
        """
        ...

    def step(self, action: np.ndarray) -> Any:
        """Carry out one action, (action size,); returns the observation after it."""
        ...

    def succeeded(self) -> bool:
        """Whether the goal is reached now."""
        ...

    def record(self) -> Record:
        """What happened since the reset, but for the actions, which the rollout knows."""
        ...

    def frame(self, observation: Any) -> np.ndarray:
        """An observation as people look at it, for videos: uint8, (height, width, 3)."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class World(Protocol):
    """Where tasks are played."""

    @property
    def traits(self) -> Traits:
        """What is known of it without a simulation."""
        ...

    @property
    def action_size(self) -> int:
        """How many numbers an action has."""
        ...

    @property
    def cameras(self) -> Sequence[str]:
        """The cameras that policies see through; none where they see no pictures."""
        ...

    @property
    def frame_seconds(self) -> float:
        """How long a video shows each step, seconds."""
        ...

    @property
    def policies(self) -> Mapping[str, str]:
        """Its built-in policies: name -> ``module:object``."""
        ...

    @property
    def servers(self) -> Mapping[str, str]:
        """Policy servers that can act in it: scheme of the address -> ``module:function`` that makes a client."""
        ...

    @property
    def stored_states(self) -> str | None:
        """``module:function`` that checks, from specs and a folder, that the folder has the initial states that
        they start from; None where tasks have none."""
        ...

    @property
    def disturbance(self) -> str | None:
        """``module:object``, the perturbation under which the demonstrator must solve a scene again; None for none."""
        ...

    @property
    def sheet(self) -> str | None:
        """``module:function`` that draws an experiment's conditions into a PNG, if there is one."""
        ...

    @property
    def packs(self) -> Sequence[str]:
        """Asset packs that it can be built from; the first is the usual one."""
        ...

    def select(self, selection: str) -> Sequence[Any]:
        """The tasks that a selection names, each with an ``id``. Raises TaskError that says what is valid."""
        ...

    def task(self, spec: EpisodeSpec) -> Any:
        """The task of an episode as the policy is given it: a `Task` with its perturbations applied."""
        ...

    def horizon(self, spec: EpisodeSpec) -> int:
        """The most control steps of an episode."""
        ...

    def pack_source(self, pack: str) -> object:
        """What makes an asset pack; None where a world has none. A run remembers the plugin it comes from.

        Raises AssetError that says what is valid.
        """
        ...

    def digest(self, pack: str) -> str:
        """Stands for the content of an asset pack; empty where there is none. Raises AssetError."""
        ...

    def open(self, states: Path | None = None) -> Env:
        """An environment; ``states`` is a folder of stored initial states, where the usual one is not meant."""
        ...


FILES = (".bddl", ".json")
"""How the names of task files end."""
LIBERO = "libero"
"""The name of LIBERO's world: the one of every task id that names no other."""
WORLDS: Registry[World] = Registry(
    "world",
    WorldError,
    {LIBERO: "assay.sim.world:LIBERO_WORLD"},
)


def world_of(task: str) -> World:
    """The world of a task's id: that of the name before the first slash, or else LIBERO's."""
    return WORLDS[world_name(task)]


def horizon(spec: EpisodeSpec) -> int:
    """The most control steps of an episode."""
    return world_of(spec.task).horizon(spec)


def task_of(spec: EpisodeSpec) -> Any:
    """The task of an episode as the policy is given it, its perturbations applied."""
    return world_of(spec.task).task(spec)


def world_name(task: str) -> str:
    """The name of the world of a task's id; task files are LIBERO's, whatever their folder is called."""
    name = task.partition("/")[0]
    if name.startswith(f"{LIBERO}_") or task.partition("@")[0].endswith(FILES):
        return LIBERO  # without a look at plugins, whose import may take long
    return name if name in WORLDS else LIBERO


def world_policies(world: str) -> dict[str, str]:
    """Policies that act in a world: name -> ``module:object``. The world's own, then those that are provided for it."""
    return {**WORLDS[world].policies, **_provided_for(world, "policy")}


def world_servers(world: str) -> dict[str, str]:
    """Kinds of policy server that act in a world: scheme of the address -> ``module:class`` of the client."""
    return {**WORLDS[world].servers, **_provided_for(world, "policy server")}


def _provided_for(world: str, kind: str) -> dict[str, str]:
    prefix = f"{world}/"
    return {
        name.removeprefix(prefix): address
        for name, address in provided(kind).items()
        if name.startswith(prefix)
    }


def load_world(address: str) -> World:
    """The world of a name, or of ``python:module:object``, which is known by its own name from then on."""
    world = WORLDS[address]
    if address.startswith(PYTHON) and world.traits.name not in WORLDS:
        WORLDS.register(world.traits.name, world)
    return world
