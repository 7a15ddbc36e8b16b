"""How long a policy thinks, measured once before a run, and from then on a number of control steps.

Wall-clock time varies from request to request; were it let into episodes, the same spec would no longer give the same
episode. So it is measured once, turned into control steps, and kept with the run: whoever resumes it uses that number.
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
from assay.runs.store import Store
from assay.runs.work import MEASURED, Options, prepare

META = "latency"
"""Of a run's meta table: what was measured."""
TOLERANCE = 0.1
"""Of a control step: what a decision takes beyond whole steps up to this does not count."""
REQUESTS = 5
"""So many count; one more before them does not: it may compile a model."""


def settled(
    experiment: str | Experiment, policy: str | Policy | Player, path: Path, options: Options
) -> tuple[Options, dict[str, object] | None]:
    """The options with the latency in control steps, and what was measured for it: now, or when the run began.

    Raises AssayError where it cannot be measured.
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
            known = store.meta.get(META) if store.held else None
        if known is not None:
            return _with(options, int(known["steps"])), known
    first = prepare(
        experiment,
        replace(
            options, latency=0, while_waiting=None, seeds=None if options.seeds is None else options.seeds[:1]
        ),
    )
    world = first.design.played_in
    check_latency(world, 1)
    assert world.step_seconds is not None
    spec = first.specs[0]
    env = load_world(first.design.world).open(options.states)
    actor = load_policy(policy, first.design.world) if isinstance(policy, str) else policy
    try:
        seen = env.reset(spec)
        times, who = _times(actor, env, seen, spec)
    except AssayError as error:
        raise PolicyError(f"--latency measured: {error}") from None
    except Exception as error:  # whatever somebody's policy raises
        raise PolicyError(f"--latency measured: {type(actor).__name__}: {one_line(error, 200)}") from error
    finally:
        env.close()
        close = getattr(actor, "close", None)
        if isinstance(policy, str) and callable(close):
            close()
    middle = median(times)
    steps = max(0, math.ceil(middle / (1e3 * world.step_seconds) - TOLERANCE))
    check_latency(world, steps)
    found: dict[str, object] = {
        "steps": steps,
        "median_ms": round(middle, 3),
        "ms": [round(time, 3) for time in times],
        "by": who,
    }
    return _with(options, steps), found


def _with(options: Options, steps: int) -> Options:
    """The options with a latency; one of none is not waited for."""
    return replace(options, latency=steps, while_waiting=options.while_waiting if steps else None)


def _times(policy: Policy, env: Any, seen: Any, spec: Any) -> tuple[list[float], str]:
    """Milliseconds of some decisions on one observation, and who says so: the server, or our clock."""
    if isinstance(policy, Privileged):
        policy.attach(env)
    policy.reset(env.task.instruction, spec)
    ask = policy.foresee if isinstance(policy, LookaheadPolicy) else policy.act
    ask(seen)
    clock = []
    for _ in range(REQUESTS):
        begun = perf_counter()
        ask(seen)
        clock.append(1e3 * (perf_counter() - begun))
    said = getattr(policy, "inference_ms", None)
    if isinstance(said, list) and len(said) > REQUESTS and all(isinstance(each, float) for each in said):
        return said[-REQUESTS:], "server"
    return clock, "clock"
