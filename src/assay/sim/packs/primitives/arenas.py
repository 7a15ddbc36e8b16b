"""The rooms: floor, walls, lights, cameras and the surface the task happens on.

Workspaces have LIBERO's heights, sizes and friction, because stored initial states rest on them. Everything
else is furniture that is only drawn, and is there to tell one room from another.

World frame: x points from the robot to the middle of the workspace, z up; metres.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element, SubElement

from assay.errors import AssetError
from assay.sim.packs.primitives import furniture
from assay.sim.packs.primitives.bodies import Block, Rod, body, camera, collide, draw, marker
from assay.sim.packs.primitives.shapes import Rgba, Vector, numbers
from assay.tasks.scene import Arena

_TABLE_HEIGHT = 0.9
_TABLE_HALF = (0.5, 0.6, 0.025)
_TOP = "workspace_top"
"""The material of every workspace's surface."""

_SLIPPERY = "0.6 0.005 0.0001"
_PLAIN = "1 0.005 0.0001"
_ROUGH = {"friction": "0.95 0.3 0.1", "solref": "0.001 1", "solimp": "0.998 0.998 0.001"}

_TABLE_EYE = ((0.6586131746834771, 0.0, 1.6103500240372423), (0.6380178, 0.3048497, 0.3048499, 0.6380178))
_LOW_TILT = (0.6182167, 0.3432308, 0.3432314, 0.6182177)
_FRONT_TILT = (0.56, 0.43, 0.43, 0.56)


def arena(arena: Arena, style: str) -> Element:
    """The document of a room.

    Only the usual look, ``style == ""``, is offered; any other raises AssetError.
    """
    if style:
        raise AssetError(
            f"the primitives offer the arena '{arena.value}' in one style only, not as '{style}'; "
            "leave the style empty"
        )
    return _ROOMS[arena]()


def _table() -> Element:
    root, world = _room("table", wall=(0.86, 0.86, 0.84, 1.0))
    _floor(root, world, tile=(0.58, 0.55, 0.52), gap=(0.70, 0.68, 0.65), repeat=(0.9, 8.0))
    _wood(root, base=(0.88, 0.78, 0.66), grain=(0.82, 0.71, 0.58))
    _four_legged_table(world, _SLIPPERY)
    _cameras(world, _TABLE_EYE, front=(1.0, 0.0, 1.48))
    return root


def _kitchen() -> Element:
    root, world = _room("kitchen", wall=(0.80, 0.76, 0.60, 1.0))
    _floor(root, world, tile=(0.76, 0.68, 0.58), gap=(0.60, 0.52, 0.44), repeat=(3.0, 3.0))
    _stone(root, base=(0.78, 0.83, 0.79), grain=(0.68, 0.74, 0.71))
    _four_legged_table(world, _PLAIN)
    furniture.kitchen(world)
    _cameras(world, _TABLE_EYE, front=(1.0, 0.0, 1.48))
    return root


def _living_room() -> Element:
    root, world = _room("living_room", wall=(0.78, 0.74, 0.72, 1.0))
    _floor(root, world, tile=(0.80, 0.64, 0.38), gap=(0.68, 0.52, 0.28), repeat=(0.9, 8.0), in_body=True)
    _wood(root, base=(0.36, 0.20, 0.13), grain=(0.28, 0.15, 0.10))
    top = body(world, "living_room_table")
    low, high = 0.41308, 0.43676
    # The seams are at the short ends, where nothing stands: what falls onto a seam may be pushed aside.
    main = ((-0.80, -0.50), (0.30, 0.60))
    strips = (
        ((-0.694, -0.619), (0.194, -0.50)),
        ((-0.694, 0.60), (0.194, 0.724)),
        ((-0.58, -0.78), (0.08, -0.619)),
        ((-0.58, 0.724), (0.08, 0.86)),
    )
    planks = tuple(Block((*a, low), (*b, high)) for a, b in (main, *strips))
    drum = Rod("cylinder", 0.36, (-0.25, 0.05, 0.0), (-0.25, 0.05, low), (0.30, 0.17, 0.11, 1.0))
    # LIBERO's stored states begin with tall things 27 mm deep in the top, which is thinner than that: the
    # drum must not push them sideways while the top pushes them up.
    core = Rod("cylinder", 0.36, (-0.25, 0.05, 0.0), (-0.25, 0.05, low - 0.03))
    collide(top, "living_room_table", (*planks, core), **_ROUGH)
    draw(top, "living_room_table_drum", (drum,))
    furniture.oval(root, top, "living_room_table", _TOP, (-0.25, 0.04), (0.585, 0.865), (low, high - 0.0002))
    furniture.living_room(world)
    _cameras(world, ((0.6065773716836134, 0.0, 0.96), _LOW_TILT), front=(1.5, 0.0, 0.9))
    return root


def _study() -> Element:
    root, world = _room("study", wall=(0.58, 0.68, 0.76, 1.0))
    _floor(root, world, tile=(0.46, 0.44, 0.46), gap=(0.42, 0.40, 0.42), repeat=(6.0, 6.0))
    _wood(root, base=(0.62, 0.42, 0.25), grain=(0.54, 0.35, 0.20))
    desk = body(world, "study_table")
    top = Block((-0.68946, -1.39273, 0.81345), (0.68946, 1.39273, 0.88513))
    wood = (0.45, 0.29, 0.17, 1.0)
    legs = tuple(
        Block((x - 0.02, y - 0.05, 0.0), (x + 0.02, y + 0.05, 0.81), wood)
        for x in (-0.5, 0.5)
        for y in (-0.7, 0.7)
    )
    collide(desk, "study_table", (top, *legs), **_ROUGH)
    draw(desk, "study_table", (top,), material=_TOP)
    draw(desk, "study_table_leg", legs)
    furniture.study(world)
    _cameras(world, ((0.4586131746834771, 0.0, 1.6103500240372423), _TABLE_EYE[1]), front=(1.0, 0.0, 1.48))
    return root


def _bare_floor() -> Element:
    root, world = _room("floor", wall=(0.86, 0.86, 0.85, 1.0))
    _floor(root, world, tile=(0.60, 0.57, 0.54), gap=(0.74, 0.72, 0.70), repeat=(0.9, 8.0), in_body=True)
    _cameras(world, ((0.8965773716836134, 0.0, 0.65), _LOW_TILT), front=(1.0, 0.0, 0.65))
    return root


def _coffee_table() -> Element:
    root, world = _room("coffee_table", wall=(0.66, 0.70, 0.62, 1.0))
    _floor(root, world, tile=(0.66, 0.62, 0.58), gap=(0.50, 0.47, 0.44), repeat=(3.0, 3.0), in_body=True)
    _stone(root, base=(0.86, 0.85, 0.83), grain=(0.74, 0.74, 0.74))
    table = body(world, "coffee_table")
    top = Block((-0.35, -0.74, 0.396), (0.35, 0.86, 0.424))
    collide(table, "coffee_table", (top,), friction=_PLAIN)
    draw(table, "coffee_table", (top,), material=_TOP)
    furniture.coffee_corner(world)
    _cameras(world, ((1.5, 0.0, 0.9), _FRONT_TILT), front=(1.0, 0.0, 1.45))
    return root


_ROOMS: dict[Arena, Callable[[], Element]] = {
    Arena.TABLE: _table,
    Arena.KITCHEN: _kitchen,
    Arena.LIVING_ROOM: _living_room,
    Arena.STUDY: _study,
    Arena.FLOOR: _bare_floor,
    Arena.COFFEE_TABLE: _coffee_table,
}


def _room(name: str, *, wall: Rgba) -> tuple[Element, Element]:
    """Sky, walls and lights; returns the document and its world body."""
    root = Element("mujoco", {"model": name})
    sky = {"type": "skybox", "builtin": "gradient", "width": "64", "height": "64"}
    SubElement(SubElement(root, "asset"), "texture", sky | {"rgb1": "0.9 0.9 1", "rgb2": "0.2 0.3 0.4"})
    world = SubElement(root, "worldbody")
    shade = (wall[0] * 0.7, wall[1] * 0.7, wall[2] * 0.7, 1.0)
    walls: tuple[tuple[str, Vector, Vector], ...] = (
        ("wall_rear", (-2.02, -3.0, 0.0), (-2.0, 3.0, 3.0)),
        ("wall_left", (-2.0, 3.0, 0.0), (3.0, 3.02, 3.0)),
        ("wall_right", (-2.0, -3.02, 0.0), (3.0, -3.0, 3.0)),
        ("wall_front", (3.0, -3.0, 0.0), (3.02, 3.0, 3.0)),
    )
    for part, low, high in walls:
        draw(world, part, (Block(low, high, wall),))
    draw(world, "skirting", (Block((-2.0, -3.0, 0.0), (-1.985, 3.0, 0.09), shade),))
    for light, pos in (("light1", (1.0, 1.0, 4.0)), ("light2", (-3.0, -3.0, 4.0))):
        aim = {"name": light, "pos": numbers(pos), "dir": "0 -0.15 -1", "directional": "false"}
        shine = {"diffuse": "0.7 0.7 0.7", "ambient": "0.25 0.25 0.25", "specular": "0.2 0.2 0.2"}
        SubElement(world, "light", aim | shine | {"castshadow": "false"})
    return root, world


def _floor(
    root: Element, world: Element, *, tile: Vector, gap: Vector, repeat: Vector, in_body: bool = False
) -> None:
    """A tiled floor; ``repeat`` is tiles per metre along x and y."""
    _pattern(root, "floorplane", tile, gap, repeat, mark="edge")
    parent = body(world, "floor") if in_body else world
    plane = {"name": "floor", "type": "plane", "size": "3 3 0.125", "condim": "3"}
    SubElement(parent, "geom", plane | {"group": "1", "material": "floorplane"})


def _wood(root: Element, *, base: Vector, grain: Vector) -> None:
    """Make the workspace's top of wood: streaks along y."""
    _pattern(root, _TOP, base, grain, (9.0, 0.5), mark="random")


def _stone(root: Element, *, base: Vector, grain: Vector) -> None:
    """Make the workspace's top of speckled stone."""
    _pattern(root, _TOP, base, grain, (2.0, 2.0), mark="random")


def _pattern(root: Element, name: str, base: Vector, mark_rgb: Vector, repeat: Vector, *, mark: str) -> None:
    asset = root.find("asset")
    assert asset is not None
    paint = {"builtin": "flat", "rgb1": numbers(base), "rgb2": numbers(base), "markrgb": numbers(mark_rgb)}
    grid = {"width": "128", "height": "128", "mark": mark, "random": "0.06"}
    SubElement(asset, "texture", {"name": f"tex-{name}", "type": "2d"} | paint | grid)
    tiling = {"texture": f"tex-{name}", "texrepeat": numbers(repeat), "texuniform": "true"}
    SubElement(asset, "material", {"name": name, "specular": "0.1", "shininess": "0.1"} | tiling)


def _four_legged_table(world: Element, friction: str) -> None:
    x, y, z = _TABLE_HALF
    table = body(world, "table", (0.0, 0.0, _TABLE_HEIGHT - z))
    top = Block((-x, -y, -z), (x, y, z))
    collide(table, "table", (top,), friction=friction)
    draw(table, "table", (top,), material=_TOP)
    marker(table, "table_top", "sphere", (0.001,), (0.0, 0.0, z))
    corners = ((0.4, 0.5), (-0.4, 0.5), (-0.4, -0.5), (0.4, -0.5))
    for index, (leg_x, leg_y) in enumerate(corners, start=1):
        leg = Rod("cylinder", 0.025, (leg_x, leg_y, z - _TABLE_HEIGHT), (leg_x, leg_y, -z))
        draw(table, f"table_leg{index}", (leg,), material=_TOP)


def _cameras(world: Element, agent: tuple[Vector, Vector], *, front: Vector) -> None:
    """The cameras of LIBERO's rooms; ``agent`` is position and quaternion of agentview."""
    camera(world, "frontview", front, _FRONT_TILT)
    camera(world, "birdview", (-0.2, 0.0, 3.0), (0.7071068, 0.0, 0.0, 0.7071068))
    camera(world, "agentview", *agent)
    side = (0.0099051, 0.006878, 0.5912228, 0.8064181)
    camera(world, "sideview", (-0.0565177, 1.2761224, 1.4879572), side)
