"""One episode: reset, then observe, act and step until the goal holds or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

import numpy as np

from assay.errors import AssayError, PolicyError
from assay.policies.base import Policy, Privileged
from assay.sim import InitialState, Observation, World
from assay.suites.spec import EpisodeSpec
from assay.tasks import Task

T = TypeVar("T")

MOST_ACTIONS = 1_000
"""The most actions a policy may return at once."""


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    """The time was over."""
    ERROR = "error"
    """The policy broke; this says nothing about what it knows."""


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """What happened."""

    outcome: Outcome
    steps: int
    """Control steps done."""
    actions: np.ndarray
    """What the policy did, float32, (steps, 7)."""
    decisions: int
    """How often the policy was asked."""
    error: str = ""
    """What broke, where something did."""
    passing: bool = False
    """Whether what broke may be well again later by itself."""


def rollout(
    world: World,
    task: Task,
    policy: Policy,
    state: InitialState,
    spec: EpisodeSpec,
    *,
    watch: Callable[[Observation], None] = lambda observation: None,
) -> Rollout:
    """Run one episode; ``watch`` is shown every observation, the first one before the policy acts."""
    actions: list[np.ndarray] = []
    decisions = 0

    def ended(outcome: Outcome) -> Rollout:
        return Rollout(outcome, world.steps, np.array(actions, np.float32).reshape(-1, 7), decisions)

    observation = world.reset(state)
    watch(observation)
    try:
        if isinstance(policy, Privileged):
            policy.attach(world, task)
        _guarded(policy, world.steps, policy.reset, task.instruction, spec)
        while world.steps < spec.horizon:
            chunk = _actions(policy, world.steps, _guarded(policy, world.steps, policy.act, observation))
            decisions += 1
            for action in chunk[: spec.replan or len(chunk)][: spec.horizon - world.steps]:
                observation = world.step(action)
                actions.append(action)
                watch(observation)
                if world.satisfied(task.goal):
                    return ended(Outcome.SUCCESS)
    except PolicyError as error:
        return replace(ended(Outcome.ERROR), error=str(error), passing=error.passing)
    return ended(Outcome.FAILURE)


def _guarded(policy: Policy, step: int, call: Callable[..., T], *arguments: object) -> T:
    """Whatever a policy raises becomes one typed error with its name and the step."""
    try:
        return call(*arguments)
    except Exception as error:
        kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())[:300]
        broken = PolicyError(f"{type(policy).__name__}, step {step}: {reason}")
        broken.passing = isinstance(error, PolicyError) and error.passing
        raise broken from error


def _actions(policy: Policy, step: int, given: object) -> np.ndarray:
    """Check what a policy returned: (k, 7), finite."""
    name = f"{type(policy).__name__}, step {step}"
    try:
        raw = np.asarray(given)
    except ValueError:  # ragged
        raw = np.empty(0, dtype=object)
    if raw.dtype.kind not in "fiub":
        raise PolicyError(f"{name}: returned {type(given).__name__}, not an array of numbers")
    actions = raw.astype(np.float32)  # as they are stored, so that a stored episode can be played again
    if actions.ndim != 2 or actions.shape[1] != 7 or not 1 <= len(actions) <= MOST_ACTIONS:
        raise PolicyError(
            f"{name}: returned shape {actions.shape}; valid: (k, 7) with k from 1 to {MOST_ACTIONS}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError(f"{name}: returned values that are not finite")
    return actions
