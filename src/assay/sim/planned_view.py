"""What the cameras will see of a scene's things at the start, from where its regions put them: nothing is compiled.

Things are taken to stand in the middle of the regions they are drawn from. So a planned thing has to be in view
twice as well as what counts as seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np

from assay.sim.categories import OPENING
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.footprints import resting_model
from assay.sim.layout import HOME, HOME_FINGERS, LAYOUTS, layout_of
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.sim.render import CAMERAS
from assay.sim.torque import ARM
from assay.sim.visibility import PIXELS, SHARE, Boxes, Eye, Sight, boxes_of, eye_of, robot_boxes, sights
from assay.tasks.scene import Arena, Atom, CameraChange, Entity, Predicate, RobotStart, Scene, Staging

MARGIN = 2.0
"""How much better than what counts as seen a planned thing is to be seen: it stands a little off in an episode."""
_PUT = (
    Predicate.ON,
    Predicate.IN,
    Predicate.EXACT_IN,
    Predicate.UPRIGHT_ON,
    Predicate.SIDE_ON,
    Predicate.STACK,
)
_ABOVE = 0.02
"""How far above a region what stands on it is let down from, metres."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """A category at rest, about its own origin."""

    boxes: Boxes
    sites: dict[str, tuple[np.ndarray, float]]
    """Where its regions are: the centre of each, (3,), and half its height, metres."""


@dataclass(frozen=True, slots=True)
class _Stand:
    """An entity where it stands."""

    boxes: Boxes
    origin: np.ndarray
    """(3,), metres."""
    turn: np.ndarray
    """(3, 3)."""


def newly_hidden(before: Scene, after: Scene) -> list[str]:
    """The movable things that a change of a scene hides: hardly seen after it, and less than before it."""
    old = planned_sights(before)
    found = []
    for name, now in planned_sights(after).items():
        clear = _clearness(now)
        if clear < 1.0 and (name not in old or clear < _clearness(old[name])):
            found.append(name)
    return found


def _clearness(views: Iterable[Sight]) -> float:
    """How well a thing is seen by the camera that sees it best: from 1 on as well as is planned for."""
    return max(min(view.share / SHARE, view.pixels / PIXELS) for view in views) / MARGIN


def planned_sights(scene: Scene) -> dict[str, list[Sight]]:
    """What each camera will see of each movable thing whose place is known."""
    return _planned_sights(scene, planning_pack())


def forget() -> None:
    """Keep no scene's sights any longer; what is known of categories and rooms stays."""
    _planned_sights.cache_clear()


@lru_cache(maxsize=256)
def _planned_sights(scene: Scene, pack: AssetPack) -> dict[str, list[Sight]]:
    stands = _stands(scene, pack)
    movable = {obj.name for obj in scene.objects}
    eyes, robot = _room(scene.arena, scene.staging.cameras, scene.staging.robot, pack)
    things = {name: each.boxes for name, each in stands.items() if name in movable}
    still = [each.boxes for name, each in stands.items() if name not in movable]
    return sights(things, [*still, robot], eyes)


def _stands(scene: Scene, pack: AssetPack) -> dict[str, _Stand]:
    """Where entities stand, those on or in others after these."""
    entities = {each.name: each for each in scene.entities}
    opened = {atom.arguments[0] for atom in scene.initial if atom.predicate is Predicate.OPEN}
    found: dict[str, _Stand] = {}
    waiting = [atom for atom in scene.initial if atom.predicate in _PUT and atom.arguments[0] in entities]
    while waiting:
        later = []
        for atom in waiting:
            place = _place(scene, atom, found, entities, opened, pack)
            if place is None:
                later.append(atom)
                continue
            origin, yaw = place
            entity = entities[atom.arguments[0]]
            shape = _shape(pack, entity.category, entity in scene.fixtures, _open_here(scene, entity, opened))
            turn = np.array(
                [[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]]
            )
            boxes = shape.boxes.sized(entity.size).placed(np.zeros(3), turn)
            origin = origin - (0.0, 0.0, float(boxes.bounds[0][:, 2].min()))
            found[entity.name] = _Stand(boxes.placed(origin, np.eye(3)), origin, turn)
        if len(later) == len(waiting):
            break
        waiting = later
    return found


def _place(
    scene: Scene,
    atom: Atom,
    found: dict[str, _Stand],
    entities: dict[str, Entity],
    opened: set[str],
    pack: AssetPack,
) -> tuple[np.ndarray, float] | None:
    """Where an atom puts something, (3,), its foot's height for z, and its yaw; None as long as that is not known."""
    layout = layout_of(scene)
    region = scene.region(atom.arguments[1])
    if region is not None and region.target == scene.arena.workspace:
        if not region.rectangles:
            return None
        box = region.rectangles[0]
        middle = ((box.x_min + box.x_max) / 2, (box.y_min + box.y_max) / 2, 0.0)
        still = atom.arguments[0] not in {obj.name for obj in scene.objects}
        return np.array(layout.offset) + middle, sum(region.yaw or (0.0, 0.0)) / 2 if still else 0.0
    carrier = atom.arguments[1] if region is None else region.target
    if carrier not in found:
        return None
    under, ceiling = found[carrier], np.inf
    centre = under.origin
    if region is not None:
        entity = entities[carrier]
        shape = _shape(pack, entity.category, entity in scene.fixtures, _open_here(scene, entity, opened))
        if region.name not in shape.sites:
            return None
        site, half = shape.sites[region.name]
        centre = under.origin + under.turn @ site * entity.size
        ceiling = float(centre[2]) + half * entity.size + _ABOVE
    low, high = under.boxes.bounds
    below = np.all((low[:, :2] <= centre[:2]) & (centre[:2] <= high[:, :2]), axis=1) & (high[:, 2] <= ceiling)
    top = float(high[below, 2].max()) if below.any() else float(centre[2])
    return np.array([centre[0], centre[1], top]), 0.0


def _open_here(scene: Scene, entity: Entity, opened: set[str]) -> frozenset[str]:
    """The regions of an entity that are open at the start; its own name if it opens as a whole."""
    own = {
        region.name for region in scene.regions if region.target == entity.name and region.full_name in opened
    }
    return frozenset(own | ({""} if entity.name in opened else set()))


@lru_cache(maxsize=512)
def _shape(pack: AssetPack, category: str, fixture: bool, opened: frozenset[str]) -> _Shape:
    """A category at rest; an object as the sampler turns it, a fixture at yaw zero."""
    model, data = resting_model(pack, Entity("thing", category), fixture=fixture)
    mechanism = OPENING.get(category)
    for joint in range(model.njnt if mechanism is not None and opened else 0):
        names = {
            model.site(site).name
            for site in range(model.nsite)
            if model.site_bodyid[site] == model.jnt_bodyid[joint]
        }
        if "" in opened or names & opened:
            assert mechanism is not None
            data.qpos[model.jnt_qposadr[joint]] = sum(mechanism.active_range) / 2
    mujoco.mj_kinematics(model, data)
    sites = {
        model.site(site).name: (
            data.site_xpos[site].copy(),
            float(np.abs(data.site_xmat[site].reshape(3, 3)[2]) @ model.site_size[site]),
        )
        for site in range(model.nsite)
    }
    return _Shape(boxes_of(model, data, np.flatnonzero(model.geom_group == 0)), sites)


@lru_cache(maxsize=256)
def _room(
    arena: Arena, cameras: tuple[CameraChange, ...], robot: RobotStart, pack: AssetPack
) -> tuple[list[Eye], Boxes]:
    """The cameras of a room, and the robot as it starts there."""
    empty = _empty_room(arena, cameras, pack)
    model, data = empty.model, mujoco.MjData(empty.model)
    data.qpos[:ARM] = np.add(HOME, robot.joints)
    data.qpos[ARM : ARM + 2] = HOME_FINGERS
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    shift = np.array([*robot.base, 0.0])
    eyes = [eye_of(model, data, camera) for camera in CAMERAS]
    carried = {camera for camera in CAMERAS if camera not in LAYOUTS[arena].cameras}
    moved = [
        Eye(eye.position + shift, eye.axes, eye.widest) if camera in carried else eye
        for camera, eye in zip(CAMERAS, eyes, strict=True)
    ]
    return moved, robot_boxes(model, data).placed(shift, np.eye(3))


@lru_cache(maxsize=64)
def _empty_room(arena: Arena, cameras: tuple[CameraChange, ...], pack: AssetPack) -> CompiledScene:
    return compile_scene(Scene(arena, (), (), (), (), staging=Staging(cameras=cameras)), pack)
