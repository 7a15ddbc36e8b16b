"""The `libero` pack: LIBERO's own assets and robosuite's Panda, from a copy the user has."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from assay.errors import AssetError, did_you_mean
from assay.sim.packs.base import Part
from assay.sim.packs.primitives import fixtures
from assay.sim.packs.primitives.objects import abstract
from assay.sim.variants import VARIANTS, CategoryVariant, with_variants
from assay.tasks.scene import Arena

_FOLDERS = ("stable_hope_objects", "stable_scanned_objects", "turbosquid_objects", "libero_x_objects")
_SHARING = "extension_objects"
"""LIBERO-X's folder in which several categories share the meshes of a folder, as ``akita_bowl/akita_red_bowl.xml``."""
_RENAMED = {"rack": "simple_rack"}
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

_ROBOT_FILES = ("robots/panda/robot.xml", "grippers/panda_gripper.xml", "mounts/rethink_mount.xml")
_LIBERO_ORIGIN = "LIBERO's libero/libero/assets"
_ROBOSUITE_ORIGIN = "robosuite 1.4's robosuite/models/assets"


class LiberoPack:
    """LIBERO's assets on disk, or those of LIBERO-X's release, which holds LIBERO's and more.

    ``libero`` is the folder that holds ``scenes``, ``articulated_objects``, ...; ``robosuite`` the one that
    holds ``robots``, ``grippers`` and ``mounts``.
    """

    name = "libero"
    exact = True

    def __init__(self, libero: Path, robosuite: Path) -> None:
        self.libero = libero.resolve()
        self.robosuite = robosuite.resolve()
        wanted = [(self.robosuite / file, _ROBOSUITE_ORIGIN) for file in _ROBOT_FILES]
        wanted.append((self.libero / "scenes" / f"{_ROOMS[Arena.TABLE][0]}.xml", _LIBERO_ORIGIN))
        missing = [f"{path} (from {origin})" for path, origin in wanted if not path.is_file()]
        if missing:
            raise AssetError(f"the libero pack lacks {len(missing)} needed file(s): " + "; ".join(missing))

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The MJCF file of every category."""
        standing = {name: each.base for name, each in VARIANTS.items() if each == CategoryVariant(each.base)}
        return self._own_files | {
            name: self._own_files[base] for name, base in standing.items() if base in self._own_files
        }

    @cached_property
    def _own_files(self) -> dict[str, Path]:
        """The same without those that are others but for how they stand."""
        files = {path.stem: path for path in sorted((self.libero / "articulated_objects").glob("*.xml"))}
        for folder in _FOLDERS:
            for path in sorted((self.libero / folder).glob("*/*.xml")):
                if path.stem == path.parent.name:
                    files[path.stem] = path
        files |= {path.stem: path for path in sorted((self.libero / _SHARING).glob("*/*.xml"))}
        return files | {alias: files[name] for alias, name in _RENAMED.items() if name in files}

    @property
    def categories(self) -> frozenset[str]:
        """The categories with a file, and shapes that are nothing in particular."""
        return frozenset(self._files) | frozenset(abstract.BUILDERS)

    @property
    def fixtures(self) -> frozenset[str]:
        """Those that stand still."""
        return self.categories & with_variants(fixtures.BUILDERS).keys()

    def digest(self) -> str:
        """SHA-256 over the MJCF files that parts are made from, and the meshes and pictures they name."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
        sources = [(self.robosuite, self.robosuite / file) for file in _ROBOT_FILES]
        sources += [(self.libero, self.libero / "scenes" / f"{scene}.xml") for scene, *_ in _ROOMS.values()]
        sources += [(self.libero, file) for _, file in sorted(self._own_files.items())]
        named = [
            (self.libero, self.libero / "textures" / f"{name}.png")
            for _, *two in _ROOMS.values()
            for name in two
        ]
        for root, file in sources:
            if file.is_file():
                nodes = ElementTree.parse(file).getroot().iterfind("./asset/*[@file]")
                named += [(root, file.parent / str(node.get("file"))) for node in nodes]
        for root, file in sources:
            digest.update(str(file.relative_to(root)).encode())
            digest.update(file.read_bytes() if file.is_file() else b"absent")
        contents = {
            (file.name, hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "absent")
            for _, file in named
        }
        digest.update(repr(sorted(contents)).encode())
        return digest.hexdigest()

    def entity(self, category: str) -> Part:
        """An object or fixture of LIBERO's, or an abstract shape of ours."""
        if category in abstract.BUILDERS:
            return Part(abstract.BUILDERS[category]())
        file = self._files.get(category)
        if file is None:
            raise AssetError(
                f"the libero pack has no category '{category}': looked for {category}.xml in "
                f"articulated_objects, {', '.join((*_FOLDERS, _SHARING))} below {self.libero}; "
                f"{did_you_mean(category, self.categories)}"
            )
        return Part(_read(file, _LIBERO_ORIGIN))

    def arena(self, arena: Arena, style: str) -> Part:
        """A room of LIBERO's in its usual style."""
        if style:
            raise AssetError(
                f"the libero pack offers the {arena} arena only in its usual style, not '{style}'"
            )
        scene, floor, wall = _ROOMS[arena]
        root = _read(self.libero / "scenes" / f"{scene}.xml", _LIBERO_ORIGIN)
        textures = self.libero / "textures"
        for name, picture in (("texplane", floor), ("tex-wall", wall)):
            for texture in root.iterfind(f"./asset/texture[@name='{name}']"):
                texture.set("file", str(_existing(textures / f"{picture}.png", _LIBERO_ORIGIN)))
        if arena is Arena.TABLE:
            _size_table(root, friction="0.6 0.005 0.0001")
        elif arena is Arena.KITCHEN:
            _size_table(root, friction="1 0.005 0.0001")
        return Part(root)

    def _robosuite_part(self, file: str) -> Part:
        return Part(_read(self.robosuite / file, _ROBOSUITE_ORIGIN))

    def robot(self) -> Part:
        """The Panda."""
        return self._robosuite_part(_ROBOT_FILES[0])

    def gripper(self) -> Part:
        """The Panda's hand."""
        return self._robosuite_part(_ROBOT_FILES[1])

    def mount(self) -> Part:
        """The pedestal."""
        return self._robosuite_part(_ROBOT_FILES[2])


def _read(path: Path, origin: str) -> Element:
    """Parse an MJCF file and make the paths of its assets absolute."""
    try:
        root = ElementTree.parse(_existing(path, origin)).getroot()
    except ElementTree.ParseError as error:
        raise AssetError(f"{path} is not well-formed XML: {error}") from None
    for node in root.iterfind("./asset/*[@file]"):
        node.set("file", str(path.parent / str(node.get("file"))))
    return root


def _existing(path: Path, origin: str) -> Path:
    if not path.is_file():
        raise AssetError(f"missing {path} (it comes from {origin})")
    return path


def _size_table(root: Element, *, friction: str) -> None:
    """Give the table its final size, height and legs: 1.0 x 1.2 x 0.05 m, its top at 0.9 m."""
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
