"""A run whose episodes are played in a loop of somebody else's: planned at first, then recorded one by one.

The file is open only while something is written, so that several processes of a harness can record into one run.
"""

from __future__ import annotations

from pathlib import Path

from assay.episodes import Episode, EpisodeSpec
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.driver import Ending
from assay.runs.execute import Observer, plan, worker_config
from assay.runs.provenance import check, describe, provenance
from assay.runs.store import Store
from assay.runs.work import Options, Work, prepare, refuse_latency

PATIENCE = 60.0
"""Seconds for which a process waits until others have written."""


def begin(
    path: Path | None,
    experiment: str | Experiment,
    policy: str,
    options: Options | None = None,
    observer: Observer | None = None,
) -> list[EpisodeSpec]:
    """Plan an experiment for a harness, with the certificates that it needs; returns its episodes.

    ``policy`` is what the run calls whoever acts, which only the harness knows. A run that was begun before goes on;
    those of its episodes that are done are returned, too. Without a ``path`` nothing is kept. Raises AssayError.
    """
    work = prepare(experiment, options or Options())
    refuse_latency(work.specs)
    config, watch = worker_config(work, policy), observer or Observer()
    if path is None:
        with Store.scratch() as store:
            return _planned(store, work, plan(store, work, config, watch))
    known = provenance(
        work.design.name,
        policy,
        work.pack,
        world=work.design.world,
        settings=work.settings,
        plugins=work.plugins,
    )
    check(path, known)
    if work.served:  # certify first: that takes long, and others may write meanwhile
        with Store.scratch() as store:
            _planned(store, work, plan(store, work, config, watch))
    with Store.writing(path, PATIENCE) as store:
        describe(store, known, conditions=work.design.conditions)
        if work.options.states is not None:
            store.describe(states_folder=str(work.options.states.absolute()))
        return _planned(store, work, plan(store, work, config, watch))


def record(path: Path, spec: EpisodeSpec, episode: Episode) -> None:
    """Write an episode into a run that was begun.

    An earlier one of the same spec is replaced only where it ended in an error: success and failure stay, however
    often a harness plays the episode again.
    """
    with Store.writing(path, PATIENCE) as store:
        number = store.number_of(spec)
        if not store.is_judged(number):
            store.append(number, episode)


def _planned(store: Store, work: Work, ending: Ending) -> list[EpisodeSpec]:
    """What of some work is planned: a run may hold more."""
    if ending.left:
        raise RunError(f"{ending.left} scenes were not certified: begin again")
    asked = {(spec.condition, spec.task, spec.seed) for spec in work.specs}
    return [spec for spec in store.all_specs() if (spec.condition, spec.task, spec.seed) in asked]
