"""One run, read and measured: whatever a report tells about it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from assay.errors import RunError
from assay.measures.diagnosis import Finding, diagnose
from assay.measures.profile import Profile, profile
from assay.measures.result import Missing
from assay.report.figures.paths import TaskPaths, sample_paths
from assay.report.wording import plural
from assay.runs.store import Store

FORMAT = 1
"""Of the JSON object; raised when a key changes its meaning."""
UNREADABLE = (sqlite3.DatabaseError, zlib.error, UnicodeDecodeError, json.JSONDecodeError)
"""What reading a damaged file gives."""


@dataclass(frozen=True, slots=True, eq=False)
class RunReport:
    """A run in numbers, and what it says about itself."""

    name: str
    """What it is called in the report."""
    meta: dict[str, Any]
    """Experiment, policy, versions, ...: what was written down when it began."""
    refused: dict[str, int]
    """Why episodes were left out of the plan, and how many."""
    waiting: int
    """Planned episodes that are still to be done; those of stopped conditions are not."""
    counts: pl.DataFrame
    """Per condition: planned, done, success, failure, error."""
    stopped: dict[str, dict[str, Any]]
    """Conditions that were decided before their end: the rule and what it saw."""
    profile: Profile
    diagnosis: tuple[Finding, ...]
    paths: tuple[TaskPaths, ...]
    """A few paths, to be drawn."""
    damage: str
    """What of the file cannot be read; empty if all can."""

    @classmethod
    def read(cls, path: Path, name: str | None = None) -> Self:
        """Read and measure a run. Raises RunError where there is nothing to be read.

        What of it is damaged is left out, counted, and told.
        """
        with Store.reading(path) as store:
            try:
                return cls._measured(store, name or path.stem)
            except UNREADABLE as error:
                damage = f"none of its paths can be read: {error}"
            try:
                return cls._measured(store, name or path.stem, damage)
            except UNREADABLE as error:
                raise RunError(f"{path}: damaged: {error}") from None

    @classmethod
    def _measured(cls, store: Store, name: str, damage: str = "") -> Self:
        found = profile(store, with_paths=not damage)
        paths = () if isinstance(found.failures, Missing) else sample_paths(store, found.failures)
        meta = store.meta
        refused = Counter(str(each[-1]) for each in meta.pop("refused", ()))
        return cls(
            name=name,
            meta=meta,
            refused=dict(refused.most_common()),
            waiting=len(store.todo()),
            counts=store.counts(),
            stopped=store.stopped,
            profile=found,
            diagnosis=diagnose(found),
            paths=paths,
            damage=damage or _damage(store),
        )

    @property
    def title(self) -> str:
        """Who did what."""
        return f"{self.meta.get('policy', 'unknown policy')} on {self.meta.get('experiment', 'unknown experiment')}"

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain JSON types; ``docs/report.md`` tells each key."""
        return {
            "format": FORMAT,
            "run": self.name,
            "meta": self.meta,
            "refused": self.refused,
            "waiting": self.waiting,
            "stopped": self.stopped,
            "damage": self.damage,
            "diagnosis": [finding.as_json() for finding in self.diagnosis],
            **self.profile.as_json(),
        }


def _damage(store: Store) -> str:
    """What was left out while a run was read."""
    left = [f"{plural(count, 'episode')} left out: {why}" for why, count in store.unsound().items()]
    if store.unread:
        left.append(f"paths of {plural(len(store.unread), 'episode')} cannot be read")
    return "; ".join(left)


def named(paths: Iterable[Path]) -> dict[str, Path]:
    """Runs by a short name each: the file's, or all of the path where that is not enough."""
    stems = Counter(path.stem for path in paths)
    return {path.stem if stems[path.stem] == 1 else str(path): path for path in paths}
