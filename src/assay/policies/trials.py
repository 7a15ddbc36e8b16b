"""Many episodes of one policy, task by task: a small count, before there are runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.policies.base import EpisodeSpec
from assay.policies.control import initial_state
from assay.policies.registry import load_policy
from assay.policies.rollout import Outcome, Rollout, rollout
from assay.sim import World, compile_scene, load_pack
from assay.tasks import Task


@dataclass(frozen=True, slots=True)
class Trial:
    """The episodes of one task."""

    task: str
    rollouts: tuple[Rollout, ...]

    @property
    def episodes(self) -> int:
        """How many there were."""
        return len(self.rollouts)

    @property
    def successes(self) -> int:
        """How many reached the goal."""
        return sum(each.outcome is Outcome.SUCCESS for each in self.rollouts)

    @property
    def errors(self) -> int:
        """In how many the policy broke."""
        return sum(each.outcome is Outcome.ERROR for each in self.rollouts)

    @property
    def steps(self) -> tuple[int, ...]:
        """Control steps of the successes."""
        return tuple(each.steps for each in self.rollouts if each.outcome is Outcome.SUCCESS)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the policy broke, where it did."""
        return tuple(each.error for each in self.rollouts if each.error)

    def as_json(self) -> dict[str, object]:
        """A JSON object."""
        return {
            "task": self.task,
            "episodes": self.episodes,
            "successes": self.successes,
            "errors": self.errors,
            "steps": list(self.steps),
            "reasons": list(self.reasons),
        }


def trials(
    address: str,
    chosen: Sequence[Task],
    seeds: Sequence[int],
    *,
    pack: str = "primitives",
    stored: Path | None = None,
    replan: int | None = None,
) -> Iterator[Trial]:
    """Run a policy on tasks; one Trial for each, as it is done.

    With ``stored``, LIBERO's folder of initial states, a seed is the index of a state in the task's file.
    """
    policy = load_policy(address)
    assets = load_pack(pack)
    for task in chosen:
        world = World(compile_scene(task.scene, assets))
        rollouts = []
        for seed in seeds:
            spec = EpisodeSpec(task.id, seed, pack, stored)
            rollouts.append(rollout(world, task, policy, initial_state(world, spec), spec, replan=replan))
        world.close()
        yield Trial(task.id, tuple(rollouts))
