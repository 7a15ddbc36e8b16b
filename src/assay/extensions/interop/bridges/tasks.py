"""A task, or a condition of an experiment on it, as the episodes of its seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.episodes import CONTROL, LIBERO, EpisodeSpec, Initial, world_name, world_of
from assay.errors import TaskError
from assay.experiments import Experiment, load_experiment
from assay.runs.options import RunOptions
from assay.runs.recording import begin


@dataclass(frozen=True)
class ConditionedTask:
    """A task of LIBERO's world under one condition; each seed is an episode of it.

    Raises AssayError where there is none.
    """

    task: str
    """Its id, ``libero_goal/3``, or a task file."""
    condition: str = CONTROL
    """``x/level3``: the experiment's name and the condition's; nothing is changed by default."""
    experiment: str | None = None
    """The experiment's address, where its name alone does not do: ``para?per_cell=2``."""
    assets: str | None = None
    """The asset pack; the world's usual one by default."""
    initial: Initial = "sampled"
    steps: int | None = None
    """The most control steps; the task's usual horizon by default."""
    _entry: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if world_name(self.task) != LIBERO:
            raise TaskError(
                f"'{self.task}' is no task of LIBERO's world: images, state and actions are LIBERO's here"
            )
        if self.steps is not None and self.steps < 1:
            raise TaskError(f"steps={self.steps}: valid: 1 or more")
        found = world_of(self.task).select(self.task)
        if len(found) != 1:
            raise TaskError(f"'{self.task}' names {len(found)} tasks; valid: one, such as libero_goal/3")
        object.__setattr__(self, "_entry", found[0])
        world_of(self.task).digest(
            self._design.checked_pack(self.assets, self.initial)
        )  # missed now if not there
        self.episode(0)

    @cached_property
    def _design(self) -> Experiment:
        experiment, slash, _ = self.condition.partition("/")
        if self.experiment is None and self.condition != CONTROL and not slash:
            raise TaskError(
                f"condition '{self.condition}': valid: {CONTROL}, or EXPERIMENT/CONDITION, such as x/level3"
            )
        name = self.experiment or ("libero" if self.condition == CONTROL else experiment)
        return load_experiment(name).only(None if self.condition == CONTROL else self.condition)

    def begin(self, path: Path, policy: str, states: Path | None) -> None:
        """Begin a run in which episodes are recorded as they come. Raises RunError."""
        options = RunOptions(tasks=self.task, seeds=(), assets=self.assets, states=states, certified=False)
        begin(path, self._design, policy, options)

    def episode(self, seed: int) -> EpisodeSpec:
        """The episode of a seed, as an experiment's plan has it.

        Where the experiment has several variants of the task in the condition, as paraphrases, seeds go through
        them in turn.
        """
        plan = self._design.plan(
            [self._entry], [seed], pack=self.assets, initial=self.initial, steps=self.steps
        )
        found = [spec for spec in plan if (spec.condition == CONTROL) == (self.condition == CONTROL)]
        if not found:
            raise TaskError(
                f"{self._design.name} has no episode of {self.task} with seed {seed} in '{self.condition}'"
            )
        if len(several := list(dict.fromkeys(spec.condition for spec in found))) > 1:
            raise TaskError(
                f"'{self.condition}' stands for {len(several)} conditions; valid: one of them, such as {several[0]}"
            )
        return found[seed % len(found)]
