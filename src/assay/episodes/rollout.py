"""One episode: reset, then observe, act and step until the goal holds or the time limit is reached."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from assay.episodes.episode import Episode
from assay.episodes.latency import LookaheadPolicy, Timeline
from assay.episodes.policy import Policy, Privileged
from assay.episodes.spec import EpisodeSpec
from assay.episodes.stepwise import Stepwise
from assay.episodes.world import Env
from assay.errors import AssayError, PolicyError, one_line, short_traceback, traceback_of

T = TypeVar("T")

MAX_CHUNK = 1_000
"""Maximum number of actions in one chunk."""


def rollout(
    env: Env,
    policy: Policy,
    spec: EpisodeSpec,
    *,
    watch: Callable[[Any], None] = lambda observation: None,
) -> Episode:
    """Run one episode; ``watch`` receives every observation before perturbations of the senses are applied.

    Policy and simulation errors end the episode with outcome ``error``, keeping everything recorded so far. Raises
    AssayError if the episode cannot be started.
    """
    timeline = Timeline(env.world, spec.latency, spec.while_waiting)
    play = Stepwise(env, spec, watch=watch, waits=True)
    decisions, took = 0, list[float]()

    broken: Exception | None = None
    try:
        if isinstance(policy, Privileged):
            _call(policy, play.steps, policy.attach, env)
        instruction = play.instruction
        _call(policy, play.steps, policy.reset, instruction, spec)
        # The steps that a client waits for objects to settle are not counted, as in LIBERO's own scripts.
        waiting = int(getattr(policy, "waiting", 0))
        play.horizon += waiting
        while not play.over:
            # A decision is a chunk of actions. Its latency is counted in control steps, not by the clock, so that the
            # same spec gives the same episode on any machine; the clock is only recorded.
            settling = play.steps < waiting
            begun = perf_counter()
            chunk, executed = _decide(policy, play, late=spec.latency > 0 and not settling)
            if not settling:
                took.append(1e3 * (perf_counter() - begun))
            decisions += 1
            for action, absolute in timeline.actions(
                chunk,
                min(executed, spec.replan or executed),
                absolute=getattr(policy, "absolute", False) is True,
                late=0 if settling else spec.latency,
            ):
                play.advance(action, absolute=absolute)  # the only place where the world advances
                if play.over:
                    break
                if play.instruction is not instruction:  # an event has changed it
                    instruction = play.instruction
                    instruct = getattr(policy, "instruct", None)
                    if not callable(instruct):
                        _call(policy, play.steps, policy.reset, instruction, spec)
                        break  # without the rest of the chunk
                    if _call(policy, play.steps, instruct, instruction):
                        break
        reason = "" if play.succeeded else str(getattr(policy, "note", ""))
    except AssayError as error:  # raised by the policy or the simulation
        reason, broken = str(error), error
    except Exception as error:  # an unexpected error in the simulation
        reason, broken = one_line(error, 300), error
    episode = play.finish(reason, broken=broken, decisions=decisions)
    times = reported_times(policy) or [round(milliseconds, 3) for milliseconds in took]
    episode = replace(episode, inference=tuple(times))
    ended = getattr(policy, "episode_ended", None)
    if callable(ended):
        with suppress(Exception):  # the episode is over: an error here must not change it
            ended(episode)
    return episode


def _call(policy: object, step: int, call: Callable[..., T], *arguments: object) -> T:
    """Call a method of a policy; convert any exception to a PolicyError that names the policy and the step."""
    try:
        return call(*arguments)
    except (Exception, SystemExit) as error:
        reason = one_line(str(error) if isinstance(error, AssayError) else error, 300)
        broken = PolicyError(f"{type(policy).__name__}, step {step}: {reason}")
        broken.transient = isinstance(error, PolicyError) and error.transient
        broken.traceback = traceback_of(error) if isinstance(error, AssayError) else short_traceback(error)
        raise broken from error


def reported_times(policy: object) -> list[float] | None:
    """Return the duration of each decision in milliseconds, as reported by the policy; None if it reports none."""
    times = getattr(policy, "inference_ms", None)
    if isinstance(times, list) and times and all(isinstance(time, float) for time in times):
        return times
    return None


def _decide(policy: Policy, play: Stepwise, *, late: bool) -> tuple[np.ndarray, int]:
    """Request a policy's next chunk; return its valid actions, (k, action size), and the number of them to execute."""
    size, name = play.env.world.action_size, f"{type(policy).__name__}, step {play.steps}"
    executed: int | None = None
    if late and isinstance(policy, LookaheadPolicy):
        answer, executed = _call(policy, play.steps, policy.foresee, play.observation)
    else:
        answer = _call(policy, play.steps, policy.act, play.observation)
    raw: np.ndarray = np.empty(0, dtype=object)
    with suppress(Exception):  # ragged, or not convertible to an array
        raw = np.asarray(answer)
    if raw.dtype.kind not in "fiub":
        raise PolicyError(f"{name}: the policy returned {type(answer).__name__}, not an array of numbers")
    with np.errstate(all="ignore"):  # overflow is caught below
        actions = raw.astype(np.float32)  # a copy with the stored precision, so that episodes can be replayed
    if actions.ndim != 2 or actions.shape[1] != size or not 1 <= len(actions) <= MAX_CHUNK:
        raise PolicyError(
            f"{name}: the actions have shape {actions.shape}; expected (k, {size}) with k from 1 to {MAX_CHUNK}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError(f"{name}: the policy returned values that are not finite")
    return actions, len(actions) if executed is None else executed
