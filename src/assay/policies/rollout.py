"""One episode: reset, then observe, act and step until the goal holds or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np

from assay.errors import AssayError, PolicyError
from assay.policies.base import EpisodeSpec, Policy, Privileged
from assay.sim import InitialState, Observation, World
from assay.tasks import Task

T = TypeVar("T")

HORIZONS = {"libero_spatial": 220, "libero_object": 280, "libero_goal": 300, "libero_10": 520}
"""Control steps that the field gives a task, by suite."""
DEFAULT_HORIZON = 400
MOST_ACTIONS = 1_000
"""The most actions a policy may return at once."""


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    """The time was over."""
    ERROR = "error"
    """The policy broke; this says nothing about what it knows."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What happened."""

    outcome: Outcome
    steps: int
    """Control steps done."""
    error: str = ""


def horizon(task_id: str) -> int:
    """How many control steps a task gets."""
    return HORIZONS.get(task_id.split("/")[0], DEFAULT_HORIZON)


def rollout(
    world: World,
    task: Task,
    policy: Policy,
    state: InitialState,
    spec: EpisodeSpec,
    *,
    steps: int | None = None,
    replan: int | None = None,
    watch: Callable[[Observation], None] = lambda observation: None,
) -> Rollout:
    """Run one episode. ``replan`` is how many actions of each chunk are executed; by default all of them."""
    most = steps if steps is not None else horizon(task.id)
    observation = world.reset(state)
    watch(observation)
    try:
        if isinstance(policy, Privileged):
            policy.attach(world, task)
        _guarded(policy, world.steps, policy.reset, task.instruction, spec)
        while world.steps < most:
            chunk = _actions(policy, world.steps, _guarded(policy, world.steps, policy.act, observation))
            for action in chunk[: replan or len(chunk)]:
                observation = world.step(action)
                watch(observation)
                if world.satisfied(task.goal):
                    return Rollout(Outcome.SUCCESS, world.steps)
                if world.steps >= most:
                    break
    except PolicyError as error:
        return Rollout(Outcome.ERROR, world.steps, str(error))
    return Rollout(Outcome.FAILURE, world.steps)


def _guarded(policy: Policy, step: int, call: Callable[..., T], *arguments: object) -> T:
    """Whatever a policy raises becomes one typed error with its name and the step."""
    try:
        return call(*arguments)
    except Exception as error:
        kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())[:300]
        raise PolicyError(f"{type(policy).__name__}, step {step}: {reason}") from error


def _actions(policy: Policy, step: int, given: object) -> np.ndarray:
    """Check what a policy returned: (k, 7), finite."""
    name = f"{type(policy).__name__}, step {step}"
    try:
        raw = np.asarray(given)
    except ValueError:  # ragged
        raw = np.empty(0, dtype=object)
    if raw.dtype.kind not in "fiub":
        raise PolicyError(f"{name}: returned {type(given).__name__}, not an array of numbers")
    actions = raw.astype(np.float64)
    if actions.ndim != 2 or actions.shape[1] != 7 or not 1 <= len(actions) <= MOST_ACTIONS:
        raise PolicyError(
            f"{name}: returned shape {actions.shape}; valid: (k, 7) with k from 1 to {MOST_ACTIONS}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError(f"{name}: returned values that are not finite")
    return actions
