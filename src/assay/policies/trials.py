"""A few episodes of one policy, task by task: a quick count, with nothing stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from assay.errors import AssayError
from assay.experiments.spec import EpisodeSpec, Initial
from assay.policies.control import initial_state
from assay.policies.registry import load_policy
from assay.policies.rollout import Outcome, Rollout, never_began, rollout
from assay.sim import Observation, Simulation, compile_scene, load_pack
from assay.tasks import Task


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One episode of a task."""

    spec: EpisodeSpec
    rollout: Rollout


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The episodes of one task."""

    task: str
    attempts: tuple[Attempt, ...]

    @property
    def episodes(self) -> int:
        """How many there were."""
        return len(self.attempts)

    @property
    def successes(self) -> int:
        """How many reached the goal."""
        return len(self.steps)

    @property
    def failed(self) -> tuple[int, ...]:
        """The seeds of those that ran out of time."""
        return tuple(each.spec.seed for each in self.attempts if each.rollout.outcome is Outcome.FAILURE)

    @property
    def errors(self) -> int:
        """In how many the policy broke."""
        return len(self.reasons)

    @property
    def steps(self) -> tuple[int, ...]:
        """Control steps of the successes."""
        return tuple(each.rollout.steps for each in self.attempts if each.rollout.outcome is Outcome.SUCCESS)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the policy broke, where it did."""
        return tuple(each.rollout.error for each in self.attempts if each.rollout.outcome is Outcome.ERROR)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why it failed, where it says so."""
        return tuple(each.rollout.note for each in self.attempts if each.rollout.note)

    def as_json(self) -> dict[str, object]:
        """A JSON object."""
        return {
            "task": self.task,
            "episodes": self.episodes,
            "successes": self.successes,
            "errors": self.errors,
            "steps": list(self.steps),
            "failed_seeds": list(self.failed),
            "reasons": list(self.reasons),
            "attempts": [
                {
                    "seed": each.spec.seed,
                    "outcome": each.rollout.outcome.value,
                    "steps": each.rollout.steps,
                    "why_not": each.rollout.error or each.rollout.note,
                }
                for each in self.attempts
            ],
        }


def by_task(attempts: Sequence[Attempt]) -> list[Trial]:
    """Attempts, task by task."""
    return [
        Trial(task, tuple(each)) for task, each in groupby(attempts, key=lambda attempt: attempt.spec.task)
    ]


Watch = Callable[[Observation], None]


def attempts(
    address: str,
    chosen: Sequence[Task],
    seeds: Sequence[int],
    *,
    pack: str = "primitives",
    initial: Initial = "sampled",
    replan: int | None = None,
    watch: Callable[[Task, EpisodeSpec], Watch] = lambda task, spec: lambda observation: None,
) -> Iterator[Attempt]:
    """Run a policy on tasks; one attempt after the other, as it is done.

    With ``initial="stored"`` a seed is the index of a state in LIBERO's file of the task. ``watch`` gives
    whoever is shown an episode's observations.
    """
    policy = load_policy(address)
    assets = load_pack(pack)
    for task in chosen:
        world = Simulation(compile_scene(task.scene, assets))
        for seed in seeds:
            spec = EpisodeSpec(task.id, seed, pack, replan=replan, initial=initial)
            try:
                state = initial_state(world, spec)
            except AssayError as error:
                yield Attempt(spec, never_began(str(error)))
            else:
                yield Attempt(spec, rollout(world, task, policy, state, spec, watch=watch(task, spec)))
        world.close()
