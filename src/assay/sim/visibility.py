"""Visibility of objects to the cameras, estimated by ray casting on bounding boxes, so that planning needs no GL.

Collision geoms are boxes or about as large as their bounding box. Rays through every second pixel of an image, and
some beyond its edges, are traced to the nearest box.

`newly_hidden` works on a scene that is not compiled: objects are assumed to be at the centres of their regions, so a
planned object must be visible with a margin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import mujoco
import numpy as np

from assay.sim.categories import OPENING
from assay.sim.compile import Boxes, compile_scene, geom_boxes
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.controller import ARM
from assay.sim.footprints import resting_model
from assay.sim.layout import HOME, HOME_FINGERS, LAYOUTS, layout_of
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.sim.render import CAMERAS
from assay.sim.simulation import Simulation
from assay.support.jit import machine_code
from assay.tasks.scene import INSIDE, UPON, Arena, Atom, Entity, Predicate, Scene, Staging

MAIN = CAMERAS[0]
"""The camera that shows the entire workspace."""
IMAGE_PIXELS = 256
"""Height and width, in pixels, of the image in which visible pixels are counted."""
MIN_FRACTION = 0.25
"""Minimum fraction of an object's pixels that must be unoccluded in one camera's image for it to be visible."""
PIXELS = 20
"""Minimum number of pixels of a visible object in one camera's image."""

MARGIN = 2.0
"""Factor by which a planned object must exceed the visibility limits, because its position varies between episodes."""
_DROP_HEIGHT = 0.02
"""Height above a region at which the downward search for its supporting surface starts, in metres."""

_STEP = 2
"""Distance between neighbouring rays, in pixels."""
_INSIDE = IMAGE_PIXELS // _STEP
"""Number of rays across the image."""
_RAYS = 3 * _INSIDE // 2
"""Number of rays across the image and the margins beyond its edges."""
_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """Pose and field of view of a camera."""

    position: np.ndarray
    """Position of the camera, (3,), in metres."""
    axes: np.ndarray
    """Right, up and backward directions, as columns, (3, 3)."""
    tan_half_fov: float
    """Tangent of half the field of view."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Visibility of an object to one camera."""

    pixels: float
    """Number of visible pixels in a 256 x 256 image."""
    fraction: float
    """Visible fraction of the pixels that the object would cover without occlusion or image borders, 0 to 1."""

    def is_visible(self, fraction: float = MIN_FRACTION, pixels: float = PIXELS) -> bool:
        """Return whether the object counts as visible."""
        return self.fraction >= fraction and self.pixels >= pixels


def measure_visibility(
    objects: Mapping[str, Boxes], others: Sequence[Boxes], eyes: Sequence[Viewpoint]
) -> dict[str, list[Visibility]]:
    """Return the visibility of each object to each camera; ``others`` act only as occluders."""
    every = (*objects.values(), *others)
    if not objects:
        return {}
    owner = np.repeat(np.arange(len(every)), [len(boxes.half) for boxes in every])
    centre, axes, half = (
        np.concatenate([getattr(boxes, field) for boxes in every]) for field in ("centre", "axes", "half")
    )
    views: dict[str, list[Visibility]] = {name: [] for name in objects}
    for eye in eyes:
        # Position and axes of the camera in the frame of each box.
        start = np.einsum("nji,nj->ni", axes, eye.position - centre)
        directions = np.einsum("nji,jk->nik", axes, eye.axes)
        seen, alone = _cast_rays(
            start, directions, half, _windows(eye, centre, axes, half), owner, len(every), eye.tan_half_fov
        )
        for number, name in enumerate(objects):
            whole = max(int(alone[number]), 1)
            views[name].append(Visibility(float(seen[number]) * _STEP**2, float(seen[number]) / whole))
    return views


def _windows(eye: Viewpoint, centre: np.ndarray, axes: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the first and last column and row of the rays that may hit each box, (n, 4)."""
    corners = centre[:, None] + np.einsum("nij,cj,nj->nci", axes, _CORNERS, half) - eye.position
    right, up, back = np.moveaxis(corners @ eye.axes, -1, 0)
    before = -back > 1e-3
    far = np.where(before, -back, 1.0) * 2.0 * eye.tan_half_fov / _INSIDE
    middle = (_RAYS - 1) / 2.0
    ends = []
    for along in (right, up):
        at = along / far + middle
        first, last = (np.where(before, at, end) for end in (-1.0, float(_RAYS)))
        ends += [np.ceil(first.min(axis=1)), np.floor(last.max(axis=1))]
    hidden = ~before.any(axis=1)
    windows = np.clip(np.stack(ends, axis=1), (0, -1, 0, -1), (_RAYS, _RAYS - 1, _RAYS, _RAYS - 1))
    windows[hidden] = (0, -1, 0, -1)
    return np.asarray(windows, dtype=np.int64)


@machine_code
def _cast_rays(
    start: np.ndarray,
    directions: np.ndarray,
    half: np.ndarray,
    windows: np.ndarray,
    owner: np.ndarray,
    owners: int,
    tan_half_fov: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of rays that hit each owner first, and the number that would hit it without the other owners.

    Both results have shape (owners,). Boxes of one owner must be adjacent.
    """
    nearest = np.full((_RAYS, _RAYS), np.inf)
    first = np.full((_RAYS, _RAYS), -1)
    met = np.full((_RAYS, _RAYS), -1)
    seen, alone = np.zeros(owners, dtype=np.int64), np.zeros(owners, dtype=np.int64)
    scale, middle = 2.0 * tan_half_fov / _INSIDE, (_RAYS - 1) / 2.0
    for box in range(len(half)):
        for row in range(windows[box, 2], windows[box, 3] + 1):
            for column in range(windows[box, 0], windows[box, 1] + 1):
                x, y = (column - middle) * scale, (row - middle) * scale
                enter, leave = 0.0, np.inf
                for axis in range(3):
                    way = (
                        x * directions[box, axis, 0] + y * directions[box, axis, 1] - directions[box, axis, 2]
                    )
                    if abs(way) < 1e-9:
                        way = 1e-9
                    one = (-half[box, axis] - start[box, axis]) / way
                    two = (half[box, axis] - start[box, axis]) / way
                    enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
                if leave < enter:
                    continue
                if met[row, column] != owner[box]:
                    met[row, column] = owner[box]
                    alone[owner[box]] += 1
                if enter < nearest[row, column]:
                    nearest[row, column] = enter
                    first[row, column] = owner[box]
    edge = (_RAYS - _INSIDE) // 2
    for row in range(edge, edge + _INSIDE):
        for column in range(edge, edge + _INSIDE):
            if first[row, column] >= 0:
                seen[first[row, column]] += 1
    return seen, alone


def robot_boxes(model: mujoco.MjModel, data: mujoco.MjData) -> Boxes:
    """Return the current bounding boxes of the robot's collision geoms."""
    bodies = [model.body(body).name.startswith((ROBOT, GRIPPER, MOUNT)) for body in range(model.nbody)]
    return geom_boxes(
        model, data, np.flatnonzero(np.array(bodies)[model.geom_bodyid] & (model.geom_group == 0))
    )


def eye_of(model: mujoco.MjModel, data: mujoco.MjData, camera: str) -> Viewpoint:
    """Return the current viewpoint of one of a model's cameras."""
    index = model.camera(camera).id
    tan_half_fov = float(np.tan(np.radians(model.cam_fovy[index]) / 2))
    return Viewpoint(data.cam_xpos[index].copy(), data.cam_xmat[index].reshape(3, 3).copy(), tan_half_fov)


def seen_now(simulation: Simulation, cameras: Sequence[str] = CAMERAS) -> dict[str, list[Visibility]]:
    """Return the visibility of each movable object to each camera in a running simulation."""
    model, data = simulation.model, simulation.data
    entities = simulation.compiled.entities
    objects = {
        name: geom_boxes(model, data, entity.geoms) for name, entity in entities.items() if entity.movable
    }
    fixtures = [geom_boxes(model, data, entity.geoms) for entity in entities.values() if not entity.movable]
    eyes = [eye_of(model, data, camera) for camera in cameras]
    return measure_visibility(objects, [*fixtures, robot_boxes(model, data)], eyes)


class _PlacedEntity(NamedTuple):
    """Boxes and regions of an entity at its planned pose."""

    boxes: Boxes
    origin: np.ndarray
    """Position of the entity's origin, in metres, (3,)."""
    sites: dict[str, tuple[np.ndarray, float]]
    """Centre (3,) and half-height of each of its regions in the world, in metres."""


def newly_hidden(before: Scene, after: Scene) -> list[str]:
    """Return the movable objects hidden by a change to a scene: not visible after it, and less visible than before."""
    # The visibility of each object to the best camera; at least 1 if it is visible with the planning margin.
    old, new = (
        {
            name: max(min(view.fraction / MIN_FRACTION, view.pixels / PIXELS) for view in views) / MARGIN
            for name, views in planned_visibility(scene, planning_pack()).items()
        }
        for scene in (before, after)
    )
    return [name for name, clear in new.items() if clear < min(1.0, old.get(name, np.inf))]


@lru_cache(maxsize=256)
def planned_visibility(scene: Scene, pack: AssetPack) -> dict[str, list[Visibility]]:
    """Return the visibility to each camera of each movable object whose position is known."""
    entities = {entity.name: entity for entity in scene.entities}
    movable = {obj.name for obj in scene.objects}
    opened = {atom.arguments[0] for atom in scene.initial if atom.predicate is Predicate.OPEN}
    placed: dict[str, _PlacedEntity] = {}
    waiting = [
        atom for atom in scene.initial if atom.predicate in UPON + INSIDE and atom.arguments[0] in entities
    ]
    while waiting:  # objects on or in others follow their supports
        later = []
        for atom in waiting:
            entity = entities[atom.arguments[0]]
            place = _place(scene, atom, placed)
            if place is None:
                later.append(atom)
                continue
            foot, yaw = place
            open_parts = {
                region.name
                for region in scene.regions
                if region.target == entity.name and region.full_name in opened
            }
            if entity.name in opened:
                open_parts.add("")
            shape, sites = _shape(pack, entity.category, entity.name not in movable, frozenset(open_parts))
            turn = np.array(
                [[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]]
            )
            scaled = Boxes(shape.centre * entity.size, shape.axes, shape.half * entity.size)
            boxes = scaled.transform(np.zeros(3), turn)
            origin = foot - (0.0, 0.0, float(boxes.bounds[0][:, 2].min()))
            placed[entity.name] = _PlacedEntity(
                boxes.transform(origin, np.eye(3)),
                origin,
                {
                    name: (origin + turn @ site * entity.size, half * entity.size)
                    for name, (site, half) in sites.items()
                },
            )
        if len(later) == len(waiting):
            break
        waiting = later
    staging = Staging(cameras=scene.staging.cameras, robot=scene.staging.robot)
    eyes, robot = _room(scene.arena, staging, pack)
    objects = {name: entity.boxes for name, entity in placed.items() if name in movable}
    fixtures = [entity.boxes for name, entity in placed.items() if name not in movable]
    return measure_visibility(objects, [*fixtures, robot], eyes)


def _place(scene: Scene, atom: Atom, placed: Mapping[str, _PlacedEntity]) -> tuple[np.ndarray, float] | None:
    """Return the base position (3,) and yaw of an object that an atom places; None until its support is placed."""
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
    if carrier not in placed:
        return None
    under, ceiling = placed[carrier], np.inf
    centre = under.origin
    if region is not None:
        if region.name not in under.sites:
            return None
        centre, half = under.sites[region.name]
        ceiling = float(centre[2]) + half + _DROP_HEIGHT
    low, high = under.boxes.bounds
    below = np.all((low[:, :2] <= centre[:2]) & (centre[:2] <= high[:, :2]), axis=1) & (high[:, 2] <= ceiling)
    top = float(high[below, 2].max()) if below.any() else float(centre[2])
    return np.array([centre[0], centre[1], top]), 0.0


@lru_cache(maxsize=512)
def _shape(
    pack: AssetPack, category: str, fixture: bool, opened: frozenset[str]
) -> tuple[Boxes, dict[str, tuple[np.ndarray, float]]]:
    """Return a category's boxes in its resting pose, and its regions' centres (3,) and half-heights, in metres.

    ``opened``: names of the regions that are initially open; an empty name means the entity itself.
    """
    model, data = resting_model(pack, Entity("entity", category), fixture=fixture)
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
    return geom_boxes(model, data, np.flatnonzero(model.geom_group == 0)), sites


@lru_cache(maxsize=256)
def _room(arena: Arena, staging: Staging, pack: AssetPack) -> tuple[list[Viewpoint], Boxes]:
    """Return the cameras of a room, and the boxes of the robot in its initial pose."""
    model = _compile_room(Scene(arena, (), (), (), (), staging=Staging(cameras=staging.cameras)), pack).model
    data = mujoco.MjData(model)
    data.qpos[:ARM] = np.add(HOME, staging.robot.joints)
    data.qpos[ARM : ARM + 2] = HOME_FINGERS
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    shift = np.array([*staging.robot.base, 0.0])
    eyes = []
    for camera in CAMERAS:
        eye = eye_of(model, data, camera)
        carried = camera not in LAYOUTS[arena].cameras
        eyes.append(replace(eye, position=eye.position + shift) if carried else eye)
    return eyes, robot_boxes(model, data).transform(shift, np.eye(3))


_compile_room = lru_cache(maxsize=64)(compile_scene)
