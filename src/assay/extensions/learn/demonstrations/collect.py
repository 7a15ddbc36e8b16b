"""Let the oracle do tasks, and record where it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from assay.episodes import Outcome
from assay.errors import PerturbationError
from assay.extensions.learn.demonstrations.demonstration import LeftOut
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.extensions.learn.demonstrations.folder import Folder, opened
from assay.extensions.learn.demonstrations.recipe import PLAIN, Recipe
from assay.extensions.learn.demonstrations.record import attempt
from assay.policies.remote.pictures import Orientation
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.packs.pack import AssetPack
from assay.tasks import Task

SIZES = range(16, 2049, 2)
"""Heights and widths that pictures can have: the video format wants them even."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What is in the folder, and what is not."""

    episodes: int
    frames: int
    left_out: int
    """Attempts at which the oracle failed."""
    short: Mapping[str, int]
    """Tasks that were not demonstrated as often as asked for, and how often they were."""


def tries(episodes: int) -> int:
    """How many seeds of a task are tried at most to get so many episodes."""
    return 2 * episodes + 10


def collect(
    out: Path,
    chosen: Sequence[Task],
    episodes: int,
    *,
    seeds: Sequence[int] | None = None,
    size: int = 256,
    pack: str = "primitives",
    recipe: Recipe = PLAIN,
    orientation: Orientation = Orientation.ROTATED,
    on_episode: Callable[[str], None] = lambda task: None,
) -> Collected:
    """Bring a folder to the first ``episodes`` successful episodes of each task, of ``seeds`` or from 0 on.

    ``recipe`` says how they are varied, ``orientation`` which way up the pictures lie: by default as policy servers
    get them by default.

    What is there already stays and is not done again. ``on_episode`` is told of each episode that is there.
    """
    if size not in SIZES:
        raise DemonstrationError(
            f"pictures of {size} pixels are not possible; valid: even, {SIZES[0]} to {SIZES[-1]}"
        )
    assets = load_pack(pack)
    seeds = range(tries(episodes)) if seeds is None else seeds
    short = {}
    with opened(out, pack, size, recipe, orientation) as folder:
        for task in chosen:
            got = 0
            for _ in islice(_demonstrated(folder, task, assets, seeds), episodes):
                got += 1
                on_episode(task.id)
            if got < episodes:
                short[task.id] = got
        folder.finish()
        there = folder.demonstrations
    frames = sum(len(episode.frames) for episode in there.episodes)
    return Collected(len(there.episodes), frames, len(there.left_out), short)


def _demonstrated(folder: Folder, task: Task, assets: AssetPack, seeds: Sequence[int]) -> Iterator[int]:
    """The seeds from which a task is demonstrated; those not tried yet are tried as they come up."""
    there = folder.demonstrations
    world: Simulation | None = None
    try:
        for seed in seeds:
            if seed not in folder.demonstrations.tried(task.id):
                spec = there.recipe.spec(task.id, seed, there.pack, seeds[0])
                try:
                    told = there.recipe.task(task, spec)
                except PerturbationError as error:
                    folder.add(LeftOut(task.id, seed, Outcome.ERROR, 0, str(error)))
                    continue
                if world is None or world.compiled.scene != told.scene:
                    if world is not None:
                        world.close()
                    world = Simulation(compile_scene(told.scene, assets))
                folder.add(attempt(world, told, spec, there, folder.scratch))
            if seed in folder.demonstrations.seeds(task.id):
                yield seed
    finally:
        if world is not None:
            world.close()
