"""Registry of asset packs by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from assay.errors import AssetError
from assay.sim.packs.libero import LiberoPack
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, locate
from assay.sim.packs.pack import AssetPack
from assay.support.plugins import Registry

PACKS: Registry[Callable[[], AssetPack]] = Registry(
    "asset pack",
    AssetError,
    {
        "primitives": "assay.sim.packs.pack:AssetPack",
        "libero": "assay.sim.packs.registry:libero_pack",
    },
)
"""Factories of asset packs by name; the first is the default, which needs no downloads."""


def load_pack(name: str) -> AssetPack:
    """Load the pack that a spec names. Raises AssetError if its name is unknown or files are missing."""
    return PACKS[name]()


_PLANNED = ContextVar("planned", default="primitives")


@contextmanager
def planned_on(name: str) -> Iterator[None]:
    """Plan perturbed scenes with the categories and dimensions of a pack.

    For LIBERO's pack, the primitives pack is used instead: its dimensions are the same, and an episode then has
    the same scene with either pack.
    """
    token = _PLANNED.set("primitives" if name == "libero" else name)
    try:
        yield
    finally:
        _PLANNED.reset(token)


def planning_pack() -> AssetPack:
    """Return the pack whose categories and dimensions are currently used for planning scenes."""
    return _cached_pack(_PLANNED.get())


_cached_pack = cache(load_pack)


def libero_pack(libero: Path | None = None, robosuite: Path | None = None) -> LiberoPack:
    """Load LIBERO's pack from the arguments, the environment or registered folders. Raises AssetError."""
    assets = locate(libero, robosuite)
    if assets.libero is None or assets.robosuite is None:
        missing = [f"LIBERO's assets ({LIBERO_VARIABLE})"] if assets.libero is None else []
        missing += [f"robosuite's assets ({ROBOSUITE_VARIABLE})"] if assets.robosuite is None else []
        raise AssetError(
            f"the libero pack needs {' and '.join(missing)}: download them with 'assay assets get', set the variable, "
            "or run 'assay assets add PATH' with a LIBERO checkout or an installed robosuite"
        )
    return LiberoPack(assets.libero, assets.robosuite)
