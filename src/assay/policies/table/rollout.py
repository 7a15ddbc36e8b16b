"""One episode of a run on the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.errors import ActionError, AssayError, PolicyError
from assay.experiments.spec import EpisodeSpec
from assay.perturb.table import TableSenses
from assay.policies.rollout import Outcome, guarded
from assay.tabletop import (
    Played,
    Progress,
    Prompt,
    TableObservation,
    TablePolicy,
    TableSimulation,
    TableTask,
    play,
)
from assay.tabletop.episode import TablePrivileged, checked_chunk


@dataclass(frozen=True, slots=True, eq=False)
class TableRollout:
    """How it went."""

    outcome: Outcome
    played: Played | None
    """None where it broke."""
    error: str = ""
    """What broke, where something did."""
    passing: bool = False
    """Whether what broke may be well again later by itself."""


def table_rollout(
    task: TableTask, policy: TablePolicy, spec: EpisodeSpec, *, alive: Callable[[], None] = lambda: None
) -> TableRollout:
    """Let a policy do a task; ``alive`` is called before each of its decisions."""
    senses = TableSenses(spec.perturbations, task=spec.task, seed=spec.seed)

    def sense(observation: TableObservation) -> TableObservation:
        alive()
        return senses.observe(observation)

    try:
        played = play(task, _Guarded(policy), most=spec.steps, spec=spec, sense=sense)
    except PolicyError as error:
        return TableRollout(Outcome.ERROR, None, str(error), error.passing)
    except AssayError as error:
        return TableRollout(Outcome.ERROR, None, str(error))
    return TableRollout(Outcome.SUCCESS if played.success else Outcome.FAILURE, played)


class _Guarded:
    """Whatever a policy raises, or returns that is no action, becomes a PolicyError with its name."""

    def __init__(self, policy: TablePolicy) -> None:
        self._policy = policy
        self._step = 0

    def attach(self, world: TableSimulation, task: TableTask, progress: Progress) -> None:
        if isinstance(self._policy, TablePrivileged):
            guarded(self._policy, 0, self._policy.attach, world, task, progress)

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        guarded(self._policy, 0, self._policy.reset, prompt, spec)

    def act(self, observation: TableObservation) -> np.ndarray:
        self._step = observation.step
        given = guarded(self._policy, self._step, self._policy.act, observation)
        name = f"{type(self._policy).__name__}, step {self._step}"
        try:
            # As they are stored, so that a stored episode can be played again.
            chunk = checked_chunk(given).astype(np.float32)
        except ActionError as error:
            raise PolicyError(f"{name}: {error}") from None
        if not np.isfinite(chunk).all():
            raise PolicyError(f"{name}: returned values that are not finite")
        return chunk
