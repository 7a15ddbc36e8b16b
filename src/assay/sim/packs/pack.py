"""Asset packs: MJCF documents for arenas, objects, fixtures and the robot, read from files.

A pack is a folder; ``packs/primitives`` ships with Assay::

    objects/CATEGORY.xml     entities that can be moved
    fixtures/CATEGORY.xml    furniture and appliances, which cannot be moved
    templates/NAME.xml       bases of variants (``categories.yaml``) that are not categories themselves
    arenas/ARENA.xml         rooms
    robot/{arm,gripper,mount}.xml

Documents have plain, unprefixed names; the composer (`assay.sim.compose`) prefixes and merges them. All packs use
the same names for bodies, joints and sites, so that an initial state is valid with every pack.

Entities
    ``<worldbody><body><body name="object"> ... </body> SITES </body></worldbody>``. SITES are
    ``bottom_site``, ``top_site`` (their z is the height of the lowest and highest point relative to the
    object's frame, metres) and ``horizontal_radius_site`` (its x is the radius of the footprint).
    Geoms of group 0 collide and are not drawn, geoms of group 1 are drawn and do not collide.
    Named sites inside the object are its regions (``contain_region``, ``top_region``, ...).
    The object carries its inner joints (drawers, doors, knobs) but no free joint.
Arenas
    Floor, walls, lights, cameras and the workspace body, in world coordinates.
Robot
    The arm (``base`` ... ``right_hand``, joints ``joint1`` ... ``joint7``), the gripper that is attached to
    ``right_hand`` (``right_gripper``, ``grip_site``, ``finger_joint1``, ``finger_joint2``) and the pedestal
    (attached to ``base``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from assay.errors import AssetError, did_you_mean
from assay.sim.appearance import LUMINANCE, resize
from assay.sim.categories import VARIANTS, CategoryVariant, with_variants
from assay.sim.texture_coordinates import parse_numbers
from assay.tasks.scene import Arena

PRIMITIVES = Path(__file__).parent / "primitives"
"""Folder of the pack that ships with Assay; its frames, masses and joints match LIBERO's states and actions."""
SHAPES = ("cube", "sphere", "cylinder", "pyramid")
"""Abstract shapes: categories without a real-world counterpart, provided by every pack."""


@dataclass(eq=False)
class AssetPack:
    """The MJCF documents in a folder; a plugin's folder without arenas or a robot uses the primitives pack's."""

    exact: ClassVar[bool] = False
    """Whether a step makes exactly LIBERO's solver calls, so that rollouts equal LIBERO's."""
    name: str = "primitives"
    folder: Path = PRIMITIVES

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The MJCF file of every category except variants, which are derived from their base's file."""
        return {
            file.stem: file
            for kind in ("objects", "fixtures")
            for file in sorted((self.folder / kind).glob("*.xml"))
        }

    @cached_property
    def variants(self) -> Mapping[str, CategoryVariant]:
        """The categories derived from another category's file or from a template."""
        bases = {*self.files, *(file.stem for file in (self.folder / "templates").glob("*.xml"))}
        return {
            category: variant
            for category, variant in VARIANTS.items()
            if variant.base in bases and category not in self.files
        }

    @property
    def categories(self) -> frozenset[str]:
        """The categories of entities that the pack provides."""
        return frozenset(self.files) | frozenset(self.variants)

    @cached_property
    def fixtures(self) -> frozenset[str]:
        """The categories that cannot be moved: furniture and appliances."""
        stems = {file.stem: file for file in (self.folder / "fixtures").glob("*.xml")}
        return self.categories & with_variants(stems).keys()

    def digest(self) -> str:
        """Return the hexadecimal SHA-256 of the pack's files and its table of variants."""
        files = [(self.folder, file) for file in sorted(self.folder.rglob("*.xml"))]
        return hash_files(files, extra=repr(sorted(self.variants.items())))

    def entity(self, category: str) -> Element:
        """Return a new ``<mujoco>`` document, without default classes, for an object or fixture. Raises AssetError."""
        if category in self.files:
            return read_mjcf(self.files[category])
        if category not in self.variants:
            hint = did_you_mean(category, self.categories)
            raise AssetError(f"the asset pack '{self.name}' has no category '{category}': {hint}")
        variant = self.variants[category]
        root = read_mjcf(self.files.get(variant.base) or self.folder / "templates" / f"{variant.base}.xml")
        root.set("model", category)
        if variant.colour is not None:
            # Paint every drawn geom in a shade of one colour, or a mix of two, by its luminance.
            drawn = [geom for geom in root.iter("geom") if geom.get("group") == "1"]
            old_colours = [parse_numbers(geom.get("rgba", "1 1 1 1")) for geom in drawn]
            luminances = [float(old[:3] @ LUMINANCE) for old in old_colours]
            least, most = min(luminances), max(luminances)
            for geom, old, luminance in zip(drawn, old_colours, luminances, strict=True):
                if variant.dark is None:
                    shade = np.array(variant.colour) * np.sqrt(luminance / most)
                else:
                    fraction = (luminance - least) / (most - least)
                    shade = fraction * np.array(variant.colour) + (1.0 - fraction) * np.array(variant.dark)
                geom.attrib.pop("material", None)
                geom.set("rgba", " ".join(f"{value:.7f}" for value in (*shade, old[3])))
        frame, assets = root.find("./worldbody/body"), root.find("asset")
        if variant.size != 1.0 and frame is not None and assets is not None:
            resize(frame, assets, variant.size)
        return root

    def arena(self, arena: Arena, style: str) -> Element:
        """Return a new XML document for a room. Raises AssetError unless ``style`` is empty (the default)."""
        if style:
            raise AssetError(
                f"the asset pack '{self.name}' provides the arena '{arena.value}' in only one style, not as '{style}'; "
                "leave the style empty"
            )
        return self.part(f"arenas/{arena.value}.xml")

    def part(self, name: str) -> Element:
        """Return a new XML document for an arena or a part of the robot, given as a path such as ``robot/arm.xml``."""
        own = self.folder / name
        return read_mjcf(own if own.is_file() else PRIMITIVES / name)


def read_mjcf(path: Path) -> Element:
    """Parse an MJCF file, make the paths of its assets absolute, and resolve its default classes. Raises AssetError."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise AssetError(f"{path} is not well-formed XML: {error}") from None
    except OSError as error:
        raise AssetError(f"{path} cannot be read: {error.strerror}") from None
    for node in root.iterfind("./asset/*[@file]"):
        node.set("file", str(path.parent / str(node.get("file"))))
    classes: dict[str, dict[str, Element]] = {}
    for defaults in root.findall("default"):
        classes |= {
            str(default.get("class")): {child.tag: child for child in default} for default in defaults
        }
        root.remove(defaults)
    for element in root.iter():
        template = classes.get(element.attrib.pop("class", ""), {}).get(element.tag)
        if template is not None:
            element.attrib.update(template.attrib | element.attrib)
    return root


def hash_files(sources: Iterable[tuple[Path, Path]], *, assets: Iterable[Path] = (), extra: str = "") -> str:
    """Return the SHA-256 of MJCF files, given as pairs (root, file), and of their meshes and textures.

    ``assets``: further meshes or textures. A missing file contributes the word ``absent``.
    """
    digest, referenced = hashlib.sha256(extra.encode()), list(assets)
    for root, file in sources:
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes() if file.is_file() else b"absent")
        if file.is_file():
            nodes = ElementTree.parse(file).getroot().iterfind("./asset/*[@file]")
            referenced += [file.parent / str(node.get("file")) for node in nodes]
    contents = {
        (file.name, hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "absent")
        for file in referenced
    }
    digest.update(repr(sorted(contents)).encode())
    return digest.hexdigest()
