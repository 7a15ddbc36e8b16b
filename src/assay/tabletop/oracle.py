"""The demonstrator: sees where everything is and knows what is asked."""

from __future__ import annotations

import numpy as np

from assay.streams import stream
from assay.tabletop.episode import Occasion
from assay.tabletop.goals import Progress, Put, PutGoal
from assay.tabletop.observation import TableObservation
from assay.tabletop.prompt import Prompt
from assay.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from assay.tabletop.sweeper import Sweeper
from assay.tabletop.tasks.base import TableTask
from assay.tabletop.world import TableWorld, action

_INSET = 0.006
"""How far from an edge the tip takes hold, metres."""
_GRIPS = 60


class TableOracle:
    """Does what the prompt of any of the tasks asks for. Told nothing, it does nothing."""

    def attach(self, world: TableWorld, task: TableTask, progress: Progress) -> None:
        """Take what policies may not see."""
        self._world, self._task = world, task
        # What is asked may be another thing than what counts: then it keeps its own account of it.
        self._own = None if task.asked in (None, task.goal) else Progress(task.asked, task.scene)
        self._progress = self._own or progress

    def reset(self, prompt: Prompt, spec: Occasion) -> None:
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
            poses = self._world.poses()
            sweeper = Sweeper(goal, self._task.scene, poses, self._rng)
            return sweeper.next(self._progress.inside(poses))[None]
        pending = self._progress.pending()
        if not pending:
            return self._away(goal, self._intruder(goal, goal.stages[-1]))[None]
        blocker = self._intruder(goal, pending[:1])
        chosen = self._away(goal, blocker) if blocker >= 0 else self._carried(pending[0])
        return chosen[None]

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
