"""The built-in source: the oracle does every feasible task of a few scenes, from the same beginning.

And tours of each scene turn the hand on purpose: they have no instruction, and are for the mid and the low level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from assay import tasks
from assay.episodes import Outcome, rollout
from assay.episodes.spec import EpisodeSpec
from assay.errors import PlacementError, StateError
from assay.extensions.eqa.episode import FOUND, Episode, Tally
from assay.extensions.eqa.sources.simulated import RULES, SceneCache, Watcher
from assay.extensions.eqa.sources.tour import AXES, tour
from assay.perturb.words.rewordings.goals import alternatives
from assay.policies.oracle.policy import Oracle
from assay.policies.oracle.scene_state import SceneState
from assay.sim.world import SceneEnv
from assay.support.streams import stream
from assay.tasks import Instruction, Task

SCENES: tuple[tuple[str, int], ...] = (
    *(("libero_goal/0", seed) for seed in range(4)),
    *((f"libero_object/{number}", 0) for number in range(4)),
)
"""Tasks whose scenes are used, and seeds that lay them out."""
PACK = "primitives"
TOURS = 2
"""Of each scene, about each axis."""


class DemoSource:
    """Oracle episodes on the built-in assets."""

    name = "demo"
    rules = RULES
    threads = 1  # a GL context belongs to one thread

    def __init__(
        self, size: int = 256, scenes: Sequence[tuple[str, int]] = SCENES, tours: int = TOURS
    ) -> None:
        self.compiled = SceneCache(size)
        self.scenes = scenes
        self.tours = tours

    @property
    def total(self) -> int:
        """See `Source`."""
        tours = self.tours * len(AXES) * len(self.scenes)
        return tours + sum(len(feasible(tasks.load(task_id))) for task_id, _ in self.scenes)

    def episodes(self, tally: Tally) -> Iterator[Episode]:
        """See `Source`."""
        for task_id, seed in self.scenes:
            wanted = feasible(tasks.load(task_id))
            goals = {each.instruction.text: each.goal for each in wanted}
            for task in wanted:
                tally.add(FOUND)
                text = task.instruction.text
                name = f"{task_id} seed {seed}: {text}"
                world, watcher = self.compiled.world(task.scene, PACK), Watcher()
                try:
                    state = world.sample(seed)
                    done = rollout(
                        SceneEnv(world, task, state),
                        Oracle(),
                        EpisodeSpec(task_id, seed, PACK),
                        watch=watcher,
                    )
                except (PlacementError, StateError) as error:
                    tally.add("episode: cannot be set up", f"{name}: {error}")
                    continue
                if done.outcome is not Outcome.SUCCESS:
                    tally.add("episode: the oracle did not succeed", name)
                    continue
                yield watcher.episode(name, text, f"{task_id} {seed}", world, self.compiled, PACK, goals)
            yield from self._tours(task_id, seed, tally)

    def _tours(self, task_id: str, seed: int, tally: Tally) -> Iterator[Episode]:
        world = self.compiled.world(tasks.load(task_id).scene, PACK)
        for axis, number in product(range(len(AXES)), range(self.tours)):
            tally.add(FOUND)
            name = f"{task_id} seed {seed}: tour {number + 1} about {AXES[axis]}"
            watcher = Watcher()
            try:
                watcher(world.reset(world.sample(seed)))
            except (PlacementError, StateError) as error:
                tally.add("episode: cannot be set up", f"{name}: {error}")
                continue
            for action in tour(SceneState(world), axis, stream("eqa", "tour", task_id, seed, axis, number)):
                watcher(world.step(action))
            yield watcher.episode(name, "", f"{task_id} {seed}", world, self.compiled, PACK, {})


def feasible(task: Task) -> list[Task]:
    """A task and all else that could be asked for in its scene, no instruction twice."""
    others = (
        replace(task, goal=other.goal, instruction=Instruction(other.text)) for other in alternatives(task)
    )
    return list({each.instruction.text: each for each in (task, *others)}.values())
