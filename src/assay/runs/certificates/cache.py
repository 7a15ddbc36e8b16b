"""All certificates of a user, in one SQLite file; several processes may read and write it at once."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.episodes import EpisodeSpec, task_of, world_name
from assay.errors import RunError
from assay.runs.certificates.engine import engine_digest
from assay.runs.certificates.verdict import Certificate, Verdict
from assay.support.files import CACHE_VARIABLE, KeyValues, cache_folder
from assay.support.plugins import plugins_of


def cache_file() -> Path:
    """Where certificates are kept."""
    return cache_folder() / "certificates.sqlite"


class Cache:
    """Certificates by a hash of what they are about: the claim, its task's content, and the engine."""

    def __init__(self, file: Path, states: str = "") -> None:
        """``states`` stands for the stored initial states that claims begin from, where they do."""
        self._states = states
        self._contents: dict[str, str] = {}
        """Digests of tasks by id, for as long as this is open: a task's file may change after."""
        try:
            self._rows = KeyValues(file, "certificates", ("key",), ("verdict", "steps", "why"))
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"{file}: not a file of certificates ({error}); delete it, or name another folder in "
                f"{CACHE_VARIABLE}"
            ) from None

    def get(self, claim: EpisodeSpec) -> Certificate | None:
        """The certificate of a claim, if there is one."""
        row = self._rows.get(self._key(claim))
        return None if row is None else Certificate(Verdict(row[0]), row[1], row[2])

    def put(self, claim: EpisodeSpec, certificate: Certificate) -> None:
        """Keep a certificate."""
        self._rows.put(self._key(claim), str(certificate.verdict), certificate.steps, certificate.why)

    def _key(self, claim: EpisodeSpec) -> str:
        plugins = " ".join(each.digest for each in plugins_of(claim.perturbations))
        engine = engine_digest(world_name(claim.task), claim.pack)
        states = self._states if claim.initial == "stored" else ""
        content = f"{engine} {plugins} {states} {self._content(claim.task)} {claim.to_json()}"
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def _content(self, task: str) -> str:
        """A digest of a task: its id may be that of a file, which changes."""
        if task not in self._contents:
            content = repr(task_of(EpisodeSpec(task, 0))).encode()
            self._contents[task] = hashlib.sha256(content).hexdigest()[:32]
        return self._contents[task]

    def close(self) -> None:
        """Give the file back."""
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
