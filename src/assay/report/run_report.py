"""One run, read and measured: whatever a report tells about it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import polars as pl

from assay.episodes import Traits
from assay.errors import RunError
from assay.measures.diagnosis import examine
from assay.measures.failure.failures import FAILURES
from assay.measures.failure.near_far import OURS, NearFarRule
from assay.measures.failure.path_figures import TaskPaths, sample_paths
from assay.measures.findings import Finding
from assay.measures.measure import Measure
from assay.measures.profile import Profile, profile
from assay.measures.sentences import Diagnosis, format_finding
from assay.measures.views.wording import listed, plural
from assay.runs.about import lateness
from assay.runs.certificates.serve import META as REFUSED
from assay.runs.store import Store
from assay.support.plugins import load_plugins

T = TypeVar("T")
RANDOM = "random"
"""The policy whose success is chance, measured."""

FORMAT = 2
"""Of the JSON object; raised when a key changes its meaning."""
UNREADABLE = (sqlite3.DatabaseError, zlib.error, UnicodeDecodeError, json.JSONDecodeError)
"""What reading a damaged file gives."""


_BROKE = 3
"""Reasons for errors that are told one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class RunReport:
    """A run in numbers, and what it says about itself."""

    name: str
    """What it is called in the report."""
    meta: dict[str, Any]
    """Experiment, policy, versions, ...: what was written down when it began."""
    world: Traits
    """Where it was played."""
    refused: dict[str, int]
    """Why episodes were left out of the plan, and how many."""
    refused_whole: dict[str, dict[str, int]]
    """Conditions of which every episode was left out: why, and how many."""
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
    problems: tuple[str, ...] = ()
    """Plugins of the run that are not here, or are others than they were; many actions that were cut."""
    tracebacks: tuple[str, ...] = ()
    """Where somebody's own code broke, one for each kind of error."""
    beside: tuple[Self, ...] = ()
    """The runs of the same report."""
    file: str = ""
    """Where it is."""

    @classmethod
    def read(cls, path: Path, name: str | None = None, *, near_far: NearFarRule = OURS) -> Self:
        """Read and measure a run. Raises RunError where there is nothing to be read.

        What of it is damaged is left out, counted, and told.
        """
        with Store.reading(path) as store:
            try:
                return cls._measured(store, name or path.stem, near_far=near_far)
            except UNREADABLE as error:
                damage = f"none of its trajectories can be read: {error}"
            try:
                return cls._measured(store, name or path.stem, damage, near_far=near_far)
            except UNREADABLE as error:
                raise RunError(f"{path}: damaged: {error}") from None

    @classmethod
    def _measured(cls, store: Store, name: str, damage: str = "", *, near_far: NearFarRule = OURS) -> Self:
        meta = store.meta
        problems = load_plugins(meta.get("plugins", ()))
        problems += [_sentence(told) for told in (store.clipping().warning,) if told]
        found = profile(store, with_paths=not damage, near_far=near_far)
        failures = found.get(FAILURES)
        paths = () if failures is None else sample_paths(store, failures)
        refusals = meta.pop(REFUSED, ())
        refused, counts = Counter(str(refusal[-1]) for refusal in refusals), store.counts()
        planned = set(counts["condition"])
        examined = examine(found)
        return cls(
            name=name,
            meta=meta,
            world=store.world,
            refused=dict(refused.most_common()),
            refused_whole=_whole(refusals, planned),
            waiting=len(store.todo()),
            counts=counts,
            stopped=store.stopped,
            profile=examined.with_adjusted_p(found),
            diagnosis=examined.findings,
            paths=paths,
            damage="; ".join([*([damage] if damage else []), *store.damaged()]),
            problems=tuple(problems),
            tracebacks=tuple(store.tracebacks().values()),
            file=str(store.path),
        )

    @property
    def title(self) -> str:
        """Who did what."""
        late = lateness(self.meta)
        asked = f"{self.policy} on {self.meta.get('experiment', 'unknown experiment')}"
        return f"{asked} ({late})" if late else asked

    @property
    def policy(self) -> str:
        """The policy's label, or else its address."""
        return str(self.meta.get("label") or self.meta.get("policy", "unknown policy"))

    @property
    def only_errors(self) -> bool:
        """Whether every episode that was tried broke: then there is nothing to be measured."""
        return 0 < self.profile.done <= sum(self.profile.errors.values())

    @property
    def told(self) -> Diagnosis:
        """What is wrong, in sentences; where nothing but errors came of it, what broke."""
        if not self.only_errors:
            return Diagnosis.of(self.diagnosis)
        broke = listed(
            f"{count:,} x {reason}" for reason, count in list(self.profile.errors.items())[:_BROKE]
        )
        more = len(self.profile.errors) - _BROKE
        rest = f", and {plural(more, 'other reason')}" if more > 0 else ""
        said = f"Every episode ended in an error: {broke}{rest}."
        return Diagnosis((said,), (), (), (), "Every episode ended in an error.")

    def random(self, measure: Measure[T] | str) -> T | Any | None:
        """What a measure says of acting at random, if a run of the report tells."""
        for report in self.beside:
            if str(report.meta.get("policy")).partition("?")[0] == RANDOM:
                return report.profile.get(measure)
        return None

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
            "problems": self.problems,
            "diagnosis": [
                {**finding.as_json(), "sentence": format_finding(finding).text} for finding in self.diagnosis
            ],
            **self.profile.as_json(),
        }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _whole(refusals: Iterable[Sequence[object]], planned: Container[str]) -> dict[str, dict[str, int]]:
    """Of refused episodes (condition, task, seed, reason) those of conditions of which no episode is planned."""
    found: dict[str, Counter[str]] = {}
    for condition, *_, reason in refusals:
        if condition not in planned:
            found.setdefault(str(condition), Counter())[str(reason)] += 1
    return {condition: dict(why) for condition, why in found.items()}


def named(paths: Sequence[Path], labels: Sequence[str] = ()) -> dict[str, Path]:
    """Runs by a short name each: a label given here, the run's own, or the file's name.

    Where several have one label, latency and experiment come with it; where a name is not enough, all of the path.
    """
    if labels and len(labels) != len(paths):
        raise RunError(f"{plural(len(labels), 'label')} for {plural(len(paths), 'run')}: needs one for each")
    about = [_about(path) for path in paths]
    wanted = list(labels) or [
        str(each.get("label") or path.stem) for each, path in zip(about, paths, strict=True)
    ]
    often = Counter(wanted)
    longer = [
        name
        if often[name] == 1 or not (labels or each.get("label"))
        else ", ".join(filter(None, (name, lateness(each), str(each.get("experiment")))))
        for name, each in zip(wanted, about, strict=True)
    ]
    often = Counter(longer)
    return {name if often[name] == 1 else str(path): path for name, path in zip(longer, paths, strict=True)}


def _about(path: Path) -> dict[str, Any]:
    """What a run says of itself; nothing where it cannot be read, which whoever reads it tells."""
    try:
        with Store.reading(path) as store:
            return store.meta
    except (RunError, sqlite3.Error, ValueError):
        return {}
