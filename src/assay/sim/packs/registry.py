"""Asset packs by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay.errors import AssetError
from assay.plugins import Registry
from assay.sim.packs.base import AssetPack
from assay.sim.packs.libero import LiberoPack
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, locate

PACKS: Registry[Callable[[], AssetPack]] = Registry(
    "asset pack",
    AssetError,
    {
        "primitives": "assay.sim.packs.primitives:PrimitivesPack",
        "libero": "assay.sim.packs.registry:libero_pack",
    },
)
"""Functions that make a pack; the first is the one that everything runs on with nothing downloaded."""


def load_pack(name: str) -> AssetPack:
    """The pack of that name. Raises AssetError if there is none, or if its files are not found."""
    return PACKS[name]()


def libero_pack(libero: Path | None = None, robosuite: Path | None = None) -> LiberoPack:
    """The libero pack from the folders named, from the environment, or from what was added."""
    assets = locate(libero, robosuite)
    if assets.libero is None or assets.robosuite is None:
        missing = [
            f"{origin} ({variable})"
            for folder, origin, variable in (
                (assets.libero, "LIBERO's assets", LIBERO_VARIABLE),
                (assets.robosuite, "robosuite's assets", ROBOSUITE_VARIABLE),
            )
            if folder is None
        ]
        raise AssetError(
            f"the libero pack needs {' and '.join(missing)}: set the variable, or run "
            "'assay assets add PATH' with a LIBERO checkout or an installed robosuite or hf-libero"
        )
    return LiberoPack(assets.libero, assets.robosuite)
