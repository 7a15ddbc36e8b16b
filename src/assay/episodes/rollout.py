"""One episode: reset, then observe, act and step until the goal holds or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from assay.episodes.episode import Episode, Outcome
from assay.episodes.policy import Policy, Privileged
from assay.episodes.senses import Senses
from assay.episodes.spec import EpisodeSpec
from assay.episodes.world import Env
from assay.errors import AssayError, PolicyError, one_line, short_traceback

T = TypeVar("T")

MOST_ACTIONS = 1_000
"""The most actions a policy may return at once."""
HAIR = 1e-3
"""By how much a number may be outside of [-1, 1] for its rounding."""


def rollout(
    env: Env,
    policy: Policy,
    spec: EpisodeSpec,
    *,
    watch: Callable[[Any], None] = lambda observation: None,
) -> Episode:
    """Run one episode; ``watch`` is shown every observation as it is, the first before the policy acts.

    What the policy does wrong, and a simulation that breaks on the way, are told in the episode with all that
    happened until then; raises AssayError where the episode cannot be begun.
    """
    world = env.world
    senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
    actions: list[np.ndarray] = []
    decisions = 0

    def ended(outcome: Outcome, error: str = "", broken: Exception | None = None) -> Episode:
        record = env.record()
        done = np.array(actions, np.float32).reshape(-1, world.action_size)
        episode = Episode(
            outcome=outcome,
            steps=len(done),
            trajectory=replace(record.trajectory, actions=done),
            instruction=env.task.instruction.words,
            decisions=decisions,
            images=env.images,
            touched=record.touched,
            moved=record.moved,
            truth=dict(record.truth or {}),
            initial_positions=dict(record.initial_positions or {}),
            contacts=None if record.contacts is None else dict(record.contacts),
            error=error or ("" if outcome is Outcome.SUCCESS else record.note),
            transient=isinstance(broken, PolicyError) and broken.transient,
            traceback=_traceback(broken),
            clipped=_clipped(done, world.traits.clips),
        )
        return _told(policy, episode)

    def sensed(observation: Any) -> Any:
        watch(observation)
        return senses.observe(observation)

    observation = sensed(env.reset(spec))
    try:
        if isinstance(policy, Privileged):
            _guarded(policy, env.steps, policy.attach, env)
        _guarded(policy, env.steps, policy.reset, env.task.instruction, spec)
        # The steps that a client waits for objects to settle are not counted, as in LIBERO's own scripts.
        most = world.horizon(spec) + int(getattr(policy, "waiting", 0))
        while env.steps < most:
            given = _guarded(policy, env.steps, policy.act, observation)
            chunk = _actions(policy, env.steps, given, world.action_size)
            decisions += 1
            for action in chunk[: spec.replan or len(chunk)][: most - env.steps]:
                now = _step(env, senses.act(action, env.steps), absolute=_is_absolute(policy))
                actions.append(action)
                observation = sensed(now)
                if env.succeeded():
                    return ended(Outcome.SUCCESS)
    except PolicyError as error:
        return ended(Outcome.ERROR, str(error), error)
    except AssayError as error:  # the simulation broke
        return ended(Outcome.ERROR, str(error), error)
    except Exception as error:  # ... in a way that nobody foresaw
        return ended(Outcome.ERROR, one_line(error, 300), error)
    return ended(Outcome.FAILURE, str(getattr(policy, "note", "")))


def _guarded(policy: object, step: int, call: Callable[..., T], *arguments: object) -> T:
    """Call a policy; whatever it raises becomes one typed error with its name and the step."""
    try:
        return call(*arguments)
    except (Exception, SystemExit) as error:
        kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
        reason = one_line(f"{kind}{_text(error)}", 300)
        broken = PolicyError(f"{type(policy).__name__}, step {step}: {reason}")
        broken.transient = isinstance(error, PolicyError) and error.transient
        broken.traceback = short_traceback(error)
        raise broken from error


def _traceback(broken: Exception | None) -> str:
    if broken is None:
        return ""
    return broken.traceback if isinstance(broken, PolicyError) else short_traceback(broken)


def _clipped(actions: np.ndarray, cut: int) -> int | None:
    """How many actions (steps, action size) have one of their first ``cut`` numbers outside [-1, 1]."""
    return int((np.abs(actions[:, :cut]) > 1 + HAIR).any(axis=1).sum()) if cut else None


def _step(env: Env, action: np.ndarray, *, absolute: bool) -> Any:
    """One step with an action, or, where the policy gives those, with a pose to go to."""
    return cast(Any, env).step(action, absolute=True) if absolute else env.step(action)


def _is_absolute(policy: object) -> bool:
    """Whether what a policy has just given are poses to go to."""
    return getattr(policy, "absolute", False) is True


def _told(policy: object, episode: Episode) -> Episode:
    """The episode with what the policy says of it; a policy with a method ``episode_ended`` is told of it."""
    said = getattr(policy, "inference_ms", None)
    if isinstance(said, list) and all(isinstance(each, float) for each in said):
        episode = replace(episode, inference=tuple(said))
    if _is_absolute(policy):
        episode = replace(episode, clipped=None)  # metres and radians
    tell = getattr(policy, "episode_ended", None)
    if callable(tell):
        with suppress(Exception):  # it is over, whatever a server makes of that
            tell(episode)
    return episode


def _text(error: BaseException) -> str:
    """What an exception says, even if somebody made one that cannot be printed."""
    try:
        return str(error)
    except Exception:
        return "(it cannot be printed)"


def _actions(policy: Policy, step: int, given: object, size: int) -> np.ndarray:
    """Check what a policy returned: (k, size), finite."""
    name = f"{type(policy).__name__}, step {step}"
    raw: np.ndarray = np.empty(0, dtype=object)
    with suppress(Exception):  # ragged, or an object of somebody's that cannot be made an array of
        raw = np.asarray(given)
    if raw.dtype.kind not in "fiub":
        raise PolicyError(f"{name}: returned {type(given).__name__}, not an array of numbers")
    with np.errstate(all="ignore"):  # whatever the policy set; what overflows is not finite
        actions = raw.astype(np.float32)  # as they are stored, so that a stored episode can be replayed
    if actions.ndim != 2 or actions.shape[1] != size or not 1 <= len(actions) <= MOST_ACTIONS:
        raise PolicyError(
            f"{name}: returned shape {actions.shape}; valid: (k, {size}) with k from 1 to {MOST_ACTIONS}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError(f"{name}: returned values that are not finite")
    return actions
