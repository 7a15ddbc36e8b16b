"""One episode: reset, then observe, act and step until the goal holds or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

import numpy as np

from assay.errors import AssayError, PolicyError
from assay.experiments.spec import EpisodeSpec
from assay.perturb import Senses
from assay.policies.base import Policy, Privileged
from assay.sim import InitialState, Observation, Simulation
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
    note: str = ""
    """Why it failed, where the policy says so in its ``note``."""


def never_began(error: str) -> Rollout:
    """An episode that broke before its first step."""
    return Rollout(Outcome.ERROR, 0, np.empty((0, 7), np.float32), 0, error)


def rollout(
    world: Simulation,
    task: Task,
    policy: Policy,
    state: InitialState,
    spec: EpisodeSpec,
    *,
    watch: Callable[[Observation], None] = lambda observation: None,
) -> Rollout:
    """Run one episode; ``watch`` is shown every observation as it is, the first before the policy acts."""
    senses = Senses(spec.perturbations, task=spec.task, seed=spec.seed)
    actions: list[np.ndarray] = []
    decisions = 0

    def ended(outcome: Outcome) -> Rollout:
        return Rollout(outcome, world.steps, np.array(actions, np.float32).reshape(-1, 7), decisions)

    def sensed(observation: Observation) -> Observation:
        watch(observation)
        return senses.observe(observation)

    observation = sensed(world.reset(state))
    try:
        if isinstance(policy, Privileged):
            guarded(policy, world.steps, policy.attach, world, task)
        guarded(policy, world.steps, policy.reset, task.instruction, spec)
        most = spec.horizon + int(getattr(policy, "waiting", 0))  # the field does not count waiting steps
        while world.steps < most:
            chunk = _actions(policy, world.steps, guarded(policy, world.steps, policy.act, observation))
            decisions += 1
            for action in chunk[: spec.replan or len(chunk)][: most - world.steps]:
                now = world.step(senses.act(action, world.steps))
                actions.append(action)
                observation = sensed(now)
                if world.satisfied(task.goal):
                    return ended(Outcome.SUCCESS)
    except PolicyError as error:
        return replace(ended(Outcome.ERROR), error=str(error), passing=error.passing)
    except AssayError as error:  # the simulation broke
        return replace(ended(Outcome.ERROR), error=str(error))
    return replace(ended(Outcome.FAILURE), note=str(getattr(policy, "note", "")))


def guarded(policy: object, step: int, call: Callable[..., T], *arguments: object) -> T:
    """Call a policy; whatever it raises becomes one typed error with its name and the step."""
    try:
        return call(*arguments)
    except (Exception, SystemExit) as error:
        kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{_said(error)}".split())[:300]
        broken = PolicyError(f"{type(policy).__name__}, step {step}: {reason}")
        broken.passing = isinstance(error, PolicyError) and error.passing
        raise broken from error


def _said(error: BaseException) -> str:
    """What an exception says, even if somebody made one that cannot speak."""
    try:
        return str(error)
    except Exception:
        return "(it cannot be printed)"


def _actions(policy: Policy, step: int, given: object) -> np.ndarray:
    """Check what a policy returned: (k, 7), finite."""
    name = f"{type(policy).__name__}, step {step}"
    raw: np.ndarray = np.empty(0, dtype=object)
    with suppress(Exception):  # ragged, or an object of somebody's that cannot be made an array of
        raw = np.asarray(given)
    if raw.dtype.kind not in "fiub":
        raise PolicyError(f"{name}: returned {type(given).__name__}, not an array of numbers")
    with np.errstate(all="ignore"):  # whatever the policy set; what overflows is not finite
        actions = raw.astype(np.float32)  # as they are stored, so that a stored episode can be played again
    if actions.ndim != 2 or actions.shape[1] != 7 or not 1 <= len(actions) <= MOST_ACTIONS:
        raise PolicyError(
            f"{name}: returned shape {actions.shape}; valid: (k, 7) with k from 1 to {MOST_ACTIONS}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError(f"{name}: returned values that are not finite")
    return actions
