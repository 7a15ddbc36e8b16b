"""Privileged access to the simulator's state: poses, boxes, contacts and joints."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

import numpy as np

from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex, RegionIndex, bounding_box, geom_boxes
from assay.sim.compose import GRIPPER, ROBOT
from assay.sim.controller import ARM
from assay.sim.robot_contacts import Fingers
from assay.sim.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box in world coordinates, in metres."""

    low: np.ndarray
    """Lower corner, shape (3,)."""
    high: np.ndarray
    """Upper corner, shape (3,)."""

    @property
    def centre(self) -> np.ndarray:
        """Centre of the box, shape (3,)."""
        return np.asarray(self.low + self.high) / 2

    @property
    def size(self) -> np.ndarray:
        """Full side lengths, shape (3,)."""
        return np.asarray(self.high - self.low)


class SceneState:
    """Read-only access to poses, boxes, contacts and joints of a running simulation."""

    def __init__(self, world: Simulation) -> None:
        self.world = world
        self.model, self.data = world.model, world.data
        self.site = self.model.site(f"{GRIPPER}grip_site").id
        self.base = self.data.body(f"{ROBOT}base").xpos[:2].copy()
        """Position of the robot's base, shape (2,)."""
        self.entities, self.regions = world.compiled.entities, world.compiled.regions
        self.movable_objects = [entity for entity in self.entities.values() if entity.movable]
        self.fingers = Fingers(world)
        self.robot_geoms = set(np.flatnonzero(self.fingers.robot).tolist())
        collides = (self.model.geom_contype | self.model.geom_conaffinity) != 0
        is_plane = self.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        self.solid_geoms = frozenset(np.flatnonzero(collides & ~is_plane & ~self.fingers.robot).tolist())
        """Ids of all collision geoms except the robot's and planes."""

    def gripper_pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the position (3,) and rotation (3, 3) of the grip site: fingers open along x, z points outwards."""
        return self.data.site_xpos[self.site].copy(), self.data.site_xmat[self.site].reshape(3, 3).copy()

    def pose(self, entity: EntityIndex) -> tuple[np.ndarray, np.ndarray]:
        """Return the position (3,) and rotation (3, 3) of an entity."""
        return self.data.xpos[entity.body].copy(), self.data.xmat[entity.body].reshape(3, 3).copy()

    def box(self, part: EntityIndex | int) -> Box:
        """Return the bounding box of an entity's collision geoms, or of one geom, given by its id."""
        return Box(*bounding_box(self.model, self.data, (part,) if isinstance(part, int) else part.geoms))

    def rotated_box(self, entity: EntityIndex, rotation: np.ndarray) -> Box:
        """Return an entity's bounding box, relative to its origin, after a rotation (3, 3) about the origin."""
        pieces = self.rotated_pieces(entity, rotation)
        return Box(pieces.low.min(axis=0), pieces.high.max(axis=0))

    def rotated_pieces(self, entity: EntityIndex, rotation: np.ndarray) -> Box:
        """Return the boxes of an entity's collision geoms as in `rotated_box`; corners have shape (geoms, 3)."""
        boxes = geom_boxes(self.model, self.data, entity.geoms)
        relative = replace(boxes, centre=boxes.centre - self.data.xpos[entity.body])
        return Box(*relative.transform(np.zeros(3), rotation).bounds)

    def region_box(self, region: RegionIndex) -> Box:
        """Return the bounding box of a region."""
        centre = self.data.site_xpos[region.site]
        half = np.abs(self.data.site_xmat[region.site].reshape(3, 3)) @ region.half
        return Box(centre - half, centre + half)

    def joint(self, joint: int) -> float:
        """Return the value of a joint, in radians or metres."""
        return float(self.data.qpos[self.model.jnt_qposadr[joint]])

    def axis(self, joint: int) -> np.ndarray:
        """Return the direction of a joint's axis in world coordinates, shape (3,)."""
        return np.asarray(self.data.xaxis[joint].copy())

    def anchor(self, joint: int) -> np.ndarray:
        """Return a point on a joint's axis in world coordinates, shape (3,)."""
        return np.asarray(self.data.xanchor[joint].copy())

    def geoms_of(self, entity: EntityIndex, joint: int) -> list[int]:
        """Return the collision geoms of an entity that are moved by a joint."""
        body = self.model.jnt_bodyid[joint]
        return sorted(geom for geom in entity.geoms if self.model.geom_bodyid[geom] == body)

    def opening(self) -> float:
        """Return the distance between the fingers, in metres."""
        return float(self.data.qpos[ARM] - self.data.qpos[ARM + 1])

    def highest_between(self, start: np.ndarray, end: np.ndarray, carried: EntityIndex) -> float:
        """Return the height, in metres, of the highest entity within 12 cm of the line between two points (2,)."""
        highest = -np.inf
        along = end - start
        length = float(np.linalg.norm(along)) or 1.0
        for entity in self.entities.values():
            if entity is carried or not entity.geoms:
                continue
            box = self.box(entity)
            nearest = np.clip((box.centre[:2] - start) @ along / length**2, 0.0, 1.0)
            gap = np.abs(start + nearest * along - box.centre[:2]) - box.size[:2] / 2
            if np.linalg.norm(np.maximum(gap, 0.0)) < 0.12:
                highest = max(highest, float(box.high[2]))
        return highest

    def is_resting(self, entity: EntityIndex) -> bool:
        """Return whether an entity touches anything but the robot."""
        return any(other not in self.robot_geoms for _, _, other in contacts(self.data, entity.geoms))

    def support(self, entity: EntityIndex) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean position (3,) and mean normal (3,) of an entity's contacts with anything but the robot.

        Without contacts, return the entity's centre and a zero vector.
        """
        contact = self.data.contact
        points, normals = [], []
        for index, own, other in contacts(self.data, entity.geoms):
            if other not in self.robot_geoms:
                points.append(contact.pos[index])
                normal = contact.frame[index, :3]
                normals.append(normal if contact.geom[index, 1] == own else -normal)
        if not points:
            return self.box(entity).centre, np.zeros(3)
        return np.mean(points, axis=0), np.mean(normals, axis=0)


def contacts(data: mujoco.MjData, geoms: Container[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (index of the contact, given geom, other geom) for the contacts of given geoms with any others."""
    for index, (first, second) in enumerate(data.contact.geom.tolist()):
        if (first in geoms) != (second in geoms):
            yield (index, first, second) if first in geoms else (index, second, first)
