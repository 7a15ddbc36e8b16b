"""Runs whose episodes are executed by another harness: planned first, then recorded one by one.

The file is open only while something is written, so that several processes can record into one run.
"""

from __future__ import annotations

from pathlib import Path

from assay.episodes import Episode, EpisodeSpec
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.execute import Observer, store_plan
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.provenance import check_same_run, describe
from assay.runs.store import Store

LOCK_TIMEOUT_S = 60.0
"""Maximum time, in seconds, to wait for other processes to finish writing."""


def begin(
    path: Path | None,
    experiment: str | Experiment,
    policy: str,
    options: RunOptions | None = None,
    observer: Observer | None = None,
) -> list[EpisodeSpec]:
    """Plan an experiment for a harness, certify its scenes if required, and return its episodes.

    ``policy`` is the name of the policy, which only the harness knows. A run that was begun earlier is resumed; its
    recorded episodes are returned as well. Without a ``path`` nothing is stored. Raises AssayError.
    """
    plan = RunPlan.make(experiment, options or RunOptions())
    plan.refuse_latency()
    observer = observer or Observer()
    if path is None:
        with Store.scratch() as store:
            return _store(store, plan, observer)
    plan = plan.recorded_as(policy, path)
    if path.is_file():
        with Store.reading(path) as store:
            check_same_run(store, plan.provenance)
    if plan.requires_certificates:  # certify first: it takes long, and others may write meanwhile
        with Store.scratch() as store:
            _store(store, plan, observer)
    with Store.writing(path, LOCK_TIMEOUT_S) as store:
        describe(store, plan.provenance, conditions=plan.experiment.conditions)
        if plan.options.states is not None:
            store.describe(states_folder=str(plan.options.states.absolute()))
        return _store(store, plan, observer)


def record(path: Path, spec: EpisodeSpec, episode: Episode) -> None:
    """Record an episode in a run that has begun.

    An earlier episode with the same spec is replaced only if it ended in an error: a success or failure is kept,
    however often a harness repeats the episode.
    """
    with Store.writing(path, LOCK_TIMEOUT_S) as store:
        store.record(spec, episode)


def _store(store: Store, plan: RunPlan, observer: Observer) -> list[EpisodeSpec]:
    """Store a plan and return its episodes, excluding other episodes that the run may contain."""
    ending = store_plan(store, plan, observer)
    if ending.left:
        raise RunError(f"scenes not yet certified: {ending.left}; start the run again to continue")
    planned = {(spec.condition, spec.task, spec.seed) for spec in plan.specs}
    return [spec for spec in store.specs() if (spec.condition, spec.task, spec.seed) in planned]
