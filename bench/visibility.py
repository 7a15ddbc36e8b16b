"""Whether the objects that experiments place are visible at the start, by rendered images; and the planning cost.

``python -m bench.visibility --things 500`` lists objects that no camera shows.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from assay import tasks
from assay.episodes import CONTROL, Effect, EpisodeSpec, task_of
from assay.errors import AssayError, RenderingError
from assay.experiments import load_experiment
from assay.perturb.world.ground import movable
from assay.sim import visibility as planned_view
from assay.sim.compile import compile_scene
from assay.sim.packs.registry import load_pack, planning_pack
from assay.sim.render import CAMERAS, FIRST_ENTITY
from assay.sim.simulation import Simulation
from assay.sim.visibility import IMAGE_PIXELS, MIN_FRACTION, PIXELS, planned_visibility
from assay.support.streams import stream
from assay.tasks import Task
from bench.figure import Figure

DESIGNS = (
    "x",
    "pro",
    "plus?dimensions=layout,robot",
    "factors?over=displace,distractors,confound,obstacle,move_fixture,resize,room",
)
"""Experiments that place objects; camera experiments are excluded, because a moved camera may hide objects."""
THINGS = 500
SEEDS = range(1000, 1200)
HIDDEN = 5
"""Geom group that is not rendered."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A rendered object and its visible area."""

    spec: EpisodeSpec
    name: str
    added: bool
    """Whether the experiment placed it; otherwise it is an object of interest of the task."""
    pixels: tuple[int, ...]
    """Visible pixels in each camera's image."""
    alone: tuple[int, ...]
    """The same without other objects in the scene."""

    @property
    def visible(self) -> bool:
        pairs = zip(self.pixels, self.alone, strict=True)
        return any(shown >= max(PIXELS, MIN_FRACTION * whole) for shown, whole in pairs)


def measure() -> list[Figure]:
    try:
        found = list(drawn(THINGS))
    except RenderingError as error:
        what = "rendered objects that no camera shows at the start"
        return [_planning(), Figure(what, None, "", 0.0, note=str(error))]
    hidden = [each for each in found if not each.visible]
    kinds = Counter("added" if each.added else "target" for each in found)
    what = "rendered objects that no camera shows at the start, x, pro, plus, factors"
    note = f"of {len(found)}: {kinds['added']} added, {kinds['target']} targets"
    return [_planning(), Figure(what, float(len(hidden)), "", 0.0, note=note)]


def drawn(things: int) -> Iterator[Seen]:
    """Measure the visibility of placed objects in random episodes, alternating between experiments."""
    rng = stream("bench", "visibility")
    designs = [load_experiment(each) for each in DESIGNS]
    built_in = tasks.resolve("all")
    count = 0
    while count < things:
        for design in designs:
            task = built_in[int(rng.integers(len(built_in)))]
            seed = int(rng.choice(SEEDS))
            specs = [each for each in design.plan([task], [seed]) if _places(each)]
            if not specs:
                continue
            spec = specs[int(rng.integers(len(specs)))]
            try:
                found = list(_seen(spec, task))
            except AssayError:  # refused, with a reason
                continue
            yield from found
            count += len(found)


def _places(spec: EpisodeSpec) -> bool:
    return spec.condition != CONTROL and any(Effect.PHYSICS in each.effects for each in spec.perturbations)


def _seen(spec: EpisodeSpec, original: Task) -> Iterator[Seen]:
    task = task_of(spec)
    here = {each.name for each in original.scene.objects}
    added = {each.name for each in task.scene.objects if each.name not in here}
    about = {name for atom in task.goal.atoms for name in atom.arguments} & movable(task)
    world = Simulation(compile_scene(task.scene, load_pack(spec.pack)))
    try:
        moment = world.reset(world.sample(spec.world_seed)).moment
        pictures = {
            each: world.renderer.segmentation(moment, each, IMAGE_PIXELS, IMAGE_PIXELS) for each in CAMERAS
        }
        groups = world.model.geom_group.copy()
        labels = {entity.name: FIRST_ENTITY + number for number, entity in enumerate(task.scene.entities)}
        for name in sorted(added | about):
            label = labels[name]
            body = world.compiled.entities[name].body
            mine = [_below(world.model, int(each), body) for each in world.model.geom_bodyid]
            world.model.geom_group[:] = np.where(mine, groups, HIDDEN)
            alone = [
                world.renderer.segmentation(moment, each, IMAGE_PIXELS, IMAGE_PIXELS) for each in CAMERAS
            ]
            world.model.geom_group[:] = groups
            yield Seen(
                spec,
                name,
                name in added,
                tuple(int((pictures[each] == label).sum()) for each in CAMERAS),
                tuple(int((each == label).sum()) for each in alone),
            )
    finally:
        world.close()


def _below(model: mujoco.MjModel, body: int, root: int) -> bool:
    while body > root:
        body = int(model.body_parentid[body])
    return body == root


def _planning() -> Figure:
    """Time the visibility check for every built-in scene, with warm caches."""
    scenes = [task.scene for task in tasks.resolve("all")]
    for scene in scenes:
        planned_visibility(scene, planning_pack())
    planned_view.planned_visibility.cache_clear()
    start = time.process_time()
    for scene in scenes:
        planned_visibility(scene, planning_pack())
    each = 1e3 * (time.process_time() - start) / len(scenes)
    return Figure(
        "predicting which objects the cameras show, CPU", each, "ms", 20.0, note=f"{len(scenes)} scenes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.visibility")
    parser.add_argument("--things", type=int, default=THINGS)
    found = []
    for each in drawn(parser.parse_args().things):
        found.append(each)
        if not each.visible:
            views = ", ".join(f"{a} of {b} px" for a, b in zip(each.pixels, each.alone, strict=True))
            print(f"{each.spec.task} {each.spec.condition} seed {each.spec.seed}: {each.name}: {views}")
    kinds = Counter(
        (each.spec.experiment.split("?")[0], "added" if each.added else "target", each.visible)
        for each in found
    )
    for (experiment, kind, visible), count in sorted(kinds.items()):
        print(f"{experiment}: {count} {kind}, {'seen' if visible else 'NOT SEEN'}")
    print(f"{sum(not each.visible for each in found)} of {len(found)} are not visible")


if __name__ == "__main__":
    main()
