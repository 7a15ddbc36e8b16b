"""The asset pack that ships with Assay: everything generated, nothing to download."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from assay.errors import AssetError, FileError, did_you_mean
from assay.sim.packs.base import Part
from assay.sim.packs.primitives import arenas, fixtures, objects, robot
from assay.sim.packs.primitives.variants import build_variant
from assay.sim.variants import VARIANTS, with_variants
from assay.support.files import cache_folder, digest_of, replacing
from assay.tasks.scene import Arena

_BASES: Mapping[str, Callable[[], Element]] = {**objects.BUILDERS, **fixtures.BUILDERS}
_VARIANTS_OF = {**_BASES, **objects.BLANKS}
_ENTITIES: Mapping[str, Callable[[], Element]] = {
    **{category: partial(build_variant, category, each, _VARIANTS_OF) for category, each in VARIANTS.items()},
    **_BASES,
}


class PrimitivesPack:
    """Rooms, things and a robot made of boxes, cylinders, capsules and generated meshes."""

    @property
    def name(self) -> str:
        """``primitives``."""
        return "primitives"

    @property
    def exact(self) -> bool:
        """False: its rollouts are not LIBERO's, so it need not repeat LIBERO's solver calls."""
        return False

    @property
    def categories(self) -> frozenset[str]:
        """The categories of objects and fixtures it offers."""
        return frozenset(_ENTITIES)

    @property
    def fixtures(self) -> frozenset[str]:
        """Those that stand still."""
        return frozenset(with_variants(fixtures.BUILDERS))

    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of every document the pack generates."""
        return _digest()

    def entity(self, category: str) -> Part:
        """An object or fixture. Raises AssetError with the nearest category if there is none."""
        builder = _ENTITIES.get(category)
        if builder is None:
            hint = did_you_mean(category, _ENTITIES)
            raise AssetError(f"the asset pack 'primitives' has no category '{category}': {hint}")
        return Part(deepcopy(_built(category)))

    def arena(self, arena: Arena, style: str) -> Part:
        """A room. Raises AssetError for any style but the usual one, ``""``."""
        return Part(arenas.arena(arena, style))

    def robot(self) -> Part:
        """The arm."""
        return Part(robot.arm())

    def gripper(self) -> Part:
        """The hand."""
        return Part(robot.gripper())

    def mount(self) -> Part:
        """The pedestal."""
        return Part(robot.mount())


@cache
def _digest() -> str:
    """Generating everything takes most of a second, so the digest is kept for the sources that generate it."""
    sources = Path(__file__).parents[2]
    files = sorted(file for file in sources.rglob("*") if file.suffix in (".py", ".yaml"))
    known = cache_folder() / f"primitives-{digest_of(files, sources)[:16]}.sha256"
    with suppress(OSError):
        if len(kept := known.read_text()) == hashlib.sha256().digest_size * 2:
            return kept
    digest = _generated_digest()
    with suppress(FileError), replacing(known) as file:
        file.write_text(digest)
    return digest


def _generated_digest() -> str:
    total = hashlib.sha256()

    def add(kind: str, name: str, root: Element) -> None:
        document = tostring(root, encoding="unicode")
        total.update(f"{kind}\0{name}\0{document}\0".encode())

    for category in sorted(_ENTITIES):
        add("entity", category, _ENTITIES[category]())
    for room in sorted(Arena):
        add("arena", room.value, arenas.arena(room, ""))
    add("robot", "", robot.arm())
    add("gripper", "", robot.gripper())
    add("mount", "", robot.mount())
    return total.hexdigest()


@cache
def _built(category: str) -> Element:
    """Building takes longer than copying, and a scene has several of a kind."""
    return _ENTITIES[category]()
