"""Shards: independent parts of a plan, one per job of a cluster, joined by `merge`.

A start (task and seed) is entirely in one shard, so that one job makes an episode, its control and their certificates.
Every shard stores the positions of its episodes in the whole plan and a digest of that plan: merged shards equal the
undivided run, and shards of different plans are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.episodes import EpisodeSpec
from assay.errors import RunError
from assay.runs.certificates import REFUSED, recall
from assay.runs.provenance import all_conditions, all_plugins, first_difference
from assay.runs.store import SUFFIX, Store
from assay.support.files import replacing

META = "shard"
"""Key of a run's shard in its meta table."""
MERGED = "shards"
"""Key of a merged run's shards in its meta table."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard ``number``, from 1, out of ``of`` shards."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a shard such as ``3/16``. Raises RunError."""
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            last = match[2] if match is not None and int(match[2]) else "16"
            raise RunError(f"--shard '{text}': expected part/parts, 1/{last} to {last}/{last}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True, eq=False)
class ShardPart:
    """The episodes of one shard, and their positions in the whole plan."""

    shard: Shard
    specs: list[EpisodeSpec]
    places: Mapping[str, int]
    """Key of a spec without its time limit, which certificates may set -> position, from 0."""
    plan: str
    """A digest of the whole plan."""

    def place(self, spec: EpisodeSpec) -> int:
        """Return the position of an episode in the whole plan, from 0."""
        return self.places[_key_without_limit(spec)]

    def as_json(self) -> dict[str, object]:
        """Return the shard as a run stores it."""
        return {"number": self.shard.number, "of": self.shard.of, "plan": self.plan}

    @classmethod
    def of(cls, specs: Sequence[EpisodeSpec], shard: Shard) -> ShardPart:
        """Return a shard of a plan: every ``shard.of``-th start. Raises RunError if there are too few starts."""
        distinct = dict.fromkeys((spec.task, spec.seed) for spec in specs)
        starts = {start: place for place, start in enumerate(distinct)}
        if shard.of > len(starts):
            raise RunError(
                f"--shard {shard}: more shards than the plan has starts (task and seed): {len(starts)}"
            )
        keys = [_key_without_limit(spec) for spec in specs]
        mine = [
            (place, spec)
            for place, spec in enumerate(specs)
            if starts[spec.task, spec.seed] % shard.of == shard.number - 1
        ]
        whole = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
        return cls(shard, [spec for _, spec in mine], {keys[place]: place for place, _ in mine}, whole)


def merge(paths: Sequence[Path], out: Path) -> int:
    """Write a run with the plans and episodes of several runs of one policy and experiment; returns their number.

    If several hold an episode of the same spec, the first without an error counts. Raises RunError if they are of
    different experiments, or if ``out`` exists.
    """
    if out.exists():
        raise RunError(f"{out} exists already")
    with replacing(out, suffix=SUFFIX, database=True) as growing, Store.writing(growing) as merged:
        shards = _plan_shards(merged, paths)
        for path in paths:
            with Store.reading(path) as part:
                _merge_meta(merged, part)
                merged.add_all(part)
        if shards is not None:
            merged.describe(**{MERGED: shards})
        return merged.done


def _plan_shards(merged: Store, paths: Sequence[Path]) -> dict[str, object] | None:
    """Plan the episodes of shards in the order of the divided plan; None if the runs are not shards."""
    with ExitStack() as opened:
        parts = [opened.enter_context(Store.reading(path)) for path in paths]
        shards: list[Any] = [part.meta.get(META) for part in parts]
        if not any(shards):
            return None
        for path, shard in zip(paths, shards, strict=True):
            if shard is None:
                raise RunError(f"{path}: is not a shard, and other files are: merge shards of one plan only")
            if (shard["plan"], shard["of"]) != (shards[0]["plan"], shards[0]["of"]):
                raise RunError(
                    f"{path}: is a shard of another plan than {paths[0]}: tasks, seeds or conditions differ"
                )
        rows = sorted((row for part in parts for row in part.plan_rows()), key=lambda row: row[0])
        merged.add_plan((None, *row[1:]) for row in rows)
        return {"of": shards[0]["of"], "there": sorted(shard["number"] for shard in shards)}


def _merge_meta(merged: Store, part: Store) -> None:
    path = part.path
    if part.stopped:
        raise RunError(
            f"{path} stopped {', '.join(part.stopped)} early (--until); only complete runs can be merged"
        )
    meta, fresh = merged.meta, part.meta
    if not meta:
        own = {name: value for name, value in fresh.items() if name != META}
        merged.describe(**own, merged=[path.name])
        return
    if difference := first_difference(fresh, meta):
        name, was, now = difference
        raise RunError(f"{path} holds another experiment, with {name} {was}, not {now}")
    refused = dict.fromkeys((*recall(merged), *recall(part)))
    merged.describe(
        **{REFUSED: list(refused)},
        plugins=all_plugins(meta, fresh),
        conditions=all_conditions(meta, fresh),
        merged=[*meta["merged"], path.name],
    )


def _key_without_limit(spec: EpisodeSpec) -> str:
    return replace(spec, steps=None).key
