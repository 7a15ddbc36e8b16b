"""Shards: independent parts of a plan, one per cluster job, joined by `merge`.

All episodes of a start (task and seed) are in one shard, so that one job produces an episode, its control and
their certificates. Every shard stores the positions of its episodes in the whole plan and a digest of that plan:
merging yields the undivided run, and rejects shards of different plans.
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
"""Key for a run's shard in its meta table."""
MERGED = "shards"
"""Key for a merged run's shards in its meta table."""


def parse_shard(text: str) -> tuple[int, int]:
    """Parse a shard such as ``3/16`` into its number, from 1, and the number of shards. Raises RunError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        last = match[2] if match is not None and int(match[2]) else "16"
        raise RunError(f"--shard '{text}': expected part/parts, 1/{last} to {last}/{last}")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """The episodes of one shard and their positions in the whole plan."""

    description: dict[str, object]
    """The shard as stored in its run: ``number`` (from 1), number of shards (``of``) and digest of the plan."""
    specs: list[EpisodeSpec]
    places: Mapping[str, int]
    """Position in the plan, from 0, by key of the spec without its time limit, which certificates may set."""

    def place(self, spec: EpisodeSpec) -> int:
        """Return the position of an episode in the whole plan, from 0."""
        return self.places[_key_without_limit(spec)]

    @classmethod
    def of(cls, specs: Sequence[EpisodeSpec], text: str) -> Shard:
        """Return the shard ``I/N`` of a plan: every N-th start. Raises RunError if there are too few starts."""
        number, count = parse_shard(text)
        distinct = dict.fromkeys((spec.task, spec.paired_seed) for spec in specs)
        starts = {start: place for place, start in enumerate(distinct)}
        if count > len(starts):
            raise RunError(
                f"--shard {text}: more shards than the plan has starts (task and seed): {len(starts)}"
            )
        keys = [_key_without_limit(spec) for spec in specs]
        mine = [
            (place, spec)
            for place, spec in enumerate(specs)
            if starts[spec.task, spec.paired_seed] % count == number - 1
        ]
        whole = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
        places = {keys[place]: place for place, _ in mine}
        return cls({"number": number, "of": count, "plan": whole}, [spec for _, spec in mine], places)


def merge(paths: Sequence[Path], out: Path) -> int:
    """Merge the plans and episodes of several runs of one policy and experiment; return the number of episodes.

    If several runs hold an episode with the same spec, the first one without an error is kept. Raises RunError if
    the runs are from different experiments, or if ``out`` exists.
    """
    if out.exists():
        raise RunError(f"{out} already exists")
    with replacing(out, suffix=SUFFIX, database=True) as growing, Store.writing(growing) as merged:
        with ExitStack() as opened:
            parts = [opened.enter_context(Store.reading(path)) for path in paths]
            shards: list[Any] = [part.meta.get(META) for part in parts]
            if any(shards):
                for path, shard in zip(paths, shards, strict=True):
                    if shard is None:
                        raise RunError(
                            f"{path} is not a shard, but other files are; merge only shards of one plan"
                        )
                    if (shard["plan"], shard["of"]) != (shards[0]["plan"], shards[0]["of"]):
                        raise RunError(
                            f"{path} is a shard of a different plan from {paths[0]}: tasks, seeds or conditions differ"
                        )
                # In the order of the divided plan.
                rows = sorted((row for part in parts for row in part.plan_rows()), key=lambda row: row[0])
                merged.add_plan((None, *row[1:]) for row in rows)
        for path in paths:
            with Store.reading(path) as part:
                _merge_meta(merged, part)
                merged.add_all(part)
        if any(shards):
            there = sorted(shard["number"] for shard in shards)
            merged.describe(**{MERGED: {"of": shards[0]["of"], "there": there}})
        return merged.done


def _merge_meta(merged: Store, part: Store) -> None:
    path = part.path
    if part.stopped:
        raise RunError(
            f"{path} stopped {', '.join(part.stopped)} early (--until); only complete runs can be merged"
        )
    meta, fresh = merged.meta, part.meta
    if not meta:
        own = {name: value for name, value in fresh.items() if name != META}
        merged.describe(**own | {"merged": [path.name]})
        return
    if difference := first_difference(fresh, meta):
        name, was, now = difference
        raise RunError(f"{path} holds another experiment, with {name} {was}, not {now}")
    merged.describe(
        **{REFUSED: list(dict.fromkeys((*recall(merged), *recall(part))))},
        plugins=all_plugins(meta, fresh),
        conditions=all_conditions(meta, fresh),
        merged=[*meta["merged"], path.name],
    )


def _key_without_limit(spec: EpisodeSpec) -> str:
    return replace(spec, steps=None).key
