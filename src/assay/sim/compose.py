"""Compose an arena, the robot and a scene's entities into one MJCF document.

Bodies, joints, geoms and sites have the same names and order as in LIBERO. Numbers are copied as text from the
source files: MuJoCo rounds inertias when it writes XML, which would change rollouts.
"""

from __future__ import annotations

from math import cos, sin
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from assay.errors import AssetError, did_you_mean
from assay.sim.appearance import dress, format_numbers, resize
from assay.sim.layout import REGION_HALF_HEIGHT, ArenaLayout, layout_of
from assay.sim.packs.pack import AssetPack
from assay.sim.texture_coordinates import parse_numbers
from assay.tasks.scene import Finish, Lighting, Scene, Surface

ROBOT = "robot0_"
GRIPPER = "gripper0_"
MOUNT = "mount0_"

_NAME_ATTRIBUTES = frozenset(
    (
        "class", "childclass", "name", "objname", "material", "texture", "joint", "joint1", "joint2", "jointinparent",
        "geom", "geom1", "geom2", "mesh", "fixed", "actuator", "tendon", "tendon1", "tendon2", "slidesite", "cranksite",
        "body", "body1", "body2", "hfield", "target", "prefix", "site",
    )
)  # fmt: skip
"""MJCF attributes whose values are names of elements."""

_MERGED = ("asset", "worldbody", "actuator", "sensor", "tendon", "equality", "contact")
MIN_HALF_LENGTH = 1e-6
"""Half-length of a region that is a line or a point, in metres, because MuJoCo rejects boxes without extent."""
_ROBOT_COLOUR = "0.0 0.5 0.0 1.0"
_GRIPPER_COLOUR = "0.0 0.0 0.5 1.0"
_FURNITURE_COLOUR = "0.5 0.5 0.0 1.0"
_ARM_DAMPING = (0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01)
_WALL_FURNITURE = ("floor_lamp", "wall_unit")
"""Prefixes of geom names that begin with ``floor`` or ``wall`` but denote furniture."""
_MOUNT_TOP = np.array([0.0, 0.0, -0.01])


def compose(scene: Scene, pack: AssetPack) -> Element:
    """Compose the MJCF document of a scene, with all entities at the default positions in their files."""
    layout = layout_of(scene)
    root = Element("mujoco", {"model": "scene"})
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    air = {"density": "1.2", "viscosity": "0.00002"}
    SubElement(root, "option", {"impratio": "20", "cone": "elliptic", "timestep": "0.002"} | air)
    # LIBERO's sizes reserve 1.3 GB per simulation, and a process with twenty of those cannot fork.
    SubElement(root, "size", {"nconmax": "5000", "njmax": "5000"} if pack.exact else {"memory": "64M"})
    visual = SubElement(root, "visual")
    SubElement(visual, "map", {"znear": "0.001"})
    for tag in _MERGED:
        SubElement(root, tag)
    if not pack.exact:
        # Fewer faces on round shapes make an image a third cheaper, with no visible difference at 256 pixels.
        SubElement(visual, "quality", {"numslices": "16", "numstacks": "8", "numquads": "2"})
    arena = pack.arena(scene.arena, scene.style)
    _finish_arena(arena, scene, layout)
    _merge(root, arena)
    _merge(root, _robot(pack, layout))
    for entity in scene.entities:
        document = pack.entity(entity.category)
        body = document.find("./worldbody/body/body[@name='object']")
        if body is None:
            raise AssetError(f"the entity '{document.get('model', '?')}' has no body named 'object'")
        body.set("name", "main")
        parents = {child: parent for parent in body.iter() for child in parent}
        for index, geom in enumerate(list(body.iter("geom"))):
            if geom.get("group", "0") not in ("0", "1"):
                parents[geom].remove(geom)
            elif geom.get("name") is None:
                geom.set("name", f"g{index}")
        if entity in scene.objects:
            SubElement(body, "joint", {"name": "joint0", "type": "free", "damping": "0.0005"})
        look = {"type": "sphere", "size": "0.002 0.002 0.002", "rgba": "1 0 0 0", "group": "0"}
        SubElement(body, "site", {"name": "default_site", "pos": "0 0 0"} | look)
        prefix = f"{entity.name}_"
        _prefix(body, prefix)
        assets = document.find("asset")
        if assets is None:
            assets = Element("asset")
        _prefix(assets, prefix)
        if entity.size != 1.0:
            resize(body, assets, entity.size)
        part = Element("mujoco")
        part.append(assets)
        SubElement(part, "worldbody").append(body)
        _merge(root, part)
    _apply_staging(root, scene, layout)
    return root


def _apply_staging(root: Element, scene: Scene, layout: ArenaLayout) -> None:
    """Apply a scene's surface finishes and its lighting and camera changes to a composed document."""
    staging, change = scene.staging, scene.staging.lighting
    for surface, finish in staging.surfaces:
        if surface is Surface.TABLE:
            body = next(body for body in root.iter("body") if body.get("name") == layout.body)
            geoms = [geom for geom in body.iter("geom") if geom.get("group") == "1"]
        else:
            prefix = "floor" if surface is Surface.FLOOR else "wall"
            geoms = [
                geom
                for geom in root.iterfind("./worldbody//geom")
                if (name := str(geom.get("name", ""))).startswith(prefix)
                and not name.startswith(_WALL_FURNITURE)
                and (geom.get("group", "0") == "1" or geom.get("type") == "plane")
            ]
        dress(root, geoms, finish, f"staging_{surface}")
    for entity in scene.entities:
        if entity.finish != Finish():
            body = next(body for body in root.iter("body") if body.get("name") == f"{entity.name}_main")
            visible = [geom for geom in body.iter("geom") if geom.get("group") == "1"]
            dress(root, visible, entity.finish, f"{entity.name}_finish")
    for light in root.iter("light") if change != Lighting() else ():
        factor = np.array(change.colour) * change.intensity
        for name, default in (("diffuse", "0.7 0.7 0.7"), ("specular", "0.3 0.3 0.3"), ("ambient", "0 0 0")):
            light.set(
                name, format_numbers(np.clip(parse_numbers(light.get(name, default)) * factor, 0.0, 1.0))
            )
        if change.tilt != (0.0, 0.0):  # about the origin
            about_x, about_y = change.tilt
            x = np.array([[1, 0, 0], [0, cos(about_x), -sin(about_x)], [0, sin(about_x), cos(about_x)]])
            y = np.array([[cos(about_y), 0, sin(about_y)], [0, 1, 0], [-sin(about_y), 0, cos(about_y)]])
            for name, default in (("dir", "0 0 -1"), ("pos", "0 0 0")):
                light.set(name, format_numbers(y @ x @ parse_numbers(light.get(name, default))))
        if change.shadows is not None:
            light.set("castshadow", "true" if change.shadows else "false")
    cameras = {str(camera.get("name")): camera for camera in root.iter("camera")}
    for move in staging.cameras:
        if move.name not in cameras:
            raise AssetError(f"unknown camera '{move.name}': {did_you_mean(move.name, cameras)}")
        camera = cameras[move.name]
        camera.set("pos", format_numbers(parse_numbers(camera.get("pos", "0 0 0")) + np.array(move.shift)))
        rotation = parse_numbers(camera.get("quat", "1 0 0 0"))
        for axis, angle in zip(np.eye(3), move.turn, strict=True):  # the camera's own axes
            turn, product = np.empty(4), np.empty(4)
            mujoco.mju_axisAngle2Quat(turn, axis, angle)
            mujoco.mju_mulQuat(product, rotation, turn)
            rotation = product
        camera.set("quat", format_numbers(rotation))
        camera.set("fovy", repr(float(camera.get("fovy", "45")) * move.zoom))


def _finish_arena(arena: Element, scene: Scene, layout: ArenaLayout) -> None:
    """Colour the collision geoms, place the cameras, and add the regions of the workspace."""
    world = arena.find("worldbody")
    assert world is not None
    for geom in world.iter("geom"):
        if geom.get("group", "0") == "0" and geom.get("name") != "floor":
            geom.set("rgba", _FURNITURE_COLOUR)
            geom.attrib.pop("material", None)
    cameras = {camera.get("name"): camera for camera in world.iter("camera")}
    for name, pose in layout.cameras.items():
        camera = cameras.get(name)
        if camera is None:
            camera = SubElement(world, "camera", {"name": name})
        camera.set("pos", format_numbers(pose.position))
        camera.set("quat", format_numbers(pose.quaternion))
    body = next((body for body in world.iter("body") if body.get("name") == layout.body), None)
    if body is None:
        names = [body.get("name", "") for body in world.iter("body")]
        raise AssetError(
            f"the {scene.arena} arena has no body '{layout.body}': {did_you_mean(layout.body, names)}"
        )
    for region in scene.regions:
        # LIBERO looks for the workspace's name anywhere in the region's name, whatever its target.
        if scene.arena.workspace not in region.full_name or not region.rectangles:
            continue
        box = region.rectangles[0]
        x, y, z = layout.region_origin
        centre = ((box.x_max + box.x_min) / 2 + x, (box.y_max + box.y_min) / 2 + y, z)
        half = (
            max((box.x_max - box.x_min) / 2, MIN_HALF_LENGTH),
            max((box.y_max - box.y_min) / 2, MIN_HALF_LENGTH),
            REGION_HALF_HEIGHT,
        )
        shape = {
            "type": "box",
            "pos": format_numbers(centre),
            "quat": "1 0 0 0",
            "size": format_numbers(half),
        }
        rgba = format_numbers(region.rgba or (0.0, 0.0, 1.0, 0.0))
        SubElement(body, "site", {"name": region.full_name, "rgba": rgba} | shape)


def _robot(pack: AssetPack, layout: ArenaLayout) -> Element:
    """Return the arm with its gripper at the arena's robot pose, mounted on a pedestal if the arena has one."""
    arm, base = _prepare_part(pack.part("robot/arm.xml"), ROBOT, _ROBOT_COLOUR)
    base_offset = parse_numbers(base.get("pos", "0 0 0"))
    for index, joint in enumerate(arm.iterfind("./worldbody//joint")):
        joint.attrib.setdefault("frictionloss", "0.1")
        joint.attrib.setdefault("armature", repr(5.0 / (index + 1)))
        joint.set("damping", repr(_ARM_DAMPING[index]))

    if layout.mounted:
        mount = pack.part("robot/mount.xml")
    else:
        mount = Element("mujoco")
        SubElement(SubElement(mount, "worldbody"), "body", {"name": "base"})
    mount, mount_base = _prepare_part(mount, MOUNT, _FURNITURE_COLOUR)
    mount_offset = parse_numbers(mount_base.get("pos", "0 0 0"))
    mount_top = _MOUNT_TOP if layout.mounted else np.zeros(3)
    mount_base.set("pos", format_numbers(base_offset - mount_top))
    _merge(arm, mount, into=base)
    base.set("pos", format_numbers(np.array(layout.robot) - ((mount_offset - mount_top) + base_offset)))

    wrist = next(body for body in base.iter("body") if body.get("name") == f"{ROBOT}right_hand")
    gripper, _ = _prepare_part(pack.part("robot/gripper.xml"), GRIPPER, _GRIPPER_COLOUR)
    _merge(arm, gripper, into=wrist)
    return arm


def _prepare_part(document: Element, prefix: str, collision_rgba: str) -> tuple[Element, Element]:
    """Name a robot part's geoms ``g0_col``, ``g0_vis``, ..., add the prefix, and colour the part.

    Returns the document and its root body.
    """
    body = document.find("./worldbody/body")
    if body is None:
        raise AssetError(f"the part '{document.get('model', '?')}' has no body")
    _prefix(document, prefix)
    counts = {"col": 0, "vis": 0}
    for geom in document.iter("geom"):
        if geom.get("name") is None:
            kind = "vis" if geom.get("group") == "1" else "col"
            geom.set("name", f"{prefix}g{counts[kind]}_{kind}")
            counts[kind] += 1
        if geom.get("group", "0") == "0":
            geom.set("rgba", collision_rgba)
            geom.attrib.pop("material", None)
    return document, body


def _merge(root: Element, part: Element, into: Element | None = None) -> None:
    """Append a part's sections to those of ``root``, and its bodies to ``into``, by default the world body.

    If several assets have the same type and name, only the first is kept.
    """
    assets = {(asset.tag, asset.get("name")) for asset in root.iterfind("./asset/*")}
    for tag in _MERGED:
        target = into if tag == "worldbody" and into is not None else root.find(tag)
        if target is None:
            target = SubElement(root, tag)
        for element in part.findall(f"./{tag}/*"):
            key = (element.tag, element.get("name"))
            if tag != "asset" or key not in assets:
                target.append(element)
            if tag == "asset":
                assets.add(key)


def _prefix(element: Element, prefix: str) -> None:
    """Add a prefix to every name and every reference to a name, unless it already has the prefix."""
    for node in element.iter():
        for key in _NAME_ATTRIBUTES.intersection(node.keys()):
            value = node.attrib[key]
            if not value.startswith(prefix):
                node.set(key, prefix + value)
