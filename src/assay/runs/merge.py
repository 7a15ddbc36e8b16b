"""Several runs of one policy and experiment as one: the parts of a plan that were run on different machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import RunError
from assay.files import replacing
from assay.runs.certificates.serve import META, recall
from assay.runs.provenance import DECIDING
from assay.runs.store import SUFFIX, Store


def merge(paths: Sequence[Path], out: Path) -> int:
    """Write a run that holds the plans and episodes of others; returns how many episodes.

    Where several hold an episode of the same spec, the first that is no error counts. Raises RunError where
    they are not the same experiment, or if ``out`` exists.
    """
    if out.exists():
        raise RunError(f"{out} exists already")
    with replacing(out, suffix=SUFFIX) as growing, Store.writing(growing) as merged:
        for path in paths:
            with Store.reading(path) as part:
                _check(merged, part)
                merged.take_in(part)
        return merged.done


def _check(merged: Store, part: Store) -> None:
    if part.stopped:
        raise RunError(
            f"{part.path} stopped {', '.join(part.stopped)} early (--until); only whole runs can be merged"
        )
    known, fresh = merged.meta, part.meta
    if not known:
        merged.describe(**fresh, merged=[part.path.name])
        return
    for name in DECIDING:
        if known.get(name) != fresh.get(name):
            raise RunError(
                f"{part.path} is another experiment: its {name.replace('_', ' ')} is {fresh.get(name)}, "
                f"not {known.get(name)}"
            )
    refused = dict.fromkeys((*recall(merged), *recall(part)))
    merged.describe(**{META: list(refused)}, merged=[*known["merged"], part.path.name])
