"""Set a composed scene up as its staging says: finishes, sizes, lights, cameras, in the MJCF document."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, sin
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from assay.errors import AssetError, did_you_mean
from assay.sim.layout import ArenaLayout
from assay.sim.pattern_pictures import PIXELS, second_colour, texture_name
from assay.sim.texture_coordinates import wrap
from assay.tasks.scene import CameraChange, Finish, Lighting, Pattern, Scene, Surface

GREY = (0.6, 0.6, 0.6)
PROJECTED = {"plane": 12}
"""How many tiles of a pattern go onto what has no texture coordinates of ours, each way, by the type of geom."""
PROJECTED_ELSE = 4
TINY = 1e-30
"""What is no larger is nothing."""
_FURNITURE = ("floor_lamp", "wall_unit")
_LENGTHS = ("pos", "size", "fromto")


def apply_staging(root: Element, scene: Scene, layout: ArenaLayout) -> None:
    """Change a composed document in place."""
    staging = scene.staging
    for surface, finish in staging.surfaces:
        dress(root, _surface(root, layout, surface), finish, f"staging_{surface}")
    for entity in scene.entities:
        if not entity.finish.usual:
            body = next(each for each in root.iter("body") if each.get("name") == f"{entity.name}_main")
            visible = [geom for geom in body.iter("geom") if geom.get("group") == "1"]
            dress(root, visible, entity.finish, f"{entity.name}_finish")
    if staging.lighting != Lighting():
        for light in root.iter("light"):
            _relight(light, staging.lighting)
    cameras = {str(camera.get("name")): camera for camera in root.iter("camera")}
    for change in staging.cameras:
        if change.name not in cameras:
            raise AssetError(f"there is no camera '{change.name}': {did_you_mean(change.name, cameras)}")
        _move_camera(cameras[change.name], change)


def resize(body: Element, assets: Element, factor: float) -> None:
    """Scale an entity's body, sites and meshes; masses follow from the volumes, or with the cube."""
    for element in body.iter():
        if element.tag in ("geom", "site", "body", "joint", "inertial", "camera"):
            for name in _LENGTHS:
                if name in element.attrib and not (element is body and name == "pos"):
                    element.set(name, _text(_numbers(element.attrib[name]) * factor))
        if element.tag in ("geom", "inertial") and "mass" in element.attrib:
            element.set("mass", repr(float(element.attrib["mass"]) * factor**3))
        for name in ("diaginertia", "fullinertia"):
            if name in element.attrib:
                element.set(name, _text(_numbers(element.attrib[name]) * factor**5))
        if element.tag == "joint" and element.get("type") == "slide" and "range" in element.attrib:
            element.set("range", _text(_numbers(element.attrib["range"]) * factor))
    for mesh in assets.iter("mesh"):
        mesh.set("scale", _text(_numbers(mesh.get("scale", "1 1 1")) * factor))


def _surface(root: Element, layout: ArenaLayout, surface: Surface) -> list[Element]:
    """The visible geoms of a surface."""
    world = root.find("worldbody")
    assert world is not None
    if surface is Surface.TABLE:
        body = next(each for each in world.iter("body") if each.get("name") == layout.body)
        return [geom for geom in body.iter("geom") if geom.get("group") == "1"]
    prefix = "floor" if surface is Surface.FLOOR else "wall"
    named = [
        geom
        for geom in world.iter("geom")
        if (name := str(geom.get("name", ""))).startswith(prefix) and not name.startswith(_FURNITURE)
    ]
    return [geom for geom in named if geom.get("group", "0") == "1" or geom.get("type") == "plane"]


def dress(root: Element, geoms: Iterable[Element], finish: Finish, name: str) -> None:
    """Give drawn geoms of a document a finish, as a material of that name."""
    if finish.usual:
        return
    assets = root.find("asset")
    assert assets is not None
    wearing = geoms = list(geoms)
    colour = finish.colour or GREY
    material = {"name": name, "rgba": _text((*colour, 1.0)), "specular": "0.2", "shininess": "0.2"}
    if finish.pattern is not None:
        texture = texture_name(name, finish.pattern)
        picture = {"type": "2d", "builtin": "flat", "width": str(PIXELS), "height": str(PIXELS)}
        colours = {"rgb1": _text(colour), "rgb2": _text(second_colour(colour))}
        SubElement(assets, "texture", {"name": texture} | picture | colours)
        whole = finish.pattern is Pattern.GRADIENT
        material |= {"texture": texture, "rgba": "1 1 1 1", "texuniform": "false"}
        wrapped = wrap(root, geoms, whole=whole)
        for number, geom in enumerate(geoms):
            if geom not in wrapped:
                own = f"{name}_{number}"
                tiles = 1 if whole else PROJECTED.get(geom.get("type", "sphere"), PROJECTED_ELSE)
                SubElement(assets, "material", material | {"name": own, "texrepeat": f"{tiles} {tiles}"})
                geom.set("material", own)
        wearing = wrapped
    SubElement(assets, "material", material)
    for geom in geoms:
        geom.attrib.pop("rgba", None)
    for geom in wearing:
        geom.set("material", name)


def _relight(light: Element, change: Lighting) -> None:
    factor = np.array(change.colour) * change.intensity
    for name, usual in (("diffuse", "0.7 0.7 0.7"), ("specular", "0.3 0.3 0.3"), ("ambient", "0 0 0")):
        light.set(name, _text(np.clip(_numbers(light.get(name, usual)) * factor, 0.0, 1.0)))
    if change.tilt != (0.0, 0.0):
        about_x, about_y = change.tilt
        x = np.array([[1, 0, 0], [0, cos(about_x), -sin(about_x)], [0, sin(about_x), cos(about_x)]])
        y = np.array([[cos(about_y), 0, sin(about_y)], [0, 1, 0], [-sin(about_y), 0, cos(about_y)]])
        light.set("dir", _text(y @ x @ _numbers(light.get("dir", "0 0 -1"))))
        light.set("pos", _text(y @ x @ _numbers(light.get("pos", "0 0 0"))))
    if change.shadows is not None:
        light.set("castshadow", "true" if change.shadows else "false")


def _move_camera(camera: Element, change: CameraChange) -> None:
    camera.set("pos", _text(_numbers(camera.get("pos", "0 0 0")) + np.array(change.shift)))
    rotation = _numbers(camera.get("quat", "1 0 0 0"))
    for axis, angle in zip(np.eye(3), change.turn, strict=True):
        turn, product = np.empty(4), np.empty(4)
        mujoco.mju_axisAngle2Quat(turn, axis, angle)
        mujoco.mju_mulQuat(product, rotation, turn)
        rotation = product
    camera.set("quat", _text(rotation))
    camera.set("fovy", repr(float(camera.get("fovy", "45")) * change.zoom))


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def _text(values: Iterable[float]) -> str:
    """Numbers as MuJoCo reads them: it refuses those that are too small for a float32."""
    return " ".join(repr(float(value)) if abs(value) > TINY else "0.0" for value in values)
