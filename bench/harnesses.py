"""Overhead of Assay's environments for other harnesses, relative to the steps and images themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import RenderingError
from assay.extensions.interop.bridges.player import HarnessPlayer
from assay.policies.simple import STILL
from assay.runs.plan import PlannedTask
from bench.figure import Figure

SPEC = EpisodeSpec("libero_goal/3", 0, steps=10_000)
SIZE, STEPS, ROUNDS = 256, 10, 8
CAMERAS = ("agentview", "robot0_eye_in_hand")
BOUND = 5.0


def measure() -> list[Figure]:
    names = {"gymnasium": "Gymnasium", "lerobot": "LeRobot"}
    what = "{}: processor time of a step with two images, in addition to stepping and rendering"
    if find_spec("gymnasium") is None:
        missing = "Gymnasium is not installed: pip install 'assay-robotics[gym]'"
        return [Figure(what.format(name), None, "%", BOUND, note=missing) for name in names.values()]
    try:
        found = _overheads()
    except RenderingError as error:
        return [Figure(what.format(name), None, "%", BOUND, note=str(error)) for name in names.values()]
    return [
        Figure(what.format(names[name]), share, "%", BOUND, note=f"of {bare:.1f} ms, {SIZE} x {SIZE}")
        for name, (share, bare) in found.items()
    ]


def _overheads() -> dict[str, tuple[float, float]]:
    """Return overhead per step (percent) and bare step time (ms) by harness; the fastest of several rounds."""
    import gymnasium

    import assay.extensions.interop.bridges.gym  # noqa: F401, it registers
    from assay.extensions.interop.bridges.lerobot import NEW_ROLLOUT, PlannedEnvironment

    play = HarnessPlayer().begin(SPEC)

    def bare() -> None:
        observation = play.step(STILL)
        for camera in CAMERAS:
            observation.image(camera, SIZE)

    gym = gymnasium.make("assay/libero_goal-3-v0", steps=SPEC.steps, size=SIZE)
    gym.reset(seed=SPEC.seed)
    lerobot = PlannedEnvironment(PlannedTask("bench", SPEC.condition, SPEC.task, (SPEC,)), size=SIZE, wait=0)
    lerobot.reset(options={NEW_ROLLOUT: True})
    action = STILL.astype(np.float32)
    steps: dict[str, Callable[[], object]] = {
        "bare": bare,
        "gymnasium": lambda: gym.step(action),
        "lerobot": lambda: lerobot.step(action),
    }
    took: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS + 1):  # in turn: whatever else the machine does falls on all of them
        for name, step in steps.items():
            begun = time.process_time()
            for _ in range(STEPS):
                step()
            took[name].append((time.process_time() - begun) / STEPS)
    usual = {name: min(each[1:]) for name, each in took.items()}
    return {
        name: (100 * (usual[name] / usual["bare"] - 1), 1000 * usual["bare"])
        for name in ("gymnasium", "lerobot")
    }
