"""Footprints of object categories, used to plan positions without compiling a scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from assay.sim.appearance import dress, paint, resize
from assay.sim.categories import Pose, resting_pose
from assay.sim.compile import bounding_box
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.sim.texture_coordinates import wrap
from assay.tasks.scene import Entity


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bounding box of an entity in its resting pose, relative to its origin, in metres."""

    half: tuple[float, float]
    """Half-lengths along x and y."""
    centre: tuple[float, float]
    height: float

    @property
    def radius(self) -> float:
        """Radius of the smallest circle around the origin that contains the footprint."""
        return float(np.hypot(abs(self.centre[0]) + self.half[0], abs(self.centre[1]) + self.half[1]))


def footprint(category: str, *, fixture: bool = False, swept: bool = False) -> Footprint:
    """Return the footprint of a category in the planning pack (see `planning_pack`).

    Objects are in their resting pose. Fixtures have yaw zero, because their actual yaw is determined by a region.
    ``swept`` includes the space swept by doors and drawers.
    """
    return _footprint(planning_pack(), category, fixture, swept)


@lru_cache(maxsize=512)
def _footprint(pack: AssetPack, category: str, fixture: bool, swept: bool) -> Footprint:
    model, data = resting_model(pack, Entity("entity", category), fixture=fixture)
    colliding = [geom for geom in range(model.ngeom) if model.geom_group[geom] == 0]
    boxes = []
    for end in model.jnt_range.T if swept and model.njnt else [data.qpos]:
        data.qpos[:] = end
        mujoco.mj_kinematics(model, data)
        boxes.append(bounding_box(model, data, colliding))
    low, high = np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)
    half, centre = (high - low)[:2] / 2, (high + low)[:2] / 2
    return Footprint(
        (float(half[0]), float(half[1])), (float(centre[0]), float(centre[1])), float((high - low)[2])
    )


def resting_model(
    pack: AssetPack, entity: Entity, *, fixture: bool = False, triangles: bool = False
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return a model of one entity at the world's origin: an object in its resting pose, or a fixture at yaw zero.

    Drawers and doors are in their default positions; the caller computes the kinematics. ``triangles``: convert all
    drawn geoms to meshes.
    """
    root = Element("mujoco")
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    root.extend(
        [section for section in pack.entity(entity.category) if section.tag in ("asset", "worldbody")]
    )
    alone = root.find("./worldbody/body/body[@name='object']")
    assets = root.find("asset")
    if alone is not None and assets is not None:
        if entity.size != 1.0:
            resize(alone, assets, entity.size)
        drawn = [geom for geom in alone.iter("geom") if geom.get("group") == "1"]
        dress(root, drawn, entity.finish, "finish")
        if triangles and entity.finish.pattern is None:
            wrap(root, drawn)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    paint(model, root)
    data = mujoco.MjData(model)
    body = model.body("object").id
    pose = Pose(yaw=(0.0, 0.0)) if fixture else resting_pose(entity.category)
    model.body_pos[body] = 0.0
    turn, quat = np.empty(4), np.empty(4)
    mujoco.mju_axisAngle2Quat(turn, np.array([0.0, 0.0, 1.0]), sum(pose.yaw) / 2)
    mujoco.mju_mulQuat(quat, turn, np.array(pose.tilt))
    model.body_quat[body] = quat
    return model, data
