"""Several runs of one policy and experiment as one: the parts of a plan that were run on different machines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from assay.errors import RunError
from assay.runs.certificates.serve import META, recall
from assay.runs.connections import SUFFIX
from assay.runs.provenance import all_conditions, all_plugins, differing
from assay.runs.rows import VERSION
from assay.runs.shards import MERGED, in_order, together
from assay.runs.shards import META as META_SHARD
from assay.runs.store import Store
from assay.support.files import replacing, scratch_folder


def merge(paths: Sequence[Path], out: Path) -> int:
    """Write a run that holds the plans and episodes of others; returns how many episodes.

    Where several hold an episode of the same spec, the first that is no error counts. Raises RunError where
    they are not the same experiment, or if ``out`` exists.
    """
    if out.exists():
        raise RunError(f"{out} exists already")
    with replacing(out, suffix=SUFFIX, database=True) as growing, Store.writing(growing) as merged:
        shards = _plan_shards(merged, paths)
        for path in paths:
            with _up_to_date(path) as part:
                _check(merged, part, path)
                merged.add_all(part)
        if shards is not None:
            merged.describe(**{MERGED: shards})
        return merged.done


def _plan_shards(merged: Store, paths: Sequence[Path]) -> dict[str, object] | None:
    """Plan the episodes of shards in the order of the plan that was divided; None where the runs are no shards."""
    with ExitStack() as opened:
        parts = [opened.enter_context(Store.reading(path)) for path in paths]
        shards = together([part.meta for part in parts], paths)
        if shards is not None:
            merged.add_plan(in_order(parts))
        return shards


@contextmanager
def _up_to_date(path: Path) -> Iterator[Store]:
    """A run in the present format: itself, or a copy that was brought up to date."""
    with Store.reading(path) as part:
        if part.version == VERSION:
            yield part
            return
    with scratch_folder() as folder:
        copy = Path(shutil.copy(path, folder))
        Store.writing(copy).close()
        with Store.reading(copy) as part:
            yield part


def _check(merged: Store, part: Store, path: Path) -> None:
    if part.stopped:
        raise RunError(
            f"{path} stopped {', '.join(part.stopped)} early (--until); only whole runs can be merged"
        )
    known, fresh = merged.meta, part.meta
    if not known:
        merged.describe(
            **{name: value for name, value in fresh.items() if name != META_SHARD}, merged=[path.name]
        )
        return
    if found := differing(fresh, known):
        raise RunError(f"{path} is another experiment: its {found.name} is {found.was}, not {found.now}")
    refused = dict.fromkeys((*recall(merged), *recall(part)))
    merged.describe(
        **{META: list(refused)},
        plugins=all_plugins(known, fresh),
        conditions=all_conditions(known, fresh),
        merged=[*known["merged"], path.name],
    )
