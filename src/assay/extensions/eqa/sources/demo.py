"""The built-in source: the oracle performs every feasible task of a few scenes from the same initial state.

The oracle rarely rotates the gripper. Therefore each scene also has tours without an instruction: the gripper moves
between positions above the table and rotates about only one of the base's axes, so that two images determine the
axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

import numpy as np
from scipy.spatial.transform import Rotation

from assay import tasks
from assay.episodes import Outcome, rollout
from assay.episodes.spec import EpisodeSpec
from assay.errors import PlacementError, StateError
from assay.extensions.eqa.episode import EPISODES_FOUND, SourceEpisode, Tally
from assay.extensions.eqa.sources.simulated import RULES, RolloutWatcher, SceneCache
from assay.perturb.words.rewordings.goals import alternatives
from assay.policies.oracle.motion import CLOSED, OPEN, grip, move
from assay.policies.oracle.policy import Oracle
from assay.policies.oracle.scene_state import SceneState
from assay.sim.world import SceneEnv
from assay.support.streams import stream
from assay.tasks import Instruction, Task

SCENES: tuple[tuple[str, int], ...] = (
    *(("libero_goal/0", seed) for seed in range(4)),
    *((f"libero_object/{number}", 0) for number in range(4)),
)
"""Tasks whose scenes are used, each with the seed of the layout."""
PACK = "primitives"
TOURS = 2
"""Number of tours per scene and axis."""
TOUR_AXES = ("X", "Y", "Z")
TOUR_LEGS = 7
"""Number of positions that a tour visits."""
TOUR_REACH_M = np.array([0.09, 0.10, 0.055])
"""Maximum offset of the positions from the middle of a tour, in metres, (3,)."""
TOUR_MIDDLE_M = np.array([0.14, 0.0, -0.03])
"""Middle of a tour relative to the initial position of the end effector, in metres, (3,)."""
TOUR_TURN_DEG = np.array([32.0, 28.0, 40.0])
"""Rotation in either direction about X, Y or Z, in degrees, (3,)."""
MAX_LEG_STEPS = 70


class DemoSource:
    """Oracle episodes and tours on the built-in assets."""

    name = "demo"
    rules = RULES

    def __init__(
        self, size: int = 256, scenes: Sequence[tuple[str, int]] = SCENES, tours: int = TOURS
    ) -> None:
        self.compiled = SceneCache(size)
        self.scenes = scenes
        self.tours = tours

    @property
    def total(self) -> int:
        """Number of episodes; see `EpisodeSource`."""
        tours = self.tours * len(TOUR_AXES) * len(self.scenes)
        return tours + sum(len(feasible_tasks(tasks.load(task_id))) for task_id, _ in self.scenes)

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        """Yield usable episodes; see `EpisodeSource`."""
        for task_id, seed in self.scenes:
            scene_tasks = feasible_tasks(tasks.load(task_id))
            goals = {task.instruction.text: task.goal for task in scene_tasks}
            for task in scene_tasks:
                tally.add(EPISODES_FOUND)
                text = task.instruction.text
                name = f"{task_id} seed {seed}: {text}"
                watcher = RolloutWatcher(self.compiled, task.scene, PACK)
                try:
                    env = SceneEnv(watcher.world, task, watcher.world.sample(seed))
                    episode = rollout(env, Oracle(), EpisodeSpec(task_id, seed, PACK), watch=watcher)
                except (PlacementError, StateError) as error:
                    tally.add("episode: cannot be set up", f"{name}: {error}")
                    continue
                if episode.outcome is not Outcome.SUCCESS:
                    tally.add("episode: the oracle failed", name)
                    continue
                yield watcher.episode(name, text, f"{task_id} {seed}", goals)
            yield from self._tours(task_id, seed, tally)

    def _tours(self, task_id: str, seed: int, tally: Tally) -> Iterator[SourceEpisode]:
        task = tasks.load(task_id)
        for axis, number in product(range(len(TOUR_AXES)), range(self.tours)):
            tally.add(EPISODES_FOUND)
            name = f"{task_id} seed {seed}: tour {number + 1} about {TOUR_AXES[axis]}"
            watcher = RolloutWatcher(self.compiled, task.scene, PACK)
            world = watcher.world
            try:
                watcher(world.reset(world.sample(seed)))
            except (PlacementError, StateError) as error:
                tally.add("episode: cannot be set up", f"{name}: {error}")
                continue
            # Every leg changes sides in two or three of: forward, left, up, rotation, gripper.
            rng = stream("eqa", "tour", task_id, seed, axis, number)
            side = rng.choice([-1.0, 1.0], 5)
            scene = SceneState(world)
            start, home = scene.gripper_pose()
            for leg in range(TOUR_LEGS):
                place = start + TOUR_MIDDLE_M + TOUR_REACH_M * side[:3]
                turn = Rotation.from_rotvec(np.eye(3)[axis] * TOUR_TURN_DEG[axis] * side[3], degrees=True)
                gripper = OPEN if side[4] > 0 else CLOSED
                motion = move(scene, place, turn.as_matrix() @ home, gripper, steps=MAX_LEG_STEPS)
                for action in chain(motion, grip(scene, gripper, steps=6)):
                    watcher(world.step(action))
                count = int(rng.integers(2, 4))
                chosen = rng.choice(5, count, replace=False)
                if leg % 2 == 0 and 3 not in chosen:  # the rotation changes at least on every other leg
                    chosen[0] = 3
                side[chosen] *= -1.0
            yield watcher.episode(name, "", f"{task_id} {seed}", {})


def feasible_tasks(task: Task) -> list[Task]:
    """Return a task and its feasible alternatives in the same scene, each instruction once."""
    others = (
        replace(task, goal=other.goal, instruction=Instruction(other.text)) for other in alternatives(task)
    )
    return list({candidate.instruction.text: candidate for candidate in (task, *others)}.values())
