"""Content of the report on one run: its metadata and the results of all measures."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from assay.episodes import Traits
from assay.errors import RunError
from assay.measures import LOSS_WORTH_FINDING
from assay.measures.diagnosis import examine
from assay.measures.failure.failures import FAILURES, SAMPLE_SIZES, TaskPaths
from assay.measures.failure.near_far import OURS, NearFarFailures, NearFarRule
from assay.measures.findings import Finding
from assay.measures.measure import Profile, profile
from assay.measures.memory.paths import Paths
from assay.measures.multiple_testing import with_adjusted_p
from assay.measures.sentences import Diagnosis, format_finding
from assay.measures.views.wording import listed, plural
from assay.runs.certificates import REFUSED
from assay.runs.provenance import lateness
from assay.runs.store import Store
from assay.support.plugins import load_plugins

FORMAT = 3
"""Version of the JSON object, incremented when the meaning of a key changes."""
UNREADABLE = (sqlite3.DatabaseError, zlib.error, UnicodeDecodeError, json.JSONDecodeError)
"""Exceptions raised when reading a damaged file."""
MAX_ERRORS = 3
"""Maximum number of error messages listed individually."""


def _sample_paths(store: Store, result: NearFarFailures) -> tuple[TaskPaths, ...]:
    """Sample trajectories for every task and outcome at even intervals; tasks with the most failures first."""
    kinds = {"success": pl.col("success"), "near": pl.col("near"), "far": ~pl.col("near")}
    sampled = []
    for task in sorted(result.tasks, key=lambda task: (-task.failures, task.task, task.goal)):
        is_task = (pl.col("task") == task.task) & (pl.col("goal") == task.goal)
        episodes = result.episodes.filter(is_task).sort("id")
        longest = 0
        paths: dict[str, np.ndarray] = {}
        for kind, which in kinds.items():
            ids = episodes.filter(which)["id"].to_numpy()
            if len(ids):
                ids = ids[np.unique(np.linspace(0, len(ids) - 1, SAMPLE_SIZES[kind]).round().astype(int))]
            stored = Paths.of(store.trajectories(ids.tolist()))
            if kind == "success":
                longest = int(stored.lengths(ids).max())
            paths[kind] = stored.resample(ids, np.full(len(ids), longest))
        sampled.append(TaskPaths(task, paths))
    return tuple(sampled)


@dataclass(frozen=True, slots=True, eq=False)
class RunReport:
    """Metadata and results of a run."""

    name: str
    """Name of the run in the report."""
    meta: dict[str, Any]
    """Metadata as recorded when the run began: experiment, policy, versions, ..."""
    world: Traits
    """Traits of the run's world."""
    refused: dict[str, int]
    """Number of episodes excluded from the plan, by reason."""
    refused_whole: Mapping[str, Mapping[str, int]]
    """Number of refused episodes by reason, for each condition without any certified episode."""
    waiting: int
    """Number of planned episodes that remain, excluding those of stopped conditions."""
    counts: pl.DataFrame
    """Number of episodes by condition: planned, done, success, failure, error."""
    stopped: dict[str, dict[str, Any]]
    """Conditions that were stopped early, with the stopping rule and its statistics."""
    profile: Profile
    diagnosis: tuple[Finding, ...]
    paths: tuple[TaskPaths, ...]
    """Trajectories sampled for figures."""
    damage: str
    """Description of the unreadable parts of the file; empty if the file is intact."""
    problems: tuple[str, ...]
    """Warnings about plugins that are missing or have changed, and about frequent clipping of actions."""
    tracebacks: tuple[str, ...]
    """One traceback for each distinct error message that the policy raised."""
    file: str
    """Path of the run file."""
    policy: str
    """Label of the policy, or its address if it has no label."""
    title: str
    """Title of the report: policy and experiment."""
    detect: float
    """Loss of success, 0 to 1, for which seeds are recommended."""
    only_errors: bool
    """Whether every finished episode ended in an error, so that nothing can be measured."""
    conclusions: Diagnosis
    """Diagnosis in sentences; if every episode ended in an error, the error messages."""

    @classmethod
    def read(
        cls,
        path: Path,
        name: str | None = None,
        *,
        near_far: NearFarRule = OURS,
        detect: float = LOSS_WORTH_FINDING,
    ) -> Self:
        """Read and measure a run, leaving out damaged parts. Raises RunError if it cannot be read."""
        with Store.reading(path) as store:
            try:
                return cls._measure(store, name or path.stem, near_far, detect)
            except UNREADABLE as error:
                raise RunError(f"{path}: damaged: {error}") from None

    @classmethod
    def _measure(cls, store: Store, name: str, near_far: NearFarRule, detect: float) -> Self:
        meta, damage = store.meta, ""
        paths: tuple[TaskPaths, ...] = ()
        problems = load_plugins(meta.get("plugins", ()))
        if warning := store.clipping().warning:
            problems.append(warning[:1].upper() + warning[1:])
        try:
            results = profile(store, near_far=near_far)
            failures = results.get(FAILURES)
            paths = () if failures is None else _sample_paths(store, failures)
        except UNREADABLE as error:
            damage = f"none of the trajectories can be read: {error}"
            results = profile(store, with_paths=False, near_far=near_far)
        counts = store.counts()
        planned = set(counts["condition"])
        refused = Counter[str]()
        refused_whole: dict[str, Counter[str]] = {}
        for condition, *_, reason in meta.pop(REFUSED, ()):
            refused[str(reason)] += 1
            if condition not in planned:
                refused_whole.setdefault(str(condition), Counter())[str(reason)] += 1
        findings, adjusted = examine(results, detect=detect)
        policy = str(meta.get("label") or meta.get("policy", "unknown policy"))
        title, late = f"{policy} on {meta.get('experiment', 'unknown experiment')}", lateness(meta)
        conclusions = Diagnosis.of(findings)
        if only_errors := 0 < results.done <= sum(results.errors.values()):
            errors = [f"{count:,} x {reason}" for reason, count in results.errors.items()]
            if more := errors[MAX_ERRORS:]:
                errors = [*errors[:MAX_ERRORS], plural(len(more), "other reason")]
            claim = "Every episode ended in an error"
            conclusions = Diagnosis((f"{claim}: {listed(errors)}.",), (), (), (), f"{claim}.")
        return cls(
            name=name,
            meta=meta,
            world=store.world,
            refused=dict(refused.most_common()),
            refused_whole=refused_whole,
            waiting=len(store.todo()),
            counts=counts,
            stopped=store.stopped,
            profile=with_adjusted_p(results, adjusted),
            diagnosis=findings,
            paths=paths,
            damage="; ".join([*([damage] if damage else []), *store.damage]),
            problems=tuple(problems),
            tracebacks=tuple(store.tracebacks().values()),
            file=str(store.path),
            policy=policy,
            title=f"{title} ({late})" if late else title,
            detect=detect,
            only_errors=only_errors,
            conclusions=conclusions,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the metadata and results as plain JSON types; ``docs/report.md`` describes the keys."""
        return {
            "format": FORMAT,
            "run": self.name,
            "meta": self.meta,
            "refused": self.refused,
            "waiting": self.waiting,
            "stopped": self.stopped,
            "damage": self.damage,
            "problems": self.problems,
            "diagnosis": [
                {**finding.as_json(), "sentence": format_finding(finding).text} for finding in self.diagnosis
            ],
            **self.profile.as_json(),
        }


def name_runs(paths: Sequence[Path], labels: Sequence[str] = ()) -> dict[str, Path]:
    """Return a name for each run: its entry in ``labels``, its recorded label, or the file name.

    If several runs share a label, latency and experiment are appended; if that is still ambiguous, the path is used.
    """
    if labels and len(labels) != len(paths):
        raise RunError(
            f"{plural(len(labels), 'label')} for {plural(len(paths), 'run')}; expected one label per run"
        )
    metas: list[dict[str, Any]] = []
    for path in paths:
        try:
            with Store.reading(path) as store:
                metas.append(store.meta)
        except (RunError, sqlite3.Error, ValueError):  # reported when the run is read
            metas.append({})
    short = list(labels) or [
        str(meta.get("label") or path.stem) for meta, path in zip(metas, paths, strict=True)
    ]
    counts = Counter(short)
    longer = [
        name
        if counts[name] == 1 or not (labels or meta.get("label"))
        else ", ".join(filter(None, (name, lateness(meta), str(meta.get("experiment")))))
        for name, meta in zip(short, metas, strict=True)
    ]
    counts = Counter(longer)
    return {name if counts[name] == 1 else str(path): path for name, path in zip(longer, paths, strict=True)}
