"""The built-in source: the oracle does every feasible task of a few scenes, from the same beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay import tasks
from assay.episodes import Outcome, rollout
from assay.episodes.spec import EpisodeSpec
from assay.eqa.episode import FOUND, Episode, Tally
from assay.eqa.sources.simulated import RULES, SceneCache, Watcher
from assay.errors import PlacementError, StateError
from assay.perturb.words.rewordings.goals import alternatives
from assay.policies.oracle.policy import Oracle
from assay.sim.world import SceneEnv
from assay.tasks import Instruction, Task

SCENES: tuple[tuple[str, int], ...] = (
    *(("libero_goal/0", seed) for seed in range(4)),
    *((f"libero_object/{number}", 0) for number in range(4)),
)
"""Tasks whose scenes are used, and seeds that lay them out."""
PACK = "primitives"


class DemoSource:
    """Oracle episodes on the built-in assets."""

    name = "demo"
    rules = RULES
    threads = 1  # a GL context belongs to one thread

    def __init__(self, size: int = 256, scenes: Sequence[tuple[str, int]] = SCENES) -> None:
        self.compiled = SceneCache(size)
        self.scenes = scenes

    @property
    def total(self) -> int:
        """See `Source`."""
        return sum(len(feasible(tasks.load(task_id))) for task_id, _ in self.scenes)

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


def feasible(task: Task) -> list[Task]:
    """A task and all else that could be asked for in its scene, no instruction twice."""
    others = (
        replace(task, goal=other.goal, instruction=Instruction(other.text)) for other in alternatives(task)
    )
    return list({each.instruction.text: each for each in (task, *others)}.values())
