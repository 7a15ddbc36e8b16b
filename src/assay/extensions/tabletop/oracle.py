"""The demonstrator: sees where everything is and knows what is asked."""

from __future__ import annotations

from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.goals import Progress, Put, PutGoal, SweepGoal
from assay.extensions.tabletop.observation import TableObservation
from assay.extensions.tabletop.prompt import Prompt
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from assay.extensions.tabletop.simulation import action
from assay.extensions.tabletop.sweeper import Sweeper
from assay.support.streams import stream

if TYPE_CHECKING:
    from assay.extensions.tabletop.world import TableEnv

_INSET = 0.006
"""How far from an edge the tip takes hold, metres."""
_GRIPS = 60
_LOOKS = 24
"""How many pushes are looked into at most."""


class Table(Protocol):
    """What a demonstrator needs to know of the table: see `TableSimulation`."""

    def poses(self) -> np.ndarray:
        """Where the items are, (items, 3)."""
        ...

    def below(self, x: float, y: float) -> tuple[int, float]:
        """What a tip coming down would touch, and how high that is."""
        ...

    def foresee(self, given: np.ndarray) -> np.ndarray:
        """The trail that an action would leave, (times, items, 3)."""
        ...


class TableOracle:
    """Does what the prompt of any of the tasks asks for. Told nothing, it does nothing."""

    def attach(self, env: TableEnv) -> None:
        """Take what policies may not see."""
        task = env.task
        self._world: Table = env.simulation
        self._task = task
        # What is asked may be another thing than what counts: then it keeps its own account of it.
        self._own = None if task.asked in (None, task.goal) else Progress(task.asked, task.scene)
        self._progress = self._own or env.progress

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        self._told = bool(prompt.segments)
        self._rng = stream("tabletop", self._task.setting.id, "oracle")

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        goal = self._task.asked
        if not self._told or goal is None:
            return idle()[None]
        if self._own is not None and self._own.update(self._world.poses()[None]).success:
            return idle()[None]
        if not isinstance(goal, PutGoal):
            return self._swept(goal)[None]
        pending = self._progress.pending()
        if not pending:
            return self._away(goal, self._intruder(goal, self._progress.stage))[None]
        blocker = self._intruder(goal, pending[:1])
        chosen = self._away(goal, blocker) if blocker >= 0 else self._carried(pending[0])
        return chosen[None]

    def _swept(self, goal: SweepGoal) -> np.ndarray:
        """The next push: what looks best or, where that is foreseen to gain nothing, what gains most."""
        poses = self._world.poses()
        pushes = Sweeper(goal, self._task.scene, poses, self._rng).pushes(self._progress.inside(poses))
        now = self._standing(goal, poses)
        best, most = idle(), -np.inf
        for push in islice(pushes, _LOOKS):
            trail = self._world.foresee(push)
            verdict = copy(self._progress).update(trail)
            if verdict.success:
                return push
            worth = -np.inf if verdict.mistake == "constraint" else self._standing(goal, trail[-1])
            if worth > most:
                best, most = push, worth
            if most > now:
                break
        return best

    def _standing(self, goal: SweepGoal, poses: np.ndarray) -> float:
        """How well a sweep stands: what lies in the zone, and a little for each block with a way there."""
        inside = self._progress.inside(poses)
        sweeper = Sweeper(goal, self._task.scene, poses, self._rng)
        wrong = max(len(inside) - goal.most, 0) + len(sweeper.strays())
        return min(len(inside), goal.most) - wrong + 0.01 * sweeper.ways(inside)

    def _carried(self, put: Put) -> np.ndarray:
        """Carry an item to its place and yaw."""
        item = self._task.scene.index(put.item)
        return self._move(item, np.array([put.x, put.y]), put.yaw - self._world.poses()[item, 2])

    def _move(self, item: int, place: np.ndarray, turn: float) -> np.ndarray:
        origin = self._world.poses()[item, :2]
        grip = self._grip(item)
        c, s = np.cos(turn), np.sin(turn)
        arm = origin - grip
        target = place - np.array([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]])
        turn = (turn + np.pi) % (2 * np.pi) - np.pi
        return action((grip[0], grip[1]), (target[0], target[1]), float(turn))

    def _grip(self, item: int) -> np.ndarray:
        """A random place where the tip coming down touches the item first, (2,)."""
        x, y, yaw = self._world.poses()[item]
        pieces = self._task.scene.items[item].solid.pieces
        c, s = np.cos(yaw), np.sin(yaw)
        spot = np.array([x, y])
        for attempt in range(_GRIPS):
            outline = pieces[int(self._rng.integers(len(pieces)))].top
            own = self._rng.dirichlet(np.ones(len(outline))) @ outline
            spot = np.array([x + c * own[0] - s * own[1], y + s * own[0] + c * own[1]])
            inset = _INSET if attempt < _GRIPS // 2 else 0.0
            around = [spot + inset * np.array(side) for side in ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0))]
            if all(self._world.below(*each)[0] == item for each in around):
                break
        return spot

    def _intruder(self, goal: PutGoal, puts: tuple[Put, ...]) -> int:
        """A bystander that lies where something is to be put; -1 if there is none."""
        scene, poses = self._task.scene, self._world.poses()
        for name in goal.bystanders:
            index = scene.index(name)
            if scene.items[index].fixed:
                continue
            if any(np.hypot(*(poses[index, :2] - (put.x, put.y))) <= put.within + 0.005 for put in puts):
                return index
        return -1

    def _away(self, goal: PutGoal, item: int) -> np.ndarray:
        """Carry a bystander to the freest place on the table."""
        if item < 0:
            return idle()
        places = [(put.x, put.y) for stage in goal.stages for put in stage]
        others = np.array([*np.delete(self._world.poses(), item, axis=0)[:, :2], *places])
        margin = self._task.scene.items[item].radius
        x, y = (
            np.linspace(X_LOW + margin, X_HIGH - margin, 12),
            np.linspace(Y_LOW + margin, Y_HIGH - margin, 24),
        )
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        room = np.linalg.norm(grid[:, None] - others[None], axis=-1).min(axis=1)
        return self._move(item, grid[int(np.argmax(room))], 0.0)


def idle() -> np.ndarray:
    """The action that does nothing, (12,)."""
    return action((0.5, 0.0), (0.5, 0.0))
