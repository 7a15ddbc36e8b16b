"""Set a composed scene up as its staging says: finishes, sizes, lights, cameras, in the MJCF document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from math import cos, sin
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from assay.errors import AssetError, did_you_mean
from assay.sim.layout import ArenaLayout
from assay.sim.texture_coordinates import wrap
from assay.tasks.scene import CameraChange, Colour, Finish, Lighting, Pattern, Scene, Surface

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


PIXELS = 128
"""Width and height of a tile."""
PERIODS = 2
"""How often stripes and waves repeat in a tile; checkers have as many pairs of cells on each side."""
WAVE = 0.45
"""How high a wave is, as a share of the distance to the next; it is as long as a tile."""
LINES = 3
"""How many lines of a grid cross a tile each way."""
LINE = 0.28
"""Width of a grid's line, as a share of the distance to the next."""
SPOTS = 3
"""How many rows of speckles a tile has, and how many speckles a row."""
SPOT = 0.34
"""Mean radius of a speckle, as a share of the distance to the next."""
DARK = 0.5
"""How bright a colour is below which the second colour of a pattern is a lighter one (Rec. 709, 0 to 1)."""
DARKER, LIGHTER = 0.22, 0.75
"""The second colour: this share of a bright colour; a dark one moved so far towards white."""

_BRIGHTNESS = np.array([0.2126, 0.7152, 0.0722])
_NAMED = re.compile(r"_pattern_(?P<pattern>[a-z]+)")


def second_colour(colour: Colour) -> Colour:
    """What a pattern is drawn in on ``colour``: the same hue, much darker, or much lighter on what is dark."""
    own = np.array(colour)
    other = own * DARKER if own @ _BRIGHTNESS > DARK else own + LIGHTER * (1.0 - own)
    red, green, blue = map(float, other)
    return red, green, blue


def texture_name(stem: str, pattern: Pattern) -> str:
    """The name of the texture that `paint` paints with a pattern."""
    return f"{stem}_pattern_{pattern.value}"


def paint(model: mujoco.MjModel, document: Element) -> None:
    """Paint a fresh model's textures that its document names after a pattern."""
    for texture in document.iterfind("./asset/texture"):
        name = str(texture.get("name"))
        named = _NAMED.search(name)
        if named is None or texture.get("builtin") != "flat":
            continue
        first, second = (
            np.array([float(word) for word in str(texture.get(key)).split()]) for key in ("rgb1", "rgb2")
        )
        share = _share(Pattern(named["pattern"]))[..., None]
        picture = np.rint(255 * (first + share * (second - first))).astype(np.uint8)
        index = model.texture(name).id
        start = int(model.tex_adr[index])
        model.tex_data[start : start + picture.size] = picture.ravel()


@cache
def _share(pattern: Pattern) -> np.ndarray:
    """How much of the second colour each pixel of a tile has, 0 to 1, (PIXELS, PIXELS): rows are v, columns u."""
    fine = 4  # four by four points a pixel: soft edges
    along = (np.arange(fine * PIXELS) + 0.5) / (fine * PIXELS)
    u, v = np.meshgrid(along, along)
    inked = _inked(pattern, u, v).astype(np.float64)
    return np.asarray(inked.reshape(PIXELS, fine, PIXELS, fine).mean(axis=(1, 3)))


def _inked(pattern: Pattern, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How much of the second colour points of a tile have; ``u`` and ``v`` run from 0 to 1."""
    if pattern is Pattern.STRIPES:
        return np.asarray(u * PERIODS % 1.0 < 0.5)
    if pattern is Pattern.CHECKER:
        return np.asarray((u * PERIODS % 1.0 < 0.5) ^ (v * PERIODS % 1.0 < 0.5))
    if pattern is Pattern.GRID:
        return np.asarray((u * LINES % 1.0 < LINE) | (v * LINES % 1.0 < LINE))
    if pattern is Pattern.WAVY:
        return np.asarray((v * PERIODS + WAVE * np.sin(2 * np.pi * u)) % 1.0 < 0.5)
    if pattern is Pattern.SPECKLES:
        return _speckled(u, v)
    return np.asarray(1.0 - np.abs(2.0 * v - 1.0))


def _speckled(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Round spots of different sizes, one about each point of a lattice."""
    rng = np.random.default_rng(7)  # one picture for everybody
    inked = np.zeros_like(u, dtype=bool)
    for row in range(SPOTS):
        for column in range(SPOTS):
            x, y = (np.array([column, row]) + rng.uniform(-0.25, 0.25, 2)) / SPOTS
            radius = SPOT * rng.uniform(0.75, 1.25) / SPOTS
            dx, dy = np.abs(u - x) % 1.0, np.abs(v - y) % 1.0
            inked |= np.hypot(np.minimum(dx, 1.0 - dx), np.minimum(dy, 1.0 - dy)) < radius
    return inked
