"""Cache of all certificates of a user, in one SQLite file that several processes may read and write concurrently."""

from __future__ import annotations

import hashlib
import sqlite3
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import assay
from assay.episodes import WORLDS, EpisodeSpec, task_of, world_name
from assay.errors import RunError
from assay.runs.certificates.claim import Certificate, ClaimVerdict
from assay.sim.bare_mujoco import mujoco_version
from assay.support.files import CACHE_VARIABLE, KeyValues, cache_folder, digest_of
from assay.support.plugins import plugins_of, registered_addresses

SOURCES = (
    "support/streams.py",
    "support/jit.py",
    "support/plugins.py",
    "episodes",
    "tasks",
    "sim",
    "perturb/world",
    "perturb/events.py",
    "perturb/unavailable.py",
    "perturb/words/rewordings",
    "perturb/words/text.py",
    "perturb/senses",
    "policies/oracle",
    "policies/simple.py",
    "runs/certificates",
)
"""Files and folders of the package that affect the demonstrator's rollout, besides the perturbations of extensions."""


@cache
def engine_digest(world: str, pack: str) -> str:
    """Return a digest, 12 hex digits, of everything except the spec that affects the demonstrator's rollout."""
    place = WORLDS[world]
    foreign = " ".join(plugin.digest for plugin in plugins_of([place]))
    own = sources_digest(Path(assay.__file__).parent)
    parts = (mujoco_version(), pack, place.digest(pack), own, foreign)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def sources_digest(root: Path) -> str:
    """Return a digest of the sources that affect the demonstrator's rollout, in a copy of the package."""
    modules = sorted(registered_addresses("perturbations").values())
    extensions = (f"{module.partition('.')[2].replace('.', '/')}.py" for module in modules)
    places = (root / source for source in (*SOURCES, *extensions))
    files = (file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place]))
    return digest_of((file for file in files if file.is_file() and file.suffix in (".py", ".yaml")), root)


def cache_file() -> Path:
    """Return the path of the user's file of certificates."""
    return cache_folder() / "certificates.sqlite"


class CertificateCache:
    """Certificates by a hash of the claim, the content of its task, and the engine."""

    def __init__(self, file: Path, states: str = "") -> None:
        """``states``: digest of the stored initial states, for claims that start from them."""
        self._states = states
        self._contents: dict[str, str] = {}
        """Digests of tasks by id, only while the cache is open: a task's file may change later."""
        try:
            self._rows = KeyValues(file, "certificates", ("key",), ("verdict", "steps", "why"))
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"{file}: not a file of certificates ({error}); delete it, or name another folder in "
                f"{CACHE_VARIABLE}"
            ) from None

    def get(self, claim: EpisodeSpec) -> Certificate | None:
        """Return the certificate of a claim; None otherwise."""
        row = self._rows.get(self._key(claim))
        return None if row is None else Certificate(ClaimVerdict(row[0]), row[1], row[2])

    def add(self, claim: EpisodeSpec, certificate: Certificate) -> None:
        """Store a certificate."""
        self._rows.put(self._key(claim), str(certificate.verdict), certificate.steps, certificate.why)

    def _key(self, claim: EpisodeSpec) -> str:
        plugins = " ".join(plugin.digest for plugin in plugins_of(claim.perturbations))
        engine = engine_digest(world_name(claim.task), claim.pack)
        states = self._states if claim.initial == "stored" else ""
        content = f"{engine} {plugins} {states} {self._content(claim.task)} {claim.to_json()}"
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def _content(self, task: str) -> str:
        """Return a digest of a task; the id alone may refer to a file, whose content can change."""
        if task not in self._contents:
            content = repr(task_of(EpisodeSpec(task, 0))).encode()
            self._contents[task] = hashlib.sha256(content).hexdigest()[:32]
        return self._contents[task]

    def close(self) -> None:
        """Close the file."""
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
