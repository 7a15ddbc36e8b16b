"""A checker for worlds, which runs two short episodes with random actions and lists all problems."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes.episode import Episode, Outcome
from assay.episodes.events import At, at_step
from assay.episodes.perturbation import from_json, kinds, to_json
from assay.episodes.rollout import rollout
from assay.episodes.senses import Filter, Key, Sense
from assay.episodes.spec import EpisodeSpec, Instruction
from assay.episodes.world import WORLDS, Env, Record, Traits, World
from assay.errors import AssayError, TaskError, WorldError, one_line
from assay.support.plugins import registered_addresses
from assay.support.streams import stream

CHECK_STEPS = 8
"""Number of control steps in each episode."""
CHANGE_STEP = 4
"""Control step at which the actions of the second episode change."""


def check_world(world: Any) -> list[str]:
    """Return the problems found in a world, one line each.

    Two episodes of the first task are run with random actions. The checks cover the required members, the tasks
    and their selection, the shapes and types of the values that `Env` returns, and JSON round trips of the
    traits, the specs and the world's perturbations. They also verify that equal specs give equal episodes, and
    that an episode equals its control until its first change.
    """
    world = world() if isinstance(world, type) else world
    problems = list(_missing_members(world))
    if problems:
        return problems
    if world.traits.name not in WORLDS:
        WORLDS.register(world.traits.name, world)  # perturbations find the world by the name in the task's id
    problems = [*_collect("traits", _trait_problems(world)), *_collect("tasks", _task_problems(world))]
    try:
        spec = EpisodeSpec(world.select("all")[0].id, 0, world.packs[0], steps=CHECK_STEPS)
    except Exception:
        return problems  # which already say why no episode can be specified
    for action, check in (
        ("task(spec)", _spec_problems),
        ("Env", _env_problems),
        ("rollout", _replay_problems),
        ("perturbations", _perturbation_problems),
    ):
        problems += _collect(action, check(world, spec))
    return problems


def _missing_members(world: Any) -> Iterator[str]:
    """Yield the required members that are missing."""
    if not isinstance(world, World):
        yield f"{type(world).__name__} does not derive from assay.plugin.World"
        return
    cls = type(world)
    if not isinstance(getattr(world, "traits", None), Traits):
        yield f"{cls.__name__}.traits is missing; set it to Traits('name')"
    size = getattr(world, "action_size", None)
    if not isinstance(size, int) or size < 1:
        yield f"{cls.__name__}.action_size is {size!r}; expected an integer >= 1"
    if cls.tasks is World.tasks and cls.select is World.select:
        yield f"{cls.__name__} has neither tasks() nor select(selection)"
    if cls.open is World.open:
        yield f"{cls.__name__} has no open(states), which returns an Env"


def _trait_problems(world: World) -> Iterator[str]:
    traits = world.traits
    if not traits.name or "/" in traits.name:
        yield f"traits.name is {traits.name!r}; expected a name without a slash"
    if Traits.from_json(json.loads(json.dumps(traits.as_json()))) != traits:
        yield "traits change when they are written to JSON and read again"
    demonstrator = f"{traits.name}/{traits.demonstrator}"
    if traits.demonstrator is not None and demonstrator not in registered_addresses("policy"):
        yield f"the demonstrator is not registered; call provide('policy', {{'{demonstrator}': 'module:Class'}})"
    if not world.packs:
        yield "packs is empty; expected at least one name"
    if not world.frame_seconds > 0:
        yield f"frame_seconds is {world.frame_seconds!r}; expected a number > 0"


def _task_problems(world: World) -> Iterator[str]:
    tasks = list(world.select("all") if type(world).tasks is World.tasks else world.tasks())
    if not tasks:
        yield "the world has no tasks"
        return
    ids = [getattr(task, "id", None) for task in tasks]
    if len(set(ids)) < len(ids):
        yield "two tasks have the same id"
    for task in tasks:
        if not isinstance(getattr(task, "id", None), str) or "/" not in task.id:
            yield f"{task!r:.60}: expected a task id of the form 'WORLD/NAME'"
    for number in (0, -1):
        name = ids[number]
        with suppress(AssayError):
            if [task.id for task in world.select(str(name))] == [name]:
                continue
        yield f"select('{name}') does not return exactly that task"
    try:
        world.select("no such task?")
        yield "select() accepts the name of a task that does not exist; it must raise TaskError"
    except TaskError:
        pass
    except Exception as error:
        yield f"select() raises {type(error).__name__} for a task that does not exist; expected TaskError"


def _spec_problems(world: World, spec: EpisodeSpec) -> Iterator[str]:
    if EpisodeSpec.from_json(spec.to_json()) != spec:
        yield "a spec changes when it is written to JSON and read again"
    task = world.task(spec)
    if getattr(task, "id", None) != spec.task:
        yield f"task(spec) for {spec.task} returns a task with the id {getattr(task, 'id', None)!r}"
    if not isinstance(getattr(getattr(task, "instruction", None), "words", None), str):
        yield f"the instruction of {spec.task} is not an assay.plugin.Instruction"
    if world.horizon(spec) != CHECK_STEPS:
        yield f"horizon(spec) is {world.horizon(spec)!r} with spec.steps={CHECK_STEPS}; expected spec.steps"
    default_horizon = world.horizon(replace(spec, steps=None))
    if not isinstance(default_horizon, int) or default_horizon < 1:
        yield f"horizon(spec) is {default_horizon!r} without spec.steps; expected an integer >= 1"


def _env_problems(world: World, spec: EpisodeSpec) -> Iterator[str]:
    """Execute one step in an environment, and yield the return values that have the wrong type or shape."""
    env = world.open()
    name = type(env).__name__
    if not isinstance(env, Env):
        yield f"open() returns {name}, which does not derive from assay.plugin.Env"
        return
    if missing := _missing_methods(env):
        yield f"{name} has no {' and no '.join(missing)}"
        return
    try:
        if getattr(env, "world", None) is not world:
            yield f"{name}.world is not the world that opened it; call Env.__init__(self, world)"
            return
        observation = env.reset(spec)
        if getattr(getattr(env, "task", None), "id", None) != spec.task:
            yield f"{name}.reset does not set self.task = self.world.task(spec)"
        observation = env.step(_RandomPolicy(world.action_size).act(observation)[0])
        if observation is None:
            yield f"{name}.step returns None; expected an observation"
        if not isinstance(env.succeeded(), bool | np.bool_):
            yield f"{name}.succeeded() returns {type(env.succeeded()).__name__}; expected bool"
        if not isinstance(env.images, int):
            yield f"{name}.images is {env.images!r}; expected an integer"
        record = env.record()
        path = record.trajectory if isinstance(record, Record) else None
        if not isinstance(record, Record):
            yield f"record() returns {type(record).__name__}; expected assay.plugin.Record"
        if path is not None and path.end_effector.shape not in ((0, 3), (1, 3), (2, 3)):
            yield f"record().trajectory.end_effector has shape {path.end_effector.shape}; expected (2, 3)"
        if path is not None and path.gripper.shape != path.end_effector.shape[:1]:
            yield f"record().trajectory.gripper: {path.gripper.shape}; expected {path.end_effector.shape[:1]}"
        with suppress(WorldError):  # a world without videos
            frame = env.frame(observation)
            if getattr(frame, "dtype", None) != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
                got = getattr(frame, "shape", frame)
                yield f"{name}.frame() returns {got!r}; expected a uint8 array of shape (height, width, 3)"
    finally:
        env.close()


def _missing_methods(env: Env) -> list[str]:
    required = ("reset", "step", "succeeded")
    return [method for method in required if getattr(type(env), method) is getattr(Env, method)]


def _replay_problems(world: World, spec: EpisodeSpec) -> Iterator[str]:
    """Yield violations of determinism: equal specs must give equal episodes in any order, and a change must have no
    effect before its step.
    """
    env, fresh = world.open(), world.open()
    if not isinstance(env, Env) or _missing_methods(env):
        return
    try:
        control = _play(env, spec)
        changed = _play(env, replace(spec, perturbations=(At(at_step(CHANGE_STEP), _Reverse()),)))
        again = _play(env, spec)
        elsewhere = _play(fresh, spec)
    finally:
        env.close()
        fresh.close()
    for playthrough in (control, changed):
        if playthrough.episode.outcome is Outcome.ERROR:
            yield f"an episode with random actions fails: {playthrough.episode.error}"
            return
    if not control.agrees(again):
        yield "running a spec again in the same Env gives a different episode; reset() must restore the complete state"
    if not control.agrees(elsewhere):
        yield "running a spec in another Env gives a different episode; sample from stream(spec.world_seed, ...)"
    if not control.agrees(changed, CHANGE_STEP):
        yield f"an episode that changes at step {CHANGE_STEP} differs from its control before that step"


def _perturbation_problems(world: World, spec: EpisodeSpec) -> Iterator[str]:
    """Check JSON round trip and determinism of each of the world's perturbations that has no required fields."""
    for kind, cls in kinds().items():
        if getattr(cls, "world", "") != world.traits.name:
            continue
        try:
            value = cls()
        except (TypeError, AssayError):  # a field without a default
            continue
        if from_json(json.loads(json.dumps(to_json(value)))) != value:
            yield f"{kind} changes when it is written to JSON and read again"
        changed = replace(spec, perturbations=(value,))
        try:
            first, second = world.task(changed), world.task(changed)
            differs = bool(first != second)
        except (AssayError, ValueError):  # it need not apply to this task, whose arrays may not be comparable
            continue
        if differs:
            yield f"{kind} gives two different tasks for one seed; sample from the generator passed to apply()"


@dataclass(frozen=True, slots=True)
class _Playthrough:
    """A finished episode, and the arrays in each of its observations."""

    episode: Episode
    observations: list[list[np.ndarray]]

    def agrees(self, other: _Playthrough, steps: int | None = None) -> bool:
        """Return whether two episodes are equal; with ``steps``, compare only the first ``steps`` steps."""
        if steps is None and self.episode.outcome is not other.episode.outcome:
            return False
        left, right = self._numbers(steps), other._numbers(steps)
        return len(left) == len(right) and all(map(np.array_equal, left, right))

    def _numbers(self, steps: int | None) -> list[np.ndarray]:
        path, end = self.episode.trajectory, None if steps is None else steps + 1
        observed = [array for arrays in self.observations[:end] for array in arrays]
        return [path.end_effector[:end], path.actions[:steps], *observed]


class _RandomPolicy:
    """A policy that samples actions uniformly from [-1, 1], the same in every episode."""

    def __init__(self, action_size: int) -> None:
        self._size, self._step = action_size, 0

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self._step = 0

    def act(self, observation: Any) -> np.ndarray:
        self._step += 1
        return stream("check", self._step).uniform(-1, 1, (1, self._size))


class _Reversal(Filter):
    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        return -action


@dataclass(frozen=True, slots=True)
class _Reverse(Sense):
    """A perturbation that negates every action; all worlds support it, at any step."""

    kind = "senses/check"
    world = ""

    def begin(self, key: Key) -> Filter:
        return _Reversal()


def _play(env: Env, spec: EpisodeSpec) -> _Playthrough:
    observations: list[list[np.ndarray]] = []

    def watch(observation: Any) -> None:
        observations.append(list(_arrays(observation)))

    return _Playthrough(rollout(env, _RandomPolicy(env.world.action_size), spec, watch=watch), observations)


def _arrays(observation: Any, depth: int = 3) -> Iterator[np.ndarray]:
    """Yield the arrays in an observation: an array, or a nested mapping, sequence or dataclass of arrays."""
    if isinstance(observation, np.ndarray | int | float):
        yield np.array(observation)
    elif depth and isinstance(observation, Mapping):
        for value in observation.values():
            yield from _arrays(value, depth - 1)
    elif depth and isinstance(observation, list | tuple):
        for value in observation:
            yield from _arrays(value, depth - 1)
    elif depth and is_dataclass(observation):
        for field in fields(observation):
            yield from _arrays(getattr(observation, field.name), depth - 1)


def _collect(action: str, problems: Iterator[str]) -> list[str]:
    """Return the problems that a check yields; if it raises, append the exception and its code location."""
    lines: list[str] = []
    try:
        lines.extend(problems)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
        lines.append(
            f"{action}: {kind}{one_line(str(error), 200)} ({Path(last.filename).name}:{last.lineno})"
        )
    return lines
