"""LIBERO-X's release: time to plan and compile it, the fraction that compiles, and the fraction the oracle solves.

Measured if ``ASSAY_LIBERO_X`` names a checkout.
"""

from __future__ import annotations

import os
import random
import time
import timeit
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.episodes import LIBERO, Outcome
from assay.errors import AssayError
from assay.experiments import load_experiment
from assay.runs.options import RunOptions
from assay.runs.trials import try_tasks
from assay.sim.compile import compile_scene
from assay.sim.packs.registry import load_pack
from assay.sim.predicates import Predicates
from assay.tasks import Arena, Entity, Scene
from assay.tasks.formats import libero_x as x
from assay.tasks.formats.libero_x import TaskFile
from bench.figure import Figure

FOLDER = "ASSAY_LIBERO_X"
COUNT = 200
"""Number of files per level that the oracle attempts."""
DRAW = 20260
"""Seed of the draw of files and of their layouts; none of them was used to develop the oracle."""
STEPS = 1200
"""Maximum number of control steps, as in the release's client."""
TARGETS = {1: 85.0, 2: 85.0, 3: 85.0, 4: 80.0}
"""Level -> percentage of files that place all of their objects."""
UNPLACED, CROWDED_OBJECTS = "no initial relation places", "no valid layout"
"""Prefixes of the errors for files that leave an object unplaced, and for files without a valid layout."""


def measure() -> list[Figure]:
    folder = os.environ.get(FOLDER, "")
    missing = "" if folder else f"{FOLDER} is not set to a checkout of LIBERO-X"
    figures = [_slowest_category(), _planning(folder, missing)]
    return figures if missing else [*figures, *_files(folder)]


def _slowest_category() -> Figure:
    """Time the compilation of a table with one object, best of three, for the slowest object of `primitives`."""
    pack = load_pack("primitives")
    compile_scene(Scene(Arena.TABLE, (), (), (), ()), pack)
    taken = {}
    for category in sorted(pack.categories):
        thing = (Entity(f"{category}_1", category),)
        fixed = category in pack.fixtures
        scene = Scene(Arena.TABLE, thing if fixed else (), () if fixed else thing, (), ())
        taken[category] = min(timeit.repeat(partial(compile_scene, scene, pack), number=1, repeat=3))
    slowest = max(taken, key=lambda category: taken[category])
    what = f"compiling a scene with one object, primitives, slowest of {len(taken)} categories"
    return Figure(what, taken[slowest], "s", 0.5, note=slowest)


def _planning(folder: str, missing: str) -> Figure:
    what = "planning the release of LIBERO-X, ten seeds"
    if missing:
        return Figure(what, None, "s", 15.0, note=missing)
    start = time.perf_counter()
    experiment = load_experiment(f"libero-x?folder={folder}")
    count = sum(1 for _ in experiment.plan(experiment.choose(), experiment.seeds))
    return Figure(what, time.perf_counter() - start, "s", 15.0, note=f"{count:,} episodes")


def _files(folder: str) -> Iterator[Figure]:
    what = "files of LIBERO-X that compile on primitives, level"
    tried = f"oracle, sampled states, primitives, files that place all objects, of {COUNT} files of LIBERO-X, level"
    for level, files in x.read(Path(folder)).files.items():
        compiled = sum(map(_compiles, files))
        share = 100 * compiled / len(files)
        yield Figure(f"{what} {level}", share, "%", 100.0, at_most=False, note=f"{compiled} of {len(files)}")
        yield _oracle(f"{tried} {level}", files, TARGETS[level])


def _compiles(file: TaskFile) -> bool:
    try:
        Predicates(compile_scene(file.task.scene, load_pack("primitives"))).check(file.task.goal)
    except AssayError:
        return False
    return True


def _oracle(what: str, files: tuple[TaskFile, ...], target: float) -> Figure:
    drawn = random.Random(DRAW).sample(files, min(COUNT, len(files)))
    chosen = [file.task.id for file in drawn]
    ended = [
        episode
        for _, episode in try_tasks("oracle", LIBERO, chosen, [DRAW], "primitives", RunOptions(steps=STEPS))
    ]
    errors = [episode.error for episode in ended if episode.outcome is Outcome.ERROR]
    unplaced, crowded = (
        sum(error.startswith(begin) for error in errors) for begin in (UNPLACED, CROWDED_OBJECTS)
    )
    solved = sum(episode.outcome is Outcome.SUCCESS for episode in ended)
    placed = len(ended) - unplaced
    note = f"{solved} of {placed}, of which {crowded} have no valid layout; {unplaced} others leave an object unplaced"
    return Figure(what, 100 * solved / placed, "%", target, at_most=False, note=note)
