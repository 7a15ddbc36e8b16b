"""An experiment as harnesses and scripts know benchmarks: tasks, each with a number of episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.episodes import EpisodeSpec, Perturbation


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task under one condition, in one variant of it; its episodes are those of its seeds."""

    name: str
    """``x/level3 libero_goal/3``; with a number where a condition has several variants of a task."""
    condition: str
    task: str
    specs: tuple[EpisodeSpec, ...]
    variant: int = 1
    """Which of the condition's variants of the task, from 1."""

    def episode(self, number: int) -> EpisodeSpec:
        """Its n-th episode; beyond the last it begins with the first again."""
        return self.specs[number % len(self.specs)]


def planned_tasks(specs: Iterable[EpisodeSpec]) -> list[PlannedTask]:
    """The episodes of a plan, by condition, task and variant, in the plan's order."""
    variants: dict[tuple[str, str, tuple[Perturbation, ...]], list[EpisodeSpec]] = {}
    for spec in specs:
        variants.setdefault((spec.condition, spec.task, spec.perturbations), []).append(spec)
    named: dict[str, int] = {}
    found = []
    for (condition, task, _), episodes in variants.items():
        name = f"{condition} {task}"
        named[name] = named.get(name, 0) + 1
        numbered = name if named[name] == 1 else f"{name} {named[name]}"
        found.append(PlannedTask(numbered, condition, task, tuple(episodes), named[name]))
    return found
