"""Play an episode: a policy acts on a table until the task is done or its actions are used up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from assay.errors import ActionError
from assay.tabletop.goals import Progress
from assay.tabletop.observation import TableObservation
from assay.tabletop.prompt import Prompt
from assay.tabletop.tasks.base import Setting, TableTask
from assay.tabletop.world import ACTION_SIZE, Effect, TableWorld


class TablePolicy(Protocol):
    """Acts on the table."""

    def reset(self, prompt: Prompt, setting: Setting) -> None:
        """Begin an episode."""
        ...

    def act(self, observation: TableObservation) -> np.ndarray:
        """The next k actions, (k, 12), k >= 1: see `world.ACTION_SIZE`."""
        ...


@runtime_checkable
class TablePrivileged(Protocol):
    """A policy that may look behind the scenes; it is attached before it is reset."""

    def attach(self, world: TableWorld, task: TableTask, progress: Progress) -> None:
        """Take the world, the task and the judge of the episode to come."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """What happened."""

    success: bool
    actions: np.ndarray
    """All that were carried out, (n, 12)."""
    effects: tuple[Effect, ...]
    mistakes: tuple[str, ...]
    """What was wrong after each action; empty texts where nothing was."""
    best: int
    """The fewest actions the task takes."""

    @property
    def flawless(self) -> bool:
        """Whether it succeeded with the fewest actions."""
        return self.success and len(self.actions) <= self.best


def play(
    task: TableTask, policy: TablePolicy, *, mistakes: bool = True, world: TableWorld | None = None
) -> Played:
    """Play one episode; without ``mistakes`` a policy has the fewest actions that the task takes."""
    world = world or TableWorld(task.scene)
    world.reset()
    progress = Progress(task.goal, task.scene)
    if isinstance(policy, TablePrivileged):
        policy.attach(world, task, progress)
    policy.reset(task.prompt, task.setting)
    most = task.most if mistakes else task.best
    done: list[np.ndarray] = []
    effects: list[Effect] = []
    said: list[str] = []
    while len(done) < most and not progress.verdict.success:
        for each in _chunk(policy.act(world.observe())):
            report = world.step(each)
            done.append(each)
            effects.append(report.effect)
            said.append(progress.update(report.trail).mistake)
            if progress.verdict.success or len(done) == most:
                break
    actions = np.array(done).reshape(-1, ACTION_SIZE)
    return Played(progress.verdict.success, actions, tuple(effects), tuple(said), task.best)


def _chunk(given: np.ndarray) -> np.ndarray:
    try:
        actions = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ActionError(f"actions are (k, {ACTION_SIZE}) numbers, not {given!r}"[:200]) from None
    if actions.ndim != 2 or actions.shape[1] != ACTION_SIZE or not len(actions):
        raise ActionError(f"actions of shape {actions.shape} are not possible: (k, {ACTION_SIZE}), k >= 1")
    return actions
