"""The engine: stepping, resetting, compiling, rendering, memory."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import mujoco
import numpy as np

from assay import tasks
from assay.errors import AssetError, RenderingError
from assay.sim.compile import compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import libero_pack, load_pack
from assay.sim.simulation import SUBSTEPS, Simulation
from bench.figure import Figure, call_in_new_process

TASKS = ("libero_goal/0", "libero_spatial/0", "libero_object/0", "libero_10/3", "libero_10/4")
ROUNDS = 12
STEPS = 20
EPISODES = 1000
LIBERO_PYTHON = "ASSAY_LIBERO_PYTHON"
"""Environment variable: a Python interpreter with LIBERO and robosuite 1.4 installed, for comparison."""


def measure() -> list[Figure]:
    primitives = load_pack("primitives")
    figures = [
        Figure("control step / 25 bare mj_step, primitives", _step_ratio(primitives), "x", 1.5),
        *_libero_figures(),
        Figure("reset to a stored state, primitives", _reset_ms(primitives), "ms", 5.0),
        Figure("compile a scene, primitives (slowest)", _compile_seconds(primitives), "s", 1.0),
    ]
    try:
        picture = _picture_ms(primitives)
        figures.append(Figure("image 256 x 256, primitives (slowest task)", picture, "ms", 25.0))
    except RenderingError as error:
        figures.append(Figure("image 256 x 256, primitives", None, "ms", 25.0, note=str(error)))
    return figures + _memory_figures()


def _libero_figures() -> list[Figure]:
    shared = Path(os.environ.get("ASSAY_SHARED", "../shared")) / "libero"
    exact = "control step / 25 bare mj_step, libero (exact)"
    beside = "LIBERO's control step / ours, libero (exact)"
    try:
        named = (shared / "assets", shared / "robosuite_assets") if shared.is_dir() else (None, None)
        pack = libero_pack(*named)
    except AssetError as error:
        return [
            Figure(exact, None, "x", 1.9, note=str(error)),
            Figure(beside, None, "x", 3.0, at_most=False, note=str(error)),
        ]
    figures = [Figure(exact, _step_ratio(pack), "x", 1.9)]
    python = os.environ.get(LIBERO_PYTHON)
    if python is None:
        note = f"set {LIBERO_PYTHON} to an interpreter with LIBERO and robosuite 1.4"
        return [*figures, Figure(beside, None, "x", 3.0, at_most=False, note=note)]
    ratios = []
    for name in ("libero_goal/0", "libero_object/0"):
        # In turn, and the best of each: what else the machine does comes and goes.
        rounds = [(_theirs_ms(python, name), _ours_ms(pack, name)) for _ in range(2)]
        ratios.append(min(theirs for theirs, _ in rounds) / min(ours for _, ours in rounds))
    return [*figures, Figure(beside, min(ratios), "x", 3.0, at_most=False, note="both without images")]


def _actions(count: int) -> np.ndarray:
    """Return smooth actions around the initial pose: (count, 7)."""
    phase = np.linspace(0, 2 * np.pi, count)[:, None]
    actions = 0.3 * np.sin(phase + np.arange(7))
    actions[:, 6] = -1.0
    return actions


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _step_ratio(pack: AssetPack) -> float:
    """Time control steps and bare physics alternately from the same states; median over rounds and tasks."""
    ratios = []
    for name in TASKS:
        world = Simulation(compile_scene(tasks.load(name).scene, pack))
        state = world.sample(0)
        model, bare = world.model, mujoco.MjData(world.model)
        actions = _actions(STEPS)
        for _ in range(ROUNDS):
            world.reset(state)
            ours = _seconds(lambda: [world.step(action) for action in actions])  # noqa: B023
            world.reset(state)
            bare.qpos[:], bare.qvel[:] = world.data.qpos, world.data.qvel
            mujoco.mj_forward(model, bare)
            bare.ctrl[:7] = bare.qfrc_bias[:7]
            theirs = _seconds(lambda: [mujoco.mj_step(model, bare) for _ in range(STEPS * SUBSTEPS)])  # noqa: B023
            ratios.append(ours / theirs)
    return statistics.median(ratios)


def _reset_ms(pack: AssetPack) -> float:
    times = []
    for name in TASKS:
        world = Simulation(compile_scene(tasks.load(name).scene, pack))
        state = world.sample(0)
        times += [_seconds(lambda: world.reset(state)) * 1e3 for _ in range(20)]  # noqa: B023
    return statistics.median(times)


def _compile_seconds(pack: AssetPack) -> float:
    return max(_seconds(lambda: compile_scene(tasks.load(name).scene, pack)) for name in tasks.all_ids())  # noqa: B023


def _picture_ms(pack: AssetPack) -> float:
    slowest = 0.0
    for name in TASKS:
        world = Simulation(compile_scene(tasks.load(name).scene, pack))
        world.reset(world.sample(0)).image()
        observations = [world.step(action) for action in _actions(10)]
        times = [_seconds(observation.image) * 1e3 for observation in observations]
        slowest = max(slowest, statistics.median(times))
        world.close()
    return slowest


def _ours_ms(pack: AssetPack, name: str) -> float:
    world = Simulation(compile_scene(tasks.load(name).scene, pack))
    world.reset(world.sample(0))
    return statistics.median(_seconds(lambda: world.step(action)) * 1e3 for action in _actions(60))  # noqa: B023


def _theirs_ms(python: str, name: str) -> float:
    """Time LIBERO's own control step without images, in its own interpreter."""
    script = Path(__file__).with_name("libero_step.py")
    bddl = tasks.bddl.write(tasks.load(name))
    result = subprocess.run(
        [python, str(script)], input=bddl, capture_output=True, text=True, check=True, timeout=600
    )
    return float(json.loads(result.stdout.strip().splitlines()[-1])["milliseconds"])


def _memory(episodes: str) -> tuple[float, float]:
    """Return the memory held after 60 episodes, and its growth over further ones, in MB."""

    def resident() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20

    world = Simulation(compile_scene(tasks.load("libero_object/0").scene, load_pack("primitives")))
    states = [world.sample(seed) for seed in range(4)]
    action = np.array([0.1, 0, 0, 0, 0, 0, -1.0])

    def episode(index: int) -> None:
        observation = world.reset(states[index % 4])
        for _ in range(2):
            observation = world.step(action)
        if index % 50 == 0:
            with suppress(RenderingError):
                observation.image()

    for index in range(60):
        episode(index)
    before = resident()
    for index in range(int(episodes)):
        episode(index)
    return before, resident() - before


def _memory_figures() -> list[Figure]:
    held, grown = "memory of a worker with one compiled scene", f"growth over {EPISODES} episodes"
    if not Path("/proc/self/statm").exists():
        note = "needs /proc"
        return [Figure(held, None, "MB", 400.0, note=note), Figure(grown, None, "MB", 5.0, note=note)]
    memory, growth = call_in_new_process(_memory, EPISODES)
    return [
        Figure(held, memory, "MB", 400.0, note="with a GL context"),
        Figure(grown, growth, "MB", 5.0),
    ]
