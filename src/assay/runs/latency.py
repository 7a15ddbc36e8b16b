"""Measurement of a policy's inference latency, once before a run.

Wall-clock time varies from request to request; if it entered episodes, the same spec would no longer give the same
episode. So it is measured once, converted to control steps, and stored with the run, which is resumed with that number.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from assay.episodes import Policy, Privileged, load_world
from assay.episodes.latency import LookaheadPolicy, check_latency
from assay.episodes.stepwise import NOT_HERE
from assay.errors import AssayError, PolicyError, RunError, one_line
from assay.experiments import Experiment
from assay.policies.registry import load_policy
from assay.runs.executor import Player
from assay.runs.options import MEASURED, RunOptions
from assay.runs.plan import RunPlan
from assay.runs.store import Store

META = "latency"
"""Name of the measurement in a run's meta table."""
TOLERANCE_STEPS = 0.1
"""Fraction of a control step by which a latency may exceed whole steps without being rounded up."""
TIMED_REQUESTS = 5
"""Requests that are timed, after a first one that is not: it may compile a model."""


def settle_latency(
    experiment: str | Experiment, policy: str | Policy | Player, path: Path, options: RunOptions
) -> tuple[RunOptions, dict[str, object] | None]:
    """The options with the latency in control steps, and its measurement: new, or stored when the run began.

    Raises AssayError if it cannot be measured.
    """
    if options.latency != MEASURED:
        return options, None
    if isinstance(policy, Player):
        raise RunError(f"--latency: {NOT_HERE}")
    if options.shard is not None:
        raise RunError(
            "--latency measured: shards of one plan need one number; valid: a number of control steps"
        )
    if path.is_file():
        with Store.reading(path) as store:
            known = store.meta.get(META) if store.done else None
        if known is not None:
            return _with(options, int(known["steps"])), known
    first_seed = None if options.seeds is None else options.seeds[:1]
    plan = RunPlan.make(experiment, replace(options, latency=0, while_waiting=None, seeds=first_seed))
    world = plan.experiment.played_in
    check_latency(world, 1)
    assert world.step_seconds is not None
    spec = plan.specs[0]
    env = load_world(plan.experiment.world).open(options.states)
    actor = load_policy(policy, plan.experiment.world) if isinstance(policy, str) else policy
    try:
        times, source = _time_requests(actor, env, env.reset(spec), spec)
    except AssayError as error:
        raise PolicyError(f"--latency measured: {error}") from None
    except Exception as error:  # policies may raise anything
        raise PolicyError(f"--latency measured: {type(actor).__name__}: {one_line(error, 200)}") from error
    finally:
        env.close()
        close = getattr(actor, "close", None)
        if isinstance(policy, str) and callable(close):
            close()
    middle = median(times)
    steps = max(0, math.ceil(middle / (1e3 * world.step_seconds) - TOLERANCE_STEPS))
    check_latency(world, steps)
    measured: dict[str, object] = {
        "steps": steps,
        "median_ms": round(middle, 3),
        "ms": [round(time, 3) for time in times],
        "by": source,
    }
    return _with(options, steps), measured


def _with(options: RunOptions, steps: int) -> RunOptions:
    return replace(options, latency=steps, while_waiting=options.while_waiting if steps else None)


def _time_requests(policy: Policy, env: Any, observation: Any, spec: Any) -> tuple[list[float], str]:
    """Milliseconds of some decisions on one observation, and their source: server or clock."""
    if isinstance(policy, Privileged):
        policy.attach(env)
    policy.reset(env.task.instruction, spec)
    ask = policy.foresee if isinstance(policy, LookaheadPolicy) else policy.act
    ask(observation)
    clock = []
    for _ in range(TIMED_REQUESTS):
        start = perf_counter()
        ask(observation)
        clock.append(1e3 * (perf_counter() - start))
    times = getattr(policy, "inference_ms", None)
    if (
        isinstance(times, list)
        and len(times) > TIMED_REQUESTS
        and all(isinstance(time, float) for time in times)
    ):
        return times[-TIMED_REQUESTS:], "server"
    return clock, "clock"
