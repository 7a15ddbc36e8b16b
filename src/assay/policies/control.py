"""The control of an episode: the same task and seed with nothing changed. What a policy was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay import tasks
from assay.errors import SpecError, StateError, TaskError
from assay.experiments.releases.values import FromFile
from assay.experiments.spec import EpisodeSpec
from assay.sim import InitialState, Simulation, compile_scene, load_pack, stored_states
from assay.sim.packs.locate import locate_states
from assay.tasks import Task


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """An unperturbed episode before its first step."""

    task: Task
    world: Simulation
    """Shared by all controls of the task: whoever uses it resets it."""
    state: InitialState


def control(spec: EpisodeSpec) -> Control:
    """The control of an episode."""
    world = _world(spec.task, spec.pack)
    return Control(tasks.load(spec.task), world, initial_state(world, spec))


def initial_state(world: Simulation, spec: EpisodeSpec) -> InitialState:
    """Where an episode starts: drawn by its seed, or its seed's place in LIBERO's file of the task."""
    if spec.initial == "sampled":
        return world.sample(spec.seed)
    layout = _layout(spec)
    file = tasks.states_file(layout) if tasks.names_file(layout) else _of_libero(layout)
    if file is None:
        raise TaskError(f"{layout} has no stored initial states")
    stored = _stored(world, file)
    if not 0 <= spec.seed < len(stored):
        raise StateError(f"{spec.task} has stored states 0 to {len(stored) - 1}, not {spec.seed}")
    return stored[spec.seed]


def _layout(spec: EpisodeSpec) -> str:
    """The id of the task whose scene an episode has: its own, or the one of a release's file."""
    layout = spec.task
    for each in spec.perturbations:
        if isinstance(each, FromFile):
            layout = each.file
        elif each.rebuilds:
            raise SpecError(f"{spec.condition}: a changed scene cannot start from a stored state")
    return layout


@lru_cache(maxsize=4)
def _world(task: str, pack: str) -> Simulation:
    return Simulation(compile_scene(tasks.load(task).scene, load_pack(pack)))


@lru_cache(maxsize=4)
def _stored(world: Simulation, file: Path) -> tuple[InitialState, ...]:
    return stored_states(world.compiled, file)


def _of_libero(task: str) -> Path | None:
    """LIBERO's file of a built-in task's initial states."""
    name = tasks.entry(task).file
    return None if name is None else locate_states() / task.split("/")[0] / f"{name}.pruned_init"
