"""A digest of everything that decides the demonstrator's rollout, besides its spec."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import assay
from assay.sim import load_pack, mujoco_version

SOURCES = (
    "streams.py",
    "tasks",
    "sim",
    "perturb/base.py",
    "perturb/fields.py",
    "perturb/world",
    "perturb/words/rewordings/other_task.py",
    "perturb/senses/base.py",
    "perturb/senses/episode.py",
    "perturb/senses/actuators.py",
    "experiments/spec.py",
    "experiments/releases/values.py",
    "experiments/releases/senses.py",
    "policies/oracle",
    "policies/control.py",
    "policies/rollout.py",
    "runs/certificates/claim.py",
    "runs/certificates/verdict.py",
    "runs/trace.py",
)
"""What of Assay decides: files and folders of the package."""


@cache
def engine_digest(pack: str) -> str:
    """12 hex digits: another engine, demonstrator, asset pack or MuJoCo has others."""
    parts = (mujoco_version(), pack, load_pack(pack).digest(), sources_digest(Path(assay.__file__).parent))
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def sources_digest(root: Path) -> str:
    """A digest of what decides in a copy of the package."""
    digest = hashlib.sha256()
    for place in (root / source for source in SOURCES):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and file.suffix in (".py", ".yaml"):
                digest.update(f"{file.relative_to(root).as_posix()} ".encode() + file.read_bytes())
    return digest.hexdigest()
