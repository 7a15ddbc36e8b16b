"""The ``libero`` pack: LIBERO's assets and robosuite's Panda, from the user's copy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from xml.etree.ElementTree import Element

from assay.errors import AssetError, did_you_mean
from assay.sim.categories import VARIANTS, CategoryVariant
from assay.sim.packs.pack import PRIMITIVES, SHAPES, AssetPack, hash_files, read_mjcf
from assay.tasks.scene import Arena

_FOLDERS = ("stable_hope_objects", "stable_scanned_objects", "turbosquid_objects", "libero_x_objects")
_SHARED_MESHES = "extension_objects"
"""LIBERO-X's folder; categories in one subfolder share meshes, e.g. ``akita_bowl/akita_red_bowl.xml``."""
_ALIASES = {"rack": "simple_rack"}
_ROOMS = {
    Arena.TABLE: ("libero_tabletop_base_style", "light-gray-floor-tile", "light-gray-plaster"),
    Arena.KITCHEN: ("libero_kitchen_tabletop_base_style", "gray_ceramic_tile", "yellow_linen_wall_texture"),
    Arena.LIVING_ROOM: (
        "libero_living_room_tabletop_base_style",
        "seamless_wood_planks_floor",
        "light-gray-plaster",
    ),
    Arena.STUDY: ("libero_study_base_style", "light-gray-floor-tile", "light-gray-plaster"),
    Arena.FLOOR: ("libero_floor_base_style", "light-gray-floor-tile", "light-gray-plaster"),
    Arena.COFFEE_TABLE: (
        "libero_coffee_table_base_style",
        "seamless_wood_planks_floor",
        "light-gray-plaster",
    ),
}
"""Scene file, floor texture and wall texture of each arena."""

_ROBOT_FILES = {
    "robot/arm.xml": "robots/panda/robot.xml",
    "robot/gripper.xml": "grippers/panda_gripper.xml",
    "robot/mount.xml": "mounts/rethink_mount.xml",
}
_LIBERO_ORIGIN = "LIBERO's libero/libero/assets"
_ROBOSUITE_ORIGIN = "robosuite 1.4's robosuite/models/assets"


class LiberoPack(AssetPack):
    """LIBERO's assets on disk, or those released with LIBERO-X, which include LIBERO's.

    ``libero`` is the folder that holds ``scenes``, ``articulated_objects``, ...; ``robosuite`` is the one that holds
    ``robots``, ``grippers`` and ``mounts``. Raises AssetError if files that every scene needs are missing.
    """

    exact = True

    def __init__(self, libero: Path, robosuite: Path) -> None:
        super().__init__("libero", libero.resolve())
        self.libero = self.folder
        self.robosuite = robosuite.resolve()
        required = [(self.robosuite / file, _ROBOSUITE_ORIGIN) for file in _ROBOT_FILES.values()]
        required.append((self.libero / "scenes" / f"{_ROOMS[Arena.TABLE][0]}.xml", _LIBERO_ORIGIN))
        missing = [f"{path} (from {origin})" for path, origin in required if not path.is_file()]
        if missing:
            which = f"{len(missing)} required file{'s' * (len(missing) > 1)}"
            raise AssetError(f"the libero pack lacks {which}: " + "; ".join(missing))

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The MJCF file of every category; one that differs from its base only in pose uses the base's file."""
        own = self._own_files
        reposed = {
            category: own[variant.base]
            for category, variant in VARIANTS.items()
            if variant == CategoryVariant(variant.base) and variant.base in own
        }
        return {shape: PRIMITIVES / "objects" / f"{shape}.xml" for shape in SHAPES} | own | reposed

    @cached_property
    def _own_files(self) -> dict[str, Path]:
        files = {path.stem: path for path in sorted((self.libero / "articulated_objects").glob("*.xml"))}
        for folder in _FOLDERS:
            for path in sorted((self.libero / folder).glob("*/*.xml")):
                if path.stem == path.parent.name:
                    files[path.stem] = path
        files |= {path.stem: path for path in sorted((self.libero / _SHARED_MESHES).glob("*/*.xml"))}
        return files | {alias: files[name] for alias, name in _ALIASES.items() if name in files}

    @property
    def variants(self) -> Mapping[str, CategoryVariant]:
        """Always empty, because LIBERO's meshes have textures, which cannot be recoloured."""
        return {}

    @cached_property
    def fixtures(self) -> frozenset[str]:
        """The categories that cannot be moved, which are the same as in the primitives pack."""
        return self.categories & AssetPack().fixtures

    def digest(self) -> str:
        """Return the hexadecimal SHA-256 of the pack's files."""
        sources = [(self.robosuite, self.robosuite / file) for file in _ROBOT_FILES.values()]
        sources += [(self.libero, self.libero / "scenes" / f"{scene}.xml") for scene, *_ in _ROOMS.values()]
        sources += [(self.libero, file) for _, file in sorted(self._own_files.items())]
        textures = {texture for _, *textures in _ROOMS.values() for texture in textures}
        return hash_files(sources, assets=[self.libero / "textures" / f"{name}.png" for name in textures])

    def entity(self, category: str) -> Element:
        """Return a new XML document for one of LIBERO's objects or fixtures, or for an abstract shape."""
        if category not in self.files:
            raise AssetError(
                f"the libero pack has no category '{category}': looked for {category}.xml in "
                f"articulated_objects, {', '.join((*_FOLDERS, _SHARED_MESHES))} below {self.libero}; "
                f"{did_you_mean(category, self.categories)}"
            )
        return read_mjcf(_existing(self.files[category], _LIBERO_ORIGIN))

    def arena(self, arena: Arena, style: str) -> Element:
        """Return a new XML document for one of LIBERO's rooms, with its default textures."""
        if style:
            raise AssetError(
                f"the libero pack provides the {arena} arena only in its default style, not '{style}'"
            )
        scene, floor, wall = _ROOMS[arena]
        root = read_mjcf(_existing(self.libero / "scenes" / f"{scene}.xml", _LIBERO_ORIGIN))
        textures = self.libero / "textures"
        for name, image in (("texplane", floor), ("tex-wall", wall)):
            for texture in root.iterfind(f"./asset/texture[@name='{name}']"):
                texture.set("file", str(_existing(textures / f"{image}.png", _LIBERO_ORIGIN)))
        if arena is Arena.TABLE:
            _size_table(root, friction="0.6 0.005 0.0001")
        elif arena is Arena.KITCHEN:
            _size_table(root, friction="1 0.005 0.0001")
        return root

    def part(self, name: str) -> Element:
        """Return a new XML document for the arm, the gripper or the pedestal, from robosuite's files."""
        return read_mjcf(_existing(self.robosuite / _ROBOT_FILES[name], _ROBOSUITE_ORIGIN))


def _existing(path: Path, origin: str) -> Path:
    if not path.is_file():
        raise AssetError(f"{path} is missing (part of {origin})")
    return path


def _size_table(root: Element, *, friction: str) -> None:
    """Set the size, height and legs of the table: 1.0 x 1.2 x 0.05 m, with its top at 0.9 m."""
    half = (0.5, 0.6, 0.025)
    body = root.find("./worldbody/body[@name='table']")
    if body is None:
        raise AssetError("the table arena has no body named 'table'")
    size = " ".join(map(repr, half))
    body.set("pos", "0.0 0.0 0.875")
    leg_half = (0.9 - half[2]) / 2
    for element in body:
        name = element.get("name", "")
        if name in ("table_collision", "table_visual"):
            element.set("size", size)
        if name == "table_collision":
            element.set("friction", friction)
        if name == "table_top":
            element.set("pos", f"0.0 0.0 {half[2]!r}")
    for index, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1)), start=1):
        leg = body.find(f"./geom[@name='table_leg{index}_visual']")
        if leg is not None:
            leg.set("pos", f"{x * (half[0] - 0.1)!r} {y * (half[1] - 0.1)!r} {-leg_half!r}")
            leg.set("size", f"0.025 {leg_half!r}")
