"""Put an arena, the robot and a scene's entities together into one MJCF document.

The composition is LIBERO's: the same names, the same order of bodies, joints, geoms and sites, and the
numbers exactly as the parts' files spell them. (XML written back by MuJoCo rounds inertias, which changes
rollouts.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from assay.errors import AssetError, did_you_mean
from assay.sim.appearance import apply_staging, resize
from assay.sim.layout import REGION_HALF_HEIGHT, ArenaLayout, layout_of
from assay.sim.packs.pack import AssetPack
from assay.tasks.scene import Entity, Scene

ROBOT = "robot0_"
GRIPPER = "gripper0_"
MOUNT = "mount0_"

_NAMED = frozenset(
    {
        "class",
        "childclass",
        "name",
        "objname",
        "material",
        "texture",
        "joint",
        "joint1",
        "joint2",
        "jointinparent",
        "geom",
        "geom1",
        "geom2",
        "mesh",
        "fixed",
        "actuator",
        "tendon",
        "tendon1",
        "tendon2",
        "slidesite",
        "cranksite",
        "body",
        "body1",
        "body2",
        "hfield",
        "target",
        "prefix",
        "site",
    }
)
"""Attributes that hold names of other elements."""

_MERGED = ("asset", "worldbody", "actuator", "sensor", "tendon", "equality", "contact")
THINNEST = 1e-6
"""Half-length of a region that is a line or a point, metres: MuJoCo has no boxes without extent."""
_ROBOT_COLOUR = "0.0 0.5 0.0 1.0"
_GRIPPER_COLOUR = "0.0 0.0 0.5 1.0"
_FURNITURE_COLOUR = "0.5 0.5 0.0 1.0"
_ARM_DAMPING = (0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01)
_MOUNT_TOP = np.array([0.0, 0.0, -0.01])


def compose(scene: Scene, pack: AssetPack) -> Element:
    """The MJCF document of a scene: free bodies at their files' default places, fixtures too."""
    layout = layout_of(scene)
    root = _empty(exact=pack.exact)
    if not pack.exact:
        # Round shapes with fewer faces: a third off the cost of a picture, and nobody sees it at 256 pixels.
        SubElement(
            _section(root, "visual"), "quality", {"numslices": "16", "numstacks": "8", "numquads": "2"}
        )
    arena = _inlined(pack.arena(scene.arena, scene.style))
    _finish_arena(arena, scene, layout)
    _merge(root, arena)
    _merge(root, _robot(pack, layout))
    for entity in scene.entities:
        document = part_of(entity, pack)
        movable = entity in scene.objects
        body = _entity_body(document, movable=movable)
        prefix = f"{entity.name}_"
        _prefix(body, prefix)
        assets = _section(document, "asset")
        _prefix(assets, prefix)
        if entity.size != 1.0:
            resize(body, assets, entity.size)
        _merge_assets(root, assets)
        _section(root, "worldbody").append(body)
    apply_staging(root, scene, layout)
    return root


def part_of(entity: Entity, pack: AssetPack) -> Element:
    """The document of one entity, default classes resolved."""
    return _inlined(pack.entity(entity.category))


def _empty(*, exact: bool) -> Element:
    root = Element("mujoco", {"model": "scene"})
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    SubElement(
        root,
        "option",
        {
            "impratio": "20",
            "cone": "elliptic",
            "density": "1.2",
            "viscosity": "0.00002",
            "timestep": "0.002",
        },
    )
    # LIBERO's sizes reserve 1.3 GB for each world, and a process with twenty of those cannot fork.
    SubElement(root, "size", {"nconmax": "5000", "njmax": "5000"} if exact else {"memory": "64M"})
    SubElement(SubElement(root, "visual"), "map", {"znear": "0.001"})
    for tag in _MERGED:
        SubElement(root, tag)
    return root


def _finish_arena(arena: Element, scene: Scene, layout: ArenaLayout) -> None:
    """Colour the colliding geoms, place the cameras, and add the regions of the workspace."""
    world = _section(arena, "worldbody")
    _colour_collisions(world, _FURNITURE_COLOUR, keep=("floor",))
    cameras = {camera.get("name"): camera for camera in world.iter("camera")}
    for name, pose in layout.cameras.items():
        camera = cameras.get(name)
        if camera is None:
            camera = SubElement(world, "camera", {"name": name})
        camera.set("pos", _text(pose.position))
        camera.set("quat", _text(pose.quaternion))
    body = next((body for body in world.iter("body") if body.get("name") == layout.body), None)
    if body is None:
        names = [body.get("name", "") for body in world.iter("body")]
        raise AssetError(
            f"the {scene.arena} arena has no body '{layout.body}': {did_you_mean(layout.body, names)}"
        )
    for region in scene.regions:
        # LIBERO looks for the workspace's name anywhere in the region's: a table region of any target counts.
        if scene.arena.workspace not in region.full_name or not region.rectangles:
            continue
        box = region.rectangles[0]
        x, y, z = layout.region_origin
        centre = ((box.x_max + box.x_min) / 2 + x, (box.y_max + box.y_min) / 2 + y, z)
        half = (
            max((box.x_max - box.x_min) / 2, THINNEST),
            max((box.y_max - box.y_min) / 2, THINNEST),
            REGION_HALF_HEIGHT,
        )
        SubElement(
            body,
            "site",
            {
                "name": region.full_name,
                "type": "box",
                "pos": _text(centre),
                "quat": "1 0 0 0",
                "size": _text(half),
                "rgba": _text(region.rgba or (0.0, 0.0, 1.0, 0.0)),
            },
        )


def _robot(pack: AssetPack, layout: ArenaLayout) -> Element:
    """The arm with its hand, on its pedestal, where the arena wants it."""
    arm = _named_geoms(_inlined(pack.robot()))
    base = _root_body(arm)
    base_offset = _vector(base.get("pos", "0 0 0"))
    for index, joint in enumerate(_section(arm, "worldbody").iter("joint")):
        joint.attrib.setdefault("frictionloss", "0.1")
        joint.attrib.setdefault("armature", repr(5.0 / (index + 1)))
        joint.set("damping", repr(_ARM_DAMPING[index]))
    _prefix(arm, ROBOT)
    _colour_collisions(_section(arm, "worldbody"), _ROBOT_COLOUR)

    if layout.mounted:
        mount = _named_geoms(_inlined(pack.mount()))
    else:
        mount = Element("mujoco")
        SubElement(SubElement(mount, "worldbody"), "body", {"name": "base"})
    mount_base = _root_body(mount)
    mount_offset = _vector(mount_base.get("pos", "0 0 0"))
    mount_top = _MOUNT_TOP if layout.mounted else np.zeros(3)
    _prefix(mount, MOUNT)
    _colour_collisions(_section(mount, "worldbody"), _FURNITURE_COLOUR)
    mount_base.set("pos", _text(base_offset - mount_top))
    _merge(arm, mount, into=base)
    base.set("pos", _text(np.array(layout.robot) - ((mount_offset - mount_top) + base_offset)))

    gripper = _named_geoms(_inlined(pack.gripper()))
    _prefix(gripper, GRIPPER)
    _colour_collisions(_section(gripper, "worldbody"), _GRIPPER_COLOUR)
    hand = next(body for body in base.iter("body") if body.get("name") == f"{ROBOT}right_hand")
    _merge(arm, gripper, into=hand)
    return arm


def _entity_body(document: Element, *, movable: bool) -> Element:
    """The ``object`` body of an entity's document, with every geom named, and a free joint if it moves."""
    body = document.find("./worldbody/body/body[@name='object']")
    if body is None:
        raise AssetError(f"the entity '{document.get('model', '?')}' has no body named 'object'")
    body.set("name", "main")
    for index, (parent, geom) in enumerate(list(_geoms(body))):
        if geom.get("group", "0") not in ("0", "1"):
            parent.remove(geom)
        elif geom.get("name") is None:
            geom.set("name", f"g{index}")
    if movable:
        SubElement(body, "joint", {"name": "joint0", "type": "free", "damping": "0.0005"})
    SubElement(
        body,
        "site",
        {
            "name": "default_site",
            "pos": "0 0 0",
            "size": "0.002 0.002 0.002",
            "rgba": "1 0 0 0",
            "type": "sphere",
            "group": "0",
        },
    )
    return body


def _geoms(body: Element) -> Iterator[tuple[Element, Element]]:
    """Every geom below ``body`` with its parent, depth first."""
    for child in body:
        if child.tag == "geom":
            yield body, child
        yield from _geoms(child)


def _named_geoms(document: Element) -> Element:
    """Give unnamed geoms of a robot's document the names ``g0_col``, ``g0_vis``, ..."""
    counts = {"col": 0, "vis": 0}
    for geom in document.iter("geom"):
        if geom.get("name") is None:
            kind = "vis" if geom.get("group") == "1" else "col"
            geom.set("name", f"g{counts[kind]}_{kind}")
            counts[kind] += 1
    return document


def _inlined(document: Element) -> Element:
    """Replace default classes by the attributes they stand for, and drop them."""
    defaults = document.find("default")
    classes: dict[str, dict[str, Element]] = {}
    if defaults is not None:
        classes = {str(default.get("class")): {child.tag: child for child in default} for default in defaults}
        document.remove(defaults)
    for element in document.iter():
        name = element.attrib.pop("class", None)
        if name is None:
            continue
        template = classes.get(name, {}).get(element.tag)
        for key, value in template.attrib.items() if template is not None else ():
            element.attrib.setdefault(key, value)
    return document


def _merge(root: Element, part: Element, into: Element | None = None) -> None:
    """Append a part's sections to ``root``'s; its bodies go ``into`` a body, by default the world."""
    for tag in _MERGED:
        section = part.find(tag)
        if section is None:
            continue
        if tag == "asset":
            _merge_assets(root, section)
        else:
            target = into if tag == "worldbody" and into is not None else _section(root, tag)
            target.extend(list(section))


def _merge_assets(root: Element, assets: Iterable[Element]) -> None:
    """Append assets; of several with one kind and name, the first stays."""
    target = _section(root, "asset")
    known = {(asset.tag, asset.get("name")) for asset in target}
    for asset in assets:
        key = (asset.tag, asset.get("name"))
        if key not in known:
            known.add(key)
            target.append(asset)


def _prefix(element: Element, prefix: str) -> None:
    """Prefix every name, and every reference to one, that is not prefixed yet."""
    for each in element.iter():
        for key in _NAMED.intersection(each.keys()):
            value = each.attrib[key]
            if not value.startswith(prefix):
                each.set(key, prefix + value)


def _colour_collisions(element: Element, rgba: str, keep: tuple[str, ...] = ()) -> None:
    for geom in element.iter("geom"):
        if geom.get("group", "0") == "0" and geom.get("name") not in keep:
            geom.set("rgba", rgba)
            geom.attrib.pop("material", None)


def _section(root: Element, tag: str) -> Element:
    found = root.find(tag)
    return found if found is not None else SubElement(root, tag)


def _root_body(document: Element) -> Element:
    body = document.find("./worldbody/body")
    if body is None:
        raise AssetError(f"the part '{document.get('model', '?')}' has no body")
    return body


def _vector(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
