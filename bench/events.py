"""Events: their overhead in an episode without any."""

from __future__ import annotations

import statistics
import time

import numpy as np

from assay.episodes import EpisodeSpec, Senses, Stepwise, world_of
from bench.figure import Figure

SPEC = EpisodeSpec("libero_goal/8", 0, steps=100_000)
ROUNDS = 60
STEPS = 10


def measure() -> list[Figure]:
    ratio = _ratio()
    return [
        Figure(
            "control step of an episode without events / control step without any code for events",
            ratio,
            "x",
            1.01,
        )
    ]


def _ratio() -> float:
    """Time `Stepwise` against the equivalent manual loop in one simulation; median of ratios."""
    env = world_of(SPEC.task).open()
    play = Stepwise(env, SPEC)
    senses = Senses((), task=SPEC.task, seed=0)
    action, kept = np.zeros(7, np.float32), []

    def whole() -> None:
        play.step(action)

    def by_hand() -> None:
        kept.append(action)
        now = env.step(senses.act(action, len(kept)))
        senses.observe(now)
        env.succeeded()

    def seconds(step: object) -> float:
        start = time.perf_counter()
        for _ in range(STEPS):
            step()  # type: ignore[operator]
        return time.perf_counter() - start

    found = []
    for turn in range(ROUNDS):
        pair = (whole, by_hand) if turn % 2 else (by_hand, whole)
        took = {step.__name__: seconds(step) for step in pair}
        found.append(took["whole"] / took["by_hand"])
    env.close()
    return statistics.median(found)
