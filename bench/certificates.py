"""Certificates: how many perturbed scenes the oracle solves, and how many of these if sampled with another seed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from assay import tasks
from assay.episodes import LIBERO, WORLDS, EpisodeSpec
from assay.experiments import load_experiment
from assay.runs.certificates import (
    Certificate,
    CertificateCache,
    ClaimVerdict,
    certify,
    claim,
    claims,
)
from assay.runs.executor import WorkerConfig
from assay.runs.local import LocalProcesses
from bench.figure import Figure

TASKS = {"pro": ("libero_object/2",), "x": ("libero_spatial/3", "libero_goal/1", "libero_10/6")}
"""Tasks of each experiment: a small sample, which takes about two minutes."""
SEED = 100


def measure() -> list[Figure]:
    with (
        tempfile.TemporaryDirectory() as folder,
        CertificateCache(Path(folder) / "certificates.sqlite") as cache,
    ):
        return [figure for experiment in TASKS for figure in _figures(experiment, cache)]


def _figures(experiment: str, cache: CertificateCache) -> Iterable[Figure]:
    plan = load_experiment(experiment).plan([tasks.load(each) for each in TASKS[experiment]], (SEED,))
    changed = [spec for spec in plan if all(change.plausible for change in claim(spec).perturbations)]
    tried = _tried(changed, cache)
    solved = [spec for spec in changed if tried[claim(spec).key].verdict is ClaimVerdict.SOLVED]
    about = f"{experiment} on {', '.join(TASKS[experiment])}"
    yield _share(f"scenes certified ({about})", tried.values(), 90.0)
    again = _tried([replace(spec, seed=SEED + 1) for spec in solved], cache)
    stand = [each for each in again.values() if each.verdict is not ClaimVerdict.UNPLACED]
    yield _share(f"certified scenes solved when sampled with another seed ({about})", stand, 95.0)


def _tried(specs: list[EpisodeSpec], cache: CertificateCache) -> dict[str, Certificate]:
    """Return the certificates of all distinct claims of the given episodes, by key."""
    demonstrator = WORLDS[LIBERO].traits.demonstrator
    assert demonstrator is not None
    executor = LocalProcesses(WorkerConfig(demonstrator), os.cpu_count() or 1)
    certify([wanted for wanted in claims(specs) if cache.get(wanted) is None], cache, executor)
    certificates = {wanted.key: cache.get(wanted) for wanted in map(claim, specs)}
    return {key: certificate for key, certificate in certificates.items() if certificate is not None}


def _share(what: str, found: Iterable[Certificate], bound: float) -> Figure:
    verdicts = [each.verdict for each in found]
    solved = verdicts.count(ClaimVerdict.SOLVED)
    value = 100 * solved / len(verdicts) if verdicts else None
    return Figure(what, value, "%", bound, at_most=False, note=f"{solved} of {len(verdicts)}")
