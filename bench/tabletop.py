"""The tabletop: primitives, observations, and complete episodes of the oracle."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from assay.errors import RenderingError
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Difficulty, Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.simulation import TableSimulation, action
from assay.sim import gl
from bench.figure import Figure

PRIMITIVES, OBSERVATIONS, EPISODES, WORKERS = 100, 40, 200, 2


def measure() -> list[Figure]:
    return [
        _primitives("picks and places", "T1", Difficulty.DEFAULT),
        _primitives("picks and places, nine objects", "T3", Difficulty.DISTRACTING),
        _primitives("pushes", "T12", Difficulty.DEFAULT),
        _observations(),
        _episodes(),
    ]


def _primitives(what: str, task: str, difficulty: Difficulty) -> Figure:
    """Move one object back and forth; scenes are compiled beforehand."""
    made = make(Setting(task, 0, difficulty=difficulty))
    world = TableSimulation(made.scene)
    index = next(i for i, item in enumerate(made.scene.items) if not item.fixed)
    start = time.perf_counter()
    for number in range(PRIMITIVES):
        if number % 10 == 0:
            world.reset()
        x, y, _ = world.poses()[index]
        world.step(action((x, y), (0.35 + 0.03 * (number % 10), 0.2 * (-1) ** number), 1.0))
    seconds = time.perf_counter() - start
    return Figure(
        f"tabletop: {what}, no images, one core", PRIMITIVES / seconds, "per s", 15.0, at_most=False
    )


def _observations() -> Figure:
    what = "tabletop: an observation, two views with segmentation, 128 x 256"
    try:
        gl.backend()
    except RenderingError as error:
        return Figure(what, None, "ms", 15.0, note=str(error))
    world = TableSimulation(make(Setting("T1", 0)).scene)
    world.observe().image()
    start = time.perf_counter()
    for _ in range(OBSERVATIONS):
        world.observe().image()
    return Figure(what, 1000 * (time.perf_counter() - start) / OBSERVATIONS, "ms", 15.0)


def _episodes() -> Figure:
    start = time.perf_counter()
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        done = sum(pool.map(_done, range(EPISODES), chunksize=10))
    seconds = time.perf_counter() - start
    what = f"tabletop: {EPISODES} episodes of T1 by the oracle, {WORKERS} processes, {done} solved"
    return Figure(what, seconds, "s", 60.0)


def _done(seed: int) -> bool:
    return play(make(Setting("T1", seed)), TableOracle()).success


if __name__ == "__main__":
    for each in measure():
        print(each.what, each.measured, each.target)
