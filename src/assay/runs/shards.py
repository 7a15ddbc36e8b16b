"""A plan in parts that know nothing of each other: one for each job of a cluster, put together by `merge`.

A start (task and seed) is whole in one shard, so that an episode, its control and their certificates are made by one
job. Every shard keeps the places of its episodes in the whole plan and a digest of that plan: shards of one plan,
merged, are the run that nobody divided, and shards of different plans are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.episodes import EpisodeSpec
from assay.errors import RunError
from assay.runs.store import Store

META = "shard"
"""The name under which a run remembers which shard it is."""
MERGED = "shards"
"""The name under which a merged run remembers which shards it holds."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of so many parts, counted from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``3/16``. Raises RunError."""
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            most = match[2] if match is not None and int(match[2]) else "16"
            raise RunError(f"--shard '{text}': valid: which one of how many, 1/{most} to {most}/{most}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The episodes of one shard, and where they stand in the whole plan."""

    shard: Shard
    specs: list[EpisodeSpec]
    places: Mapping[str, int]
    """Key of a spec without its time limit, which certificates may set -> its place, from 0."""
    plan: str
    """A digest of the whole plan."""

    def place(self, spec: EpisodeSpec) -> int:
        """Where an episode stands in the whole plan, from 0."""
        return self.places[_untimed(spec)]

    def as_json(self) -> dict[str, object]:
        """What a run remembers of it."""
        return {"number": self.shard.number, "of": self.shard.of, "plan": self.plan}


def divided(specs: Sequence[EpisodeSpec], shard: Shard) -> Part:
    """A shard of a plan: every so-manieth start. Raises RunError where there are fewer starts than shards."""
    starts = {
        start: place for place, start in enumerate(dict.fromkeys((each.task, each.seed) for each in specs))
    }
    if shard.of > len(starts):
        raise RunError(
            f"--shard {shard}: the plan has {len(starts)} starts (tasks and seeds); valid: at most so many shards"
        )
    keys = [_untimed(spec) for spec in specs]
    mine = [
        (place, spec)
        for place, spec in enumerate(specs)
        if starts[spec.task, spec.seed] % shard.of == shard.number - 1
    ]
    whole = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
    return Part(shard, [spec for _, spec in mine], {keys[place]: place for place, _ in mine}, whole)


def check_shard(path: Path, part: Part | None) -> None:
    """Raise RunError where a file holds another shard, another plan's, or none where one is asked for."""
    if not path.is_file():
        return
    with Store.reading(path) as store:
        known, is_new = store.meta.get(META), not store.planned
    if is_new or known == (None if part is None else part.as_json()):
        return
    if known is None:
        raise RunError(f"{path}: holds a whole run, no shard of one: choose another --out")
    held = f"{known['number']}/{known['of']}"
    if part is None:
        raise RunError(
            f"{path}: holds shard {held}: --shard {held} goes on with it, assay runs merge puts shards together"
        )
    if held != str(part.shard):
        raise RunError(f"{path}: holds shard {held}, not {part.shard}: choose another --out")
    raise RunError(
        f"{path}: holds shard {held} of another plan (tasks, seeds or conditions differ): choose another --out"
    )


def together(metas: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> dict[str, object] | None:
    """What merged shards are; None where the runs are no shards. Raises RunError where they are not of one plan."""
    found = [meta.get(META) for meta in metas]
    if not any(found):
        return None
    for path, known in zip(paths, found, strict=True):
        if known is None:
            raise RunError(
                f"{path}: is not a shard, and other files are: shards are merged with shards of the same plan only"
            )
        if (known["plan"], known["of"]) != (found[0]["plan"], found[0]["of"]):  # type: ignore[index]
            raise RunError(
                f"{path}: is a shard of another plan than {paths[0]}: tasks, seeds or conditions differ"
            )
    return {"of": found[0]["of"], "there": sorted(each["number"] for each in found if each)}  # type: ignore[index]


def missing(meta: Mapping[str, Any]) -> list[int]:
    """The shards that a merged run lacks."""
    known = meta.get(MERGED)
    return [] if not known else sorted({*range(1, known["of"] + 1)} - {*known["there"]})


def in_order(parts: Iterable[Store]) -> list[tuple[object, ...]]:
    """The rows of the plans of several shards in the order of the whole plan, without the places that they had."""
    rows = sorted((row for part in parts for row in part.plan_rows()), key=lambda row: row[0])
    return [(None, *row[1:]) for row in rows]


def _untimed(spec: EpisodeSpec) -> str:
    return replace(spec, steps=None).key
