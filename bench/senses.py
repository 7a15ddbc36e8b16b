"""Senses: time to perturb an image, in addition to rendering it."""

from __future__ import annotations

import statistics
import time

from assay import tasks
from assay.episodes import Senses
from assay.errors import RenderingError
from assay.perturb.senses.images import pictures_at
from assay.sim.compile import compile_scene
from assay.sim.observation import Observation
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import Simulation
from bench.figure import Figure

TASK = "libero_goal/0"
SEVERITIES = range(1, 11)
ROUNDS = 7


def measure() -> list[Figure]:
    what = "perturbing an image 256 x 256, CPU"
    world = Simulation(compile_scene(tasks.load(TASK).scene, load_pack("primitives")))
    try:
        seen = world.reset(world.sample(0))
        seen.image()
        times = {name: _milliseconds(seen, name) for name in pictures_at(1)}
    except RenderingError as error:
        return [Figure(what, None, "ms", 5.0, note=str(error))]
    finally:
        world.close()
    slowest = max(times, key=lambda name: times[name])
    return [
        Figure(f"{what} (mean of {len(times)})", statistics.mean(times.values()), "ms", 5.0),
        Figure(f"{what} (slowest)", times[slowest], "ms", 5.0, note=slowest),
    ]


def _milliseconds(seen: Observation, name: str) -> float:
    """Return the mean processor time over severities and rounds; the image is rendered beforehand."""
    times = []
    for severity in SEVERITIES:
        sense = pictures_at(severity)[name]
        for seed in range(ROUNDS):
            changed = Senses((sense,), task=TASK, seed=seed).observe(seen)
            start = time.process_time()
            changed.image()
            times.append(time.process_time() - start)
    return 1e3 * statistics.mean(times[1:])  # the first may load and compile
