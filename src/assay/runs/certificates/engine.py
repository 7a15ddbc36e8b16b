"""A digest of everything that decides the demonstrator's rollout, besides its spec."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import assay
from assay.episodes import WORLDS
from assay.sim.bare_mujoco import mujoco_version
from assay.support.files import digest_of
from assay.support.plugins import plugins_of

SOURCES = (
    "support/streams.py",
    "support/jit.py",
    "support/plugins.py",
    "episodes",
    "tasks",
    "sim",
    "perturb/world",
    "perturb/events.py",
    "perturb/releases.py",
    "perturb/words/rewordings",
    "perturb/senses",
    "policies/oracle",
    "policies/simple.py",
    "runs/certificates",
)
"""Files and folders of the package that affect the demonstrator's rollout."""


@cache
def engine_digest(world: str, pack: str) -> str:
    """12 hex digits: another world, engine, demonstrator, asset pack or MuJoCo has others."""
    place = WORLDS[world]
    foreign = " ".join(plugin.digest for plugin in plugins_of([place]))
    own = sources_digest(Path(assay.__file__).parent)
    parts = (mujoco_version(), pack, place.digest(pack), own, foreign)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def sources_digest(root: Path) -> str:
    """A digest of what decides in a copy of the package."""
    places = (root / source for source in SOURCES)
    files = (file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place]))
    return digest_of((file for file in files if file.is_file() and file.suffix in (".py", ".yaml")), root)
