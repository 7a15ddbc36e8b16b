"""Play an episode: a policy acts on a table until the task is done or its actions are used up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from assay.errors import ActionError
from assay.tabletop.goals import Progress
from assay.tabletop.observation import TableObservation
from assay.tabletop.prompt import Prompt
from assay.tabletop.simulation import ACTION_SIZE, Effect, TableSimulation
from assay.tabletop.tasks.base import TableTask


class Occasion(Protocol):
    """What a policy is told of the episode besides its prompt: a `Setting`, or the spec of a run."""

    @property
    def task(self) -> str:
        """The task's name."""
        ...

    @property
    def seed(self) -> int:
        """What drew the scene."""
        ...


class TablePolicy(Protocol):
    """Acts on the table."""

    def reset(self, prompt: Prompt, spec: Any) -> None:
        """Begin an episode; ``spec`` is an `Occasion`."""
        ...

    def act(self, observation: TableObservation) -> np.ndarray:
        """The next k actions, (k, 12), k >= 1: see `world.ACTION_SIZE`."""
        ...


@runtime_checkable
class TablePrivileged(Protocol):
    """A policy that may look behind the scenes; it is attached before it is reset."""

    def attach(self, world: TableSimulation, task: TableTask, progress: Progress) -> None:
        """Take the world, the task and the judge of the episode to come."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """What happened."""

    success: bool
    actions: np.ndarray
    """All that were carried out, (n, 12)."""
    effects: tuple[Effect, ...]
    held: tuple[str, ...]
    """What each action carried, by name; empty texts for nothing."""
    mistakes: tuple[str, ...]
    """What was wrong after each action; empty texts where nothing was."""
    best: int
    """The fewest actions the task takes."""
    decisions: int
    """How often the policy was asked."""
    moved: str = ""
    """The item that was the first to move by more than 2 cm, by name."""

    @property
    def flawless(self) -> bool:
        """Whether it succeeded with the fewest actions."""
        return self.success and len(self.actions) <= self.best


Watch = Callable[[TableObservation], TableObservation]
MOVED = 0.02
"""How far a thing must go to have moved, metres."""


def play(
    task: TableTask,
    policy: TablePolicy,
    *,
    mistakes: bool = True,
    most: int | None = None,
    world: TableSimulation | None = None,
    spec: Occasion | None = None,
    sense: Watch = lambda observation: observation,
) -> Played:
    """Play one episode; without ``mistakes`` a policy has the fewest actions that the task takes.

    ``most`` sets the number of actions instead; ``sense`` gives what the policy sees of an observation.
    """
    world = world or TableSimulation(task.scene)
    world.reset()
    start = world.poses()[:, :2]
    progress = Progress(task.goal, task.scene)
    if isinstance(policy, TablePrivileged):
        policy.attach(world, task, progress)
    policy.reset(task.prompt, spec or task.setting)
    allowed = most or (task.most if mistakes else task.best)
    done: list[np.ndarray] = []
    effects: list[Effect] = []
    held: list[str] = []
    said: list[str] = []
    decisions, moved = 0, ""
    while len(done) < allowed and not progress.verdict.success:
        decisions += 1
        for each in checked_chunk(policy.act(sense(world.observe()))):
            report = world.step(each)
            done.append(each)
            effects.append(report.effect)
            held.append(task.scene.items[report.held].name if report.held >= 0 else "")
            said.append(progress.update(report.trail).mistake)
            if not moved:
                gone = np.linalg.norm(world.poses()[:, :2] - start, axis=1)
                moved = task.scene.items[int(gone.argmax())].name if gone.max() > MOVED else ""
            if progress.verdict.success or len(done) == allowed:
                break
    actions = np.array(done).reshape(-1, ACTION_SIZE)
    return Played(
        success=progress.verdict.success,
        actions=actions,
        effects=tuple(effects),
        held=tuple(held),
        mistakes=tuple(said),
        best=task.best,
        decisions=decisions,
        moved=moved,
    )


def checked_chunk(given: object) -> np.ndarray:
    """What a policy returned as (k, 12) numbers. Raises ActionError where it is not."""
    try:
        actions = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ActionError(f"actions are (k, {ACTION_SIZE}) numbers, not {given!r}"[:200]) from None
    if actions.ndim != 2 or actions.shape[1] != ACTION_SIZE or not len(actions):
        raise ActionError(f"actions of shape {actions.shape} are not possible: (k, {ACTION_SIZE}), k >= 1")
    return actions
